"""Reading and writing the inside of a quantized type: storage, expressed type, scales and zero points.

A literal of thousands of parameters is read in one piece by the JSON reader; token by token only where that
fails, so that an error has its line and column.
"""

import json
import re
import struct
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness
from xdsl.parser import AttrParser

Parameters = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
"""Scales and zero points of one shape."""

_STORAGE = re.compile(r"(u|ui|i|si)(\d+)")
_LITERAL = re.compile(r"[{}\s,0-9.eE+:-]*")
_ZERO_POINT = re.compile(r"\s*:\s*-?\d+")
_PARAMETER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?(?:\s*:\s*(-?\d+))?")
_TO_JSON = str.maketrans("{}", "[]")


def parse_storage(
    parser: AttrParser, limits_of: Callable[[IntegerType], tuple[int, int]]
) -> tuple[IntegerType, tuple[int, int] | None]:
    """Parse `i8`, `u8`, `ui8`, `si8`, each with an optional `<low:high>`."""
    position = parser.pos
    name = parser.parse_identifier(" (a storage type)")
    if (found := _STORAGE.fullmatch(name)) is None:
        parser.raise_error(f"illegal storage type '{name}', iN, siN, uN or uiN is accepted", position)
    width = int(found[2])
    if not 1 <= width <= 32:
        parser.raise_error(f"illegal storage type size: {width}, 1 to 32 bits are accepted", position)
    unsigned = found[1].startswith("u")
    storage = IntegerType(width, Signedness.UNSIGNED if unsigned else Signedness.SIGNLESS)
    if parser.parse_optional_punctuation("<") is None:
        return storage, None
    lowest, highest = limits_of(storage)
    position = parser.pos
    low = parser.parse_integer(False)
    if low < lowest:
        parser.raise_error(f"illegal storage type minimum: {low}, at least {lowest} is accepted", position)
    parser.parse_punctuation(":")
    position = parser.pos
    high = parser.parse_integer(False)
    if high > highest:
        parser.raise_error(f"illegal storage type maximum: {high}, at most {highest} is accepted", position)
    parser.parse_punctuation(">")
    return storage, (low, high)


def parse_expressed(parser: AttrParser) -> AnyFloat:
    """Parse the float type that the values express."""
    position = parser.pos
    expressed = parser.parse_type()
    if not isinstance(expressed, AnyFloat):
        parser.raise_error(f"expressed type must be floating point, found {expressed}", position)
    return expressed


def parse_real(parser: AttrParser) -> float:
    """Parse a decimal float, or the bits of an f64 in hexadecimal; a plain integer is refused, as upstream does."""
    position = parser.pos
    number = parser.parse_number()
    if isinstance(number, float):
        return number
    text = parser.lexer.input.content[position : position + 2]
    if text != "0x" or number >= 1 << 64:
        parser.raise_error("unexpected decimal integer literal for a floating point value", position)
    return struct.unpack("<d", struct.pack("<Q", number))[0]


def _parse_zero_point(parser: AttrParser) -> int:
    if parser.parse_optional_punctuation(":") is None:
        return 0
    position = parser.pos
    number = parser.parse_integer(False)
    if not -(1 << 63) <= number < 1 << 63:
        parser.raise_error("integer value too large", position)
    return number


def parse_scale(parser: AttrParser) -> Parameters:
    """Parse `0.1` or `0.1:-3`."""
    scale = parse_real(parser)
    return np.array(scale), np.array(_parse_zero_point(parser))


def parse_optional_blocks(parser: AttrParser) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Parse `{0:1, 1:32}`, axis to block size, if present."""

    def parse_pair() -> tuple[int, int]:
        axis = parser.parse_integer(False)
        parser.parse_punctuation(":")
        return axis, parser.parse_integer(False)

    pairs = parser.parse_optional_comma_separated_list(AttrParser.Delimiter.BRACES, parse_pair)
    if pairs is None:
        return None
    return tuple(axis for axis, _ in pairs), tuple(size for _, size in pairs)


def _read_at_once(text: str) -> Parameters | None:
    """Scales and zero points of a literal without hexadecimal numbers, `None` where it is not well formed."""
    if not text.startswith("{"):
        return None
    try:
        scales = np.array(json.loads(_ZERO_POINT.sub("", text).translate(_TO_JSON)), dtype=np.float64)
        zeros = json.loads(_PARAMETER.sub(lambda found: found[1] or "0", text).translate(_TO_JSON))
        zero_points = np.array(zeros, dtype=np.int64)
    except (ValueError, OverflowError):  # malformed, ragged, or a zero point beyond 64 bits
        return None
    # An integer where a scale should stand is read as a zero point, and has no fraction in the text.
    plain = _PARAMETER.sub("", text).translate({ord(mark): None for mark in "{}, \t\r\n"})
    return (scales, zero_points) if scales.shape == zero_points.shape and scales.size and not plain else None


def parse_parameter_literal(parser: AttrParser) -> Parameters:
    """Parse nested lists of parameters, `{0.1, 0.2:3}` or `{{0.1:1}, {0.2:2}}`, of one shape."""
    start = parser.pos
    content = parser.lexer.input.content
    found = _LITERAL.match(content, start)
    text = found[0].rstrip() if found else ""
    if (parameters := _read_at_once(text)) is not None:
        # xDSL has no public way to go on behind text that was read without its lexer.
        parser._resume_from(start + len(text))  # pyright: ignore[reportPrivateUsage]
        return parameters
    nested = _parse_nested(parser)
    try:
        pairs = np.array(nested, dtype=object)
        scales, zeros = np.array(pairs[..., 0], dtype=np.float64), np.array(pairs[..., 1], dtype=np.int64)
    except (ValueError, IndexError):
        parser.raise_error("tensor literal is invalid; ranks are not consistent between elements", start)
    return scales, zeros


def _parse_nested(parser: AttrParser) -> list[Any]:
    def parse_element() -> Any:
        if parser.parse_optional_punctuation("{") is None:
            return parse_real(parser), _parse_zero_point(parser)
        return _parse_rest()

    def _parse_rest() -> list[Any]:
        elements = [parse_element()]
        while parser.parse_optional_punctuation(",") is not None:
            elements.append(parse_element())
        parser.parse_punctuation("}")
        return elements

    parser.parse_punctuation("{")
    return _parse_rest()


def _same(value: float) -> float:
    return value


def real_text(value: float, rounded: Callable[[float], float] = _same) -> str:
    """A short decimal text that reads back as the same number, with the fraction that MLIR's lexer wants.

    `rounded` is what the reader does to an f64; without it the text reads back as the same f64.
    """
    text = f"{value:.6e}"
    if rounded(float(text)) != value:
        text = repr(value) if rounded is _same else _shortest(value, rounded)
    if "." not in text:
        mantissa, mark, exponent = text.partition("e")
        text = f"{mantissa}.0{mark}{exponent}"
    return text


def _shortest(value: float, rounded: Callable[[float], float]) -> str:
    texts = (f"{value:.{digits}e}" for digits in range(7, 17))
    return next((text for text in texts if rounded(float(text)) == value), repr(value))


def parameter_text(scales: Any, zero_points: Any, rounded: Callable[[float], float] = _same) -> str:
    """The text of parameters: a number, or nested lists in braces; `rounded` as in `real_text`."""
    if not isinstance(scales, list):
        return real_text(scales, rounded) + (f":{zero_points}" if zero_points else "")
    inner = cast(list[Any], scales)
    return "{" + ", ".join(parameter_text(s, z, rounded) for s, z in zip(inner, zero_points, strict=True)) + "}"
