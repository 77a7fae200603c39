"""Splitting a text at lines that are exactly `// -----`, as `mlir-opt --split-input-file` does."""

import re
from dataclasses import dataclass

SPLIT_MARKER = "// -----"


@dataclass(frozen=True)
class Chunk:
    """A part of a file; `line_offset` lines of the file come before it."""

    text: str
    line_offset: int


def split_source(text: str) -> list[Chunk]:
    """The parts between marker lines. A marker inside a line, so inside a string literal too, splits nothing.

    Lines end at newlines alone, as everywhere in MLIR's text.
    """
    chunks: list[Chunk] = []
    lines: list[str] = []
    start = 0
    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text), start=1):
        if line.rstrip() == SPLIT_MARKER:
            chunks.append(Chunk("".join(lines), start))
            lines, start = [], number
        else:
            lines.append(line)
    chunks.append(Chunk("".join(lines), start))
    return chunks
