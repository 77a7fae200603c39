"""Elements of every width: how they are held, how their bits read as numbers, and how numbers become elements.

An iN is held in the smallest NumPy integer of N bits or more; `signed` and `unsigned` read it, `wrap` takes any integer
modulo 2^N back. A scalar is read as a Python integer and an array as 64-bit integers, so that one function computes
both: what leaves 64 bits wraps modulo 2^64, which `wrap` would take away in any case.
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
    """The NumPy type that holds `element`. Raises `InterpretationError` where there is none."""
    dtype = dense_dtype(element)
    if dtype is None:
        raise InterpretationError(f"no NumPy type holds values of {element}")
    return dtype


def is_array(value: Any) -> TypeGuard[Array]:
    """Whether a value is an array, of rank 0 included."""
    return isinstance(value, np.ndarray)


def is_integer(element: Attribute) -> bool:
    """Whether `element` is an integer type or `index`."""
    return isinstance(element, IntegerType | IndexType)


def width_of(element: Attribute) -> int:
    """The bits of an integer type."""
    integer = as_integer(element)
    assert integer is not None or isinstance(element, IndexType)
    return INDEX_BITS if integer is None else integer.width.data


def _is_unsigned(element: Attribute) -> bool:
    # A single bit is held as 0 and 1, not as 0 and -1, unless its type says that it has a sign.
    integer = as_integer(element)
    return element == i1 or (integer is not None and integer.signedness.data is Signedness.UNSIGNED)


def signed(value: Any, element: Attribute) -> Any:
    """The bits of `value` in two's complement: a Python integer, or an array of 64 bits. A true i1 reads as -1."""
    if is_array(value):
        return _extended(value.astype(np.int64), width_of(element))
    if not _is_unsigned(element):
        return int(value)
    return wrapped(int(value), width_of(element))


def unsigned(value: Any, element: Attribute) -> Any:
    """The bits of `value` as a number that is not negative: a Python integer, or an array of 64 bits."""
    mask = (1 << width_of(element)) - 1
    if is_array(value):
        return value.astype(np.int64).view(np.uint64) & np.uint64(mask)
    return int(value) & mask


def _extended(array: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.int64]:
    """The low `bits` of each element, the highest of them its sign."""
    shift = INDEX_BITS - bits
    return np.asarray((array << shift) >> shift)


def wrap(value: Any, element: Attribute) -> Any:
    """Any integers, Python's own or in an array, modulo 2^N as values of the type `element`."""
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
    """Floats of any precision in that of `dtype`, rounded once, ties to even."""
    array = np.asarray(value)
    if dtype == _BFLOAT16 and array.dtype == np.float64:
        array = _round_to_odd(array)  # ml_dtypes goes through f32, and would round twice
    rounded = array.astype(dtype)
    return rounded if is_array(value) else rounded[()]


def _round_to_odd(array: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """f32 truncated, its last bit set where that was not exact: then rounding to fewer bits is as if it came first."""
    near = array.astype(np.float32)
    inexact = (near.astype(np.float64) != array) & ~np.isnan(array)
    bits = near.view(np.uint32) - (np.abs(near.astype(np.float64)) > np.abs(array)).astype(np.uint32)
    return np.asarray(bits | inexact.astype(np.uint32)).view(np.float32)


def float_of_integer(value: Any, dtype: np.dtype[Any]) -> Any:
    """Integers, as `signed` or `unsigned` read them, as floats, rounded once, ties to even."""
    array = np.asarray(value, dtype=None if is_array(value) else np.int64 if value < 0 else np.uint64)
    if dtype == _BFLOAT16:
        # What f64 cannot hold loses 11 bits and remembers that it had them: far below the last bit of bf16.
        magnitude = np.abs(array.astype(np.int64)).view(np.uint64) if array.dtype == np.int64 else array
        sticky = (magnitude >> np.uint64(11)) | ((magnitude & np.uint64(0x7FF)) != 0)
        wide = np.where(magnitude >> np.uint64(53), sticky << np.uint64(11), magnitude).astype(np.float64)
        floats = np.asarray(round_to(np.asarray(np.where(array < 0, -wide, wide)), dtype))
    else:
        floats = array.astype(dtype)
    return floats if is_array(value) else floats[()]


def scalar_of(value: Any, element: Attribute) -> Any:
    """An element that was read from an array, as a scalar: `index` is a Python integer."""
    return int(value) if isinstance(element, IndexType) else value


def unwritten_value(element: Attribute) -> Any:
    """The poison value of uninitialized elements: NaN, or the smallest integer."""
    dtype = dtype_of(element)
    if is_integer(element):
        return wrap(1 << (width_of(element) - 1), element)
    return dtype.type(np.nan)


def unwritten(shape: tuple[int, ...], element: Attribute) -> Array:
    """An array of poison values, so that a read of uninitialized memory shows.

    Raises `InterpretationError` for one that is larger than a value may be.
    """
    check_size(shape, dtype_of(element))
    return np.full(shape, unwritten_value(element), dtype_of(element))
