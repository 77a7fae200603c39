"""Packages of compiled programs: what is written, and what is imported under which name."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.numba.runtime.constants import mapped
from qmlir.targets.cpu.package import CONSTANTS, KERNELS, RUNTIME, load_package, write_package

SOURCE = """
import ctypes

CONSTANTS = [("weights", "float32", 3)]
INPUTS = []
OUTPUTS = [("y", "float32", (3,), False, 0)]
ARENA_BYTES = 64


def main(arena, constants, y):
    weights = (ctypes.c_float * 3).from_address(int(constants[0]))
    y[:] = [each * FACTOR for each in weights]
"""


def _written(folder: Path, factor: int = 2) -> Path:
    folder.mkdir()
    write_package(folder, f"FACTOR = {factor}\n{SOURCE}", {"weights": np.array([1, 2, 3], np.float32)})
    return folder


def test_what_is_written(tmp_path: Path) -> None:
    folder = _written(tmp_path / "program")
    assert sorted(path.name for path in folder.iterdir()) == sorted(["__init__.py", KERNELS, CONSTANTS, RUNTIME])
    assert not list(folder.rglob("__pycache__"))
    for path in folder.rglob("*.py"):
        assert "import qmlir" not in path.read_text()
        assert "from qmlir" not in path.read_text()


def test_it_is_called(tmp_path: Path) -> None:
    program = load_package(_written(tmp_path / "program"), "written_program").program
    np.testing.assert_array_equal(program({})["y"], np.array([2, 4, 6], np.float32), strict=True)


def test_a_name_is_given_anew(tmp_path: Path) -> None:
    """Modules of another package of this name are not used."""
    load_package(_written(tmp_path / "first", 2), "renewed_program")
    program = load_package(_written(tmp_path / "second", 5), "renewed_program").program
    np.testing.assert_array_equal(program({})["y"], np.array([5, 10, 15], np.float32))


def test_a_package_that_fails_leaves_no_module(tmp_path: Path) -> None:
    folder = _written(tmp_path / "program")
    (folder / KERNELS).write_text("raise ZeroDivisionError\n")
    with pytest.raises(ZeroDivisionError):
        load_package(folder, "failing_program")
    assert not [name for name in sys.modules if name.startswith("failing_program")]


def test_kernels_are_told(tmp_path: Path) -> None:
    folder = _written(tmp_path / "program")
    kernels = "".join(f'\n\n@kernel("float32")\ndef kernel_{number}(x):\n    pass\n' for number in range(2))
    kernels += "\n\nKERNELS = addresses(kernel_0, kernel_1)\n"
    source = f'from .runtime.operations import addresses, kernel\n\nDIGEST = "told"\nFACTOR = 2\n{SOURCE}{kernels}'
    (folder / KERNELS).write_text(source)
    told: list[tuple[str, int, int]] = []
    load_package(folder, "told_program", lambda *each: told.append(each))
    assert told == [("kernel_0", 1, 2), ("kernel_1", 2, 2)]


DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64")


def test_constants_are_mapped(tmp_path: Path) -> None:
    """Every type, scalars and empty arrays; short floats are their bits."""
    arrays = {f"{name}_{len(shape)}": np.ones(shape, name) for name in DTYPES for shape in ((), (3,), (2, 0))}
    write_package(tmp_path, "", arrays)
    found = mapped(tmp_path / CONSTANTS)
    assert found.keys() == arrays.keys()
    for name, array in found.items():
        assert not array.flags.writeable
        np.testing.assert_array_equal(array.view(arrays[name].dtype), arrays[name], strict=True)


def test_constants_of_whole_lines_begin_at_lines(tmp_path: Path) -> None:
    """Those of odd sizes come behind them."""
    sizes = {"a": 100, "b": 128, "c": 3, "d": 64 * 50, "e": 0}
    arrays = {name: np.full(size, number, np.int8) for number, (name, size) in enumerate(sizes.items())}
    write_package(tmp_path, "", {**arrays, "f": np.ones((4, 4), np.float32)})
    found = mapped(tmp_path / CONSTANTS)
    assert {name: array.ctypes.data % 64 for name, array in found.items() if name in "bdf"} == {"b": 0, "d": 0, "f": 0}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("left", [0.1, 0.5, 0.9])
def test_constants_that_end_early(tmp_path: Path, left: float) -> None:
    write_package(tmp_path, "", {"weights": np.ones(100, np.float32)})
    data = (tmp_path / CONSTANTS).read_bytes()
    (tmp_path / CONSTANTS).write_bytes(data[: int(left * len(data))])
    with pytest.raises(ValueError, match="is damaged"):
        mapped(tmp_path / CONSTANTS)


@pytest.mark.parametrize("data", [b"", b"1234", bytes(8), b"\xff" * 100, b"\x08" + bytes(7) + b"not json"])
def test_what_holds_no_constants(tmp_path: Path, data: bytes) -> None:
    (tmp_path / CONSTANTS).write_bytes(data)
    with pytest.raises(ValueError, match="is damaged"):
        mapped(tmp_path / CONSTANTS)


def test_numba_that_is_told_not_to_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _written(tmp_path / "program")
    monkeypatch.setattr(import_module("numba").config, "DISABLE_JIT", 1)
    with pytest.raises(
        DiagnosticError, match="NUMBA_DISABLE_JIT is set, and programs are what numba compiles"
    ) as caught:
        load_package(folder, "not_compiled_program")
    assert "\n" not in str(caught.value)


def test_a_saved_program_without_a_compiler(tmp_path: Path) -> None:
    """Imported without qmlir, it says the same itself."""
    folder = _written(tmp_path / "saved")
    kernels = folder / KERNELS
    needed = (
        'from .runtime.operations import addresses, kernel\nDIGEST = "d"\n\n@kernel("int8")\ndef k(x):\n    x[0] = 1\n'
    )
    kernels.write_text(needed + kernels.read_text() + "\n\nKERNELS = addresses(k)\n")
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", "import saved"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )
    assert found.stderr.splitlines()[-1] == (
        "RuntimeError: NUMBA_DISABLE_JIT is set, and this program is what numba compiles: unset it"
    )
