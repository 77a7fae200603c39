"""The operators of LiteRT that compute the operations of `nn` and `quant`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.evaluation import stored_bound
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.resizing import ops as resizing
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.litert.export.emission import (
    CHANNELS_LAST,
    Export,
    LiteEmission,
    NoFormError,
    Order,
    TensorForm,
    keeps_elements,
    name_of,
)
from qmlir.extensions.litert.export.writing import Tensor
from qmlir.extensions.litert.node import BOUNDS
from qmlir.extensions.litert.operators.contraction import same_pads
from qmlir.extensions.litert.operators.elementwise import ROWS
from qmlir.formats.one_to_one import OneToOne, attributes_of
from qmlir.formats.types import accumulator_type
from qmlir.ir.builtin_types import element_of, shape_of

_SAME, _VALID = 0, 1


def _is_image(value: SSAValue) -> bool:
    return len(shape_of(value)) == 4


def _images(op: Any) -> None:
    if not _is_image(op.results[0]):
        raise NoFormError(f"it requires rank 4 (N, C, H, W), but got '{op.results[0].type}'")


def _is_quantized(value: SSAValue) -> bool:
    return isinstance(element_of(value), UniformQuantizedType)


# --- Windows ----------------------------------------------------------------------------------------------------------


def _padded(
    out: LiteEmission, data: SSAValue, windows: Any, fill: Array | None = None, *, is_counted: bool = False
) -> tuple[int, int]:
    """Returns the channels-last tensor of the data, and the padding of the operator; other padding is an operator.

    `fill` holds the stored element of the padding, by default the zero point. Padding that is counted as data is always
    an operator.
    """
    tensor, sizes = out.ordered(data, CHANNELS_LAST), shape_of(data)[2:]
    pads = list(windows.pads)
    if not is_counted and pads == same_pads(sizes, windows.kernel, windows.strides, windows.dilations) and any(pads):
        return tensor, _SAME
    if not any(pads):
        return tensor, _VALID
    top, left, bottom, right = pads
    source = out.graph.tensors[tensor]
    count, height, width, channels = source.shape
    shape = count, height + top + bottom, width + left + right, channels
    added = out.graph.add(Tensor(f"{source.name}_padded", shape, source.dtype, source.parameters))
    numbers = np.asarray([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32)
    inputs = [tensor, out.constant(numbers, "padding")]
    if fill is None:
        out.operator("PAD", inputs, [added], 2, "PadOptions")
    else:
        value = Tensor("fill", (1,), source.dtype, source.parameters, fill.astype(source.dtype).reshape(1))
        out.operator("PADV2", [*inputs, out.graph.add(value)], [added], 2, "PadV2Options")
    return added, _VALID


def _strides(windows: Any) -> dict[str, int]:
    return {"stride_h": windows.strides[0], "stride_w": windows.strides[1]}


def _weights(out: LiteEmission, weight: SSAValue, order: Sequence[int]) -> int:
    """Returns constant weights with their axes in `order`."""
    array, element = out.known(weight), element_of(weight)
    if array is None:
        return out.ordered(weight, tuple(order))
    axis = None
    if isinstance(element, UniformQuantizedType):
        if np.any(np.asarray(element.zero_points) - (0 if element.is_signed else 128)):
            raise NoFormError(f"its weights must have zero point 0 (symmetric, signed), but got '{element}'")
        axis = list(order).index(element.axis) if element.axes else None
    return out.constant(array.transpose(order), name_of(weight) or "weights", element, axis)


def _bias(out: LiteEmission, op: Any, channels: int) -> int:
    """Returns the bias, which LiteRT's convolutions require."""
    if op.bias is not None:
        return out.ordered(op.bias)
    data, weight = element_of(op.data), element_of(op.weight)
    if not isinstance(data, UniformQuantizedType) or not isinstance(weight, UniformQuantizedType):
        return out.constant(np.zeros(channels, np.float32), "bias")
    return out.constant(np.zeros(channels, np.int32), "bias", accumulator_type(data, weight, 0))


def _conv(out: LiteEmission, op: contraction.ConvOp) -> None:
    _images(op)
    windows, groups = op.windows, op.group_count
    channels, inputs = shape_of(op.weight)[0], shape_of(op.data)[1]
    data, padding = _padded(out, op.data, windows)
    options = {"padding": padding, **_strides(windows)}
    options |= {"dilation_h_factor": windows.dilations[0], "dilation_w_factor": windows.dilations[1]}
    bias = _bias(out, op, channels)
    if 1 < groups == inputs and shape_of(op.weight)[1] == 1:
        weights = _weights(out, op.weight, (1, 2, 3, 0))
        result = out.declare(op.result, CHANNELS_LAST)
        multiple = {"depth_multiplier": channels // inputs}
        out.operator(
            "DEPTHWISE_CONV_2D", [data, weights, bias], [result], 3, "DepthwiseConv2DOptions", **options, **multiple
        )
        return
    weights = _weights(out, op.weight, (0, 2, 3, 1))
    result = out.declare(op.result, CHANNELS_LAST)
    out.operator("CONV_2D", [data, weights, bias], [result], 3 if groups == 1 else 6, "Conv2DOptions", **options)


def _conv_transpose(out: LiteEmission, op: contraction.ConvTransposeOp) -> None:
    _images(op)
    windows = op.windows
    if op.group_count != 1 or set(windows.dilations) != {1}:
        raise NoFormError("transposed convolutions have no groups and no dilation")
    after = shape_of(op.result)
    cuts = [
        max((size - 1) * stride + extent - result, 0)
        for size, stride, extent, result in zip(
            shape_of(op.data)[2:], windows.strides, windows.kernel, after[2:], strict=True
        )
    ]
    before = list(windows.pads[:2])
    kinds = [kind for kind, wanted in ((_VALID, [0, 0]), (_SAME, [cut // 2 for cut in cuts])) if before == wanted]
    if not kinds:
        raise NoFormError(f"LiteRT can't express its padding {list(windows.pads)}, only VALID and SAME")
    sizes = out.integers([after[axis] for axis in CHANNELS_LAST], "sizes")
    inputs = [sizes, _weights(out, op.weight, (1, 2, 3, 0)), out.ordered(op.data, CHANNELS_LAST)]
    inputs += [] if op.bias is None else [out.ordered(op.bias)]
    result = out.declare(op.result, CHANNELS_LAST)
    options = {"padding": kinds[0], **_strides(windows)}
    out.operator("TRANSPOSE_CONV", inputs, [result], 3, "TransposeConvOptions", **options)


def _fully_connected(out: LiteEmission, op: contraction.FullyConnectedOp) -> None:
    bias = -1 if op.bias is None else out.ordered(op.bias)
    inputs = [out.ordered(op.data), _weights(out, op.weight, (0, 1)), bias]
    out.operator("FULLY_CONNECTED", inputs, [out.declare(op.result)], 6, "FullyConnectedOptions", keep_num_dims=True)


def _matmul(out: LiteEmission, op: contraction.MatMulOp) -> None:
    if len(shape_of(op.lhs)) < 2 or len(shape_of(op.rhs)) < 2:
        raise NoFormError("BATCH_MATMUL requires operands of rank 2 or more")
    inputs = [out.ordered(op.lhs), out.ordered(op.rhs)]
    out.operator(
        "BATCH_MATMUL", inputs, [out.declare(op.result)], 2, "BatchMatMulOptions", adj_x=False,
        adj_y=op.is_rhs_transposed,
    )  # fmt: skip


def _pool(name: str) -> Export:
    def export(out: LiteEmission, op: Any) -> None:
        _images(op)
        windows, is_mean = op.windows, name == "AVERAGE_POOL_2D"
        if set(windows.dilations) != {1} or op.ceil_mode.value.data:
            raise NoFormError("pools have no dilation and no partial windows")
        fill: Array | None = None
        if not is_mean:
            is_quantized = _is_quantized(op.data)
            fill = np.asarray(-128 if is_quantized else np.finfo(np.float32).min)
        is_counted = is_mean and bool(op.count_include_pad.value.data)
        data, padding = _padded(out, op.data, windows, fill, is_counted=is_counted)
        if is_mean and not is_counted and padding == _VALID and any(windows.pads):
            raise NoFormError(f"average pools are not padded by {list(windows.pads)} without counting the padding")
        kernel = {"filter_height": windows.kernel[0], "filter_width": windows.kernel[1]}
        result = out.declare(op.result, CHANNELS_LAST)
        out.operator(name, [data], [result], 2, "Pool2DOptions", padding=padding, **_strides(windows), **kernel)

    return export


def _resize(out: LiteEmission, op: resizing.ResizeOp) -> None:
    _images(op)
    coordinates, after = op.coordinate_transformation_mode.data, shape_of(op.result)
    is_linear, is_aligned = op.mode.data == resizing.LINEAR, coordinates == "align_corners"
    is_half = coordinates == ("half_pixel" if is_linear else "tf_half_pixel_for_nn")
    nearest = "round_prefer_ceil" if is_aligned else "floor"
    is_known = is_aligned or is_half or coordinates == "asymmetric"
    is_sampled = is_linear or (op.mode.data == resizing.NEAREST and op.nearest_mode.data == nearest)
    if not (is_known and is_sampled) or shape_of(op.input)[:2] != after[:2]:
        raise NoFormError("it samples at other positions")
    if op.antialias.value.data or op.exclude_outside.value.data or op.keep_aspect_ratio_policy.data != resizing.STRETCH:
        raise NoFormError("it has options that LiteRT lacks: antialias, exclude_outside or an aspect ratio to keep")
    if not op.scales_by_sizes:
        raise NoFormError("its scales are not the ratios of its sizes, which LiteRT uses")
    name = "RESIZE_BILINEAR" if is_linear else "RESIZE_NEAREST_NEIGHBOR"
    kind = "ResizeBilinearOptions" if is_linear else "ResizeNearestNeighborOptions"
    inputs = [out.ordered(op.input, CHANNELS_LAST), out.integers(after[2:], "sizes")]
    result = out.declare(op.result, CHANNELS_LAST)
    out.operator(name, inputs, [result], 3, kind, align_corners=is_aligned, half_pixel_centers=is_half)


def _blocks(name: str, kind: str) -> Export:
    def export(out: LiteEmission, op: Any) -> None:
        _images(op)
        if getattr(op, "mode", None) is not None and op.mode.data != "DCR":
            raise NoFormError(f"it moves blocks in mode {op.mode.data}")
        inputs = [out.ordered(op.input, CHANNELS_LAST)]
        result = out.declare(op.result, CHANNELS_LAST)
        out.operator(name, inputs, [result], 2, kind, block_size=op.block_size.value.data)

    return export


# --- Elementwise ------------------------------------------------------------------------------------------------------


_OPTIONS = {"LEAKY_RELU": "LeakyReluOptions", "GELU": "GeluOptions"}
"""The type of the options of operators with one input."""


def _elu(out: LiteEmission, op: activations.EluOp) -> None:
    if op.alpha.value.data != 1.0:
        raise NoFormError(f"ELU requires alpha = 1, but got {op.alpha.value.data:g}")
    if _is_quantized(op.result):
        raise NoFormError("the arithmetic of LiteRT's quantized ELU depends on the math library")
    form = out.form(op.operands[0])
    out.operator("ELU", [form.tensor], [out.declare(op.result, form.order)])


def _mod(out: LiteEmission, op: elementwise.ModOp) -> None:
    if op.fmod.value.data:
        raise NoFormError("FLOOR_MOD has the sign of the divisor, but fmod has that of the dividend")
    _binary("FLOOR_MOD", version=1)(out, op)


def _unary(row: OneToOne) -> Export:
    def export(out: LiteEmission, op: Any) -> None:
        form = out.form(op.operands[0])
        result, kind = out.declare(op.results[0], form.order), _OPTIONS.get(row.op_type, "")
        out.operator(row.op_type, [form.tensor], [result], 1, kind, **attributes_of(op, row.attributes))

    return export


def _together(out: LiteEmission, operands: Sequence[SSAValue], result: SSAValue) -> tuple[list[int], Order]:
    """Returns tensors of operands that broadcast, in the order of the first image that is no constant."""
    rank = len(shape_of(result))
    computed = [value for value in operands if out.known(value) is None and len(shape_of(value)) == rank]
    order = out.form(computed[0]).order if computed else tuple(range(rank))
    return [_broadcast(out, value, order) for value in operands], order


def _broadcast(out: LiteEmission, value: SSAValue, order: Order) -> int:
    """Returns a tensor of `value` that broadcasts to tensors whose axes are in `order`."""
    shape = shape_of(value)
    if len(shape) == len(order):
        return out.ordered(value, order)
    if order == tuple(range(len(order))) or not shape:
        return out.ordered(value)
    array = out.known(value)
    if array is None:
        raise NoFormError(f"an operand of shape {list(shape)} is broadcast to images")
    element = element_of(value)
    if isinstance(element, UniformQuantizedType) and element.axes:
        raise NoFormError(f"an operand of elementwise operators has one scale, unlike '{element}'")
    full = array.reshape((*(1,) * (len(order) - len(shape)), *shape)).transpose(order)
    return out.constant(full, name_of(value) or "constant", element)


def _binary(name: str, kind: str = "", version: int = 2) -> Export:
    def export(out: LiteEmission, op: Any) -> None:
        inputs, order = _together(out, op.operands, op.results[0])
        out.operator(name, inputs, [out.declare(op.results[0], order)], version, kind)

    return export


def _clip(out: LiteEmission, op: elementwise.ClipOp) -> None:
    low, high = (None if each is None else float(each.value.data) for each in (op.minimum, op.maximum))
    form, bounds = out.form(op.input), (low, high)
    is_same = element_of(op.input) == element_of(op.result)
    if bounds == (None, None):
        if is_same:
            out.alias(op.result, form)
            return
        out.operator("QUANTIZE", [form.tensor], [out.declare(op.result, form.order)], 2)
        return
    operators: dict[tuple[float | None, float | None], str] = {
        (0.0, None): "RELU", BOUNDS[3]: "RELU6", BOUNDS[2]: "RELU_N1_TO_1",
    }  # fmt: skip
    named = operators.get(bounds)
    if named:
        out.operator(named, [form.tensor], [out.declare(op.result, form.order)], 2)
        return
    if not is_same:
        raise NoFormError(f"a clip to [{low}, {high}] doesn't rescale")
    source = out.graph.tensors[form.tensor]
    tensor = form.tensor
    steps = [(name, bound) for name, bound in (("MAXIMUM", low), ("MINIMUM", high)) if bound is not None]
    for position, (operator, bound) in enumerate(steps):
        array: Array = np.asarray(bound, np.float32)
        element = element_of(op.result)
        if isinstance(element, UniformQuantizedType):
            stored = stored_bound(op, bound, shape_of(op.result)).reshape(-1)[0]
            array = np.asarray(stored).astype(np.int64) - (0 if element.is_signed else 128)
        limit = Tensor("bound", (), source.dtype, source.parameters, np.asarray(array, source.dtype))
        is_last = position == len(steps) - 1
        made = Tensor(f"{source.name}_limited", source.shape, source.dtype, source.parameters)
        result = out.declare(op.result, form.order) if is_last else out.graph.add(made)
        out.operator(operator, [tensor, out.graph.add(limit)], [result], 2)
        tensor = result


def _softmax(out: LiteEmission, op: normalization.SoftmaxOp) -> None:
    if op.mask is not None:
        raise NoFormError("it has a mask")
    rank, form = len(shape_of(op.input)), out.form(op.input)
    axis = op.axis.value.data % rank
    if form.order[-1] != axis:
        if axis != rank - 1:
            raise NoFormError(f"it sums along axis {axis}, not the last one")
        form = TensorForm(out.ordered(op.input), tuple(range(rank)))
    out.operator("SOFTMAX", [form.tensor], [out.declare(op.result, form.order)], 2, "SoftmaxOptions", beta=1.0)


def _reduction(name: str) -> Export:
    def export(out: LiteEmission, op: Any) -> None:
        if name == "SUM" and _is_quantized(op.results[0]):
            raise NoFormError("LiteRT's reference kernel of quantized sums rounds differently from its description")
        rank, form = len(shape_of(op.input)), out.form(op.input)
        gone = op.reduced_axes(rank)
        _reduced(out, name, op, form, gone, bool(op.keeps_axes))

    return export


def _reduced(out: LiteEmission, name: str, op: Any, form: TensorForm, gone: Sequence[int], keeps: bool) -> None:
    axes = out.integers([form.order.index(axis) for axis in gone], "axes")
    order = form.order
    if not keeps:
        kept = [axis for axis in order if axis not in gone]
        order = tuple(sorted(kept).index(axis) for axis in kept)
    result = out.declare(op.results[0], order)
    out.operator(name, [form.tensor, axes], [result], 2, "ReducerOptions", keep_dims=keeps)


def _global_average_pool(out: LiteEmission, op: pooling.GlobalAveragePoolOp) -> None:
    rank = len(shape_of(op.data))
    _reduced(out, "MEAN", op, out.form(op.data), range(2, rank), True)


# --- Movement ---------------------------------------------------------------------------------------------------------


def _reshape(out: LiteEmission, op: Operation) -> None:
    value, result = op.operands[0], op.results[0]
    form, before, after = out.form(value), shape_of(value), shape_of(result)
    if len(before) == len(after) == 4:
        # A channels-first image of one channel, or of one row, is a reshape of the channels-last one.
        stored = out.graph.tensors[form.tensor].shape
        permuted = tuple(after[axis] for axis in CHANNELS_LAST)
        if form.is_plain and permuted == stored and keeps_elements(after, CHANNELS_LAST):
            out.alias(result, TensorForm(form.tensor, CHANNELS_LAST))
            return
        if form.order == CHANNELS_LAST and after == stored and keeps_elements(before, CHANNELS_LAST):
            out.alias(result, TensorForm(form.tensor, (0, 1, 2, 3)))
            return
    shape = out.integers(after, "shape")
    out.operator("RESHAPE", [out.ordered(value), shape], [out.declare(result)])


def _transpose(out: LiteEmission, op: movement.TransposeOp) -> None:
    form, permutation = out.form(op.input), list(op.order)
    out.alias(op.result, TensorForm(form.tensor, tuple(permutation.index(axis) for axis in form.order)))


def _concat(out: LiteEmission, op: movement.ConcatOp) -> None:
    rank = len(shape_of(op.result))
    orders = [out.form(value).order for value in op.inputs if out.known(value) is None]
    order = orders[0] if orders else tuple(range(rank))
    inputs = [out.ordered(value, order) for value in op.inputs]
    axis = order.index(op.axis.value.data % rank)
    out.operator("CONCATENATION", inputs, [out.declare(op.result, order)], 2, "ConcatenationOptions", axis=axis)


def _pad(out: LiteEmission, op: shapes.PadOp) -> None:
    form, rank, pads = out.form(op.input), len(shape_of(op.input)), op.integers("pads")
    mode = op.mode.data
    if pads is None or mode not in ("constant", "reflect") or min(pads) < 0:
        raise NoFormError(f"padding in mode '{mode}' by {pads}")
    axes = op.integers("axes") or range(rank)
    numbers = np.zeros((rank, 2), np.int32)
    for place, axis in enumerate(axes):
        numbers[form.order.index(axis % rank)] = pads[place], pads[place + len(pads) // 2]
    inputs = [form.tensor, out.constant(numbers, "padding")]
    if mode == "reflect":
        out.operator("MIRROR_PAD", inputs, [out.declare(op.result, form.order)], 2, "MirrorPadOptions", mode=0)
        return
    value = op.operands[1] if len(op.operands) > 1 else None
    result = out.declare(op.result, form.order)
    if value is None:
        out.operator("PAD", inputs, [result], 2, "PadOptions")
    else:
        out.operator("PADV2", [*inputs, out.ordered(value)], [result], 2, "PadV2Options")


def _slice(out: LiteEmission, op: movement.SliceOp) -> None:
    form, shape = out.form(op.input), shape_of(op.input)
    if len(op.operands) > 1:
        raise NoFormError("its bounds are computed")
    begins, ends, steps = [0] * len(shape), list(shape), [1] * len(shape)
    for start, end, axis, step in zip(*op.bounds(), strict=True):
        if step < 0:
            raise NoFormError("it reverses an axis")
        place = axis % len(shape)
        begins[place], ends[place], steps[place] = slice(start, end, step).indices(shape[place])
    ordered = ([numbers[axis] for axis in form.order] for numbers in (begins, ends, steps))
    inputs = [form.tensor, *(out.integers(numbers, "positions") for numbers in ordered)]
    out.operator("STRIDED_SLICE", inputs, [out.declare(op.result, form.order)], 2, "StridedSliceOptions")


def _split(out: LiteEmission, op: movement.SplitOp) -> None:
    rank, form = len(shape_of(op.input)), out.form(op.input)
    axis = op.axis.value.data % rank
    sizes = out.integers([shape_of(part)[axis] for part in op.results], "sizes")
    place = out.constant(np.asarray(form.order.index(axis), np.int32), "axis")
    parts = [out.declare(part, form.order) for part in op.results]
    out.operator("SPLIT_V", [form.tensor, sizes, place], parts, 2, "SplitVOptions", num_splits=len(parts))


# --- Types ------------------------------------------------------------------------------------------------------------


def _quantize(out: LiteEmission, op: QuantizeCastOp) -> None:
    form = out.form(op.operands[0])
    out.operator("QUANTIZE", [form.tensor], [out.declare(op.results[0], form.order)], 1)


def _dequantize(out: LiteEmission, op: DequantizeCastOp) -> None:
    form = out.form(op.operands[0])
    if element_of(op.results[0]) != f32:
        raise NoFormError(f"it makes '{op.results[0].type}', not f32")
    out.operator("DEQUANTIZE", [form.tensor], [out.declare(op.results[0], form.order)], 2)


def _storage(out: LiteEmission, op: StorageCastOp) -> None:
    out.with_type(op.operands[0], op.results[0])


def _cast(out: LiteEmission, op: elementwise.CastOp) -> None:
    form = out.form(op.input)
    out.operator("CAST", [form.tensor], [out.declare(op.result, form.order)], 1)


def _nothing(out: LiteEmission, op: Operation) -> None:
    """A constant gets its tensor where it is used."""


EXPORTS: Mapping[type[Operation], Export] = {
    **{
        row.operation: _unary(row) if count == 1 else _binary(row.op_type, version=1)
        for row in ROWS
        if (count := len(row.operation.get_irdl_definition().operands)) < 3
    },
    ConstantOp: _nothing,
    contraction.ConvOp: _conv,
    contraction.ConvTransposeOp: _conv_transpose,
    contraction.FullyConnectedOp: _fully_connected,
    contraction.MatMulOp: _matmul,
    pooling.AveragePoolOp: _pool("AVERAGE_POOL_2D"),
    pooling.MaxPoolOp: _pool("MAX_POOL_2D"),
    pooling.GlobalAveragePoolOp: _global_average_pool,
    resizing.ResizeOp: _resize,
    movement.SpaceToDepthOp: _blocks("SPACE_TO_DEPTH", "SpaceToDepthOptions"),
    movement.DepthToSpaceOp: _blocks("DEPTH_TO_SPACE", "DepthToSpaceOptions"),
    elementwise.AddOp: _binary("ADD", "AddOptions"),
    elementwise.SubOp: _binary("SUB", "SubOptions"),
    elementwise.MulOp: _binary("MUL", "MulOptions"),
    elementwise.DivOp: _binary("DIV", "DivOptions"),
    elementwise.MaxOp: _binary("MAXIMUM"),
    elementwise.MinOp: _binary("MINIMUM"),
    activations.PReluOp: _binary("PRELU", version=1),
    activations.EluOp: _elu,
    elementwise.ModOp: _mod,
    elementwise.ClipOp: _clip,
    elementwise.CastOp: _cast,
    normalization.SoftmaxOp: _softmax,
    reduction.ReduceMeanOp: _reduction("MEAN"),
    reduction.ReduceSumOp: _reduction("SUM"),
    reduction.ReduceMaxOp: _reduction("REDUCE_MAX"),
    reduction.ReduceMinOp: _reduction("REDUCE_MIN"),
    movement.ReshapeOp: _reshape,
    movement.SqueezeOp: _reshape,
    movement.UnsqueezeOp: _reshape,
    movement.TransposeOp: _transpose,
    movement.ConcatOp: _concat,
    movement.SliceOp: _slice,
    movement.SplitOp: _split,
    shapes.PadOp: _pad,
    QuantizeCastOp: _quantize,
    DequantizeCastOp: _dequantize,
    StorageCastOp: _storage,
}
"""The export of each operation that has a form in LiteRT."""
