"""`python -m docs.generator.pictures FOLDER`: write the pictures of README and docs, each for light and dark pages.

A picture is an SVG of boxes, arrows and text, without fonts, scripts or links, so that any viewer shows it. The file
names are `NAME-light.svg` and `NAME-dark.svg`.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"


@dataclass(frozen=True)
class Theme:
    """The colors of a page: text, muted text, boxes, lines, and three accents."""

    text: str
    muted: str
    fill: str
    line: str
    blue: str
    green: str
    orange: str


THEMES: Mapping[str, Theme] = {
    "light": Theme("#1f2328", "#59636e", "#f6f8fa", "#d1d9e0", "#0969da", "#1a7f37", "#bc4c00"),
    "dark": Theme("#e6edf3", "#9198a1", "#161b22", "#3d444d", "#4493f8", "#3fb950", "#f0883e"),
}


@dataclass
class Drawing:
    """An SVG of `width` by `height` units, drawn in the colors of `theme`."""

    width: int
    height: int
    title: str
    theme: Theme
    parts: list[str] = field(default_factory=list[str])

    def box(self, x: float, y: float, width: float, height: float, line: str = "", fill: str = "") -> None:
        """A box with round corners."""
        fill, line = fill or self.theme.fill, line or self.theme.line
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{line}"/>'
        )

    def text(
        self, x: float, y: float, text: str, *, size: float = 13, color: str = "", mono: bool = False,
        bold: bool = False, anchor: str = "start",
    ) -> None:  # fmt: skip
        """A line of text whose baseline is at `y`."""
        family = quoteattr(MONO if mono else SANS)
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-family={family} font-size="{size:g}"{weight} '
            f'fill="{color or self.theme.text}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def code(self, x: float, y: float, texts: Iterable[str], *, step: float, anchor: str = "start") -> None:
        """Lines of code, one below the other, `step` apart."""
        for index, text in enumerate(texts):
            self.text(x, y + step * index, text, mono=True, size=12, anchor=anchor)

    def arrow(self, points: Sequence[tuple[float, float]], color: str = "") -> None:
        """A line through `points` that ends in an arrow head."""
        color = color or self.theme.muted
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        (x0, y0), (x1, y1) = points[-2:]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        head = [(x1, y1), (x1 - 8 * dx + 4 * dy, y1 - 8 * dy - 4 * dx), (x1 - 8 * dx - 4 * dy, y1 - 8 * dy + 4 * dx)]
        corners = " ".join(f"{x:g},{y:g}" for x, y in head)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        self.parts.append(f'<polygon points="{corners}" fill="{color}"/>')

    def svg(self) -> str:
        """The file."""
        body = "\n".join(f"  {part}" for part in self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img">\n'
            f"  <title>{escape(self.title)}</title>\n{body}\n</svg>\n"
        )


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


PICTURES: Mapping[str, Callable[[Theme], Drawing]] = {"overview": overview, "pipeline": pipeline}


def pictures() -> dict[str, str]:
    """The text of each picture by its file name."""
    return {
        f"{name}-{mode}.svg": draw(theme).svg() for name, draw in PICTURES.items() for mode, theme in THEMES.items()
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (folder / name).write_text(text, encoding="utf-8")
