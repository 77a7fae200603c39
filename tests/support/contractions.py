"""Random contractions as text, with what they compute: exact integer sums tap by tap, written out by hand in NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A module, what it is given in the order of its arguments, and what it must give."""

    text: str
    inputs: list[Array]
    expected: Array


def tensor(shape: Sequence[int], element: str) -> str:
    """The type of a tensor."""
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>"


def constant(array: Array, element: str) -> str:
    """A constant tensor."""
    return f'arith.constant dense<"0x{np.ascontiguousarray(array).tobytes().hex()}"> : {tensor(array.shape, element)}'


def _integers(rng: np.random.Generator, shape: Sequence[int], is_unsigned: bool, bits: int, extreme: bool) -> Array:
    low, high = (0, 1 << bits) if is_unsigned else (-(1 << (bits - 1)), 1 << (bits - 1))
    if extreme:
        return rng.choice([low, high - 1], shape).astype(np.int64)
    return np.asarray(rng.integers(low, high, shape))


def convolved(x: Array, w: Array, strides: Sequence[int], dilations: Sequence[int], groups: int) -> Array:
    """Sums of a convolution of `x` `[N, spatial…, C]` with `w` `[O, taps…, C / groups]`, in int64."""
    sizes = [
        (size - ((taps - 1) * dilation + 1)) // stride + 1
        for size, taps, dilation, stride in zip(x.shape[1:-1], w.shape[1:-1], dilations, strides, strict=True)
    ]
    result = np.zeros((x.shape[0], *sizes, w.shape[0]), np.int64)
    outputs, inputs = w.shape[0] // groups, w.shape[-1]
    for tap in np.ndindex(*w.shape[1:-1]):
        window = tuple(
            slice(position * dilation, position * dilation + (size - 1) * stride + 1, stride)
            for position, dilation, size, stride in zip(tap, dilations, sizes, strides, strict=True)
        )
        moved = x[(slice(None), *window)]
        for group in range(groups):
            own = slice(group * outputs, (group + 1) * outputs)
            terms = moved[..., group * inputs : (group + 1) * inputs]
            result[..., own] += terms @ w[(own, *tap)].T
    return result


def requantized(sums: Array, multiplier: Array) -> Array:
    """Sums in i8 around the zero point 3."""
    scaled = sums.astype(np.int32).astype(np.float32) * multiplier
    return np.clip(np.rint(scaled) + 3, -128, 127).astype(np.int8)


def convolution(seed: int) -> Case:
    """A convolution of one or two spatial dimensions, with any groups, zero points and signedness."""
    rng = np.random.default_rng(seed)
    rank, groups = int(rng.integers(1, 3)), int(rng.choice([1, 1, 1, 2, 3]))
    inputs, outputs = int(rng.integers(1, 6)), int(rng.integers(1, 7))
    if rng.random() < 0.2:  # depthwise
        groups, inputs, outputs = int(rng.integers(2, 20)), 1, 1
    taps, strides, dilations = (rng.integers(1, most, rank).tolist() for most in (4, 3, 3))
    if rng.random() < 0.3:
        taps, strides = [1] * rank, [1] * rank
    sizes = [(t - 1) * d + 1 + int(rng.integers(0, 5)) for t, d in zip(taps, dilations, strict=True)]
    unsigned = rng.random(2) < 0.5
    extreme = bool(rng.random() < 0.3)
    x = _integers(rng, (int(rng.integers(1, 3)), *sizes, inputs * groups), unsigned[0], 8, extreme)
    w = _integers(rng, (outputs * groups, *taps, inputs), unsigned[1], 8, extreme)
    channels = len(w)
    input_zero_point = int(_integers(rng, (), unsigned[0], 8, False))
    by_channel = bool(rng.random() < 0.3)
    zero_points = _integers(rng, (channels if by_channel else 1,), unsigned[1], 8, False) * (rng.random() < 0.6)
    shifted = w - zero_points.reshape(-1, *(1,) * (w.ndim - 1))
    sums = convolved(x - input_zero_point, shifted, strides, dilations, groups)

    attributes = [
        f"strides = array<i64: {', '.join(map(str, strides))}>",
        f"dilations = array<i64: {', '.join(map(str, dilations))}>",
        f"groups = {groups} : i64",
        f"input_zero_point = {input_zero_point} : i32",
        *(name for name, flag in zip(("input_unsigned", "weight_unsigned"), unsigned, strict=True) if flag),
    ]
    lines, extra = list[str](), ""
    if by_channel:
        lines.append(f"%z = {constant(zero_points.astype(np.int32), 'i32')}")
        extra = f"weight_zero_points(%z : {tensor((channels,), 'i32')})"
    else:
        attributes.append(f"weight_zero_point = {zero_points[0]} : i32")
    arguments, body, element, expected = ["%acc: i32"], ["kernel.yield %acc : i32"], "i32", sums
    if rng.random() < 0.6:
        bias = rng.integers(-1000, 1000, channels).astype(np.int32)
        multiplier = rng.uniform(1e-4, 2e-3, channels).astype(np.float32)
        lines += [f"%b = {constant(bias, 'i32')}", f"%m = {constant(multiplier, 'f32')}"]
        map_ = f"affine_map<({', '.join(f'd{axis}' for axis in range(w.ndim))}) -> (d{w.ndim - 1})>"
        attributes.append(f"epilogue_maps = [{map_}, {map_}]")
        extra += f" epilogue(%b, %m : {tensor((channels,), 'i32')}, {tensor((channels,), 'f32')})"
        arguments += ["%bb: i32", "%mm: f32"]
        body = [
            "%s = arith.addi %acc, %bb : i32",
            "%q = kernel.requantize %s, %mm {mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, "
            "maximum = 127} : i32, f32 -> i8",
            "kernel.yield %q : i8",
        ]
        element, expected = "i8", requantized(sums + bias, multiplier)
    bytes_of_x, bytes_of_w = (each.astype(np.uint8).view(np.int8) for each in (x, w))
    given, parameters = [bytes_of_x], [f"%x: {tensor(x.shape, 'i8')}"]
    if rng.random() < 0.7:
        lines.append(f"%w = {constant(bytes_of_w, 'i8')}")
    else:
        given.append(bytes_of_w)
        parameters.append(f"%w: {tensor(w.shape, 'i8')}")
    operation = (
        f"kernel.conv ins(%x, %w : {tensor(x.shape, 'i8')}, {tensor(w.shape, 'i8')}) {extra} "
        f"-> {tensor(sums.shape, element)} attributes {{{', '.join(attributes)}}}"
    )
    return Case(_module(parameters, lines, operation, arguments, body, sums.shape, element), given, expected)


_EPILOGUES = ("sums", "requantized", "narrow", "residual")


def depthwise(
    seed: int, sizes: Sequence[int] = (), channels: int = 0, taps: Sequence[int] = (), epilogue: str = "",
    weight_zero_point: int = 0,
) -> Case:  # fmt: skip
    """A depthwise convolution of an image in bytes, whose weights are bytes without zero points, or with this one."""
    rng = np.random.default_rng(seed)
    channels = channels or int(rng.choice(np.array([rng.integers(2, 20), rng.integers(20, 150), 16, 32, 64, 96])))
    taps = taps or rng.choice([3, 3, 5, 1, 2, 4, 7], 2).tolist()
    if list(taps) == [1, 1]:
        taps = [2, 1]
    strides, dilations = rng.choice([1, 1, 2, 3], 2).tolist(), rng.choice([1, 1, 1, 2], 2).tolist()
    sizes = sizes or [(t - 1) * d + 1 + int(rng.integers(0, 12)) for t, d in zip(taps, dilations, strict=True)]
    unsigned, extreme = bool(rng.random() < 0.5), bool(rng.random() < 0.3)
    x = _integers(rng, (int(rng.integers(1, 3)), *sizes, channels), unsigned, 8, extreme)
    w = _integers(rng, (channels, *taps, 1), False, 8, extreme)
    zero_point = int(_integers(rng, (), unsigned, 8, False))
    expected = convolved(x - zero_point, w - weight_zero_point, strides, dilations, channels)
    epilogue = epilogue or str(rng.choice(_EPILOGUES))
    attributes = [
        f"strides = array<i64: {', '.join(map(str, strides))}>",
        f"dilations = array<i64: {', '.join(map(str, dilations))}>",
        f"groups = {channels} : i64",
        f"input_zero_point = {zero_point} : i32",
        *([f"weight_zero_point = {weight_zero_point} : i32"] if weight_zero_point else []),
        *(["input_unsigned"] if unsigned else []),
    ]
    bias = rng.integers(-1000, 1000, channels).astype(np.int32)
    multiplier = rng.uniform(1e-4, 2e-3, channels).astype(np.float32)
    residual: Array = rng.integers(-100, 100, expected.shape).astype(np.int32)
    by_channel, identity = "affine_map<(a, b, c, d) -> (d)>", "affine_map<(a, b, c, d) -> (a, b, c, d)>"
    given, parameters = [x.astype(np.uint8).view(np.int8)], [f"%x: {tensor(x.shape, 'i8')}"]
    lines, element, operands = [f"%w = {constant(w.astype(np.int8), 'i8')}"], "i32", ""
    arguments, body = ["%acc: i32"], ["kernel.yield %acc : i32"]
    if epilogue == "residual":
        expected = expected + residual
        given.append(residual)
        parameters.append(f"%c: {tensor(residual.shape, 'i32')}")
        operands = f"epilogue(%c : {tensor(residual.shape, 'i32')})"
        attributes.append(f"epilogue_maps = [{identity}]")
        arguments.append("%cc: i32")
        body = ["%s = arith.addi %acc, %cc : i32", "kernel.yield %s : i32"]
    elif epilogue != "sums":
        low = -128 if epilogue == "requantized" else -5
        element, expected = "i8", np.maximum(requantized(expected + bias, multiplier), low)
        lines += [f"%b = {constant(bias, 'i32')}", f"%m = {constant(multiplier, 'f32')}"]
        operands = f"epilogue(%b, %m : {tensor((channels,), 'i32')}, {tensor((channels,), 'f32')})"
        attributes.append(f"epilogue_maps = [{by_channel}, {by_channel}]")
        arguments += ["%bb: i32", "%mm: f32"]
        body = [
            "%s = arith.addi %acc, %bb : i32",
            "%q = kernel.requantize %s, %mm {mode = #kernel.requantize<f32>, zero_point = 3, "
            f"minimum = {low}, maximum = 127}} : i32, f32 -> i8",
            "kernel.yield %q : i8",
        ]
    operation = (
        f"kernel.conv ins(%x, %w : {tensor(x.shape, 'i8')}, {tensor(w.shape, 'i8')}) {operands} "
        f"-> {tensor(expected.shape, element)} attributes {{{', '.join(attributes)}}}"
    )
    return Case(_module(parameters, lines, operation, arguments, body, expected.shape, element), given, expected)


def depthwise_offset(seed: int) -> Case:
    """The same whose weights fit no byte without their zero point: from -255 on, or to 255."""
    return depthwise(seed, weight_zero_point=(127, -128)[seed % 2])


def _module(
    parameters: Sequence[str], lines: Sequence[str], operation: str, arguments: Sequence[str], body: Sequence[str],
    shape: Sequence[int], element: str,
) -> str:  # fmt: skip
    type_ = tensor(shape, element)
    return "\n".join(
        [
            f"func.func @main({', '.join(parameters)}) -> {type_} {{",
            *lines,
            f"%r = {operation} {{",
            f"^bb0({', '.join(arguments)}):",
            *body,
            "}",
            f"func.return %r : {type_}",
            "}",
        ]
    )


_SUM_OF = {"i16": "i64", "f16": "f32", "f32": "f32", "f64": "f64"}
_DTYPES: dict[str, Any] = {
    "i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


_FEW_BITS = ("i7", "i6", "i5", "i4", "i2")
"""Weights by bytes: of 4 and of 2 bits by their type, of the others by what they are."""


def product(seed: int) -> Case:
    """A product of matrices of any type and any batches, a residual and a bias by row, sometimes a lookup."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["i8", "u8", "i16", *_FEW_BITS, "f16", "f32", "f64"]))
    batches = [int(size) for size in rng.integers(1, 3, int(rng.integers(0, 3)))]
    rows, terms, columns = (int(size) for size in rng.integers(1, 24, 3))
    x_shape: tuple[int, ...] = (*batches, rows, terms)
    w_shape: tuple[int, ...] = (*(batches if rng.random() < 0.6 else list[int]()), columns, terms)
    total = _SUM_OF.get(kind, "i32")
    attributes = list[str]()
    if kind.startswith("f"):
        x: Array = rng.standard_normal(x_shape).astype(_DTYPES[kind])
        w: Array = rng.standard_normal(w_shape).astype(_DTYPES[kind])
        elements = kind, kind
        sums: Array = x.astype(np.float64) @ np.swapaxes(w.astype(np.float64), -1, -2)
        stored = x, w
    else:
        unsigned, bits = kind == "u8", 16 if kind == "i16" else 8
        weight_bits = int(kind[1:]) if kind in _FEW_BITS else bits
        x, w = _integers(rng, x_shape, unsigned, bits, False), _integers(rng, w_shape, unsigned, weight_bits, False)
        zero_points = [int(_integers(rng, (), unsigned, width, False)) for width in (bits, weight_bits)]
        if weight_bits < 8:
            zero_points[1] = 0
        sums = (x - zero_points[0]) @ np.swapaxes(w - zero_points[1], -1, -2)
        dtype = np.dtype(f"i{bits // 8}")
        stored = x.astype(dtype), w.astype(dtype)
        elements = f"i{bits}", kind if kind in ("i4", "i2") else f"i{bits}"
        attributes += [f"input_zero_point = {zero_points[0]} : i32", f"weight_zero_point = {zero_points[1]} : i32"]
        attributes += ["input_unsigned", "weight_unsigned"] if unsigned else []
    shape = sums.shape
    residual: Array = rng.integers(-5, 5, shape).astype(_DTYPES[total])
    row: Array = np.arange(rows).astype(_DTYPES[total])
    expected: Array = sums + residual + row[:, None]
    dims = ", ".join(f"d{axis}" for axis in range(len(shape)))
    attributes.append(
        f"epilogue_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> (d{len(shape) - 2})>]"
    )
    add = "addf" if total.startswith("f") else "addi"
    lines = [f"%row = {constant(row, total)}"]
    body = [f"%s = arith.{add} %acc, %a : {total}", f"%t = arith.{add} %s, %b : {total}"]
    element = total
    if kind in ("i8", "u8") and rng.random() < 0.5:
        table = rng.integers(-128, 128, 256).astype(np.int8)
        lines += [f"%table = {constant(table, 'i8')}", "%low = arith.constant 255 : i32"]
        body += [
            "%u = arith.andi %t, %low : i32",
            "%place = arith.index_cast %u : i32 to index",
            "%e = tensor.extract %table[%place] : tensor<256xi8>",
            "kernel.yield %e : i8",
        ]
        element, expected = "i8", table[expected & 255]
    else:
        body.append(f"kernel.yield %t : {total}")
    given, parameters = [stored[0], residual], [f"%x: {tensor(x_shape, elements[0])}", f"%c: {tensor(shape, total)}"]
    if rng.random() < 0.5:
        lines.append(f"%w = {constant(stored[1], elements[1])}")
    else:
        given.append(stored[1])
        parameters.append(f"%w: {tensor(w_shape, elements[1])}")
    operation = (
        f"kernel.matmul ins(%x, %w : {tensor(x_shape, elements[0])}, {tensor(w_shape, elements[1])}) "
        f"epilogue(%c, %row : {tensor(shape, total)}, {tensor((rows,), total)}) -> {tensor(shape, element)} "
        f"attributes {{{', '.join(attributes)}}}"
    )
    arguments = [f"%{name}: {total}" for name in ("acc", "a", "b")]
    return Case(_module(parameters, lines, operation, arguments, body, shape, element), given, expected)


_IN_A_RESULT = """
func.func @main(%a: tensor<3x5xi8>) -> (tensor<3x2xi32>, tensor<RESULTx5xi8>) {
  WEIGHTS
  %one = arith.constant 1 : i8
  %space = tensor.empty() : tensor<3x5xi8>
  %x = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<3x5xi8>) outs(%space : tensor<3x5xi8>) {
  ^bb0(%p: i8, %old: i8):
    %q = arith.addi %p, %one : i8
    linalg.yield %q : i8
  } -> tensor<3x5xi8>
  %sums = kernel.matmul ins(%x, %w : tensor<3x5xi8>, tensor<2x5xi8>) -> tensor<3x2xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %border = tensor.empty() : tensor<BORDERx5xi8>
  %filled = linalg.fill ins(%one : i8) outs(%border : tensor<BORDERx5xi8>) -> tensor<BORDERx5xi8>
  %y = tensor.insert_slice INSERTION
  func.return %sums, %y : tensor<3x2xi32>, tensor<RESULTx5xi8>
}
"""

_INSERTIONS = (
    ("4", "4", "%x into %filled[1, 0] [3, 5] [1, 1] : tensor<3x5xi8> into tensor<4x5xi8>"),
    ("3", "1", "%filled into %x[0, 0] [1, 5] [1, 1] : tensor<1x5xi8> into tensor<3x5xi8>"),
)
"""The rows of the result and of what is filled, and what is put into what."""


def in_a_result(seed: int) -> Case:
    """Rows of five bytes that lie at the end of a result: as a slice of it, or written over in part afterwards."""
    rng = np.random.default_rng(seed)
    x, w = _integers(rng, (3, 5), False, 7, False), _integers(rng, (2, 5), False, 8, False)
    text = _IN_A_RESULT.replace("WEIGHTS", f"%w = {constant(w.astype(np.int8), 'i8')}")
    for name, value in zip(("RESULT", "BORDER", "INSERTION"), _INSERTIONS[seed % len(_INSERTIONS)], strict=True):
        text = text.replace(name, value)
    return Case(text, [x.astype(np.int8)], (x + 1) @ w.T)


def divided(seed: int) -> Case:
    """A product whose sums are divided, which is the work of scalars, over many tiles."""
    rng = np.random.default_rng(seed)
    x, w = _integers(rng, (3000, 4), False, 8, False), _integers(rng, (256, 4), False, 8, False)
    operation = (
        f"kernel.matmul ins(%x, %w : {tensor(x.shape, 'i8')}, {tensor(w.shape, 'i8')}) -> {tensor((3000, 256), 'i32')}"
    )
    lines = [f"%w = {constant(w.astype(np.int8), 'i8')}", "%seven = arith.constant 7 : i32"]
    body = ["%d = arith.divsi %acc, %seven : i32", "kernel.yield %d : i32"]
    text = _module([f"%x: {tensor(x.shape, 'i8')}"], lines, operation, ["%acc: i32"], body, (3000, 256), "i32")
    sums = x @ w.T
    return Case(text, [x.astype(np.int8)], np.sign(sums) * (np.abs(sums) // 7))
