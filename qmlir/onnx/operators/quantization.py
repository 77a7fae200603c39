"""Import and export of quantization operators, and export of trained fake quantization."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, TensorType, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.calib.ops import FakeQuantOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType, UniformType, storage_limits
from qmlir.formats.types import accumulator_type
from qmlir.ir.builtin_types import SmallFloat, as_integer, as_small_float, element_of, shape_of
from qmlir.ir.diagnostics import op_error
from qmlir.onnx.export.casts import PRECISION_OPSET, WIDE_BITS, dequantize, is_narrower, kept_apart, quantize, uniform
from qmlir.onnx.export.emission import Exporter, NodeEmitter
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.contraction import window_properties
from qmlir.onnx.parameters import QParams

# Quantization operators: on import, constant parameters become part of types; others become arithmetic.
#
# With constant scales and zero points, a QuantizeLinear becomes a `quant.qcast`, a DequantizeLinear a `quant.dcast`,
# and a QLinearConv or QLinearMatMul the `nn` operation on quantized values. If parameters are known only at run time,
# the same integers are computed with plain arithmetic: `saturate(round_half_even(x / scale) + zero_point)` and `(x -
# zero_point) * scale`, in f32 with the result rounded once. Contractions accumulate in i32, wrap if ONNX lets them
# overflow, and are rescaled by `f32(f32(s_a * s_b) / s_y)` as in ONNX Runtime. Values may also be stored as
# low-precision floats: the quotient is rounded to that type, and saturates unless the node disables it.

UI8 = IntegerType(8, Signedness.UNSIGNED)

# Types in nodes.


def _float(node: Node, element: Attribute) -> AnyFloat:
    """Returns `element` if it is a float type; f32 for integers and powers of two, which ONNX allows as scales."""
    if isinstance(element, IntegerType | builtin.Float8E8M0FNUType):
        return f32
    if isinstance(element, AnyFloat) and as_small_float(element) is None:
        return element
    raise node.unsupported(f"cannot quantize elements of {element}")


def _float_attribute(node: Node, name: str) -> AnyFloat | None:
    """Returns the float type that an attribute names, or `None` if it is omitted."""
    data_type = node.attribute(name, 0)
    return _float(node, node.element_type(data_type)) if data_type else None


def storage_of(node: Node, value: SSAValue) -> IntegerType:
    """Returns the integer type that `value`, quantized or not, has in ONNX."""
    stored = as_integer(storage_element(element_of(value)))
    if stored is None:
        raise node.error(f"requires integers, but got {value.type}")
    return stored


def _storage(node: Node, element: Attribute) -> IntegerType | SmallFloat:
    """Returns the storage type of quantized values: an integer or a low-precision float."""
    stored = storage_element(element)
    found = as_integer(stored) or as_small_float(stored)
    if found is None or isinstance(found, builtin.Float8E8M0FNUType):
        raise node.unsupported(f"output type must be an integer or a float of at most 8 bits, but got {element}")
    return found


# Arithmetic on values.


def dequantized(node: Node, stored: SSAValue, expressed: AnyFloat = f32) -> SSAValue:
    """Dequantizes a quantized value to the float type `expressed`."""
    return node.insert(DequantizeCastOp(stored, TensorType(expressed, shape_of(stored)))).result


def _arithmetic(expressed: AnyFloat) -> AnyFloat:
    """Returns the type in which values of a float type are scaled."""
    return f64 if isinstance(expressed, builtin.Float64Type) else f32


def _scale(parameters: QParams, precision: AnyFloat) -> SSAValue:
    """Returns the scale rounded to `precision`, in the arithmetic type, broadcastable against the tensor."""
    node, scale = parameters.node, parameters.scale
    assert scale is not None
    return parameters.spread(node.cast(node.cast(scale, precision), _arithmetic(precision)))


def _zero_point(parameters: QParams, element: Attribute) -> SSAValue | None:
    """Returns the zero point as `element`, broadcastable against the tensor; `None` if it is 0."""
    node, zero_point = parameters.node, parameters.zero_point
    if zero_point is None:
        return None
    known = node.graph.constant_value(zero_point)
    if known is not None and not known.astype(np.float64).any():
        return None
    return parameters.spread(node.cast(zero_point, element))


def centered(parameters: QParams, value: SSAValue, element: Attribute) -> SSAValue:
    """Computes `value - zero_point` in the type `element`."""
    node = parameters.node
    value, zero_point = node.cast(value, element), _zero_point(parameters, element)
    return value if zero_point is None else node.add(elementwise.SubOp, value, zero_point).result


def _stored(parameters: QParams, quotient: SSAValue, storage: IntegerType) -> SSAValue:
    """Computes `saturate(round_half_even(quotient) + zero_point)` as `storage`. Sums in its range are exact floats."""
    node = parameters.node
    value = node.add(elementwise.RoundOp, quotient).result
    zero_point = _zero_point(parameters, element_of(quotient))
    if zero_point is not None:
        value = node.add(elementwise.AddOp, value, zero_point).result
    low, high = storage_limits(storage)
    value = node.add(elementwise.ClipOp, value, minimum=float(low), maximum=float(high)).result
    return node.cast(value, storage)


def _quantized(
    parameters: QParams, value: SSAValue, precision: AnyFloat, storage: IntegerType | SmallFloat, *, saturates: bool
) -> SSAValue:
    """Quantizes `value`, of type `precision`, with parameters known only at run time."""
    node = parameters.node
    dividend = node.cast(value, _arithmetic(precision))
    quotient = node.add(elementwise.DivOp, dividend, _scale(parameters, precision)).result
    if _rounds_quotient(node, precision):
        quotient = node.cast(node.cast(quotient, precision), _arithmetic(precision))
    if isinstance(storage, IntegerType):
        return _stored(parameters, quotient, storage)
    zero_point = _zero_point(parameters, element_of(quotient))
    if zero_point is not None:
        quotient = node.add(elementwise.AddOp, quotient, zero_point).result
    return node.cast(quotient, storage, saturate=None if saturates else False)


def _rounds_quotient(node: Node, precision: AnyFloat) -> bool:
    """Returns True if QuantizeLinear divides in `precision` (f16 or bf16) instead of in f32 like `quant.qcast`.

    It does so since operator set 23. For older operator sets, ONNX Runtime divides in f32.
    """
    return node.version >= PRECISION_OPSET and isinstance(precision, builtin.Float16Type | builtin.BFloat16Type)


# Operators


def _over_input(node: Node) -> QParams:
    """Returns the parameters of a QuantizeLinear or DequantizeLinear."""
    axis, block = node.attribute("axis", 1), node.attribute("block_size", 0)
    if block < 0:
        raise node.error(f"block_size must be at least 1, but got {block}")
    parameters = QParams.of(node, 1, 2, node.shape(), axis, block)
    if parameters.zero_point is not None:
        found = node.shape(2), node.shape(1)
        if any(parameters.aligned(shape) != parameters.aligned(found[0]) for shape in found):
            raise node.error(
                f"zero point and scale must have the same shape, but got {list(found[0])} and {list(found[1])}"
            )
    return parameters


def _quantize_linear(node: Node) -> SSAValue:
    parameters, zero_point = _over_input(node), node.optional(2)
    output_type = node.attribute("output_dtype", 0)
    if zero_point is not None:
        storage = _storage(node, element_of(zero_point))
        if output_type and node.element_type(output_type) != storage:
            raise node.error(
                f"output_dtype ({node.element_type(output_type)}) and the type of "
                f"the zero point ({storage}) must be equal"
            )
    else:
        storage = _storage(node, node.element_type(output_type)) if output_type else UI8
    precision = _float_attribute(node, "precision") or _float(node, element_of(node.input(1)))
    parameters = _dividing(parameters)
    value = node.cast(node.input(), precision)
    # ONNX allows 8-bit floats to overflow, which no quantized type describes.
    saturates = isinstance(storage, IntegerType) or bool(node.attribute("saturate", 1)) or storage.bitwidth < 8
    is_cast = saturates and not _rounds_quotient(node, precision)
    element = parameters.type_of(storage, precision) if is_cast else None
    if element is None:
        return _quantized(parameters, value, precision, storage, saturates=saturates)
    return node.insert(QuantizeCastOp(value, TensorType(element, shape_of(value)))).result


def _dividing(parameters: QParams) -> QParams:
    """The parameters of QuantizeLinear without a scale of 0: the smallest normal number saturates what is not 0."""
    node, scale = parameters.node, parameters.scale
    known = None if scale is None else node.graph.constant_value(scale)
    if scale is None or known is None or known.all():
        return parameters
    tiny = np.array(cast(Any, ml_dtypes).finfo(known.dtype).tiny, known.dtype)
    return replace(parameters, scale=node.add_constant(np.where(known == 0, tiny, known), element_of(scale)))


def _dequantize_linear(node: Node) -> SSAValue:
    node = _over_input(node).without_zero_scales(0, 1)
    parameters, storage = _over_input(node), _storage(node, element_of(node.quantized()))
    if parameters.zero_point is not None and _storage(node, element_of(parameters.zero_point)) != storage:
        raise node.error(f"zero point ({parameters.zero_point.type}) and values ({storage}) must have the same type")
    expressed = _float_attribute(node, "output_dtype") or _float(node, element_of(node.input(1)))
    element = parameters.type_of(storage, expressed)
    if element is not None:
        return dequantized(node, node.stored(0, element), expressed)
    if isinstance(storage, IntegerType):
        # The difference of two integers of n bits has n + 1.
        integers = centered(parameters, node.input(), i64 if storage.width.data >= 32 else i32)
        reals = node.cast(integers, _arithmetic(expressed))
    else:
        reals = centered(parameters, node.input(), _arithmetic(expressed))
    return node.cast(node.add(elementwise.MulOp, reals, _scale(parameters, expressed)).result, expressed)


def convolution(
    node: Node, x: SSAValue, w: SSAValue, bias: SSAValue | None = None, element: UniformQuantizedType | None = None
) -> SSAValue:
    """Adds a convolution of plain integers or, if `element` is given, of quantized values with that result type."""
    properties = window_properties(node, shape_of(w)[2:])
    properties |= {"groups": node.attribute("group", 1), "result_element": element}
    return node.add(contraction.ConvOp, x, w, bias, **properties).result


def _qlinear_conv(node: Node) -> SSAValue:
    node = QParams.of(node, 4, 5, node.shape(3)).without_zero_scales(3, 4, bias=8)
    x, w, y = QParams.of(node, 1, 2), QParams.of(node, 4, 5, node.shape(3)), QParams.of(node, 6, 7, divides=True)
    storage = storage_of(node, node.input(7))
    elements = _types(
        ((x, storage_of(node, node.quantized(0))), (w, storage_of(node, node.quantized(3))), (y, storage)), f32
    )
    if elements is not None:
        bias = None if node.optional(8) is None else _bias_type(elements[0], elements[1])
        if bias is not None or node.optional(8) is None:
            operands = (node.stored(0, elements[0]), node.stored(3, elements[1]))
            return convolution(node, *operands, None if bias is None else node.stored(8, bias), elements[2])
    accumulator = convolution(node, centered(x, node.input(0), i32), centered(w, node.input(3), i32), node.optional(8))
    channels = QParams.of(node, 4, 5, shape_of(accumulator), axis=1)
    return _rescaled(accumulator, _scale(x, f32), _scale(channels, f32), y, storage)


def _bias_type(x: UniformQuantizedType, w: UniformQuantizedType) -> UniformQuantizedType | None:
    """Returns the type of a bias, with scale `f32(s_x * s_w)`; `None` if no type can represent it."""
    try:
        return accumulator_type(x, w, 0 if w.granularity is Granularity.TENSOR else w.axis)
    except VerifyException:
        return None


def matrix_parameters(
    node: Node, shape: tuple[int, ...], scale: int | None, zero_point: int, *,
    is_right: bool, may_be_vector: bool = False, divides: bool = False,
) -> QParams:  # fmt: skip
    """Returns the parameters of a factor or product of a matmul, with shape `shape`; see `QParams.of` for `divides`.

    The parameters are a scalar, or there is one per row (left factor and product, `[…, M, 1]`) or per column (right
    factor, `[…, 1, N]`). Parameters of a vector must be a scalar unless `may_be_vector` is set.
    """
    kept = -1 if is_right else -2
    given = node.optional(zero_point) if scale is None else node.input(scale)
    several = () if given is None or all(size == 1 for size in shape_of(given)) else shape_of(given)
    if several and len(shape) < 2 and not may_be_vector:
        raise node.error(f"a vector must have one scale and zero point, but got shape {list(several)}")
    if len(several) < 2:
        return QParams.of(node, scale, zero_point, shape, kept, divides=divides)
    summed = -3 - kept
    return QParams.of(node, scale, zero_point, shape, summed, max(shape[summed], 1), divides=divides)


def _qlinear_matmul(node: Node) -> SSAValue:
    node = matrix_parameters(node, node.shape(3), 4, 5, is_right=True).without_zero_scales(3, 4)
    a = matrix_parameters(node, node.shape(0), 1, 2, is_right=False)
    b = matrix_parameters(node, node.shape(3), 4, 5, is_right=True)
    storage, expressed = storage_of(node, node.input(7)), _float(node, element_of(node.input(1)))
    if all(size == 1 for size in node.shape(6)):
        y = QParams.of(node, 6, 7, divides=True)
        storages = storage_of(node, node.quantized(0)), storage_of(node, node.quantized(3))
        elements = _types(((a, storages[0]), (b, storages[1]), (y, storage)), expressed)
        if elements is not None and _is_product(elements[0], elements[1], len(node.shape(3))):
            stored = node.stored(0, elements[0]), node.stored(3, elements[1])
            return node.add(contraction.MatMulOp, *stored, result_element=elements[2]).result
    operands = centered(a, node.input(0), i32), centered(b, node.input(3), i32)
    accumulator = node.add(contraction.MatMulOp, *operands).result
    scales = [_scale(a, f32), _scale(b, f32)]
    # A vector operand has no row or column axis in the result: that axis is dropped from the other operand's scale.
    for vector, other, gone in ((0, 1, -2), (3, 0, -1)):
        if len(node.shape(vector)) == 1 and shape_of(scales[other]):
            scales[other] = node.add(movement.SqueezeOp, scales[other], axes=[gone]).result
    is_row = len(node.shape(3)) == 1
    y = matrix_parameters(node, shape_of(accumulator), 6, 7, is_right=False, may_be_vector=is_row, divides=True)
    return _rescaled(accumulator, scales[0], scales[1], y, storage)


def _is_product(a: UniformQuantizedType, b: UniformQuantizedType, rank: int) -> bool:
    """Returns True if a quantized matmul has an accumulator scale: per-tensor left, per-tensor or per-column right."""
    is_by_column = b.granularity is Granularity.AXIS and b.axis == rank - 1
    return a.granularity is Granularity.TENSOR and (b.granularity is Granularity.TENSOR or is_by_column)


def _types(parameters: Sequence[tuple[QParams, IntegerType]], expressed: AnyFloat) -> list[UniformQuantizedType] | None:
    """Returns the quantized type of each tensor, or `None` if one of them has none."""
    found = [each.type_of(storage, expressed) for each, storage in parameters]
    known = [element for element in found if element is not None]
    return known if len(known) == len(found) else None


def _rescaled(accumulator: SSAValue, left: SSAValue, right: SSAValue, y: QParams, storage: IntegerType) -> SSAValue:
    """Requantizes an i32 accumulator with run-time scales of the operands and the result."""
    node = y.node
    scale = node.add(elementwise.MulOp, left, right).result
    multiplier = node.add(elementwise.DivOp, scale, _scale(y, f32)).result
    product = node.add(elementwise.MulOp, node.cast(accumulator, f32), multiplier).result
    return _stored(y, product, storage)


# Casts of the `quant` dialect


def _cast_type(out: NodeEmitter, element: Attribute) -> UniformType:
    return element if isinstance(element, UniformFloatType) else uniform(out, element)


def _export_qcast(out: NodeEmitter, op: QuantizeCastOp) -> None:
    element, name = _cast_type(out, element_of(op.result)), out.inputs[0]
    if isinstance(element, UniformQuantizedType) and _would_be_fused(op, element):
        name = kept_apart(out, name, op.result, element)
    quantize(out, name, op.result, element, out.output)


def _would_be_fused(op: QuantizeCastOp, element: UniformQuantizedType) -> bool:
    """Returns True if ONNX Runtime may replace a float operator before the cast with an integer operator.

    Operations that the module computes in float must stay in float, because ONNX Runtime would quantize float weights
    by its own rule (core/optimizer/qdq_transformer/weight_bias_quantization.cc).
    """
    # Float limits already prevent the fusion; blocks and 32 bits have no integer operator.
    has_bound = is_narrower(element) or element.granularity is Granularity.BLOCK or element.bits == WIDE_BITS
    return isinstance(op.input.owner, NnOp) and not has_bound


def _export_dcast(out: NodeEmitter, op: DequantizeCastOp) -> None:
    element, name = _cast_type(out, element_of(op.input)), out.inputs[0]
    if isinstance(element, UniformQuantizedType) and _would_be_moved(op, element):
        kept_apart(out, dequantize(out, name, op.input, element), op.input, element, out.output)
    else:
        dequantize(out, name, op.input, element, out.output)


def _would_be_moved(op: DequantizeCastOp, element: UniformQuantizedType) -> bool:
    """Returns True if ONNX Runtime propagates the cast across a float operation that only moves its result.

    The QuantizeLinear that it adds has an explicit type, which another pass then changes for signed integers, so that
    the model fails to load (core/optimizer/qdq_transformer/qdq_propagation.cc, qdq_s8_to_u8.cc).
    """
    users = (use.operation for use in op.result.uses)
    moves = any(isinstance(user, NnOp) and user.quantization_slots().shares_parameters for user in users)
    return moves and element.is_signed and element.granularity is Granularity.TENSOR and element.bits <= 8


def _export_scast(out: NodeEmitter, op: StorageCastOp) -> None:
    """Exports the same integers in another type of the same width; a Cast keeps the bits."""
    source, target = out.element(op.input), out.element(op.result)
    if source == target:
        out.node("Identity", out.inputs, out.output)
    else:
        out.cast(out.inputs[0], target, out.output)


# Export of trained fake quantization.

CAST_BITS = 16
"""The largest width, in bits, of integers that QuantizeLinear supports."""


def _fake_quant(out: NodeEmitter, op: FakeQuantOp) -> None:
    """QuantizeLinear and DequantizeLinear of the trained scale; the formula where that is known at run time only."""
    if op.method.data != "tqt" or element_of(op.input) == f64:
        raise op_error(op, f"can be exported only for f32 and method 'tqt', but got '{op.method.data}'")
    threshold = constant_array(op.parameters[0])
    bits = op.bits.value.data
    if threshold is None or bits > CAST_BITS:
        _spelled_out(out, op)
        return
    scales = np.exp2(np.ceil(threshold.astype(np.float64)) - _exponent(op))
    storage = IntegerType(bits) if op.is_signed else IntegerType(bits, Signedness.UNSIGNED)
    if op.axis is None:
        element = UniformQuantizedType.per_tensor(storage, f32, float(scales))
    else:
        element = UniformQuantizedType.per_axis(storage, f32, op.axis.value.data, [float(each) for each in scales])
    stored = quantize(out, out.inputs[0], op.input, element)
    dequantize(out, stored, op.input, element, out.output)


def _exponent(op: FakeQuantOp) -> int:
    """The scale is `2^(ceil(log2_threshold) - n)`."""
    bits = op.bits.value.data
    return bits - 1 if op.is_signed else bits


def _spelled_out(out: NodeEmitter, op: FakeQuantOp) -> None:
    """`clip(rne(x / s), n, p) * s`, the integers in f64."""
    x, threshold = out.inputs
    exponent = out.node("Sub", [out.node("Ceil", [threshold]), out.constant(np.array(float(_exponent(op))), f32)])
    scale = out.node("Pow", [out.constant(np.array(2.0), f32), exponent])
    if op.axis is not None:
        layout = [1] * len(shape_of(op.input))
        layout[op.axis.value.data] = -1
        scale = out.node("Reshape", [scale, out.constant(np.array(layout, np.int64))])
    rounded = out.cast(out.node("Round", [out.node("Div", [x, scale])]), f64)
    limits = [out.constant(np.array(float(each)), f64) for each in op.limits]
    product = out.node("Mul", [out.node("Clip", [rounded, *limits]), out.cast(scale, f64)])
    out.cast(product, f32, out.output)


IMPORTERS: dict[str, Importer] = {
    "QuantizeLinear": _quantize_linear,
    "DequantizeLinear": _dequantize_linear,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
}

EXPORTERS: dict[type[Operation], Exporter] = {
    QuantizeCastOp: _export_qcast,
    DequantizeCastOp: _export_dcast,
    StorageCastOp: _export_scast,
    FakeQuantOp: _fake_quant,
}
