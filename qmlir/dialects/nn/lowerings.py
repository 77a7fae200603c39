"""Lowerings of `nn` operations to the integer level, by family: structured operations with scalar bodies.

The evaluators define the semantics (`evaluators`), and the bodies follow their formulas step by step. A quantized
composite whose `components` give the types of its parts is lowered part by part, regardless of the table of its family.
"""

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects import operations_in
from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.nn.attention import lower as attention
from qmlir.dialects.nn.constant import lower as constant
from qmlir.dialects.nn.contraction import lower as contraction
from qmlir.dialects.nn.contraction import lower_einsum
from qmlir.dialects.nn.decompositions import DECOMPOSITIONS
from qmlir.dialects.nn.dialect import FAMILIES
from qmlir.dialects.nn.elementwise import lower as elementwise
from qmlir.dialects.nn.indexing import lower as indexing
from qmlir.dialects.nn.indexing.ops import NonZeroOp, UniqueOp
from qmlir.dialects.nn.litert import lower as litert
from qmlir.dialects.nn.lowering import or_parts, otherwise
from qmlir.dialects.nn.movement import lower as movement
from qmlir.dialects.nn.normalization import lower as normalization
from qmlir.dialects.nn.pooling import lower as pooling
from qmlir.dialects.nn.recurrent import lower as recurrent
from qmlir.dialects.nn.recurrent.decompose import WALKS
from qmlir.dialects.nn.reduction import lower as reduction
from qmlir.dialects.nn.requantize import mode_of
from qmlir.dialects.nn.resizing import lower as resizing
from qmlir.dialects.nn.sequence import ops as sequence
from qmlir.dialects.nn.shapes import lower as shapes
from qmlir.dialects.nn.strings import ops as strings
from qmlir.dialects.nn.training.ops import DropoutOp
from qmlir.dialects.nn.trees import lower as trees

_LOWERED = (
    attention, constant, contraction, lower_einsum, elementwise, indexing, movement,
    normalization, pooling, recurrent, reduction, resizing, shapes, trees,
)  # fmt: skip


def _refusing(reason: str) -> Lower:
    """Returns the lowering of an operation that cannot be lowered; it raises an error with the reason."""

    def refuse(op: Any, at: Lowering) -> Sequence[SSAValue]:
        raise at.error(f"cannot be compiled: {reason}")

    return refuse


_BY_OPERATION: dict[type[Operation], Lower] = {
    **dict.fromkeys(operations_in(*FAMILIES), otherwise),
    **{operation: lowering for family in _LOWERED for operation, lowering in family.LOWERINGS.items()},
    **dict.fromkeys(operations_in(strings), _refusing("strings are not supported")),
    **dict.fromkeys(operations_in(sequence), _refusing("sequences of tensors are not supported")),
    **dict.fromkeys((NonZeroOp, UniqueOp), _refusing("its output shape depends on the data")),
    DropoutOp: _refusing("it drops elements at random; remove it with --strip-training"),
}

_MODES: dict[Mode, dict[type[Operation], Lower]] = {
    Mode.QLINEAR: {**elementwise.QLINEAR, **normalization.QLINEAR, **pooling.QLINEAR},
    **litert.BY_MODE,
}
"""The lowerings of modes with formulas of their own."""


def _by_mode(operation: type[Operation], lower: Lower) -> Lower:
    """Wraps `lower` to use the lowering of the operation's mode, if there is one; contractions only round by modes."""
    own = {mode: table[operation] for mode, table in _MODES.items() if operation in table}
    if not own:
        return lower

    def chosen(op: Any, at: Lowering) -> Sequence[SSAValue] | None:
        special = own.get(mode_of(op))
        found = None if special is None else special(op, at)
        return lower(op, at) if found is None else found

    return chosen


LOWERINGS: dict[type[Operation], Lower] = {
    operation: or_parts(chosen) if operation in DECOMPOSITIONS and operation not in WALKS else chosen
    for operation, lowering in _BY_OPERATION.items()
    for chosen in [_by_mode(operation, lowering)]
}  # a layer lowered to a loop sets the types of its parts itself
