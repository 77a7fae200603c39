"""Arrays in files, packed in every way: inputs of `qmlir run`, samples of `qmlir profile`, labels."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from qmlir.tools import qmlir_cli
from qmlir.workflows.evaluating import read_labels
from tests.fuzz.damage import damage_bytes, piece
from tests.fuzz.frame import Kind, Outcome, run_reader, run_tool

_MODEL = str(Path(__file__).parents[2] / "docs" / "examples" / "layer.mlir")
_HEADERS = rb"""
    'descr' 'fortran_order' 'shape' '<f4' '|O' '<i9' '<U1000000000' 'V0' [('a','<f4')] (-1,) (1099511627776,)
    (4294967296,4294967296) (0,9223372036854775807) () True False None 1e9 {} ((((((((
    (True,4) (2,8,) (2.0,8) ('2',8) [2,8] (10**30,) '<f4,<f4' '<M8[s]' '<c8'
""".split()


def _npy(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def _zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


def _whole() -> Mapping[str, bytes]:
    x = np.linspace(-2, 2, 2 * 8, dtype=np.float32).reshape(2, 8)
    samples = np.stack([x] * 3)
    found = {"one.npy": _npy(x), "second version.npy": _npy(x, (2, 0)), "columns.npy": _npy(np.asfortranarray(x))}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        found[f"input {method}"] = _zipped({"input0.npy": _npy(x)}, method)
        found[f"samples {method}"] = _zipped({"input0.npy": _npy(samples)}, method)
    found["zeros"] = _zipped({"input0.npy": _npy(np.zeros(1 << 20, np.float32))}, zipfile.ZIP_DEFLATED)
    found["labels"] = _npy(np.arange(3))
    found["unsigned labels"] = _npy(np.array([1, 2**64 - 1], np.uint64))
    found["several"] = _zipped({"input0.npy": _npy(x), "y.npy": _npy(x), "labels.npy": _npy(np.arange(3))})
    found["no array"] = _zipped({"x.npy": b"", "readme": b"text"})
    return found


def _damage(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """A word of a header for another most of the time, where headers are not packed; else bytes."""
    start = data.find(b"{'descr'")
    if start < 0 or rng.random() < 0.4:
        return damage_bytes(rng, data, others)
    end = data.find(b"\n", start)
    header, word = data[start:end], _HEADERS[int(rng.integers(len(_HEADERS)))]
    where = piece(rng, header, 24)
    changed = header[: where.start] + word + header[where.stop :]
    return data[:start] + changed[: len(header)].ljust(len(header)) + data[end:]


def _read(path: Path) -> Outcome:
    data = path.read_bytes()
    if crc32(data) % 4 == 0:
        name = "" if crc32(data) // 4 % 2 else "labels="
        return run_reader(lambda: read_labels(f"{name}{path}"))
    if crc32(data) % 2:
        return run_tool(qmlir_cli.main, ["run", _MODEL, "--input", f"input0={path}"])
    return run_tool(qmlir_cli.main, ["profile", _MODEL, "--data", str(path), "-o", str(path.with_name("p.json"))])


ARRAYS = Kind("arrays", ".npz", _whole, _damage, _read)
