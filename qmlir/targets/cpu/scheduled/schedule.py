"""Schedules of contractions and structured operations: the rows of the instruction set, and what a search found."""

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import AnyFloat, IndexType, ModuleOp, TensorType, i1
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute

from qmlir import registry
from qmlir.analysis.contraction_ranges import known_weights
from qmlir.dialects.kernel.attributes import SCHEDULE, TARGET, ScheduleAttr, TargetAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.dialects.kernel.ops import JoinOp, shaped
from qmlir.dialects.kernel.variants import LANES, SCALAR, variant_named
from qmlir.dialects.kernel.winograd import F2, F4, F4_BYTES, Algorithm, WinogradOp
from qmlir.dialects.simd.base import bits_of
from qmlir.ir.builtin_types import as_integer
from qmlir.ir.diagnostics import text_error
from qmlir.ir.passes import count
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import DOT_US, InstructionSet, RegisterTile, Row
from qmlir.targets.cpu.isa.predicates import is_depthwise
from qmlir.targets.cpu.loops.lanes import sums_bytes

# How Winograd's convolutions are made into loops: where they are faster, register tiles, tiles of a block.
#
# `docs/lab/winograd.md` says how the figures were taken.


def faster(op: ConvOp, isa: str) -> Sequence[Algorithm]:
    """The algorithms by which a convolution of 3x3 kernels next to each other is computed faster, the fastest first."""
    _, height, width, outputs = shaped(op.target)[0]
    inputs = shaped(op.x)[0][-1]
    return tuple(gain.form for gain in instruction_set(isa).gains if gain.accepts(height, width, inputs, outputs))


_SUMS_OF_WEIGHTS = 8
"""Registers for each tile of F(4x4, 3x3) that transforms its weights: six hold products of it."""


def register_tiles(form: Algorithm, isa: str) -> tuple[RegisterTile, ...]:
    """The register tiles of an algorithm."""
    found = instruction_set(isa)
    if form.takes_bytes:
        return (RegisterTile(found.registers // _SUMS_OF_WEIGHTS, 1, 1),)
    return found.f4_tiles if form is F4 else found.tiles


BLOCK_BYTES = 256 * 1024
"""Room for the transformed inputs of a block, in the cache nearest but one."""

WINOGRAD_PREFETCHED_BYTES = 384 * 1024
"""Transformed weights from which on they come from further away than the cache nearest but one, one product after the
other. With weights that no cache holds, prefetching takes 7x7x512 from 1060 to 680 us, 14x14x256 from 640 to 550 and
28x28x128 from 576 to 540; 56x56x64 would lose 3%."""

NEAR_BYTES = 16 * 1024
"""The weights of a product that are prefetched into the nearest cache, larger ones into the next: 550 against 650 us at
14x14x256, where they are 8 KB, 800 against 680 at 7x7x512, where they are 24. Taps always into the nearest: 586
against 979 us at 7x7x512, a block of whose channels has 72 KB of them, read six times."""

MOST_TILES: Mapping[str, int] = {F2.name: 64, F4.name: 28, F4_BYTES.name: 28}
"""The tiles of a block: of F(2x2, 3x3) 25 to 160 take the same time within 1%; 56x56x64 by F(4x4, 3x3) takes the same
with 28 and 70 as well, but 424 and 462 us with nothing in a cache."""


def _bytes(form: Algorithm, inputs: int) -> int:
    """What is in 16 bits for `inputs` channels of a tile."""
    return form.tile**2 * 2 * inputs


def _weight_bytes(form: Algorithm, channels: int) -> int:
    """The weights of so many pairs of channels."""
    return form.weight_size**2 * form.weight_element.width.data // 8 * channels


def most_tiles(form: Algorithm, count: int, inputs: int, threads: int) -> int:
    """The tiles that a block of `count` has at most."""
    return max(min(BLOCK_BYTES // _bytes(form, inputs), MOST_TILES[form.name], -(-count // threads)), 1)


def winograd_schedule(op: WinogradOp, isa: str, threads: int) -> ScheduleAttr:
    """The schedule that computes the least for nothing: tiles that fill up the last register tile of a block.

    A block has whole register tiles, its transformed inputs fit `BLOCK_BYTES`, and each thread has a block.
    """
    batch, rows, columns = op.tiles
    count, inputs = batch * rows * columns, shaped(op.x)[0][-1]
    most = most_tiles(op.form, count, inputs, threads)

    def cost(tile: RegisterTile, block: int) -> float:
        whole, rest = divmod(count, block)
        return (
            sum(number * -(-size // tile.rows) * tile.rows for number, size in ((whole, block), (1, rest))) * tile.cost
        )

    candidates = [
        (tile, min(tile.rows * number, count))
        for tile in register_tiles(op.form, isa)
        for number in range(1, -(-most // tile.rows) + 1)
    ]
    tile, block = min(candidates, key=lambda each: (cost(*each), -each[1]))
    return schedule_of_tile(op.form, isa, tile, block, count, (inputs, op.channels()), threads)


def schedule_of_tile(
    form: Algorithm, isa: str, tile: RegisterTile, block: int, count: int, channels: tuple[int, int], threads: int
) -> ScheduleAttr:
    """The schedule by a register tile in blocks of so many of the `count` tiles, for input and output `channels`."""
    inputs, outputs = channels
    lanes = instruction_set(isa).bits // 32
    vectors = min(tile.vectors, -(-outputs // lanes))
    is_far = _weight_bytes(form, inputs * outputs) >= WINOGRAD_PREFETCHED_BYTES
    level = 1 if form.takes_bytes or 2 * inputs * vectors * lanes <= NEAR_BYTES else 2
    return ScheduleAttr.of(
        form.variant, min(tile.rows, count), vectors, lanes, variant_named(form.variant).group, threads=threads > 1,
        block=block, prefetch=level if is_far else 0,
    )  # fmt: skip


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


# How contractions are made into loops: by the first row of the instruction set that accepts one, and its sizes.
#
# `docs/lab/contractions.md` says how the figures were taken.

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
    is_cut = _is_cut(op, row, row.vectors * _sums_per_register(op, found))
    rows = row.rows if is_cut else tile_rows(positions_of(op), row.rows)
    return schedule_of(op, found, row, (rows, row.vectors), threads)


def _sums_per_register(op: ContractionOp, isa: InstructionSet) -> int:
    """The sums that a register holds: one, where it takes several registers of a small processor."""
    accumulator = op.accumulator_type
    integer = as_integer(accumulator)
    width = accumulator.bitwidth if isinstance(accumulator, AnyFloat) else 0 if integer is None else integer.width.data
    return max(isa.bits // width, 1)


def schedule_of(op: ContractionOp, isa: InstructionSet, row: Row, tile: tuple[int, int], threads: int) -> ScheduleAttr:
    """The schedule by a row of an instruction set with a `tile` of so many rows and at most so many vectors."""
    lanes = _sums_per_register(op, isa)
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


Choices = Callable[[ContractionOp], ScheduleAttr | None]
"""Gives the schedule that a search found for an operation; `None` if the table has the fastest, or nobody searched."""


# How structured operations are made into loops: how many elements are one vector, and whether threads divide them.

_WIDEST = 32
"""Elements of more bits take several registers: the shorter ones that they are made of fill one."""

_BYTE = 8

_HELD = (8, 16, 32, 64)
"""The bits of elements that stand in memory as in a register."""


def elements_schedule(op: LinalgStructuredOperation, isa: str, threads: int) -> ScheduleAttr | None:
    """The schedule of a structured operation, `None` for scalars on one thread."""
    sizes = [math.prod(shaped(value)[0]) for value in op.operands if isinstance(value.type, TensorType)]
    is_divided = threads > 1 and sum(sizes) >= THREADED_ELEMENTS
    found = instruction_set(isa)
    lanes = _elements_per_register(op, found.bits)
    if lanes > 1:
        # Sums of bytes are products by ones.
        terms = _WIDEST // _BYTE if found.widths(DOT_US) and sums_bytes(op.body.block) else 1
        return ScheduleAttr.of(LANES, lanes=lanes, k_unroll=terms, threads=is_divided)
    return ScheduleAttr.of(SCALAR, threads=True) if is_divided else None


def _elements_per_register(op: LinalgStructuredOperation, bits: int) -> int:
    """The elements of one register, by the widest that the body computes with; 1 where memory packs elements."""
    in_memory = [argument.type for argument in op.body.block.args]
    if any(isinstance(element, IndexType) or bits_of(element) not in _HELD for element in in_memory):
        return 1
    if any(isinstance(each, JoinOp) for each in op.body.block.ops):
        return bits // _BYTE  # what is joined comes out of as many registers as a number has bytes
    computed = [value.type for each in op.body.block.ops for value in each.results]
    widest = max((_bits(element) for element in (*in_memory, *computed)), default=_WIDEST)
    return bits // min(widest, _WIDEST)


def _bits(element: Attribute) -> int:
    """The bits of a number in a lane; places and truths take those of what they are computed from."""
    return 0 if isinstance(element, IndexType) or element == i1 else bits_of(element)


def schedule_all_elements(module: ModuleOp) -> None:
    """Give every structured operation that has no schedule the one for the target of the module, if that has one."""
    target = module.attributes.get(TARGET)
    if not isinstance(target, TargetAttr):
        return
    for op in module.walk():
        if isinstance(op, LinalgStructuredOperation) and SCHEDULE not in op.attributes:
            schedule = elements_schedule(op, target.isa, target.threads)
            if schedule is not None:
                op.attributes[SCHEDULE] = schedule
                count("structured operations divided among threads", schedule.threads)


def tuned_choices(path: str, isa: str, threads: int) -> Choices:
    """The choices of the file at `path`, by the service `schedule_choices`; none for an empty path.

    Raises `DiagnosticError` without the service.
    """
    if not path:
        return lambda _: None
    found: Callable[[str, str, int], Choices] | None = registry.service("schedule_choices")
    if found is None:
        raise text_error(f"the tuned schedules in '{path}' require the extension 'search', which is left out")
    return found(path, isa, threads)
