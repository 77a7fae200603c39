"""Floats of 8 bits and fewer against xDSL's own reading and writing of each format, and against ONNX's tables."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import numpy_helper
from xdsl.dialects.builtin import Float8E8M0FNUType, FloatNonfiniteBehavior

from qmlir.arithmetic.small_floats import PowerRounding, to_small_float
from qmlir.ir.builtin_types import DTYPES, Codes

FORMATS = [kind() for kind in DTYPES]
SIGNED = [each for each in FORMATS if each.SEMANTICS.has_sign]
BITS = {each: np.dtype(DTYPES[type(each)]) for each in FORMATS}


def _codes(array: npt.NDArray[Any]) -> list[int]:
    return array.view(np.uint8).reshape(-1).tolist()


def _reals(format_: Any) -> npt.NDArray[np.float32]:
    """Every value, the middle between neighbours, and the f32 on both sides of each; far ones; both signs."""
    count = Codes.of(format_.SEMANTICS).largest + 1
    values = np.arange(count, dtype=np.uint8).view(BITS[format_]).astype(np.float64)
    beyond = values[-1] + (values[-1] - values[-2]) * np.array([0.25, 0.5, 0.75, 1.0])
    positions = np.concatenate([values, (values[1:] + values[:-1]) / 2, beyond]).astype(np.float32)
    near = [positions, np.nextafter(positions, np.float32(np.inf)), np.nextafter(positions, -np.float32(np.inf))]
    found = np.abs(np.concatenate([*near, np.array([1e30, 1e-40, 1e-45, 0], np.float32)]))
    return np.concatenate([found, -found]).astype(np.float32)


@pytest.mark.parametrize("format_", FORMATS, ids=str)
def test_numpy_reads_the_codes_as_xdsl_does(format_: Any) -> None:
    codes = np.arange(1 << format_.bitwidth, dtype=np.uint8)
    wanted = np.array(format_.unpack(codes.tobytes(), codes.size), np.float64)
    np.testing.assert_array_equal(codes.view(BITS[format_]).astype(np.float64), wanted)
    special = Codes.of(format_.SEMANTICS)
    assert np.isfinite(wanted[special.largest])
    assert special.nan is None or np.isnan(wanted[special.nan])
    assert special.infinity is None or np.isinf(wanted[special.infinity])
    assert wanted[special.largest] == np.nanmax(np.where(np.isinf(wanted), np.nan, wanted))


@pytest.mark.parametrize("format_", SIGNED, ids=str)
def test_values_are_rounded_as_xdsl_does(format_: Any) -> None:
    reals = _reals(format_)
    wanted = list(b"".join(format_.pack((float(real),)) for real in reals))
    assert _codes(to_small_float(reals, BITS[format_], saturates=False)) == wanted


@pytest.mark.parametrize("format_", SIGNED, ids=str)
def test_what_is_beyond_the_range_saturates(format_: Any) -> None:
    codes, dtype = Codes.of(format_.SEMANTICS), BITS[format_]
    reals = np.concatenate([_reals(format_), np.array([np.inf, -np.inf], np.float32)])
    free, found = (to_small_float(reals, dtype, saturates=each) for each in (False, True))
    is_finite = np.isfinite(free.astype(np.float64))
    assert _codes(found[is_finite]) == _codes(free[is_finite])
    assert set(_codes(found[~is_finite])) <= {codes.largest, codes.largest | codes.sign}
    np.testing.assert_array_equal(np.signbit(found[~is_finite].astype(np.float64)), np.signbit(reals[~is_finite]))
    if format_.SEMANTICS.nonfinite is FloatNonfiniteBehavior.FINITE_ONLY:
        assert is_finite.all()
    else:
        assert np.isnan(to_small_float(np.array([np.nan]), dtype).astype(np.float32)).all()


@pytest.mark.parametrize("rounding", list(PowerRounding))
def test_powers_of_two_are_those_of_onnx(rounding: PowerRounding) -> None:
    """For normal f32: ONNX's reference takes the subnormal ones, 2^-127 and below, by their exponent alone."""
    random = np.random.default_rng(0)
    reals = np.abs(random.integers(0x00800000, 0x7F000000, 2000, dtype=np.int32).view(np.float32))
    for saturates in (False, True):
        wanted = numpy_helper.to_float8e8m0(reals, saturates, str(rounding))
        assert _codes(to_small_float(reals, wanted.dtype, saturates=saturates, rounding=rounding)) == _codes(wanted)


def test_powers_of_two_by_the_table() -> None:
    """ONNX Cast: zero and what is too small is the smallest power, infinity the largest, or all of them NaN."""
    dtype = BITS[Float8E8M0FNUType()]
    reals = np.array([0, 2.0**-140, 2.0**-127, 1.01 * 2.0**-127, 1, np.inf, 3e38, np.nan, -1], np.float32)
    assert _codes(to_small_float(reals, dtype)) == [0, 0, 0, 1, 127, 254, 254, 255, 255]
    nearest = to_small_float(reals, dtype, saturates=False, rounding=PowerRounding.NEAREST)
    assert _codes(nearest) == [255, 255, 0, 0, 127, 255, 255, 255, 255]
