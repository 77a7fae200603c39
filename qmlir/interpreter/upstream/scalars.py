"""Elements of every width: their NumPy types, and conversions between elements and numbers.

An iN is stored in the smallest NumPy integer type of at least N bits. `signed` and `unsigned` return the integer that
it represents, and `wrap` converts any integer back modulo 2^N. A scalar is read as a Python integer and an array as
64-bit integers, so that one function can compute both. If 64-bit integers overflow, they wrap modulo 2^64, which
doesn't change the result of `wrap`.
"""

from typing import Any, TypeGuard

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, IntegerType, Signedness, i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array, wrapped
from qmlir.interpreter.values import check_size
from qmlir.ir.builtin_types import as_integer
from qmlir.text.elements import dense_dtype

INDEX_BITS = 64
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def dtype_of(element: Attribute) -> np.dtype[Any]:
    """Returns the NumPy type that stores `element`. Raises `InterpretationError` if there is none."""
    dtype = dense_dtype(element)
    if dtype is None:
        raise InterpretationError(f"no NumPy type holds values of {element}")
    return dtype


def is_array(value: Any) -> TypeGuard[Array]:
    """Returns True if a value is an array, including arrays of rank 0."""
    return isinstance(value, np.ndarray)


def is_integer(element: Attribute) -> bool:
    """Returns True if `element` is an integer type or `index`."""
    return isinstance(element, IntegerType | IndexType)


def width_of(element: Attribute) -> int:
    """Returns the width, in bits, of an integer type or `index`."""
    integer = as_integer(element)
    assert integer is not None or isinstance(element, IndexType)
    return INDEX_BITS if integer is None else integer.width.data


def _is_unsigned(element: Attribute) -> bool:
    # An i1 is stored as 0 or 1, not as 0 or -1, unless its type is signed.
    integer = as_integer(element)
    return element == i1 or (integer is not None and integer.signedness.data is Signedness.UNSIGNED)


def signed(value: Any, element: Attribute) -> Any:
    """Returns `value` as a signed Python integer or an array of signed 64-bit integers. A true i1 is -1."""
    if is_array(value):
        return _extended(value.astype(np.int64), width_of(element))
    if not _is_unsigned(element):
        return int(value)
    return wrapped(int(value), width_of(element))


def unsigned(value: Any, element: Attribute) -> Any:
    """Returns `value` as an unsigned Python integer or an array of 64-bit integers."""
    mask = (1 << width_of(element)) - 1
    if is_array(value):
        return value.astype(np.int64).view(np.uint64) & np.uint64(mask)
    return int(value) & mask


def _extended(array: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.int64]:
    """Sign-extends the low `bits` bits of each element."""
    shift = INDEX_BITS - bits
    return np.asarray((array << shift) >> shift)


def wrap(value: Any, element: Attribute) -> Any:
    """Converts integers (Python integers or an array) to values of type `element`, modulo 2^N."""
    bits = width_of(element)
    if is_array(value):
        array = value
        if array.dtype == object:
            array = np.asarray(array & ((1 << INDEX_BITS) - 1)).astype(np.uint64)
        array = array.astype(np.int64)
        low = array & ((1 << bits) - 1) if _is_unsigned(element) and bits < INDEX_BITS else _extended(array, bits)
        return np.asarray(low).astype(dtype_of(element))
    number = wrapped(int(value), bits, is_signed=not _is_unsigned(element))
    return number if isinstance(element, IndexType) else dtype_of(element).type(number)


def round_to(value: Any, dtype: np.dtype[Any]) -> Any:
    """Rounds floats of any precision to `dtype` in a single rounding, ties to even."""
    array = np.asarray(value)
    if dtype == _BFLOAT16 and array.dtype == np.float64:
        array = _round_to_odd(array)  # ml_dtypes converts through f32 and would round twice
    rounded = array.astype(dtype)
    return rounded if is_array(value) else rounded[()]


def _round_to_odd(array: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Rounds to f32 by truncation, setting the last bit if inexact, so that rounding again gives the right result."""
    near = array.astype(np.float32)
    inexact = (near.astype(np.float64) != array) & ~np.isnan(array)
    bits = near.view(np.uint32) - (np.abs(near.astype(np.float64)) > np.abs(array)).astype(np.uint32)
    return np.asarray(bits | inexact.astype(np.uint32)).view(np.float32)


def float_of_integer(value: Any, dtype: np.dtype[Any]) -> Any:
    """Converts integers, as returned by `signed` or `unsigned`, to floats in a single rounding, ties to even."""
    array = np.asarray(value, dtype=None if is_array(value) else np.int64 if value < 0 else np.uint64)
    if dtype == _BFLOAT16:
        # For integers too wide for f64, the low 11 bits become a sticky bit, which is far below the last bit of bf16.
        magnitude = np.abs(array.astype(np.int64)).view(np.uint64) if array.dtype == np.int64 else array
        sticky = (magnitude >> np.uint64(11)) | ((magnitude & np.uint64(0x7FF)) != 0)
        wide = np.where(magnitude >> np.uint64(53), sticky << np.uint64(11), magnitude).astype(np.float64)
        floats = np.asarray(round_to(np.asarray(np.where(array < 0, -wide, wide)), dtype))
    else:
        floats = array.astype(dtype)
    return floats if is_array(value) else floats[()]


def scalar_of(value: Any, element: Attribute) -> Any:
    """Converts an element of an array to a scalar; an `index` becomes a Python integer."""
    return int(value) if isinstance(element, IndexType) else value


def unwritten_value(element: Attribute) -> Any:
    """Returns the poison value of uninitialized elements: NaN or the smallest integer."""
    dtype = dtype_of(element)
    if is_integer(element):
        return wrap(1 << (width_of(element) - 1), element)
    return dtype.type(np.nan)


def unwritten(shape: tuple[int, ...], element: Attribute) -> Array:
    """Returns an array of poison values, which make reads of uninitialized memory visible.

    Raises `InterpretationError` if the array exceeds the largest size of a value.
    """
    check_size(shape, dtype_of(element))
    return np.full(shape, unwritten_value(element), dtype_of(element))
