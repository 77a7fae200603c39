"""Running functions on memory: the same callers as for functions on tensors."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.parsing import parse_module


def _module(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text, "run.mlir")


COPY = """
func.func @main(%x: memref<3x{element}> {{nn.name = "x"{said}}},
    %y: memref<3x{element}> {{nn.result, nn.name = "y"{said}}},
    %z: memref<3x{element}> {{nn.result}}) -> (index {{nn.name = "n"}}) {{
  "memref.copy"(%x, %y) : (memref<3x{element}>, memref<3x{element}>) -> ()
  "memref.copy"(%y, %z) : (memref<3x{element}>, memref<3x{element}>) -> ()
  %n = arith.constant 7 : index
  func.return %n : index
}}
"""


def test_results_in_memory_come_before_returned_ones() -> None:
    given = np.array([1, -2, 3], np.int16)
    found = interpret(_module(COPY.format(element="i16", said="")), {"x": given})
    assert list(found) == ["y", "output1", "n"]
    np.testing.assert_array_equal(found["y"], given)
    np.testing.assert_array_equal(found["output1"], given)
    assert found["n"] == 7


@pytest.mark.parametrize(
    ("element", "said", "given", "held"),
    [
        ("i8", "ui8", np.array([0, 127, 255], np.uint8), [0, 127, -1]),
        ("i64", "ui64", np.array([0, 1, 2**64 - 1], np.uint64), [0, 1, -1]),
        ("i4", "ui4", np.array([0, 7, 15], np.uint8), [0, 7, -1]),
    ],
)
def test_the_caller_has_unsigned_integers(element: str, said: str, given: np.ndarray, held: list[int]) -> None:
    module = _module(COPY.format(element=element, said=f", nn.element = {said}"))
    found = interpret(module, {"x": given})
    assert found["y"].dtype == given.dtype
    np.testing.assert_array_equal(found["y"], given)
    np.testing.assert_array_equal(found["output1"], held)  # which does not say that it has no sign
    with pytest.raises(DiagnosticError, match=f"must be {given.dtype}, but got int16"):
        interpret(module, {"x": given.astype(np.int16)})


def test_truth_values() -> None:
    given = np.array([True, False, True])
    found = interpret(_module(COPY.format(element="i1", said="")), [given])
    assert found["y"].dtype == np.bool_
    np.testing.assert_array_equal(found["y"], given)


def test_inputs_are_not_written() -> None:
    module = _module(
        "func.func @main(%x: memref<2xi8>) {\n  %v = arith.constant 1 : i8\n  %c0 = arith.constant 0 : index\n"
        "  memref.store %v, %x[%c0] : memref<2xi8>\n  func.return\n}\n"
    )
    given = np.zeros(2, np.int8)
    with pytest.raises(DiagnosticError, match="cannot be computed: cannot write to constant memory"):
        interpret(module, [given])
    assert not given.any()


@pytest.mark.parametrize(
    "op",
    [
        '"memref.copy"(%x, %y) : (memref<1x2x2x1xi8>, memref<1x2x2x1xi8>) -> ()',
        "memref.store %v, %y[%c, %c, %c, %c] : memref<1x2x2x1xi8>",
        "vector.store %w, %y[%c, %c, %c, %c] : memref<1x2x2x1xi8>, vector<1xi8>",
        "simd.store %w, %y[%c, %c, %c, %c] : vector<1xi8>, memref<1x2x2x1xi8>",
        "simd.store_partial %w, %y[%c, %c, %c, %c], %one : vector<1xi8>, memref<1x2x2x1xi8>",
        "linalg.fill ins(%v : i8) outs(%y : memref<1x2x2x1xi8>)",
        "kernel.conv ins(%x, %f : memref<1x2x2x1xi8>, memref<1x1x1x1xi8>) outs(%y : memref<1x2x2x1xi8>) attributes {\n"
        "strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {\n^bb0(%s: i32):\n"
        "%t = arith.trunci %s : i32 to i8\nkernel.yield %t : i8\n}",
        'kernel.custom "a:b" ins(%x : memref<1x2x2x1xi8>) outs(%y : memref<1x2x2x1xi8>) computes {op = "nn.abs",\n'
        "operands = [tensor<1x2x2x1xi8>], results = [tensor<1x2x2x1xi8>]}",
    ],
)
def test_memory_of_an_input_is_not_written(op: str) -> None:
    text = f"""
    func.func @main(%x: memref<1x2x2x1xi8>, %f: memref<1x1x1x1xi8>, %y: memref<1x2x2x1xi8> {{RESULT}}) {{
      %c = arith.constant 0 : index
      %one = arith.constant 1 : index
      %v = arith.constant 3 : i8
      %w = arith.constant dense<3> : vector<1xi8>
      {op}
      func.return
    }}"""
    x, f = np.ones((1, 2, 2, 1), np.int8), np.ones((1, 1, 1, 1), np.int8)
    interpret(_module(text.replace("RESULT", "nn.result")), [x, f])
    with pytest.raises(DiagnosticError, match="cannot be computed: cannot write to constant memory"):
        interpret(_module(text.replace("{RESULT}", "")), [x, f, x.copy()])
