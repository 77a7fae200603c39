"""Splitting a text at lines that are exactly `// -----`, as `mlir-opt --split-input-file` does."""

from dataclasses import dataclass

SPLIT_MARKER = "// -----"


@dataclass(frozen=True)
class Chunk:
    """A part of a file; `line_offset` lines of the file come before it."""

    text: str
    line_offset: int


def split_source(text: str) -> list[Chunk]:
    """The parts between marker lines. A marker inside a line, so inside a string literal too, splits nothing."""
    chunks: list[Chunk] = []
    lines: list[str] = []
    start = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if line.rstrip("\r\n") == SPLIT_MARKER:
            chunks.append(Chunk("".join(lines), start))
            lines, start = [], number
        else:
            lines.append(line)
    chunks.append(Chunk("".join(lines), start))
    return chunks
