"""Prints and parses dense elements: every value is exact, and the text is as short as possible.

Small tensors are printed as lists of decimals. If a tensor is large, or has a value without a decimal notation (NaN,
infinity), it is printed as a hexadecimal blob, which upstream MLIR and xDSL read byte for byte.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import builtin
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.ir.builtin_types import FLOAT_DTYPES, as_integer

LIST_LIMIT = 16
"""The maximum number of elements that are printed as a list; more are printed as a blob."""

ODD_LIST_LIMIT = 1024
"""The maximum for element types that upstream's blobs pack more tightly than xDSL's; both can parse lists."""

_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def dense_dtype(element: Attribute) -> np.dtype[Any] | None:
    """Returns the NumPy type of the bytes of an element type; `None` if there is none (complex, f80, i24…)."""
    match element:
        case builtin.IntegerType():
            size = element.compile_time_size
            if size not in (1, 2, 4, 8):
                return None
            return np.dtype(f"{'u' if element.signedness.data is builtin.Signedness.UNSIGNED else 'i'}{size}")
        case builtin.IndexType():
            return np.dtype(np.int64)
        case _:
            dtype = FLOAT_DTYPES.get(type(element))
            return None if dtype is None else np.dtype(dtype)


def dtype_of(element: Attribute) -> np.dtype[Any]:
    """Returns the NumPy type of the bytes of an element type. Raises `InterpretationError` if there is none."""
    dtype = dense_dtype(element)
    if dtype is None:
        raise InterpretationError(f"no NumPy type holds elements of type {element}")
    return dtype


def dense_array(attribute: builtin.DenseIntOrFPElementsAttr[Any]) -> Array:
    """Returns the values of a dense attribute as a read-only array over its bytes; i1 values are 0 and 1."""
    dtype = dense_dtype(attribute.get_element_type())
    if dtype is None:
        raise ValueError(f"no NumPy type holds elements of type {attribute.get_element_type()}")
    values = np.frombuffer(attribute.data.data, dtype=dtype).reshape(attribute.get_shape())
    if attribute.get_element_type() == builtin.i1 and bool((values < 0).any()):
        # xDSL's constructors write true as 0xFF, NumPy as 0x01.
        values = values & 1
        values.flags.writeable = False
    return values


def float_text(value: float, element: builtin.AnyFloat) -> str:
    """Returns a decimal that round-trips bit for bit, or the hexadecimal bits if there is none."""
    if not math.isfinite(value):
        return f"0x{element.pack((value,))[::-1].hex().upper()}"
    text = f"{value:.6e}"
    if float(text) != value:
        text = _shortest(value, element)
    return with_fraction(text)


def with_fraction(text: str) -> str:
    """Returns the text of a float with the fraction that MLIR's lexer requires."""
    mantissa, mark, exponent = text.partition("e")
    return text if "." in text else f"{mantissa}.0{mark}{exponent}"


def _shortest(value: float, element: builtin.AnyFloat) -> str:
    dtype = dense_dtype(element)
    if dtype == np.float32:
        short = str(np.float32(value))
        # The reader converts through f64: keep the short text only if that yields the original value.
        if float(np.float32(float(short))) == value:
            return short
    return repr(value)


def nested_text(texts: Sequence[str], shape: Sequence[int], brackets: str = "[]") -> str:
    """Returns the text of nested lists of this `shape`, with `texts` as their elements in row-major order."""
    if not shape:
        return texts[0]
    if len(shape) > 1:
        step = len(texts) // shape[0]
        rows = (texts[start : start + step] for start in range(0, len(texts), step))
        texts = [nested_text(row, shape[1:], brackets) for row in rows]
    return ", ".join(texts).join(brackets)


def elements_text(attribute: builtin.DenseIntOrFPElementsAttr[Any]) -> str | None:
    """Returns the text between the angle brackets of `dense<…>`; `None` for unsupported element types."""
    element: Attribute = attribute.get_element_type()
    if dense_dtype(element) is None:
        return None
    values = dense_array(attribute).reshape(-1)
    if values.size == 0:
        return ""
    bits = values.view(_BITS.get(values.itemsize, np.uint8))
    is_splat = values.size > 1 and bool((bits == bits[0]).all())
    if is_splat:
        values = values[:1]
    limit = LIST_LIMIT if _is_stored_as_upstream(element) else ODD_LIST_LIMIT
    if values.size > limit:
        return f'"0x{blob_of_values(values, element).hex().upper()}"'
    if isinstance(element, builtin.AnyFloat):
        if not bool(np.isfinite(values).all()):
            return f'"0x{values.tobytes().hex().upper()}"'
        texts = [float_text(float(value), element) for value in values]
    elif element == builtin.i1:
        texts = ["true" if value else "false" for value in values]
    else:
        texts = [str(value) for value in values.tolist()]
    return texts[0] if is_splat else nested_text(texts, attribute.get_shape())


def _is_bit(element: Attribute) -> bool:
    integer = as_integer(element)
    return integer is not None and integer.width.data == 1


def _stored_bytes(element: Attribute) -> int:
    """Returns the bytes of an element in upstream's blobs: its width rounded up to whole bytes."""
    integer = as_integer(element)
    if integer is not None:
        return -(-integer.width.data // 8)
    return dtype_of(element).itemsize


def _is_stored_as_upstream(element: Attribute) -> bool:
    """Returns True if upstream's blobs have the layout of memory; upstream packs i1 into bits, i24 into 3 bytes."""
    dtype = dense_dtype(element)
    return not _is_bit(element) and dtype is not None and dtype.itemsize == _stored_bytes(element)


def blob_of_values(values: Array, element: Attribute) -> bytes:
    """Returns the bytes of `dense<"0x…">` in upstream MLIR's layout."""
    if _is_stored_as_upstream(element):
        return values.tobytes()
    if _is_bit(element):
        return np.packbits(values != 0, bitorder="little").tobytes()
    columns = values.view(np.uint8).reshape(-1, values.itemsize)
    return columns[:, : _stored_bytes(element)].tobytes()


def values_of_blob(blob: bytes, element: Attribute, count: int) -> bytes:
    """Returns the bytes in memory of `count` elements from a blob in upstream's layout or in xDSL's (which pads).

    A blob of one element is a splat. Raises `ValueError` for any other length.
    """
    dtype = dense_dtype(element)
    if dtype is None:
        raise ValueError(f"elements of type {element} cannot be written in hexadecimal")
    if _is_bit(element):
        return fit_width(_bits_of_blob(blob, count), element)
    stored = _stored_bytes(element)
    for size in (stored, dtype.itemsize):
        if len(blob) == size:
            return _fit(blob, size, element) * count
        if len(blob) == size * count:
            return _fit(blob, size, element)
    raise ValueError(f"{count} elements of type {element} must take {stored * count} bytes, but got {len(blob)}")


def _bits_of_blob(blob: bytes, count: int) -> bytes:
    packed = -(-count // 8)
    if blob in (b"\x00", b"\xff"):
        return blob * count
    if len(blob) == packed:
        return np.unpackbits(np.frombuffer(blob, np.uint8), count=count, bitorder="little").tobytes()
    if len(blob) == count:  # xDSL's layout: one byte for each
        return blob
    raise ValueError(f"{count} elements of one bit must take {packed} bytes, but got {len(blob)}")


def _fit(blob: bytes, size: int, element: Attribute) -> bytes:
    """Widens elements of `size` bytes to their size in memory."""
    dtype = dtype_of(element)
    if size != dtype.itemsize:
        wide = np.zeros((len(blob) // size, dtype.itemsize), np.uint8)
        wide[:, :size] = np.frombuffer(blob, np.uint8).reshape(-1, size)
        blob = wide.tobytes()
    return fit_width(blob, element)


def fit_width(data: bytes, element: Attribute) -> bytes:
    """Sign- or zero-extends integers that are narrower than their bytes; i1 becomes 0 or 1."""
    integer, dtype = as_integer(element), dense_dtype(element)
    if integer is None or dtype is None or integer.width.data == 8 * dtype.itemsize:
        return data
    return narrowed(np.frombuffer(data, dtype), element).tobytes()


def narrowed(values: Array, element: Attribute) -> Array:
    """Reduces integers modulo 2^N for an integer type of N bits, which may be narrower than their NumPy type."""
    integer = as_integer(element)
    if element == builtin.i1:
        return np.asarray(values & 1)
    if integer is None or integer.width.data == 8 * values.itemsize:
        return values
    shift = 8 * values.itemsize - integer.width.data
    return np.asarray((values << shift) >> shift)


def stored_integers(values: Array, element: Attribute, *, is_unsigned: bool) -> Array:
    """Interprets elements of a signless type as signed or unsigned integers, in a NumPy type of the size they have.

    Elements that fill their bytes are not copied. A signed i1, which is stored as 0 or 1, becomes 0 or -1.
    """
    integer = as_integer(element)
    assert integer is not None
    if values.dtype.kind not in "iu" or 8 * values.itemsize < integer.width.data:
        values = values.astype(np.int64)
    stored = values.view(f"{'u' if is_unsigned else 'i'}{values.itemsize}")
    unused = 8 * values.itemsize - integer.width.data
    return np.asarray((stored << unused) >> unused) if unused else stored


def integers_of(values: Array, element: Attribute, *, is_unsigned: bool) -> npt.NDArray[np.int64]:
    """Returns the `stored_integers`, of up to 63 bits if they are unsigned, as 64-bit integers."""
    return stored_integers(values, element, is_unsigned=is_unsigned).astype(np.int64)


def float_of_bits(bits: int, element: builtin.AnyFloat) -> bytes:
    """Returns the bytes of the float with these `bits`. Raises `ValueError` if `element` has fewer bits."""
    size = element.compile_time_size
    if bits < 0:
        raise ValueError("a float in hexadecimal must not have a sign")
    if bits >> 8 * size:
        raise ValueError(f"{element} must have {8 * size} bits, but got {bits:#x}")
    return bits.to_bytes(size, "little")
