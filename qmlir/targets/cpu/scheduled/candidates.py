"""The schedules that a contraction may have: what a search tries, and all that a file of tuned schedules may say.

Each gives the same numbers. Of integers every family of loops whose row of the table accepts the operation is there; of
floats only the one of the table, because another may round otherwise.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from xdsl.dialects.builtin import AnyFloat, i32

from qmlir.analysis.contraction_ranges import known_weights
from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.kernel.winograd import ALGORITHMS, Algorithm
from qmlir.ir.diagnostics import Diagnostic, Severity, emit, op_error
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import Row
from qmlir.targets.cpu.scheduled.contraction_schedule import positions_of, schedule_for, schedule_of
from qmlir.targets.cpu.scheduled.tuning_file import Tuning, kernel_identity, key_of
from qmlir.targets.cpu.scheduled.winograd_schedule import most_tiles, register_tiles, schedule_of_tile

_OTHERS = 2
"""Registers that hold no sums and no weights: what is multiplied with them, and a constant."""

_MOST_VECTORS, _MOST_ROWS = 4, 14
"""Larger tiles along one axis read more than they save."""

_MOST_HEIGHTS = 3
"""So many numbers of rows are tried for each number of vectors: smaller tiles read weights more often."""


def has_winograd_form(op: ConvOp, form: Algorithm) -> bool:
    """Whether an algorithm takes a convolution: constant weights of 3x3 kernels beside each other, and a tile."""
    shape, taps = shaped(op.target)[0], shaped(op.w)[0][1:-1]
    return (
        op.outs is None
        and taps == (3, 3)
        and {*op.strides.get_values(), *op.dilations.get_values(), op.group_count} == {1}
        and min(shape[1:-1]) >= form.step
        and min(shape) > 0
        and shaped(op.x)[0][-1] > 0
        and known_weights(op) is not None
    )


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
