"""Importers of dynamic quantization: integers whose parameters are computed at run time, and their contractions.

DynamicQuantizeLinear becomes `nn.dynamic_quantize`. MatMulInteger and ConvInteger, which read its integers, become
contractions of bytes (`integer_products`). ONNX Runtime's operators in `com.microsoft` become sequences of these.
According to onnxruntime/contrib_ops/cpu/quantization/, MatMulIntegerToFloat and DynamicQuantizeMatMul
(dynamic_quantize_matmul.cc) multiply the i32 sum by `f32(a_scale * b_scale)` and then add the bias, each rounded to
f32; MatMulNBits (matmul_nbits.cc) dequantizes the blocks of the weights and multiplies floats. Its attribute
`accuracy_level`, which allows kernels to compute in less than f32, is ignored.
"""

from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.dynamic import ops as dynamic
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.onnx.export.emission import MICROSOFT
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators import integer_products
from qmlir.onnx.operators.quantization import UI8, dequantized, matrix_parameters, storage_of
from qmlir.onnx.operators.recurrent import LSTM_OPERANDS, recurrent
from qmlir.onnx.parameters import check_scales, with_live_scales

# --- Contractions with float results ----------------------------------------------------------------------------------


def _scaled(node: Node, total: SSAValue, scale: SSAValue, bias: SSAValue | None) -> SSAValue:
    """Multiplies sums by their scale and adds the bias."""
    real = node.add(elementwise.MulOp, node.cast(total, f32), scale).result
    return real if bias is None else node.add(elementwise.AddOp, real, bias).result


def _matmul_integer_to_float(node: Node) -> SSAValue:
    """Imports MatMulIntegerToFloat: `a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias`."""
    a = matrix_parameters(node, 0, 2, 4, is_right=False)
    b = matrix_parameters(node, 1, 3, 5, is_right=True)
    assert a.scale is not None
    assert b.scale is not None
    scale = node.add(elementwise.MulOp, a.spread(a.scale), b.spread(b.scale)).result
    return _scaled(node, integer_products.matrix_product(node, 4, 5), scale, node.optional(6))


def _dynamic_quantize_matmul(node: Node) -> SSAValue:
    """Imports DynamicQuantizeMatMul: `a, b, b_scale, b_zero_point, bias`; `a` is quantized by its range."""
    integers, scale, zero_point = node.add(dynamic.DynamicQuantizeOp, node.input()).results
    given = [node.optional(index) for index in (2, 3, 4)]
    product = replace(node, inputs=(integers, node.quantized(1), scale, given[0], zero_point, *given[1:]))
    return _matmul_integer_to_float(product)


# --- Block-wise weights of a few bits ---------------------------------------------------------------------------------


def _bits_of(packed: Array, bits: int) -> Array:
    """Unpacks unsigned numbers of `bits` bits from bytes along the last axis, lowest bits first."""
    places = np.arange(0, 8, bits, dtype=np.uint8)
    return ((packed[..., None] >> places) & ((1 << bits) - 1)).reshape(*packed.shape[:-1], -1).astype(np.uint8)


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
"""The input of the scale for each input of weights; the zero point is the next input."""


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
    "ConvInteger": integer_products.convolved,
    "MatMulInteger": integer_products.matrix_product,
    f"{MICROSOFT}::DynamicQuantizeMatMul": _dynamic_quantize_matmul,
    f"{MICROSOFT}::DynamicQuantizeLSTM": recurrent(DynamicLstmOp, LSTM_OPERANDS, "input_forget", _layer_weights),
    f"{MICROSOFT}::MatMulIntegerToFloat": _matmul_integer_to_float,
    f"{MICROSOFT}::MatMulNBits": _matmul_n_bits,
}
