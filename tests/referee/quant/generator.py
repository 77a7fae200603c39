"""Random text of quantized types and of casts to and from them, valid, invalid and damaged, all kinds.

NaN is left out: upstream accepts it as a scale, and then takes such a type for different from itself.
"""

import random

COMMON_EXPRESSED = ["f32"] * 8 + ["f16", "bf16", "f64"]
RARE_EXPRESSED = [
    *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ"),
    *("f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU", "tf32", "f80", "f128"),
]
WIDER_THAN_F64 = ("f80", "f128")
"""Upstream converts the bounds of these to f64, and so accepts 0 and infinity as scales; we don't."""

DAMAGE = "0123456789.,:{}<>-+eExiusf !abF_"


def _storage(r: random.Random) -> str:
    width = r.choice([1, 2, 3, 4, 7, 8, 8, 8, 8, 16, 31, 32] + ([0, 33, 64] if r.random() < 0.05 else []))
    prefix = r.choice(["i", "i", "u", "ui", "si"] + (["x", "s"] if r.random() < 0.03 else []))
    text = f"{prefix}{width}"
    if r.random() < 0.3 and width:
        low, high = (0, (1 << width) - 1) if prefix.startswith("u") else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
        a, b = sorted((r.randint(low, high), r.randint(low, high)))
        if r.random() < 0.1:
            a -= r.choice([0, 1, high - low])
        if r.random() < 0.1:
            b += r.choice([0, 1, high - low])
        if r.random() < 0.05:
            a, b = b, a
        text += f"<{a}:{b}>"
    return text


def _expressed(r: random.Random) -> str:
    if r.random() < 0.02:
        return r.choice(["i32", "index", "f99", "vector<2xf32>"])
    return r.choice(RARE_EXPRESSED if r.random() < 0.3 else COMMON_EXPRESSED)


def _scale(r: random.Random, expressed: str) -> str:
    roll = r.random()
    if expressed not in WIDER_THAN_F64:
        if roll < 0.02:
            return r.choice(["0.0", "-0.5", "1.0e400", "1", "-1.0e-3", "0x7FF0000000000000"])
        if roll < 0.05:  # around the smallest and the largest scale of some expressed type
            bound = 2.0 ** r.choice([-149, -136, -133, -126, -24, -17, -16, -10, -1, 2, 3, 4, 8, 16, 127, 128])
            return repr(bound * r.choice([0.49, 0.5, 0.51, 0.999, 1.0, 1.01, 1.49, 1.5, 1.75, 1.9, 1.9999]))
    if roll < 0.1:
        return repr(r.uniform(1e-3, 2.0))
    if roll < 0.2:
        bits = r.choice([0x3FF0000000000000, 0x3FB999999999999A, 0x3F50624DD2F1A9FC])
        return f"0x{bits:X}" if r.random() < 0.5 else f"0x{bits:x}"
    if roll < 0.22:
        return r.choice(["1.", "01.5", "1.E-2", "2.e+0"])
    return f"{r.uniform(0.001, 2.0):.{r.randint(2, 9)}e}" if roll < 0.6 else f"{r.randint(0, 3)}.{r.randint(1, 99999)}"


def _parameter(r: random.Random, storage: str, expressed: str) -> str:
    text = _scale(r, expressed)
    if r.random() < 0.4:
        choices = [0, 1, 200, 255] if storage == "u8" else [0, 1] if storage.startswith("u") else [0, 1, -1]
        zero_point = r.choice(choices if r.random() < 0.95 else [300, -300, 5])
        text += r.choice([":", ":", ":", " : "])
        text += f"{zero_point}" if r.random() < 0.95 else f"{'-' if zero_point < 0 else ''}0x{abs(zero_point):X}"
    return text


def _nested(r: random.Random, shape: list[int], storage: str, expressed: str) -> str:
    if not shape:
        return _parameter(r, storage, expressed)
    count = shape[0] + (1 if r.random() < 0.02 else 0)
    parts = [_nested(r, shape[1:], storage, expressed) for _ in range(0 if r.random() < 0.005 else count)]
    return "{" + r.choice([",", ", ", " , "]).join(parts) + "}"


def _axis(r: random.Random) -> int:
    return r.choice([0, 1, 2, 7]) if r.random() < 0.95 else r.choice([-1, 2**31 - 1, 2**31, 2**40])


def _block(r: random.Random) -> int:
    return r.choice([1, 2, 4, 32]) if r.random() < 0.95 else r.choice([0, -1, 3, 2**63 - 1, 2**63])


def random_type(r: random.Random) -> str:
    """The text of a type; about one in four is invalid."""
    kind = r.choice(["any", "calibrated", "tensor", "tensor", "axis", "axis", "block", "block"])
    storage, expressed = _storage(r), _expressed(r)
    if kind == "any":
        return f"!quant.any<{storage}" + (f":{expressed}>" if r.random() < 0.7 else ">")
    if kind == "calibrated":
        a, b = r.uniform(-9, 9), r.uniform(-9, 9)
        if r.random() < 0.9:
            a, b = min(a, b), max(a, b)
        limits = [f"{a:.4f}", f"{b:.7e}"]
        if r.random() < 0.1:
            limits[r.randrange(2)] = r.choice(["0x7FF0000000000000", "0xFFF0000000000000", "1"])
        return f"!quant.calibrated<{expressed}<{':'.join(limits)}>>"
    if kind == "tensor":
        return f"!quant.uniform<{storage}:{expressed}, {_parameter(r, storage, expressed)}>"
    if kind == "axis":
        shape = [r.randint(1, 6)] if r.random() < 0.95 else [r.randint(1, 2), r.randint(1, 3)]
        return f"!quant.uniform<{storage}:{expressed}:{_axis(r)}, {_nested(r, shape, storage, expressed)}>"
    rank = r.randint(1, 3)
    axes = r.sample(range(rank), r.randint(0 if r.random() < 0.1 else 1, rank))
    if axes and r.random() < 0.03:
        axes.append(axes[0] if r.random() < 0.5 else _axis(r))
    blocks = ", ".join(f"{axis}:{_block(r)}" for axis in axes)
    shape = [r.randint(1, 3) for _ in range(rank if r.random() < 0.95 else max(1, rank - 1))]
    return f"!quant.uniform<{storage}:{expressed}:{{{blocks}}}, {_nested(r, shape, storage, expressed)}>"


def damaged_type(r: random.Random) -> str:
    """The text of a type with one or two characters taken out, put in or changed behind its first `<`."""
    type_ = random_type(r)
    start = type_.index("<") + 1
    text = list(type_)
    for _ in range(r.choice([1, 1, 1, 2])):
        position = r.randrange(start, len(text) - 1)
        roll = r.random()
        if roll < 0.35 and len(text) > start + 2:
            del text[position]
        elif roll < 0.8:
            text.insert(position, r.choice(DAMAGE))
        else:
            text[position] = r.choice(DAMAGE)
    return "".join(text)


SHAPES = ["", "*x", "", "2x", "2x4x", "3x4x", "4x4x", "?x4x", "?x?x", "0x4x", "2x4x4x", "1x2x3x"]


def _value(shape: str, element: str, encoding: str) -> str:
    return f"tensor<{shape}{element}{encoding}>" if shape else element


def random_cast(r: random.Random, type_: str) -> str:
    """A function of one line with a cast to or from `type_`, often of a shape that does not fit."""
    shape = r.choice(SHAPES)
    encoding = ', "layout"' if r.random() < 0.03 else ""
    expressed = r.choice(["f32", "f32", "f32", "f16", "f64"])
    stored = r.choice(["i8", "i8", "i4", "si8", "ui8", "i16", "i32", "index", "f32", "!quant.any<i8>"])
    quantized = _value(shape, type_, "")
    other_shape = shape if r.random() < 0.9 else r.choice(SHAPES)
    match r.choice(["qcast", "dcast", "scast", "scast"]):
        case "qcast":
            name, source, result = "qcast", _value(other_shape, expressed, encoding), quantized
        case "dcast":
            name, source, result = "dcast", quantized, _value(other_shape, expressed, encoding)
        case name:
            source, result = quantized, _value(other_shape, stored, encoding)
            if r.random() < 0.5:
                source, result = result, source
    return f"func.func @f(%x: {source}) {{ %0 = quant.{name} %x : {source} to {result} return }}"
