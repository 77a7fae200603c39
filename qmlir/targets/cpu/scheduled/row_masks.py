"""Masked rows of bytes: the mask chooses among bytes, where a body lets it choose among the numbers of these bytes.

A masked softmax takes the least number of its row for what is masked, which is in no maximum then, and gives 0 for
whatever comes of it. So any number serves that is at most all others: here that of the smallest byte. That is a
reduction of the row less, and what follows depends on one byte and the largest of its row, as without a mask.

Why no bit changes: bytes are widened in ascending order, so the number of the smallest byte is at most that of each
byte, and the maximum of a row with an element that takes part is as before. What else depends on the number that was
exchanged, and on the maximum of a row of which nothing takes part, ends in choices by the same mask: they leave it out.
"""

from collections.abc import Iterator

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, TensorType, f32, i1, i8
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from qmlir.analysis.readings import computes_only, defining
from qmlir.dialects.kernel.rows import RowMaxOp, RowReduceOp
from qmlir.ir.builtin_types import sizes_of
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.passes.integer.kernel_tabulate import BYTES, TabulatedChain, chain_between


def _masked(op: GenericOp) -> Iterator[tuple[RowMaxOp, arith.SelectOp]]:
    """The largest numbers of a row that leave masked ones out by the least of the row, and the choices."""
    for largest in op.body.block.ops:
        choice = defining(largest.value) if isinstance(largest, RowMaxOp) and largest.value.type == f32 else None
        if isinstance(largest, RowMaxOp) and isinstance(choice, arith.SelectOp) and _is_least(choice.rhs, choice.lhs):
            yield largest, choice


def _is_least(value: SSAValue, of: SSAValue) -> bool:
    """Whether a value is the least number of a row: the largest of its negations, negated."""
    negated = defining(value)
    largest = defining(negated.operand) if isinstance(negated, arith.NegfOp) else None
    inner = defining(largest.value) if isinstance(largest, RowMaxOp) else None
    return isinstance(inner, arith.NegfOp) and inner.operand is of


def _widening(op: GenericOp, value: SSAValue) -> TabulatedChain | None:
    """How the body makes a number of a byte, where it does so in ascending order."""
    for byte in (each for each in op.body.block.args if each.type == i8):
        chain = chain_between(op.body.block, byte, value)
        widened = None if chain is None else chain.results(BYTES)
        if widened is not None and bool((np.diff(widened) >= 0).all()):
            return chain
    return None


def _is_left_out(largest: RowMaxOp, choice: arith.SelectOp) -> bool:
    """Whether all that depends on the choice, but the maximum of the row, ends in choices by the same mask."""
    waiting, seen = [choice.result, largest.result], set[Operation]()
    while waiting:
        value = waiting.pop()
        for use in value.uses:
            user = use.operation
            if user is largest or user in seen:
                continue
            if isinstance(user, arith.SelectOp) and user.cond is choice.cond and user.lhs is value is not user.rhs:
                continue
            if isinstance(user, RowReduceOp) or not user.results or not computes_only(user):
                return False
            seen.add(user)
            waiting += user.results
    return True


def mask_bytes(op: GenericOp, rewriter: PatternRewriter) -> None:
    """Let masks of the body choose among bytes, where what they leave out does not matter."""
    for largest, choice in list(_masked(op)):
        chain = _widening(op, choice.lhs)
        if chain is None or not _is_left_out(largest, choice):
            continue
        builder = Builder(InsertPoint.before(choice))
        smallest = builder.insert(arith.ConstantOp(IntegerAttr(int(BYTES[0]), i8))).result
        values: dict[SSAValue, SSAValue] = {
            chain.source: builder.insert(arith.SelectOp(choice.cond, chain.source, smallest)).result
        }
        for step in chain.operations:
            builder.insert(step.clone(values))
        choice.result.replace_all_uses_with(values[chain.target])
        for each in reversed(list(op.body.block.ops)):
            if each.results and computes_only(each) and not any(result.uses for result in each.results):
                rewriter.erase(each)
        rewriter.notify_op_modified(op)


def widen_truths(op: GenericOp, rewriter: PatternRewriter) -> None:
    """Let the body read bytes for Booleans, which no vector is loaded of; a mask is small beside what it masks."""
    read = op.body.block.args[: len(op.inputs)]
    for argument in [each for each in read if each.type == i1][::-1]:
        value = op.operands[argument.index]
        sizes = sizes_of(value)
        empty = rewriter.insert(tensor.EmptyOp((), TensorType(i8, sizes))).tensor
        block = Block(arg_types=[i1, i8])
        inner = Builder(InsertPoint.at_end(block))
        inner.insert(YieldOp(inner.insert(arith.ExtUIOp(block.args[0], i8)).result))
        kinds = [IteratorTypeAttr(IteratorType.PARALLEL)] * len(sizes)
        maps = [AffineMapAttr(AffineMap.identity(len(sizes)))] * 2
        bytes_ = rewriter.insert(GenericOp([value], [empty], Region(block), maps, kinds, [empty.type]))
        set_origins(bytes_, origins_of(op))
        builder = Builder(InsertPoint.at_start(op.body.block))
        zero = builder.insert(arith.ConstantOp(IntegerAttr(0, i8))).result
        byte = op.body.block.insert_arg(i8, argument.index)
        argument.replace_all_uses_with(builder.insert(arith.CmpiOp(byte, zero, "ne")).result)
        op.body.block.erase_arg(argument)
        op.operands[byte.index] = bytes_.res[0]
        rewriter.notify_op_modified(op)
