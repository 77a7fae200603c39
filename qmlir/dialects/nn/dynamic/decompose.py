"""Decompositions of dynamically quantized operations into components."""

from xdsl.ir import Operation

from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.decomposition import Decompose, Results, cast, scalar
from qmlir.dialects.nn.dynamic.ops import STEPS, STORAGE, DynamicQuantizeOp
from qmlir.dialects.nn.elementwise.ops import AddOp, ClipOp, DivOp, EqualOp, MaxOp, MinOp, RoundOp, SubOp, WhereOp
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp, ReduceMinOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import Parts

# Quantization by the range of the values, step by step: the range, the scale, the zero point, the integers.


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
    zero_point = parts.add("place", SubOp(zero, parts.add("steps_below", DivOp(lowest, scale)).result)).result
    inside = parts.add("inside", ClipOp.between(zero_point, 0.0, STEPS)).result
    zero_point = parts.add("rounded", RoundOp(inside)).result
    quotient = parts.add("quotient", DivOp(x, scale)).result
    rounded = parts.add("steps_of_each", build(RoundOp, [quotient])).result
    shifted = parts.add("shifted", AddOp(rounded, zero_point)).result
    limited = parts.add("limited", ClipOp.between(shifted, 0.0, STEPS)).result
    integers = cast(parts, "integers", limited, STORAGE)
    return [integers, scale, cast(parts, "zero_point", zero_point, STORAGE)]


COMPOSITES: dict[type[Operation], Decompose] = {DynamicQuantizeOp: _dynamic_quantize}
