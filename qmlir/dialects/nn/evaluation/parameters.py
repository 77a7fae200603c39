"""Conversion of quantized operands and results: stored integers to exact integers `q - z` with a scale, and back.

All operation families compute on integers between `centered` and `rescaled`; operations without integer arithmetic use
`through_float`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array, magnitude
from qmlir.arithmetic.requantization import Mode, Ties, accumulator_scale, requantize
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.quant.evaluate import dequantize, quantize
from qmlir.dialects.quant.infer import broadcast_parameters, storage_dtype
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.evaluation import Evaluator, operand_groups


def uniform(element: Attribute) -> UniformQuantizedType:
    """Returns `element` as a uniform quantized type. Raises `InterpretationError` if it is any other type."""
    if not isinstance(element, UniformQuantizedType):
        raise InterpretationError(f"cannot compute with '{element}': expected a uniform quantized type")
    return element


def uniform_of(value: SSAValue) -> UniformQuantizedType:
    """Returns the uniform quantized element type of a tensor value."""
    return uniform(element_of(value))


def is_quantized(value: SSAValue) -> bool:
    """Returns whether the elements of a tensor value are quantized."""
    return kind_of(element_of(value)) is Kind.QUANTIZED


@dataclass(frozen=True)
class Centered:
    """Exact integers `q - z` as int64, and their f32 scales in a shape that broadcasts to them."""

    integers: npt.NDArray[np.int64]
    scale: npt.NDArray[np.float32]


def centered(value: SSAValue, stored: Array) -> Centered:
    """Returns the stored integers of `value` with their zero points subtracted, and their scales."""
    scales, zero_points = broadcast_parameters(uniform_of(value), stored.shape)
    return Centered(np.asarray(stored.astype(np.int64) - zero_points), np.asarray(scales, np.float32))


def requantization_of(op: NnOp) -> tuple[Mode, Ties]:
    """Returns the requantization mode of `op`, and how a right shift rounds ties."""
    attribute = op.requantize
    return (Mode.F32, Ties.EVEN) if attribute is None else (attribute.mode, attribute.ties)


def rescaled(op: NnOp, integers: Array, scale: npt.ArrayLike, count: npt.ArrayLike = 1) -> Array:
    """Requantizes exact integers of f32 scale `scale` to the stored result of `op`, with saturation.

    For a mean, the integers are sums of `count` elements. Raises `ValueError` if the mode cannot express the ratio
    between the scales.
    """
    element = uniform_of(op.results[0])
    output_scale, zero_point = broadcast_parameters(element, integers.shape)
    target = accumulator_scale(output_scale, count)
    limits = (element.storage_min, element.storage_max)
    mode, ties = requantization_of(op)
    return requantize(integers, scale, target, zero_point, limits, mode, ties).astype(storage_dtype(element))


def _dequantized(values: Sequence[SSAValue], argument: Any) -> Any:
    if argument is None or not any(is_quantized(value) for value in values):
        return argument
    if isinstance(argument, tuple):
        arrays = cast(tuple[Array, ...], argument)
        return tuple(dequantize(stored, uniform_of(value)) for value, stored in zip(values, arrays, strict=True))
    return dequantize(argument, uniform_of(values[0]))


def through_float(evaluator: Evaluator) -> Evaluator:
    """Wraps a float `evaluator` to dequantize operands like `quant.dcast` and quantize results like `quant.qcast`."""

    def quantized(op: IRDLOperation, *arguments: Any) -> tuple[Array, ...]:
        groups = [values for _, _, values in operand_groups(op)]
        floats = [_dequantized(values, argument) for values, argument in zip(groups, arguments, strict=True)]
        with np.errstate(all="ignore"):  # divisions by 0 and overflows have IEEE results
            results = evaluator(op, *floats)
        return tuple(
            quantize(array, uniform_of(result)) if is_quantized(result) else array
            for result, array in zip(op.results, results, strict=True)
        )

    return quantized


_fractions = np.frompyfunc(lambda scale, integer: Fraction(scale) * integer, 2, 1)


def exact_reals(value: SSAValue, stored: Array) -> Array:
    """Returns the exact real values of a quantized tensor, as f64 if that can hold them, otherwise as Python fractions.

    An f32 scale has 24 significant bits, so its product with an integer below 2^29 has at most 53, which fit in an f64.
    """
    element = uniform_of(value)
    scales, zero_points = broadcast_parameters(element, stored.shape)
    if not isinstance(element.expressed, Float64Type):
        scales = scales.astype(np.float32).astype(np.float64)
    integers = stored.astype(np.int64) - zero_points
    if magnitude(integers) < 2**29 and (scales == scales.astype(np.float32)).all():
        return np.asarray(scales * integers)
    return np.asarray(_fractions(scales.astype(np.object_), integers.astype(np.object_)), np.object_)
