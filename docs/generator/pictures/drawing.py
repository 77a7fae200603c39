"""SVGs of boxes, arrows and text, in the colors of a light and of a dark page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
        (x0, y0), (x1, y1) = points[-2:]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        head = [(x1, y1), (x1 - 8 * dx + 4 * dy, y1 - 8 * dy - 4 * dx), (x1 - 8 * dx - 4 * dy, y1 - 8 * dy + 4 * dx)]
        corners = " ".join(f"{x:g},{y:g}" for x, y in head)
        self.line(points, color)
        self.parts.append(f'<polygon points="{corners}" fill="{color}"/>')

    def line(
        self, points: Sequence[tuple[float, float]], color: str = "", *, width: float = 1.5, dashes: str = ""
    ) -> None:
        """A line through `points`."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        style = f'stroke="{color or self.theme.muted}" stroke-width="{width:g}"{dashed}'
        self.parts.append(f'<polyline points="{path}" fill="none" {style}/>')

    def dot(self, x: float, y: float, color: str, radius: float = 5) -> None:
        """A filled circle."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{color}"/>')

    def svg(self) -> str:
        """The file."""
        body = "\n".join(f"  {part}" for part in self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img">\n'
            f"  <title>{escape(self.title)}</title>\n{body}\n</svg>\n"
        )
