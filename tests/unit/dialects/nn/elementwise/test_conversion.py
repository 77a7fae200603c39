"""Casts from every plain type to every other, far beyond the range of the result too, and bits read as another type."""

import ml_dtypes
import numpy as np
import pytest

from tests.unit.dialects.nn.lower.driver import check, tensor

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
INTEGERS = ["i1", "i2", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"]


def numbers(dtype: type) -> np.ndarray:
    """Numbers around every power of two, and what is not a number."""
    powers = [2.0**exponent for exponent in (-80, -1, 0, 1, 7, 8, 15, 16, 23, 24, 31, 32, 40, 52, 53, 62, 63, 64, 65)]
    powers += [2.0**66, 2.0**77, 2.0**86, 2.0**87, 2.0**88, 2.0**100, 2.0**116, 2.0**120, 2.0**500]
    found = [0.0, 0.5, np.nan, np.inf, 65504.0, 65519.0, 65520.0, 1e300]
    for power in powers:
        found += [power, power * (1 + 2**-10), power * (1 + 2**-23), power * (1 + 3 * 2**-52), power - 0.5, power + 1.5]
    with np.errstate(over="ignore"):
        return np.array([*found, *(-number for number in found)]).astype(dtype)


@pytest.mark.parametrize("target", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("source", FLOATS)
def test_from_floats(source: str, target: str) -> None:
    given = {"input0": numbers(FLOATS[source])}
    shape = [len(given["input0"])]
    check("nn.cast", [tensor(shape, source)], [tensor(shape, target)], given=given, seeds=(0,))


@pytest.mark.parametrize("target", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("source", INTEGERS)
def test_from_integers(source: str, target: str) -> None:
    check("nn.cast", [tensor([40], source)], [tensor([40], target)])
    check("nn.cast", [tensor([], source)], [tensor([], target)], seeds=(0,))


def test_a_profiled_float() -> None:
    check("nn.cast", ["tensor<9x!quant.calibrated<f32<-1.0:300.0>>>"], ["tensor<9xi8>"])


@pytest.mark.parametrize(
    "types",
    [
        ("f32", "i32"), ("f32", "ui32"), ("f64", "i64"), ("f16", "bf16"), ("f16", "ui16"), ("i8", "ui8"), ("i1", "i8"),
        ("ui8", "i1"), ("i4", "ui4"), ("i1", "i1"),
    ],
)  # fmt: skip
def test_bits_read_as_another_type(types: tuple[str, str]) -> None:
    for source, target in (types, types[::-1]):
        check("nn.bit_cast", [tensor([2, 9], source)], [tensor([2, 9], target)])
