"""Quantization by the range of the values, step by step: the range, the scale, the zero point, the integers."""

from xdsl.ir import Operation

from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.decompose.operands import Decompose, Results, cast, scalar
from qmlir.dialects.nn.ops.dynamic import STEPS, STORAGE, DynamicQuantizeOp
from qmlir.dialects.nn.ops.elementwise import (
    AddOp,
    ClipOp,
    DivOp,
    EqualOp,
    MaxOp,
    MinOp,
    RoundOp,
    SubOp,
    WhereOp,
)
from qmlir.dialects.nn.ops.reduction import ReduceMaxOp, ReduceMinOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import Parts


def _dynamic_quantize(op: DynamicQuantizeOp, parts: Parts) -> Results:
    x, axes = op.input, range(len(shape_of(op.input)))
    numbers = (("zero", 0.0), ("one", op.span_of_zeros), ("steps", float(STEPS)))
    zero, one, steps = (scalar(parts, role, number, x) for role, number in numbers)
    lowest = parts.add("min", ReduceMinOp(x, axes, keep_dims=False)).result
    highest = parts.add("max", ReduceMaxOp(x, axes, keep_dims=False)).result
    lowest = parts.add("low", build(MinOp, [lowest, zero])).result
    highest = parts.add("high", build(MaxOp, [highest, zero])).result
    span = parts.add("span", SubOp(highest, lowest)).result
    is_empty = parts.add("is_empty", build(EqualOp, [span, zero])).result
    span = parts.add("step_span", build(WhereOp, [is_empty, one, span])).result
    scale = parts.add("scale", DivOp(span, steps)).result
    place = parts.add("place", SubOp(zero, parts.add("steps_below", DivOp(lowest, scale)).result)).result
    place = parts.add("rounded", build(RoundOp, [parts.add("inside", ClipOp.between(place, 0.0, STEPS)).result])).result
    quotient = parts.add("quotient", DivOp(x, scale)).result
    rounded = parts.add("steps_of_each", build(RoundOp, [quotient])).result
    shifted = parts.add("shifted", AddOp(rounded, place)).result
    limited = parts.add("limited", ClipOp.between(shifted, 0.0, STEPS)).result
    return [cast(parts, "integers", limited, STORAGE), scale, cast(parts, "zero_point", place, STORAGE)]


COMPOSITES: dict[type[Operation], Decompose] = {DynamicQuantizeOp: _dynamic_quantize}
