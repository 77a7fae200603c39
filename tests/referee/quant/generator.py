"""Random text of quantized types, valid and invalid, all kinds."""

import random

EXPRESSED = ["f32"] * 8 + ["f16", "bf16", "f64", "f8E4M3FN", "tf32"]


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


def _scale(r: random.Random) -> str:
    roll = r.random()
    if roll < 0.02:
        return r.choice(["0.0", "-0.5", "1.0e400", "1", "-1.0e-3", "1.0e-60", "1.0e39"])
    if roll < 0.1:
        return repr(r.uniform(1e-3, 2.0))
    if roll < 0.2:
        return f"0x{r.choice([0x3FF0000000000000, 0x3FB999999999999A, 0x3F50624DD2F1A9FC]):X}"
    return f"{r.uniform(0.001, 2.0):.{r.randint(2, 9)}e}" if roll < 0.6 else f"{r.randint(0, 3)}.{r.randint(1, 99999)}"


def _parameter(r: random.Random, storage: str) -> str:
    text = _scale(r)
    if r.random() < 0.4:
        low = 0 if storage.startswith("u") else -1
        text += f":{r.choice([0, 1, low])}" if r.random() < 0.95 else f":{r.choice([300, -300, 5])}"
    return text


def _nested(r: random.Random, shape: list[int], storage: str) -> str:
    if not shape:
        return _parameter(r, storage)
    count = shape[0] + (1 if r.random() < 0.02 else 0)
    return "{" + r.choice([",", ", "]).join(_nested(r, shape[1:], storage) for _ in range(count)) + "}"


def random_type(r: random.Random) -> str:
    """The text of a type; about one in six is invalid."""
    kind = r.choice(["any", "calibrated", "tensor", "tensor", "axis", "axis", "block", "block"])
    storage, expressed = _storage(r), r.choice(EXPRESSED)
    if r.random() < 0.02:
        expressed = r.choice(["i32", "index", "f99"])
    if kind == "any":
        return f"!quant.any<{storage}" + (f":{expressed}>" if r.random() < 0.7 else ">")
    if kind == "calibrated":
        a, b = r.uniform(-9, 9), r.uniform(-9, 9)
        if r.random() < 0.9:
            a, b = min(a, b), max(a, b)
        return f"!quant.calibrated<{expressed}<{a:.4f}:{b:.7e}>>"
    if kind == "tensor":
        return f"!quant.uniform<{storage}:{expressed}, {_parameter(r, storage)}>"
    if kind == "axis":
        axis = r.choice([0, 1, 2, 7]) if r.random() < 0.97 else -1
        return f"!quant.uniform<{storage}:{expressed}:{axis}, {_nested(r, [r.randint(1, 6)], storage)}>"
    rank = r.randint(1, 3)
    axes = r.sample(range(rank), r.randint(1, rank))
    blocks = ", ".join(f"{axis}:{r.choice([1, 2, 4, 32]) if r.random() < 0.98 else 0}" for axis in axes)
    shape = [r.randint(1, 3) for _ in range(rank if r.random() < 0.95 else max(1, rank - 1))]
    return f"!quant.uniform<{storage}:{expressed}:{{{blocks}}}, {_nested(r, shape, storage)}>"


def random_cast(r: random.Random, type_: str) -> str:
    """A function of one line with a cast to or from `type_`, often of a shape that does not fit."""
    shape = r.choice(["", "*x", "2x", "2x4x", "3x4x", "4x4x", "?x4x", "?x?x", "2x4x4x", "1x2x3x"])
    expressed = r.choice(["f32", "f32", "f32", "f16", "f64"])

    def value(element: str) -> str:
        return f"tensor<{shape}{element}>" if shape else element

    match r.choice(["qcast", "dcast", "scast_in", "scast_out"]):
        case "qcast":
            name, source, result = "qcast", value(expressed), value(type_)
        case "dcast":
            name, source, result = "dcast", value(type_), value(expressed)
        case "scast_in":
            name, source, result = "scast", value(r.choice(["i8", "i8", "i4", "si8", "i16"])), value(type_)
        case _:
            name, source, result = "scast", value(type_), value(r.choice(["i8", "i8", "i4", "ui8", "i32"]))
    return f"func.func @f(%x: {source}) {{ %0 = quant.{name} %x : {source} to {result} return }}"
