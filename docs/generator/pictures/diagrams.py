"""The pictures that are drawn from boxes, lines and text."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from docs.generator.pictures.drawing import Drawing, Theme

_FOLDER = Path(__file__).resolve().parents[2] / "pictures"

_LAYERS = (("stem", 42.7), ("dw", 38.8), ("pw", 35.4), ("r1", 34.3), ("down", 34.0), ("pw2", 32.7), ("fc", 36.3))
"""Layers of `docs/examples/digits_cnn.onnx` and their SQNR in dB, as the quickstart shows them."""


def overview(theme: Theme) -> Drawing:
    """The three things that a user meets: a model with samples, a report, a program."""
    draw = Drawing(960, 270, "A float model and samples become a report and an int8 program", theme)
    for x, title in ((10, "model and samples"), (360, "report"), (710, "program")):
        draw.box(x, 40, 240, 190)
        draw.text(x + 120, 26, title, size=15, bold=True, anchor="middle")

    for index, (name, size) in enumerate((("Conv", "f32"), ("Relu", "f32"), ("Gemm", "f32"))):
        draw.box(28, 56 + 48 * index, 96, 30, theme.blue, "none")
        draw.text(38, 76 + 48 * index, name, mono=True)
        draw.text(114, 76 + 48 * index, size, mono=True, size=11, color=theme.muted, anchor="end")
        if index:
            draw.arrow([(76, 38 + 48 * index), (76, 55 + 48 * index)])
    draw.text(76, 212, "model.onnx", mono=True, size=12, color=theme.muted, anchor="middle")
    for index in (2, 1, 0):
        draw.box(158 + 8 * index, 84 + 8 * index, 52, 52, theme.orange, theme.fill)
    draw.text(184, 117, "7", size=26, color=theme.orange, anchor="middle")
    draw.text(192, 212, "samples.npz", mono=True, size=12, color=theme.muted, anchor="middle")

    draw.text(376, 62, "layer", size=11, color=theme.muted)
    draw.text(584, 62, "SQNR", size=11, color=theme.muted, anchor="end")
    for index, (name, decibels) in enumerate(_LAYERS):
        y = 80 + 18 * index
        draw.text(376, y, name, mono=True, size=12)
        draw.box(418, y - 9, 2.6 * decibels, 9, theme.green, theme.green)
        draw.text(584, y, f"{decibels:.1f}", mono=True, size=12, anchor="end")
    draw.text(480, 218, "top-1 agreement 100%", size=12, color=theme.muted, anchor="middle")

    draw.code(
        728, 70,
        ("acc += i32(x[k]) * i32(w[k])", "...", "q = rint(f32(acc) * scale)", "y = i8(clamp(q + zero))"),
        step=20,
    )  # fmt: skip
    draw.text(830, 166, "the integers of the", size=13, color=theme.green, anchor="middle")
    draw.text(830, 184, "reference interpreter", size=13, color=theme.green, anchor="middle")
    draw.text(830, 212, "Python · C99 · objects · WebAssembly", size=12, color=theme.muted, anchor="middle")

    for x, command in ((252, "quantize"), (602, "compile")):
        draw.arrow([(x, 135), (x + 106, 135)], theme.blue)
        draw.code(x + 52, 108, ("qmlir", command), step=16, anchor="middle")
    return draw


_LEVELS = (
    ("graph", "nn on f32", "one op per ONNX node"),
    ("primitive", "nn on f32", "layers split into parts"),
    ("profiled", "!quant.calibrated", "types carry ranges"),
    ("quantized", "!quant.uniform", "types carry scales"),
    ("integer", "kernel, linalg", "rounding is explicit"),
    ("scheduled", "memref", "tiles, packing, arena"),
    ("loops", "scf, vector, simd", "register tiles, threads"),
    ("code", "numba, LLVM, C", "one function per kernel"),
)


def pipeline(theme: Theme) -> Drawing:
    """The levels of IR from an ONNX model to code."""
    draw = Drawing(960, 330, "The levels of IR from an ONNX model to code", theme)
    for index, (name, dialects, summary) in enumerate(_LEVELS):
        row, column = divmod(index, 4)
        x, y = 10 + 242 * column, 70 + 120 * row
        draw.box(x, y, 194, 74, theme.blue if index < 3 else theme.orange if index < 5 else theme.green)
        draw.text(x + 12, y + 22, name, bold=True, size=14)
        draw.text(x + 12, y + 42, dialects, mono=True, size=12)
        draw.text(x + 12, y + 62, summary, size=12, color=theme.muted)
        if column:
            draw.arrow([(x - 46, y + 37), (x - 2, y + 37)])
    draw.arrow([(833, 146), (833, 167), (107, 167), (107, 188)])
    for column, source in ((0, "model.onnx"), (2, "samples"), (3, "recipe.toml")):
        x = 107 + 242 * column
        draw.text(x, 24, source, mono=True, size=13, anchor="middle")
        draw.arrow([(x, 32), (x, 68)])
    draw.box(10, 282, 920, 34, theme.line, "none")
    draw.text(
        470, 304, "the interpreter runs a module at every level; from quantized to code, all integers are identical",
        size=13, color=theme.muted, anchor="middle",
    )  # fmt: skip
    return draw


_LOW, _HIGH, _BITS = -0.6, 1.2, 4
"""The range of the value in the picture of a grid, and its bits."""


def grid(theme: Theme) -> Drawing:
    """The real numbers that the codes of a type stand for, and what becomes of two others."""
    draw = Drawing(960, 250, "Codes of 4 bits on the line of real numbers, with scale and zero point", theme)
    lowest, highest = -(2 ** (_BITS - 1)), 2 ** (_BITS - 1) - 1
    scale = (_HIGH - _LOW) / (highest - lowest)
    zero = lowest - round(_LOW / scale)

    def position(value: float) -> float:
        return 60 + (value + 0.8) * 340

    draw.text(20, 30, f"observed range {_LOW:g} to {_HIGH:g}, {_BITS} bits:", size=14)
    draw.text(262, 30, f"scale = {_HIGH - _LOW:g} / {highest - lowest} = {scale:.2f}, zero point = {zero}", mono=True)
    draw.line([(20, 120), (940, 120)])
    draw.line([(position(_LOW), 114), (position(_HIGH), 114)], theme.green, width=5)
    for code in range(lowest, highest + 1):
        x = position(scale * (code - zero))
        color = theme.blue if code == zero else theme.text
        draw.line([(x, 112), (x, 132)], color)
        draw.text(x, 150, str(code), mono=True, size=12, color=color, anchor="middle", bold=code == zero)
    draw.text(20, 150, "code", size=12, color=theme.muted)
    draw.text(20, 104, "real", size=12, color=theme.muted)
    draw.text(position(0), 172, "zero point: the real 0 is exact", size=12, color=theme.blue, anchor="middle")
    for value, note in ((0.5, "rounded"), (1.5, "clamped")):
        code = min(max(round(value / scale) + zero, lowest), highest)
        start, end = position(value), position(scale * (code - zero))
        draw.dot(start, 88, theme.orange)
        draw.text(start, 58, f"{value:g} is {note} to code {code},", size=12, color=theme.orange, anchor="middle")
        draw.text(start, 74, f"which is {scale * (code - zero):.2f}", size=12, color=theme.orange, anchor="middle")
        draw.arrow([(start, 88), (end, 111)], theme.orange)
    draw.box(20, 196, 920, 38, theme.line, "none")
    draw.text(220, 220, "real = scale * (code - zero point)", mono=True, anchor="middle")
    draw.text(680, 220, "code = clamp(round(real / scale) + zero point)", mono=True, anchor="middle")
    return draw


_SCORES = (-3.6, -2.1, -0.7, 0.4, 1.8, 3.9)
_FILL = -10000.0
"""Scores of an attention, and the number that its mask adds."""


def mask(theme: Theme) -> Drawing:
    """The codes of scores with a mask in their range, and without."""
    draw = Drawing(960, 270, "A mask of -10000 in the range of scores leaves them one code", theme)
    for y, low, title, color in (
        (60, _FILL, "mask in the range", theme.orange), (170, min(_SCORES), "mask excluded", theme.green),
    ):  # fmt: skip
        high = max(_SCORES)
        scale = (high - low) / 255
        codes = {round(score / scale) for score in _SCORES}
        draw.text(20, y - 20, title, size=15, bold=True)
        draw.text(200, y - 20, f"range {low:g} to {high:g}, step {scale:.3g} in 8 bits", size=13, color=theme.muted)
        draw.line([(30, y + 20), (700, y + 20)])
        for value in (low, high):
            x = 40 + 650 * (value - low) / (high - low)
            draw.line([(x, y + 12), (x, y + 28)])
            draw.text(x, y + 46, f"{value:g}", mono=True, size=12, anchor="middle")
        for score in _SCORES:
            draw.dot(40 + 650 * (score - low) / (high - low), y + 20, color)
        if low == _FILL:
            draw.dot(40, y + 20, theme.muted)
            draw.text(60, y + 8, "masked", size=12, color=theme.muted)
        else:
            draw.text(
                365, y + 46, "masked elements have the probability 0", size=12, color=theme.muted, anchor="middle"
            )
        word = "code" if len(codes) == 1 else "codes"
        draw.text(830, y + 26, f"{len(_SCORES)} scores: {len(codes)} {word}", size=15, color=color, anchor="middle")
    return draw


_COLUMNS, _EXPONENT = (1.0, 8.0), 0.6
"""The largest magnitudes of two columns, as in the test of `nn-smooth`, and the exponent that the pass chooses."""


def outliers(theme: Theme) -> Drawing:
    """The ranges of columns of data and weights before and after SmoothQuant."""
    draw = Drawing(960, 322, "A column of outliers before and after nn-smooth", theme)
    factors = [column**-_EXPONENT for column in _COLUMNS]
    for left, title, data, weights in (
        (20, "one scale for both columns", _COLUMNS, (1.0, 1.0)),
        (500, "after nn-smooth", [c * f for c, f in zip(_COLUMNS, factors, strict=True)], [1 / f for f in factors]),
    ):
        draw.text(left, 28, title, size=15, bold=True)
        draw.line([(left, 240), (left + 430, 240)])
        for start, name, values, color in (
            (left + 20, "data", data, theme.blue),
            (left + 240, "weights", weights, theme.green),
        ):
            for position, value in enumerate(values):
                x, height = start + 90 * position, 18 * value
                draw.box(x, 240 - height, 60, height, color, color)
                draw.text(x + 30, 232 - height, f"{value:.3g}", mono=True, size=12, anchor="middle")
                draw.text(x + 30, 258, f"column {position + 1}", size=12, color=theme.muted, anchor="middle")
            draw.text(start + 75, 60, f"max |{name}|", size=13, color=color, anchor="middle")
        codes = round(127 * data[0] / max(data))
        draw.text(left + 20, 292, f"column 1 takes {codes} of 127 codes", size=14, color=theme.orange)
    draw.arrow([(452, 150), (494, 150)], theme.blue)
    draw.text(520, 312, f"column 2: data times {factors[1]:.3g}, weights times {1 / factors[1]:.3g}", color=theme.muted)
    return draw


def figures() -> Any:
    """The figures that `docs.generator.pictures.measured` wrote."""
    return json.loads((_FOLDER / "measured.json").read_text(encoding="utf-8"))


def arena(theme: Theme) -> Drawing:
    """The memory plan of the digits CNN: time across, offsets upwards."""
    plan = figures()["arena"]
    buffers = plan["buffers"]
    peak = max(each["offset"] + each["size"] for each in buffers)
    steps = 1 + max(each["steps"][1] for each in buffers)
    total = sum(each["size"] for each in buffers)
    draw = Drawing(960, 330, "The buffers of the digits CNN in one arena", theme)
    draw.text(70, 24, f"arena {peak} bytes, buffers {total} bytes", size=14)
    across, up = 860 / steps, 240 / peak
    for number, each in enumerate(buffers):
        first, last = each["steps"]
        x, width = 70 + first * across, (1 + last - first) * across
        y, height = 280 - (each["offset"] + each["size"]) * up, each["size"] * up
        color = (theme.blue, theme.green, theme.orange)[number % 3]
        draw.box(x, y, width, height, color)
        name = str(each["name"]).removeprefix("buffer ").partition(",")[0]
        if height > 14 and 0.56 * 11 * len(name) < width:
            draw.text(x + width / 2, y + height / 2 + 4, name, size=11, anchor="middle")
    draw.line([(70, 280), (930, 280)])
    draw.line([(70, 280), (70, 40)])
    draw.text(62, 284, "0", size=12, color=theme.muted, anchor="end")
    draw.text(62, 44, str(peak), size=12, color=theme.muted, anchor="end")
    draw.text(500, 304, "time, in operations", size=12, color=theme.muted, anchor="middle")
    return draw


def fallback(theme: Theme) -> Drawing:
    """The graph of `docs/examples/detector.onnxtxt`, and what runs where."""
    draw = Drawing(960, 230, "A fallback node between operations of qmlir", theme)
    draw.box(130, 50, 470, 150, theme.blue, "none")
    draw.text(365, 40, "compiled by qmlir", size=13, color=theme.blue, anchor="middle")
    draw.box(640, 50, 190, 150, theme.orange, "none")
    draw.text(735, 40, "fallback node", size=13, color=theme.orange, anchor="middle")
    for x, y, name in (
        (150, 105, "Conv"), (300, 75, "Reshape"), (300, 145, "ReduceMax"), (450, 145, "Reshape"),
    ):  # fmt: skip
        draw.box(x, y, 120, 36, theme.blue)
        draw.text(x + 60, y + 23, name, mono=True, anchor="middle")
    draw.box(655, 105, 160, 36, theme.orange)
    draw.text(735, 128, "NonMaxSuppression", mono=True, size=13, anchor="middle")
    draw.text(735, 168, "computed by", size=12, color=theme.muted, anchor="middle")
    draw.text(735, 184, "ONNX Runtime", size=12, color=theme.muted, anchor="middle")
    draw.text(50, 128, "image", mono=True, anchor="middle")
    draw.text(905, 128, "boxes", mono=True, anchor="middle")
    for points in (
        [(76, 123), (148, 123)], [(270, 115), (298, 95)], [(270, 131), (298, 161)], [(420, 163), (448, 163)],
        [(420, 93), (620, 93), (653, 115)], [(570, 163), (620, 163), (653, 131)], [(815, 123), (878, 123)],
    ):  # fmt: skip
        draw.arrow(points)
    return draw


DIAGRAMS: Mapping[str, Callable[[Theme], Drawing]] = {
    each.__name__: each for each in (overview, pipeline, grid, mask, outliers, arena, fallback)
}
