"""How `nn` operations become the integer level, family by family: structured operations with scalar bodies.

What they compute is stated by their evaluators (`interpret`, and `interpret.quantized` for quantized values); the
bodies follow these formulas step by step. A quantized composite whose `components` give the types of its parts is
lowered part by part, whatever the table of its family has for it.
"""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from qmlir.dialects import operations_in
from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.nn.decompose import DECOMPOSITIONS
from qmlir.dialects.nn.decompose.recurrent import WALKS
from qmlir.dialects.nn.dialect import FAMILIES
from qmlir.dialects.nn.lower import (
    attention,
    constant,
    contraction,
    conversion,
    einsum,
    elementwise,
    expansion,
    indexing,
    logic,
    movement,
    normalization,
    pooling,
    recurrent,
    reduction,
    resizing,
    selection,
    shapes,
    softmax,
    transposed,
    trees,
)
from qmlir.dialects.nn.lower.elements import or_parts, otherwise
from qmlir.dialects.nn.lower.qlinear import by_mode
from qmlir.dialects.nn.ops import sequence, text
from qmlir.dialects.nn.ops.selection import NonZeroOp, UniqueOp
from qmlir.dialects.nn.ops.training import DropoutOp

_LOWERED = (
    attention, constant, contraction, conversion, einsum, elementwise, expansion, indexing, logic, movement,
    normalization, pooling, recurrent, reduction, resizing, selection, shapes, softmax,
    transposed, trees,
)  # fmt: skip


def _refusing(reason: str) -> Lower:
    """The lowering of an operation that has no loops, and why."""

    def refuse(op: Any, at: Lowering) -> Sequence[SSAValue]:
        raise at.error(reason)

    return refuse


_BY_OPERATION: dict[type[Operation], Lower] = {
    **dict.fromkeys(operations_in(*FAMILIES), otherwise),
    **{operation: lowering for family in _LOWERED for operation, lowering in family.LOWERINGS.items()},
    **dict.fromkeys(operations_in(text), _refusing("cannot be compiled: strings are not supported")),
    **dict.fromkeys(
        operations_in(sequence),
        _refusing("cannot be compiled: sequences of tensors are not supported"),
    ),
    **dict.fromkeys(
        (NonZeroOp, UniqueOp),
        _refusing("cannot be compiled: its output shape depends on the data"),
    ),
    DropoutOp: _refusing("cannot be compiled: it drops elements at random; remove it with --strip-training"),
}

LOWERINGS: dict[type[Operation], Lower] = {
    operation: or_parts(chosen) if operation in DECOMPOSITIONS and operation not in WALKS else chosen
    for operation, lowering in _BY_OPERATION.items()
    for chosen in [by_mode(operation, lowering)]
}  # a layer that becomes a loop gives the parts of its steps their types itself
