"""Lowering of the `calib` operations; an operation that affects only gradients is replaced with its operand.

Fake quantization becomes one loop over the values. The loop computes the scale and the zero point from the parameters
by the formulas of `calib.fake_quant`, in the same order as the interpreter.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.dialects.calib.ops import FakeQuantOp, RowNormOp, StraightThroughOp
from qmlir.dialects.kernel.lowering.lowering import Input, Lower, Lowering
from qmlir.dialects.kernel.lowering.quantized import normalized
from qmlir.dialects.kernel.lowering.scalars import STEPS, Scalar
from qmlir.ir.builtin_types import element_of, shape_of


def _tqt(op: FakeQuantOp, log2_threshold: Scalar) -> tuple[Scalar, Scalar]:
    steps = op.bits.value.data - (1 if op.is_signed else 0)
    exponent = STEPS.ceil(log2_threshold.to(f64)) - steps
    scale = exponent.constant(2.0).apply(math.PowFOp, exponent).to(log2_threshold.type)
    return scale, scale.constant(0.0)


def _plain(op: FakeQuantOp, scale: Scalar, *offset: Scalar) -> tuple[Scalar, Scalar]:
    return scale, scale.constant(0.0)


def _pact(op: FakeQuantOp, limit: Scalar) -> tuple[Scalar, Scalar]:
    return limit / limit.constant(float(op.limits[1])), limit.constant(0.0)


def _affine(op: FakeQuantOp, scale: Scalar, zero_point: Scalar) -> tuple[Scalar, Scalar]:
    low, high = map(float, op.limits)
    return scale, zero_point.round_even().clamp(low, high)


def _range(op: FakeQuantOp, minimum: Scalar, maximum: Scalar) -> tuple[Scalar, Scalar]:
    low, high = map(float, op.limits)
    least, most = minimum.minimum(0.0), maximum.maximum(0.0)
    scale = (most - least) / (high - low)
    return scale, (low - least / scale).round_even().clamp(low, high)


_SCALES: dict[str, Callable[..., tuple[Scalar, Scalar]]] = {
    "tqt": _tqt, "lsq": _plain, "lsq_plus": _plain, "pact": _pact, "affine": _affine, "range": _range,
}  # fmt: skip
"""For each method, the function that computes the scale and the zero point from its parameters."""


def _fake_quant(op: FakeQuantOp, at: Lowering) -> Sequence[SSAValue]:
    shape, element = shape_of(op.result), element_of(op.result)
    rank, axis = len(shape), None if op.axis is None else op.axis.value.data
    beside = AffineMap(rank, 0, () if axis is None else (AffineExpr.dimension(axis),))
    low, high = op.limits

    def body(x: Scalar, *parameters: Scalar) -> Scalar:
        scale, zero_point = _SCALES[op.method.data](op, *parameters)
        moved = x - parameters[1] if op.method.data == "lsq_plus" else x
        # f64 represents integers of up to 32 bits exactly.
        zero = zero_point.to(f64)
        rounded = (moved / scale).round_even().to(f64) + zero
        steps = rounded.clamp(float(low), float(high)) - zero
        result = (steps * scale.to(f64)).to(element)
        # Without an offset, adding 0 removes the sign of a zero, as in the interpreter.
        return result + (parameters[1] if op.method.data == "lsq_plus" else 0.0)

    readings = [Input(at.value(op.input), AffineMap.identity(rank))]
    readings += [Input(at.value(each), beside) for each in op.parameters]
    return (at.compute(readings, shape, element, body),)


def _row_norm(op: RowNormOp, at: Lowering) -> Sequence[SSAValue]:
    """Recomputes the constants of the scale with each row, like its root."""
    shape, bounds = shape_of(op.input), op.bounds()

    def body(x: Scalar, scale: Scalar) -> Scalar:
        return normalized(bounds.norm(STEPS, scale.to(f64)), x.to(i32), bounds.largest, op.row)

    readings = [at.broadcast(at.value(each), shape) for each in (op.input, op.scale)]
    return (at.compute(readings, shape, f32, body),)


LOWERINGS: dict[type[Operation], Lower] = {
    FakeQuantOp: _fake_quant,
    RowNormOp: _row_norm,
    StraightThroughOp: lambda op, at: (at.value(op.hard),),
}
