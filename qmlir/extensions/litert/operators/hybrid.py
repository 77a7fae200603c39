"""Dynamic-range contractions: float data, which is quantized at run time, and integer weights.

The data of each row, or of each image, has one scale. Its integers minus their zero point have 9 bits, and are
multiplied as integers of 16 bits and scale 1; the sums are exact. All other steps are those of LiteRT in f32, each
rounded once, and steps of its reference kernels that are in f64.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerType, f32, f64, i32
from xdsl.ir import SSAValue

from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.litert.node import LiteNode
from qmlir.extensions.litert.operators.formula import NodeFormula
from qmlir.ir.builtin_types import shape_of

_I16, _I8 = IntegerType(16), IntegerType(8)


class Dynamic(NamedTuple):
    """Data quantized at run time: the integers minus the zero point, of scale 1, and the f32 scale of each row."""

    integers: SSAValue
    scale: SSAValue


def _integers(node: LiteNode, value: SSAValue) -> SSAValue:
    """Returns floats that are integers as values of 16 bits and scale 1."""
    element = UniformQuantizedType.per_tensor(_I16, f32, 1.0, 0)
    return node.graph.stored(node.cast(value, _I16), element, [node.origin])


def symmetric(node: LiteNode, value: SSAValue, axes: Sequence[int]) -> Dynamic:
    """Quantizes by the largest absolute value, as LiteRT's reference kernels do."""
    do = NodeFormula(node)
    most = node.add(reduction.ReduceMaxOp, do(elementwise.AbsOp, value), axes=list(axes)).results[0]
    is_zero = do(elementwise.EqualOp, most, 0.0)
    divisor = do.chosen(is_zero, 1.0, most)
    factor = do(elementwise.DivOp, do.constant(127.0), divisor)
    quotient = do.rounded_away(do(elementwise.MulOp, value, factor))
    scale = do.chosen(is_zero, 1.0, do(elementwise.DivOp, most, 127.0))
    return Dynamic(_integers(node, do.clip(quotient, -127.0, 127.0)), scale)


def asymmetric(node: LiteNode, value: SSAValue, axes: Sequence[int]) -> Dynamic:
    """Quantizes by the range, as LiteRT's reference kernels do (`AsymmetricQuantizeFloats`)."""
    do = NodeFormula(node)
    low, high = do.limits(value, axes)
    extent = do(elementwise.SubOp, high, low)
    is_zero = do(elementwise.EqualOp, extent, 0.0)
    exact = do(elementwise.DivOp, node.cast(do.chosen(is_zero, 255.0, extent), f64), 255.0)
    before, after = (do(elementwise.DivOp, node.cast(end, f64), exact) for end in (low, high))
    from_low = do(elementwise.SubOp, do.constant(-128.0, f64), before)
    from_high = do(elementwise.SubOp, do.constant(127.0, f64), after)
    error_low = do(elementwise.AddOp, do(elementwise.AbsOp, before), 128.0)
    error_high = do(elementwise.AddOp, do(elementwise.AbsOp, after), 127.0)
    zero_point = do.chosen(do(elementwise.LessOp, error_low, error_high), from_low, from_high)
    zero_point = node.cast(do.rounded_away(do.clip(zero_point, -128.0, 127.0)), f32)
    zero_point = do.chosen(is_zero, 0.0, zero_point)
    scale = node.cast(exact, f32)
    quotient = do(elementwise.MulOp, value, do(elementwise.DivOp, do.constant(1.0), scale))
    stored = do.clip(do(elementwise.AddOp, do.rounded_away(quotient), zero_point), -128.0, 127.0)
    return Dynamic(_integers(node, do(elementwise.SubOp, stored, zero_point)), scale)


def by_xnnpack(node: LiteNode, value: SSAValue, axes: Sequence[int]) -> Dynamic:
    """Quantizes by the range, as XNNPACK does (`qd8`)."""
    do = NodeFormula(node)
    low, high = do.limits(value, axes)
    extent = do(elementwise.SubOp, high, low)
    factor = do(elementwise.DivOp, do.constant(255.0), do.chosen(do(elementwise.EqualOp, extent, 0.0), 255.0, extent))
    before, after = (do(elementwise.MulOp, end, factor) for end in (low, high))
    errors = do(elementwise.AddOp, do(elementwise.AddOp, before, -128.0), do(elementwise.AddOp, after, 127.0))
    from_low = do(elementwise.SubOp, do.constant(-128.0), before)
    from_high = do(elementwise.SubOp, do.constant(127.0), after)
    zero_point = do.chosen(do(elementwise.GreaterOp, errors, 0.0), from_low, from_high)
    zero_point = do(elementwise.RoundOp, do.clip(zero_point, -128.0, 127.0))
    product = do(elementwise.MulOp, value, factor)
    ends = [do(elementwise.SubOp, do.constant(end), zero_point) for end in (-128, 127)]
    product = do(elementwise.MinOp, do(elementwise.MaxOp, product, ends[0]), ends[1])
    return Dynamic(_integers(node, do(elementwise.RoundOp, product)), do(elementwise.DivOp, do.constant(1.0), factor))


Contract = Callable[[SSAValue, SSAValue, UniformQuantizedType], SSAValue]
"""A function that multiplies integer data and weights, and returns sums of a type."""


class Scales(NamedTuple):
    """The f32 scales of the weights, and the bias, in shapes that broadcast to the result."""

    weight: SSAValue
    bias: SSAValue | None


def sums(node: LiteNode, data: SSAValue, weight: SSAValue, contract: Contract) -> SSAValue:
    """Returns the sums of products of integers as f32."""
    unit = UniformQuantizedType.per_tensor(_I8, f32, 1.0, 0)
    accumulator = UniformQuantizedType.per_tensor(i32, f32, 1.0, 0)
    found = contract(data, node.graph.stored(weight, unit, [node.origin]), accumulator)
    return node.cast(node.graph.plain(found), f32)


def scaled(node: LiteNode, total: SSAValue, data: Dynamic, scales: Scales, order: str) -> SSAValue:
    """Returns the sums as reals plus the bias.

    `order` says which factors are multiplied first: `total` and the scale of the weights (`weights`) or the two scales
    (`scales`); `fused` rounds the product of all and the sum with the bias once, as XNNPACK does.
    """
    do = NodeFormula(node)
    match order:
        case "weights":
            product = do(elementwise.MulOp, do(elementwise.MulOp, total, scales.weight), data.scale)
        case "scales":
            product = do(elementwise.MulOp, total, do(elementwise.MulOp, data.scale, scales.weight))
        case _:
            product = node.cast(do(elementwise.MulOp, total, data.scale), f64)
            product = do(elementwise.MulOp, product, node.cast(scales.weight, f64))
            if scales.bias is not None:
                product = do(elementwise.AddOp, product, node.cast(scales.bias, f64))
            return node.cast(product, f32)
    return product if scales.bias is None else do(elementwise.AddOp, product, scales.bias)


def channels(node: LiteNode, values: SSAValue, rank: int) -> SSAValue:
    """Returns one value per channel, shaped to broadcast to results of this rank; images are channels-first."""
    count = shape_of(values)[0]
    return values if rank == 2 else node.reshaped(values, (1, count, *(1,) * (rank - 2)))
