"""Exports float operators between DequantizeLinear and QuantizeLinear, and decides when that is exact.

Data movement of quantized values is exported on the stored integers, or between casts that cancel out. If ONNX Runtime
has no kernel for the integer type, the integers are moved as floats that represent them exactly.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.requantization import Mode
from qmlir.arithmetic.schemes import are_powers_of_two
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import evaluate as elementwise_evaluators
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.evaluation import requantization_of, through_float, uniform_of
from qmlir.dialects.nn.evaluators import QUANTIZED
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import Granularity, StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import arguments_by, evaluate, operand_layout
from qmlir.onnx.export.casts import (
    dequantize,
    has_cast,
    is_narrower,
    kept_apart,
    magnitude_of,
    per_tensor,
    quantize,
    uniform,
)
from qmlir.onnx.export.emission import MATRIX, Exporter, NodeEmitter, container
from qmlir.onnx.export.integer import EXACT_F32, is_function, product_of
from qmlir.onnx.export.qlinear import agrees_with_qlinear, is_whole, qlinear_types, saturated_storage

# Operators that ONNX Runtime fuses, unless its optimizations are off.
#
# ONNX Runtime replaces operators between casts with integer operators if the values have 8 bits, a full storage range
# and a single scale (core/optimizer/qdq_transformer/selectors_actions/qdq_selectors.cc). Some of these compute the same
# integers as qmlir. Others don't: QLinearAdd and QLinearMul add the zero point before rounding
# (core/mlas/lib/qladd.cpp, qlmul.cpp), and QLinearSoftmax adds up integers from a table
# (contrib_ops/cpu/quantization/qlinear_softmax.cc).

OWN_ARITHMETIC: tuple[type[Operation], ...] = (
    normalization.SoftmaxOp, activations.SigmoidOp, pooling.AveragePoolOp, elementwise.AddOp, elementwise.MulOp,
)  # fmt: skip
"""Operations for which ONNX Runtime's fused operators compute different integers than floats between casts."""


def is_fused_alike(op: NnOp) -> bool:
    """Returns True if ONNX Runtime replaces an operation between casts with one that computes the same integers."""
    return requantization_of(op)[0] is Mode.F32 and qlinear_types(op) is not None


def is_fused_otherwise(op: NnOp) -> bool:
    """Returns True if ONNX Runtime may replace an operation between casts with one that computes different integers."""
    values = [value for value in (*op.operands, *op.results) if isinstance(element_of(value), UniformQuantizedType)]
    if not isinstance(op, OWN_ARITHMETIC) or not all(map(is_whole, values)):
        return False
    return not (isinstance(op, elementwise.AddOp | elementwise.MulOp) and agrees_with_qlinear(op))


# Operations for which floats between casts certainly give the same integers.
#
# Floats between casts round the real operands and their sums to f32, whereas requantizing an exact integer rounds once.
# At or near a tie, the two results may differ by one quantization step. If the operands have few bits, all combinations
# of their values are tried.

MOST_TRIED_BITS = 16
"""The largest total width of operands, in bits, for which all combinations of values are tried."""

_FEW_BITS = 8

FUNCTION_ERROR = 1e-6
"""The largest error of a runtime's f32 functions, absolute below 1 and relative above."""

ROUNDED_ONCE: tuple[type[Operation], ...] = (
    activations.ReluOp, activations.LeakyReluOp, activations.PReluOp, activations.ThresholdedReluOp,
    elementwise.AbsOp, elementwise.NegOp, elementwise.ClipOp, elementwise.FloorOp, elementwise.CeilOp,
    elementwise.RoundOp, elementwise.SignOp, elementwise.SqrtOp, elementwise.AddOp, elementwise.SubOp,
    elementwise.MulOp, elementwise.DivOp, elementwise.MinOp, elementwise.MaxOp, elementwise.EqualOp,
    elementwise.GreaterOp, elementwise.GreaterOrEqualOp, elementwise.LessOp, elementwise.LessOrEqualOp,
    elementwise.ReciprocalOp,
)  # fmt: skip
"""Operations whose float results are defined by IEEE 754 and therefore equal in every runtime."""


_PLAIN = elementwise_evaluators.EVALUATORS


def _stored(op: Operation) -> list[SSAValue]:
    return [value for value in (*op.operands, *op.results) if isinstance(element_of(value), StoredType)]


def write_inside(
    out: NodeEmitter,
    op: NnOp,
    exporter: Exporter,
    hint: str,
    before: Callable[[SSAValue], str],
    after: Callable[[SSAValue, str, str], None],
    carrier: Attribute | None = None,
) -> None:
    """Exports `op` on tensors of type `carrier`, by default of the expressed types, instead of on stored integers.

    `before` converts an operand and returns the name of the converted tensor. `after` converts a result back: its
    arguments are the value, the name of the converted tensor, and the name of the result. `hint` becomes part of the
    names of the converted tensors.
    """
    converted = {value: carrier or uniform(out, element_of(value)).expressed_type for value in _stored(op)}
    names = {**out.names, **{value: before(value) for value in dict.fromkeys(op.operands) if value in converted}}
    outputs = list(out.outputs)
    results = [result for result in op.results if result in converted]
    for result in results:
        outputs[result.index] = out.fresh(hint, f"_{result.index}")
    elements = {**out.elements, **converted}
    exporter(replace(out, names=names, outputs=outputs, elements=elements, prefix=out.prefix or out.outputs[0]), op)
    for result in results:
        after(result, outputs[result.index], out.outputs[result.index])


def write_between_casts(out: NodeEmitter, op: NnOp, exporter: Exporter) -> None:
    """Exports an operation as dequantization of the operands, a float operator, and quantization of the results."""
    right = _transposed_before(out, op)

    def before(value: SSAValue) -> str:
        if right is not None and value is op.operands[1] and value is not op.operands[0]:
            return right
        name = dequantize(out, out.name(value), value, uniform(out, element_of(value)))
        return _hidden(out, op, value, name, shape_of(value))

    def after(value: SSAValue, name: str, output: str) -> None:
        element = uniform(out, element_of(value))
        if out.settings.exact is not False and is_fused_otherwise(op):
            name = kept_apart(out, name, value, element)
        if is_narrower(element) and is_fused_alike(op):
            # Limits in floats between the operator and its cast would prevent the fusion.
            saturated_storage(out, quantize(out, name, value, whole_storage(element)), element)
        else:
            quantize(out, name, value, element, output)

    def product(inner: NodeEmitter, op: NnOp) -> None:
        data, _, *bias = inner.inputs
        name = inner.node("MatMul", [data, right or ""], None if bias else inner.output)
        if bias:
            inner.node("Add", [name, *bias], inner.output)

    write_inside(out, op, exporter if right is None else product, "real", before, after)


def with_hidden_weights(out: NodeEmitter, op: Operation) -> NodeEmitter:
    """Returns `out` with a Reshape after the DequantizeLinear of the constant weights of a float matmul."""
    if not isinstance(op, contraction.MatMulOp | contraction.FullyConnectedOp):
        return out
    right = op.operands[1]
    if not isinstance(right.owner, DequantizeCastOp) or constant_array(right.owner.input) is None:
        return out
    name = _hidden(out, op, right, out.name(right), shape_of(right))
    return replace(out, names={**out.names, right: name})


def _hidden(out: NodeEmitter, op: Operation, value: SSAValue, name: str, shape: Sequence[int]) -> str:
    """Adds a Reshape to the operand's own shape if ONNX Runtime must not fuse its DequantizeLinear; returns the name.

    ONNX Runtime doesn't look through a Reshape. In the shape, 0 keeps a dynamic size.
    """
    is_refused = value not in out.packed and is_hidden_factor(op, value)
    if not is_refused and (out.settings.exact is False or not _is_requantized_inside(op, value)):
        return name
    sizes = [0 if size == DYNAMIC_INDEX else size for size in shape]
    return out.node("Reshape", [name, out.constant(np.array(sizes, np.int64))])


def is_hidden_factor(op: Operation, value: SSAValue) -> bool:
    """Returns True if ONNX Runtime would fuse the factor `value` into an operator that rejects its parameters.

    ONNX Runtime replaces a contraction of dequantized 8-bit values with QLinearConv or QLinearMatMul. Neither supports
    block-wise parameters, and QLinearMatMul supports per-column scales only for a matrix (`IsBQuantParamSupported` in
    core/providers/cpu/quantization/matmul_integer_base.h), so running the model would fail.
    """
    element = element_of(value)
    if not isinstance(op, contraction.ContractionOp) or not isinstance(element, UniformQuantizedType):
        return False
    if element.granularity is Granularity.AXIS:
        return isinstance(op, contraction.MatMulOp) and len(shape_of(value)) > MATRIX
    return element.granularity is Granularity.BLOCK


def _is_requantized_inside(op: Operation, value: SSAValue) -> bool:
    """Returns True for weights that ONNX Runtime moves into a MatMulNBits, which rounds the other factor to 8 bits.

    ONNX Runtime does so for a float matmul whose right factor is a dequantized constant, unless it fuses all casts
    around the matmul.
    """
    is_product = isinstance(op, contraction.MatMulOp | contraction.FullyConnectedOp)
    return is_product and value is op.operands[1] and not is_fused_alike(op)


def _transposed_before(out: NodeEmitter, op: Operation) -> str | None:
    """Transposes the right factor before its DequantizeLinear; returns the name of the dequantized factor, or `None`.

    If the Transpose came after the DequantizeLinear, ONNX Runtime would add casts around it, fail on casts of signed
    integers, and not fuse the matmul into a QLinearMatMul. Packed and block-wise factors are nevertheless transposed
    after it, because not every runtime supports Transpose of 4-bit integers.
    """
    is_transposed = isinstance(op, contraction.MatMulOp) and op.is_rhs_transposed
    if not is_transposed and not isinstance(op, contraction.FullyConnectedOp):
        return None
    left, right = op.operands[:2]
    element, rank = element_of(right), len(shape_of(right))
    if not isinstance(element, UniformQuantizedType):
        return None
    if rank <= MATRIX and len(shape_of(left)) == MATRIX:
        return None  # a Gemm
    if right in out.packed or element.granularity is Granularity.BLOCK:
        return None
    if element.granularity is Granularity.AXIS and element.axis >= rank - 2:
        element = element.along(2 * rank - 3 - element.axis)
    real = dequantize(out, out.transposed(out.name(right), rank), right, element)
    *outer, row, column = shape_of(right)
    return _hidden(out, op, right, real, [*outer, column, row])


def can_be_between_casts(op: Operation) -> bool:
    """Returns True if QuantizeLinear and DequantizeLinear support the types of the operation."""
    results = [element_of(value) for value in op.results]
    if any(isinstance(each, StoredType) and each.bits > CAST_BITS for each in results):
        return False
    return all(
        isinstance(element := element_of(value), UniformQuantizedType) and has_cast(element, shape_of(value))
        for value in _stored(op)
    )


def is_certain(op: NnOp) -> bool:
    """Returns True if floats between casts produce the integers of the operation for all operand values."""
    if requantization_of(op)[0] is not Mode.F32:
        return False
    if isinstance(op, contraction.ContractionOp):
        return _is_exact_contraction(op)
    if not isinstance(op, ROUNDED_ONCE):
        return _is_far_from_ties(op)
    if type(op) not in QUANTIZED:
        return True  # floats between casts define it
    values = [value for value in (*op.operands, *op.results) if isinstance(element_of(value), UniformQuantizedType)]
    if not all(map(per_tensor, values)):
        return False
    operands = [element for value in dict.fromkeys(op.operands) if (element := per_tensor(value)) is not None]
    return sum(each.bits for each in operands) <= MOST_TRIED_BITS and _agrees_everywhere(op)


def _is_far_from_ties(op: NnOp) -> bool:
    """Returns True if no value of a function of few bits is near a tie, so that every runtime rounds it alike."""
    if not is_function(op) or type(op) in QUANTIZED or type(op) not in _PLAIN:
        return False
    source, result = per_tensor(op.operands[0]), per_tensor(op.results[0])
    if source is None or result is None or {source.expressed_type, result.expressed_type} != {f32}:
        return False
    if source.bits > _FEW_BITS or result.bits > MOST_TRIED_BITS:
        return False
    stored = np.arange(source.storage_min, source.storage_max + 1) - source.zero_point
    try:
        (reals,) = _PLAIN[type(op)](op, stored.astype(np.float32) * np.float32(source.scale))
    except InterpretationError:
        return False
    reals = np.asarray(reals, np.float64)
    steps, error = reals / result.scale, FUNCTION_ERROR * np.maximum(np.abs(reals), 1) / result.scale
    if not np.isfinite(steps).all():
        return False
    low, high = result.storage_min - result.zero_point - 1, result.storage_max - result.zero_point + 1
    return bool(((steps < low) | (steps > high) | (np.abs(steps - np.floor(steps) - 0.5) > error)).all())


def _agrees_everywhere(op: NnOp) -> bool:
    """Returns True if integers and floats between casts agree for all values of the operands."""
    elements = {value: uniform_of(value) for value in op.operands}
    grid = np.ix_(*(np.arange(each.storage_min, each.storage_max + 1) for each in elements.values()))
    values = dict(zip(elements, grid, strict=True))
    arrays = [values[value] for value in op.operands]
    try:
        ours = evaluate(op, arrays)
        floats = through_float(_PLAIN[type(op)])(op, *arguments_by(operand_layout(op), arrays))
    except InterpretationError:
        return False
    assert ours is not None
    return all(np.array_equal(a, b) for a, b in zip(ours, floats, strict=True))


def _is_exact_contraction(op: contraction.ContractionOp) -> bool:
    """Returns True if scales are powers of two and sums below 2^24: floats are exact until the one rounding."""
    elements = [element_of(value) for value in (*op.operands, *op.results)]
    known = [each for each in elements if isinstance(each, UniformQuantizedType)]
    if len(known) < len(elements) or known[1].granularity is Granularity.BLOCK:
        return False
    x, w = known[:2]
    if not all(are_powers_of_two(each.scales.astype(np.float32)).all() for each in known):
        return False
    terms = shape_of(op.operands[0])[-1:] if isinstance(op, contraction.MatMulOp) else shape_of(op.operands[1])[1:]
    bound = magnitude_of(x) * magnitude_of(w) * product_of(terms, EXACT_F32)
    if len(op.operands) > 2:
        bias = constant_array(op.operands[2])
        bound += EXACT_F32 if bias is None else int(np.abs(bias.astype(np.int64)).max(initial=0))
    spread = math.log2(w.scales.max() / w.scales.min())
    return bound * 2**spread < EXACT_F32


# Data movement

DIRECT: tuple[type[Operation], ...] = (
    movement.ReshapeOp, movement.SqueezeOp, movement.UnsqueezeOp, movement.TransposeOp, movement.SliceOp,
    movement.ConcatOp, movement.SplitOp, shapes.ExpandOp, shapes.TileOp, indexing.GatherOp, indexing.GatherElementsOp,
    indexing.GatherNDOp, indexing.ReverseSequenceOp,
)  # fmt: skip
"""Operations whose ONNX operators support integers of any width in every runtime."""

CAST_BITS = 16
"""The largest width, in bits, of integers that dequantization followed by quantization restores exactly."""


def between_equal_casts(op: Operation) -> bool:
    """Returns True if the operation can be exported between casts that cancel out."""
    return can_be_between_casts(op) and all(uniform_of(value).bits <= CAST_BITS for value in _stored(op))


def write_between_equal_casts(out: NodeEmitter, op: NnOp, exporter: Exporter) -> None:
    """Exports an operation between a dequantization and a quantization with the same parameters."""

    def own(value: SSAValue) -> UniformQuantizedType:
        return uniform(out, element_of(value))

    def after(value: SSAValue, name: str, output: str) -> None:
        quantize(out, name, value, whole_storage(own(value)), output)

    def before(value: SSAValue) -> str:
        return dequantize(out, out.name(value), value, own(value))

    write_inside(out, op, exporter, "moved", before, after)


def whole_storage(element: UniformQuantizedType) -> UniformQuantizedType:
    """Returns `element` with the whole range of its container type, for values already in the storage range."""
    held = container(element)
    storage = UniformQuantizedType.per_tensor(held, element.expressed_type, 1.0).parameters[:3]
    return UniformQuantizedType.new([*storage, *element.parameters[3:]])


def write_moved(out: NodeEmitter, op: NnOp, exporter: Exporter) -> None:
    """Exports an operation on the stored integers, or on floats that represent them."""
    element = next(element_of(value) for value in _stored(op))
    assert isinstance(element, StoredType)
    if isinstance(op, shapes.TriluOp) or (isinstance(op, shapes.PadOp) and op.value is None):
        _write_around_zero_point(out, op, exporter, element)
    elif isinstance(op, DIRECT):
        exporter(out, op)
    else:
        _write_as(out, op, exporter, f32 if element.bits <= CAST_BITS else f64)


def _write_as(out: NodeEmitter, op: NnOp, exporter: Exporter, carrier: Attribute, offset: str = "") -> None:
    """Exports an operation on integers held as `carrier`, minus `offset`."""

    def before(value: SSAValue) -> str:
        name = out.cast(out.name(value), carrier)
        return out.node("Sub", [name, offset]) if offset else name

    def after(value: SSAValue, name: str, output: str) -> None:
        element = element_of(value)
        assert isinstance(element, StoredType)
        out.cast(out.node("Add", [name, offset]) if offset else name, container(element), output)

    write_inside(out, op, exporter, "moved", before, after, carrier)


def _write_around_zero_point(out: NodeEmitter, op: NnOp, exporter: Exporter, element: StoredType) -> None:
    """Exports an operation that adds zeros on integers minus their zero point."""
    carrier = f32 if element.bits <= CAST_BITS else f64 if isinstance(op, shapes.PadOp) else i64
    offset = ""
    if isinstance(element, UniformQuantizedType) and element.zero_points.any():
        point = element.zero_points.flat[0]
        if (element.zero_points != point).any():
            raise out.error(f"pads {element}, which must have a single zero point")
        offset = out.constant(point, carrier)
    _write_as(out, op, exporter, carrier, offset)
