"""Helpers compile kernels into the cache that a program is loaded from; without them it is compiled as before."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu import package
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.emitters.program import constants_of
from qmlir.targets.cpu.package import RUNTIME, load_package, write_package
from qmlir.targets.cpu.runtime.helper import claimed
from tests.support.emitted import parsed

KERNEL = """
func.func private @kernel_{number}(%s: i32, %x: memref<4xi32>, %y: memref<4xi32>) {{
  %c0 = arith.constant 0 : index
  %v = simd.load %x[%c0] : memref<4xi32> to vector<4xi32>
  %n = vector.broadcast %s : i32 to vector<4xi32>
  %w = arith.addi %v, %n : vector<4xi32>
  simd.store %w, %y[%c0] : vector<4xi32>, memref<4xi32>
  func.return
}}
"""
CALL = """
  %n{number} = arith.constant {number} : i32
  func.call @kernel_{number}(%n{number}, %{source}, %y) : (i32, memref<4xi32>, memref<4xi32>) -> ()
"""
COUNT = 3


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The package of a program that adds 0, 1 and 2, each in a kernel that takes the number in a register."""
    kernels = "".join(KERNEL.format(number=number) for number in range(COUNT))
    calls = "".join(CALL.format(number=number, source="y" if number else "x") for number in range(COUNT))
    head = 'func.func @main(%x: memref<4xi32> {nn.name = "x"}, %y: memref<4xi32> {nn.result, nn.name = "y"}) {\n'
    module = parsed(f"{kernels}{head}{calls}  func.return\n}}\n")
    folder = tmp_path / "program"
    folder.mkdir()
    write_package(folder, emit_module(module), constants_of(module))
    return folder


def _hits(package: Any) -> list[int]:
    """For each kernel how often it came from the cache."""
    names = [f"kernel_{number}" for number in range(COUNT)]
    return [sum(getattr(package.kernels, name).compiled.stats.cache_hits.values()) for name in names]


def _check(package: Any) -> None:
    x = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(package.program([x], None)["y"], x + 3)


def _help(program: Path, claims: Path) -> None:
    subprocess.run([sys.executable, str(program / RUNTIME / "helper.py"), str(program), str(claims)], check=True)


def test_a_helper_fills_the_cache(program: Path, tmp_path: Path) -> None:
    claims = tmp_path / "claims"
    claims.mkdir()
    assert claimed(claims, "kernel_1")
    assert not claimed(claims, "kernel_1")
    _help(program, claims)
    assert sorted(each.name for each in claims.iterdir()) == ["kernel_0", "kernel_1", "kernel_2", "steps"]
    package = load_package(program, "helped_before")
    assert _hits(package) == [1, 0, 1]
    _check(package)


def test_compiled_together(program: Path) -> None:
    told: list[str] = []
    package = load_package(program, "helped_meanwhile", lambda name, number, count: told.append(name), helpers=1)
    assert sorted(told) == ["kernel_0", "kernel_1", "kernel_2", "steps"]
    _check(package)


def test_a_helper_that_dies(program: Path) -> None:
    (program / RUNTIME / "helper.py").write_text(
        "import pathlib, sys\n(pathlib.Path(sys.argv[2]) / 'kernel_0').touch()\nraise SystemExit(1)\n"
    )
    package = load_package(program, "helped_badly", helpers=2)
    assert _hits(package) == [0, 0, 0]
    _check(package)


def test_no_interpreter(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(program / "nothing"))
    _check(load_package(program, "helped_by_nobody", helpers=1))


def test_a_kernel_by_itself(program: Path) -> None:
    package: Any = load_package(program, "single_kernels")
    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    package.kernels.kernel_2(2, x, y)
    np.testing.assert_array_equal(y, x + 2)


def _helpers(lines: int) -> int:
    return package.helper_count("\n" * lines, package.process_limit())


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(package.PROCESSES_VARIABLE, "4")
    assert [_helpers(count) for count in (0, 1999, 2000, 3000, 9000)] == [0, 0, 1, 2, 3]
    monkeypatch.setenv(package.PROCESSES_VARIABLE, "1")
    assert _helpers(9000) == 0
    monkeypatch.setenv(package.PROCESSES_VARIABLE, "")
    monkeypatch.setattr("multiprocessing.parent_process", lambda: object())
    assert _helpers(9000) == 0
    monkeypatch.setattr(sys, "executable", "")
    assert _helpers(9000) == 0


@pytest.mark.parametrize("count", ["two", "-1", "1.5"])
def test_a_count_that_is_no_number(monkeypatch: pytest.MonkeyPatch, count: str) -> None:
    monkeypatch.setenv("QMLIR_COMPILE_PROCESSES", count)
    wanted = rf"QMLIR_COMPILE_PROCESSES must be a number of processes \(example: 2\), but got '{count}'"
    with pytest.raises(DiagnosticError, match=wanted):
        package.process_limit()
