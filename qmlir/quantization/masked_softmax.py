"""Masked softmax: moves a mask from the scores to the mask operand if the masked probabilities round to 0 in f32."""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.attention.ops import AttentionOp
from qmlir.dialects.nn.base import build, plain_type, shapes_agree
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.elementwise.ops import CastOp, EqualOp, WhereOp, broadcast_shapes
from qmlir.dialects.nn.logic.ops import IsInfOp, IsNaNOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.raising.spellings import defining_op
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp, ReduceMinOp, ReduceOp
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control_flow import read_only_by
from qmlir.ir.provenance import describe, origins_of, set_origins, set_tensor_names, tensor_names
from qmlir.quantization.masks import SURE, WEAKEST, MaskReader, ScoreMask, Scores

LONGEST_ROW = 1 << 16
"""The row length assumed for a dynamic length."""


@dataclass(frozen=True)
class MaskedSoftmax:
    """A softmax with a mask operand, which replaces a softmax whose input is masked."""

    reader: MaskReader
    composite: SoftmaxOp
    masks: tuple[ScoreMask, ...]

    def replace(self) -> None:
        """Replaces the original softmax, and inserts the operations that compute the mask."""
        old = self.reader.softmax
        block = old.parent
        assert block is not None
        block.insert_ops_before([*self.reader.made, self.composite], old)
        self.composite.location = old.location
        self.composite.result.name_hint = old.result.name_hint
        masked = old.input, *(mask.source for mask in self.masks)
        keeps = {old.mask, *(mask.keep for mask in self.masks)}
        old.result.replace_all_uses_with(self.composite.result)
        Rewriter.erase_op(old)
        _drop_guards(self.composite, masked, keeps)

    def text(self) -> str:
        """Returns a message that names the masks and their effect."""
        names = dict.fromkeys(_named(each.source) for each in self.masks)
        fill = self.composite.fill
        what = "have probability 0" if fill is None else f"get {fill.value.data:g} in the softmax"
        return (
            f"is masked by {' and '.join(names)}; the masked elements {what} and are excluded from calibration ranges"
        )


def _named(value: SSAValue) -> str:
    if isinstance(value.owner, Operation):
        return describe(value.owner)
    return f"the argument %{value.name_hint or getattr(value, 'index', '')}"


@dataclass(frozen=True)
class Refused:
    """The reason why a mask in the input of a softmax is treated as data."""

    reason: str


def recognized(op: SoftmaxOp) -> MaskedSoftmax | Refused | None:
    """Returns the masked form of `op`, a `Refused` if its mask is treated as data, or `None` if there is no mask."""
    if not isinstance(plain_type(element_of(op.input)), Float32Type) or op.requantize is not None:
        return None
    reader = MaskReader(op)
    found = reader.scores(op.input)
    made = _with_mask(reader, found) if found.masks and found.terms else None
    if not isinstance(made, MaskedSoftmax):
        reader.discard()
    return made


def _with_mask(reader: MaskReader, found: Scores) -> MaskedSoftmax | Refused | None:
    op = reader.softmax
    row, spread = shape_of(op.input)[op.axis.value.data], reader.spread_of(found.terms)
    fill: float | None = None
    for mask in found.masks:
        if mask.fill > (WEAKEST if spread is not None else SURE):
            return None
        if spread is not None and not _is_negligible(mask.fill + spread, LONGEST_ROW if row == DYNAMIC_INDEX else row):
            fill = mask.addend if len(found.masks) == 1 and op.mask is None else None
            why = f"scores differ by up to {spread:g}, so adding {mask.fill:g} does not make each probability 0"
            if fill is None:
                return Refused(f"treats the mask {_named(mask.source)} as data: {why}")
    scores = reader.sum_of(found.terms)
    keep = found.masks[0].keep
    for mask in found.masks[1:]:
        keep = reader.both(keep, mask.keep)
    is_uniform = all(math.isfinite(mask.fill) for mask in found.masks)
    if op.mask is not None:
        keep, is_uniform = reader.both(op.mask, keep), op.is_uniform_if_empty
    if not shapes_agree(shape_of(scores), shape_of(op.input)) or len(shape_of(keep)) > len(shape_of(scores)):
        return None
    try:
        if broadcast_shapes(shape_of(keep), shape_of(scores)) != tuple(shape_of(op.input)):
            return None
    except VerifyException:
        return None
    what = {"empty_rows": "uniform" if is_uniform else "zero"} if fill is None else {"fill": fill}
    made = build(SoftmaxOp, [scores, keep], {"axis": op.axis, **what})
    made.attributes.update(op.attributes)
    Rewriter.replace_value_with_new_type(made.result, op.result.type)
    set_origins(made, origins_of(op))
    set_tensor_names(made, tensor_names(op))
    return MaskedSoftmax(reader, made, found.masks)


# The probability of a masked element is at most e^(fill + its score - the largest unmasked score), and the scores in a
# row differ by at most their range. For n masked elements, the bound on the total probability is n times as large.
def _is_negligible(exponent: float, row: int) -> bool:
    return exponent <= WEAKEST - math.log(max(row, 1))


# --- Guards against fully masked rows ---------------------------------------------------------------------------------


def _drop_guards(softmax: SoftmaxOp, masked: Collection[SSAValue], keeps: Collection[SSAValue | None]) -> None:
    """Erases operations that replace the NaN of fully masked rows by 0: the masked softmax already returns 0 there.

    `masked` holds scores and masks, `keeps` the conditions under which elements take part.
    """
    for use in list(softmax.result.uses):
        guard = use.operation
        if not isinstance(guard, WhereOp) or guard.rhs is not softmax.result:
            continue
        array, shapes = constant_array(guard.lhs), {shape_of(guard.result), shape_of(softmax.result)}
        is_empty = _is_nan(guard.condition, softmax.result) or _is_all_masked(guard.condition, softmax, masked, keeps)
        if is_empty and array is not None and not array.any() and len(shapes) == 1:
            result = Rewriter.replace_value_with_new_type(softmax.result, guard.result.type)
            guard.result.replace_all_uses_with(result)
            Rewriter.erase_op(guard)


def _is_nan(condition: SSAValue, value: SSAValue) -> bool:
    op = defining_op(condition)
    return isinstance(op, IsNaNOp) and op.input is value


def _is_minus_infinity(condition: SSAValue) -> SSAValue | None:
    """Returns the value that a condition compares with minus infinity, or `None` for another condition."""
    op = defining_op(condition)
    if isinstance(op, IsInfOp):
        return op.input
    array = constant_array(op.rhs) if isinstance(op, EqualOp) else None
    return op.operands[0] if op is not None and array is not None and np.isneginf(array).all() else None


# Finite scores never equal minus infinity, and a softmax row that is fully masked with minus infinity is 0. So the
# condition may test the scores before or after masking, or the mask itself.
def _is_all_masked(
    condition: SSAValue, softmax: SoftmaxOp, masked: Collection[SSAValue], keeps: Collection[SSAValue | None]
) -> bool:
    """Returns True if a condition holds exactly for rows that are all minus infinity, so the guard is redundant."""
    op = defining_op(condition)
    if isinstance(op, CastOp):  # all(x == -inf)
        reduced, value = defining_op(op.input), None
        if isinstance(reduced, ReduceMinOp) and isinstance(each := defining_op(reduced.input), CastOp):
            value = _is_minus_infinity(each.input)
    else:  # max(x) == -inf
        largest = _is_minus_infinity(condition)
        reduced = None if largest is None else defining_op(largest)
        value = reduced.input if isinstance(reduced, ReduceMaxOp) else None
    chosen = None if value is None else defining_op(value)
    if isinstance(chosen, WhereOp) and chosen.condition in keeps and _number(chosen.rhs) == -math.inf:
        value = chosen.lhs
    return value in masked and isinstance(reduced, ReduceOp) and _reduces_rows(reduced, softmax)


def _number(value: SSAValue) -> float | None:
    array = constant_array(value)
    return float(array) if array is not None and array.size == 1 else None


def _reduces_rows(op: ReduceOp, softmax: SoftmaxOp) -> bool:
    axis, rank = softmax.axis.value.data % len(shape_of(softmax.input)), len(shape_of(op.input))
    return op.keeps_axes and op.reduced_axes(rank) == (axis - len(shape_of(softmax.input)) + rank,)


# --- Operations that only compute masks -------------------------------------------------------------------------------


def mask_arithmetic(function: FuncOp) -> set[Operation]:
    """Returns the operations used only to compute masks: comparisons, and the operations that compute their operands.

    These must not be quantized: a value of 1 in the same 8-bit tensor as the lowest float, for example, becomes 0.
    """

    def is_mask(use: Use) -> bool:
        op, value = use.operation, use.operation.operands[use.index]
        return isinstance(op, SoftmaxOp | AttentionOp) and value is op.mask and element_of(value) == i1

    return read_only_by(function, is_mask)
