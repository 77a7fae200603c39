"""The number formats of QONNX: limits of integers by their bits, and the parameters of low-precision floats."""

from collections.abc import Mapping
from typing import Any, cast

import ml_dtypes

from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import DTYPES, SmallFloat, as_small_float, small_dtype

MAX_BITS = 24
"""The largest width of a type: f32 represents all of its integers."""

Limits = tuple[float, float]
"""The smallest and largest result of a quantizer, before dequantization; fractional if its number of bits is."""


def limits_of_bits(bits: Any, *, is_signed: bool, is_narrow: bool) -> Limits:
    """Returns the smallest and largest integer of `bits` bits; a narrow range leaves out the last one of a side.

    A fractional number of bits gives fractional limits, in the precision of `bits`.
    """
    bits = int(bits) if bits == int(bits) else bits
    if is_signed:
        return float(-(2 ** (bits - 1)) + is_narrow), float(2 ** (bits - 1) - 1)
    return 0.0, float(2**bits - 1 - is_narrow)


def is_narrow(element: UniformQuantizedType) -> bool | None:
    """Returns whether a type has the narrow range of its bits; `None` if it has other limits, or those of a sign bit.

    One signed bit is rejected: it holds -1 and 0, but 1 and -1 in QONNX.
    """
    if element.bits == 1 and element.is_signed:
        return None
    found = float(element.storage_min), float(element.storage_max)
    ranges = (limits_of_bits(element.bits, is_signed=element.is_signed, is_narrow=narrow) for narrow in (False, True))
    return {each: bool(narrow) for narrow, each in enumerate(ranges)}.get(found)


def format_of(type_: SmallFloat) -> tuple[float, float, float, float]:
    """Returns the exponent bits, the mantissa bits, the exponent bias and the largest value of a float type."""
    information = cast(Any, ml_dtypes.finfo(small_dtype(type_)))
    return information.nexp, information.nmant, 1 - information.minexp, float(information.max)


FORMATS: Mapping[tuple[float, float, float, float], SmallFloat] = {
    format_of(type_): type_ for kind in DTYPES if (type_ := as_small_float(kind())) and format_of(type_)[1]
}
"""The float types of 8 bits or fewer that have a mantissa."""
