"""Which `nn` operations requantize, by what ratio of scales, and how their property `requantize` names the arithmetic.

One row an operation gives the scale of its exact integers, the scale of its result, and the counts that a mean divides
by. The verifier holds the property against them: a shift needs ratios that are powers of two. An operation without a
row has no integer arithmetic of its own: it moves integers, compares them, or computes in floats.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.requantization import Mode, Ties, accumulator_scale, fixed_point, power_of_two_shift
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.base import NnOp, element_of, shape_of
from qmlir.dialects.nn.infer.windows import covered_elements
from qmlir.dialects.nn.ops import activations, contraction, elementwise, pooling, reduction
from qmlir.dialects.nn.qlinear import is_qlinear, verify_qlinear
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.decomposition import Parts, parts_given

Scales = npt.NDArray[np.float32]

HEADROOM_BITS = 28
"""Integers of operands of different scales are shifted left up to so many bits before they are rescaled: 20 for 8."""


def _uniform(value: SSAValue) -> UniformQuantizedType | None:
    element = element_of(value)
    return element if isinstance(element, UniformQuantizedType) else None


def _scales(value: SSAValue) -> Scales:
    """The scales of a value, f32; none for a type that nobody has given any."""
    found = _uniform(value)
    return np.zeros(0, np.float32) if found is None else np.asarray(found.scales, np.float32)


def _product(left: SSAValue, right: SSAValue) -> Scales:
    return accumulator_scale(_scales(left), _scales(right))


def _of_input(op: Any) -> Scales:
    return _scales(op.input)


def _of_data(op: Any) -> Scales:
    return _scales(op.data)


def _of_weights(op: contraction.BiasedContractionOp) -> Scales:
    return _product(op.data, op.weight)


def _of_factors(op: contraction.MatMulOp | elementwise.MulOp) -> Scales:
    return _product(op.lhs, op.rhs)


def _of_both(op: elementwise.BinaryOp) -> Scales:
    """The scale that both operands have or are brought to."""
    return common_scale(op, *_outer(_scales(op.lhs), _scales(op.rhs)))


SOURCES: dict[type[Operation], Callable[..., Scales]] = {
    contraction.MatMulOp: _of_factors,
    contraction.FullyConnectedOp: _of_weights,
    contraction.ConvOp: _of_weights,
    activations.ReluOp: _of_input,
    elementwise.AbsOp: _of_input,
    elementwise.NegOp: _of_input,
    elementwise.ClipOp: _of_input,
    elementwise.AddOp: _of_both,
    elementwise.SubOp: _of_both,
    elementwise.MinOp: _of_both,
    elementwise.MaxOp: _of_both,
    elementwise.MulOp: _of_factors,
    pooling.AveragePoolOp: _of_data,
    pooling.GlobalAveragePoolOp: _of_data,
    reduction.ReduceSumOp: _of_input,
    reduction.ReduceMeanOp: _of_input,
}
"""The f32 scale of the exact integers of each operation that requantizes, for each channel where it differs."""


def _pool_counts(op: pooling.AveragePoolOp) -> npt.NDArray[np.int64]:
    sizes = shape_of(op.data)[2:]
    if DYNAMIC_INDEX in sizes:
        return np.array([math.prod(op.windows.kernel)])
    with_padding = bool(op.count_include_pad.value.data)
    return np.unique(covered_elements(op.windows, op.counts(sizes), sizes, with_padding))


def _count(sizes: Iterable[int]) -> npt.NDArray[np.int64]:
    """The product of sizes, nothing where one is not known."""
    known = list(sizes)
    return np.array([] if DYNAMIC_INDEX in known else [math.prod(known)], np.int64)


def _image_count(op: pooling.GlobalAveragePoolOp) -> npt.NDArray[np.int64]:
    return _count(shape_of(op.data)[2:])


def _reduced_count(op: reduction.ReduceMeanOp) -> npt.NDArray[np.int64]:
    shape = shape_of(op.input)
    if op.axes_value is not None:
        return np.array([], np.int64)
    return _count(shape[axis] for axis in op.reduced_axes(len(shape)))


_COUNTS: dict[type[Operation], Callable[..., npt.NDArray[np.int64]]] = {
    pooling.AveragePoolOp: _pool_counts,
    pooling.GlobalAveragePoolOp: _image_count,
    reduction.ReduceMeanOp: _reduced_count,
}
"""What means divide by, as far as it is known."""


def common_scale(op: NnOp, left: Scales, right: Scales) -> Scales:
    """The scale to which the integers of two operands are brought, so that they can be added or compared.

    One scale stays as it is. Otherwise, in an integer mode only: with `shift` the smaller one, from which the other is
    an exact shift; with a multiplier `2 max(s_a 2^bits_a, s_b 2^bits_b) / 2^HEADROOM_BITS`: TFLite's addition, where
    the widths are the same, and for sums of 32 bits beside narrow operands too.
    """
    if np.all(left == right) or op.requantize is None:
        return left
    if op.requantize.mode is Mode.SHIFT:
        return np.minimum(left, right)
    reaches = [np.ldexp(each, _bits(value)) for each, value in zip((left, right), op.operands, strict=True)]
    return np.asarray(np.ldexp(np.maximum(*reaches), 1 - HEADROOM_BITS), np.float32)


def headroom(value: SSAValue) -> int:
    """By how many bits the integers of an operand are shifted left before they are rescaled."""
    return max(HEADROOM_BITS - _bits(value), 0)


def _bits(value: SSAValue) -> int:
    element = _uniform(value)
    assert element is not None
    return element.bits


def has_common_scale(op: Operation) -> bool:
    """Whether all operands of `op` have the same scales."""
    first, *others = (_scales(value) for value in op.operands)
    return all(bool(np.all(left == right)) for left, right in (_outer(first, each) for each in others))


def _has_blocks(op: Operation) -> bool:
    found = (_uniform(value) for value in op.operands)
    return any(element is not None and element.granularity is Granularity.BLOCK for element in found)


def requantizes(op: Operation) -> bool:
    """Whether `op` rescales exact integers, or would with an integer mode."""
    return type(op) in SOURCES and _uniform(op.results[0]) is not None and not _has_blocks(op)


def may_requantize(op: NnOp) -> bool:
    """Whether `op`, or a part of the composite that it is, rescales exact integers, or names another arithmetic."""
    return op.components is not None or requantizes(op) or is_qlinear(op)


def _outer(left: Scales, right: Scales) -> tuple[Scales, Scales]:
    """Two arrays of scales that go together: those of one axis in pairs, any others each with each."""
    if left.ndim and right.ndim and left.shape != right.shape:
        return left.reshape(-1, 1), right.reshape(1, -1)
    return left, right


def ratios(op: NnOp) -> npt.NDArray[np.float64]:
    """Every ratio by which `op` rescales, in f64, as `qmlir.arithmetic.requantization.requantize` takes it."""
    source, target = _outer(SOURCES[type(op)](op), _scales(op.results[0]))
    counts = _COUNTS[type(op)](op) if type(op) in _COUNTS else np.array([1])
    targets = accumulator_scale(target[..., None], counts)
    return np.asarray(source[..., None].astype(np.float64) / targets.astype(np.float64))


def _operand_ratios(op: NnOp) -> list[npt.NDArray[np.float64]]:
    """By what the integers of each operand are brought to the scale that both have."""
    if SOURCES[type(op)] is not _of_both or has_common_scale(op):
        return []
    assert isinstance(op, elementwise.BinaryOp)
    sides = _outer(_scales(op.lhs), _scales(op.rhs))
    reach = common_scale(op, *sides).astype(np.float64)
    return [np.asarray(side.astype(np.float64) / reach) for side in sides]


def verify_requantization(op: NnOp) -> None:
    """Check that `op` requantizes, and that the mode that it names expresses its ratios."""
    attribute = op.requantize
    if attribute is None:
        return
    if attribute.mode is Mode.QLINEAR:
        verify_qlinear(op)
        return
    if not may_requantize(op):
        raise VerifyException("names a requantization, and has no exact integers of one scale to rescale")
    if op.components is not None:
        _verify_parts(op)
    elif attribute.mode is not Mode.F32:
        _verify_mode(op, attribute.mode)


def set_requantization(op: NnOp, mode: Mode, ties: Ties) -> str | None:
    """Let `op` rescale by `mode`, a shift with `ties`; why that cannot be, `None` where it can."""
    has_integers = op.components is not None or requantizes(op)
    attribute = RequantizeAttr.of(mode, ties if mode is Mode.SHIFT else None)
    op.requantize = None if mode is Mode.F32 or not has_integers else attribute
    try:
        verify_requantization(op)
    except VerifyException as error:
        return str(error)
    return None


def _verify_parts(op: NnOp) -> None:
    parts = Parts(op)
    try:
        decompose(op, parts)
        for role, part in zip(parts.roles, parts.operations, strict=True):
            try:
                if isinstance(part, NnOp):
                    verify_requantization(part)
            except VerifyException as error:
                raise VerifyException(f"its part '{role}' {error}") from error
    finally:
        parts.discard()


def _verify_mode(op: NnOp, mode: Mode) -> None:
    if mode is not Mode.SHIFT and SOURCES[type(op)] is _of_both and not has_common_scale(op):
        for value in op.operands:
            element = _uniform(value)
            if element is not None and element.bits > 31 and np.any(element.zero_points):
                raise VerifyException(
                    f"takes operands of different scales with less than 32 bits or without zero point, found {element}"
                )
    try:
        for found in (ratios(op), *_operand_ratios(op)):
            if mode is Mode.SHIFT:
                power_of_two_shift(found)
            else:
                fixed_point(found)
    except ValueError as error:
        raise VerifyException(f"cannot requantize by {mode}: {error}") from error


def decompose(composite: Operation, parts: Parts) -> Sequence[SSAValue] | None:
    """The results of a composite from its `parts`, which requantize as it does; `None` where it has none."""
    results = parts_given(composite, parts)
    if results is not None:
        hand_on_requantization(composite, parts.operations)
    return results


def hand_on_requantization(composite: Operation, parts: Iterable[Operation]) -> None:
    """Let the parts of a composite requantize as it does."""
    attribute = composite.properties.get(REQUANTIZE)
    for part in parts:
        if isinstance(attribute, RequantizeAttr) and isinstance(part, NnOp) and may_requantize(part):
            part.requantize = attribute


REQUANTIZE = "requantize"
"""The property."""
