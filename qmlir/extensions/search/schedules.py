"""Schedules that a search may choose for a contraction, and the file of those that it found."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, i32
from xdsl.ir import Attribute, Operation

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.dialects.kernel.ops import RequantizeOp, YieldOp, shaped
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.kernel.winograd import ALGORITHMS, Algorithm
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, op_error, text_error
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import Row
from qmlir.targets.cpu.scheduled.schedule import (
    Choices,
    has_winograd_form,
    most_tiles,
    positions_of,
    register_tiles,
    schedule_for,
    schedule_of,
    schedule_of_tile,
)
from qmlir.text.data import JsonValue, parse_data
from qmlir.text.files import read_regular

# The file of a schedule search: for each kernel the schedule that was fastest, and the times.
#
# JSON, an entry for each kernel under the digest of its identity. An entry has a digest of its own: one that was
# changed by hand or by accident is not an entry. What a schedule says is checked where it is used.
#
# Two contractions are the same kernel where all is equal that decides how fast their loops are: sizes, types, steps
# of windows, whether weights are known, the loops that accept them, the operations of the epilogue; not numbers and
# names.

_NUMBERS = ("schedule", "operandSegmentSizes", "epilogue_maps", "input_zero_point", "weight_zero_point")
"""The properties that are told apart from the others, or do not count."""


def _text(attribute: Attribute) -> str:
    if isinstance(attribute, DenseArrayBase):
        return "x".join(map(str, attribute.get_values()))
    return str(attribute)


def _steps(op: ContractionOp) -> Iterator[str]:
    """The operations of the epilogue by name and type."""
    for each in op.body.walk():
        if isinstance(each, ConstantOp | YieldOp):
            continue
        mode = f"<{each.mode.mode}>" if isinstance(each, RequantizeOp) else ""
        yield f"{each.name}{mode} {','.join(str(value.type) for value in each.results)}"


def _is_known(op: ContractionOp) -> bool:
    owner = op.w.owner
    return isinstance(owner, Operation) and isinstance(owner, ConstantOp)


def kernel_identity(op: ContractionOp, isa: str, threads: int) -> str:
    """A line that is the same for contractions that one schedule fits alike, on an instruction set and so many threads.

    `op` is not packed yet.
    """
    properties = [f"{name}={_text(value)}" for name, value in sorted(op.properties.items()) if name not in _NUMBERS]
    epilogue = [
        f"{value.type} by {attribute.data}" for value, attribute in zip(op.epilogue, op.epilogue_maps, strict=True)
    ]
    variants = dict.fromkeys(row.variant for row in instruction_set(isa).rows_for(op))
    parts = (
        f"{isa}, {threads} thread{'s' if threads > 1 else ''}",
        f"{op.name} {op.x.type} by {'constant ' if _is_known(op) else ''}{op.w.type} to {op.target.type}",
        ", ".join(properties),
        f"sums {op.accumulator_type}, loops {', '.join(variants)}",
        "; ".join(epilogue),
        "; ".join(_steps(op)),
    )
    return " | ".join(part for part in parts if part)


FORMAT = "qmlir-tuning"
VERSION = 1
_KERNELS, _DIGEST = "kernels", "digest"
_SHORTEST = 1e-12
"""Seconds: no loop is faster, and times are divided by each other."""


@dataclass(frozen=True)
class TunedKernel:
    """What a search found out about one kernel."""

    kernel: str
    """Its identity (`kernel_identity`)."""

    schedule: str | None
    """The schedule that is faster than that of the table, `None` where none is."""

    default: str
    """The schedule of the table."""

    seconds: float
    """The shortest time of the fastest schedule."""

    default_seconds: float
    """The shortest time of the schedule of the table."""

    tried: int
    """How many schedules were timed."""

    @staticmethod
    def of(data: JsonValue) -> "TunedKernel":
        """The entry that data holds. Raises `DiagnosticError`."""
        schedule = data["schedule"]
        return TunedKernel(
            data["kernel"].text(),
            None if schedule.value is None else schedule.text(),
            data["default"].text(),
            data["seconds"].number(_SHORTEST),
            data["default_seconds"].number(_SHORTEST),
            data["tried"].integer(0),
        )

    @property
    def key(self) -> str:
        """What it is kept under."""
        return key_of(self.kernel)

    @property
    def gain(self) -> float:
        """The share of the time that the schedule saves."""
        return 0.0 if self.schedule is None else 1 - self.seconds / self.default_seconds


def key_of(identity: str) -> str:
    """What a kernel is kept under."""
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _digest(entry: Mapping[str, Any]) -> str:
    content = {name: value for name, value in entry.items() if name != _DIGEST}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def tuning_text(kernels: Mapping[str, TunedKernel]) -> str:
    """The text of a file with these entries by key."""
    entries = {key: asdict(kernels[key]) for key in sorted(kernels)}
    content = {key: {**entry, _DIGEST: _digest(entry)} for key, entry in entries.items()}
    return json.dumps({"format": FORMAT, "version": VERSION, _KERNELS: content}, indent=1) + "\n"


def _entry(key: str, found: JsonValue) -> TunedKernel | None:
    """An entry as it was written, `None` for anything else."""
    try:
        made = TunedKernel.of(found)
        is_whole = found.value == {**asdict(made), _DIGEST: _digest(asdict(made))} and made.key == key
    except DiagnosticError:
        return None
    return made if is_whole else None


@dataclass(frozen=True)
class Tuning:
    """What a file has: its entries by key, and how many more it had that are damaged."""

    kernels: Mapping[str, TunedKernel]
    damaged: int = 0

    @staticmethod
    def from_text(text: str | bytes) -> "Tuning":
        """What `tuning_text` gave. Raises `DiagnosticError` for any other text."""
        data = parse_data(text, "it")
        data["format"].text([FORMAT])
        data["version"].integer(VERSION, VERSION)
        found = {key: _entry(key, entry) for key, entry in data[_KERNELS].entries().items()}
        whole = {key: entry for key, entry in found.items() if entry is not None}
        return Tuning(whole, len(found) - len(whole))

    @staticmethod
    def read(path: Path) -> "Tuning":
        """What the file at `path` has. Raises `DiagnosticError`, one line, where it cannot be read or is none."""
        try:
            text = read_regular(path)
        except OSError as error:
            raise text_error(f"cannot read the tuned schedules '{path}': {error.strerror}") from error
        try:
            return Tuning.from_text(text)
        except DiagnosticError as error:
            raise text_error(f"'{path}' does not contain tuned schedules: {error.diagnostic.message}") from error

    def digest(self) -> str:
        """A digest of the schedules that are not those of the table; empty where there is none."""
        chosen = {key: each.schedule for key, each in self.kernels.items() if each.schedule is not None}
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest() if chosen else ""


# The schedules that a contraction may have: what a search tries, and all that a file of tuned schedules may say.
#
# Each gives the same numbers. Of integers every family of loops whose row of the table accepts the operation is
# there; of floats only the one of the table, because another may round otherwise.

_OTHERS = 2
"""Registers that hold no sums and no weights: what is multiplied with them, and a constant."""

_MOST_VECTORS, _MOST_ROWS = 4, 14
"""Larger tiles along one axis read more than they save."""

_MOST_HEIGHTS = 3
"""So many numbers of rows are tried for each number of vectors: smaller tiles read weights more often."""


def _rows(positions: int, most: int) -> Iterator[int]:
    """Rows of tiles from `most` on down: those that leave no rest, and those that make tiles of about one size."""
    if positions <= most:
        yield max(positions, 1)
        return
    fitting = (
        rows
        for rows in range(most, max(most // 2, 1) - 1, -1)
        if positions % rows == 0 or rows == -(-positions // -(-positions // rows))
    )
    yield from islice(fitting, _MOST_HEIGHTS)


def _tiles(op: ContractionOp, row: Row, registers: int) -> Iterator[tuple[int, int]]:
    """Rows and vectors of the tiles that registers have room for."""
    widths = (row.vectors,) if variant_named(row.variant).is_interleaved else range(_MOST_VECTORS, 0, -1)
    for vectors in widths:
        most = (registers - vectors - _OTHERS) // vectors
        yield from ((rows, vectors) for rows in _rows(positions_of(op), min(most, _MOST_ROWS)) if most > 0)


def _direct(op: ContractionOp, isa: str, threads: int) -> Iterator[ScheduleAttr]:
    found = instruction_set(isa)
    first, *others = found.rows_for(op)
    for tile in _tiles(op, first, found.registers):
        yield schedule_of(op, found, first, tile, threads)
    if isinstance(op.accumulator_type, AnyFloat):
        return
    for row in others:
        # Others with a fraction of the products in an instruction never catch up.
        if row.variant != "splat" or variant_named(first.variant).group == 1:
            yield schedule_of(op, found, row, (row.rows, row.vectors), threads)


def _by_winograd(op: ConvOp, form: Algorithm, isa: str, threads: int) -> Iterator[ScheduleAttr]:
    batch, height, width, outputs = shaped(op.target)[0]
    inputs, count = shaped(op.x)[0][-1], batch * -(-height // form.step) * -(-width // form.step)
    most = most_tiles(form, count, inputs, threads)
    for tile in register_tiles(form, isa):
        for number in sorted({-(-most // tile.rows), -(-most // (2 * tile.rows)), 1}, reverse=True):
            yield schedule_of_tile(form, isa, tile, min(tile.rows * number, count), count, (inputs, outputs), threads)


def _unthreaded(schedule: ScheduleAttr) -> ScheduleAttr:
    numbers = (schedule.rows, schedule.vectors, schedule.lanes, schedule.k_unroll)
    return ScheduleAttr.of(schedule.variant, *numbers, block=schedule.block, prefetch=schedule.prefetch)


def candidates(op: ContractionOp, isa: str, threads: int) -> tuple[ScheduleAttr, ...]:
    """The schedules that `op` may have on `isa`, each once, the one of the table first.

    For several threads each schedule that divides the work is there without that, too.
    """
    if math.prod(shaped(op.target)[0]) == 0:
        return (schedule_for(op, isa, threads),)
    found = [schedule_for(op, isa, threads), *_direct(op, isa, threads)]
    if isinstance(op, ConvOp) and op.accumulator_type == i32:
        for form in ALGORITHMS.values():
            if has_winograd_form(op, form):
                found += _by_winograd(op, form, isa, threads)
    return tuple(dict.fromkeys(each for made in found for each in (made, _unthreaded(made))))


@dataclass(frozen=True)
class TunedChoices:
    """The file at `path`, or nothing where that is empty, for an instruction set and so many threads."""

    path: str
    isa: str
    threads: int

    @cached_property
    def _tuning(self) -> Tuning:
        """Raises `DiagnosticError` where the file cannot be read or is none."""
        found = Tuning.read(Path(self.path)) if self.path else Tuning({})
        if found.damaged:
            many = "entries are" if found.damaged > 1 else "entry is"
            emit(Diagnostic(Severity.WARNING, f"'{self.path}': {found.damaged} damaged {many} left out"))
        return found

    def schedule(self, op: ContractionOp) -> ScheduleAttr | None:
        """The schedule that a search found for `op`, `None` where the table has the fastest, or nobody searched.

        A schedule that `op` cannot have is told, and left out.
        """
        if not self._tuning.kernels:
            return None
        found = self._tuning.kernels.get(key_of(kernel_identity(op, self.isa, self.threads)))
        if found is None or found.schedule is None:
            return None
        for each in candidates(op, self.isa, self.threads):
            if str(each) == found.schedule:
                return each
        told = op_error(
            op, f"ignoring {found.schedule} of '{self.path}', which is invalid for this operation"
        ).diagnostic
        emit(replace(told, severity=Severity.WARNING))
        return None


def schedule_choices(path: str, isa: str, threads: int) -> Choices:
    """The service `schedule_choices`."""
    return TunedChoices(path, isa, threads).schedule
