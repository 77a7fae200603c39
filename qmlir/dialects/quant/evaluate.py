"""Evaluation of the `quant` operations in NumPy; a quantized value is represented by its stored integers.

Signless integers are held as signed integers, and i1 as 0 and 1; the integers of an unsigned type are held as unsigned
integers. Source of the formulas: the arithmetic contract (ONNX QuantizeLinear and DequantizeLinear as ONNX Runtime
computes them). The division is in f32 (f64 for f64 values), ties round to even, and the zero point is added after
rounding.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.small_floats import to_small_float
from qmlir.dialects.quant.infer import (
    broadcast_parameters,
    element_type,
    integer_dtype,
    parameters_by_rows,
    storage_dtype,
)
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import StoredType, UniformFloatType, UniformQuantizedType, holds_nan
from qmlir.ir.builtin_types import PLAIN_DTYPES, as_integer


def _float_dtypes(quantized: UniformQuantizedType | UniformFloatType) -> tuple[npt.DTypeLike, npt.DTypeLike]:
    """Returns the NumPy type of values of the expressed type, and the type in which their arithmetic is done."""
    dtype = PLAIN_DTYPES.get(type(quantized.expressed))
    if dtype is None:
        raise InterpretationError(f"cannot compute with expressed type '{quantized.expressed}'")
    return dtype, np.float64 if dtype is np.float64 else np.float32


def _uniform(type_: Attribute) -> UniformQuantizedType | UniformFloatType:
    quantized = element_type(type_)
    if not isinstance(quantized, UniformQuantizedType | UniformFloatType):
        raise InterpretationError(f"cannot compute with '{quantized}': expected a uniform quantized type")
    return quantized


@dataclass(frozen=True)
class Scaling:
    """The scales and zero points of a quantized type, which convert reals to stored values and back.

    It is prepared for one shape. The parameters of a per-block type depend on all sizes, those of other types only on
    the rank.
    """

    quantized: UniformQuantizedType | UniformFloatType
    expressed: npt.DTypeLike
    """The NumPy type of the reals."""

    stored: np.dtype[Any]
    """The NumPy type of the stored values."""

    scales: Array
    """The scales, which broadcast to the shape, in the type of the arithmetic."""

    zero_points: npt.NDArray[np.int64]

    @staticmethod
    def of(quantized: UniformQuantizedType | UniformFloatType, shape: tuple[int, ...]) -> "Scaling":
        """Returns the scaling of tensors of a type and a shape."""
        return Scaling.by(quantized, *broadcast_parameters(quantized, shape))

    @staticmethod
    def by(
        quantized: UniformQuantizedType | UniformFloatType,
        scales: npt.NDArray[np.float64],
        zero_points: npt.NDArray[np.int64],
    ) -> "Scaling":
        """Returns the scaling by scales and zero points of a type, which broadcast to the shape."""
        expressed, arithmetic = _float_dtypes(quantized)
        return Scaling(quantized, expressed, storage_dtype(quantized), scales.astype(arithmetic), zero_points)

    def quantize(self, values: Array) -> Array:
        """Computes `saturate(round_half_even(x / scale) + zero_point)`; infinities saturate.

        If the storage is a low-precision float, the quotient is rounded to that type, ties to even. Raises
        `InterpretationError` for NaN if the type cannot store it.
        """
        quantized = self.quantized
        if not holds_nan(quantized) and np.isnan(values).any():
            raise InterpretationError("the input contains NaN, which cannot be quantized")
        if isinstance(quantized, UniformFloatType):
            with np.errstate(all="ignore"):
                quotients = values.astype(self.scales.dtype) / self.scales
            return to_small_float(quotients, self.stored)
        with np.errstate(over="ignore"):  # a quotient beyond the float range saturates
            rounded = np.rint(values.astype(self.scales.dtype) / self.scales).astype(np.float64)
        # f64 represents every sum of a zero point and a rounded quotient inside the storage range exactly.
        shifted = np.maximum(rounded + self.zero_points, quantized.storage_min)
        return np.asarray(np.minimum(shifted, quantized.storage_max), dtype=self.stored)

    def dequantize(self, stored: Array) -> Array:
        """Computes `scale * (stored - zero_point)`: the difference is exact, and the product is rounded once."""
        is_float = isinstance(self.quantized, UniformFloatType)
        exact = stored if is_float else stored.astype(np.int64) - self.zero_points
        with np.errstate(over="ignore"):
            return np.asarray(self.scales * exact.astype(self.scales.dtype), dtype=self.expressed)


def _by_rows(
    quantized: UniformQuantizedType | UniformFloatType, shape: tuple[int, ...]
) -> Iterator[tuple[slice | EllipsisType, Scaling]]:
    """Yields the scalings of slabs of a tensor along its first axis."""
    for rows, scales, zero_points in parameters_by_rows(quantized, shape):
        yield rows, Scaling.by(quantized, scales, zero_points)


def quantize(values: Array, quantized: UniformQuantizedType | UniformFloatType) -> Array:
    """Quantizes reals to stored values of a type (`Scaling.quantize`)."""
    stored = np.empty(values.shape, storage_dtype(quantized))
    for rows, scaling in _by_rows(quantized, values.shape):
        stored[rows] = scaling.quantize(values[rows])
    return stored


def dequantize(stored: Array, quantized: UniformQuantizedType | UniformFloatType) -> Array:
    """Returns the reals of stored values of a type (`Scaling.dequantize`)."""
    values = np.empty(stored.shape, _float_dtypes(quantized)[0])
    for rows, scaling in _by_rows(quantized, stored.shape):
        values[rows] = scaling.dequantize(stored[rows])
    return values


def _read_bits(values: Array, bits: int, signed: bool) -> Array:
    """Returns the integer in the low bits of each value, in two's complement if signed."""
    dtype = integer_dtype(bits, signed)
    if values.dtype == dtype and bits == 8 * dtype.itemsize:
        return values
    patterns = values.astype(np.int64) & ((1 << bits) - 1)
    if signed:
        sign = 1 << (bits - 1)
        patterns = (patterns ^ sign) - sign
    return np.asarray(patterns, dtype)  # arithmetic on an array of no axes gives a scalar


def _qcast(op: QuantizeCastOp, values: Array) -> tuple[Array]:
    return (quantize(values, _uniform(op.result.type)),)


def _dcast(op: DequantizeCastOp, stored: Array) -> tuple[Array]:
    return (dequantize(stored, _uniform(op.input.type)),)


def _scast(op: StorageCastOp, values: Array) -> tuple[Array]:
    result = element_type(op.result.type)
    if isinstance(element_type(op.input.type), UniformFloatType) or isinstance(result, UniformFloatType):
        return (values,)
    if isinstance(result, StoredType):
        return (_read_bits(values, result.bits, result.is_signed),)
    integer = as_integer(result)
    assert integer is not None  # verified
    if integer.width.data == 1:
        return (np.asarray(values & 1, np.int8),)
    return (_read_bits(values, integer.width.data, signed=True),)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Array, ...]]] = {
    QuantizeCastOp: _qcast,
    DequantizeCastOp: _dcast,
    StorageCastOp: _scast,
}
