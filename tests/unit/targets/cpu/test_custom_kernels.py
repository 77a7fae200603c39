"""Kernels that a person wrote with numba, compiled: alone, among others, on threads, and held to what they mean."""

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir import registry
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.compiler import Program, compile_module
from qmlir.targets.cpu.package import KERNELS
from qmlir.targets.cpu.saved import seal
from qmlir.text.parsing import parse_module


@pytest.fixture(scope="module", autouse=True)
def _plugged() -> Iterator[None]:
    with registry.plugged([registry.plugin("tests.support.custom_kernels")]):
        yield


def _module(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), dedent(text))


def _source(program: Program, folder: Path) -> str:
    program.save(folder)
    return (folder / KERNELS).read_text()


THRESHOLDS = """
func.func @main(%x: tensor<5x7xf32> {nn.name = "x"})
    -> (tensor<5x7xf32> {nn.name = "y"}, tensor<5x14xf32> {nn.name = "z"}) {
  %0 = soft.threshold %x by 0.5 : f32 {origin = "shrink1"} : tensor<5x7xf32> -> tensor<5x7xf32>
  %1 = nn.neg %0 : tensor<5x7xf32>
  %2 = soft.threshold %1 by 0.5 : f32 {origin = "shrink2"} : tensor<5x7xf32> -> tensor<5x7xf32>
  %4 = soft.threshold %2 by 0.5 : f32 {origin = "shrink3"} : tensor<5x7xf32> -> tensor<5x7xf32>
  %3 = nn.concat %4, %x {axis = 1} : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x14xf32>
  func.return %2, %3 : tensor<5x7xf32>, tensor<5x14xf32>
}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_among_other_kernels(threads: int, tmp_path: Path) -> None:
    """Memory with gaps, a result in an output, and two calls of one kernel are among it."""
    module = _module(THRESHOLDS)
    program = compile_module(module, threads=threads)
    x = np.random.default_rng(0).normal(0, 1, (5, 7)).astype(np.float32)
    found, expected = program({"x": x}), interpret(module, {"x": x})
    for name in ("y", "z"):
        np.testing.assert_array_equal(found[name], expected[name], strict=True)
    source = _source(program, tmp_path / "program")
    assert source.count(".copy()") == 1, "of the result that lies in a part of the second output"
    assert "from tests.support.custom_kernels import threshold as by_hand_0_threshold" in source
    assert source.count("by_hand=True") == source.count("by_hand_0_threshold(array(")


SPLIT = """
!x = !quant.uniform<u8:f32, 0.5:3>
!y = !quant.uniform<i8:f32, 0.5:1>
func.func @main(%x: tensor<9x!x> {nn.name = "x"}, %y: tensor<9x!y> {nn.name = "y"})
    -> (tensor<9x!x> {nn.name = "high"}, tensor<9x!x> {nn.name = "low"}) {
  %0, %1 = soft.split %x, %y : (tensor<9x!x>, tensor<9x!y>) -> (tensor<9x!x>, tensor<9x!x>)
  func.return %0, %1 : tensor<9x!x>, tensor<9x!x>
}
"""


def test_integers_with_and_without_sign() -> None:
    module = _module(SPLIT)
    x = np.array([0, 1, 2, 127, 128, 200, 255, 9, 10], np.uint8)
    y = np.array([0, 0, 1, 100, 127, -1, -128, -9, 7], np.int8)
    found = compile_module(module)({"x": x, "y": y})
    total = (x.astype(np.int64) + y) % 256
    np.testing.assert_array_equal(found["low"], (total & 1).astype(np.uint8), strict=True)
    np.testing.assert_array_equal(found["high"], (total - (total & 1)).astype(np.uint8), strict=True)


def test_a_wrong_kernel_is_not_compiled() -> None:
    module = _module("""
        func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
          %0 = wrong.off_by_one %x {origin = "node1"} : tensor<4xf32> -> tensor<4xf32>
          func.return %0 : tensor<4xf32>
        }
    """)
    with pytest.raises(DiagnosticError, match=r"\(node1\) .*:off_by_one' does not compute 'wrong\.off"):
        compile_module(module)


def test_a_saved_program_needs_its_functions_only(tmp_path: Path) -> None:
    compile_module(_module(SPLIT)).save(tmp_path / "program")
    text = (tmp_path / "program" / KERNELS).read_text()
    assert "from qmlir" not in text
    assert "from tests.support.custom_kernels import split as by_hand_0_split" in text
    (tmp_path / "program" / KERNELS).write_text(text.replace("from tests.support.custom_kernels", "from not_installed"))
    seal(tmp_path / "program")
    with pytest.raises(DiagnosticError, match="requires the Python module 'not_installed', which is not installed"):
        qmlir.load_program(tmp_path / "program")


_PACKAGE = """
import numpy as np
from numba import njit
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.universe import Universe
from qmlir.dialects.kernel.custom import CustomKernel
from qmlir.registry import Contribution

@irdl_op_definition
class TimesOp(IRDLOperation):
    name = "changing.times"
    x = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

EVALUATORS = {TimesOp: lambda op, x: (x * np.float32(FACTOR),)}

@njit
def times(x, y):
    y[:] = x * np.float32(FACTOR)

TIMES = CustomKernel(TimesOp, "PLACE:times")
UNIVERSE = Universe(all_dialects={"changing": lambda: Dialect("changing", [TimesOp])})
CONTRIBUTION = Contribution(evaluators={"changing": "NAME:EVALUATORS"}, kernels={"changing.times": "NAME:TIMES"})
"""

_TIMES = """
func.func @main(%x: tensor<3xf32> {nn.name = "x"}) -> (tensor<3xf32> {nn.name = "y"}) {
  %0 = changing.times %x : tensor<3xf32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""


def _run_with(folder: Path, name: str, factor: str, position: str = "") -> list[float]:
    text = _PACKAGE.replace("FACTOR", factor).replace("PLACE", position or name).replace("NAME", name)
    (folder / f"{name}.py").write_text(text)
    sys.modules.pop(name, None)
    invalidate_caches()
    registry.code_digest.cache_clear()  # that of a new process
    with registry.plugged([registry.plugin(name)]):
        program = compile_module(_module(_TIMES))
        return program({"x": np.array([1, 2, 3], np.float32)})["y"].tolist()


def test_another_source_is_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert _run_with(tmp_path, "changing_kernels", "2.0") == [2, 4, 6]
    assert _run_with(tmp_path, "changing_kernels", "30.0") == [30, 60, 90]


def test_a_function_of_another_package_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DiagnosticError, match=r"'changing\.times' op"):
        _run_with(tmp_path, "borrowing_kernels", "2.0", "somewhere.else")
    assert "'somewhere.else:times' is defined outside the package" in caplog.text


def test_the_interface_of_python() -> None:
    module = _module(THRESHOLDS)
    x = np.zeros((5, 7), np.float32)
    assert qmlir.compile(module)({"x": x})["y"].tolist() == x.tolist()
