"""Reads the encodings of AIMET, versions 0.4 to 2.0, as the rules of a recipe.

An encoding gives the bits, scales and offsets of the tensor with a name. Its integers are unsigned, with
`real = (q + offset) * scale`; those of version 2.0 have the type and the zero point of ONNX's QuantizeLinear. A rule
stores them as signed integers of equal bits, with the zero point `-offset - 2^(bits - 1)`, so real values are equal.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

from qmlir.arithmetic.arrays import integer_limits
from qmlir.ir.diagnostics import text_error
from qmlir.text.data import JsonValue, read_data

MAX_BITS = 16
"""The largest number of bits of data and weights; accumulators and biases with more follow from these."""

_LISTS = ("activation_encodings", "param_encodings")
_ONNX_TYPE = re.compile(r"(u?)int([1-9]|[12]\d|3[0-2])|b?float\d+\w*", re.ASCII)
"""The types of version 2.0."""


def rules(path: Path) -> list[dict[str, Any]]:
    """Returns a rule for each encoding in the file `path`. Raises `DiagnosticError` if an encoding is invalid."""
    data = read_data(path)
    given = data.get("version")
    version = "0.4.0" if given is None else given.text()
    major = version.partition(".")[0]
    if major not in ("0", "1", "2"):
        raise text_error(f"'{path}': encodings of version {version} are not supported (available: 0.4 to 2.0)")
    if major == "2":
        found = [(each["name"].text(), each, _of_onnx(each)) for each in data["encodings"]]
    elif major == "1":
        found = [(each["name"].text(), each, _of_lists(each)) for key in _LISTS for each in data[key]]
    else:
        entries = [entry for key in _LISTS for entry in data[key].entries().items()]
        found = [(name, each, _of_channels(each)) for name, each in entries]
    return [rule for name, encoding in _by_name(found).items() if (rule := _rule(name, encoding))]


@dataclass(frozen=True)
class _Encoding:
    """The parameters of a tensor; without scales, it stays in float."""

    bits: int
    scales: tuple[float, ...] = ()
    offsets: tuple[int, ...] = ()
    """The offset of each scale, to integers counted from 0."""

    is_per_channel: bool = False
    limits: tuple[int, int] | None = None
    """The smallest and largest integer, counted from 0; `None` for those of the bits."""


def _by_name(rows: Iterable[tuple[str, JsonValue, _Encoding]]) -> dict[str, _Encoding]:
    """Returns the encodings by name. Raises `DiagnosticError` for an empty name, or for two encodings of a tensor."""
    found: dict[str, _Encoding] = {}
    for name, value, encoding in rows:
        if not name:
            raise text_error(f"{value.name}: '{value.path}' has an empty name; it must be that of a tensor")
        if found.setdefault(name, encoding) != encoding:
            raise text_error(f"{value.name}: '{value.path}' encodes tensor '{name}' again, with other parameters")
    return found


def _rule(name: str, encoding: _Encoding) -> dict[str, Any]:
    """Returns the rule for the tensor `name`. The rule is empty for the bits of accumulators and biases."""
    common = {"values": [escape(name)], "optional": True}
    if not encoding.scales:
        return {**common, "quantize": False}
    bits = encoding.bits
    if bits > MAX_BITS:
        return {}
    middle, storage = 1 << (bits - 1), f"i{bits}"
    if encoding.limits is not None:
        storage += f"<{encoding.limits[0] - middle}:{encoding.limits[1] - middle}>"
    zero_points = [-offset - middle for offset in encoding.offsets]
    given = {**common, "storage": storage}
    if encoding.is_per_channel:
        return {**given, "slot": "weight", "scale": list(encoding.scales), "zero_point": zero_points}
    return {**given, "scale": encoding.scales[0], "zero_point": zero_points[0]}


# Numbers


def _scale(value: JsonValue) -> float:
    found = value.number()
    if found <= 0:
        value.wrong("above 0")
    return found


def _offset(value: JsonValue, bits: int) -> int:
    """Returns an offset, a whole number that some versions write as a float; 0 must be a real value of `bits` bits."""
    found = value.number()
    if found != math.floor(found):
        value.wrong("a whole number")
    if found > 0:
        value.wrong("at most 0")
    if found <= -(1 << bits):
        value.wrong(f"at least {1 - (1 << bits)} for {bits} bits")
    return int(found)


def _check_counts(scales: JsonValue, offsets: JsonValue, *, is_per_channel: bool) -> None:
    """Raises `DiagnosticError` unless two lists have an element per channel, or one element per tensor."""
    counts = [len(list(each)) for each in (scales, offsets)]
    for value, count in zip((scales, offsets), counts, strict=True):
        if count == 0 or (count > 1 and not is_per_channel):
            value.wrong("a list of one or more numbers" if is_per_channel else "a list of one number")
    if counts[0] != counts[1]:
        raise text_error(
            f"{scales.name}: '{scales.path}' and '{offsets.path}' must have equal lengths, "
            f"but got {counts[0]} and {counts[1]}"
        )


# Versions


def _of_channels(encodings: JsonValue) -> _Encoding:
    """Returns the parameters of a tensor by versions below 1.0: a list with one encoding, or one for each channel."""
    channels = list(encodings)
    if not channels:
        encodings.wrong("a list of encodings")
    types = [_type_of_channel(each) for each in channels]
    _check_equal(channels, types, "the bitwidth and the dtype")
    (bits, is_float), *_ = types
    if is_float:
        return _Encoding(bits)
    scales, offsets = [_scale(each["scale"]) for each in channels], [_offset(each["offset"], bits) for each in channels]
    if bits > MAX_BITS:
        return _Encoding(bits, tuple(scales), tuple(offsets), len(channels) > 1)
    ranges = [_limits(*row, bits) for row in zip(channels, scales, offsets, strict=True)]
    _check_equal(channels, ranges, "the limits by min and max")
    (low, high), highest = ranges[0], (1 << bits) - 1
    if (low, high) == (0, highest - 1):
        # AIMET counts the integers of a symmetric range from its smallest, as -127 of 8 bits.
        low, high, offsets = 1, highest, [offset - 1 for offset in offsets]
    limits = None if (low, high) == (0, highest) else (low, high)
    return _Encoding(bits, tuple(scales), tuple(offsets), len(channels) > 1, limits)


def _type_of_channel(encoding: JsonValue) -> tuple[int, bool]:
    """Returns the bits of an encoding, and whether it is a float."""
    dtype = encoding.get("dtype")
    return encoding["bitwidth"].integer(1, 32), dtype is not None and dtype.text(("int", "float")) == "float"


def _check_equal(channels: Sequence[JsonValue], values: Sequence[object], what: str) -> None:
    """Raises `DiagnosticError` unless all channels of a tensor have the same value."""
    for channel, value in zip(channels, values, strict=True):
        if value != values[0]:
            raise text_error(f"{channel.name}: '{channel.path}' must have {what} of the first channel")


def _limits(encoding: JsonValue, scale: float, offset: int, bits: int) -> tuple[int, int]:
    """Returns the smallest and largest integer, counted from 0, by the real values `min` and `max`."""
    highest = (1 << bits) - 1
    found = [0, highest]
    for index, key in enumerate(("min", "max")):
        if (value := encoding.get(key)) is None:
            continue
        real, ends = value.number(), (offset * scale, (highest + offset) * scale)
        if not (offset - 0.5) * scale <= real <= (highest + offset + 0.5) * scale:
            value.wrong(f"from {ends[0]:g} to {ends[1]:g}, by bitwidth, scale and offset")
        found[index] = min(max(round(real / scale) - offset, 0), highest)
    if found[0] >= found[1]:
        encoding["max" if encoding.get("max") is not None else "min"].wrong("at least one scale from the other limit")
    return found[0], found[1]


def _of_lists(encoding: JsonValue) -> _Encoding:
    """Returns the parameters of a tensor by version 1.0, whose scales and offsets are lists."""
    bits = encoding["bw"].integer(1, 32)
    if encoding["dtype"].text(("INT", "FLOAT", "FP")) != "INT":
        return _Encoding(bits)
    kind = encoding["enc_type"].text(("PER_TENSOR", "PER_CHANNEL", "PER_BLOCK", "LPBQ"))
    if kind not in ("PER_TENSOR", "PER_CHANNEL"):
        encoding["enc_type"].wrong("PER_TENSOR or PER_CHANNEL")
    is_per_channel, scales, offsets = kind == "PER_CHANNEL", encoding["scale"], encoding["offset"]
    _check_counts(scales, offsets, is_per_channel=is_per_channel)
    found = tuple(_scale(each) for each in scales), tuple(_offset(each, bits) for each in offsets)
    return _Encoding(bits, *found, is_per_channel)


def _of_onnx(encoding: JsonValue) -> _Encoding:
    """Returns the parameters of a tensor by version 2.0, which are those of QuantizeLinear."""
    dtype = _ONNX_TYPE.fullmatch(encoding["output_dtype"].text())
    if dtype is None:
        encoding["output_dtype"].wrong("an integer or float type, such as int8")
    if dtype[2] is None:
        return _Encoding(0)
    if encoding.get("block_size") is not None or encoding.get("per_block_int_scale") is not None:
        encoding.wrong("one scale per tensor or per channel")
    bits, scale, point = int(dtype[2]), encoding["y_scale"], encoding.get("y_zero_point")
    lowest, highest = integer_limits(bits, is_signed=not dtype[1])
    is_per_channel = isinstance(scale.value, list)
    if not is_per_channel:
        point = 0 if point is None else point.integer(lowest, highest)
        return _Encoding(bits, (_scale(scale),), (lowest - point,))
    _check_counts(scale, scale if point is None else point, is_per_channel=True)
    scales = tuple(_scale(each) for each in scale)
    points = [0] * len(scales) if point is None else [each.integer(lowest, highest) for each in point]
    return _Encoding(bits, scales, tuple(lowest - each for each in points), is_per_channel=True)
