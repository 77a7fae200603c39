"""Parsing and printing of the parameters of quantized types: storage, expressed type, scales and zero points.

A literal with thousands of parameters is parsed at once by the JSON reader. Only if this fails is it parsed token by
token, so that the error has a line and column. When a type is printed, all its numbers are formatted together.
"""

import json
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, f64
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

from qmlir.ir.builtin_types import SmallFloat, as_integer, as_small_float
from qmlir.text.elements import float_text, nested_text, with_fraction

Floats = npt.NDArray[np.float64]

Parameters = tuple[Floats, npt.NDArray[np.int64]]
"""An array of scales and an array of zero points, of the same shape."""

Rounding = Callable[[Floats], Floats]
"""The function that rounds f64 values as the parser does when it reads them back."""

MAX_STORAGE_BITS = 32
"""The width of the widest storage type, as in upstream MLIR."""

MAX_PARAMETER_RANK = 64
"""The maximum nesting of parameter lists, which is the maximum rank of NumPy arrays."""

BRIEF_PARAMETERS = 60
"""The number of characters above which messages omit a list of parameters."""

_STORAGE = re.compile(r"(u|ui|i|si)([0-9]+)")
_SMALL_FLOAT = re.compile(r"(?:b?f|tf)[0-9]\w*")
_LITERAL = re.compile(r"[{}\s,0-9.eE+:-]*")
_ZERO_POINT = re.compile(r"\s*:\s*-?[0-9]+")
_PARAMETER = re.compile(r"-?[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?(?:\s*:\s*(-?[0-9]+))?")
_TO_JSON = str.maketrans("{}", "[]")
_LONG_PARAMETERS = re.compile(rf"\{{[^<>]{{{BRIEF_PARAMETERS},}}\}}>")


def _parse_storage_type(parser: AttrParser) -> IntegerType:
    position = parser.pos
    name = parser.parse_optional_identifier()
    if name is None:
        # Without a keyword, it may be the alias of a builtin integer type.
        storage = as_integer(parser.parse_type())
        if storage is None:
            parser.raise_error("expected an integer storage type", position)
        width = storage.width.data
    else:
        if (found := _STORAGE.fullmatch(name)) is None:
            parser.raise_error(f"illegal storage type '{name}' (must be iN, siN, uN or uiN)", position)
        width = int(found[2])
        storage = IntegerType(width, Signedness.UNSIGNED if found[1].startswith("u") else Signedness.SIGNLESS)
    if not 1 <= width <= MAX_STORAGE_BITS:
        parser.raise_error(f"illegal storage type size: {width} (must be 1 to {MAX_STORAGE_BITS} bits)", position)
    return storage


def parse_optional_small_float(parser: AttrParser) -> SmallFloat | None:
    """Parses a float storage type of at most 8 bits, if present. Limits are rejected: only integers may have them."""
    content, position = parser.lexer.input.content, parser.pos
    found = _SMALL_FLOAT.match(content, position)
    storage = as_small_float(parser.parse_type()) if found else None
    if found and storage is None:
        parser.raise_error(f"illegal storage type '{found[0]}' (floats must have at most 8 bits)", position)
    if storage is not None and content.startswith("<", parser.pos):
        parser.raise_error(f"storage type {storage} does not support a storage range")
    return storage


def parse_storage(
    parser: AttrParser, limits_of: Callable[[IntegerType], tuple[int, int]]
) -> tuple[IntegerType, tuple[int, int] | None]:
    """Parses `i8`, `u8`, `ui8` or `si8`, each with an optional `<low:high>`, or the alias of an integer type."""
    storage = _parse_storage_type(parser)
    if parser.parse_optional_punctuation("<") is None:
        return storage, None
    lowest, highest = limits_of(storage)
    position = parser.pos
    low = parser.parse_integer(False)
    if low < lowest:
        parser.raise_error(f"illegal storage type minimum: {low} (must be at least {lowest})", position)
    parser.parse_punctuation(":")
    position = parser.pos
    high = parser.parse_integer(False)
    if high > highest:
        parser.raise_error(f"illegal storage type maximum: {high} (must be at most {highest})", position)
    parser.parse_punctuation(">")
    return storage, (low, high)


def parse_expressed(parser: AttrParser) -> AnyFloat:
    """Parses the float type that the values express."""
    position = parser.pos
    expressed = parser.parse_type()
    if not isinstance(expressed, AnyFloat):
        parser.raise_error(f"expressed type must be floating point, but got '{expressed}'", position)
    return expressed


def parse_real(parser: AttrParser) -> float:
    """Parses a decimal float, or the bits of an f64 in hexadecimal; rejects plain integers, as upstream does."""
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
    """Parses a scale with an optional zero point: `0.1` or `0.1:-3`."""
    scale = parse_real(parser)
    return np.array(scale), np.array(_parse_zero_point(parser))


def parse_optional_blocks(parser: AttrParser) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Parses a map from axis to block size, such as `{0:1, 1:32}`, if present."""

    def parse_pair() -> tuple[int, int]:
        axis = parser.parse_integer(False)
        parser.parse_punctuation(":")
        return axis, parser.parse_integer(False)

    pairs = parser.parse_optional_comma_separated_list(AttrParser.Delimiter.BRACES, parse_pair)
    if pairs is None:
        return None
    return tuple(axis for axis, _ in pairs), tuple(size for _, size in pairs)


def _read_at_once(text: str) -> Parameters | None:
    """Parses the scales and zero points of a literal without hexadecimal numbers; `None` if it is malformed."""
    if not text.startswith("{"):
        return None
    try:
        if ":" not in text:  # as for weights: one pass suffices
            scales = np.array(json.loads(text.translate(_TO_JSON)), dtype=np.float64)
            has_fractions = scales.size and text.count(".") == scales.size  # a number has at most one decimal point
            return (scales, np.zeros(scales.shape, np.int64)) if has_fractions else None
        scales = np.array(json.loads(_ZERO_POINT.sub("", text).translate(_TO_JSON)), dtype=np.float64)
        zeros = json.loads(_PARAMETER.sub(lambda found: found[1] or "0", text).translate(_TO_JSON))
        zero_points = np.array(zeros, dtype=np.int64)
    except (ValueError, OverflowError, RecursionError):  # malformed, ragged, too deep, a zero point beyond 64 bits
        return None
    # An integer in the position of a scale is read as a zero point, and has no fraction in the text.
    plain = _PARAMETER.sub("", text).translate({ord(mark): None for mark in "{}, \t\r\n"})
    return (scales, zero_points) if scales.shape == zero_points.shape and scales.size and not plain else None


def parse_parameter_literal(parser: AttrParser) -> Parameters:
    """Parses nested lists of parameters of one shape, such as `{0.1, 0.2:3}` or `{{0.1:1}, {0.2:2}}`."""
    start = parser.pos
    content = parser.lexer.input.content
    found = _LITERAL.match(content, start)
    text = found[0].rstrip() if found else ""
    if (parameters := _read_at_once(text)) is not None:
        # The parser goes on where its lexer is after it has consumed the brace at the start.
        parser.lexer.pos = start + len(text)
        parser.parse_punctuation("{")
        return parameters
    nested = _parse_list(parser, 1)
    try:
        pairs = np.array(nested, dtype=object)
        scales, zeros = np.array(pairs[..., 0], dtype=np.float64), np.array(pairs[..., 1], dtype=np.int64)
    except (ValueError, IndexError):
        parser.raise_error("tensor literal is invalid; ranks are not consistent between elements", start)
    return scales, zeros


def read_unsigned(zero_points: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.int64]:
    """Converts the zero points of unsigned blocks, which upstream prints as signed numbers with the same bits."""
    half = 1 << (bits - 1)
    return np.where((zero_points < 0) & (zero_points >= -half), zero_points + 2 * half, zero_points)


def _parse_list(parser: AttrParser, depth: int) -> list[Any]:
    if depth > MAX_PARAMETER_RANK:
        parser.raise_error(f"quantization parameters must be nested at most {MAX_PARAMETER_RANK} deep")
    parser.parse_punctuation("{")
    elements = [_parse_element(parser, depth)]
    while parser.parse_optional_punctuation(",") is not None:
        elements.append(_parse_element(parser, depth))
    parser.parse_punctuation("}")
    return elements


def _parse_element(parser: AttrParser, depth: int) -> Any:
    if parser.lexer.input.content.startswith("{", parser.pos):
        return _parse_list(parser, depth + 1)
    return parse_real(parser), _parse_zero_point(parser)


def real_texts(values: Floats, rounded: Rounding | None = None) -> list[str]:
    """Returns a short text for each value that round-trips and has the fraction that MLIR's lexer requires.

    `rounded` applies the rounding that the parser applies to an f64; without it, the text round-trips to the same f64.
    Values without a decimal text (NaN, infinity) are written as the hexadecimal bits of the f64.
    """
    flat = values.ravel()
    texts = [f"{value:.6e}" for value in flat.tolist()]
    longer = [repr] if rounded is None else [f"{{:.{digits}e}}".format for digits in range(7, 17)]
    for text_of in longer:
        read = np.fromiter(map(float, texts), np.float64, len(texts))
        wrong = np.flatnonzero((read if rounded is None else rounded(read)) != flat)
        if not wrong.size:
            break
        for index in wrong.tolist():
            texts[index] = text_of(float(flat[index]))
    return [
        with_fraction(text) if math.isfinite(value) else float_text(value, f64)
        for text, value in zip(texts, flat.tolist(), strict=True)
    ]


def parameter_text(scales: Floats, zero_points: npt.NDArray[np.int64], rounded: Rounding | None = None) -> str:
    """Returns the text of parameters: a number, or nested lists in braces. `rounded` is as in `real_texts`."""
    texts = real_texts(scales, rounded)
    for index in np.flatnonzero(zero_points.ravel()).tolist():
        texts[index] += f":{zero_points.flat[index]}"
    return nested_text(texts, scales.shape, "{}")


def brief_text(type_: Attribute) -> str:
    """Returns the text of a type for use in a message; long lists of parameters are omitted."""
    return _LONG_PARAMETERS.sub("{...}>", str(type_))
