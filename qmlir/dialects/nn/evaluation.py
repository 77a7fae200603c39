"""Building blocks of evaluators: the precision in which they compute, quantized operands and results, and windows."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic import litert, requantization
from qmlir.arithmetic.arrays import Array, magnitude
from qmlir.arithmetic.requantization import (
    MULTIPLIED,
    Mode,
    Ties,
    accumulator_scale,
    requantize_by,
    requantizer,
    saturate,
)
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.requantize import affine, litert_rescaling
from qmlir.dialects.nn.result_shapes import Windows, taps
from qmlir.dialects.quant.evaluate import Scaling, quantize
from qmlir.dialects.quant.infer import broadcast_parameters, storage_dtype
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType, UniformType
from qmlir.ir.builtin_types import DTYPES, element_of, shape_of
from qmlir.ir.evaluation import ByOperation, Evaluator, Results, operand_groups
from qmlir.ir.limits import budget, over
from qmlir.text.elements import narrowed

# The precision in which evaluators compute, and the conversion of results to their element type.
#
# f32 and f64 values are computed in their own precision. Shorter floats are computed in f32 and rounded once, ties to
# even. Integers wrap around, also those narrower than a byte. Divisions by 0 and overflows have IEEE results.

SHORT_FLOATS = frozenset(np.dtype(each) for each in (np.float16, ml_dtypes.bfloat16, *DTYPES.values()))


def computing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type in which values of `dtype` are computed: f32 for floats shorter than f32, otherwise `dtype`."""
    return np.dtype(np.float32) if dtype in SHORT_FLOATS else dtype


def widened(array: Array) -> Array:
    """Converts floats shorter than f32 to f32; other arrays are returned unchanged."""
    return array.astype(computing_dtype(array.dtype), copy=False)


def is_integral(array: Array) -> bool:
    """Returns whether `array` holds integers."""
    return array.dtype.kind in "iu"


def of_operation(function: Callable[..., Any]) -> Evaluator:
    """Returns the evaluator `function(op, *arrays)` of an operation whose result has the type of its operands."""

    def evaluator(op: Operation, *arrays: Array) -> tuple[Array]:
        dtype = arrays[0].dtype
        with np.errstate(all="ignore"):
            result = np.asarray(function(op, *(widened(array) for array in arrays))).astype(dtype, copy=False)
        return (narrowed(result, element_of(op.results[0])) if is_integral(result) else result,)

    return evaluator


def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapts `function(*arrays)` to take the operation first, for operations whose properties are not needed."""

    def of_their_values(op: Operation, *arrays: Array) -> Any:
        return function(*arrays)

    return of_their_values


def of_question(function: Callable[..., Any]) -> Evaluator:
    """Returns the evaluator `function(op, *arrays)` of a predicate, whose result is i1 (0 and 1)."""

    def evaluator(op: Operation, *arrays: Array) -> tuple[Array]:
        with np.errstate(all="ignore"):
            return (np.asarray(function(op, *(widened(array) for array in arrays))).astype(np.int8),)

    return evaluator


# Conversion of quantized operands and results: stored integers to exact integers `q - z` with a scale, and back.
#
# All operation families compute on integers between `centered` and `rescaled`; operations without integer arithmetic
# use `through_float`.


def uniform(element: Attribute) -> UniformQuantizedType:
    """Returns `element` as a uniform quantized type. Raises `InterpretationError` if it is any other type."""
    if not isinstance(element, UniformQuantizedType):
        raise InterpretationError(f"cannot compute with '{element}': expected a uniform quantized type")
    return element


def uniform_of(value: SSAValue) -> UniformQuantizedType:
    """Returns the uniform quantized element type of a tensor value."""
    return uniform(element_of(value))


def is_quantized(value: SSAValue) -> bool:
    """Returns whether the elements of a tensor value are quantized."""
    return kind_of(element_of(value)) is Kind.QUANTIZED


@dataclass(frozen=True)
class Centered:
    """Exact integers `q - z` as int64, and their f32 scales in a shape that broadcasts to them."""

    integers: npt.NDArray[np.int64]
    scale: npt.NDArray[np.float32]


def centering(value: SSAValue, shape: tuple[int, ...]) -> tuple[Callable[[Array], Array], npt.NDArray[np.float32]]:
    """Returns a function that subtracts the zero points of `value` from its stored integers, and its scales.

    Both broadcast to `shape`.
    """
    scales, zero_points = broadcast_parameters(uniform_of(value), shape)
    return lambda stored: np.asarray(stored.astype(np.int64) - zero_points), np.asarray(scales, np.float32)


def centered(value: SSAValue, stored: Array) -> Centered:
    """Returns the stored integers of `value` with their zero points subtracted, and their scales."""
    center, scale = centering(value, stored.shape)
    return Centered(center(stored), scale)


def requantization_of(op: NnOp) -> tuple[Mode, Ties]:
    """Returns the requantization mode of `op`, and how a right shift rounds ties."""
    attribute = op.requantize
    return (Mode.F32, Ties.EVEN) if attribute is None else (attribute.mode, attribute.ties)


def rescaling(
    op: NnOp, shape: tuple[int, ...], scale: npt.ArrayLike, count: npt.ArrayLike = 1
) -> Callable[[Array], Array]:
    """Returns a function that requantizes exact integers of scale `scale` to the stored result of `op`, saturated.

    The parameters broadcast to `shape`. For a mean, the integers are sums of `count` elements. Raises `ValueError` if
    the mode cannot express the ratio between the scales.
    """
    element = uniform_of(op.results[0])
    output_scale, zero_point = broadcast_parameters(element, shape)
    limits, dtype = (element.storage_min, element.storage_max), storage_dtype(element)
    mode, ties = requantization_of(op)
    if mode.is_litert:
        kernel_mode, parameters = litert_rescaling(op, scale, output_scale, count)
        # Integers are those of a 32-bit accumulator, as in all modes with a multiplier.
        return lambda integers: requantize_by(
            kernel_mode, saturate(integers, 0, MULTIPLIED), parameters, zero_point, limits
        ).astype(dtype)
    rescale = requantizer(scale, accumulator_scale(output_scale, count), zero_point, limits, mode, ties)
    return lambda integers: rescale(integers).astype(dtype)


def rescaled(op: NnOp, integers: Array, scale: npt.ArrayLike, count: npt.ArrayLike = 1) -> Array:
    """Requantizes exact integers of f32 scale `scale` to the stored result of `op` (`rescaling`)."""
    return rescaling(op, integers.shape, scale, count)(integers)


def stored_bound(op: NnOp, bound: float, shape: Sequence[int]) -> Array:
    """Returns the stored integers of a bound of `op`, in a shape that broadcasts to `shape`, that of the result."""
    element, mode = uniform_of(op.results[0]), requantization_of(op)[0]
    if mode.is_litert:
        if element_of(op.operands[0]) != element:  # no activation of another kernel
            mode = Mode.LITERT_REFERENCE
        limits = element.storage_min, element.storage_max
        return np.asarray(litert.stored_bound(mode, bound, affine(element), limits), storage_dtype(element))
    sizes = (1,) * len(shape) if element.granularity is Granularity.TENSOR else shape
    return quantize(np.full(sizes, bound), element)


def prepared(prepare: Callable[..., Callable[..., Results | None] | None]) -> ByOperation:
    """Returns the evaluator `prepare(op, *shapes)(*arrays)`, which prepares the parameters of an operation only once.

    The sizes in `shapes` are 1, since most parameters depend on the rank only. Those of per-block types depend on all
    sizes, so an operation on such types is prepared at each call. The evaluator returns `None` if `prepare` does.
    """

    def choose(op: NnOp) -> Evaluator:
        ranks = [len(shape_of(value)) for value in op.operands]
        made = cache(lambda: prepare(op, *((1,) * rank for rank in ranks)))

        def evaluator(op: NnOp, *arrays: Any) -> Any:
            function = prepare(op, *(array.shape for array in arrays)) if depends_on_sizes else made()
            return None if function is None else function(*arrays)

        depends_on_sizes = any(map(has_blocks, (*op.operands, *op.results)))
        return evaluator

    return ByOperation(choose)


def has_blocks(value: SSAValue) -> bool:
    """Returns True if `value` has one scale for each block of elements."""
    element = element_of(value)
    return isinstance(element, UniformType) and element.granularity is Granularity.BLOCK


def nearest(value: Array, element: UniformQuantizedType) -> Array:
    """Returns the stored integers nearest to floats that include the zero point, as mode `qlinear` rounds."""
    limits = element.storage_min, element.storage_max
    return np.asarray(requantization.rounded(value, limits), storage_dtype(element))


def _scaling(value: SSAValue) -> Callable[[Array], Scaling] | None:
    """Returns a function from arrays of `value` to their scaling, which is prepared once unless it depends on sizes."""
    if not is_quantized(value):
        return None
    if has_blocks(value):
        return lambda array: Scaling.of(uniform_of(value), array.shape)
    made = cache(lambda: Scaling.of(uniform_of(value), (1,) * len(shape_of(value))))
    return lambda array: made()


def _real(scaling: Callable[[Array], Scaling] | None, stored: Any) -> Any:
    return stored if scaling is None or stored is None else scaling(stored).dequantize(stored)


def through_float(evaluator: Evaluator) -> ByOperation:
    """Wraps a float `evaluator` to dequantize operands like `quant.dcast` and quantize results like `quant.qcast`."""

    def choose(op: IRDLOperation) -> Evaluator:
        groups = [[_scaling(value) for value in values] or [None] for _, _, values in operand_groups(op)]
        outputs = [_scaling(result) for result in op.results]

        def quantized(op: IRDLOperation, *arguments: Any) -> tuple[Array, ...]:
            floats = [
                tuple(map(_real, group, cast(tuple[Array, ...], argument)))
                if isinstance(argument, tuple)
                else _real(group[0], argument)
                for group, argument in zip(groups, arguments, strict=True)
            ]
            with np.errstate(all="ignore"):  # divisions by 0 and overflows have IEEE results
                results = evaluator(op, *floats)
            return tuple(
                array if scaling is None else scaling(array).quantize(array)
                for scaling, array in zip(outputs, results, strict=True)
            )

        return quantized

    return ByOperation(choose)


_fractions = np.frompyfunc(lambda scale, integer: Fraction(scale) * integer, 2, 1)


def exact_reals(value: SSAValue, stored: Array) -> Array:
    """Returns the exact real values of a quantized tensor, as f64 if that can hold them, otherwise as Python fractions.

    An f32 scale has 24 significant bits, so its product with an integer below 2^29 has at most 53, which fit in an f64.
    """
    element = uniform_of(value)
    scales, zero_points = broadcast_parameters(element, stored.shape)
    if not isinstance(element.expressed, Float64Type):
        scales = scales.astype(np.float32).astype(np.float64)
    integers = stored.astype(np.int64) - zero_points
    if magnitude(integers) < 2**29 and (scales == scales.astype(np.float32)).all():
        return np.asarray(scales * integers)
    return np.asarray(_fractions(scales.astype(np.object_), integers.astype(np.object_)), np.object_)


# Windows over the spatial axes of `[N, C, …]` arrays: as a strided view, or as a slice for each kernel element.


def window_view(data: Array, windows: Windows, counts: tuple[int, ...], fill: Any) -> Array:
    """Returns a view `[N, C, *counts, *kernel]` of `data`, padded with `fill` as far as the windows extend."""
    pads = [(0, 0), (0, 0)]
    for axis, count in enumerate(counts):
        begin, end = windows.padding(axis)
        reach = (count - 1) * windows.strides[axis] + windows.extent(axis)
        pads.append((begin, max(end, reach - begin - data.shape[axis + 2])))
    padded_size = math.prod(size + sum(pad) for size, pad in zip(data.shape, pads, strict=True)) * data.itemsize
    if padded_size > budget("value-bytes"):
        raise InterpretationError(f"the size of the padded data in bytes is {over('value-bytes', padded_size)}")
    padded = np.pad(data, pads, constant_values=fill)
    spatial = tuple(range(2, data.ndim))
    extents = tuple(windows.extent(axis) for axis in range(len(counts)))
    view = np.lib.stride_tricks.sliding_window_view(padded, extents, axis=spatial)
    steps = tuple(
        slice(None, (count - 1) * stride + 1, stride) for count, stride in zip(counts, windows.strides, strict=True)
    )
    taps = tuple(slice(None, None, dilation) for dilation in windows.dilations)
    return view[(slice(None), slice(None), *steps, *taps)]


class KernelElement(NamedTuple):
    """A kernel element, with slices for the windows in which it covers data and for the covered data."""

    tap: tuple[int, ...]
    windows: tuple[slice, ...]
    elements: tuple[slice, ...]


def positions(windows: Windows, sizes: Sequence[int], counts: Sequence[int]) -> Iterator[KernelElement]:
    """Yields all kernel elements of `counts` windows over spatial axes of the given `sizes`, in row-major order."""
    along = (
        enumerate(taps(windows, axis, size, count))
        for axis, (size, count) in enumerate(zip(sizes, counts, strict=True))
    )
    for found in product(*along):
        yield KernelElement(
            tuple(tap for tap, _ in found),
            tuple(position.windows for _, position in found),
            tuple(position.elements for _, position in found),
        )


def columns(data: Array, windows: Windows, counts: tuple[int, ...]) -> Array:
    """Returns the data under each kernel element of each window, `[N, C, *kernel, *counts]`, and 0 in the padding.

    If each element of the data is one window, the result is a view of the data.
    """
    batch = (slice(None), slice(None))
    shape = (*data.shape[:2], *windows.kernel, *counts)
    if counts == data.shape[2:] and set(windows.kernel) == {1} and not any(windows.pads):
        return data.reshape(shape)
    result = np.zeros(shape, data.dtype)
    for position in positions(windows, data.shape[2:], counts):
        result[(*batch, *position.tap, *position.windows)] = data[(*batch, *position.elements)]
    return result
