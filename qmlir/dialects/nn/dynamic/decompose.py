"""Decompositions of dynamically quantized operations into components."""

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.decomposition import Decompose, Results, cast, scalar
from qmlir.dialects.nn.dynamic.ops import STORAGES, DynamicQuantizeOp
from qmlir.dialects.nn.elementwise.ops import (
    AbsOp,
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
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp, ReduceMinOp
from qmlir.ir.decomposition import Parts
from qmlir.text.elements import dtype_of

# Quantization by the range of the values, step by step: the range, the scale, the zero point, the integers.


def _dynamic_quantize(op: DynamicQuantizeOp, parts: Parts) -> Results:
    x, axes, keeps, storage = op.input, op.reduced_axes, op.axes is not None, STORAGES[op.storage.data]
    numbers = (("zero", 0.0), ("one", op.span_of_zeros), ("steps", op.steps))
    zero, one, steps = (scalar(parts, role, number, x) for role, number in numbers)
    if op.is_symmetric:
        absolute = parts.add("absolute", build(AbsOp, [x])).result
        highest = parts.add("max", ReduceMaxOp(absolute, axes, keeps)).result
        lowest = zero
        span = parts.add("high", build(MaxOp, [highest, zero])).result
    else:
        lowest = parts.add("min", ReduceMinOp(x, axes, keeps)).result
        highest = parts.add("max", ReduceMaxOp(x, axes, keeps)).result
        lowest = parts.add("low", build(MinOp, [lowest, zero])).result
        highest = parts.add("high", build(MaxOp, [highest, zero])).result
        span = parts.add("span", SubOp(highest, lowest)).result
    is_empty = parts.add("is_empty", build(EqualOp, [span, zero])).result
    span = parts.add("step_span", build(WhereOp, [is_empty, one, span])).result
    scale = parts.add("scale", DivOp(span, steps)).result
    zero_point: SSAValue | None = None
    if not op.is_symmetric:
        zero_point = parts.add("place", SubOp(zero, parts.add("steps_below", DivOp(lowest, scale)).result)).result
        inside = parts.add("inside", ClipOp.between(zero_point, *op.limits)).result
        zero_point = parts.add("rounded", RoundOp(inside)).result
    quotient = parts.add("quotient", DivOp(x, scale)).result
    value = parts.add("steps_of_each", build(RoundOp, [quotient])).result
    if zero_point is not None:
        value = parts.add("shifted", AddOp(value, zero_point)).result
    limited = parts.add("limited", ClipOp.between(value, *op.limits)).result
    shift = scalar(parts, "shift", float(op.shift), x) if op.shift else None

    def stored(role: str, value: SSAValue) -> SSAValue:
        moved = value if shift is None else parts.add(f"{role}/shifted", AddOp(value, shift)).result
        return cast(parts, role, moved, storage)

    integers = stored("integers", limited)
    if zero_point is not None:
        return [integers, scale, stored("zero_point", zero_point)]
    point = ConstantOp.of(np.array(op.constant_zero_point, dtype_of(storage)), TensorType(storage, ()))
    return [integers, scale, parts.add("zero_point", point).result]


COMPOSITES: dict[type[Operation], Decompose] = {DynamicQuantizeOp: _dynamic_quantize}
