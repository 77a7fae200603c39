"""Dense elements: the layouts of hexadecimal blobs are upstream MLIR's, stated here byte by byte."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import Float16Type, Float64Type, IntegerType, TensorType, f32, i1, i8
from xdsl.ir import Attribute

from qmlir.ir.builtin_types import dense
from qmlir.text.elements import (
    blob_of_values,
    dense_array,
    dense_dtype,
    elements_text,
    fit_width,
    float_of_bits,
    values_of_blob,
)

i4, i24 = IntegerType(4), IntegerType(24)


@pytest.mark.parametrize(
    ("blob", "element", "values"),
    [
        # Bits are packed, the first in the lowest; one byte of ones or zeros stands for all.
        ("0502", i1, [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]),
        ("FF", i1, [1, 1, 1]),
        ("00", i1, [0, 0, 0]),
        # Odd widths take whole bytes, and the sign is that of their own width.
        ("010203FFFFFF", i24, [0x030201, -1]),
        ("0F0708", i4, [-1, 7, -8]),
        # One element stands for all.
        ("80", i8, [-128, -128]),
        ("0000803F", f32, [1.0, 1.0]),
        # The padded form of xDSL is read too.
        ("0102030000000080", i24, [0x030201, 0]),
    ],
)
def test_blobs_are_read(blob: str, element: Attribute, values: list[float]) -> None:
    data = values_of_blob(bytes.fromhex(blob), element, len(values))
    assert np.frombuffer(data, dense_dtype(element)).tolist() == values


@pytest.mark.parametrize(
    ("blob", "element", "count", "complaint"),
    [
        ("05", i1, 9, "9 elements of one bit must take 2 bytes, but got 1"),
        ("0102", i24, 2, "2 elements of type i24 must take 6 bytes, but got 2"),
        ("010203", f32, 1, "1 elements of type f32 must take 4 bytes, but got 3"),
    ],
)
def test_blobs_of_another_length_are_refused(blob: str, element: Attribute, count: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        values_of_blob(bytes.fromhex(blob), element, count)


@given(st.sampled_from([1, 3, 4, 8, 12, 16, 24, 32, 48, 64]), st.data())
def test_integers_of_any_width_come_back_from_their_blob(width: int, data: st.DataObject) -> None:
    element = IntegerType(width)
    dtype = dense_dtype(element)
    assert dtype is not None
    low, high = (0, 1) if width == 1 else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    values = np.array(data.draw(st.lists(st.integers(low, high), min_size=2, max_size=40)), dtype)
    blob = blob_of_values(values, element)
    assert len(blob) == (-(-len(values) // 8) if width == 1 else len(values) * -(-width // 8))
    assert values_of_blob(blob, element, len(values)) == values.tobytes()
    assert fit_width(values.tobytes(), element) == values.tobytes()


def test_true_is_one_however_it_was_stored() -> None:
    attribute = dense(b"\xff\x00\x01", TensorType(i1, [3]))
    assert dense_array(attribute).tolist() == [1, 0, 1]
    assert elements_text(attribute) == "[true, false, true]"


def test_the_bits_of_a_float() -> None:
    assert float_of_bits(0x3C00, Float16Type()) == np.float16(1.0).tobytes()
    assert float_of_bits(0x3FF0000000000000, Float64Type()) == np.float64(1.0).tobytes()
    with pytest.raises(ValueError, match="f16 must have 16 bits, but got 0x10000"):
        float_of_bits(0x10000, Float16Type())
    with pytest.raises(ValueError, match="a float in hexadecimal must not have a sign"):
        float_of_bits(-1, Float16Type())
