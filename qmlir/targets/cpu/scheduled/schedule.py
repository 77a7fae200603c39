"""Schedules of contractions and structured operations: from the instruction set's table, or found by a search.

`kernel-assign-schedule` attaches them to the operations of a module.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, IndexType, ModuleOp, TensorType, UnitAttr, i1
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.analysis.contraction_ranges import known_weights
from qmlir.dialects.kernel.attributes import SCHEDULE, TARGET, TUNED, ScheduleAttr, TargetAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.dialects.kernel.lengths import Length, lengths_of
from qmlir.dialects.kernel.ops import JoinOp, shaped
from qmlir.dialects.kernel.variants import LANES, SCALAR, variant_named, variant_names
from qmlir.dialects.kernel.winograd import F2, F4, F4_BYTES, Algorithm, WinogradOp
from qmlir.dialects.simd.base import bits_of
from qmlir.ir.builtin_types import as_integer
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.ir.passes import count
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import DOT_US, InstructionSet, RegisterTile, Row
from qmlir.targets.cpu.isa.predicates import is_depthwise
from qmlir.targets.cpu.loops.lanes import sums_bytes

# Schedules of Winograd convolutions: when they are faster, their register tiles, and the tiles of a block.
# `docs/lab/winograd.md` describes the measurements.


def faster(op: ConvOp, isa: str) -> Sequence[Algorithm]:
    """Returns the Winograd algorithms that are faster for a 3x3 convolution without dilation, fastest first."""
    _, height, width, outputs = shaped(op.target)[0]
    inputs = shaped(op.x)[0][-1]
    return tuple(gain.form for gain in instruction_set(isa).gains if gain.accepts(height, width, inputs, outputs))


_SUMS_OF_WEIGHTS = 8
"""The registers per tile of F(4x4, 3x3) with transformed weights; six of them hold its products."""


def register_tiles(form: Algorithm, isa: str) -> tuple[RegisterTile, ...]:
    """Returns the register tiles of an algorithm on an instruction set."""
    found = instruction_set(isa)
    if form.takes_bytes:
        return (RegisterTile(found.registers // _SUMS_OF_WEIGHTS, 1, 1),)
    return found.f4_tiles if form is F4 else found.tiles


BLOCK_BYTES = 256 * 1024
"""The maximum size of a block's transformed inputs, in bytes: part of the L2 cache."""

WINOGRAD_PREFETCHED_BYTES = 384 * 1024
"""The smallest transformed weights that are prefetched, in bytes: they don't stay in the L2 cache.

If the weights don't fit in any cache, prefetching speeds up 7x7x512 from 1060 to 680 µs, 14x14x256 from 640 to 550 µs
and 28x28x128 from 576 to 540 µs; 56x56x64 would lose 3%.
"""

NEAR_BYTES = 16 * 1024
"""The largest panel of weights for one element of the tile, in bytes, that is prefetched to L1; others go to L2.

Prefetching 14x14x256 (8 KB) to L1 takes 550 µs, to L2 650 µs; 7x7x512 (24 KB) takes 800 and 680 µs. Weights that the
loops transform always go to L1: 7x7x512, which reads 72 KB of them six times per block of channels, takes 586 µs with
L1 and 979 µs with L2.
"""

MOST_TILES: Mapping[str, int] = {F2.name: 64, F4.name: 28, F4_BYTES.name: 28}
"""The most tiles in a block.

For F(2x2, 3x3), 25 to 160 tiles take the same time within 1%. For F(4x4, 3x3), 56x56x64 takes the same time with 28 and
70 tiles, but 424 and 462 µs with cold caches.
"""


def _bytes(form: Algorithm, inputs: int) -> int:
    """Returns the size of a tile's transformed 16-bit inputs, in bytes."""
    return form.tile**2 * 2 * inputs


def _weight_bytes(form: Algorithm, channels: int) -> int:
    """Returns the size of the transformed weights of `channels` pairs of channels, in bytes."""
    return form.weight_size**2 * form.weight_element.width.data // 8 * channels


def most_tiles(form: Algorithm, count: int, inputs: int, threads: int) -> int:
    """Returns the maximum number of tiles in a block."""
    return max(min(BLOCK_BYTES // _bytes(form, inputs), MOST_TILES[form.name], -(-count // threads)), 1)


def winograd_schedule(op: WinogradOp, isa: str, threads: int) -> ScheduleAttr:
    """Returns the schedule with the least wasted work: blocks that fill their last register tile.

    A block consists of full register tiles, its transformed inputs fit in `BLOCK_BYTES`, and each thread has a block.
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
    """Returns the schedule for a register tile and blocks of `block` tiles, given input and output `channels`."""
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
    """Returns true if an algorithm supports a convolution: constant 3x3 weights, stride 1, at least one full tile."""
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


# Schedules of contractions: the first row of the instruction set that accepts one, and tile sizes.
# `docs/lab/contractions.md` describes the measurements.

PANEL_BYTES, PANEL_POSITIONS = 1 << 18, 256
"""The target size of a panel of `x`, in bytes and in positions, whichever is larger.

With half and twice this size, times differ by at most 2% for 1024 to 4096 terms.
"""


def positions_of(op: ContractionOp) -> int:
    """Returns the number of result positions in a run of tiles: all that share a weight matrix, or one row."""
    shape = shaped(op.target)[0]
    is_window = isinstance(op, ConvOp) and any(
        each != 1 for each in (*shaped(op.w)[0][1:-1], *(int(stride) for stride in op.strides.get_values()))
    )
    first = len(shaped(op.w)[0]) - 2 if isinstance(op, MatMulOp) else 0
    return shape[-2] if is_window else math.prod(shape[first:-1])


def tile_rows(positions: int, most: int) -> int:
    """Returns the number of rows of a tile, at most `most`.

    If there are at most `most` positions, one tile has them all. Otherwise, the result is the largest number above half
    of `most` that divides the positions. If there is none, it is the number that leaves the most positions for the last
    tile.
    """
    if positions <= most:
        return max(positions, 1)
    least = min((most + 1) // 2 + 1, most)
    return max(range(most, least - 1, -1), key=lambda rows: (positions % rows == 0, positions % rows))


PREFETCHED_BYTES = 256 * 1024
"""The smallest weights that are prefetched, in bytes.

On Zen 4 with 1 MB of L2, also prefetching weights between 64 and 256 KB gained nothing in ResNet-50.
"""

PREFETCHED_POSITIONS = 16
"""The fewest positions for which a block of weights is in use long enough to prefetch the next one."""


def _is_run(op: ContractionOp) -> bool:
    """Returns true if all positions can form one run: each reads a separate row of `x`."""
    is_batched = not isinstance(op, ConvOp) and len(shaped(op.w)[0]) > 2
    return positions_of(op) == math.prod(shaped(op.target)[0][:-1]) and not is_batched


def _is_cut(op: ContractionOp, row: Row, width: int) -> bool:
    """Returns true if blocks of `width` channels would read `x` repeatedly although L2 can't hold it."""
    size = math.prod(shaped(op.x)[0]) * bits_of(shaped(op.x)[1]) // 8
    return 0 < row.cut <= size and op.channels() > width and _is_run(op)


def _panel(op: ContractionOp, rows: int) -> int:
    """Returns the number of positions of a panel, a multiple of `rows`."""
    bits = shaped(op.x)[0][-1] * bits_of(shaped(op.x)[1])
    return max(PANEL_BYTES * 8 // bits, PANEL_POSITIONS) // rows * rows


def _is_far(op: ContractionOp) -> bool:
    """Returns true if the weights don't stay in L2."""
    return math.prod(shaped(op.w)[0]) * bits_of(shaped(op.w)[1]) // 8 >= PREFETCHED_BYTES


def _prefetches(op: ContractionOp) -> bool:
    """Returns true if the weights don't stay in L2, and there is enough work to prefetch them."""
    return _is_far(op) and math.prod(shaped(op.target)[0][:-1]) >= PREFETCHED_POSITIONS


THREADED_MICROSECONDS = 3.0
"""The shortest single-core time of a contraction for which threads divide it; see `docs/lab/threads.md`."""

_CYCLES = 3500
"""CPU cycles per microsecond; in each, one vector of `lanes` sums adds a group of terms."""

_TRANSFORMED_TERMS = 64
"""The terms of the original convolution per cycle in Winograd's algorithm, approximately."""

THREADED_ELEMENTS = 20_000
"""The fewest elements (read and written) of an elementwise operation or reduction for which threads divide it."""


def _is_large(op: ContractionOp, terms: int) -> bool:
    """Returns true if threads should divide a contraction of which one core adds `terms` terms per cycle."""
    return op.multiply_adds() / (terms * _CYCLES) >= THREADED_MICROSECONDS


def schedule_for(op: ContractionOp, isa: str, threads: int) -> ScheduleAttr:
    """Returns the schedule from the first row of the instruction set's table that accepts `op`."""
    if isinstance(op, WinogradOp):
        return winograd_schedule(op, isa, threads if _is_large(op, _TRANSFORMED_TERMS) else 1)
    found = instruction_set(isa)
    row = next(found.rows_for(op))
    # With many positions, a smaller last tile costs nothing, and large tiles read weights less often. But loops can
    # follow a length only if tiles divide it.
    positions, lanes, lengths = positions_of(op), _sums_per_register(op, found), lengths_of(op)
    is_cut = _is_cut(op, row, row.vectors * lanes)
    is_any = is_cut and all(positions % length.prime for length in lengths)
    rows = row.rows if is_any else tile_rows(positions, row.rows)
    units = [length.unit // lanes for length in lengths if op.channels() % length.prime == 0]
    return schedule_of(op, found, row, (rows, min([row.vectors, *units])), threads)


def _sums_per_register(op: ContractionOp, isa: InstructionSet) -> int:
    """Returns the number of sums per register; 1 if a sum takes several registers of a small CPU."""
    accumulator = op.accumulator_type
    integer = as_integer(accumulator)
    width = accumulator.bitwidth if isinstance(accumulator, AnyFloat) else 0 if integer is None else integer.width.data
    return max(isa.bits // width, 1)


def schedule_of(op: ContractionOp, isa: InstructionSet, row: Row, tile: tuple[int, int], threads: int) -> ScheduleAttr:
    """Returns the schedule for a row of an instruction set and a `tile` of (rows, maximum vectors)."""
    lanes = _sums_per_register(op, isa)
    rows, vectors = tile
    variant = variant_named(row.variant)
    group = variant.group
    groups = op.group_count if isinstance(op, ConvOp) and not variant.is_lanewise else 1
    # Interleaved variants always use all their registers.
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
        ahead=row.ahead if positions_of(op) <= rows and _is_far(op) else 0,
    )


Choices = Callable[[ContractionOp], ScheduleAttr | None]
"""A function that returns the tuned schedule of an operation; `None` if there is none, or the table's is fastest."""


# Schedules of structured operations: the number of lanes, and whether threads divide the loops.

_WIDEST = 32
"""The widest element, in bits, that determines the lanes: wider ones take several registers."""

_BYTE = 8

_HELD = (8, 16, 32, 64)
"""The element widths, in bits, with the same layout in memory and registers."""


def elements_schedule(op: LinalgStructuredOperation, isa: str, threads: int) -> ScheduleAttr | None:
    """Returns the schedule of a structured operation; `None` for scalars on one thread."""
    sizes = [math.prod(shaped(value)[0]) for value in op.operands if isinstance(value.type, TensorType)]
    is_divided = threads > 1 and sum(sizes) >= THREADED_ELEMENTS
    found = instruction_set(isa)
    lanes = _elements_per_register(op, found.bits)
    # Sums of bytes are dot products with ones.
    terms = _WIDEST // _BYTE if lanes > 1 and found.widths(DOT_US) and sums_bytes(op.body.block) else 1
    units = [length.unit for length in lengths_of(op) if _is_along(op, length)]
    lanes = min([lanes, *(unit // terms for unit in units)])
    if lanes > 1:
        return ScheduleAttr.of(LANES, lanes=lanes, k_unroll=terms, threads=is_divided)
    return ScheduleAttr.of(SCALAR, threads=True) if is_divided else None


def _is_along(op: LinalgStructuredOperation, length: Length) -> bool:
    """Returns true if the innermost axis of an operand depends on a length."""
    shapes = (shaped(value)[0] for value in op.operands if isinstance(value.type, TensorType))
    return any(shape[-1] % length.prime == 0 for shape in shapes if shape)


def _elements_per_register(op: LinalgStructuredOperation, bits: int) -> int:
    """Returns the elements per register, by the widest type in the body; 1 if memory packs elements."""
    in_memory = [argument.type for argument in op.body.block.args]
    if any(isinstance(element, IndexType) or bits_of(element) not in _HELD for element in in_memory):
        return 1
    if any(isinstance(each, JoinOp) for each in op.body.block.ops):
        return bits // _BYTE  # kernel.join reads one register of each byte of its result
    computed = [value.type for each in op.body.block.ops for value in each.results]
    widest = max((_bits(element) for element in (*in_memory, *computed)), default=_WIDEST)
    return bits // min(widest, _WIDEST)


def _bits(element: Attribute) -> int:
    """Returns the width of a value in a lane; 0 for indices and i1, which have the width of their sources."""
    return 0 if isinstance(element, IndexType) or element == i1 else bits_of(element)


def schedule_all_elements(module: ModuleOp) -> None:
    """Sets the schedule of every structured operation without one, if the module has a target."""
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
    """Returns the tuned schedules in the file at `path`; none for an empty path.

    Raises `DiagnosticError` if the service `schedule_choices` is not available.
    """
    if not path:
        return lambda _: None
    found: Callable[[str, str, int], Choices] | None = registry.service("schedule_choices")
    if found is None:
        raise text_error(f"the tuned schedules in '{path}' require the extension 'search', which is left out")
    return found(path, isa, threads)


@dataclass(frozen=True)
class KernelAssignSchedule(ModulePass):
    """Annotates each contraction with its schedule, and the module with its target.

    `isa` is an instruction set of the registry, such as `avx2`, or `host` for this CPU's best one. `threads` is the
    number of threads among which operations with enough work are divided. Schedules come from the instruction set's
    table; existing schedules are kept. `tuned` is a file written by `qmlir tune`: if it has a faster schedule for a
    contraction, the contraction gets that schedule and the attribute `kernel.tuned`. The number of lanes of a
    structured operation follows from the widest element type in its body.

    Before:

    ```mlir
    func.func @main(%x: tensor<8x16xi8>, %w: tensor<32x16xi8>) -> tensor<8x32xi32> {
      %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> {
      ^bb0(%acc: i32):
        kernel.yield %acc : i32
      }
      func.return %0 : tensor<8x32xi32>
    }
    ```

    After:

    ```mlir
    builtin.module attributes {kernel.target = #kernel.target<isa = "generic">} {
      func.func @main(%x: tensor<8x16xi8>, %w: tensor<32x16xi8>) -> tensor<8x32xi32> {
        %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {
          schedule = #kernel.schedule<variant = "splat", rows = 4, vectors = 2, lanes = 4>
        } {
        ^bb0(%acc: i32):
          kernel.yield %acc : i32
        }
        func.return %0 : tensor<8x32xi32>
      }
    }
    ```
    """

    name = "kernel-assign-schedule"

    isa: str = "generic"
    threads: int = 1
    tuned: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        isa = resolved_isa(self.isa)
        if self.threads < 1:
            raise op_error(op, f"threads must be at least 1, but got {self.threads}")
        op.attributes[TARGET] = TargetAttr.of(isa, self.threads)
        schedule_all_elements(op)
        choices = tuned_choices(self.tuned, isa, self.threads)
        for each in op.walk():
            if not isinstance(each, ContractionOp):
                continue
            if each.schedule is None and (found := choices(each)) is not None:
                each.schedule, each.attributes[TUNED] = found, UnitAttr()
                count("contractions scheduled as a search found")
            elif each.schedule is None:
                each.schedule = schedule_for(each, isa, self.threads)
                count("contractions scheduled")
            elif each.schedule.variant not in (accepted := (*variant_names(), SCALAR)):
                told = (
                    f"has a schedule for unknown variant '{each.schedule.variant}' (available: {', '.join(accepted)})"
                )
                raise op_error(each, told)
