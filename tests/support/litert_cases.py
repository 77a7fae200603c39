"""Random LiteRT models of one operator: shapes, scales, zero points, strides, paddings and activations at random."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.support.litert_models import LiteCall, LiteValue, lite_model

Random = np.random.Generator


@dataclass
class LiteCase:
    """A model, and an array for each input."""

    model: bytes
    inputs: list[npt.NDArray[Any]]


def _scale(random: Random) -> float:
    """A scale; a power of two in one of four cases, so that ties occur."""
    if random.integers(4) == 0:
        return float(2.0 ** random.integers(-8, -2))
    return float(np.float32(np.exp(random.uniform(np.log(0.002), np.log(0.3)))))


def _value(random: Random, shape: Sequence[int], dtype: str = "int8") -> LiteValue:
    zero_point = 0 if dtype == "int16" else int(random.integers(-128, 128)) + 128 * (dtype == "uint8")
    return LiteValue(shape, dtype, _scale(random), zero_point)


def _elements(random: Random, value: LiteValue) -> npt.NDArray[Any]:
    if value.dtype == "float32":
        return random.normal(0, 3, value.shape).astype(np.float32)
    if value.dtype == "bool":
        return random.integers(0, 2, value.shape).astype(np.bool_)
    info = np.iinfo(value.dtype)
    return random.integers(max(info.min, -1 << 15), min(info.max, (1 << 15) - 1) + 1, value.shape).astype(value.dtype)


def _constant(array: npt.ArrayLike, dtype: str = "int32") -> LiteValue:
    data = np.asarray(array, dtype)
    return LiteValue(data.shape, dtype, data=data)


def _case(
    random: Random, inputs: Sequence[LiteValue], constants: Sequence[LiteValue | None], outputs: Sequence[LiteValue],
    operator: str, options: str = "", values: Mapping[str, Any] | None = None, version: int = 1,
    order: Sequence[int] | None = None,
) -> LiteCase:  # fmt: skip
    """Returns a case of one operator; its operands are `inputs` then `constants`, or in the order `order`."""
    held = [each for each in constants if each is not None]
    tensors = [*inputs, *held, *outputs]
    operands, position = list(range(len(inputs))), len(inputs)
    for each in constants:
        operands.append(-1 if each is None else position)
        position += each is not None
    if order is not None:
        operands = [operands[index] for index in order]
    results = list(range(len(tensors) - len(outputs), len(tensors)))
    call = LiteCall(operator, operands, results, options, values or {}, version)
    model = lite_model(tensors, [call], range(len(inputs)), results)
    return LiteCase(model, [_elements(random, value) for value in inputs])


def _image(random: Random, channels: int = 8) -> list[int]:
    return [int(random.integers(1, 3)), *map(int, random.integers(3, 10, 2)), int(random.integers(1, channels + 1))]


def _activation(random: Random) -> int:
    return int(random.integers(4))


def _windowed(size: int, kernel: int, stride: int, dilation: int, is_same: bool) -> int:
    return -(-size // stride) if is_same else (size - (kernel - 1) * dilation - 1) // stride + 1


_WEIGHTS: dict[str, Any] = {"dtype": "int8", "low": -127, "high": 128}
"""The type and the range of weights."""


def _weights(random: Random, shape: Sequence[int], axis: int, scale_of: float, dtype: str = "int8") -> LiteValue:
    count = shape[axis] if random.integers(4) else 1
    scales = [_scale(random) * 0.05 for _ in range(count)]
    data = random.integers(_WEIGHTS["low"], _WEIGHTS["high"], shape).astype(np.int8)
    return LiteValue(shape, _WEIGHTS["dtype"], scales, 0, data, axis)


def _bias(random: Random, channels: int, x: LiteValue, w: LiteValue) -> LiteValue:
    wide = x.dtype == "int16"
    scales = np.float32(x.scale or 1.0) * np.atleast_1d(np.asarray(w.scale, np.float32))
    data = random.integers(-20000, 20000, channels)
    return LiteValue((channels,), "int64" if wide else "int32", scales, 0, data)


def _convolution(random: Random, dtype: str, depthwise: bool) -> LiteCase:
    n, h, w, c = _image(random)
    kernel = [int(random.integers(1, min(4, h) + 1)), int(random.integers(1, min(4, w) + 1))]
    dilation = [int(random.integers(1, 3)) if (k - 1) * 2 < size else 1 for k, size in zip(kernel, (h, w), strict=True)]
    stride = [int(each) for each in random.integers(1, 4, 2)] if dilation == [1, 1] else [1, 1]
    if depthwise:
        stride = [stride[0]] * 2
    is_same = bool(random.integers(2))
    out = [_windowed(*each, is_same) for each in zip((h, w), kernel, stride, dilation, strict=True)]
    channels = c * int(random.integers(1, 3)) if depthwise else int(random.integers(1, 10))
    x = _value(random, (n, h, w, c), dtype)
    shape = (1, *kernel, channels) if depthwise else (channels, *kernel, c)
    weight = _weights(random, shape, 3 if depthwise else 0, x.scale)
    values: dict[str, Any] = {
        "padding": 0 if is_same else 1, "stride_h": stride[0], "stride_w": stride[1],
        "dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1],
        "fused_activation_function": _activation(random),
    }  # fmt: skip
    if depthwise:
        values["depth_multiplier"] = channels // c
    y = _value(random, (n, *out, channels), dtype)
    y.scale = float(np.float32(x.scale * np.max(np.atleast_1d(weight.scale)) * np.sqrt(np.prod(kernel) * c) * 40))
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    options = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    return _case(random, [x], [weight, _bias(random, channels, x, weight)], [y], name, options, values, 5)


def _transpose_conv(random: Random) -> LiteCase:
    n, h, w, c = _image(random)
    kernel, stride = [int(each) for each in random.integers(1, 5, 2)], [int(each) for each in random.integers(1, 4, 2)]
    stride = [min(s, k) for s, k in zip(stride, kernel, strict=True)]
    is_same = bool(random.integers(2))
    out = [s * size if is_same else (size - 1) * s + k for size, s, k in zip((h, w), stride, kernel, strict=True)]
    channels = int(random.integers(1, 9))
    x = _value(random, (n, h, w, c))
    weight = _weights(random, (channels, *kernel, c), 0, x.scale)
    y = _value(random, (n, *out, channels))
    y.scale = float(np.float32(x.scale * np.max(np.atleast_1d(weight.scale)) * np.sqrt(np.prod(kernel) * c) * 40))
    values = {"padding": 0 if is_same else 1, "stride_h": stride[0], "stride_w": stride[1]}
    constants = [_constant([n, *out, channels]), weight, _bias(random, channels, x, weight)]
    return _case(random, [x], constants, [y], "TRANSPOSE_CONV", "TransposeConvOptions", values, 3, (1, 2, 0, 3))


def _fully_connected(random: Random, dtype: str) -> LiteCase:
    rows, terms, outputs = (int(each) for each in random.integers(1, (5, 40, 12)))
    keeps = bool(random.integers(2))
    x = _value(random, (rows, 2, terms) if keeps else (rows, terms), dtype)
    weight = _weights(random, (outputs, terms), 0, x.scale)
    y = _value(random, (*x.shape[:-1], outputs), dtype)
    y.scale = float(np.float32(x.scale * np.max(np.atleast_1d(weight.scale)) * np.sqrt(terms) * 40))
    bias = _bias(random, outputs, x, weight) if random.integers(4) else None
    values = {"keep_num_dims": keeps, "fused_activation_function": _activation(random)}
    version = 7 if dtype == "int16" else 4
    return _case(random, [x], [weight, bias], [y], "FULLY_CONNECTED", "FullyConnectedOptions", values, version)


def _of_4_bits(make: Callable[[Random], LiteCase]) -> Callable[[Random], LiteCase]:
    """Returns the maker of cases whose weights have 4 bits."""

    def narrow(random: Random) -> LiteCase:
        _WEIGHTS.update(dtype="int4", low=-7, high=8)
        try:
            return make(random)
        finally:
            _WEIGHTS.update(dtype="int8", low=-127, high=128)

    return narrow


def _batch_matmul(random: Random) -> LiteCase:
    batch, rows, terms, columns = (int(each) for each in random.integers(1, (3, 6, 20, 8)))
    left_shape = (batch, terms, rows) if (adj_x := bool(random.integers(2))) else (batch, rows, terms)
    right_shape = (batch, columns, terms) if (adj_y := bool(random.integers(2))) else (batch, terms, columns)
    left, right = _value(random, left_shape), _value(random, right_shape)
    y = _value(random, (batch, rows, columns))
    y.scale = float(np.float32(left.scale * right.scale * np.sqrt(terms) * 100))
    values = {"adj_x": adj_x, "adj_y": adj_y}
    return _case(random, [left, right], [], [y], "BATCH_MATMUL", "BatchMatMulOptions", values, 4)


def _binary(name: str, options: str, dtype: str = "int8", *, activation: bool = True) -> Callable[[Random], LiteCase]:
    def make(random: Random) -> LiteCase:
        shape = _image(random) if random.integers(3) else [int(each) for each in random.integers(1, 8, 2)]
        other = [size if random.integers(3) else 1 for size in shape][int(random.integers(2)) :]
        shapes = [shape, other] if random.integers(2) else [other, shape]
        full = np.broadcast_shapes(*map(tuple, shapes))
        values = {"fused_activation_function": _activation(random)} if activation else {}
        if dtype == "int16" and name != "MUL":
            values["pot_scale_int16"] = False
        inputs, output = [_value(random, each, dtype) for each in shapes], _value(random, full, dtype)
        if name == "MUL":
            output.scale = float(np.float32(inputs[0].scale * inputs[1].scale * 60))
        if name in ("MAXIMUM", "MINIMUM"):
            for each in (inputs[1], output):
                each.scale, each.zero_point = inputs[0].scale, inputs[0].zero_point
        return _case(random, inputs, [], [output], name, options, values, 5 if dtype == "int16" and activation else 2)

    return make


def _unary(name: str, options: str = "", dtype: str = "int8", **fixed: Any) -> Callable[[Random], LiteCase]:
    def make(random: Random) -> LiteCase:
        shape = _image(random) if random.integers(2) else [int(each) for each in random.integers(1, 9, 2)]
        x, y = _value(random, shape, dtype), _value(random, shape, dtype)
        values = {key: each(random) if callable(each) else each for key, each in fixed.items()}
        if name in ("LOGISTIC", "SOFTMAX", "TANH"):
            one = 128 if dtype == "int8" else 1 << 15
            y.scale = 1 / one if name == "TANH" or dtype == "int16" else 1 / 256
            y.zero_point = -128 if dtype == "int8" and name != "TANH" else 0
        if name == "HARD_SWISH":
            y.scale = float(np.float32(max(y.scale, x.scale / 64)))
        version = 3 if dtype == "int16" else 1 if name in ("RELU_N1_TO_1", "ELU", "HARD_SWISH") else 2
        return _case(random, [x], [], [y], name, options, values, version)

    return make


def _prelu(random: Random) -> LiteCase:
    shape = _image(random)
    x, y = _value(random, shape), _value(random, shape)
    slope = _value(random, (1, 1, shape[3]))
    slope.data = random.integers(-128, 128, slope.shape)
    return _case(random, [x], [slope], [y], "PRELU")


def _pool(name: str, dtype: str = "int8") -> Callable[[Random], LiteCase]:
    def make(random: Random) -> LiteCase:
        n, h, w, c = _image(random)
        kernel = [int(random.integers(1, min(4, size) + 1)) for size in (h, w)]
        stride, is_same = [int(each) for each in random.integers(1, 4, 2)], bool(random.integers(2))
        out = [_windowed(*each, 1, is_same) for each in zip((h, w), kernel, stride, strict=True)]
        x = _value(random, (n, h, w, c), dtype)
        y = LiteValue((n, *out, c), dtype, x.scale, x.zero_point)
        values = {
            "padding": 0 if is_same else 1, "stride_h": stride[0], "stride_w": stride[1], "filter_height": kernel[0],
            "filter_width": kernel[1], "fused_activation_function": _activation(random),
        }  # fmt: skip
        return _case(random, [x], [], [y], name, "Pool2DOptions", values, 2 if dtype == "int8" else 3)

    return make


def _reduction(name: str) -> Callable[[Random], LiteCase]:
    def make(random: Random) -> LiteCase:
        shape = _image(random)
        axes = sorted(random.choice(4, int(random.integers(1, 4)), replace=False).tolist())
        keeps = bool(random.integers(2))
        result = [1 if axis in axes else size for axis, size in enumerate(shape) if keeps or axis not in axes]
        x, y = _value(random, shape), _value(random, result)
        if name.startswith("REDUCE"):
            y.scale, y.zero_point = x.scale, x.zero_point
        return _case(random, [x], [_constant(axes)], [y], name, "ReducerOptions", {"keep_dims": keeps}, 2)

    return make


def _resize(name: str, options: str) -> Callable[[Random], LiteCase]:
    def make(random: Random) -> LiteCase:
        n, h, w, c = _image(random)
        sizes = [int(each) for each in random.integers(1, 14, 2)]
        kind = int(random.integers(3))
        x = _value(random, (n, h, w, c))
        y = LiteValue((n, *sizes, c), "int8", x.scale, x.zero_point)
        values = {"align_corners": kind == 1, "half_pixel_centers": kind == 2}
        return _case(random, [x], [_constant(sizes)], [y], name, options, values, 3)

    return make


def _requantize(random: Random) -> LiteCase:
    kinds = [
        ("int8", "int8"), ("float32", "int8"), ("int16", "int8"), ("int8", "int16"), ("float32", "int16"),
        ("uint8", "int8"), ("int8", "uint8"), ("float32", "uint8"),
    ]  # fmt: skip
    source, target = kinds[int(random.integers(len(kinds)))]
    shape = _image(random)
    y = _value(random, shape, target)
    x = LiteValue(shape, "float32") if source == "float32" else _value(random, shape, source)
    return _case(random, [x], [], [y], "QUANTIZE", "QuantizeOptions", {}, 2)


def _dequantize(random: Random) -> LiteCase:
    x = _value(random, _image(random))
    return _case(random, [x], [], [LiteValue(x.shape, "float32")], "DEQUANTIZE", "DequantizeOptions", {}, 2)


def _cast(random: Random) -> LiteCase:
    """Integers without the scale."""
    x, target = _value(random, _image(random)), str(random.choice(["int32", "float32", "int64"]))
    types = {"int32": 2, "float32": 0, "int64": 4}
    values = {"in_data_type": 9, "out_data_type": types[target]}
    return _case(random, [x], [], [LiteValue(x.shape, target)], "CAST", "CastOptions", values)


def _same(value: LiteValue, shape: Sequence[int]) -> LiteValue:
    return LiteValue(shape, value.dtype, value.scale, value.zero_point)


def _pad(random: Random) -> LiteCase:
    x = _value(random, _image(random))
    pads = random.integers(0, 3, (4, 2))
    y = _same(x, [size + int(pad.sum()) for size, pad in zip(x.shape, pads, strict=True)])
    return _case(random, [x], [_constant(pads)], [y], "PAD", "PadOptions", {}, 2)


def _transpose(random: Random) -> LiteCase:
    x = _value(random, _image(random))
    order = random.permutation(4)
    y = _same(x, [x.shape[axis] for axis in order])
    return _case(random, [x], [_constant(order)], [y], "TRANSPOSE", "TransposeOptions", {}, 2)


def _concatenation(random: Random) -> LiteCase:
    shape, axis = _image(random), int(random.integers(-4, 4))
    x = _value(random, shape)
    shapes = [[*shape] for _ in range(int(random.integers(1, 4)))]
    for each in shapes:
        each[axis] = int(random.integers(1, 5))
    result = [*shape]
    result[axis] = sum(each[axis] for each in shapes)
    inputs = [_same(x, each) for each in shapes]
    return _case(random, inputs, [], [_same(x, result)], "CONCATENATION", "ConcatenationOptions", {"axis": axis}, 2)


def _slice(random: Random) -> LiteCase:
    x = _value(random, _image(random))
    begins = [int(random.integers(size)) for size in x.shape]
    sizes = [int(random.integers(1, size - begin + 1)) for size, begin in zip(x.shape, begins, strict=True)]
    y = _same(x, sizes)
    return _case(random, [x], [_constant(begins), _constant(sizes)], [y], "SLICE", "SliceOptions", {}, 2)


def _strided_slice(random: Random) -> LiteCase:
    x = _value(random, _image(random))
    begins = [int(random.integers(size)) for size in x.shape]
    ends = [int(random.integers(begin + 1, size + 1)) for begin, size in zip(begins, x.shape, strict=True)]
    steps = [int(random.integers(1, 3)) for _ in x.shape]
    begin_mask, end_mask, shrink = (int(random.integers(16)) for _ in range(3))
    result = list[int]()
    for axis, size in enumerate(x.shape):
        if shrink >> axis & 1:
            steps[axis], ends[axis] = 1, begins[axis] + 1
            continue
        begin = 0 if begin_mask >> axis & 1 else begins[axis]
        end = size if end_mask >> axis & 1 else ends[axis]
        result.append(-(-(end - begin) // steps[axis]))
    begin_mask &= ~shrink
    constants = [_constant(each) for each in (begins, ends, steps)]
    values = {"begin_mask": begin_mask, "end_mask": end_mask, "shrink_axis_mask": shrink}
    return _case(random, [x], constants, [_same(x, result)], "STRIDED_SLICE", "StridedSliceOptions", values, 2)


def _split(random: Random) -> LiteCase:
    shape, axis, count = _image(random), int(random.integers(4)), int(random.integers(1, 4))
    x = _value(random, shape)
    part = [*shape]
    x.shape = [size * count if place == axis else size for place, size in enumerate(shape)]
    outputs = [_same(x, part) for _ in range(count)]
    return _case(random, [x], [_constant(axis)], outputs, "SPLIT", "SplitOptions", {"num_splits": count}, 2, (1, 0))


def _gather(random: Random) -> LiteCase:
    x, axis = _value(random, _image(random)), int(random.integers(4))
    indices = random.integers(0, x.shape[axis], int(random.integers(1, 5)))
    y = _same(x, [*x.shape[:axis], len(indices), *x.shape[axis + 1 :]])
    return _case(random, [x], [_constant(indices)], [y], "GATHER", "GatherOptions", {"axis": axis}, 2)


def _pack(random: Random) -> LiteCase:
    x, axis, count = _value(random, _image(random)[:3]), int(random.integers(4)), int(random.integers(1, 4))
    y = _same(x, [*x.shape[:axis], count, *x.shape[axis:]])
    values = {"values_count": count, "axis": axis}
    return _case(random, [_same(x, x.shape) for _ in range(count)], [], [y], "PACK", "PackOptions", values, 2)


def _unpack(random: Random) -> LiteCase:
    x, axis = _value(random, _image(random)), int(random.integers(4))
    outputs = [_same(x, [*x.shape[:axis], *x.shape[axis + 1 :]]) for _ in range(x.shape[axis])]
    values = {"num": x.shape[axis], "axis": axis}
    return _case(random, [x], [], outputs, "UNPACK", "UnpackOptions", values, 2)


def _reshape(random: Random) -> LiteCase:
    x = _value(random, _image(random))
    wanted = [x.shape[0] * x.shape[1], -1, x.shape[3]] if random.integers(2) else [-1]
    y = _same(x, [x.shape[0] * x.shape[1], x.shape[2], x.shape[3]] if len(wanted) == 3 else [int(np.prod(x.shape))])
    return _case(random, [x], [_constant(wanted)], [y], "RESHAPE", "ReshapeOptions", {})


def _squeeze(random: Random) -> LiteCase:
    x = _value(random, [1, *map(int, random.integers(2, 5, 2)), 1])
    axes = [[], [0], [3], [0, -1]][int(random.integers(4))]
    gone = {axis % 4 for axis in axes} or {0, 3}
    y = _same(x, [size for axis, size in enumerate(x.shape) if axis not in gone])
    return _case(random, [x], [], [y], "SQUEEZE", "SqueezeOptions", {"squeeze_dims": axes})


def _expand_dims(random: Random) -> LiteCase:
    x, axis = _value(random, _image(random)[:3]), int(random.integers(-4, 4))
    place = axis % 4
    y = _same(x, [*x.shape[:place], 1, *x.shape[place:]])
    return _case(random, [x], [_constant(axis)], [y], "EXPAND_DIMS", "ExpandDimsOptions", {})


def _blocks(name: str, options: str) -> Callable[[Random], LiteCase]:
    def make(random: Random) -> LiteCase:
        n, h, w, c = _image(random, 3)
        deep, wide = [n, h, w, c * 4], [n, h * 2, w * 2, c]
        shapes = (wide, deep) if name == "SPACE_TO_DEPTH" else (deep, wide)
        x = _value(random, shapes[0])
        return _case(random, [x], [], [_same(x, shapes[1])], name, options, {"block_size": 2})

    return make


def _batches(name: str, options: str) -> Callable[[Random], LiteCase]:
    def make(random: Random) -> LiteCase:
        n, h, w, c = _image(random, 3)
        blocks, cuts = random.integers(1, 3, 2), random.integers(0, 2, (2, 2))
        whole = int(np.prod(blocks))
        if name == "SPACE_TO_BATCH_ND":
            sizes = [int(size * block - cut.sum()) for size, block, cut in zip((h, w), blocks, cuts, strict=True)]
            x = _value(random, [n, *sizes, c])
            y = _same(x, [n * whole, h, w, c])
        else:
            x = _value(random, [n * whole, h, w, c])
            sizes = [int(size * block - cut.sum()) for size, block, cut in zip((h, w), blocks, cuts, strict=True)]
            y = _same(x, [n, *sizes, c])
        return _case(random, [x], [_constant(blocks), _constant(cuts)], [y], name, options, {}, 2)

    return make


def _tile(random: Random) -> LiteCase:
    x = _value(random, _image(random, 3))
    repeats = random.integers(1, 3, 4)
    y = _same(x, [int(size * count) for size, count in zip(x.shape, repeats, strict=True)])
    return _case(random, [x], [_constant(repeats)], [y], "TILE", "TileOptions", {}, 2)


def _arg(name: str, options: str) -> Callable[[Random], LiteCase]:
    def make(random: Random) -> LiteCase:
        x, axis = _value(random, _image(random)), int(random.integers(4))
        y = LiteValue([size for place, size in enumerate(x.shape) if place != axis], "int32")
        return _case(random, [x], [_constant(axis)], [y], name, options, {"output_type": 2}, 2)

    return make


def _dynamic(random: Random, name: str) -> LiteCase:
    """A contraction of floats and of integer weights with one scale per channel."""
    if name == "FULLY_CONNECTED":
        rows, terms, outputs = (int(each) for each in random.integers(1, (5, 40, 12)))
        x = LiteValue((rows, terms), "float32")
        weight = _weights(random, (outputs, terms), 0, 1.0)
        y, values = LiteValue((rows, outputs), "float32"), {"asymmetric_quantize_inputs": bool(random.integers(2))}
        options, shape = "FullyConnectedOptions", (outputs,)
    else:
        n, h, w, c = _image(random)
        kernel = [int(random.integers(1, min(4, size) + 1)) for size in (h, w)]
        depthwise, is_same = name == "DEPTHWISE_CONV_2D", bool(random.integers(2))
        c, channels = c + 1, c + 1 if depthwise else int(random.integers(2, 9))
        weight = _weights(random, (1, *kernel, c) if depthwise else (channels, *kernel, c), 3 if depthwise else 0, 1.0)
        if len(weight.scale) == 1:
            weight.scale = [_scale(random) for _ in range(channels)]
        out = [_windowed(size, k, 1, 1, is_same) for size, k in zip((h, w), kernel, strict=True)]
        x, y = LiteValue((n, h, w, c), "float32"), LiteValue((n, *out, channels), "float32")
        values = {"padding": 0 if is_same else 1, "stride_h": 1, "stride_w": 1}
        if depthwise:
            values["depth_multiplier"] = 1
        options, shape = ("DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"), (channels,)
    bias = LiteValue(shape, "float32", data=random.normal(0, 1, shape))
    values["fused_activation_function"] = _activation(random)
    return _case(random, [x], [weight, bias], [y], name, options, values, 9 if name == "FULLY_CONNECTED" else 6)


CASES: Mapping[str, Callable[[Random], LiteCase]] = {
    "CONV_2D": lambda random: _convolution(random, "int8", False),
    "CONV_2D i16": lambda random: _convolution(random, "int16", False),
    "DEPTHWISE_CONV_2D": lambda random: _convolution(random, "int8", True),
    "DEPTHWISE_CONV_2D i16": lambda random: _convolution(random, "int16", True),
    "CONV_2D i4": _of_4_bits(lambda random: _convolution(random, "int8", False)),
    "DEPTHWISE_CONV_2D i4": _of_4_bits(lambda random: _convolution(random, "int8", True)),
    "FULLY_CONNECTED i4": _of_4_bits(lambda random: _fully_connected(random, "int8")),
    "TRANSPOSE_CONV": _transpose_conv,
    "FULLY_CONNECTED": lambda random: _fully_connected(random, "int8"),
    "FULLY_CONNECTED i16": lambda random: _fully_connected(random, "int16"),
    "FULLY_CONNECTED dynamic": lambda random: _dynamic(random, "FULLY_CONNECTED"),
    "CONV_2D dynamic": lambda random: _dynamic(random, "CONV_2D"),
    "DEPTHWISE_CONV_2D dynamic": lambda random: _dynamic(random, "DEPTHWISE_CONV_2D"),
    "BATCH_MATMUL": _batch_matmul,
    "ADD": _binary("ADD", "AddOptions"),
    "SUB": _binary("SUB", "SubOptions"),
    "MUL": _binary("MUL", "MulOptions"),
    "ADD i16": _binary("ADD", "AddOptions", "int16"),
    "SUB i16": _binary("SUB", "SubOptions", "int16"),
    "MUL i16": _binary("MUL", "MulOptions", "int16"),
    "MAXIMUM": _binary("MAXIMUM", "MaximumMinimumOptions", activation=False),
    "MINIMUM": _binary("MINIMUM", "MaximumMinimumOptions", activation=False),
    "SQUARED_DIFFERENCE": _binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", activation=False),
    "RELU": _unary("RELU"),
    "RELU6": _unary("RELU6"),
    "RELU_N1_TO_1": _unary("RELU_N1_TO_1"),
    "LOGISTIC": _unary("LOGISTIC"),
    "LOGISTIC i16": _unary("LOGISTIC", dtype="int16"),
    "TANH": _unary("TANH"),
    "TANH i16": _unary("TANH", dtype="int16"),
    "ELU": _unary("ELU"),
    "GELU": _unary("GELU", "GeluOptions", approximate=False),
    "HARD_SWISH": _unary("HARD_SWISH", "HardSwishOptions"),
    "LEAKY_RELU": _unary("LEAKY_RELU", "LeakyReluOptions", alpha=lambda random: float(random.uniform(0.01, 0.5))),
    "PRELU": _prelu,
    "SOFTMAX": _unary("SOFTMAX", "SoftmaxOptions", beta=1.0),
    "SOFTMAX i16": _unary("SOFTMAX", "SoftmaxOptions", dtype="int16", beta=1.0),
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "AVERAGE_POOL_2D i16": _pool("AVERAGE_POOL_2D", "int16"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "MEAN": _reduction("MEAN"),
    "SUM": _reduction("SUM"),
    "REDUCE_MAX": _reduction("REDUCE_MAX"),
    "REDUCE_MIN": _reduction("REDUCE_MIN"),
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    "QUANTIZE": _requantize,
    "DEQUANTIZE": _dequantize,
    "PAD": _pad,
    "TRANSPOSE": _transpose,
    "CONCATENATION": _concatenation,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "SPLIT": _split,
    "GATHER": _gather,
    "PACK": _pack,
    "UNPACK": _unpack,
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": _expand_dims,
    "SPACE_TO_DEPTH": _blocks("SPACE_TO_DEPTH", "SpaceToDepthOptions"),
    "DEPTH_TO_SPACE": _blocks("DEPTH_TO_SPACE", "DepthToSpaceOptions"),
    "SPACE_TO_BATCH_ND": _batches("SPACE_TO_BATCH_ND", "SpaceToBatchNDOptions"),
    "BATCH_TO_SPACE_ND": _batches("BATCH_TO_SPACE_ND", "BatchToSpaceNDOptions"),
    "TILE": _tile,
    "ARG_MAX": _arg("ARG_MAX", "ArgMaxOptions"),
    "ARG_MIN": _arg("ARG_MIN", "ArgMinOptions"),
    "CAST": _cast,
}
"""A function for each operator that makes a random case."""


# Operators on floats, integers and Booleans


def _plain(
    name: str, shapes: Sequence[Sequence[int]], result: Sequence[int] | Sequence[Sequence[int]], options: str = "",
    constants: Sequence[npt.ArrayLike | LiteValue] = (), version: int = 1, dtypes: str = "float32",
    results: str | None = None, order: Sequence[int] | None = None, positive: bool = False, **values: Any,
) -> Callable[[Random], LiteCase]:  # fmt: skip
    """Returns the maker of cases with fixed shapes; `dtypes` are those of the inputs, `results` those of outputs."""

    def make(random: Random) -> LiteCase:
        kinds = dtypes.split() * (len(shapes) if " " not in dtypes else 1)
        inputs = [LiteValue(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
        shaped: Any = result if result and not isinstance(result[0], int) else [result]
        given = (results or kinds[0]).split()
        types = given if len(given) > 1 else given * len(shaped)
        outputs = [LiteValue(each, kind) for each, kind in zip(shaped, types, strict=True)]
        held = [each if isinstance(each, LiteValue) else _constant(each) for each in constants]
        case = _case(random, inputs, held, outputs, name, options, values, version, order)
        if positive:
            case.inputs = [np.abs(each) + np.float32(0.1) for each in case.inputs]
        return case

    return make


_IMAGE = (2, 3, 4, 5)
_FLOATS = {
    name: _plain(name, [_IMAGE], _IMAGE, positive=name in ("SQRT", "RSQRT", "LOG"))
    for name in (
        "ABS", "NEG", "SQRT", "RSQRT", "EXP", "LOG", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "SQUARE", "ELU",
        "LOGISTIC", "TANH", "RELU", "RELU6", "HARD_SWISH", "LOG_SOFTMAX",
    )
}  # fmt: skip
_PAIRS = {
    name: _plain(name, [_IMAGE, (4, 1)], _IMAGE, options, version=version)
    for name, options, version in (
        ("ADD", "AddOptions", 1), ("SUB", "SubOptions", 1), ("MUL", "MulOptions", 1), ("DIV", "DivOptions", 1),
        ("MAXIMUM", "MaximumMinimumOptions", 1), ("FLOOR_DIV", "FloorDivOptions", 2),
        ("FLOOR_MOD", "FloorModOptions", 1), ("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", 1),
    )
}  # fmt: skip
_COMPARISONS = {
    name: _plain(name, [(3, 4), (3, 4)], (3, 4), "", results="bool")
    for name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
}
_POOLED = {"padding": 0, "stride_h": 2, "stride_w": 1, "filter_height": 2, "filter_width": 3}
_MATRIX = np.array([[1, 2], [0, 1]])

FLOAT_CASES: Mapping[str, Callable[[Random], LiteCase]] = {
    **_FLOATS, **_PAIRS, **_COMPARISONS,
    "POW": _plain("POW", [(3, 4), (3, 4)], (3, 4), positive=True),
    "LOGICAL_AND": _plain("LOGICAL_AND", [(3, 4), (3, 4)], (3, 4), dtypes="bool"),
    "LOGICAL_OR": _plain("LOGICAL_OR", [(3, 4), (3, 4)], (3, 4), dtypes="bool"),
    "LOGICAL_NOT": _plain("LOGICAL_NOT", [(3, 4)], (3, 4), dtypes="bool"),
    "SELECT": _plain("SELECT", [(3, 4)] * 3, (3, 4), dtypes="bool float32 float32", results="float32"),
    "SELECT_V2": _plain(
        "SELECT_V2", [(3, 1), (3, 4), (1, 4)], (3, 4), dtypes="bool float32 float32", results="float32"
    ),
    "ADD_N": _plain("ADD_N", [(3, 4)] * 3, (3, 4)),
    "CAST": _plain("CAST", [(3, 4)], (3, 4), "CastOptions", results="int32", in_data_type=0, out_data_type=2),
    "GELU": _plain("GELU", [(3, 4)], (3, 4), "GeluOptions", approximate=True),
    "LEAKY_RELU": _plain("LEAKY_RELU", [_IMAGE], _IMAGE, "LeakyReluOptions", alpha=0.3),
    "SOFTMAX": _plain("SOFTMAX", [_IMAGE], _IMAGE, "SoftmaxOptions", beta=0.5),
    "L2_POOL_2D": _plain("L2_POOL_2D", [_IMAGE], (2, 2, 4, 5), "Pool2DOptions", **_POOLED),
    "MEAN": _plain("MEAN", [_IMAGE], (2, 5), "ReducerOptions", [[1, 2]]),
    "SUM": _plain("SUM", [_IMAGE], (2, 3, 4, 1), "ReducerOptions", [[-1]], keep_dims=True),
    "REDUCE_PROD": _plain("REDUCE_PROD", [_IMAGE], (2, 3, 5), "ReducerOptions", [[2]]),
    "REDUCE_ANY": _plain("REDUCE_ANY", [_IMAGE], (2, 4, 5), "ReducerOptions", [[1]], dtypes="bool"),
    "REDUCE_ALL": _plain("REDUCE_ALL", [_IMAGE], (2, 4, 5), "ReducerOptions", [[1]], dtypes="bool"),
    "CUMSUM": _plain("CUMSUM", [(3, 4)], (3, 4), "CumsumOptions", [1], exclusive=True, reverse=True),
    "MIRROR_PAD": _plain("MIRROR_PAD", [(3, 4)], (5, 7), "MirrorPadOptions", [[[1, 1], [2, 1]]], mode=0),
    "PADV2": _plain(
        "PADV2", [(3, 4)], (4, 7), "PadV2Options",
        [[[1, 0], [2, 1]], LiteValue((1,), "float32", data=np.array([7.5]))],
    ),
    "SPLIT_V": _plain(
        "SPLIT_V", [_IMAGE], [(2, 1, 4, 5), (2, 2, 4, 5)], "SplitVOptions", [[1, -1], 1], num_splits=2
    ),
    "GATHER_ND": _plain("GATHER_ND", [(3, 4, 2)], (2, 2), "GatherNdOptions", [_MATRIX]),
    "EMBEDDING_LOOKUP": _plain("EMBEDDING_LOOKUP", [(4, 3)], (2, 3), "", [[2, 0]], order=(1, 0)),
    "BROADCAST_TO": _plain("BROADCAST_TO", [(3, 1)], (2, 3, 4), "BroadcastToOptions", [[2, 3, 4]], 2),
    "REVERSE_V2": _plain("REVERSE_V2", [(3, 4)], (3, 4), "ReverseV2Options", [[1]]),
    "SHAPE": _plain("SHAPE", [_IMAGE], (4,), "ShapeOptions", results="int32", out_type=2),
    "FILL": _plain("FILL", [()], (2, 3), "FillOptions", [[2, 3]], order=(1, 0)),
    "ZEROS_LIKE": _plain("ZEROS_LIKE", [(3, 4)], (3, 4), "ZerosLikeOptions"),
    "TOPK_V2": _plain("TOPK_V2", [(3, 6)], [(3, 2), (3, 2)], "TopKV2Options", [2], results="float32 int32"),
    "BATCH_MATMUL": _plain("BATCH_MATMUL", [(2, 4, 3), (2, 5, 3)], (2, 4, 5), "BatchMatMulOptions", adj_y=True),
    "RESIZE_BILINEAR": _plain(
        "RESIZE_BILINEAR", [_IMAGE], (2, 5, 7, 5), "ResizeBilinearOptions", [[5, 7]], 3, half_pixel_centers=True
    ),
    "AVERAGE_POOL_2D": _plain("AVERAGE_POOL_2D", [_IMAGE], (2, 2, 4, 5), "Pool2DOptions", **_POOLED),
}  # fmt: skip
"""Cases of float operators, and of operators on integers and Booleans."""
