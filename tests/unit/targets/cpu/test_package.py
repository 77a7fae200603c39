"""Packages of compiled programs: what is written, and what is imported under which name."""

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.package import (
    CONSTANTS,
    INIT,
    KERNELS,
    RUNTIME,
    load_package,
    write_package,
    write_runtime_bytecode,
)
from qmlir.targets.cpu.runtime.errors import CorruptProgramError, InputError
from qmlir.targets.cpu.runtime.program import mapped

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


def test_python_takes_the_bytecode_of_the_runtime_until_a_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _written(tmp_path / "program")
    write_runtime_bytecode(folder)
    compiled: list[str] = []
    compile_source = SourceFileLoader.source_to_code

    def noted(loader: SourceFileLoader, data: Any, path: Any, **options: Any) -> Any:
        compiled.append(Path(path).name)
        return compile_source(loader, data, path, **options)

    monkeypatch.setattr(SourceFileLoader, "source_to_code", noted)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def names() -> list[str]:
        """The files that the code of each module of the runtime says it is of, after it is loaded."""
        loaders = [SourceFileLoader(path.stem, str(path)) for path in sorted((folder / RUNTIME).glob("*.py"))]
        return [Path(loader.get_code(loader.name).co_filename).name for loader in loaders]

    assert names() == sorted(path.name for path in (folder / RUNTIME).glob("*.py"))
    assert not compiled
    with (folder / RUNTIME / "errors.py").open("a") as file:
        file.write("ADDED = 1\n")
    names()
    assert compiled == ["errors.py"]


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


def _digest(folder: Path) -> str:
    """What the program says of its constants."""
    (line,) = (line for line in (folder / INIT).read_text().splitlines() if line.startswith("CONSTANTS_DIGEST"))
    return line.split('"')[1]


def test_constants_are_mapped(tmp_path: Path) -> None:
    """Every type, scalars and empty arrays; short floats are their bits."""
    arrays = {f"{name}_{len(shape)}": np.ones(shape, name) for name in DTYPES for shape in ((), (3,), (2, 0))}
    write_package(tmp_path, "", arrays)
    assert _digest(tmp_path) == hashlib.sha256((tmp_path / CONSTANTS).read_bytes()).hexdigest()
    found = mapped(tmp_path / CONSTANTS, _digest(tmp_path))
    assert found.keys() == arrays.keys()
    for name, array in found.items():
        assert not array.flags.writeable
        np.testing.assert_array_equal(array.view(arrays[name].dtype), arrays[name], strict=True)


def test_constants_of_whole_lines_begin_at_lines(tmp_path: Path) -> None:
    """Those of odd sizes come behind them."""
    sizes = {"a": 100, "b": 128, "c": 3, "d": 64 * 50, "e": 0}
    arrays = {name: np.full(size, number, np.int8) for number, (name, size) in enumerate(sizes.items())}
    write_package(tmp_path, "", {**arrays, "f": np.ones((4, 4), np.float32)})
    found = mapped(tmp_path / CONSTANTS, _digest(tmp_path))
    assert {name: array.ctypes.data % 64 for name, array in found.items() if name in "bdf"} == {"b": 0, "d": 0, "f": 0}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 10],
        lambda data: data[:-1],
        lambda data: data + b"0",
        lambda data: data[:-4] + b"1234",
        lambda data: data.replace(b"[100]", b"[104]"),
        lambda data: b"",
        lambda data: b"\xff" * 100,
    ],
)
def test_damaged_constants(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    write_package(tmp_path, "", {"weights": np.ones(100, np.float32)})
    data = (tmp_path / CONSTANTS).read_bytes()
    (tmp_path / CONSTANTS).write_bytes(change(data))
    assert change(data) != data
    with pytest.raises(CorruptProgramError, match="is damaged"):
        mapped(tmp_path / CONSTANTS, _digest(tmp_path))


@pytest.mark.parametrize("wrong", [np.zeros(2, np.float32), np.zeros(3, np.float64), np.zeros((0,), np.float32)])
def test_constants_of_other_sizes_than_kernels_read(tmp_path: Path, wrong: np.ndarray) -> None:
    """Whatever the digest says: kernels read so many elements from an address."""
    folder = tmp_path / "program"
    folder.mkdir()
    write_package(folder, f"FACTOR = 2\n{SOURCE}", {"weights": wrong})
    with pytest.raises(DiagnosticError, match=r"constant 'weights' must hold 3 elements of float32, but got \d+ bytes"):
        load_package(folder, "program_of_wrong_sizes")


def test_ports_of_one_name(tmp_path: Path) -> None:
    folder = _written(tmp_path / "program")
    row = '("y", "float32", (3,), False, 0)'
    (folder / KERNELS).write_text((folder / KERNELS).read_text().replace(row, f"{row}, {row}"))
    with pytest.raises(DiagnosticError, match="inputs and outputs must have unique names, but got y, y"):
        load_package(folder, "program_of_one_name")


def test_kernels_that_are_cut_off(tmp_path: Path) -> None:
    folder = _written(tmp_path / "program")
    (folder / KERNELS).write_text((folder / KERNELS).read_text()[:-7])
    with pytest.raises(DiagnosticError, match=r"kernels.py is damaged: line \d+ is not Python"):
        load_package(folder, "cut_off_program")


def test_an_error_is_one_class_and_one_line(tmp_path: Path) -> None:
    """Each package has a copy of the file, and the first gives the class."""
    for name in ("first", "second"):
        package: Any = load_package(_written(tmp_path / name), f"errors_of_{name}")
        assert package.InputError is InputError is qmlir.InputError
    error = InputError("no input 'a\n\x1b[31m\u202e'")
    assert str(error) == r"no input 'a\n\x1b[31m\u202e'"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (InputError, str(error))


def test_numba_that_is_told_not_to_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _written(tmp_path / "program")
    monkeypatch.setattr(import_module("numba").config, "DISABLE_JIT", 1)
    with pytest.raises(
        DiagnosticError, match=r"compiling requires numba's compiler; unset NUMBA_DISABLE_JIT, or use qmlir\.interpret"
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
        "RuntimeError: this program requires numba's compiler; unset NUMBA_DISABLE_JIT"
    )
