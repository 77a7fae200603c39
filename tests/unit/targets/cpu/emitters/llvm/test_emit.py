"""LLVM IR of modules of loops: what the text says of memory, that every operation has a row, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.kernel.custom import CustomOp
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.emitters.llvm.emit import EMISSIONS, emit_module
from qmlir.targets.cpu.emitters.numba.emit import EMISSIONS as NUMBA_EMISSIONS
from qmlir.targets.cpu.host import Processor, host_processor
from qmlir.targets.cpu.runtime.machine_code import compiled_objects, facts_of, host_machine
from tests.support.emitted import compiled_outputs, parsed

X86, ARM = Processor("x86_64-unknown-linux-gnu"), Processor("aarch64-unknown-linux-gnu")


def test_every_operation_of_the_loops_has_a_row() -> None:
    """The two emitters take the same operations; custom kernels have a row that refuses them."""
    assert set(EMISSIONS) == set(NUMBA_EMISSIONS)
    assert CustomOp in EMISSIONS


def module(calls: str, main: str = "") -> str:
    """A kernel that adds `x` to `y`, and a program that calls it."""
    return f"""
func.func private @add(%x: memref<8xi32> {{kernel.read_only}}, %y: memref<8xi32>) {{
  %c0 = arith.constant 0 : index
  %a = simd.load %x[%c0] : memref<8xi32> to vector<8xi32>
  %b = simd.load %y[%c0] : memref<8xi32> to vector<8xi32>
  %c = arith.addi %a, %b : vector<8xi32>
  simd.store %c, %y[%c0] : vector<8xi32>, memref<8xi32>
  func.return
}}
func.func @main(%x: memref<8xi32> {{nn.name = "x"}}, %y: memref<8xi32> {{nn.result, nn.name = "y"{main}}}) {{
  {calls}
  func.return
}}
"""


def call(x: str, y: str) -> str:
    return f"func.call @add({x}, {y}) : (memref<8xi32>, memref<8xi32>) -> ()"


def head_of(text: str) -> str:
    """The line that begins the kernel."""
    (found,) = re.findall(r"^define internal void @program_kernel_add\(.*$", text, re.MULTILINE)
    return found


def test_memory_that_no_other_argument_has() -> None:
    text = emit_module(parsed(module(call("%x", "%y"))), X86)
    assert "(ptr noalias readonly %a0, ptr noalias %a1)" in head_of(text)
    assert "alignstack(32)" in head_of(text)


@pytest.mark.parametrize(
    ("calls", "main"),
    [
        (call("%y", "%y"), ""),
        (f"{call('%x', '%y')}\n  {call('%y', '%y')}", ""),
        (call("%x", "%y"), ", kernel.may_overwrite = array<i64: 0>"),
    ],
    ids=["one array", "in one of two calls", "an output that may be the input"],
)
def test_memory_that_two_arguments_may_have(calls: str, main: str) -> None:
    assert "(ptr readonly %a0, ptr %a1)" in head_of(emit_module(parsed(module(calls, main)), X86))


SUMS = """
func.func private @add(%x: memref<64xi32> {{kernel.read_only}}, %y: memref<64xi32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0> : vector<8xi32>
  scf.for %row = %c0 to %c8 step %c8 {{
    %sums:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero, %b = %zero) -> (vector<8xi32>, vector<8xi32>) {{
      {body}
    }}
    {after}
  }}
  func.return
}}
func.func @main(%x: memref<64xi32> {{nn.name = "x"}}, %y: memref<64xi32> {{nn.result, nn.name = "y"}}) {{
  func.call @add(%x, %y) : (memref<64xi32>, memref<64xi32>) -> ()
  func.return
}}
"""

VECTORS = """%l = simd.load %x[%i] : memref<64xi32> to vector<8xi32>
      %c = arith.addi %a, %l : vector<8xi32>
      %d = arith.subi %b, %l : vector<8xi32>
      scf.yield %c, %d : vector<8xi32>, vector<8xi32>"""
STORES = """simd.store %sums#0, %y[%c0] : vector<8xi32>, memref<64xi32>
    simd.store %sums#1, %y[%c8] : vector<8xi32>, memref<64xi32>"""
ELEMENTS = """
    scf.for %i = %c0 to %c8 step %c1 {
      %e = memref.load %x[%i] : memref<64xi32>
      %f = arith.addi %e, %e : i32
      memref.store %f, %y[%i] : memref<64xi32>
    }"""


def sums(after: str = "") -> ModuleOp:
    """A kernel with two sums in registers, and other operations after them."""
    return parsed(SUMS.format(body=VECTORS, after=STORES + after))


def test_kernels_that_passes_cannot_improve_are_marked() -> None:
    assert head_of(emit_module(sums(), X86)).endswith('"tiled" {')
    assert "tiled" not in head_of(emit_module(parsed(module(call("%x", "%y"))), X86))  # no loop carries registers
    assert "tiled" not in head_of(emit_module(sums(ELEMENTS), X86))  # LLVM vectorizes the loop over elements


@pytest.mark.parametrize("after", ["", ELEMENTS])
def test_objects_of_marked_kernels(after: str, tmp_path: Path) -> None:
    """The marked kernel is in an object of its own, which passes haven't changed; results are those of one object."""
    loops = sums(after)
    text = emit_module(loops, host_processor())
    assert len(compiled_objects(text, host_machine())) == (1 if after else 2)
    x = np.arange(64, dtype=np.int32).reshape(64) ** 3
    found = compiled_outputs(loops, [x], tmp_path, "llvm")["y"]
    rows = np.stack([x[i : i + 8] for i in range(8)]).sum(0, dtype=np.int32)
    wanted = np.concatenate([2 * x[:8] if after else rows, -rows])
    assert (found[:16] == wanted).all()


PARTS = """
%m = memref.alloc() : memref<64xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant {second} : index
  %a = memref.view %m[%c0][] : memref<64xi8> to memref<8xi32>
  %b = memref.view %m[%c16][] : memref<64xi8> to memref<8xi32>
  {call}"""


@pytest.mark.parametrize(("second", "is_apart"), [(32, True), (28, False)])
def test_parts_of_one_buffer(second: int, is_apart: bool) -> None:
    text = module(PARTS.format(second=second, call=call("%a", "%b")))
    assert ("noalias" in head_of(emit_module(parsed(text), X86))) == is_apart


def test_the_first_line_says_what_the_program_is() -> None:
    facts = facts_of(emit_module(parsed(module(call("%x", "%y"))), X86))
    assert facts["INPUTS"] == [["x", "int32", [8], False, 0]]
    assert facts["OUTPUTS"] == [["y", "int32", [8], False, 0]]
    assert facts["CALLS"] == [["program_kernel_add", []]]
    assert facts["needs"] == []
    assert facts["features"] == []


def test_the_same_text_again() -> None:
    made = [emit_module(parsed(module(call("%x", "%y"))), X86) for _ in range(2)]
    assert made[0] == made[1]


def test_what_is_of_one_processor() -> None:
    """Assembly against faults of LLVM for x86, and the alignment of its stack, are in no other's text."""
    store = """
func.func @main(%n: memref<1xindex>, %y: memref<8xi32> {nn.result, nn.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c = memref.load %n[%c0] : memref<1xindex>
  %v = simd.load %y[%c0] : memref<8xi32> to vector<8xi32>
  simd.store_partial %v, %y[%c0], %c : vector<8xi32>, memref<8xi32>
  func.return
}
"""
    for processor, count in ((X86, 1), (ARM, 0)):
        assert emit_module(parsed(store), processor).count(" asm ") == count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @other() {\n  func.return\n}", "a module without a function @main cannot be emitted"),
        (
            "func.func @main() {\n  %c = arith.constant 1.0 : f80\n  func.return\n}",
            "values must be integers of at most 64 bits, f16, bf16, f32, f64 or index, but got f80",
        ),
    ],
)
def test_what_has_no_compiled_form(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=re.escape(message)):
        emit_module(parsed(text), X86)
