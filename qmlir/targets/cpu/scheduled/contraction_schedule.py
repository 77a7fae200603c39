"""How contractions are made into loops: by the first row of the instruction set that accepts one, and its sizes.

`docs/lab/contractions.md` says how the figures were taken.
"""

import math

from xdsl.dialects.builtin import AnyFloat

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.dialects.simd.base import bits_of
from qmlir.ir.builtin_types import as_integer
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import InstructionSet, Row
from qmlir.targets.cpu.isa.conditions import is_depthwise
from qmlir.targets.cpu.scheduled.winograd_schedule import winograd_schedule

PANEL_BYTES, PANEL_POSITIONS = 1 << 18, 256
"""What a panel of `x` has about, whichever is more. Half and twice of it are within 2% for 1024 to 4096 terms."""


def positions_of(op: ContractionOp) -> int:
    """How many places of the result one run of tiles goes over: all of them for a matrix of weights, or a row."""
    shape = shaped(op.target)[0]
    is_window = isinstance(op, ConvOp) and any(
        each != 1 for each in (*shaped(op.w)[0][1:-1], *(int(stride) for stride in op.strides.get_values()))
    )
    first = len(shaped(op.w)[0]) - 2 if isinstance(op, MatMulOp) else 0
    return shape[-2] if is_window else math.prod(shape[first:-1])


def tile_rows(positions: int, most: int) -> int:
    """Of the rows above half of `most`, rounded up, the most that leave no rest, otherwise those that make the last
    tile the largest; all positions where they fit one tile.
    """
    if positions <= most:
        return max(positions, 1)
    least = min((most + 1) // 2 + 1, most)
    return max(range(most, least - 1, -1), key=lambda rows: (positions % rows == 0, positions % rows))


PREFETCHED_BYTES = 256 * 1024
"""Weights that are prefetched at least: on Zen 4 with 1 MB in the second cache, prefetching those of 64 KB on gained
nothing more in ResNet-50."""

PREFETCHED_POSITIONS = 16
"""The positions from which on a block of weights is used long enough for the next one to come meanwhile."""


def _is_run(op: ContractionOp) -> bool:
    """Whether all positions may be one run: each reads a row of `x` of its own."""
    is_batched = not isinstance(op, ConvOp) and len(shaped(op.w)[0]) > 2
    return positions_of(op) == math.prod(shaped(op.target)[0][:-1]) and not is_batched


def _is_cut(op: ContractionOp, row: Row, width: int) -> bool:
    """Whether blocks of `width` channels would read an `x` again that the second cache doesn't hold."""
    size = math.prod(shaped(op.x)[0]) * bits_of(shaped(op.x)[1]) // 8
    return 0 < row.cut <= size and op.channels() > width and _is_run(op)


def _panel(op: ContractionOp, rows: int) -> int:
    """Positions of a panel, of whole tiles of so many rows."""
    bits = shaped(op.x)[0][-1] * bits_of(shaped(op.x)[1])
    return max(PANEL_BYTES * 8 // bits, PANEL_POSITIONS) // rows * rows


def _prefetches(op: ContractionOp) -> bool:
    """Whether weights come from further away than the second cache, while others are used."""
    size = math.prod(shaped(op.w)[0]) * bits_of(shaped(op.w)[1]) // 8
    return size >= PREFETCHED_BYTES and math.prod(shaped(op.target)[0][:-1]) >= PREFETCHED_POSITIONS


THREADED_MICROSECONDS = 3.0
"""Work of a contraction on one core from which on threads divide it; see `docs/lab/threads.md`."""

_CYCLES = 3500
"""Cycles of a core in a microsecond, in each of which one vector of `lanes` sums takes a group of terms."""

_TRANSFORMED_TERMS = 64
"""The same of Winograd's products: about as many of the convolution's own terms in a cycle."""

THREADED_ELEMENTS = 20_000
"""Elements read and written by an elementwise operation or a reduction, from which on threads divide it."""


def _is_large(op: ContractionOp, terms: int) -> bool:
    """Whether threads divide a contraction of which one core adds so many terms in a cycle."""
    return op.multiply_adds() / (terms * _CYCLES) >= THREADED_MICROSECONDS


def schedule_for(op: ContractionOp, isa: str, threads: int) -> ScheduleAttr:
    """The schedule of the first row of the table that fits."""
    if isinstance(op, WinogradOp):
        return winograd_schedule(op, isa, threads if _is_large(op, _TRANSFORMED_TERMS) else 1)
    found = instruction_set(isa)
    row = next(found.rows_for(op))
    # Where positions are many a smaller tile behind them costs nothing, and large tiles read weights less often.
    is_cut = _is_cut(op, row, row.vectors * _lanes(op, found))
    rows = row.rows if is_cut else tile_rows(positions_of(op), row.rows)
    return schedule_of(op, found, row, (rows, row.vectors), threads)


def _lanes(op: ContractionOp, isa: InstructionSet) -> int:
    """The sums that a register holds: one, where it takes several registers of a small processor."""
    accumulator = op.accumulator_type
    integer = as_integer(accumulator)
    width = accumulator.bitwidth if isinstance(accumulator, AnyFloat) else 0 if integer is None else integer.width.data
    return max(isa.bits // width, 1)


def schedule_of(op: ContractionOp, isa: InstructionSet, row: Row, tile: tuple[int, int], threads: int) -> ScheduleAttr:
    """The schedule by a row of an instruction set with a `tile` of so many rows and at most so many vectors."""
    lanes = _lanes(op, isa)
    rows, vectors = tile
    variant = variant_named(row.variant)
    group = variant.group
    groups = op.group_count if isinstance(op, ConvOp) and not variant.is_lanewise else 1
    # Interleaved rows are as many registers as they are.
    least = row.vectors if variant.is_interleaved else 1
    vectors = min(vectors, max(-(-op.channels() // groups // lanes), least))
    is_cut = _is_cut(op, row, vectors * lanes)
    return ScheduleAttr.of(
        row.variant,
        rows,
        vectors,
        lanes,
        group,
        threads=threads > 1 and _is_large(op, lanes if is_depthwise(op) else lanes * group),
        block=_panel(op, rows) if is_cut else 1,
        prefetch=row.prefetch if is_cut or _prefetches(op) else 0,
    )
