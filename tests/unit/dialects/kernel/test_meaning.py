"""What contractions refuse to compute, and what they may overwrite."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.dialects.kernel.attributes import RequantizeAttr, ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module


def product(x: str, w: str, attributes: str = "", accumulator: str = "i32") -> ModuleOp:
    """A module with one product of constant matrices of 32-bit integers."""
    text = f"""func.func @main() -> tensor<1x1x{accumulator}> {{
      %x = arith.constant dense<{x}> : tensor<1x2xi32>
      %w = arith.constant dense<{w}> : tensor<1x2xi32>
      %0 = kernel.matmul ins(%x, %w : tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<1x1x{accumulator}> {attributes} {{
      ^bb0(%sum: {accumulator}):
        kernel.yield %sum : {accumulator}
      }}
      func.return %0 : tensor<1x1x{accumulator}>
    }}"""
    module = parse_module(default_environment().new_context(), text)
    verify(module)
    return module


def kernel_of(module: ModuleOp) -> ContractionOp:
    """The contraction of a module."""
    (found,) = (op for op in module.walk() if isinstance(op, ContractionOp))
    return found


def test_a_sum_that_its_accumulator_does_not_hold() -> None:
    """65536 * 32768 is 2^31: one too many for i32, which wraps nothing."""
    with pytest.raises(DiagnosticError, match=r"a sum of kernel\.matmul ranges over \[2147483648, 2147483648\]"):
        interpret(product("[[65536, 0]]", "[[32768, 0]]"), {})
    assert interpret(product("[[65536, 1]]", "[[32768, -1]]"), {})["output0"].tolist() == [[2147483647]]
    assert interpret(product("[[65536, 0]]", "[[32768, 0]]", accumulator="i64"), {})["output0"].tolist() == [[1 << 31]]


def test_sums_are_exact_beyond_53_bits() -> None:
    """2^30 * 2^30 + 1: no float holds it."""
    module = product("[[1073741824, 1]]", "[[1073741824, 1]]", accumulator="i64")
    assert interpret(module, {})["output0"].tolist() == [[(1 << 60) + 1]]


CONVOLUTION = """func.func @main(%x: memref<1x4x2xi8>, %r: memref<1x3x3xi8>, %b: memref<3xi8>, %y: memref<1x3x3xi8>) {
  %w = memref.alloc() : memref<3x2x2xi8>
  kernel.conv ins(%x, %w : memref<1x4x2xi8>, memref<3x2x2xi8>) epilogue(%r, %b : memref<1x3x3xi8>, memref<3xi8>)
      outs(%y : memref<1x3x3xi8>) attributes {strides = array<i64: 1>, dilations = array<i64: 1>,
      epilogue_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>]} {
  ^bb0(%sum: i32, %residual: i8, %bias: i8):
    kernel.yield %residual : i8
  }
  func.return
}"""


def test_what_a_contraction_says_of_itself() -> None:
    module = parse_module(default_environment().new_context(), CONVOLUTION)
    verify(module)
    kernel = kernel_of(module)
    assert isinstance(kernel, ConvOp)
    assert (kernel.terms(), kernel.channels(), kernel.multiply_adds()) == (4, 3, 36)
    (destination,) = kernel.destinations()
    assert destination.operand == 4
    # Only the residual has an element for each of the result; data and bias are read again.
    assert [kernel.may_overwrite(position, 0) for position in range(4)] == [False, False, True, False]


def test_attributes_read_back_what_they_were_made_of() -> None:
    shift = RequantizeAttr.of(Mode.SHIFT, Ties.UP)
    assert (shift.mode, shift.ties) == (Mode.SHIFT, Ties.UP)
    schedule = ScheduleAttr.of("dot", rows=6, vectors=4, lanes=16, k_unroll=2, threads=True)
    left = schedule.of_packed()
    assert left is not None
    assert (left.variant, left.rows, left.vectors, left.lanes, left.k_unroll, left.threads) == ("", 6, 1, 1, 1, True)
    assert ScheduleAttr.of("dot", lanes=16).of_packed() is None
