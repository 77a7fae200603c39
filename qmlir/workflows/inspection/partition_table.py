"""Reports of a partition as text: for each function its parts with what goes over their borders, and the rest."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from qmlir.ir.diagnostics import printable
from qmlir.target import HOST
from qmlir.targets.partitioning.report import Crossing, PartitionReport, PartReport
from qmlir.workflows.inspection.table import aligned, number
from qmlir.workflows.inspection.values import bytes_text, counted

_PARTS = ("part", "target", "operations", "macs", "takes", "gives", "bytes")
_STAYS = ("operation", "because")
_RIGHT = frozenset({"operations", "macs", "bytes"})
_LONGEST = 48


def _values(crossings: Sequence[Crossing]) -> str:
    text = ", ".join(f"{each.name} {each.type}".strip() for each in crossings)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _part(part: PartReport) -> tuple[str, ...]:
    return (
        part.name,
        part.target,
        str(part.operations),
        number(part.multiply_adds),
        _values(part.arguments),
        _values(part.results),
        bytes_text(sum(each.bytes for each in part.crossings)),
    )


def _head(found: PartitionReport) -> str:
    if not found.parts:
        return f"@{found.function}: no part for any of {', '.join(found.targets)}"
    done = sum(part.multiply_adds for part in found.parts)
    tenths = 1000 * done // found.multiply_adds if found.multiply_adds else 0  # all of them alone are 100%
    share = f", {tenths / 10:.1f}% of the multiply-adds" if found.multiply_adds else ""
    crossings = f"{counted(found.crossings, 'crossing')} of {bytes_text(found.bytes)}"
    return f"@{found.function}: {counted(len(found.parts), 'part')}{share}, {crossings}"


def _lines(found: PartitionReport) -> Iterator[str]:
    yield _head(found)
    if found.parts:
        yield from ("", *aligned([_PARTS, *map(_part, found.parts)], _RIGHT))
    for target, stays in groupby(found.stays, lambda each: each.target):
        head = "on the host" if target == HOST else f"on {target}"
        yield from ("", *aligned([(head, *_STAYS), *((each.node, each.operation, each.reason) for each in stays)]))


def partition_text(found: Iterable[PartitionReport]) -> str:
    """The lines, functions in order."""
    return "\n".join("".join(f"{printable(line)}\n" for line in _lines(each)) for each in found)
