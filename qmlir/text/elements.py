"""Dense elements as text: every value exact, in as few characters as that allows.

Small tensors print as lists of decimals. A tensor that is large, or that holds a value that no decimal gives (NaN,
infinity), prints as one hexadecimal blob, which upstream MLIR and xDSL read back byte for byte.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    i1,
)
from xdsl.ir import Attribute

from qmlir.ir.builtin_types import as_integer

LIST_LIMIT = 16
"""Elements that print as a list; more print as a blob."""

_FLOAT_DTYPES: dict[type[Attribute], npt.DTypeLike] = {
    Float16Type: np.float16,
    BFloat16Type: ml_dtypes.bfloat16,
    Float32Type: np.float32,
    Float64Type: np.float64,
}

_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][-+]?\d+)?)?)|true|false")


def dense_dtype(element: Attribute) -> np.dtype[Any] | None:
    """The NumPy type of the bytes that hold an element type, `None` where there is none (complex, f8, i24…)."""
    match element:
        case IntegerType():
            size = element.compile_time_size
            if size not in (1, 2, 4, 8):
                return None
            return np.dtype(f"{'u' if element.signedness.data is Signedness.UNSIGNED else 'i'}{size}")
        case IndexType():
            return np.dtype(np.int64)
        case _:
            dtype = _FLOAT_DTYPES.get(type(element))
            return None if dtype is None else np.dtype(dtype)


def dense_array(attribute: DenseIntOrFPElementsAttr[Any]) -> npt.NDArray[Any]:
    """The values of a dense attribute as a read-only array that shares its bytes."""
    dtype = dense_dtype(attribute.get_element_type())
    if dtype is None:
        raise ValueError(f"no NumPy type holds elements of type {attribute.get_element_type()}")
    return np.frombuffer(attribute.data.data, dtype=dtype).reshape(attribute.get_shape())


def float_text(value: float, element: AnyFloat) -> str:
    """A decimal that reads back as the same bits, or the bits in hexadecimal where there is none."""
    if not math.isfinite(value):
        return f"0x{element.pack((value,))[::-1].hex().upper()}"
    text = f"{value:.6e}"
    if float(text) != value:
        text = _shortest(value, element)
    if "." not in text:
        mantissa, mark, exponent = text.partition("e")
        text = f"{mantissa}.0{mark}{exponent}"
    return text


def _shortest(value: float, element: AnyFloat) -> str:
    dtype = dense_dtype(element)
    if dtype == np.float32:
        short = str(np.float32(value))
        # The reader goes through f64: keep the short text only where that ends at the same value.
        if float(np.float32(float(short))) == value:
            return short
    return repr(value)


def _integer_text(value: Any, element: Attribute) -> str:
    return ("true" if value else "false") if element == i1 else str(int(value))


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // shape[0]
    rows = (texts[start : start + step] for start in range(0, len(texts), step))
    return "[" + ", ".join(_nested(row, shape[1:]) for row in rows) + "]"


def elements_text(attribute: DenseIntOrFPElementsAttr[Any]) -> str | None:
    """The text between the angle brackets of `dense<…>`; `None` for element types that this module does not know."""
    element: Attribute = attribute.get_element_type()
    dtype = dense_dtype(element)
    if dtype is None:
        return None
    values = np.frombuffer(attribute.data.data, dtype=dtype)
    if values.size == 0:
        return ""
    bits = values.view(_BITS.get(dtype.itemsize, np.uint8))
    is_splat = values.size > 1 and bool((bits == bits[0]).all())
    if is_splat:
        values = values[:1]
    is_float = isinstance(element, AnyFloat)
    # Upstream packs the bits of i1 and the bytes of odd widths in its own way: they always print as lists.
    is_byte_wise = is_float or _is_whole_bytes(element)
    needs_blob = is_float and not bool(np.isfinite(values.astype(np.float64)).all())
    if needs_blob or (values.size > LIST_LIMIT and is_byte_wise):
        return f'"0x{values.tobytes().hex().upper()}"'
    if isinstance(element, AnyFloat):
        texts = [float_text(float(value), element) for value in values]
    else:
        texts = [_integer_text(value, element) for value in values]
    return texts[0] if is_splat else _nested(texts, attribute.get_shape())


def _is_whole_bytes(element: Attribute) -> bool:
    integer = as_integer(element)
    return isinstance(element, IndexType) or (integer is not None and integer.width.data in (8, 16, 32, 64))


def float_bytes_of_literal(text: str, element: AnyFloat, count: int) -> bytes | None:
    """The bytes of a float literal list in which hexadecimal numbers are bit patterns; `None` where there are none.

    xDSL reads `dense<[0x7FC00000]>` as the number 2143289344; upstream MLIR reads the bits of a NaN.
    """
    numbers = _NUMBER.findall(text)
    if text.lstrip().startswith('"') or not any("0x" in number for number in numbers):
        return None

    def pack(number: str) -> bytes:
        if "0x" not in number:
            return element.pack((float(number),))
        size = element.compile_time_size
        return (int(number, 16) & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    packed = [pack(number) for number in numbers]
    return packed[0] * count if len(packed) == 1 else b"".join(packed)
