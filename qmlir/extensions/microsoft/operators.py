"""Importers of ONNX Runtime's quantized operators (`com.microsoft`).

If scales and zero points are constant, each operator becomes the `nn` operation on quantized values. Arithmetic whose
f32 steps have a different order from the default is marked with `requantize = #kernel.requantize<qlinear>`
(`qmlir.arithmetic.requantization`). An operator whose scales or zero points are known only at run time is rejected.

Based on onnxruntime/contrib_ops/cpu/quantization/: QGemm multiplies by `f32(f32(f32(alpha * s_a) * s_b) / s_y)` and
adds the zero point after rounding, as QLinearConv does; QLinearConcat, QLinearWhere and QLinearLeakyRelu look up
quantize(f(dequantize(q))) in tables, and leave integers unchanged if the operand has the result's scale and zero point.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.requantize import QLINEAR
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.microsoft.layers import channels_first
from qmlir.formats.types import accumulator_type
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import MICROSOFT
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators import quantization
from qmlir.onnx.operators.contraction import pool_properties
from qmlir.onnx.operators.quantization import storage_of
from qmlir.onnx.parameters import QParams


def _result(node: Node, like: int, scale: int, zero_point: int) -> UniformQuantizedType:
    """Returns the type of the result, with the storage of its zero point, or of input `like` without one."""
    given = node.optional(zero_point)
    return _of(node, node.quantized(like) if given is None else given, scale, zero_point)


def _of(node: Node, stored: SSAValue, scale: int, zero_point: int) -> UniformQuantizedType:
    """Returns the type of `stored`; `scale` and `zero_point` are the indices of the inputs with its parameters."""
    _check_constants(node, scale, zero_point)
    element = QParams.of(node, scale, zero_point).type_of(storage_of(node, stored), f32)
    if element is None or element.granularity is not Granularity.TENSOR:
        found = node.constant(scale)
        raise node.error(f"requires one positive scale and one zero point per tensor, but got scale {found}")
    return element


def _check_constants(node: Node, *positions: int) -> None:
    for position in positions:
        if node.optional(position) is not None and node.constant(position) is None:
            raise node.unsupported(f"scales and zero points must be constant, but input {position} is not")


def _operand(node: Node, value: int) -> SSAValue:
    """Returns input `value` with the scale and the zero point in the next two inputs."""
    return node.stored(value, _of(node, node.quantized(value), value + 1, value + 2))


def _rescaled(node: Node, value: int, target: UniformQuantizedType) -> SSAValue:
    """Returns the operand `value` with type `target`: dequantized and quantized again if the parameters differ."""
    stored = _operand(node, value)
    if element_of(stored) == target:
        return stored
    real = quantization.dequantized(node, stored)
    return node.insert(QuantizeCastOp(real, TensorType(target, shape_of(stored)))).result


# --- Operations on elements -------------------------------------------------------------------------------------------


def _add(node: Node) -> SSAValue:
    """Imports QLinearAdd.

    The operand that repeats along the innermost axis is added to the constant first, and so becomes the right one.
    """
    operands = [_operand(node, 0), _operand(node, 3)]
    if _repeats(node, *(shape_of(value) for value in operands)):
        operands.reverse()
    result = _result(node, 0, 6, 7)
    return node.add(elementwise.AddOp, *operands, result_element=result, requantize=QLINEAR).result


def _repeats(node: Node, left: Sequence[int], right: Sequence[int]) -> bool:
    """Returns true if the left operand repeats along the last axis on which either has more than one element.

    Only axes of both operands are considered; returns true if there is no such axis.
    """
    sizes = zip(reversed(left), reversed(right), strict=False) if left and right else [(left[-1] if left else 1, 1)]
    for own, other in sizes:
        if DYNAMIC_INDEX in (own, other) and own < 2:
            raise node.unsupported(
                "sums in an order that depends on the size of the last axis; fix the shapes of the inputs with --shape"
            )
        if max(own, other) > 1:
            return own == 1
    return True


def _mul(node: Node) -> SSAValue:
    result = _result(node, 0, 6, 7)
    operands = _operand(node, 0), _operand(node, 3)
    return node.add(elementwise.MulOp, *operands, result_element=result, requantize=QLINEAR).result


def _unary(operation: type[NnOp], properties: Callable[[Node], dict[str, Any]]) -> Importer:
    """Returns the importer of a function of one tensor.

    Its inputs are the value, two parameters of the value, and two of the result.
    """

    def importer(node: Node) -> SSAValue:
        result = _result(node, 0, 3, 4)
        return node.add(operation, _operand(node, 0), result_element=result, **properties(node)).results[0]

    return importer


def _reduce_sum(node: Node) -> SSAValue:
    """Imports ReduceSumInteger: the 32-bit sum of 8-bit integers."""
    value = node.cast(node.input(), i32)
    axes, keeps = node.attribute("axes"), bool(node.attribute("keepdims"))
    return node.add(reduction.ReduceSumOp, value, axes=axes, keep_dims=keeps).results[0]


def _softmax(node: Node) -> SSAValue:
    """Imports QLinearSoftmax: over one axis, or if `opset` is below 13 over the trailing axes together."""
    opset, rank = node.attribute("opset"), len(node.shape())
    axis = node.attribute("axis", None)
    axis = (1 if opset < 13 else -1) if axis is None else axis
    if not -rank <= axis < rank:
        raise node.error(f"axis {axis} is out of range for rank {rank}")
    value, result = _operand(node, 0), _result(node, 0, 3, 4)
    shape = shape_of(value)
    tail = shape[axis % rank :]
    if DYNAMIC_INDEX in (tail if opset < 13 else tail[:1]):
        raise node.unsupported(
            f"requires a static number of elements, but got {value.type}; fix its shape with --shape"
        )
    if opset >= 13 or len(tail) == 1:
        return node.add(normalization.SoftmaxOp, value, result_element=result, axis=axis, requantize=QLINEAR).result
    if DYNAMIC_INDEX in shape:
        raise node.unsupported(f"merges axes, which must be static, but got {value.type}; fix its shape with --shape")
    flattened = node.reshaped(value, [*shape[: axis % rank], int(np.prod(tail))])
    found = node.add(normalization.SoftmaxOp, flattened, result_element=result, axis=-1, requantize=QLINEAR).result
    return node.reshaped(found, shape)


# --- Movement and choice ----------------------------------------------------------------------------------------------


def _concat(node: Node) -> SSAValue:
    """Imports QLinearConcat: the parameters of the result come first, then each operand with its own."""
    result = _of(node, node.input(1), 0, 1)
    if len(node.inputs) < 5 or len(node.inputs) % 3 != 2:
        raise node.error(
            "inputs must be two parameters and triples of tensor, scale and zero point, but got "
            f"{len(node.inputs)} inputs"
        )
    operands = [_rescaled(node, position, result) for position in range(2, len(node.inputs), 3)]
    return node.add(movement.ConcatOp, operands, axis=node.attribute("axis")).result


def _where(node: Node) -> SSAValue:
    result = _result(node, 1, 7, 8)
    return node.add(elementwise.WhereOp, node.input(0), *(_rescaled(node, at, result) for at in (1, 4))).result


# --- Pools and convolutions ------------------------------------------------------------------------------------------


def _with_channels(importer: Importer) -> Importer:
    """Wraps an `importer` for channels-first data for operators that have channels last if `channels_last` is set."""

    def either(node: Node) -> SSAValue | Sequence[SSAValue | None]:
        return channels_first(node, importer, 0) if node.attribute("channels_last", 0) else importer(node)

    return either


def _average_pool_properties(node: Node) -> dict[str, Any]:
    counts = bool(node.attribute("count_include_pad", 0))
    return {"requantize": QLINEAR, **pool_properties(node), "count_include_pad": counts}


# --- QGemm ------------------------------------------------------------------------------------------------------------


def _gemm(node: Node) -> SSAValue:
    """Imports QGemm: `alpha * a * b + c`, with the i32 `c` added to the accumulator.

    Without `y_scale` the result is real. `alpha` is merged into the scale of `a`, so that the product of the scales is
    rounded as in ONNX Runtime.
    """
    is_transposed = bool(node.attribute("transB", 0))
    channels = 0 if is_transposed else 1
    node = QParams.of(node, 4, 5, node.shape(3), channels).without_zero_scales(3, 4, bias=6, channels=channels)
    a, b = _scaled_by_alpha(node, _of(node, node.quantized(0), 1, 2)), _columns(node, channels)
    left = node.stored(0, a)
    if node.attribute("transA", 0):
        left = node.add(movement.TransposeOp, left, permutation=[1, 0]).result
    right = node.stored(3, b)
    accumulator = accumulator_type(a, b, 1)
    if node.optional(7) is not None and node.optional(8) is None:
        raise node.error("y_scale and y_zero_point must be given together")
    is_real = node.optional(7) is None
    result = accumulator if is_real else _result(node, 0, 7, 8)
    bias = node.optional(6)
    if bias is None:
        found = _product(node, left, right, result, is_transposed)
    elif is_transposed and shape_of(bias) == (shape_of(right)[0],):
        typed = node.graph.stored(bias, accumulator_type(a, b, 0), [node.origin])
        found = node.add(contraction.FullyConnectedOp, left, right, typed, result_element=result).result
    else:
        sums = _product(node, left, right, accumulator, is_transposed)
        typed = _bias(node, bias, a, b, shape_of(right)[channels])
        found = node.add(elementwise.AddOp, sums, typed, result_element=result).result
    return quantization.dequantized(node, found) if is_real else found


def _scaled_by_alpha(node: Node, element: UniformQuantizedType) -> UniformQuantizedType:
    alpha = np.float32(node.attribute("alpha", 1.0))
    scale = float(np.float32(alpha * np.float32(element.scale)))
    try:
        return UniformQuantizedType.per_tensor(element.storage, f32, scale, element.zero_point)
    except VerifyException as error:
        raise node.error(f"alpha times the scale {element.scale} must be positive, but alpha is {alpha}") from error


def _columns(node: Node, axis: int) -> UniformQuantizedType:
    """Returns the type of `b`: one scale, or one for each column of the result, along `axis`."""
    _check_constants(node, 4, 5)
    element = QParams.of(node, 4, 5, node.shape(3), axis).type_of(storage_of(node, node.quantized(3)), f32)
    if element is None:
        raise node.error("scales of b must be positive, and one or one per column")
    return element


def _product(
    node: Node, left: SSAValue, right: SSAValue, result: UniformQuantizedType, is_transposed: bool
) -> SSAValue:
    return node.add(contraction.MatMulOp, left, right, result_element=result, transpose_b=is_transposed).result


def _bias(node: Node, bias: SSAValue, a: UniformQuantizedType, b: UniformQuantizedType, columns: int) -> SSAValue:
    """Returns `c` as accumulator values that broadcast to the `columns` of the result."""
    shape = shape_of(bias)
    if b.granularity is Granularity.AXIS and (not shape or shape[-1] == 1):
        bias = node.add(shapes.ExpandOp, bias, shape=[*shape[:-1], columns]).result
        shape = shape_of(bias)
    return node.graph.stored(bias, accumulator_type(a, b, len(shape) - 1), [node.origin])


IMPORTERS: dict[str, Importer] = {
    f"{MICROSOFT}::{operator}": importer
    for operator, importer in {
        "QuantizeLinear": quantization.IMPORTERS["QuantizeLinear"],
        "DequantizeLinear": quantization.IMPORTERS["DequantizeLinear"],
        "QGemm": _gemm,
        "ReduceSumInteger": _reduce_sum,
        "QLinearAdd": _add,
        "QLinearMul": _mul,
        "QLinearConv": _with_channels(quantization.IMPORTERS["QLinearConv"]),
        "QLinearAveragePool": _with_channels(_unary(pooling.AveragePoolOp, _average_pool_properties)),
        "QLinearGlobalAveragePool": _with_channels(_unary(pooling.GlobalAveragePoolOp, lambda node: {})),
        "QLinearConcat": _concat,
        "QLinearSigmoid": _unary(activations.SigmoidOp, lambda node: {"requantize": QLINEAR}),
        "QLinearLeakyRelu": _unary(
            activations.LeakyReluOp, lambda node: {"alpha": float(np.float32(node.attribute("alpha", 0.01)))}
        ),
        "QLinearWhere": _where,
        "QLinearSoftmax": _softmax,
    }.items()
}
