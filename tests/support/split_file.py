"""`split-file %s %t`: writes the parts of a test file, each below a line `//--- name`, into a folder.

What LLVM's tool of that name does, for machines that have no LLVM. Text before the first marker is left out.
"""

import re
import shutil
import sys
from pathlib import Path

_MARKER = re.compile(r"^(?://|[#;])--- (?P<name>\S+)\s*$")


def parts(text: str) -> dict[str, str]:
    """Name of each part to its text."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        if marker := _MARKER.match(line):
            if marker["name"] in found:
                raise ValueError(f"'{marker['name']}' is there twice")
            lines = found[marker["name"]] = []
        else:
            lines.append(line)
    if not found:
        raise ValueError("there is no marker '//--- name'")
    return {name: "".join(lines) for name, lines in found.items()}


def split_file(source: Path, folder: Path) -> None:
    """Write the parts of `source` into `folder`, which is made anew."""
    found = parts(source.read_text(encoding="utf-8"))
    if folder.is_dir():
        shutil.rmtree(folder)
    for name, text in found.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        split_file(Path(sys.argv[1]), Path(sys.argv[2]))
    except (OSError, ValueError) as error:
        sys.exit(f"split-file: {sys.argv[1]}: {error}")
