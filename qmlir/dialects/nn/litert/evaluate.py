"""Evaluation of quantized operations in the modes of LiteRT, by the formulas of `qmlir.arithmetic.litert`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic import litert
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.functions.steps import NUMPY, Value
from qmlir.arithmetic.requantization import Affine, Mode
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.evaluation import is_quantized, uniform_of, window_view
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.requantize import affine, mode_of, unsigned_offset
from qmlir.dialects.nn.resizing import ops as resizing
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.evaluation import Evaluator, Results

Evaluated = Callable[..., Results | None]
"""An evaluator that returns `None` if the general one applies to the types of the operation."""


def affines(op: Operation) -> list[Affine]:
    """Returns the scales and zero points of the operands and of the result of an operation on per-tensor types."""
    return [affine(uniform_of(value)) for value in (*op.operands, op.results[0])]


def _stored(op: Operation, integers: Array, *, moved: bool = True) -> Results:
    """Saturates the integers of a result, after its zero point is added if `moved`."""
    element = uniform_of(op.results[0])
    whole = integers + element.zero_point if moved else integers
    return (np.clip(whole, element.storage_min, element.storage_max).astype(storage_dtype(element)),)


# --- Functions of one value -------------------------------------------------------------------------------------------


def _tabulated(name: str) -> Evaluator:
    def evaluator(op: NnOp, x: Array) -> Results:
        source, result = affines(op)
        element = uniform_of(op.results[0])
        if element.bits == 16:
            wide = litert.sigmoid16 if name == "sigmoid" else litert.tanh16
            return _stored(op, wide(x, source.scale))
        limits = element.storage_min, element.storage_max
        return _stored(op, litert.tabulated(name, mode_of(op), x, source, result, limits), moved=False)

    return evaluator


def _leaky_relu(op: activations.LeakyReluOp, x: Array) -> Results:
    (source, result), alpha, wide = affines(op), float(op.alpha.value.data), x.astype(np.int64)
    if mode_of(op) is Mode.LITERT_XNNPACK and litert.is_delegated(source, result, alpha):
        return _stored(op, litert.xnnpack_rescaled(NUMPY, wide, source, result, alpha))
    return _stored(op, litert.leaky_relu(NUMPY, wide, source, result, alpha))


def _hard_swish(op: activations.HardSwishOp, x: Array) -> Results:
    source, result = affines(op)
    element = uniform_of(op.result)
    return _stored(op, litert.hard_swish(x, source, result, (element.storage_min, element.storage_max)), moved=False)


def quantizes(op: elementwise.ClipOp) -> bool:
    """Returns whether the operation quantizes floats."""
    return not is_quantized(op.input) and is_quantized(op.result)


def _from_reals(op: elementwise.ClipOp, x: Array) -> Results | None:
    if not quantizes(op):
        return None
    result = affine(uniform_of(op.result))
    with np.errstate(over="ignore"):
        return _stored(op, litert.quantized(NUMPY, x.astype(np.float32), mode_of(op), result).astype(np.float64))


def is_converted(op: elementwise.ClipOp) -> bool:
    """Returns whether a clip without bounds converts 8-bit integers to another 8-bit type."""
    elements = uniform_of(op.input), uniform_of(op.result)
    is_bounded = op.minimum is not None or op.maximum is not None
    return not is_bounded and elements[0] != elements[1] and all(each.bits == 8 for each in elements)


def _requantized(op: elementwise.ClipOp, x: Array) -> Results | None:
    """Converts 8-bit integers to another 8-bit type by 8 fraction bits; any other clip rescales as usual."""
    if quantizes(op):
        return _from_reals(op, x)
    if not is_converted(op):
        return None
    source, result = affines(op)
    if not litert.is_delegated(source, result):
        return _stored(op, litert.rounded_up(x.astype(np.int64) - source.zero_point, source, result))
    return _stored(op, litert.xnnpack_rescaled(NUMPY, x.astype(np.int64), source, result))


# --- Functions of two values ------------------------------------------------------------------------------------------


def prelu(op: activations.PReluOp) -> Callable[[Any, Value, Value], Value]:
    """Returns the formula of a PReLU on stored integers, without the zero point of the result."""
    source, slopes, result = affines(op)
    return lambda e, x, slope: litert.prelu(e, x, slope, source, slopes, result)


def xnnpack_sum(op: elementwise.AddOp | elementwise.SubOp) -> Callable[[Any, Value, Value], Value] | None:
    """Returns XNNPACK's formula of a sum or difference; `None` if LiteRT computes it by its own kernel."""
    left, right, result = affines(op)
    if not litert.is_sum_delegated(left, right, result) or uniform_of(op.result).bits != 8:
        return None
    sign = -1 if isinstance(op, elementwise.SubOp) else 1
    return lambda e, x, y: litert.xnnpack_sum(e, x, y, sign, left, right, result)


def _by_formula(formula: Callable[[Any], Callable[[Any, Value, Value], Value] | None]) -> Evaluated:
    def evaluator(op: NnOp, x: Array, y: Array) -> Results | None:
        found = formula(op)
        return None if found is None else _stored(op, found(NUMPY, x.astype(np.int64), y.astype(np.int64)))

    return evaluator


# --- Means ------------------------------------------------------------------------------------------------------------


def _average_pool(op: pooling.AveragePoolOp, data: Array) -> Results:
    sizes = data.shape[2:]
    counts, count = op.counts(sizes), op.covered_elements(sizes)
    if not np.all(count):
        raise InterpretationError("the mean of zero elements is undefined")
    windows = window_view(data.astype(np.int64), op.windows, counts, 0)
    total = windows.sum(tuple(range(data.ndim, data.ndim + len(counts))))
    element = uniform_of(op.data)
    offset = unsigned_offset(element)
    total = total + element.zero_point * op.counted_padding(sizes) - offset * count
    return _stored(op, litert.mean(NUMPY, total, count) + offset, moved=False)


Mean = reduction.ReduceMeanOp | reduction.ReduceSumOp | pooling.GlobalAveragePoolOp


def _xnnpack_reduction(op: Mean, x: Array, axes: Array | None = None) -> Results:
    if isinstance(op, pooling.GlobalAveragePoolOp):
        gone, keeps = tuple(range(2, x.ndim)), True
    else:
        gone, keeps = tuple(op.reduced_axes(x.ndim, axes)), op.keeps_axes
    count = int(np.prod([x.shape[axis] for axis in gone]))
    if not count:
        raise InterpretationError("the mean of zero elements is undefined")
    source, result = affine(uniform_of(op.operands[0])), affine(uniform_of(op.result))
    total = x.astype(np.int64).sum(gone, keepdims=keeps)
    is_sum = isinstance(op, reduction.ReduceSumOp)
    found = litert.xnnpack_mean(NUMPY, total, count, source, result, is_sum=is_sum)
    return _stored(op, found.astype(np.float64), moved=False)


# --- Softmax ----------------------------------------------------------------------------------------------------------


def _softmax(op: normalization.SoftmaxOp, x: Array, mask: None) -> Results:
    if uniform_of(op.result).bits == 16:
        return _softmax16(op, x)
    axis, source, wide = op.axis.value.data, affine(uniform_of(op.input)), x.astype(np.int64)
    power = litert.softmax_powers(source.scale)[wide.max(axis=axis, keepdims=True) - wide].astype(np.int64)
    total = litert.softmax_term(NUMPY, power).sum(axis=axis, keepdims=True)
    return _stored(op, litert.softmax_share(NUMPY, power, total, uniform_of(op.result).bits))


def _softmax16(op: normalization.SoftmaxOp, x: Array) -> Results:
    axis, scale, wide = op.axis.value.data, uniform_of(op.input).scale, x.astype(np.int64)
    tables = [table.astype(np.int64) for table in litert.softmax16_tables()]
    difference = wide - wide.max(axis=axis, keepdims=True)
    power = litert.softmax16_power(NUMPY, difference, scale, lambda place: tables[0][place])
    total = power.sum(axis=axis, keepdims=True)
    return _stored(op, litert.softmax16_share(NUMPY, power, total, lambda place: tables[1][place]))


def _xnnpack_softmax(op: normalization.SoftmaxOp, x: Array, mask: None) -> Results:
    if uniform_of(op.result).bits == 16:
        return _softmax16(op, x)
    axis, source, wide = op.axis.value.data, affine(uniform_of(op.input)), x.astype(np.int64)
    result = affine(uniform_of(op.result))
    power = litert.softmax_reals(source.scale)[wide.max(axis=axis, keepdims=True) - wide]
    total = np.add.accumulate(power, axis=axis).take([-1], axis=axis)
    share = power * (np.float32(1) / (total * np.float32(result.scale)))
    return _stored(op, litert.half_away(NUMPY, share).astype(np.float64))


# --- Resizing ---------------------------------------------------------------------------------------------------------


class ResizeSamples(NamedTuple):
    """The two elements of each sample along an axis, and the integer weight of the second."""

    axis: int
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    weight: npt.NDArray[np.int64]


def samples(op: resizing.ResizeOp) -> list[ResizeSamples] | None:
    """Returns the samples along the last two axes of a linear resize, with weights of `litert.weight_bits`.

    Returns `None` if the operation copies elements or has no equivalent in LiteRT.
    """
    before, after = shape_of(op.input), shape_of(op.result)
    modes = {"asymmetric": (False, False), "align_corners": (True, False), "half_pixel": (False, True)}
    kind = modes.get(op.coordinate_transformation_mode.data)
    if op.mode.data != resizing.LINEAR or kind is None or before[:2] != after[:2] or len(before) != 4:
        return None
    positions = litert.xnnpack_samples if mode_of(op) is Mode.LITERT_XNNPACK else litert.reference_samples
    return [ResizeSamples(axis, *positions(before[axis], after[axis], *kind)) for axis in (2, 3)]


def _resize(op: resizing.ResizeOp, x: Array, *parameters: None) -> Results | None:
    found = samples(op)
    if found is None:
        return None
    (y, x_), offset = found, unsigned_offset(uniform_of(op.input))
    wide = x.astype(np.int64) - offset
    corners = [wide[:, :, rows][..., columns] for rows in (y.first, y.second) for columns in (x_.first, x_.second)]
    weights = y.weight[:, None], x_.weight
    return _stored(op, litert.interpolated(NUMPY, mode_of(op), corners, *weights) + offset, moved=False)


_BOTH: dict[type[Operation], Evaluated] = {
    activations.SigmoidOp: _tabulated("sigmoid"),
    activations.TanhOp: _tabulated("tanh"),
    activations.GeluOp: _tabulated("gelu"),
    activations.EluOp: _tabulated("elu"),
    activations.LeakyReluOp: _leaky_relu,
    activations.HardSwishOp: _hard_swish,
    activations.PReluOp: _by_formula(prelu),
    pooling.AveragePoolOp: _average_pool,
    resizing.ResizeOp: _resize,
}

BY_MODE: dict[Mode, dict[type[Operation], Evaluated]] = {
    Mode.LITERT_REFERENCE: {**_BOTH, normalization.SoftmaxOp: _softmax, elementwise.ClipOp: _from_reals},
    Mode.LITERT_XNNPACK: {
        **_BOTH,
        normalization.SoftmaxOp: _xnnpack_softmax,
        elementwise.ClipOp: _requantized,
        elementwise.AddOp: _by_formula(xnnpack_sum),
        elementwise.SubOp: _by_formula(xnnpack_sum),
        reduction.ReduceMeanOp: _xnnpack_reduction,
        reduction.ReduceSumOp: _xnnpack_reduction,
        pooling.GlobalAveragePoolOp: _xnnpack_reduction,
    },
}
"""The evaluators of each mode that don't rescale exact integers; they return `None` for types that others compute."""
