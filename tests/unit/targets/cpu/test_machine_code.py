"""Machine code of a program in one file: the same bits without numba, used where it was made for and nowhere else."""

import ctypes
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.package import KERNELS, load_package
from qmlir.targets.cpu.runtime.entry import entry
from qmlir.targets.cpu.runtime.errors import CorruptProgramError
from qmlir.targets.cpu.runtime.machine_code import FILE, digest_of, is_for_here, loaded
from qmlir.text.printing import save_module
from tests.unit.targets.cpu.conftest import quantized

PassChange = Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]]

START = """
import sys
import numpy as np
import qmlir
program = qmlir.compile(qmlir.load(sys.argv[1]))
print(program([np.load(sys.argv[2])])["Relu1"].tobytes().hex())
print(*sys.modules)
"""

NOT_NEEDED = (
    "numba", "onnx", "onnxruntime", "rich", "email.mime", "qmlir.targets.cpu.lowering",
    "qmlir.targets.cpu.emitters.numba.build", "qmlir.interpreter.run", "qmlir.passes.integer",
    "qmlir.targets.cpu.loops", "qmlir.onnx.importer", "qmlir.onnx.reading", "qmlir.workflows.quantizing",
    "qmlir.workflows.folder", "qmlir.pipelines", "qmlir.quantization", "qmlir.targets.heterogeneous",
    "qmlir.targets.partitioning", "qmlir.dialects.kernel.dialect", "qmlir.dialects.calib.dialect",
)  # fmt: skip
"""What a warm start has no use for."""


@pytest.fixture
def saved(program: Program, tmp_path: Path) -> Path:
    """The layer as a package."""
    program.save(tmp_path / "saved")
    return tmp_path / "saved"


def _changed(folder: Path, change: PassChange, *, is_damage: bool) -> None:
    """Change the file; the digest of what it holds stays what it was where that is damage."""
    data = (folder / FILE).read_bytes()
    digest, data = data[:32], data[32:]
    length = int.from_bytes(data[:8], "little")
    header, objects = change(json.loads(data[8 : 8 + length]), data[8 + length :])
    text = json.dumps(header).encode()
    data = b"".join([len(text).to_bytes(8, "little"), text, objects])
    (folder / FILE).write_bytes((digest if is_damage else hashlib.sha256(data).digest()) + data)


def _without_numba(folder: Path, image: np.ndarray) -> bool:
    """Whether the program runs in a process of its own, on the bits that it has here, without loading numba."""
    np.save(folder.parent / "image.npy", image)
    script = (
        "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); from saved import program\n"
        "print(program([np.load(sys.argv[2])])['Relu1'].tobytes().hex(), 'numba' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(folder.parent), str(folder.parent / "image.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    found, has_numba = done.stdout.split()
    expected = load_package(folder, "here").program([image])["Relu1"]
    assert found == expected.tobytes().hex()
    return has_numba == "False"


def test_a_warm_start_loads_what_it_needs(image: np.ndarray, tmp_path: Path) -> None:
    """The second process finds the program in the cache, and leaves it as it is."""
    save_module(quantized(2), tmp_path / "module.mlir")
    np.save(tmp_path / "image.npy", image)
    command = [sys.executable, "-c", START, str(tmp_path / "module.mlir"), str(tmp_path / "image.npy")]
    done = [
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=200).stdout.splitlines()
        for _ in range(3)
    ]
    assert done[0][0] == done[1][0] == done[2][0]
    inside = tuple(f"{name}." for name in NOT_NEEDED)
    found = [name for name in done[1][1].split() if name in NOT_NEEDED or name.startswith(inside)]
    assert found == []
    assert done[1][1] == done[2][1]


def test_the_cache_stays_as_it_was_built(program: Program, image: np.ndarray) -> None:
    """Neither a run nor the times of kernels, which numba calls, add a file that nobody has a digest of."""
    folder = program._only.folder
    assert (folder / FILE).is_file()
    program([image])
    assert program.time_kernels([image], rounds=1)
    assert cache.is_intact(folder)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_bits_as_by_numba(threads: int, image: np.ndarray, tmp_path: Path) -> None:
    made = qmlir.compile(quantized(2), threads=threads)
    made.save(tmp_path / "linked")
    shutil.copytree(tmp_path / "linked", tmp_path / "by_numba")
    (tmp_path / "by_numba" / FILE).unlink()
    linked, by_numba = (load_package(tmp_path / name, f"{name}_{threads}").program for name in ("linked", "by_numba"))
    assert is_for_here(tmp_path / "linked")
    for number in range(20):
        x = image + np.float32(number)
        np.testing.assert_array_equal(linked([x])["Relu1"], by_numba([x])["Relu1"], strict=True)


def test_where_it_was_made_for(saved: Path, image: np.ndarray) -> None:
    assert _without_numba(saved, image)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, objects: ({**header, "made_for": {**header["made_for"], "processor": "another"}}, objects),
        lambda header, objects: ({**header, "made_for": {**header["made_for"], "llvmlite": "0.1"}}, objects),
        lambda header, objects: ({**header, "source": digest_of(b"other kernels")}, objects),
        lambda header, objects: ({**header, "needs": ["a_function_that_nobody_has"]}, objects),
    ],
    ids=["processor", "llvmlite", "kernels", "missing function"],
)
def test_where_it_was_not_made_for(change: PassChange, saved: Path, image: np.ndarray) -> None:
    """numba compiles the emitted module."""
    _changed(saved, change, is_damage=False)
    assert loaded(saved) is None
    assert not _without_numba(saved, image)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, objects: (header, objects[:-1]),
        lambda header, objects: (header, objects[:100] + b"\0" + objects[101:]),
        lambda header, objects: ({key: header[key] for key in header if key != "made_for"}, objects),
        lambda header, objects: ({**header, "OUTPUTS": [["Relu1", "int8", [9], False, 0]]}, objects),
        lambda header, objects: ({**header, "sizes": []}, objects),
    ],
    ids=["too short", "altered", "no place", "other sizes", "no objects"],
)
def test_a_damaged_file(change: PassChange, saved: Path) -> None:
    """The digest is that of all: what the header says is as dangerous as code."""
    _changed(saved, change, is_damage=True)
    with pytest.raises(CorruptProgramError, match=r"machine_code\.bin is damaged"):
        loaded(saved)


@pytest.mark.parametrize("data", [b"", b"\x10" + bytes(7) + b"not json", b"\xff" * 100])
def test_bytes_that_are_no_code(saved: Path, data: bytes) -> None:
    (saved / FILE).write_bytes(data)
    with pytest.raises(CorruptProgramError, match=r"machine_code\.bin is damaged"):
        loaded(saved)


def test_a_kernel_that_is_not_there(saved: Path) -> None:
    _changed(saved, lambda header, objects: ({**header, "kernels": ["x"] * 2}, objects), is_damage=False)
    with pytest.raises(CorruptProgramError, match="a kernel is missing"):
        loaded(saved)


def test_kernels_that_were_edited(saved: Path, image: np.ndarray) -> None:
    """Whoever changes the emitted module gets what it says."""
    source = (saved / KERNELS).read_text()
    (saved / KERNELS).write_text(f"{source}\n\ndef main(arena, constants, x, y):\n    y[:] = 7\n")
    assert (load_package(saved, "edited").program([image])["Relu1"] == 7).all()


def test_an_entry_passes_arrays_and_scalars() -> None:
    """A C function in the place of compiled code, which gets what numba's would."""
    got: list[tuple[Any, ...]] = []
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    of_array = (pointer, pointer, number, number, pointer, number, number)

    @ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, *of_array, number, ctypes.c_float, *of_array)
    def code(*values: Any) -> int:
        got.append(values[2:])
        return 0

    x, y = np.arange(5, dtype=np.int16), np.zeros(3)
    address = ctypes.cast(code, pointer).value
    assert address is not None
    entry(address, ("const int16", "value index", "value f32", "float64"))(x, -3, 0.5, y)
    assert got == [(None, None, 0, 2, x.ctypes.data, 0, 2, -3, 0.5, None, None, 0, 8, y.ctypes.data, 0, 8)]
