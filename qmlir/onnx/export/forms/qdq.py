"""A float operator between DequantizeLinear and QuantizeLinear, and whether that gives the integers of the module."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode
from qmlir.arithmetic.schemes import are_powers_of_two
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import evaluate as elementwise_evaluators
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.evaluation.parameters import requantization_of, through_float
from qmlir.dialects.nn.normalization import ops as softmax
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.quantized_evaluators import QUANTIZED
from qmlir.dialects.quant.types import Granularity, StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import arguments_by, evaluate, operand_layout
from qmlir.onnx.export.emission import MATRIX, Exporter, Outgoing, container
from qmlir.onnx.export.forms.arithmetic import EXACT_F32, magnitude_of, product_of
from qmlir.onnx.export.forms.casts import (
    WIDE_BITS,
    dequantize,
    has_cast,
    is_narrower,
    kept_apart,
    quantize,
    uniform,
)
from qmlir.onnx.export.forms.data_movement import whole_storage
from qmlir.onnx.export.forms.integer import is_function
from qmlir.onnx.export.forms.qlinear import agrees_with_qlinear, has_qlinear_types, is_whole, saturated_storage

# What ONNX Runtime makes of an operator between DequantizeLinear and QuantizeLinear, unless its optimizations are
# off.
#
# Where values have 8 bits, all of their storage and one scale, it puts operators on integers in the place of the
# casts (core/optimizer/qdq_transformer/selectors_actions/qdq_selectors.cc). Some of these compute our integers.
# Others have an arithmetic of their own: QLinearAdd and QLinearMul add the zero point before they round
# (core/mlas/lib/qladd.cpp, qlmul.cpp), QLinearSoftmax sums up integers of a table
# (contrib_ops/cpu/quantization/qlinear_softmax.cc).

OWN_ARITHMETIC: tuple[type[Operation], ...] = (
    softmax.SoftmaxOp, activations.SigmoidOp, pooling.AveragePoolOp, elementwise.AddOp, elementwise.MulOp,
)  # fmt: skip
"""Operations whose fused operators compute in another way than floats between casts."""


def is_fused_alike(op: NnOp) -> bool:
    """Whether an operation between casts becomes an operator that computes the same integers."""
    return requantization_of(op)[0] is Mode.F32 and has_qlinear_types(op)


def is_fused_otherwise(op: NnOp) -> bool:
    """Whether an operation between casts becomes an operator that may give other integers."""
    values = [value for value in (*op.operands, *op.results) if isinstance(element_of(value), UniformQuantizedType)]
    if not isinstance(op, OWN_ARITHMETIC) or not all(map(is_whole, values)):
        return False
    return not (isinstance(op, elementwise.AddOp | elementwise.MulOp) and agrees_with_qlinear(op))


# A float operator between DequantizeLinear and QuantizeLinear, and whether that gives certain integers.
#
# Operands are real values that f32 rounds, so are sums of them; one requantization of an exact integer is rounded
# once. At a tie, or near one, the two may differ by a step. Where few operands decide a result, all of them are
# tried out.

MOST_TRIED_BITS = 16
"""So many bits of operands are tried out."""

_FEW_BITS = 8

FUNCTION_ERROR = 1e-6
"""How far the f32 functions of a runtime may be from the true ones, of 1 or of the value where that is larger."""

ROUNDED_ONCE: tuple[type[Operation], ...] = (
    activations.ReluOp, activations.LeakyReluOp, activations.PReluOp, activations.ThresholdedReluOp,
    elementwise.AbsOp, elementwise.NegOp, elementwise.ClipOp, elementwise.FloorOp, elementwise.CeilOp,
    elementwise.RoundOp, elementwise.SignOp, elementwise.SqrtOp, elementwise.AddOp, elementwise.SubOp,
    elementwise.MulOp, elementwise.DivOp, elementwise.MinOp, elementwise.MaxOp, elementwise.EqualOp,
    elementwise.GreaterOp, elementwise.GreaterOrEqualOp, elementwise.LessOp, elementwise.LessOrEqualOp,
    elementwise.ReciprocalOp,
)  # fmt: skip
"""Operations whose floats IEEE 754 fixes: every runtime has the same."""


_PLAIN = elementwise_evaluators.EVALUATORS


def write_between_casts(out: Outgoing, op: NnOp, exporter: Exporter) -> None:
    """Dequantize the operands, compute in floats, quantize the results."""
    names, elements = dict(out.names), dict(out.elements)
    right = _transposed_before(out, op)
    read = [value for place, value in enumerate(op.operands) if right is None or place != 1]
    for value in dict.fromkeys(read):
        element = element_of(value)
        if isinstance(element, StoredType):
            known = uniform(out, element)
            names[value] = dequantize(out, out.name(value), value, known)
            is_refused = value not in out.packed and is_hidden_factor(op, value)
            if is_refused or (out.settings.exact is not False and _is_requantized_inside(op, value)):
                names[value] = _hidden(out, names[value], shape_of(value))
            elements[value] = known.expressed_type
    outputs: list[str] = []
    for place, (result, own) in enumerate(zip(op.results, out.outputs, strict=True)):
        element = element_of(result)
        if isinstance(element, StoredType):
            elements[result] = uniform(out, element).expressed_type
            own = f"{out.fresh('real')}_{place}"
        outputs.append(own)
    inner = replace(out, names=names, outputs=outputs, elements=elements, prefix=out.prefix or out.outputs[0])
    if right is None:
        exporter(inner, op)
    else:
        data, *bias = (names[value] for value in read)
        product = inner.node("MatMul", [data, right], None if bias else outputs[0])
        if bias:
            inner.node("Add", [product, *bias], outputs[0])
    for result, name, own in zip(op.results, outputs, out.outputs, strict=True):
        element = element_of(result)
        if isinstance(element, UniformQuantizedType):
            if out.settings.exact is not False and is_fused_otherwise(op):
                name = kept_apart(out, name, result, element)
            if is_narrower(element) and is_fused_alike(op):
                # Limits in floats would stand between the operator and its cast, and nothing would be fused.
                saturated_storage(out, quantize(out, name, result, whole_storage(element)), element)
            else:
                quantize(out, name, result, element, own)


def _hidden(out: Outgoing, name: str, shape: Sequence[int]) -> str:
    """The same value after a Reshape to its own shape, which ONNX Runtime does not look through.

    An open size stays what it is by a 0; several do, too.
    """
    sizes = [0 if size == DYNAMIC_INDEX else size for size in shape]
    return out.node("Reshape", [name, out.constant(np.array(sizes, np.int64))])


def is_hidden_factor(op: Operation, value: SSAValue) -> bool:
    """Whether a factor is of parameters that ONNX Runtime fuses into an operator which then refuses them.

    It takes a product after the DequantizeLinear of 8 bits for a QLinearConv or QLinearMatMul. Those know no blocks,
    and a QLinearMatMul has scales of columns only for a matrix (`IsBQuantParamSupported` in
    core/providers/cpu/quantization/matmul_integer_base.h): a run fails.
    """
    element = element_of(value)
    if not isinstance(op, contraction.ContractionOp) or not isinstance(element, UniformQuantizedType):
        return False
    if element.granularity is Granularity.AXIS:
        return isinstance(op, contraction.MatMulOp) and len(shape_of(value)) > MATRIX
    return element.granularity is Granularity.BLOCK


def _is_requantized_inside(op: Operation, value: SSAValue) -> bool:
    """Return `True` for weights of which ONNX Runtime makes a MatMulNBits, which rounds the other factor to 8 bits.

    It takes a product of floats after the DequantizeLinear of a constant, unless it fuses all casts around it.
    """
    is_product = isinstance(op, contraction.MatMulOp | contraction.FullyConnectedOp)
    return is_product and value is op.operands[1] and not is_fused_alike(op)


def _transposed_before(out: Outgoing, op: Operation) -> str | None:
    """The right factor, its stored integers transposed before the DequantizeLinear; `None` where it is as it is.

    Behind it, ONNX Runtime puts casts of its own around the Transpose, fails on those of signed integers and fuses none
    into a QLinearMatMul. What is packed or has blocks is transposed after it: no Transpose takes 4 bits everywhere.
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
    is_hidden = is_hidden_factor(op, right) or (out.settings.exact is not False and _is_requantized_inside(op, right))
    return _hidden(out, real, [*outer, column, row]) if is_hidden else real


def can_be_between_casts(op: Operation) -> bool:
    """Whether QuantizeLinear and DequantizeLinear have the types of the operation."""
    results = [element_of(value) for value in op.results]
    if any(isinstance(each, StoredType) and container(each).width.data == WIDE_BITS for each in results):
        return False
    values = [value for value in (*op.operands, *op.results) if isinstance(element_of(value), StoredType)]
    return all(
        isinstance(element := element_of(value), UniformQuantizedType) and has_cast(element, shape_of(value))
        for value in values
    )


def is_certain(op: NnOp) -> bool:
    """Whether floats between casts give the integers of the operation, whatever the operands are."""
    if requantization_of(op)[0] is not Mode.F32:
        return False
    elements = [element_of(value) for value in (*op.operands, *op.results)]
    known = [each for each in elements if isinstance(each, UniformQuantizedType)]
    if isinstance(op, contraction.ContractionOp):
        return _is_exact_contraction(op)
    if not isinstance(op, ROUNDED_ONCE):
        return _is_far_from_ties(op)
    if type(op) not in QUANTIZED:
        return True  # that is its meaning
    if any(each.granularity is not Granularity.TENSOR for each in known):
        return False
    operands = [value for value in dict.fromkeys(op.operands) if isinstance(element_of(value), UniformQuantizedType)]
    if sum(_bits(value) for value in operands) > MOST_TRIED_BITS:
        return False
    return _agrees_everywhere(op)


def _is_far_from_ties(op: NnOp) -> bool:
    """Whether a function of few bits is nowhere near a tie: every runtime rounds it to the same integers."""
    if not is_function(op) or type(op) in QUANTIZED or type(op) not in _PLAIN:
        return False
    source, result = (element_of(value) for value in (op.operands[0], op.results[0]))
    for element, bits in ((source, _FEW_BITS), (result, MOST_TRIED_BITS)):
        if not isinstance(element, UniformQuantizedType) or element.granularity is not Granularity.TENSOR:
            return False
        if element.bits > bits or element.expressed_type != f32:
            return False
    assert isinstance(source, UniformQuantizedType)
    assert isinstance(result, UniformQuantizedType)
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


def _bits(value: SSAValue) -> int:
    element = element_of(value)
    assert isinstance(element, UniformQuantizedType)
    return element.bits


def _agrees_everywhere(op: NnOp) -> bool:
    """Whether both ways give the same for all operands."""
    operands = list(dict.fromkeys(op.operands))
    values: dict[SSAValue, Array] = {}
    for place, value in enumerate(operands):
        element = element_of(value)
        assert isinstance(element, UniformQuantizedType)
        stored = np.arange(element.storage_min, element.storage_max + 1)
        values[value] = stored.reshape([-1 if axis == place else 1 for axis in range(len(operands))])
    arrays = [values[value] for value in op.operands]
    try:
        ours = evaluate(op, arrays)
        floats = through_float(_PLAIN[type(op)])(op, *arguments_by(operand_layout(op), arrays))
    except InterpretationError:
        return False
    assert ours is not None
    return all(np.array_equal(a, b) for a, b in zip(ours, floats, strict=True))


def _is_exact_contraction(op: contraction.ContractionOp) -> bool:
    """Whether scales are powers of two and sums below 2^24: floats are exact up to the one rounding."""
    values: Sequence[SSAValue] = [*op.operands, *op.results]
    elements = [element_of(value) for value in values]
    if not all(
        isinstance(each, UniformQuantizedType) and are_powers_of_two(each.scales.astype(np.float32)).all()
        for each in elements
    ):
        return False
    x, w = (element_of(value) for value in op.operands[:2])
    assert isinstance(x, UniformQuantizedType)
    assert isinstance(w, UniformQuantizedType)
    if w.granularity is Granularity.BLOCK:
        return False
    terms = shape_of(op.operands[0])[-1:] if isinstance(op, contraction.MatMulOp) else shape_of(op.operands[1])[1:]
    bound = magnitude_of(x) * magnitude_of(w) * product_of(terms, EXACT_F32)
    if len(op.operands) > 2:
        bound += _largest_bias(op.operands[2])
    spread = math.log2(w.scales.max() / w.scales.min())
    return bound * 2**spread < EXACT_F32


def _largest_bias(value: SSAValue) -> int:
    array = constant_array(value)
    return EXACT_F32 if array is None else int(np.abs(array.astype(np.int64)).max(initial=0))
