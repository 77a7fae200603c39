"""Source texts: reading them, and splitting them at markers."""

import re
from dataclasses import dataclass
from pathlib import Path

from qmlir.ir.messages import text_error
from qmlir.text.files import mistaken_for, note_input, read_given, reason_of

STDIN = "<stdin>"
"""The file name of standard input in messages."""


def read_source(path: Path) -> str:
    """Reads a text file. Raises a one-line `DiagnosticError` if that fails."""
    try:
        note_input(path)
        content = read_given(path)
        if instead := mistaken_for(content):
            raise text_error(f"cannot read '{path}': it is {instead}")
        return content.decode("utf-8")
    except OSError as error:
        raise text_error(f"cannot read '{path}': {reason_of(error)}") from error
    except UnicodeDecodeError as error:
        raise text_error(f"cannot read '{path}': byte {error.start} is not UTF-8 text") from error


# Splitting of a text at lines that are exactly `// -----`, as `mlir-opt --split-input-file` does.

SPLIT_MARKER = "// -----"


@dataclass(frozen=True)
class Chunk:
    """A part of a file that starts after `line_offset` lines."""

    text: str
    line_offset: int


def split_source(text: str) -> list[Chunk]:
    """Splits a text at marker lines. A marker within a line, for example in a string literal, does not split it.

    Lines end at newlines only, as everywhere in MLIR's textual format.
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
