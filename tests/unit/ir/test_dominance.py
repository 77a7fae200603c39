"""Dominance on a part of a module, and on graphs of many blocks."""

import tracemalloc

import pytest
from xdsl.dialects.scf import IfOp
from xdsl.ir import Operation

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify_dominance
from qmlir.text.parsing import parse_module


def _parsed(source: str) -> Operation:
    return parse_module(default_environment().new_context(), source, "model.mlir")


def test_a_part_may_use_values_around_it() -> None:
    module = _parsed("""func.func @main(%c: i1, %x: i32) {
  %0 = arith.addi %x, %x : i32
  scf.if %c {
    %1 = arith.addi %0, %x : i32
  }
  func.return
}""")
    (part,) = (op for op in module.walk() if isinstance(op, IfOp))
    verify_dominance(part)


def test_a_part_is_checked_within() -> None:
    module = _parsed("""func.func @main(%c: i1, %x: i32) {
  scf.if %c {
    %1 = arith.addi %2, %x : i32
    %2 = arith.addi %x, %x : i32
  }
  func.return
}""")
    (part,) = (op for op in module.walk() if isinstance(op, IfOp))
    with pytest.raises(DiagnosticError, match=r"^model.mlir:3:5: error: 'arith.addi' op operand #0 does not dominate"):
        verify_dominance(part)


def test_many_blocks() -> None:
    count = 2000
    lines = [f"^b{n}:\n  %{n} = arith.addi %{n - 1}, %x : i32\n  cf.br ^b{n + 1}" for n in range(1, count)]
    head = "func.func @main(%x: i32) {\n  %0 = arith.addi %x, %x : i32\n  cf.br ^b1"
    module = _parsed("\n".join([head, *lines, f"^b{count}:\n  func.return\n}}"]))
    tracemalloc.start()
    try:
        verify_dominance(module)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The immediate dominators of a chain take less than 2 MB; a set of dominators for each block takes more than 60 MB.
    assert peak < 10 * 2**20, f"{peak / 2**20:.1f} MB"
