"""Evaluation of the `kernel` operations: exact sums in wide integers, epilogues on whole arrays, requantization.

A convolution is evaluated as a matrix product whose rows are the windows of the input. BLAS computes integer sums only
if a bound proves that every partial sum is exact. If a sum overflows its accumulator, the evaluation raises an error.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.dialects.builtin import AnyFloat, MemRefType, f32
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic import requantization
from qmlir.arithmetic.arrays import Array, exact_matmul, magnitude, sum_dtype
from qmlir.arithmetic.functions.single import reciprocal_roots
from qmlir.dialects.kernel import custom, packed_ops, record, rows
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, EpilogueOp, MatMulOp
from qmlir.dialects.kernel.ops import JoinOp, ReciprocalRootOp, RequantizeOp, ReshapeOp, scalar_of, shaped
from qmlir.dialects.kernel.packed_ops import PackedBlocksOp, PackedConvOp, PackedMatMulOp, PackedOp, PackedWinogradOp
from qmlir.dialects.kernel.winograd import WinogradOp, winograd_sums
from qmlir.dialects.quant.infer import integer_dtype
from qmlir.ir.builtin_types import as_integer, integer_list, memref_type
from qmlir.ir.evaluation import Evaluator, RegionEvaluator, check_writable
from qmlir.text.elements import integers_of, narrowed


def _bits_of(element: Attribute) -> int:
    integer = as_integer(element)
    assert integer is not None
    return integer.width.data


def _integers(array: Array, element: Attribute, is_unsigned: bool, zero_point: Any) -> Array:
    """Interprets stored integers with the operation's signedness, in int64, and subtracts their zero point."""
    return np.asarray(integers_of(array, element, is_unsigned=is_unsigned) - zero_point)


def _operands(op: ContractionOp, x: Array, w: Array, weight_zero_points: Array | None) -> tuple[Array, Array]:
    """Prepares both operands for multiplication: floats in the type of the sum, integers in one that is exact."""
    if isinstance(op.accumulator_type, AnyFloat):
        dtype = np.dtype(f"f{op.accumulator_type.bitwidth // 8}")
        # BLAS sums in another order if strides differ, but the sums must depend on the values only.
        return x.astype(dtype, order="C"), w.astype(dtype, order="C")
    zero_points: Any = op.weight_zero_point.value.data
    if weight_zero_points is not None:
        rows = weight_zero_points.astype(np.int64)
        zero_points = rows[:, None] if isinstance(op, MatMulOp) else rows.reshape(-1, *(1,) * (w.ndim - 1))
    left = _integers(x, shaped(op.x)[1], op.input_unsigned is not None, op.input_zero_point.value.data)
    right = _integers(w, shaped(op.w)[1], op.weight_unsigned is not None, zero_points)
    dtype = sum_dtype(magnitude(left), magnitude(right), op.terms())
    return left.astype(dtype), right.astype(dtype)


def _product(op: ContractionOp, left: Array, right: Array) -> Array:
    is_float = isinstance(op.accumulator_type, AnyFloat)
    return np.asarray(np.matmul(left, right)) if is_float else exact_matmul(left, right)


def _matmul_sums(op: MatMulOp, x: Array, w: Array) -> Array:
    shared = [1] * (x.ndim - w.ndim)
    return _product(op, x, w.reshape(*w.shape[:-2], *shared, *w.shape[-2:]).swapaxes(-1, -2))


def _conv_sums(op: ConvOp, x: Array, w: Array) -> Array:
    strides, dilations, groups = integer_list(op.strides), integer_list(op.dilations), op.group_count
    spatial, shape = len(strides), op.sum_shape()
    if not all(shape):
        return np.zeros(shape, x.dtype)
    reach = [(taps - 1) * dilation + 1 for taps, dilation in zip(w.shape[1:-1], dilations, strict=True)]
    windows = sliding_window_view(x, reach, axis=tuple(range(1, 1 + spatial)))
    steps = (*(slice(None, None, stride) for stride in strides), slice(None))
    taps = tuple(slice(None, None, dilation) for dilation in dilations)
    windows = windows[(slice(None), *steps, *taps)]  # [N, out…, C, taps…]
    windows = np.moveaxis(windows, 1 + spatial, -1)  # [N, out…, taps…, C]
    rows, terms, channels = int(np.prod(shape[:-1])), op.terms(), shape[-1] // groups
    split = windows.reshape(*windows.shape[:-1], groups, windows.shape[-1] // groups)
    left = np.moveaxis(split, -2, 0).reshape(groups, rows, terms)
    right = w.reshape(groups, channels, terms)
    sums = _product(op, left, right.swapaxes(-1, -2))  # [groups, rows, channels]
    return np.moveaxis(sums, 0, 1).reshape(shape)


def _winograd_sums(op: WinogradOp, x: Array, w: Array) -> Array:
    return winograd_sums(x, w, op.form, op.part_count)


def _accumulated(op: ContractionOp, sums: Array) -> Array:
    """Converts the sums to the accumulator type. Raises `InterpretationError` if they overflow it."""
    element = op.accumulator_type
    if isinstance(element, AnyFloat):
        return sums
    bits = _bits_of(element)
    if magnitude(sums) >= 1 << (bits - 1):
        extremes = int(sums.min()), int(sums.max())
        raise InterpretationError(
            f"a sum of {op.name} ranges over [{extremes[0]}, {extremes[1]}], which overflows {element}"
        )
    return sums.astype(integer_dtype(bits, signed=True))


def _element_of_each(array: Array, map_: AffineMap, shape: Sequence[int]) -> Array:
    """Maps `array` to the positions of a result of shape `shape`, in a shape that broadcasts to it."""
    if all(isinstance(expression, AffineDimExpr) for expression in map_.results):
        axes = [cast(AffineDimExpr, expression).position for expression in map_.results]
        if len(set(axes)) == len(axes):
            ordered = array.transpose(sorted(range(len(axes)), key=axes.__getitem__))
            layout = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
            return ordered.reshape(layout)
    positions: Any = np.ogrid[tuple(slice(0, size) for size in shape)]
    return np.asarray(array[tuple(expression.eval(positions, ()) for expression in map_.results)])


def _finished(frame: Any, op: EpilogueOp, sums: Array, epilogue: tuple[Array, ...], outs: Array | None) -> Any:
    """Applies the epilogue to the sums, as the result or into the memory `outs`."""
    maps = [attribute.data for attribute in op.epilogue_maps]
    elements = [_element_of_each(array, map_, sums.shape) for array, map_ in zip(epilogue, maps, strict=True)]
    (result,) = frame.run(op.body, sums, *elements)
    whole = np.broadcast_to(result, sums.shape)
    if (type_ := memref_type(op.target)) is not None:
        assert outs is not None
        check_writable(outs, type_)
        outs[...] = whole
        return ()
    return (np.array(whole),)


def _contraction(sums_of: Callable[..., Array]) -> RegionEvaluator:
    def evaluator(
        frame: Any,
        op: ContractionOp,
        x: Array,
        w: Array,
        weight_zero_points: Array | None,
        epilogue: tuple[Array, ...],
        outs: Array | None,
    ) -> tuple[Array, ...]:
        sums = _accumulated(op, sums_of(op, *_operands(op, x, w, weight_zero_points)))
        return _finished(frame, op, sums, epilogue, outs)

    return RegionEvaluator(evaluator)


def _read(op: PackedOp, x: Array) -> Array:
    """Reads the elements of `x` as the variant does; the bias compensates for the offset that it adds."""
    integer = as_integer(shaped(op.x)[1])
    if integer is None:
        assert isinstance(op.accumulator_type, AnyFloat)
        return x.astype(f"f{op.accumulator_type.bitwidth // 8}", order="C")
    is_unsigned = op.input_unsigned is not None
    return integers_of(x, integer, is_unsigned=is_unsigned) + op.layout.variant.offset(is_unsigned=is_unsigned)


def _by(left: Array, right: Array, terms: int) -> Array:
    """Multiplies rows of `left` by rows of `right` along the last two axes: exact integers, or floats."""
    if left.dtype.kind == "f":
        return np.asarray(left @ right.swapaxes(-1, -2))
    dtype = sum_dtype(magnitude(left), magnitude(right), terms)
    return exact_matmul(left.astype(dtype), right.swapaxes(-1, -2).astype(dtype)).astype(np.int64)


def _matmul(op: PackedMatMulOp, x: Array, weights: Array) -> Array:
    shape, terms = shaped(op.target)[0], weights.shape[-1]
    filled = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, terms - x.shape[-1])])
    if weights.shape[0] == 1:
        return _by(filled, weights[0], terms).reshape(shape)
    batches = filled.reshape(len(weights), -1, *filled.shape[-2:])  # merge the batches that share a matrix
    return _by(batches, weights[:, None], terms).reshape(shape)


def _conv(op: PackedConvOp, x: Array, weights: Array, *, is_lanewise: bool) -> Array:
    """Sums tap by tap; the rows of the image are one axis, along which a step continues into the next positions."""
    strides, dilations = integer_list(op.strides), integer_list(op.dilations)
    batch, *out, channels = shaped(op.target)[0]
    groups, own, *taps, terms = weights.shape
    depth = x.shape[-1]
    rows = x.reshape(*x.shape[:-2], -1)
    rows = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, depth if is_lanewise else terms)])
    sums = np.zeros((groups, batch * math.prod(out), own), x.dtype)
    if not sums.size:
        return sums.reshape(batch, *out, channels)
    for tap in np.ndindex(*taps):
        first = [position * dilation for position, dilation in zip(tap, dilations, strict=True)]
        leading = [
            slice(start, start + (size - 1) * stride + 1, stride)
            for start, size, stride in zip(first[:-1], out[:-1], strides[:-1], strict=True)
        ]
        count = depth if is_lanewise else terms
        begin = [(position * strides[-1] + first[-1]) * depth for position in range(out[-1])]
        positions = np.array(begin)[:, None] + np.array(range(count))
        for group in range(groups):
            factors = weights[(group, slice(None), *tap)]
            seen = rows[(slice(None), *leading)][..., positions + group * (depth // groups)].reshape(-1, count)
            sums[group] += seen * factors[:, 0] if is_lanewise else _by(seen, factors, terms)
    return np.moveaxis(sums, 0, 1).reshape(batch, *out, channels)


def packed_sums(op: PackedOp, x: Array, w: Array) -> Array:
    """Computes the sums of an operation on packed operands.

    Integers wrap at the width of the accumulator, as in the compiled loops. The sums are only guaranteed to fit after
    the epilogue has applied its correction.
    """
    weights, read = op.weights().unpack(w), _read(op, x)
    if not isinstance(op.accumulator_type, AnyFloat):
        weights = weights.astype(np.int64)
    match op:
        case PackedWinogradOp():
            return winograd_sums(read, weights[0], op.form, op.part_count)
        case PackedConvOp():
            sums = _conv(op, read, weights, is_lanewise=op.layout.variant.is_lanewise)
        case _:
            assert isinstance(op, PackedMatMulOp)
            sums = _matmul(op, read - op.offset.value.data if op.offset.value.data else read, weights)
    integer = as_integer(op.accumulator_type)
    return sums if integer is None else sums.astype(f"i{integer.width.data // 8}")


def _packed(frame: Any, op: PackedOp, x: Array, w: Array, epilogue: tuple[Array, ...], outs: Array | None) -> Any:
    return _finished(frame, op, packed_sums(op, x, w), epilogue, outs)


def _blocks(
    frame: Any, op: PackedBlocksOp, x: Array, w: Array, starts: Array | None, epilogue: tuple[Array, ...],
    outs: Array | None,
) -> Any:  # fmt: skip
    packed, scales = packed_ops.split_scales(op, w)
    weights, format_ = op.weights().unpack(packed)[0].swapaxes(0, 1), op.layout.variant.weight_float
    if format_ is not None:
        weights = format_.values(weights)
    if op.product_type == f32:
        sums = _by(x, weights.astype(np.float32), weights.shape[-1])  # [blocks, rows, channels]
    else:
        sums = _by(_read(op, x) - op.offset.value.data, weights.astype(np.int64), weights.shape[-1])
        sums = sums if starts is None else sums + starts[..., None]
    factors = scales.swapaxes(0, 1).reshape(len(sums), 1, -1)[..., : op.channels()]
    total = np.zeros(sums.shape[1:], np.float32)
    for block, factor in zip(sums, factors, strict=True):
        total = total + factor * block.astype(np.float32)
    return _finished(frame, op, total, epilogue, outs)


def _reshape(op: ReshapeOp, array: Array) -> tuple[Array]:
    shape = shaped(op.result)[0]
    if not isinstance(op.source.type, MemRefType):
        return (array.reshape(shape),)
    try:
        return (array.reshape(shape, copy=False),)  # a copy would not update the original
    except ValueError as error:
        raise InterpretationError(f"cannot reshape non-contiguous memory to {list(shape)}") from error


def _requantize(op: RequantizeOp, accumulator: Any, parameters: tuple[Any, ...]) -> tuple[Any]:
    wide, zero_point, limits = np.asarray(accumulator, np.int64), op.zero_point.value.data, op.limits
    given = [np.asarray(parameter) for parameter in parameters]
    result = requantization.requantize_by(op.mode.mode, wide, given, zero_point, limits, op.mode.ties)
    bits = _bits_of(scalar_of(op.result.type))
    # The limits may be unsigned: a 4-bit 12 is stored as -4, like all signless integers.
    stored = narrowed(result.astype(integer_dtype(bits, signed=True)), scalar_of(op.result.type))
    is_array = any(isinstance(value, np.ndarray) for value in (accumulator, *parameters))
    return (stored if is_array else stored[()],)


def _reciprocal_root(op: ReciprocalRootOp, value: Any) -> tuple[Any]:
    try:
        found = reciprocal_roots(value)
    except ValueError as error:
        raise InterpretationError(str(error)) from error
    return (found if isinstance(value, np.ndarray) else found[()],)


def _join(op: JoinOp, parts: tuple[Any, ...]) -> tuple[Any]:
    found = np.stack(np.broadcast_arrays(*parts), axis=-1).astype("i1")
    joined = found.view("<f4" if isinstance(op.result.type, AnyFloat) else "<i4")[..., 0]
    return (joined if joined.ndim else joined[()],)


EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    **custom.EVALUATORS,
    **record.EVALUATORS,
    **rows.EVALUATORS,
    ConvOp: _contraction(_conv_sums),
    JoinOp: _join,
    MatMulOp: _contraction(_matmul_sums),
    **dict.fromkeys(packed_ops.PACKED.values(), RegionEvaluator(_packed)),
    PackedBlocksOp: RegionEvaluator(_blocks),
    ReciprocalRootOp: _reciprocal_root,
    RequantizeOp: _requantize,
    ReshapeOp: _reshape,
    WinogradOp: _contraction(_winograd_sums),
}
