"""Exports quantized operations as QLinear operators of ONNX and ONNX Runtime that compute the same integers.

- QLinearConv, QLinearMatMul, QGemm: for 8 bits, if data and result have the same signedness and the weights a single
  zero point.
- QLinearGlobalAveragePool: for 8 bits, if data and result have the same signedness.
- QLinearAdd, QLinearMul: if the results agree for all pairs of operand values, because they add the zero point before
  rounding.
- QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax and QLinearAveragePool compute different floats or round in another
  order, so they are not used: functions of one value become lookup tables, and averages become exact sums.
- An operation in the mode `qlinear` is defined by one of these operators, so it is exported as that operator in every
  format.
- MatMulNBits: for floats by constant weights of 2, 4 or 8 bits, in blocks of 16 to 256 or with a scale per channel.
- QLinearConcat and QLinearWhere are not needed: all operands have the same type, so integers are moved unchanged.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue, Use

from qmlir.arithmetic.arrays import Array, fused_f32
from qmlir.arithmetic.requantization import Affine, Mode, Sum, rounded
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.evaluation import requantization_of
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.formats.one_to_one import attributes_of
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import evaluate
from qmlir.onnx.export.casts import is_narrower, per_tensor
from qmlir.onnx.export.emission import MATRIX, MICROSOFT, WINDOWS, NodeEmitter, container

UI8 = IntegerType(8, Signedness.UNSIGNED)


def _element(value: SSAValue) -> UniformQuantizedType | None:
    """Returns the type of a value that QLinear operators support (8 bits, f32), or `None`."""
    element = element_of(value)
    if not isinstance(element, UniformQuantizedType) or container(element).width.data != 8:
        return None
    return element if element.expressed_type == f32 else None


def _single(value: SSAValue) -> UniformQuantizedType | None:
    return _element(value) and per_tensor(value)


def _alike(*values: SSAValue) -> list[UniformQuantizedType] | None:
    """Returns the types of values that each have a single scale, and of all of one signedness; otherwise `None`."""
    found = [element for value in values if (element := _single(value)) is not None]
    return found if len(found) == len(values) and len({each.is_signed for each in found}) == 1 else None


def _parameters(out: NodeEmitter, element: UniformQuantizedType) -> list[str]:
    return [out.constant(element.scales, f32), out.constant(element.zero_points, container(element))]


def _factors(op: NnOp, x: SSAValue, w: SSAValue) -> list[UniformQuantizedType] | None:
    """Returns the types of data, weights and result if QLinear operators support them."""
    ends, weight = _alike(x, op.results[0]), _element(w)
    if ends is None or weight is None or weight.granularity is Granularity.BLOCK:
        return None
    data, result = ends
    if (weight.zero_points != weight.zero_points.flat[0]).any() or (data.is_signed and not weight.is_signed):
        return None
    return [data, weight, result]


def qlinear_types(op: Operation) -> list[UniformQuantizedType] | None:
    """Returns the types of the operands and the result of a contraction or mean, or `None`.

    With these types, a QLinear operator computes the same integers.
    """
    match op:
        case contraction.FullyConnectedOp() if len(shape_of(op.data)) != MATRIX:
            return None
        case contraction.ConvOp() | contraction.FullyConnectedOp():
            return _factors(op, op.data, op.weight)
        case contraction.MatMulOp():
            found = _factors(op, op.lhs, op.rhs)
            is_by_column = found is not None and found[1].granularity is Granularity.AXIS
            return None if is_by_column and len(shape_of(op.rhs)) != MATRIX else found
        case pooling.GlobalAveragePoolOp():
            return _alike(op.data, op.result)
        case _:
            return None


def is_whole(value: SSAValue) -> bool:
    """Returns True if a value has 8 bits, a single scale, and the full storage range."""
    element = _single(value)
    return element is not None and not is_narrower(element)


def saturated_storage(out: NodeEmitter, name: str, element: UniformQuantizedType) -> str:
    """Clamps integers of the container type to the narrower storage range of `element`."""
    limits = [out.constant(each, container(element)) for each in (element.storage_min, element.storage_max)]
    return out.node("Clip", [name, *limits], out.output)


def _product_or_mean(out: NodeEmitter, op: NnOp) -> bool:
    found = qlinear_types(op)
    if found is None:
        return False
    *factors, result = found
    names = [out.name(value) for value in op.operands[: len(factors)]]
    if isinstance(op, contraction.MatMulOp) and op.is_rhs_transposed:
        names[1] = out.transposed(names[1], len(shape_of(op.rhs)))
    read = [part for name, each in zip(names, factors, strict=True) for part in (name, *_parameters(out, each))]
    given = _parameters(out, result)
    output = out.fresh("whole") if is_narrower(result) else out.output
    match op:
        case contraction.ConvOp():
            out.node("QLinearConv", [*read, *given, out.name(op.bias)], output, **attributes_of(op, WINDOWS))
        case contraction.MatMulOp():
            out.node("QLinearMatMul", [*read, *given], output)
        case contraction.FullyConnectedOp():
            out.node("QGemm", [*read, out.name(op.bias), *given], output, domain=MICROSOFT, transB=1)
        case _:
            out.node("QLinearGlobalAveragePool", [*read, *given], output, domain=MICROSOFT, channels_last=0)
    if output != out.output:
        saturated_storage(out, output, result)
    return True


# Matmuls of floats by stored weights
#
# MatMulNBits holds the weights as `[N, blocks, bytes]`, unsigned and lowest bits first. Its `accuracy_level` 1 computes
# in f32; without it, ONNX Runtime rounds the activations to 8 bits (contrib_ops/cpu/quantization/matmul_nbits.cc).

_LEAST_BLOCK, _MOST_BLOCK = 16, 256
_IN_F32 = 1


@dataclass(frozen=True)
class StoredFactor:
    """Constant weights `[N, K]`, with scales and zero points `[N, blocks]`, that a float matmul dequantizes."""

    cast: DequantizeCastOp
    codes: Array
    scales: Array
    zero_points: Array
    bits: int

    @property
    def block(self) -> int:
        """The number of weights that share a scale."""
        return self.codes.shape[1] // self.scales.shape[1]


def stored_factor(op: Operation) -> StoredFactor | None:
    """Returns the weights of `op` if it is a float matmul that MatMulNBits supports, or `None`."""
    if not isinstance(op, contraction.MatMulOp | contraction.FullyConnectedOp):
        return None
    cast, element = op.operands[1].owner, element_of(op.operands[0])
    held = element_of(cast.input) if isinstance(cast, DequantizeCastOp) else None
    codes = constant_array(cast.input) if isinstance(cast, DequantizeCastOp) else None
    if codes is None or codes.ndim != MATRIX or element != f32 or not isinstance(held, UniformQuantizedType):
        return None
    assert isinstance(cast, DequantizeCastOp)
    scales, points = (np.broadcast_to(each, codes.shape) for each in broadcast_parameters(held, codes.shape))
    is_rows = isinstance(op, contraction.FullyConnectedOp) or op.is_rhs_transposed
    rows, scales, points = (each if is_rows else each.T for each in (codes.astype(np.int64), scales, points))
    blocks = dict(zip(held.axes, held.block_sizes, strict=True))
    block = blocks.get(1 if is_rows else 0, math.gcd(rows.shape[1], _MOST_BLOCK))
    is_supported = held.bits in (2, 4, 8) and _LEAST_BLOCK <= block <= _MOST_BLOCK and not block & (block - 1)
    if not is_supported or rows.shape[1] % block:
        return None
    middle = 1 << (held.bits - 1) if held.is_signed else 0
    return StoredFactor(cast, rows + middle, scales[:, ::block], points[:, ::block] + middle, held.bits)


def _is_absorbed(use: Use) -> bool:
    return use.index == 1 and stored_factor(use.operation) is not None


def absorbed_weights(function: FuncOp) -> set[Operation]:
    """Returns the constants and casts of `function` that only MatMulNBits nodes stand for."""
    casts = (op for op in function.walk() if isinstance(op, DequantizeCastOp) and op.result.first_use is not None)
    found = {cast for cast in casts if all(_is_absorbed(use) for use in cast.result.uses)}
    held = (cast.operands[0] for cast in found)
    owners = (value.owner for value in held if all(use.operation in found for use in value.uses))
    return {*found, *(owner for owner in owners if isinstance(owner, Operation))}


def _bytes(codes: Array, bits: int) -> Array:
    """Packs unsigned codes along the last axis, lowest bits first; the last byte of a row is filled with zeros."""
    each = 8 // bits
    filled = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % each)])
    parts = filled.astype(np.uint8).reshape(*filled.shape[:-1], -1, each) << np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(parts, -1)


def write_n_bits(out: NodeEmitter, op: NnOp) -> bool:
    """Exports a float matmul by stored weights as MatMulNBits. Returns False if that is not supported."""
    found = stored_factor(op)
    if found is None:
        return False
    rows, terms = found.codes.shape
    weights = _bytes(found.codes.reshape(rows, -1, found.block), found.bits)
    parameters = [
        out.constant(weights, UI8),
        out.constant(found.scales.astype(np.float32).reshape(-1), f32),
        out.constant(_bytes(found.zero_points, found.bits).reshape(-1), UI8),
    ]
    bias = [""] + [out.name(value) for value in op.operands[2:]]
    out.node(
        "MatMulNBits", [out.name(op.operands[0]), *parameters, *bias], out.output, domain=MICROSOFT,
        K=terms, N=rows, bits=found.bits, block_size=found.block, accuracy_level=_IN_F32,
    )  # fmt: skip
    return True


# Sums and products of two operands


def _sums(a: Array, b: Array, left: Affine, right: Affine, result: Affine) -> list[Array]:
    """Returns the sums of QLinearAdd, with fused multiply-adds in both orders of the operands, and without."""
    x, y = _moved(a, left), _moved(b, right)
    point = np.float32(result.zero_point)
    return [
        Sum.of(left, right, result).apply(a, b),
        Sum.of(right, left, result).apply(b, a),
        (x * left.scale + y * right.scale) / result.scale + point,
        point + (left.scale / result.scale * x + right.scale / result.scale * y),
    ]


def _products(a: Array, b: Array, left: Affine, right: Affine, result: Affine) -> list[Array]:
    """Returns the products of QLinearMul, with and without fused multiply-adds."""
    x, y = _moved(a, left), _moved(b, right)
    ratio = left.scale * right.scale / result.scale
    point = np.float32(result.zero_point)
    return [
        fused_f32(x * y, ratio, point),
        x * y * ratio + point,
        (x * left.scale) * (y * right.scale) / result.scale + point,
    ]


def _moved(stored: Array, parameters: Affine) -> Array:
    """Returns stored integers minus their zero point."""
    return stored.astype(np.float32) - np.float32(parameters.zero_point)


Formulas = Callable[[Array, Array, Affine, Affine, Affine], list[Array]]

_FORMULAS: dict[type[Operation], Formulas] = {elementwise.AddOp: _sums, elementwise.MulOp: _products}


def agrees_with_qlinear(op: elementwise.BinaryOp) -> bool:
    """Returns True if QLinearAdd or QLinearMul computes the same integers for all pairs of operand values."""
    elements = [element for value in (op.lhs, op.rhs, op.result) if (element := _single(value)) is not None]
    if len(elements) != 3:
        return False
    stored = [np.arange(each.storage_min, each.storage_max + 1) for each in elements]
    a, b = stored[0][:, None], stored[1][None, :]
    ours = evaluate(op, [a, b])
    assert ours is not None
    left, right, result = (Affine(np.float32(each.scale), each.zero_point) for each in elements)
    limits = elements[2].storage_min, elements[2].storage_max
    with np.errstate(all="ignore"):
        theirs = _FORMULAS[type(op)](a, b, left, right, result)
        return all(np.array_equal(rounded(each, limits), ours[0]) for each in theirs)


def _pairwise(out: NodeEmitter, op: elementwise.BinaryOp) -> bool:
    """Exports an operation as one that adds the zero point before rounding, if it computes the same integers."""
    elements = _alike(op.lhs, op.rhs, op.result)
    if elements is None or is_narrower(elements[2]) or op.lhs is op.rhs or not agrees_with_qlinear(op):
        return False
    _as_operator(out, op, _SOURCES[type(op)][0], out.output)
    return True


QLINEAR: dict[type[Operation], Callable[[NodeEmitter, Any], bool]] = {
    **dict.fromkeys((contraction.ConvOp, contraction.MatMulOp, contraction.FullyConnectedOp), _product_or_mean),
    pooling.GlobalAveragePoolOp: _product_or_mean,
    **dict.fromkeys((elementwise.AddOp, elementwise.MulOp), _pairwise),
}


# Operations of the mode `qlinear`


def _as_operator(out: NodeEmitter, op: NnOp, op_type: str, output: str, **attributes: Any) -> None:
    inputs = [name for value in op.operands for name in (out.name(value), *_own_parameters(out, value))]
    out.node(op_type, [*inputs, *_own_parameters(out, op.results[0])], output, domain=MICROSOFT, **attributes)


def _own_parameters(out: NodeEmitter, value: SSAValue) -> list[str]:
    element = _single(value)
    if element is None:
        raise out.error(f"requires 8-bit values with one scale for ONNX Runtime's operators, but got {value.type}")
    return _parameters(out, element)


_SOURCES: dict[type[Operation], tuple[str, str, dict[str, int]]] = {
    elementwise.AddOp: ("QLinearAdd", "", {}),
    elementwise.MulOp: ("QLinearMul", "", {}),
    activations.SigmoidOp: ("QLinearSigmoid", "", {}),
    normalization.SoftmaxOp: ("QLinearSoftmax", "axis", {"opset": 13}),
    pooling.AveragePoolOp: (
        "QLinearAveragePool", "kernel_shape=kernel strides pads ceil_mode count_include_pad", {"channels_last": 0}
    ),
}  # fmt: skip
"""For each operation: the operator, the attributes taken from properties, and other attributes."""


def write_source(out: NodeEmitter, op: NnOp) -> None:
    """Exports an operation in the mode `qlinear` as the ONNX Runtime operator that defines it, in any format."""
    elements = [element_of(value) for value in (*op.operands, *op.results)]
    known = [element for element in elements if isinstance(element, UniformQuantizedType)]
    if len({element.is_signed for element in known}) != 1:
        found = ", ".join(map(str, known))
        raise out.error(f"requires operands of one signedness for ONNX Runtime's operators, but got {found}")
    if type(op) not in _SOURCES:
        raise out.error(f"requantizes in mode {Mode.QLINEAR}, for which ONNX Runtime has no operator")
    if isinstance(op, pooling.AveragePoolOp) and any(step != 1 for step in op.windows.dilations):
        raise out.error(f"has dilations {list(op.windows.dilations)}, which QLinearAveragePool does not support")
    op_type, names, others = _SOURCES[type(op)]
    output = out.fresh("whole") if is_narrower(known[-1]) else out.output
    _as_operator(out, op, op_type, output, **attributes_of(op, names), **others)
    if output != out.output:
        saturated_storage(out, output, known[-1])


def write_qlinear(out: NodeEmitter, op: NnOp) -> bool:
    """Exports an operation as a QLinear operator if one computes the same integers; otherwise returns False."""
    write = QLINEAR.get(type(op))
    return write is not None and requantization_of(op)[0] is Mode.F32 and write(out, op)
