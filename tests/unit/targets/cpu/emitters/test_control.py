"""Loops, choices, memory and calls: the emitted code equals the interpreter, and what has no compiled form is named."""

from pathlib import Path

import numpy as np
import pytest

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from tests.support.emitted import assert_equal_outputs, parsed

CONSTANTS = "".join(f"%c{number} = arith.constant {number} : index\n" for number in range(9))


def main(arguments: str, body: str) -> str:
    return f"func.func @main({arguments}) {{\n{CONSTANTS}\n{body}\nfunc.return\n}}"


INTEGERS = np.arange(-12, 12, dtype=np.int32).reshape(4, 6)


def check(text: str, inputs: list[np.ndarray], folder: Path) -> None:
    assert_equal_outputs(parsed(text), inputs, folder)


def test_values_that_change_places(tmp_path: Path) -> None:
    """Fibonacci's numbers: what a step yields is what was before the step."""
    body = """
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a, %b, %n = scf.for %i = %c0 to %c8 step %c2 iter_args(%x = %zero, %y = %one, %k = %c0) -> (i32, i32, index) {
      %sum = arith.addi %x, %y : i32
      %k2 = arith.addi %k, %i : index
      scf.yield %y, %sum, %k2 : i32, i32, index
    }
    memref.store %a, %o[%c0] : memref<3xi32>
    memref.store %b, %o[%c1] : memref<3xi32>
    %m = arith.index_cast %n : index to i32
    memref.store %m, %o[%c2] : memref<3xi32>
    """
    check(main("%o: memref<3xi32> {nn.result}", body), [], tmp_path)


def test_nested_loops_and_choices(tmp_path: Path) -> None:
    body = """
    %zero = arith.constant 0 : i32
    scf.for %i = %c0 to %c4 step %c1 {
      %total = scf.for %j = %c0 to %c6 step %c1 iter_args(%t = %zero) -> (i32) {
        %v = memref.load %x[%i, %j] : memref<4x6xi32>
        %negative = arith.cmpi slt, %v, %zero : i32
        %u, %w = scf.if %negative -> (i32, i32) {
          %n = arith.subi %zero, %v : i32
          scf.yield %n, %t : i32, i32
        } else {
          %d = arith.addi %v, %v : i32
          scf.yield %d, %v : i32, i32
        }
        scf.if %negative {
          memref.store %w, %p[%i, %j] : memref<4x6xi32>
        }
        %s = arith.addi %u, %t : i32
        scf.yield %s : i32
      }
      memref.store %total, %o[%i] : memref<4xi32>
    }
    """
    arguments = "%x: memref<4x6xi32>, %o: memref<4xi32> {nn.result}, %p: memref<4x6xi32> {nn.result}"
    body = (
        body
        + """
    scf.for %i = %c2 to %c4 step %c1 {
      scf.for %j = %c0 to %c6 step %c1 {
        memref.store %zero, %p[%i, %j] : memref<4x6xi32>
      }
    }
    """
    )
    check(main(arguments, body), [INTEGERS], tmp_path)


def test_while_and_switch(tmp_path: Path) -> None:
    body = """
    %limit = arith.constant 50 : i32
    %three = arith.constant 3 : i32
    scf.for %i = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %c5] : memref<4x6xi32>
      %r, %k = scf.while (%a = %v, %n = %c0) : (i32, index) -> (i32, index) {
        %go = arith.cmpi slt, %a, %limit : i32
        scf.condition(%go) %a, %n : i32, index
      } do {
      ^bb0(%a: i32, %n: index):
        %b = arith.addi %a, %three : i32
        %m = arith.addi %n, %c1 : index
        scf.yield %b, %m : i32, index
      }
      %s = scf.index_switch %i -> i32
      case 1 {
        scf.yield %limit : i32
      }
      case 2 {
        scf.yield %r : i32
      }
      default {
        %e = scf.execute_region -> (i32) {
          %f = arith.addi %r, %r : i32
          scf.yield %f : i32
        }
        scf.yield %e : i32
      }
      %c = arith.index_cast %k : index to i32
      %t = arith.addi %s, %c : i32
      memref.store %t, %o[%i] : memref<4xi32>
    }
    """
    check(main("%x: memref<4x6xi32>, %o: memref<4xi32> {nn.result}", body), [INTEGERS], tmp_path)


PARALLEL = """
    "scf.parallel"(%c0, %c1, %c4, %c6, %c2, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
    ^bb0(%i: index, %j: index):
      %v = memref.load %x[%i, %j] : memref<4x6xi32>
      %w = simd.load %x[%i, %c0] : memref<4x6xi32> to vector<4xi32>
      %q = arith.addi %w, %lanes : vector<4xi32>
      %s = simd.reduce_add %q : vector<4xi32> to i32
      %t = arith.addi %s, %v : i32
      memref.store %t, %o[%i, %j] : memref<4x6xi32>
      scf.reduce
    }) : (index, index, index, index, index, index) -> ()
"""


def test_parallel_loops(tmp_path: Path) -> None:
    """Values from outside the loop, a vector among them, are known inside."""
    body = f"""
    %seven = arith.constant 7 : i32
    scf.for %i = %c0 to %c4 step %c1 {{
      scf.for %j = %c0 to %c6 step %c1 {{
        memref.store %seven, %o[%i, %j] : memref<4x6xi32>
      }}
    }}
    %lanes = arith.constant dense<[1, 2, 3, 5]> : vector<4xi32>
    {PARALLEL}
    """
    check(main("%x: memref<4x6xi32>, %o: memref<4x6xi32> {nn.result}", body), [INTEGERS], tmp_path)


def test_memory(tmp_path: Path) -> None:
    body = """
    %s = memref.alloca() {alignment = 64 : i64} : memref<4x6xi32>
    "memref.copy"(%x, %s) : (memref<4x6xi32>, memref<4x6xi32>) -> ()
    %even = memref.subview %s[%c1, 0] [2, 3] [2, 2] : memref<4x6xi32> to memref<2x3xi32, strided<[12, 2], offset: ?>>
    "memref.copy"(%even, %o) : (memref<2x3xi32, strided<[12, 2], offset: ?>>, memref<2x3xi32>) -> ()
    %row = memref.subview %s[2, 0] [1, 6] [1, 1] : memref<4x6xi32> to memref<6xi32, strided<[1], offset: 12>>
    "memref.copy"(%row, %p) : (memref<6xi32, strided<[1], offset: 12>>, memref<6xi32>) -> ()
    %arena = memref.alloc() : memref<256xi8>
    %at = arith.constant 64 : index
    %h = memref.view %arena[%at][] : memref<256xi8> to memref<3x2xf16>
    %half = arith.constant 0.333251953125 : f16
    %nan = arith.constant 0x7E00 : f16
    memref.store %half, %h[%c2, %c1] : memref<3x2xf16>
    memref.store %nan, %h[%c2, %c0] : memref<3x2xf16>
    %hv = memref.load %h[%c2, %c1] : memref<3x2xf16>
    memref.store %hv, %q[] : memref<f16>
    %flat = memref.collapse_shape %s [[0, 1]] : memref<4x6xi32> into memref<24xi32>
    %again = memref.expand_shape %flat [[0, 1, 2]] output_shape [2, 3, 4] : memref<24xi32> into memref<2x3x4xi32>
    %v = memref.load %again[%c1, %c2, %c3] : memref<2x3x4xi32>
    memref.store %v, %o[%c0, %c0] : memref<2x3xi32>
    %true = arith.constant true
    %four = arith.constant -3 : i4
    memref.store %true, %b[%c1] : memref<2xi1>
    %false = arith.constant false
    memref.store %false, %b[%c0] : memref<2xi1>
    memref.store %four, %f[%c0] : memref<1xi4>
    """
    arguments = (
        "%x: memref<4x6xi32>, %o: memref<2x3xi32> {nn.result}, %p: memref<6xi32> {nn.result}, "
        "%q: memref<f16> {nn.result}, %b: memref<2xi1> {nn.result}, %f: memref<1xi4> {nn.result}"
    )
    check(main(arguments, body), [INTEGERS], tmp_path)


UNEMITTED = {
    "lacks a main": ("func.func @other() {\n func.return\n}", "a module without a function @main"),
    "another level": (
        main("%x: memref<4xi8>", "%z = arith.constant 1 : i8\n" + "linalg.fill ins(%z : i8) outs(%x : memref<4xi8>)"),
        "cannot be compiled: expected an operation of",
    ),
    "signed bytes": (
        main(
            "%x: memref<16xi8>, %o: memref<4xi32> {nn.result}",
            """%v = simd.load %x[%c0] : memref<16xi8> to vector<16xi8>
            %a = arith.constant dense<0> : vector<4xi32>
            %d = simd.dot_accumulate %a, %v, %v : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
            simd.store %d, %o[%c0] : vector<4xi32>, memref<4xi32>""",
        ),
        "run simd-legalize",
    ),
    "unknown sizes": (main("%x: memref<?xi8>", ""), "shapes must be known"),
    "wide integers": (
        main("%x: memref<4xi8>", "%a = arith.constant 1 : i128\n%b = arith.addi %a, %a : i128"),
        "integers of at most 64 bits",
    ),
}


@pytest.mark.parametrize("case", UNEMITTED)
def test_what_has_no_compiled_form(case: str) -> None:
    text, message = UNEMITTED[case]
    with pytest.raises(DiagnosticError, match=message):
        emit_module(parsed(text))
