"""A memory plan as a picture, time across and offsets upwards: SVG, or text of 100 columns."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qmlir.ir.diagnostics import text_error
from qmlir.text.writing import write_file


@dataclass(frozen=True)
class Box:
    """A buffer in the plan: what it is called, the steps in which it is used, and its bytes."""

    label: str
    start: int
    end: int
    offset: int
    size: int


@dataclass(frozen=True)
class Picture:
    """The plan of one function: what each step is called, the buffers, and how large the arena is."""

    title: str
    steps: Sequence[str]
    boxes: Sequence[Box]
    peak: int

    def svg(self) -> str:
        """A vector graphic that needs nothing else; the names are shown where the pointer rests."""
        left, top, width, height = 80.0, 40.0, 1000.0, 500.0
        across, up = width / max(len(self.steps), 1), height / max(self.peak, 1)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20:g} {top + height + 60:g}" '
            'font-family="sans-serif" font-size="12">',
            f'<text x="{left:g}" y="24" font-size="15">{html.escape(self.title)}</text>',
        ]
        for part in range(5):
            size = self.peak * part // 4
            y = top + height - size * up
            lines.append(f'<line x1="{left:g}" y1="{y:.1f}" x2="{left + width:g}" y2="{y:.1f}" stroke="#ccc"/>')
            lines.append(f'<text x="{left - 6:g}" y="{y + 4:.1f}" text-anchor="end">{_bytes(size)}</text>')
        for number, box in enumerate(self.boxes):
            x, w = left + box.start * across, (1 + box.end - box.start) * across
            y, h = top + height - (box.offset + box.size) * up, box.size * up
            colour = f"hsl({number * 137 % 360}, 60%, 70%)"  # the golden angle: neighbours differ
            title = f"{box.label}: {box.size} bytes at {box.offset}, steps {box.start} to {box.end}"
            lines.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{colour}" stroke="#333" '
                f'stroke-width="0.5"><title>{html.escape(title)}</title></rect>'
            )
        for number, step in enumerate(self.steps):
            if step:
                x = left + number * across
                lines.append(
                    f'<rect x="{x:.1f}" y="{top + height:g}" width="{across:.1f}" height="10" fill="#888">'
                    f"<title>{html.escape(step)}</title></rect>"
                )
        lines.append(f'<text x="{left:g}" y="{top + height + 30:g}">time, in operations; grey: calls</text>')
        return "\n".join([*lines, "</svg>", ""])

    def text(self) -> str:
        """A chart of 72 columns and up to 40 rows, highest offset first, and the list of the buffers."""
        columns, rows = min(72, max(len(self.steps), 1)), 40
        row_bytes = max(-(-self.peak // rows), 1)
        chart = [["."] * columns for _ in range(-(-self.peak // row_bytes))]
        listed: list[str] = []
        for number, box in enumerate(self.boxes):
            mark = _MARKS[number % len(_MARKS)]
            first, last = (step * columns // max(len(self.steps), 1) for step in (box.start, box.end))
            for row in range(box.offset // row_bytes, -(-(box.offset + box.size) // row_bytes)):
                chart[row][first : last + 1] = mark * (1 + last - first)
            listed.append(f"{mark}  {box.offset:>10} {box.size:>10}  {box.start:>5}-{box.end:<5}  {box.label}")
        lines = [f"{_bytes(row * row_bytes):>10} |{''.join(cells)}" for row, cells in enumerate(chart)]
        heading = "       offset       size  steps        buffer"
        return "\n".join([self.title, "", *reversed(lines), "", heading, *listed, ""])

    def write(self, path: Path) -> None:
        """Write the picture as the suffix of `path` says. Raises `DiagnosticError` where that is none of the two."""
        kinds = {".svg": self.svg, ".txt": self.text}
        if path.suffix not in kinds:
            raise text_error(f"cannot draw a memory plan as '{path}': the file name must end in {' or '.join(kinds)}")
        write_file(path, kinds[path.suffix]())


_MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _bytes(size: int) -> str:
    """`1.5 MiB`: a size for people."""
    thousands = max(size.bit_length() - 1, 0) // 10
    return f"{size / 1024**thousands:.4g} {_UNITS[thousands]}"
