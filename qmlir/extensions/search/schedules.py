"""The candidate schedules of a contraction, and the lookup of tuned schedules.

Two contractions count as the same kernel if everything that determines the speed of their loops is equal: sizes, types,
window strides, whether the weights are constant, the variants that accept them, and the operations of the epilogue.
Values and names don't matter.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, i32
from xdsl.ir import Attribute

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.dialects.kernel.ops import RequantizeOp, YieldOp, shaped
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.kernel.winograd import ALGORITHMS, Algorithm
from qmlir.extensions.search.tuned import Tuning, key_of
from qmlir.ir.diagnostics import emit_warning, warn
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
    tile_rows,
)

_NUMBERS = ("schedule", "operandSegmentSizes", "epilogue_maps", "input_zero_point", "weight_zero_point", "input_total")
"""Properties that are compared separately or ignored."""


def _text(attribute: Attribute) -> str:
    if isinstance(attribute, DenseArrayBase):
        return "x".join(map(str, attribute.get_values()))
    return str(attribute)


def _steps(op: ContractionOp) -> Iterator[str]:
    """Yields the operations of the epilogue by name and type."""
    for each in op.body.walk():
        if isinstance(each, ConstantOp | YieldOp):
            continue
        mode = f"<{each.mode.mode}>" if isinstance(each, RequantizeOp) else ""
        yield f"{each.name}{mode} {','.join(str(value.type) for value in each.results)}"


def kernel_identity(op: ContractionOp, isa: str, threads: int) -> str:
    """Returns a line that is equal for contractions with the same best schedule.

    The line includes the instruction set and the number of threads. `op` must not be packed yet.
    """
    properties = [f"{name}={_text(value)}" for name, value in sorted(op.properties.items()) if name not in _NUMBERS]
    epilogue = [
        f"{value.type} by {attribute.data}" for value, attribute in zip(op.epilogue, op.epilogue_maps, strict=True)
    ]
    variants = dict.fromkeys(row.variant for row in instruction_set(isa).rows_for(op))
    constant = "constant " if isinstance(op.w.owner, ConstantOp) else ""
    parts = (
        f"{isa}, {threads} thread{'s' if threads > 1 else ''}",
        f"{op.name} {op.x.type} by {constant}{op.w.type} to {op.target.type}",
        ", ".join(properties),
        f"sums {op.accumulator_type}, loops {', '.join(variants)}",
        "; ".join(epilogue),
        "; ".join(_steps(op)),
    )
    return " | ".join(part for part in parts if part)


# The candidate schedules of a contraction. A search tries these schedules, and a file may name no others.
#
# All candidates compute the same values. For integers, every variant whose table row accepts the operation is a
# candidate. For floats, only the built-in variant is one, because others may round differently.

_OTHERS = 2
"""The number of registers that hold neither accumulators nor weights: one for the broadcast operand and one for a
constant.
"""

_MOST_VECTORS, _MOST_ROWS = 4, 14
"""The maximum tile size along each axis; with larger tiles, extra reads outweigh the savings."""

_MOST_HEIGHTS = 3
"""The number of row counts that are tried for each number of vectors. Smaller tiles are skipped, as they read weights
more often.
"""


_DISTANCES = (0, 2048, 4096)
"""The prefetch distances that are tried for weights that are read once: processors of one instruction set differ."""


def _rows(positions: int, most: int) -> Iterator[int]:
    """Yields row counts of tiles from `most` down.

    These are the ones without a remainder, and those that make tiles of similar size.
    """
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
    """Yields the rows and vectors of the tiles that fit the registers."""
    widths = (row.vectors,) if variant_named(row.variant).is_interleaved else range(_MOST_VECTORS, 0, -1)
    for vectors in widths:
        most = (registers - vectors - _OTHERS) // vectors
        yield from ((rows, vectors) for rows in _rows(positions_of(op), min(most, _MOST_ROWS)) if most > 0)


def _direct(op: ContractionOp, isa: str, threads: int) -> Iterator[ScheduleAttr]:
    found = instruction_set(isa)
    first, *others = found.rows_for(op)
    for tile in _tiles(op, first, found.registers):
        yield schedule_of(op, found, first, tile, threads)
    for distance in _DISTANCES:
        tile = tile_rows(positions_of(op), first.rows), first.vectors
        yield schedule_of(op, found, replace(first, ahead=distance), tile, threads)
    if isinstance(op.accumulator_type, AnyFloat):
        return
    for row in others:
        # Variants with fewer products per instruction never catch up.
        if row.variant != "splat" or variant_named(first.variant).group == 1:
            yield schedule_of(op, found, row, (row.rows, row.vectors), threads)


def _by_winograd(op: ConvOp, form: Algorithm, isa: str, threads: int) -> Iterator[ScheduleAttr]:
    batch, height, width, outputs = shaped(op.target)[0]
    inputs, count = shaped(op.x)[0][-1], batch * -(-height // form.step) * -(-width // form.step)
    most = most_tiles(form, count, inputs, threads)
    for tile in register_tiles(form, isa):
        for number in sorted({-(-most // tile.rows), -(-most // (2 * tile.rows)), 1}, reverse=True):
            yield schedule_of_tile(form, isa, tile, min(tile.rows * number, count), count, (inputs, outputs), threads)


def _unthreaded(made: ScheduleAttr) -> ScheduleAttr:
    numbers = made.rows, made.vectors, made.lanes, made.k_unroll
    return ScheduleAttr.of(made.variant, *numbers, block=made.block, prefetch=made.prefetch, ahead=made.ahead)


def candidates(op: ContractionOp, isa: str, threads: int) -> tuple[ScheduleAttr, ...]:
    """Returns the distinct schedules that `op` supports on `isa`, starting with the built-in one.

    With several threads, each threaded schedule is also returned without threading.
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
    """The tuned schedules in the file at `path` (none if it is empty) for an instruction set and thread count."""

    path: str
    isa: str
    threads: int

    @cached_property
    def _tuning(self) -> Tuning:
        """The content of the file. Raises `DiagnosticError` if it cannot be read or has another format."""
        found = Tuning.read(Path(self.path)) if self.path else Tuning({})
        if found.damaged:
            many = "entries are" if found.damaged > 1 else "entry is"
            warn(f"'{self.path}': {found.damaged} damaged {many} left out")
        return found

    def schedule(self, op: ContractionOp) -> ScheduleAttr | None:
        """Returns the tuned schedule of `op`; `None` if the built-in one is fastest or if `op` was never tuned.

        A stored schedule that `op` does not support is ignored with a warning.
        """
        if not self._tuning.kernels:
            return None
        found = self._tuning.kernels.get(key_of(kernel_identity(op, self.isa, self.threads)))
        if found is None or found.schedule is None:
            return None
        for each in candidates(op, self.isa, self.threads):
            if str(each) == found.schedule:
                return each
        emit_warning(op, f"ignoring {found.schedule} of '{self.path}', which is invalid for this operation")
        return None


def schedule_choices(path: str, isa: str, threads: int) -> Choices:
    """Implements the service `schedule_choices`."""
    return TunedChoices(path, isa, threads).schedule
