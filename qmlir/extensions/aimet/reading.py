"""Reads the encodings of AIMET, versions up to 2.0, as the rules of a recipe.

An encoding gives the bits, scales and offsets of the tensor with a name. Its integers are unsigned, with
`real = (q + offset) * scale`; those of version 2.0 have the type and the zero point of ONNX's QuantizeLinear. A rule
stores them as signed integers of equal bits, with the zero point `-offset - 2^(bits - 1)`, so real values are equal.
"""

import math
from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import Any

from qmlir.ir.diagnostics import text_error
from qmlir.text.data import JsonValue, read_data

MAX_BITS = 16
"""The largest number of bits of data and weights; accumulators and biases with more follow from these."""

_LISTS = ("activation_encodings", "param_encodings")


def rules(path: Path) -> list[dict[str, Any]]:
    """Returns a rule for each encoding in the file `path`. Raises `DiagnosticError` if an encoding is invalid."""
    data = read_data(path)
    given = data.get("version")
    version = "0.4.0" if given is None else given.text()
    major = version.partition(".")[0]
    if major not in ("0", "1", "2"):
        raise text_error(f"'{path}': encodings of version {version} are not supported (available: 0.4 to 2.0)")
    if major == "2":
        found = [_rule(each["name"].text(), *_of_onnx(each)) for each in data["encodings"]]
    elif major == "1":
        found = [_rule(each["name"].text(), *_of_lists(each)) for key in _LISTS for each in data[key]]
    else:
        entries = [entry for key in _LISTS for entry in data[key].entries().items()]
        found = [_rule(name, *_of_channels(each)) for name, each in entries]
    return [rule for rule in found if rule]


_Parameters = tuple[int, Sequence[float], Sequence[int], bool, bool]
"""Bits, scales, zero points of signed integers, whether each channel has its own, and whether the range is narrow."""


def _rule(name: str, bits: int, *parameters: Any) -> dict[str, Any]:
    """Returns the rule for the tensor `name`, which stays in float without parameters.

    The rule is empty for the bits of accumulators and biases.
    """
    common = {"values": [escape(name)], "optional": True}
    if not parameters:
        return {**common, "quantize": False}
    if bits > MAX_BITS:
        return {}
    scales, zero_points, is_per_channel, is_narrow = parameters
    high = (1 << (bits - 1)) - 1
    given = {"storage": f"i{bits}<{-high}:{high}>" if is_narrow else f"i{bits}"}
    if is_per_channel:
        return {**common, **given, "slot": "weight", "scale": list(scales), "zero_point": list(zero_points)}
    return {**common, **given, "scale": scales[0], "zero_point": zero_points[0]}


def _whole(value: JsonValue) -> int:
    """Returns a whole number, which some versions write as a float."""
    found = value.number()
    if found != math.floor(found):
        value.wrong("a whole number")
    return int(found)


def _scale(value: JsonValue) -> float:
    found = value.number()
    if found <= 0:
        value.wrong("above 0")
    return found


def _of_channels(encodings: JsonValue) -> tuple[Any, ...]:
    """Returns the parameters of a tensor by versions below 1.0: a list with one encoding, or one for each channel."""
    channels = list(encodings)
    if not channels:
        encodings.wrong("a list of encodings")
    bits, dtype = channels[0]["bitwidth"].integer(1, 32), channels[0].get("dtype")
    if dtype is not None and dtype.text(("int", "float")) == "float":
        return (bits,)
    scales, offsets = [_scale(each["scale"]) for each in channels], [_whole(each["offset"]) for each in channels]
    if wrong := next((each["offset"] for each, offset in zip(channels, offsets, strict=True) if offset > 0), None):
        wrong.wrong("at most 0")
    # A range of 2^bits - 2 steps around 0 leaves out the smallest integer.
    middle = 1 << (bits - 1)
    is_narrow = all(offset == 1 - middle for offset in offsets) and all(
        each.get("max") is not None and round(each["max"].number() / scale) == middle - 1
        for each, scale in zip(channels, scales, strict=True)
    )
    middle -= is_narrow
    return bits, scales, [-offset - middle for offset in offsets], len(channels) > 1, is_narrow


def _of_lists(encoding: JsonValue) -> tuple[Any, ...]:
    """Returns the parameters of a tensor by version 1.0, whose scales and offsets are lists."""
    bits = encoding["bw"].integer(1, 32)
    if encoding["dtype"].text(("INT", "FLOAT", "FP")) != "INT":
        return (bits,)
    kind = encoding["enc_type"].text(("PER_TENSOR", "PER_CHANNEL", "PER_BLOCK", "LPBQ"))
    if kind not in ("PER_TENSOR", "PER_CHANNEL"):
        encoding["enc_type"].wrong("PER_TENSOR or PER_CHANNEL")
    scales = [_scale(each) for each in encoding["scale"]]
    zero_points = [-_whole(each) - (1 << (bits - 1)) for each in encoding["offset"]]
    return bits, scales, zero_points, kind == "PER_CHANNEL", False


def _of_onnx(encoding: JsonValue) -> tuple[Any, ...]:
    """Returns the parameters of a tensor by version 2.0, which are those of QuantizeLinear."""
    dtype = encoding["output_dtype"]
    kind = dtype.text()
    width = kind.removeprefix("u").removeprefix("int").removeprefix("float").partition("e")[0]
    if not width.isdecimal():
        dtype.wrong("an integer or float type, such as int8")
    if kind.startswith("float"):
        return (int(width),)
    if encoding.get("block_size") is not None or encoding.get("per_block_int_scale") is not None:
        encoding.wrong("one scale per tensor or per channel")
    bits, scale, point = int(width), encoding["y_scale"], encoding.get("y_zero_point")
    is_per_channel = isinstance(scale.value, list)
    scales = [_scale(each) for each in scale] if is_per_channel else [_scale(scale)]
    points = [0] * len(scales)
    if point is not None and point.value is not None:
        points = (
            [each.integer() for each in point] if isinstance(point.value, list) else [point.integer()] * len(scales)
        )
    middle = 1 << (bits - 1) if kind.startswith("u") else 0
    return bits, scales, [each - middle for each in points], is_per_channel, False
