"""The result of partitioning as plain data: the parts with their crossings, and the reasons for other assignments."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from qmlir.dialects.quant.infer import type_bytes
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import printable
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.quantization.report import element_text
from qmlir.target import HOST
from qmlir.targets.partitioning.problem import computing
from qmlir.text.tables import Readable, aligned, bytes_text, counted, number


@dataclass(frozen=True)
class BorderTransfer:
    """A value that crosses the border of a part."""

    name: str
    """Its name in the model."""

    type: str
    """Its shape and element type, such as `1x4x4x4xi8`."""

    bytes: int
    """Its size in bytes, packed."""

    @staticmethod
    def of(port: Port) -> "BorderTransfer":
        """Describes an argument or a result of a part.

        Args:
            port: The argument or result.

        Returns:
            The crossing.
        """
        return BorderTransfer(port.name, _type_text(port.type), type_bytes(port.type))


@dataclass(frozen=True)
class PartReport:
    """A part: its target, its work, and the values that it takes and returns."""

    name: str
    """Name of its function."""

    target: str
    """The target that computes it."""

    operations: int
    """Number of operations."""

    multiply_adds: int
    """Multiply-adds; dynamic dimensions count as 1."""

    arguments: tuple[BorderTransfer, ...]
    """The values that it takes."""

    results: tuple[BorderTransfer, ...]
    """The values that it returns."""

    @property
    def crossings(self) -> tuple[BorderTransfer, ...]:
        """The values that it takes and returns."""
        return (*self.arguments, *self.results)


@dataclass(frozen=True)
class RejectedOperation:
    """An operation that is not assigned to the preferred target, with the reason."""

    node: str
    """The key of the node; the name of the operation if it has none."""

    operation: str
    """The operation, such as `nn.conv`."""

    target: str
    """The target that computes it instead; `cpu` is the host."""

    reason: str
    """Why it is not assigned to the preferred target."""


@dataclass(frozen=True, repr=False)
class PartitionReport(Readable):
    """How one function was divided among targets."""

    function: str
    """Name of the function."""

    targets: tuple[str, ...]
    """The targets, preferred first."""

    parts: tuple[PartReport, ...]
    """The parts, with their targets, work, and the values that cross their borders."""

    stays: tuple[RejectedOperation, ...]
    """The operations that are not assigned to the preferred target, with the reasons."""

    crossings: int
    """Number of values that cross a border in a run."""

    bytes: int
    """Bytes of these values, packed; for one sample if dimensions are dynamic."""

    multiply_adds: int
    """Multiply-adds of all operations, in parts or not."""

    def text(self) -> str:
        """Formats the report.

        Returns:
            A table of the parts, and a table of operations that are not on the preferred target, with the reasons.
        """
        return "".join(f"{printable(line)}\n" for line in _lines(self))


_PARTS = ("part", "target", "operations", "macs", "takes", "gives", "bytes")
_STAYS = ("operation", "because")
_RIGHT = frozenset({"operations", "macs", "bytes"})
_LONGEST = 48


def _values(crossings: Sequence[BorderTransfer]) -> str:
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
    tenths = 1000 * done // found.multiply_adds if found.multiply_adds else 0  # rounds down: 100.0% means all of them
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


def _type_text(type_: Attribute) -> str:
    ranked = ranked_tensor(type_)
    if ranked is None:
        return str(type_)
    sizes = ["?" if size == DYNAMIC_INDEX else str(size) for size in ranked.get_shape()]
    return "x".join([*sizes, element_text(ranked.get_element_type())])


def _multiply_adds(function: FuncOp) -> int:
    return sum(op.multiply_adds() for op in function.walk() if isinstance(op, MultipliesAndAdds))


def part_report(function: FuncOp, target: str) -> PartReport:
    """Returns the report of a part's function."""
    return PartReport(
        function.sym_name.data,
        target,
        len(computing(function.body.block)),
        _multiply_adds(function),
        tuple(map(BorderTransfer.of, inputs_of(function))),
        tuple(map(BorderTransfer.of, outputs_of(function))),
    )


def partition_report(
    function: FuncOp, targets: Iterable[str], parts: Iterable[PartReport], stays: Iterable[RejectedOperation]
) -> PartitionReport:
    """Returns the report of a function divided into `parts`, with the operations that are not on the first target."""
    found = tuple(parts)
    crossings = [each for part in found for each in part.crossings]
    return PartitionReport(
        function.sym_name.data,
        tuple(targets),
        found,
        tuple(stays),
        len(crossings),
        sum(each.bytes for each in crossings),
        _multiply_adds(function) + sum(part.multiply_adds for part in found),
    )
