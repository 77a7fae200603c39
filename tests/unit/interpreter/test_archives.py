"""Arrays in files: read whole and row by row however they are packed, refused in one line where they are damaged."""

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from qmlir.interpreter.archives import arrays_of, whole
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.limits import budgets

X = np.arange(60, dtype=np.float32).reshape(5, 3, 4)


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def _refused(path: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        _ = [row for rows in arrays_of(path).values() for row in rows]
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("array", [X, np.asfortranarray(X), X[:, :, :0], X.astype(np.int16)])
def test_what_is_read(tmp_path: Path, method: int, array: np.ndarray) -> None:
    found = arrays_of(_zip(tmp_path / "x.npz", {"a.npy": _npy(array), "b": _npy(array[0])}, method))
    assert {name: rows.shape for name, rows in found.items()} == {"a": array.shape, "b": array.shape[1:]}
    np.testing.assert_array_equal(np.stack(list(found["a"])), array, strict=True)
    np.testing.assert_array_equal(whole(found["a"]), array, strict=True)


@pytest.mark.parametrize("array", [X, np.asfortranarray(X), X[:0], np.float64(1.5)])
def test_one_array(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    np.testing.assert_array_equal(whole(arrays_of(tmp_path / "x.npy")[""]), array)


def test_an_encrypted_file(tmp_path: Path) -> None:
    path = _zip(tmp_path / "x.npz", {"a.npy": _npy(X)})
    data = bytearray(path.read_bytes())
    for mark, position in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + position] |= 1
    path.write_bytes(bytes(data))
    assert _refused(path).endswith("'a.npy' in it is encrypted")


def _header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        _npy(X)[:-1],
        _npy(np.array([{}], object)),
        _header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
        _header("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"),
        _header("{'descr': '<f4', 'fortran_order': False, 'shape': ((((((, }"),
        _header("{'descr': '<f4', 1: False, 'shape': (), }"),
        _header("{}"),
        b"\x93NUMPY\x09\x00" + bytes(100),
    ],
)
@pytest.mark.parametrize("is_zipped", [False, True])
def test_what_holds_no_plain_array(tmp_path: Path, data: bytes, is_zipped: bool) -> None:
    path = tmp_path / ("x.npz" if is_zipped else "x.npy")
    if is_zipped:
        _zip(path, {"a.npy": data})
    else:
        path.write_bytes(data)
    is_code = data == _npy(np.array([{}], object))
    code = "it contains Python objects, which cannot be loaded safely"
    reason = code if is_code else "it is not a .npy or .npz file of plain arrays"
    assert reason in _refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packed_data_that_is_damaged(tmp_path: Path, method: int) -> None:
    path = _zip(tmp_path / "x.npz", {"a.npy": _npy(X)}, method)
    data = bytearray(path.read_bytes())
    for position in range(60, 80):
        data[position] ^= 0x55
    path.write_bytes(bytes(data))
    assert _refused(path).endswith("damaged")


def test_few_bytes_that_would_fill_memory(tmp_path: Path) -> None:
    zeros = np.zeros((4, 1 << 18), np.float32)
    rows = arrays_of(_zip(tmp_path / "x.npz", {"a.npy": _npy(zeros)}, zipfile.ZIP_DEFLATED))["a"]
    with budgets({"packed-bytes": 1 << 21}):
        assert sum(row.size for row in rows) == zeros.size  # a row after the other takes less
        with pytest.raises(DiagnosticError, match="in memory 4194304, over the limit of 2097152"):
            whole(rows)
    with (
        budgets({"packed-bytes": 1 << 19}),
        pytest.raises(DiagnosticError, match="array 'a' takes 4165 bytes in it, and in memory 1048576, over the"),
    ):
        next(iter(rows))


@pytest.mark.parametrize("name", ["/dev/full", "pipe"])
def test_a_device_and_a_pipe_are_rejected_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "pipe":
        os.mkfifo(path)
    assert "it is not a regular file" in _refused(path)
