"""Folds constants, and folds per-channel scaling after a contraction into the weights of the contraction."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, Float64Type, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import BiasedContractionOp
from qmlir.dialects.nn.elementwise.ops import MulOp
from qmlir.dialects.nn.movement.ops import ConcatOp, MovementOp, ReshapeOp, SliceOp
from qmlir.dialects.nn.normalization.ops import BatchNormOp
from qmlir.ir.builtin_types import as_dense, dense, element_of, shape_of, tensor
from qmlir.ir.decomposition import is_repeated
from qmlir.ir.evaluation import evaluate
from qmlir.ir.provenance import describe, hand_on, hand_on_fused, merged_origins, set_origins
from qmlir.text.weights import ExternalWeightsAttr

# Constant folding: an operation on small constants is replaced with the constants that it computes.

FOLD_LIMIT = 1024
"""The maximum number of elements that folding creates.

Large weights are only sliced, concatenated, or changed by dedicated passes.
"""


def is_foldable_element(element: Attribute, moves_only: bool) -> bool:
    """Returns whether folding yields the same elements as the interpreter.

    This holds for f32, f64, integers and booleans, and for all element types if the operation only moves values.
    """
    kind = kind_of(element)
    if moves_only:
        return kind is not None
    return kind in (Kind.INTEGER, Kind.BOOLEAN) or isinstance(element, Float32Type | Float64Type)


def constant_array(value: SSAValue | None) -> Array | None:
    """Returns the stored values of a constant that is available in memory; `None` for any other value."""
    owner = None if value is None else value.owner
    if not isinstance(owner, ConstantOp) or isinstance(owner.value, ExternalWeightsAttr):
        return None
    return owner.array


def folded_constants(op: NnOp, limit: int = FOLD_LIMIT) -> list[ConstantOp] | None:
    """Returns the constants that `op` computes, if its operands are constant and no result exceeds `limit` elements."""
    if not op.operands:
        return None
    results = [tensor(result.type) for result in op.results]
    for result in results:
        if DYNAMIC_INDEX not in result.get_shape() and math.prod(result.get_shape()) > limit:
            return None
    elements = [element_of(value) for value in (*op.operands, *op.results)]
    if not all(is_foldable_element(element, isinstance(op, MovementOp)) for element in elements):
        return None
    arrays = [constant_array(operand) for operand in op.operands]
    if any(array is None for array in arrays):
        return None
    try:
        values = evaluate(op, arrays)
    except (InterpretationError, VerifyException):  # for example an integer divided by 0: a run-time error
        return None
    if values is None or any(value.size > limit for value in values):
        return None
    constants = [
        ConstantOp.of(np.ascontiguousarray(value), TensorType(result.get_element_type(), value.shape))
        for value, result in zip(values, results, strict=True)
    ]
    if isinstance(op, MovementOp):
        # Moved values are still the model's constant; computed values belong to the node that computed them.
        moved = merged_origins([operand.owner for operand in op.operands if isinstance(operand.owner, ConstantOp)])
        for constant in constants:
            set_origins(constant, moved)
    return constants


def _limit(op: NnOp) -> int:
    """Returns the limit of elements for folding `op`: more than `FOLD_LIMIT` if weights are sliced or concatenated.

    Weights must stay constant even if the file has their gates in another order than the operation. The parts that are
    read of each constant are no larger than the constant, so nothing grows.
    """
    if not isinstance(op, SliceOp | ConcatOp):
        return FOLD_LIMIT
    sizes = [_static_size(operand) for operand in op.operands]
    for operand, size in zip(op.operands, sizes, strict=True):
        readers = {use.operation for use in operand.uses}
        if len(readers) > 1 and sum(_static_size(each.results[0]) if each.results else size for each in readers) > size:
            return FOLD_LIMIT
    return max(FOLD_LIMIT, sum(sizes))


def _static_size(value: SSAValue) -> int:
    """Returns the number of elements of `value`, 0 if it is dynamic."""
    shape = tensor(value.type).get_shape()
    return 0 if DYNAMIC_INDEX in shape else math.prod(shape)


def fold(op: NnOp, limit: int, rewriter: PatternRewriter) -> None:
    """Replaces `op` with the constants that it computes, if these are known and have at most `limit` elements."""
    constants = folded_constants(op, limit)
    if constants is None or is_repeated(op):
        return
    if all(constant.result.type == result.type for constant, result in zip(constants, op.results, strict=True)):
        rewriter.replace(op, constants, [constant.result for constant in constants])


class FoldConstants(RewritePattern):
    """Folds `f(constants) -> constant` if the result is small, using the interpreter's evaluators.

    The first step of a recurrent layer, which reads zeros, is not folded: its values have the same types as in the
    other steps, so the steps can remain a loop.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, NnOp):
            fold(op, _limit(op), rewriter)


class ReshapeConstant(RewritePattern):
    """Folds `reshape(constant) -> constant` of any size without a copy: the bytes are shared."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        constant, type_ = op.input.owner, tensor(op.result.type)
        if not isinstance(constant, ConstantOp) or constant_array(op.input) is None:
            return
        value = as_dense(constant.value)
        if value is None or DYNAMIC_INDEX in type_.get_shape():
            return
        shaped = dense(value.data.data, TensorType(value.get_element_type(), type_.get_shape()))
        rewriter.replace(op, ConstantOp(shaped, type_))


class FoldParameters(RewritePattern):
    """Turns constant parameters into properties: `slice(x, starts_value = constant) -> slice(x) {starts = […]}`.

    The result keeps its type, because its users expect it, even if more of its shape could become static.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, NnOp):
            return
        try:
            replacement = op.specialized(constant_array)
        except VerifyException:  # for example two numbers for a scalar: a run-time error
            return
        if replacement is None:
            return
        for value, result in zip(replacement.values, op.results, strict=True):
            if value.type != result.type:
                Rewriter.replace_value_with_new_type(value, result.type)
        try:
            for made in replacement.operations:
                made.verify_()
        except VerifyException:  # axes out of range
            for made in replacement.operations:
                made.drop_all_references()
            return
        rewriter.replace(op, replacement.operations, replacement.operations[-1].results)


# Folds per-channel scaling after a convolution, transposed convolution or fully connected layer into its weights.
#
# `(conv(x, w) + b - mean) * f + bias = conv(x, w * f) + (b - mean) * f + bias` for each output channel, where `f =
# scale / sqrt(variance + epsilon)`. The sums are rounded in a different order: this is the only canonicalization that
# may change the last bits of a float, and every runtime performs it. The new weights are computed in f64 and rounded
# once.
#
# The scaling is a batch norm, or the per-channel factor to which exporters reduce a frozen one. An addition that
# follows needs no rewrite, since it accepts accumulators.


def _fault(value: SSAValue) -> str | None:
    """Returns why `value` is not a constant with available elements; `None` if it is."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return "is no constant"
    if isinstance(owner.value, ExternalWeightsAttr):
        return "is stored in a file that was not loaded"
    return None if isinstance(element_of(value), Float32Type) else f"has type '{value.type}' instead of f32"


def _rounded(array: npt.NDArray[np.float64], like: SSAValue) -> ConstantOp:
    return ConstantOp.of(array.astype(np.float32), TensorType(element_of(like), array.shape))


def _layer_before(data: SSAValue) -> BiasedContractionOp | None:
    """Returns the layer whose output channels are along axis 1 of `data`."""
    layer = data.owner
    if isinstance(layer, BiasedContractionOp) and layer.quantization_slots().result_channel_axis == 1:
        return layer
    return None


def _reason(layer: BiasedContractionOp, values: Mapping[str, SSAValue | None]) -> str | None:
    """Returns why `values`, by name, cannot be folded into the weights of `layer`; `None` if they can."""
    named = {f"weight of {describe(layer)}": layer.weight, f"bias of {describe(layer)}": layer.bias, **values}
    for name, value in named.items():
        if value is not None and (fault := _fault(value)) is not None:
            return f"the {name} {fault}"
    return None if layer.result.has_one_use() else f"{describe(layer)} has other users"


def unfolded_reason(op: BatchNormOp) -> str | None:
    """Returns why a batch norm after a layer cannot be folded into the layer's weights.

    Returns `None` if it can be folded, or if there is no such layer.
    """
    layer = _layer_before(op.data)
    names = ("scale", "bias", "mean", "variance")
    return None if layer is None else _reason(layer, {name: getattr(op, name) for name in names})


def _merge(
    layer: BiasedContractionOp, op: Operation, factor: Array, new_bias: Array | None, by: PatternRewriter
) -> None:
    """Replaces `op` with its `layer`, whose weights are multiplied by `factor` and whose bias is replaced."""
    made = [_rounded(_f64(layer.weight) * layer.beside_weights(factor), layer.weight)]
    if new_bias is not None:
        made.append(_rounded(new_bias, layer.weight))
    for old, new in zip((layer.weight, layer.bias), made, strict=False):
        hand_on((*([old.owner] if old is not None and isinstance(old.owner, ConstantOp) else []), op), new)
    merged = type(layer).create(
        operands=[layer.data, *(each.result for each in made)],
        result_types=op.result_types,
        properties=dict(layer.properties),
        attributes=dict(layer.attributes),
    )
    hand_on_fused(layer, op, merged)
    by.replace(op, [*made, merged])


class FoldBatchNorm(RewritePattern):
    """Folds `batch_norm(conv(x, w, b)) -> conv(x, w', b')`.

    The weights and parameters must be f32 constants, and the convolution must have no other user.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        layer = _layer_before(op.data)
        if layer is None or unfolded_reason(op) is not None:
            return
        factor, offset = _f64(op.scale), _f64(op.bias)
        mean = 0.0 if op.mean is None else _f64(op.mean)
        if op.variance is not None:
            factor = factor / np.sqrt(_f64(op.variance) + op.epsilon.value.data)
        old_bias = 0.0 if layer.bias is None else _f64(layer.bias)
        _merge(layer, op, factor, (old_bias - mean) * factor + offset, rewriter)


class FoldFactor(RewritePattern):
    """Folds `conv(x, w, b) * f -> conv(x, w * f, b * f)`.

    The weights must be f32 constants, `f` must be per channel, and the convolution must have no other user.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter, /) -> None:
        for data, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            layer = _layer_before(data)
            if layer is None or _reason(layer, {"factor": factor}) is not None or op.result.type != data.type:
                continue
            # The factor has one element per channel, or a single one: all its sizes are 1 except along axis 1.
            sizes = (1,) * (len(shape_of(data)) - len(shape_of(factor))) + tuple(shape_of(factor))
            channels = layer.output_channels()
            if sizes[1] in (1, channels) and math.prod(sizes) == sizes[1]:
                each = np.broadcast_to(_f64(factor).reshape(-1), (channels,))
                _merge(layer, op, each, None if layer.bias is None else _f64(layer.bias) * each, rewriter)
                return


def _f64(value: SSAValue) -> Array:
    assert isinstance(value.owner, ConstantOp)
    return value.owner.array.astype(np.float64)


PATTERNS: tuple[RewritePattern, ...] = (
    FoldConstants(),
    ReshapeConstant(),
    FoldParameters(),
    FoldBatchNorm(),
    FoldFactor(),
)
