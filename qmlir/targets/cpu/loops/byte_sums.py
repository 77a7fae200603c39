"""Sums of bytes in 32 bits: products by ones, of which an instruction adds four to each lane.

A sum is such where its terms are bytes, widened and then added, modulo 2^32, to what came before.
"""

from typing import TypeGuard

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Block, Operation, SSAValue

from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.targets.cpu.loops.vectors import VectorEmitter

TERMS = 4
"""The bytes that are added to one lane at a time."""

Widened = arith.ExtSIOp | arith.ExtUIOp


def widened_term(total: Operation) -> Widened | None:
    """What widens the byte that `total`, an addition to the argument of a body, adds; `None` where it adds another."""
    if not isinstance(total, arith.AddiOp) or total.result.type != i32:
        return None
    terms = [value.owner for value in total.operands if isinstance(value.owner, Operation)]
    term = terms[0] if len(terms) == 1 else None
    return term if _is_widened(term) and len(list(term.result.uses)) == 1 else None


def _is_widened(term: Operation | None) -> TypeGuard[Widened]:
    return isinstance(term, Widened) and term.input.type == i8


def sums_bytes(body: Block) -> bool:
    """Whether all that a body yields are sums of bytes."""
    end = body.last_op
    totals = [] if end is None else [value.owner for value in end.operands]
    return bool(totals) and all(isinstance(each, Operation) and widened_term(each) is not None for each in totals)


def add_bytes(emit: VectorEmitter, so_far: SSAValue, bytes_: SSAValue, term: Widened) -> SSAValue:
    """Each lane of `so_far` and `TERMS` of the bytes, which are widened as `term` says."""
    ones = emit.constant(1, i8)
    is_signed = isinstance(term, arith.ExtSIOp)
    x, w = (ones, bytes_) if is_signed else (bytes_, ones)
    return emit.insert(DotAccumulateOp(so_far, x, w, Signs.US))
