"""Numbers and tables as plain text, as everything that is printed for a reader has them."""

from collections.abc import Collection, Sequence

from qmlir.ir.diagnostics import printable


def counted(count: int, what: str) -> str:
    """`1 layer`, `2 layers`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def bytes_text(count: int) -> str:
    """A number of bytes for a reader: `97.5 KiB`."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def number(count: int | None) -> str:
    """`4.09 G`; `?` for an unknown number."""
    if count is None:
        return "?"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g} {unit}" if count < 1000 * size else f"{count / size:.0f} {unit}"
    return str(count)


def aligned(rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> list[str]:
    """The lines of a table whose first row is the head; empty columns are left out, columns in `right` are numbers."""
    rows = [[*map(printable, row)] for row in rows]
    head = rows[0]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    is_used = [any(row[column] for row in rows[1:]) for column in range(len(head))]
    lines: list[str] = []
    for row in rows:
        cells = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name, used in zip(row, widths, head, is_used, strict=True)
            if used
        )
        lines.append("  ".join(cells).rstrip())
    return lines
