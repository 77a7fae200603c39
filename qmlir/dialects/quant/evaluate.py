"""Evaluation of the `quant` operations in NumPy; a quantized value is represented by its stored integers.

Signless integers are held as signed integers, and i1 as 0 and 1; the integers of an unsigned type are held as unsigned
integers. Source of the formulas: the arithmetic contract (ONNX QuantizeLinear and DequantizeLinear as ONNX Runtime
computes them). The division is in f32 (f64 for f64 values), ties round to even, and the zero point is added after
rounding.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.small_floats import to_small_float
from qmlir.dialects.quant.infer import broadcast_parameters, element_type, integer_dtype, storage_dtype
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


def quantize(values: Array, quantized: UniformQuantizedType | UniformFloatType) -> Array:
    """Computes `saturate(round_half_even(x / scale) + zero_point)`; infinities saturate.

    If the storage is a low-precision float, the quotient is rounded to that type, ties to even. Raises
    `InterpretationError` for NaN if the type cannot store it.
    """
    _, arithmetic = _float_dtypes(quantized)
    scales, zero_points = broadcast_parameters(quantized, values.shape)
    if not holds_nan(quantized) and np.isnan(values).any():
        raise InterpretationError("the input contains NaN, which cannot be quantized")
    if isinstance(quantized, UniformFloatType):
        with np.errstate(all="ignore"):
            quotients = values.astype(arithmetic) / scales.astype(arithmetic)
        return to_small_float(quotients, storage_dtype(quantized))
    with np.errstate(over="ignore"):  # a quotient beyond the float range saturates
        rounded = np.rint(values.astype(arithmetic) / scales.astype(arithmetic)).astype(np.float64)
    # f64 represents every sum of a zero point and a rounded quotient inside the storage range exactly.
    shifted = np.clip(rounded + zero_points, quantized.storage_min, quantized.storage_max)
    return np.asarray(shifted, dtype=storage_dtype(quantized))


def dequantize(stored: Array, quantized: UniformQuantizedType | UniformFloatType) -> Array:
    """Computes `scale * (stored - zero_point)`: the difference is exact, and the product is rounded once."""
    expressed, arithmetic = _float_dtypes(quantized)
    scales, zero_points = broadcast_parameters(quantized, stored.shape)
    with np.errstate(over="ignore"):
        if isinstance(quantized, UniformFloatType):
            return np.asarray(scales.astype(arithmetic) * stored.astype(arithmetic), dtype=expressed)
        product = scales.astype(arithmetic) * (stored.astype(np.int64) - zero_points).astype(arithmetic)
        return np.asarray(product, dtype=expressed)


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
