"""Casts of the `quant` dialect, and constants inside a composite."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.onnx.export.emission import Outgoing
from qmlir.onnx.export.forms.casts import (
    WIDE_BITS,
    dequantize,
    dequantize_floats,
    is_narrower,
    kept_apart,
    quantize,
    quantize_floats,
    uniform,
)


def _qcast(out: Outgoing, op: QuantizeCastOp) -> None:
    element = element_of(op.result)
    if isinstance(element, UniformFloatType):
        quantize_floats(out, op, element)
        return
    known, name = uniform(out, element), out.inputs[0]
    if _would_be_fused(op, known):
        name = kept_apart(out, name, op.result, known)
    quantize(out, name, op.result, known, out.output)


def _would_be_fused(op: QuantizeCastOp, element: UniformQuantizedType) -> bool:
    """Whether ONNX Runtime may put an operator on integers in the place of a float one in front of the cast.

    What the module computes in floats stays in floats, whatever the form: ONNX Runtime quantizes float weights anew by
    a rule of its own (core/optimizer/qdq_transformer/weight_bias_quantization.cc).
    """
    # Limits in floats keep the two apart already, blocks and 32 bits are in the place of no operator.
    has_bound = is_narrower(element) or element.granularity is Granularity.BLOCK or element.bits == WIDE_BITS
    return isinstance(op.input.owner, NnOp) and not has_bound


def _dcast(out: Outgoing, op: DequantizeCastOp) -> None:
    element = element_of(op.input)
    if isinstance(element, UniformFloatType):
        dequantize_floats(out, op, element)
        return
    known = uniform(out, element)
    if not _would_be_moved(op, known):
        dequantize(out, out.inputs[0], op.input, known, out.output)
        return
    kept_apart(out, dequantize(out, out.inputs[0], op.input, known), op.input, known, out.output)


def _would_be_moved(op: DequantizeCastOp, element: UniformQuantizedType) -> bool:
    """Whether ONNX Runtime repeats the cast behind a float operation that only moves what it gives.

    The QuantizeLinear that it adds there says a type, which another of its passes then changes for signed integers, so
    that the model does not load (core/optimizer/qdq_transformer/qdq_propagation.cc, qdq_s8_to_u8.cc).
    """
    users = (use.operation for use in op.result.uses)
    moves = any(isinstance(user, NnOp) and user.quantization_slots().shares_parameters for user in users)
    return moves and element.is_signed and element.granularity is Granularity.TENSOR and element.bits <= 8


def _scast(out: Outgoing, op: StorageCastOp) -> None:
    """The same integers in another type: of as many bits, of which a Cast keeps the lowest."""
    source, target = out.element(op.input), out.element(op.result)
    if source == target:
        out.node("Identity", out.inputs, out.output)
    else:
        out.cast(out.inputs[0], target, out.output)


EXPORTERS: dict[type[Operation], Any] = {
    QuantizeCastOp: _qcast,
    DequantizeCastOp: _dcast,
    StorageCastOp: _scast,
}
