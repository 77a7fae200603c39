"""Importers of dynamic quantization: integers with parameters computed at run time, and contractions of them.

DynamicQuantizeLinear becomes `nn.dynamic_quantize`. MatMulInteger and ConvInteger, which take its integers, become
contractions of bytes. ONNX Runtime's operators in `com.microsoft` become sequences of these. According to
onnxruntime/contrib_ops/cpu/quantization/, MatMulIntegerToFloat and DynamicQuantizeMatMul (dynamic_quantize_matmul.cc)
multiply the i32 sum by `f32(a_scale * b_scale)` and then add the bias, each rounded to f32; MatMulNBits
(matmul_nbits.cc) dequantizes the blocks of the weights and multiplies floats. Its attribute `accuracy_level`, which
allows kernels to compute in less than f32, is ignored.
"""

from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, Signedness, f32, i32
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.dynamic import ops as dynamic
from qmlir.dialects.nn.dynamic import products
from qmlir.dialects.nn.dynamic.products import IntegerFactor
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.onnx.export.emission import MICROSOFT
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.contraction import window_properties
from qmlir.onnx.operators.quantization import UI8, centered, convolution, dequantized, matrix_parameters, storage_of
from qmlir.onnx.operators.recurrent import LSTM_OPERANDS, recurrent
from qmlir.onnx.parameters import QParams, check_scales, with_live_scales

# --- Contractions of 8-bit integers whose zero points may be known only at run time -----------------------------------
#
# They become contractions of bytes (`qmlir.dialects.nn.dynamic.products`). If integers are wider than 8 bits, or a sum
# might overflow i32, zero points are subtracted before the multiplication.


def _factor(parameters: QParams, index: int, axis: int | None) -> IntegerFactor | None:
    """Returns input `index`, whose zero point may vary along `axis`; `None` if no type can represent the input."""
    node, value = parameters.node, parameters.node.input(index)
    storage = storage_of(node, value)
    if storage.width.data != 8:
        return None
    zero_point, integers = parameters.zero_point, node.graph.constant_value(value)
    known = np.zeros((), np.int64) if zero_point is None else node.graph.constant_value(zero_point)
    if known is None or known.size == 1:
        element = UniformQuantizedType.per_tensor(storage, f32, 1.0, 0 if known is None else int(known.item()))
        at_run_time = None if known is not None or zero_point is None else parameters.spread(zero_point)
        return IntegerFactor(value, element, at_run_time, integers)
    several = [position for position, n in enumerate(parameters.aligned(known.shape)) if n > 1]
    if axis is None or parameters.block or several != [axis]:
        return None
    element = UniformQuantizedType.per_axis(storage, f32, axis, np.ones(known.size), known.reshape(-1))
    return IntegerFactor(value, element, None, integers)


def _stored(node: Node, factor: IntegerFactor) -> SSAValue:
    """Returns a factor as a quantized value."""
    return node.graph.stored(factor.value, factor.element, [node.origin])


def _matrix_product(node: Node, a_zero_point: int = 2, b_zero_point: int = 3) -> SSAValue:
    """Returns the i32 matmul of inputs 0 and 1, whose zero points are in inputs `a_zero_point` and `b_zero_point`."""
    shapes = node.shape(0), node.shape(1)
    left = matrix_parameters(node, shapes[0], None, a_zero_point, is_right=False)
    right = matrix_parameters(node, shapes[1], None, b_zero_point, is_right=True)
    terms = shapes[1][-2] if len(shapes[1]) > 1 else DYNAMIC_INDEX
    terms = shapes[0][-1] if terms == DYNAMIC_INDEX and shapes[0] else terms
    are_matrices = min(map(len, shapes)) >= 2
    a = _factor(left, 0, None) if are_matrices else None
    b = _factor(right, 1, len(shapes[1]) - 1) if are_matrices else None
    if a is None or b is None or not products.fits(a, b, terms):
        factors = centered(left, node.input(0), i32), centered(right, node.input(1), i32)
        return node.add(contraction.MatMulOp, *factors).result
    stored = _stored(node, a), _stored(node, b)
    total = node.graph.plain(node.add(contraction.MatMulOp, *stored, result_element=products.SUM).result)
    return products.corrected_matmul(node, total, a, b)


def _convolved(node: Node) -> SSAValue:
    """Imports ConvInteger: convolves input 0 with input 1, whose zero points are inputs 2 and 3, to i32.

    Padding elements have the value of the data's zero point, so that they contribute nothing to the sums. If the zero
    point is known only at run time, a separate operation pads the data.
    """
    data, weight = QParams.of(node, None, 2), QParams.of(node, None, 3, node.shape(1))
    x, w = _factor(data, 0, None), _factor(weight, 1, 0)
    sizes = node.shape(1)[1:]
    terms = DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else int(np.prod(sizes))
    if x is None or w is None or w.zero_point is not None or not products.fits(x, w, terms):
        return convolution(node, centered(data, node.input(0), i32), centered(weight, node.input(1), i32))
    if x.zero_point is None:
        return node.graph.plain(convolution(node, _stored(node, x), _stored(node, w), None, products.SUM))
    properties = window_properties(node, sizes[1:]) | {"groups": node.attribute("group")}
    x = products.padded(node, x, properties.pop("pads", None) or ())
    total = node.add(
        contraction.ConvOp, _stored(node, x), _stored(node, w), None, **properties, result_element=products.SUM
    )
    return products.corrected_conv(node, node.graph.plain(total.result), x, w)


# --- Contractions with float results ----------------------------------------------------------------------------------


def _matmul_integer_to_float(node: Node) -> SSAValue:
    """Imports MatMulIntegerToFloat: `a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias`."""
    a = matrix_parameters(node, node.shape(0), 2, 4, is_right=False)
    b = matrix_parameters(node, node.shape(1), 3, 5, is_right=True)
    assert a.scale is not None
    assert b.scale is not None
    total = _matrix_product(node, 4, 5)
    return products.scaled(node, total, a.spread(a.scale), b.spread(b.scale), node.optional(6))


def _dynamic_quantize_matmul(node: Node) -> SSAValue:
    """Imports DynamicQuantizeMatMul: `a, b, b_scale, b_zero_point, bias`; `a` is quantized by its range."""
    integers, scale, zero_point = node.add(dynamic.DynamicQuantizeOp, node.input()).results
    given = [node.optional(index) for index in (2, 3, 4)]
    product = replace(node, inputs=(integers, node.quantized(1), scale, given[0], zero_point, *given[1:]))
    return _matmul_integer_to_float(product)


# --- Block-wise weights of a few bits ---------------------------------------------------------------------------------


def _bits_of(packed: Array, bits: int) -> Array:
    """Unpacks unsigned numbers of `bits` bits from bytes along the last axis, lowest bits first."""
    positions = np.arange(0, 8, bits, dtype=np.uint8)
    return ((packed[..., None] >> positions) & ((1 << bits) - 1)).reshape(*packed.shape[:-1], -1).astype(np.uint8)


def _known(node: Node, index: int, name: str) -> Array:
    found = node.constant(index)
    if found is None:
        raise node.unsupported(f"{name} (input {index}) must be constant")
    return found


def _rows(node: Node, index: int, name: str, rows: int, columns: int) -> Array:
    """Returns the elements of a constant as a matrix `[rows, columns]`."""
    found = _known(node, index, name)
    if found.size != rows * columns:
        raise node.error(f"{name} must have {rows} by {columns} elements, but got shape {list(found.shape)}")
    return found.reshape(rows, columns)


def _matmul_n_bits(node: Node) -> SSAValue:
    """Imports MatMulNBits: `a, b, scales, zero_points, g_idx, bias`; `b` is `[N, blocks, bytes]`, packed `[N, K]`."""
    bits, block = node.attribute("bits", 4), node.attribute("block_size", 0)
    inputs, outputs = node.attribute("K", 0), node.attribute("N", 0)
    if min(block, inputs, outputs) < 1:
        raise node.error("missing attribute K, N or block_size")
    if node.optional(4) is not None:
        raise node.unsupported("g_idx (a group order) is not supported")
    if bits not in (2, 4, 8):
        raise node.unsupported(f"weights must have 2, 4 or 8 bits, but got {bits}")
    if block * bits % 8:
        raise node.error(f"a block of {block} weights of {bits} bits must fill whole bytes")
    blocks = -(-inputs // block)
    integers = _bits_of(_rows(node, 1, "its weights", outputs, blocks * block * bits // 8), bits)
    scales = _rows(node, 2, "its scales", outputs, blocks).astype(np.float32)
    check_scales(node, scales, may_be_zero=True)
    points = np.full((outputs, blocks), 1 << (bits - 1), np.int64)
    if node.optional(3) is not None:
        if element_of(node.input(3)) != UI8:
            raise node.unsupported(f"zero points must be packed u8, but got {element_of(node.input(3))}")
        given = _rows(node, 3, "its zero points", outputs, -(-blocks * bits // 8))
        points = _bits_of(given, bits)[:, :blocks].astype(np.int64)
    storage = IntegerType(bits, Signedness.UNSIGNED)
    integers, scales = with_live_scales(integers, scales, points, lambda each: np.repeat(each, block, axis=1))
    element = UniformQuantizedType.per_block(storage, f32, {0: 1, 1: block}, scales.astype(np.float64), points)
    weights = dequantized(node, node.add_constant(integers, element))
    if blocks * block != inputs:
        weights = node.add(movement.SliceOp, weights, starts=[0], ends=[inputs], axes=[1]).result
    product = node.add(contraction.MatMulOp, node.cast(node.input(), f32), weights, transpose_b=True).result
    bias = node.optional(5)
    if bias is not None:
        product = node.add(elementwise.AddOp, product, node.cast(bias, f32)).result
    return node.cast(product, element_of(node.input()))


# --- A recurrent layer ------------------------------------------------------------------------------------------------

_SCALES = {1: 8, 2: 10}
"""For each weight input, the index of the input with its scale; the zero point is the next input."""


def _layer_weights(node: Node, index: int) -> SSAValue:
    """Returns weights `[D, terms, 4 * H]` as quantized `[D, 4 * H, terms]`, with parameters per direction or row."""
    weights = _known(node, index, "its weights")
    scales = _known(node, _SCALES[index], "the scales of its weights").astype(np.float64)
    points = _known(node, _SCALES[index] + 1, "the zero points of its weights")
    if weights.ndim != 3 or (points.size != 1 and points.shape != scales.shape):
        raise node.error(
            f"weights must have rank 3 and one scale and zero point per block, but got weights {list(weights.shape)}, "
            f"scales {list(scales.shape)} and zero points {list(points.shape)}"
        )
    check_scales(node, scales, may_be_zero=True)
    stored, points = np.ascontiguousarray(weights.swapaxes(1, 2)), np.broadcast_to(points, scales.shape)
    stored, scales = with_live_scales(
        stored, scales, points, lambda each: each.reshape(*each.shape, *[1] * (3 - each.ndim))
    )
    storage = storage_of(node, node.input(index))
    if scales.size == 1:
        element = UniformQuantizedType.per_tensor(storage, f32, float(scales.item()), int(points.item()))
    elif scales.ndim == 1:
        element = UniformQuantizedType.per_axis(storage, f32, 0, scales, points)
    elif len(scales) == 1:
        element = UniformQuantizedType.per_axis(storage, f32, 1, scales[0], points[0])
    else:
        points = points[..., None].astype(np.int64)
        element = UniformQuantizedType.per_block(storage, f32, {0: 1, 1: 1}, scales[..., None], points)
    return node.add_constant(stored, element)


IMPORTERS: dict[str, Importer] = {
    "ConvInteger": _convolved,
    "MatMulInteger": _matrix_product,
    f"{MICROSOFT}::DynamicQuantizeMatMul": _dynamic_quantize_matmul,
    f"{MICROSOFT}::DynamicQuantizeLSTM": recurrent(DynamicLstmOp, LSTM_OPERANDS, "input_forget", _layer_weights),
    f"{MICROSOFT}::MatMulIntegerToFloat": _matmul_integer_to_float,
    f"{MICROSOFT}::MatMulNBits": _matmul_n_bits,
}
