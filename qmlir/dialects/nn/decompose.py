"""The composites of `nn` and their parts, each with the role that profiles and rules name.

A decomposition is for float values; on quantized ones the parameters of the parts would be missing.
"""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.base import NnOp, element_of, shape_of
from qmlir.dialects.nn.elements import Kind, kind_of, plain_type
from qmlir.dialects.nn.infer.movement import normalized_axis
from qmlir.dialects.nn.ops.activations import GeluOp, HardSwishOp, TanhOp
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.contraction import ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.ops.elementwise import (
    AddOp,
    ClipOp,
    DivOp,
    ErfOp,
    ExpOp,
    MulOp,
    SqrtOp,
    SubOp,
)
from qmlir.dialects.nn.ops.movement import ReshapeOp
from qmlir.dialects.nn.ops.normalization import BatchNormOp, LayerNormOp
from qmlir.dialects.nn.ops.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from qmlir.dialects.nn.ops.softmax import SoftmaxOp
from qmlir.ir.decomposition import Decomposition, Parts
from qmlir.text.elements import dense_dtype

Results = Sequence[SSAValue] | None


def _scalar(parts: Parts, role: str, value: float, like: SSAValue) -> SSAValue:
    """A rank-0 constant of the plain element type of `like`."""
    element: Attribute = plain_type(element_of(like))
    dtype = dense_dtype(element)
    assert dtype is not None
    return parts.add(role, ConstantOp.of(np.array(value, dtype=dtype), TensorType(element, ()))).result


def _per_channel(parts: Parts, role: str, value: SSAValue, rank: int) -> SSAValue:
    """`[C]` as `[C, 1, …]`, which broadcasts along the axes behind the channels."""
    if rank == 2:
        return value
    shape = (*shape_of(value), *(1,) * (rank - 2))
    return parts.add(f"{role}/reshape", ReshapeOp(value, shape)).result


def _fully_connected(op: FullyConnectedOp, parts: Parts) -> Results:
    """`x * w^T`, then `+ b`."""
    product = parts.add("matmul", MatMulOp(op.data, op.weight, True)).result
    return [product if op.bias is None else parts.add("bias_add", AddOp(product, op.bias)).result]


def _conv(op: ConvOp, parts: Parts) -> Results:
    """The correlation, then `+ b`. One without a bias is primitive."""
    if op.bias is None:
        return None
    correlation = ConvOp.create(
        operands=[op.data, op.weight], result_types=op.result_types, properties=dict(op.properties)
    )
    parts.add("correlation", correlation)
    bias = _per_channel(parts, "bias", op.bias, len(shape_of(op.data)))
    return [parts.add("bias_add", AddOp(correlation.result, bias)).result]


def _batch_norm(op: BatchNormOp, parts: Parts) -> Results:
    """`x * f + (bias - mean * f)` with `f = scale / sqrt(variance + epsilon)`."""
    rank = len(shape_of(op.data))
    epsilon = _scalar(parts, "epsilon", op.epsilon.value.data, op.data)
    shifted = parts.add("variance_epsilon", AddOp(op.variance, epsilon)).result
    deviation = parts.add("deviation", SqrtOp(shifted)).result
    factor = parts.add("factor", DivOp(op.scale, deviation)).result
    moved = parts.add("scaled_mean", MulOp(op.mean, factor)).result
    offset = parts.add("offset", SubOp(op.bias, moved)).result
    product = parts.add("mul", MulOp(op.data, _per_channel(parts, "factor", factor, rank))).result
    return [parts.add("add", AddOp(product, _per_channel(parts, "offset", offset, rank))).result]


def _layer_norm(op: LayerNormOp, parts: Parts) -> Results:
    """Centre, divide by the deviation, scale, shift."""
    axes = range(op.first_axis, len(shape_of(op.data)))
    mean = parts.add("mean", ReduceMeanOp(op.data, axes)).result
    centred = parts.add("centred", SubOp(op.data, mean)).result
    squared = parts.add("squared", MulOp(centred, centred)).result
    variance = parts.add("variance", ReduceMeanOp(squared, axes)).result
    epsilon = _scalar(parts, "epsilon", op.epsilon.value.data, op.data)
    deviation = parts.add("deviation", SqrtOp(parts.add("variance_epsilon", AddOp(variance, epsilon)).result)).result
    normalized = parts.add("normalized", DivOp(centred, deviation)).result
    scaled = parts.add("mul", MulOp(normalized, op.scale)).result
    return [scaled if op.bias is None else parts.add("bias_add", AddOp(scaled, op.bias)).result]


def _softmax(op: SoftmaxOp, parts: Parts) -> Results:
    """`e^(x - max)` over its sum."""
    axes = [normalized_axis(op.axis.value.data, len(shape_of(op.input)))]
    largest = parts.add("max", ReduceMaxOp(op.input, axes)).result
    shifted = parts.add("shifted", SubOp(op.input, largest)).result
    raised = parts.add("exp", ExpOp(shifted)).result
    total = parts.add("sum", ReduceSumOp(raised, axes)).result
    return [parts.add("div", DivOp(raised, total)).result]


def _hard_swish(op: HardSwishOp, parts: Parts) -> Results:
    """`x * clip(x / 6 + 1 / 2, 0, 1)`."""
    sixth = parts.add("mul", MulOp(op.input, _scalar(parts, "sixth", 1 / 6, op.input))).result
    shifted = parts.add("add", AddOp(sixth, _scalar(parts, "half", 0.5, op.input))).result
    gate = parts.add("gate", ClipOp.between(shifted, 0.0, 1.0)).result
    return [parts.add("product", MulOp(op.input, gate)).result]


def _gelu(op: GeluOp, parts: Parts) -> Results:
    """`x / 2 * (1 + erf(x / sqrt(2)))`, or `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`."""
    x = op.input
    if op.tanh_approximation.value.data:
        square = parts.add("square", MulOp(x, x)).result
        cube = parts.add("cube", MulOp(square, x)).result
        bent = parts.add("bend", MulOp(cube, _scalar(parts, "coefficient", 0.044715, x))).result
        inner = parts.add("inner", AddOp(x, bent)).result
        argument = parts.add("argument", MulOp(inner, _scalar(parts, "factor", math.sqrt(2 / math.pi), x))).result
        curve: SSAValue = parts.add("tanh", TanhOp(argument)).result
    else:
        argument = parts.add("argument", MulOp(x, _scalar(parts, "factor", math.sqrt(0.5), x))).result
        curve = parts.add("erf", ErfOp(argument)).result
    gate = parts.add("gate", AddOp(curve, _scalar(parts, "one", 1.0, x))).result
    half = parts.add("half", MulOp(x, _scalar(parts, "one_half", 0.5, x))).result
    return [parts.add("product", MulOp(half, gate)).result]


def _of_floats(decomposition: Decomposition) -> Decomposition:
    """The decomposition, refused for values that are quantized."""

    def decompose(op: NnOp, parts: Parts) -> Results:
        kinds = {kind_of(element_of(value)) for value in op.data_operands()}
        return decomposition(op, parts) if kinds == {Kind.FLOAT} else None

    return decompose


_COMPOSITES: dict[type[Operation], Decomposition] = {
    FullyConnectedOp: _fully_connected,
    ConvOp: _conv,
    BatchNormOp: _batch_norm,
    LayerNormOp: _layer_norm,
    SoftmaxOp: _softmax,
    HardSwishOp: _hard_swish,
    GeluOp: _gelu,
}

DECOMPOSITIONS: dict[type[Operation], Decomposition] = {
    operation: _of_floats(decomposition) for operation, decomposition in _COMPOSITES.items()
}
