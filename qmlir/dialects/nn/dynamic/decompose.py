"""Decompositions of dynamically quantized operations into components."""

from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.decomposition import Decompose, Results, scalar
from qmlir.dialects.nn.decomposition import cast as cast_component
from qmlir.dialects.nn.dynamic.ops import STEPS, STORAGE, DynamicQuantizeOp
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    CastOp,
    ClipOp,
    DivOp,
    EqualOp,
    MaxOp,
    MinOp,
    MulOp,
    RoundOp,
    SubOp,
    WhereOp,
)
from qmlir.dialects.nn.reduction.ops import ReduceMaxOp, ReduceMinOp
from qmlir.dialects.quant.ops import StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts

# Products with integer weights, whose other factor is quantized at run time by its own range.
#
# The factors become quantized values of scale 1, so that bytes are multiplied; the zero point, which is known at run
# time only, is corrected for: `sum (a - z) w = sum a w - z sum w`.

_DATA = UniformQuantizedType.per_tensor(STORAGE, f32, 1.0)
_SUM = UniformQuantizedType.per_tensor(i32, f32, 1.0)


class Adds(Protocol):
    """The interface of a builder that adds parts with their roles."""

    def add(self, role: str, op: Operation) -> SSAValue:
        """Adds a part and returns its first result."""
        ...


def _of_rows(values: Array, element: UniformQuantizedType, shape: tuple[int, ...], rows: slice, way: int) -> Array:
    """Returns the parameters of some rows in one direction of weights `[D, rows, terms]`: a single one, or one per
    row."""
    match element.granularity:
        case Granularity.TENSOR:
            return values.reshape(())
        case Granularity.AXIS if element.axis == 0:
            return values[way].reshape(())
        case Granularity.AXIS if element.axis == 1:
            return values[rows]
        case Granularity.BLOCK if values.size == shape[0] * shape[1]:
            return values.reshape(shape[:2])[way, rows]
        case _:
            raise VerifyException(f"weights must have one scale per direction or one per row, but got '{element}'")


@dataclass
class DynamicProducts:
    """Builds the matrix products of a layer, and shares the quantized data and the weight parameters between them."""

    quantized: dict[SSAValue, tuple[SSAValue, SSAValue, SSAValue]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, SSAValue, SSAValue]]
    )
    """For each quantized float value: its integers as a quantized value, its scale, and its zero point as i32."""

    of_weights: dict[SSAValue, tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, SSAValue]]
    )
    """For each slice of weights: the sums of its rows, and its scales."""

    def rows(self, parts: Adds, role: str, value: SSAValue, section: tuple[int, int, int]) -> SSAValue:
        """Slices constant weights `[D, rows, terms]`; `section`: the direction, the first row, the row count."""
        way, start, count = section
        constant, element = value.owner, cast(UniformQuantizedType, element_of(value))  # as the operation verifies
        if not isinstance(constant, ConstantOp):
            raise VerifyException(f"weights must be constant, but got '{value.type}'")
        rows, shape = slice(start, start + count), shape_of(value)
        stored = constant.array[way, rows]
        points = _of_rows(element.zero_points, element, shape, rows, way)
        if points.size > 1 and (points != points.reshape(-1)[0]).any():
            raise VerifyException("all rows of one direction must have the same zero point")
        point = int(points.reshape(-1)[0])
        scales = _of_rows(element.scales, element, shape, rows, way).astype(np.float32)
        type_ = UniformQuantizedType.per_tensor(element.storage, f32, 1.0, point)
        weight = parts.add(role, ConstantOp.of(np.ascontiguousarray(stored), TensorType(type_, stored.shape)))
        total = (stored.astype(np.int64) - point).sum(axis=1).astype(np.int32)
        sums = parts.add(f"{role}_sum", ConstantOp.of(total, TensorType(i32, total.shape)))
        scale = parts.add(f"{role}_scale", ConstantOp.of(np.asarray(scales), TensorType(f32, scales.shape)))
        self.of_weights[weight] = sums, scale
        return weight

    def _quantized(self, parts: Adds, role: str, value: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
        if value not in self.quantized:
            made = build(DynamicQuantizeOp, [value])
            parts.add(f"{role}/quantize", made)
            signless = _cast(parts, f"{role}/bytes", made.result, i8)
            stored = parts.add(f"{role}/stored", StorageCastOp(signless, TensorType(_DATA, shape_of(value))))
            self.quantized[value] = stored, made.scale, _cast(parts, f"{role}/zero_point", made.zero_point, i32)
        return self.quantized[value]

    def product(self, parts: Adds, role: str, value: SSAValue, weight: SSAValue) -> SSAValue:
        """Quantizes `value` by its range, and multiplies it by a slice of weights that `rows` returned."""
        integers, scale, zero_point = self._quantized(parts, role, value)
        sums, weight_scale = self.of_weights[weight]
        shape = (*shape_of(value)[:-1], shape_of(weight)[0])
        product = MatMulOp(integers, weight, True, TensorType(_SUM, shape))
        total = parts.add(f"{role}/sums", StorageCastOp(parts.add(role, product), TensorType(i32, shape)))
        total = parts.add(f"{role}/centred", SubOp(total, parts.add(f"{role}/correction", MulOp(zero_point, sums))))
        both = parts.add(f"{role}/scale", MulOp(scale, weight_scale))
        return parts.add(f"{role}/scaled", MulOp(_cast(parts, f"{role}/real", total, f32), both))


def _cast(parts: Adds, role: str, value: SSAValue, element: Attribute) -> SSAValue:
    return parts.add(role, build(CastOp, [value], result_types=[TensorType(element, shape_of(value))]))


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
    zero_point = parts.add(
        "rounded", build(RoundOp, [parts.add("inside", ClipOp.between(zero_point, 0.0, STEPS)).result])
    ).result
    quotient = parts.add("quotient", DivOp(x, scale)).result
    rounded = parts.add("steps_of_each", build(RoundOp, [quotient])).result
    shifted = parts.add("shifted", AddOp(rounded, zero_point)).result
    limited = parts.add("limited", ClipOp.between(shifted, 0.0, STEPS)).result
    return [
        cast_component(parts, "integers", limited, STORAGE),
        scale,
        cast_component(parts, "zero_point", zero_point, STORAGE),
    ]


COMPOSITES: dict[type[Operation], Decompose] = {DynamicQuantizeOp: _dynamic_quantize}
