"""Which values a gradient reads from memory, and which it computes once more, so that the least memory is kept.

A program of elementwise steps takes as long as its memory does: what a chain of them gives is better computed again
from its beginning than written and read. The choice is a minimum cut between what is computed anyway and what the
gradient reads, as in Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016, and PyTorch's partitioner.
"""

from collections.abc import Container

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike

from qmlir.arithmetic.flow import BinaryChoices
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.interfaces import Recomputable, volume


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)


def _bytes(value: SSAValue) -> int:
    """The memory of a value, in which a size that is not known counts as 1."""
    width = getattr(element_of(value), "bitwidth", 32)
    return max(volume(shape_of(value)) * width // 8, 1)


def recompute(forward: Block, backward: Block, free: Container[SSAValue]) -> None:
    """Add to `backward`, before everything else, operations of `forward` whose results need not be kept then.

    `free` are the values that can be read at no cost: inputs and results of the forward.
    """
    first = backward.first_op
    assert first is not None
    own = {*backward.args, *(result for op in backward.ops for result in op.results)}

    def is_kept(value: SSAValue) -> bool:
        return value not in own and value not in free and not _is_constant(value)

    read = [value for value in dict.fromkeys(value for op in backward.ops for value in op.operands) if is_kept(value)]
    places: dict[SSAValue, int] = {}
    pending = list(read)
    while pending:
        value = pending.pop()
        if value not in places:
            places[value] = len(places)
            pending += filter(is_kept, value.owner.operands if isinstance(value.owner, Recomputable) else ())
    # Two variables a value: whether the backward has it, and whether it computes it.
    choices = BinaryChoices(2 * len(places))
    for value in read:
        choices.pay(1 + sum(map(_bytes, places)), zero=2 * places[value])
    for value, place in places.items():
        has, computes = 2 * place, 2 * place + 1
        if not isinstance(value.owner, Recomputable):
            choices.pay(_bytes(value), one=has)
            continue
        choices.pay(_bytes(value), one=has, zero=computes)
        for operand in filter(is_kept, value.owner.operands):
            choices.forbid(computes, 2 * places[operand])
    _, chosen = choices.best()
    again = {value for value, place in places.items() if chosen[2 * place] and chosen[2 * place + 1]}
    copies: dict[SSAValue, SSAValue] = {}
    for op in forward.ops:
        if not again.isdisjoint(op.results):
            backward.insert_op_before(op.clone(copies), first)
    for value, copy in copies.items():
        value.replace_uses_with_if(copy, lambda use: use.operation.parent is backward)
