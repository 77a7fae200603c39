"""How contractions are made into loops on each instruction set: one table of rows, with what was measured beside them.

The first row whose conditions hold schedules an operation. `docs/performance.md` says how the figures were taken.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, NoneAttr, i32
from xdsl.ir import SSAValue

from qmlir.arithmetic.integers import integer_limits
from qmlir.dialects.kernel.attributes import ISAS, ScheduleAttr
from qmlir.dialects.kernel.ops import ContractionOp, ConvOp, MatMulOp, shaped
from qmlir.dialects.kernel.variants import (
    DEPTHWISE,
    DEPTHWISE_DOT,
    DEPTHWISE_PAIRS,
    GROUP,
    I16_PAIRS,
    INTERLEAVED,
    NARROW_TERMS,
    S8S8_DOT,
    SPLAT,
    SPLAT_FMA,
    U8S2_DOT,
    U8S4_DOT,
    U8S4_SHORT,
    U8S5_SHORT,
    U8S6_SHORT,
    U8S7_SHORT,
    U8S8_DOT,
)
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.dialects.simd.base import bits_of
from qmlir.ir.builtin_types import as_dense, as_integer
from qmlir.targets.cpu.scheduled.winograd_table import winograd_schedule
from qmlir.text.elements import dense_array, integers_of


def integer_range(value: SSAValue, *, is_unsigned: bool) -> tuple[int, int] | None:
    """What the integers of a tensor may be: those of a constant, or those of its type; `None` for floats."""
    element = as_integer(shaped(value)[1])
    if element is None:
        return None
    bits = element.width.data
    if isinstance(value.owner, ConstantOp):
        constant = as_dense(value.owner.properties.get("value", NoneAttr()))
        if constant is not None:
            # 15 is -1 in four bits, as whoever wrote it had it.
            array = integers_of(dense_array(constant), element, is_unsigned=is_unsigned)
            return (int(array.min()), int(array.max())) if array.size else (0, 0)
    return integer_limits(bits, is_signed=not is_unsigned)


def _centred(values: tuple[int, int] | None, zero_points: tuple[int, int] | None) -> tuple[int, int] | None:
    if values is None or zero_points is None:
        return None
    return values[0] - zero_points[1], values[1] - zero_points[0]


def centred_weights(op: ContractionOp) -> tuple[int, int] | None:
    """Bounds of `w - z_w`; `None` for floats."""
    number = op.weight_zero_point.value.data
    zero_points: tuple[int, int] | None = number, number
    if op.weight_zero_points is not None:
        zero_points = integer_range(op.weight_zero_points, is_unsigned=False)
    return _centred(integer_range(op.w, is_unsigned=op.weight_unsigned is not None), zero_points)


def centred_input(op: ContractionOp) -> tuple[int, int] | None:
    """Bounds of `x - z_x`; `None` for floats."""
    number = op.input_zero_point.value.data
    return _centred(integer_range(op.x, is_unsigned=op.input_unsigned is not None), (number, number))


def _fits(values: tuple[int, int] | None, bits: int) -> bool:
    low, high = integer_limits(bits)
    return values is not None and low <= values[0] and values[1] <= high


def _is_depthwise(op: ContractionOp) -> bool:
    return isinstance(op, ConvOp) and op.group_count > 1 and op.group_count == op.channels() == shaped(op.x)[0][-1]


UNROLLED_TAPS = 49
"""The taps of a window that one tile goes through without loops, those of 7x7: beyond, code grows for little use."""


def _is_of_bytes(op: ContractionOp, weight_bits: int = 8) -> bool:
    """Whether `x` is bytes and the weights without zero points fit so many bits, with a sign, summed in 32 bits."""
    element = as_integer(shaped(op.x)[1])
    is_byte = element is not None and element.width.data == 8
    return is_byte and op.accumulator_type == i32 and _fits(centred_weights(op), weight_bits)


def _takes_depthwise_bytes(op: ContractionOp) -> bool:
    """Whether it is a depthwise convolution by a small window of an image, of bytes."""
    return _is_of_bytes(op) and _takes_depthwise_pairs(op)


def _takes_depthwise_pairs(op: ContractionOp) -> bool:
    """The same where weights without zero points fit 16 bits: pairs of products by bytes always fit 32."""
    taps = shaped(op.w)[0][1:-1]
    is_small = _is_depthwise(op) and len(taps) == 2 and 1 < math.prod(taps) <= UNROLLED_TAPS
    return is_small and _is_of_bytes(op, 16)


def _takes_bytes(op: ContractionOp) -> bool:
    """The same for what is no depthwise convolution."""
    return _is_of_bytes(op) and not _is_depthwise(op)


def has_offset_bytes(op: ContractionOp) -> bool:
    """Whether it is a product of matrices of bytes, whose weights without their one zero point are no signed bytes."""
    elements = [as_integer(shaped(each)[1]) for each in (op.x, op.w)]
    are_bytes = all(element is not None and element.width.data == 8 for element in elements)
    is_product = isinstance(op, MatMulOp) and op.weight_zero_points is None and op.accumulator_type == i32
    return is_product and are_bytes and not _fits(centred_weights(op), 8)


def terms_of(op: ContractionOp) -> int:
    """How many products a sum has."""
    shape = shaped(op.w)[0]
    return math.prod(shape[1:]) if isinstance(op, ConvOp) else shape[-1]


OFFSET_PRODUCTS = 8192
"""Products of a row of the input by all weights, from which on four bytes a lane save more than sums of rows take.

Attention of 12 heads, products with all that they read: of 64 tokens (2048) 69 us and 56 in pairs, of 512 (16384) 1.61
ms and 2.39.
"""


def _takes_offset_bytes(op: ContractionOp) -> bool:
    """Whether, of such products, it is one that makes up for the sums of its rows."""
    return has_offset_bytes(op) and op.channels() * terms_of(op) >= OFFSET_PRODUCTS


def _takes_narrow(bits: int) -> Callable[[ContractionOp], bool]:
    """Whether, besides, the weights are constants of a type of so few bits, which they keep without zero points, and
    few enough for a sum."""

    def accepts(op: ContractionOp) -> bool:
        element = as_integer(shaped(op.w)[1])
        is_narrow = element is not None and element.width.data <= bits and isinstance(op.w.owner, ConstantOp)
        is_short = terms_of(op) <= NARROW_TERMS
        return is_narrow and is_short and _takes_bytes(op) and _fits(centred_weights(op), bits)

    return accepts


def _takes_narrow_row(bits: int) -> Callable[[ContractionOp], bool]:
    """Whether it is, besides, one row of a matrix: it waits for weights, of which each is read once."""
    return lambda op: math.prod(shaped(op.target)[0][:-1]) == 1 and _takes_narrow(bits)(op)


def _takes_short(bits: int) -> Callable[[ContractionOp], bool]:
    """Whether, besides, the weights without zero points fit so few bits."""
    return lambda op: _takes_bytes(op) and _fits(centred_weights(op), bits)


def _takes_pairs(op: ContractionOp) -> bool:
    """Whether both operands without zero points fit 16 bits and are summed in 32."""
    fit = _fits(centred_input(op), 16) and _fits(centred_weights(op), 16)
    return fit and op.accumulator_type == i32 and not _is_depthwise(op)


def _takes_floats(op: ContractionOp) -> bool:
    return isinstance(op.accumulator_type, AnyFloat) and not _is_depthwise(op)


def _takes_any(op: ContractionOp) -> bool:
    return True


@dataclass(frozen=True)
class Row:
    """A way to make loops: for the instruction sets `isas` where `accepts` holds.

    A tile has up to `rows` positions by `vectors` registers of `bits`. What no near cache holds is asked for ahead into
    the level `prefetch`, where it was measured to be faster. An `x` of `cut` bytes and more, where that isn't 0, is cut
    into panels of positions, over which all channels go before the next one.
    """

    isas: tuple[str, ...]
    accepts: Callable[[ContractionOp], bool]
    variant: str
    rows: int
    vectors: int
    bits: int
    measured: str
    prefetch: int = 0
    cut: int = 0


CUT_BYTES = 1 << 20
"""What the second cache of Zen 4 holds: an `x` of less stays there while the channels pass."""

PANEL_BYTES, PANEL_POSITIONS = 1 << 18, 256
"""What a panel of `x` has about, whichever is more. Half and twice of it are within 2% for 1024 to 4096 terms."""

TABLE: tuple[Row, ...] = (
    Row(("avx512-vnni",), _takes_narrow(2), U8S2_DOT, 4, 4, 512, "Zen 4: 182 GMAC/s at 128x1024x1024, 111 by 6 x 4"),
    Row(("avx512-vnni",), _takes_narrow_row(4), U8S4_DOT, 1, 8, 512, "Zen 4: 132 us at 1x4096x4096, 143 by 1 x 4"),
    Row(("avx512-vnni",), _takes_narrow(4), U8S4_DOT, 8, 2, 512, "Zen 4: 232 GMAC/s at 128x1024x1024, 204 by 6 x 4", 1),
    Row(("avx2-vnni",), _takes_narrow(2), U8S2_DOT, 4, 2, 256, "not measured"),
    Row(("avx2-vnni",), _takes_narrow(4), U8S4_DOT, 4, 2, 256, "not measured"),
    Row(("avx512-vnni",), _takes_bytes, U8S8_DOT, 6, 4, 512, "Zen 4: 165-232 GMAC/s; 12 x 2 within 5%", 1, CUT_BYTES),
    Row(("avx2-vnni",), _takes_bytes, U8S8_DOT, 6, 2, 256, "not measured: the tile of avx2"),
    Row(("neon",), _takes_bytes, S8S8_DOT, 6, 4, 128, "not measured: 29 of 32 registers are in use"),
    Row(("avx512-vnni",), _takes_offset_bytes, U8S8_DOT, 6, 4, 512, "Zen 4: 120-208 GMAC/s, pairs 87-112, 512 tokens"),
    Row(("avx2-vnni",), _takes_offset_bytes, U8S8_DOT, 6, 2, 256, "not measured"),
    Row(("neon",), _takes_offset_bytes, S8S8_DOT, 6, 4, 128, "not measured"),
    Row(("avx512-vnni",), _takes_pairs, I16_PAIRS, 6, 4, 512, "Zen 4: 115 GMAC/s at 3x3, 28x28x128"),
    Row(("avx2",), _takes_short(4), U8S4_SHORT, 4, 2, 256, "Zen 4: 147 GMAC/s at 120x1024x1024, pairs 106; 2 x 4 150"),
    Row(("avx2",), _takes_short(5), U8S5_SHORT, 4, 2, 256, "Zen 4: 143 GMAC/s, the same product; 2 x 4 151"),
    Row(("avx2",), _takes_short(6), U8S6_SHORT, 4, 2, 256, "Zen 4: 137 GMAC/s, the same product; 2 x 4 142"),
    Row(("avx2",), _takes_short(7), U8S7_SHORT, 4, 2, 256, "Zen 4: 111 GMAC/s, the same product; 6 x 2 113"),
    Row(("avx2", "avx2-vnni"), _takes_pairs, I16_PAIRS, 6, 2, 256, "Zen 4: 105 GMAC/s at 3x3, 28x28x128"),
    Row(("neon",), _takes_pairs, I16_PAIRS, 6, 4, 128, "not measured"),
    Row(("avx512-vnni",), _takes_depthwise_bytes, DEPTHWISE_DOT, 4, 4, 512, "Zen 4: 61 GMAC/s at 3x3, 56x56x144"),
    Row(("avx2-vnni",), _takes_depthwise_bytes, DEPTHWISE_DOT, 4, 4, 256, "not measured"),
    Row(("avx2", "avx2-vnni"), _takes_depthwise_pairs, DEPTHWISE_PAIRS, 7, 2, 256, "Zen 4: 27 GMAC/s, 3x3, 56x56x144"),
    Row(("avx512-vnni",), _is_depthwise, DEPTHWISE, 4, 2, 512, "Zen 4: 29 GMAC/s at 3x3, 56x56x144"),
    Row(("avx2", "avx2-vnni"), _is_depthwise, DEPTHWISE, 4, 2, 256, "Zen 4: 23 GMAC/s at 3x3, 56x56x144"),
    Row(("neon", "generic"), _is_depthwise, DEPTHWISE, 4, 2, 128, "not measured"),
    Row(("avx512-vnni",), _takes_floats, SPLAT_FMA, 6, 4, 512, "Zen 4: 57 GMAC/s in f32 at 3x3, 14x14x256"),
    Row(("avx2", "avx2-vnni"), _takes_floats, SPLAT_FMA, 6, 2, 256, "not measured"),
    Row(("neon",), _takes_floats, SPLAT_FMA, 6, 4, 128, "not measured: 29 of 32 registers are in use"),
    Row(("avx512-vnni",), _takes_any, SPLAT, 6, 4, 512, "Zen 4: 44 GMAC/s in f32 at 3x3, 14x14x256"),
    Row(("avx2", "avx2-vnni"), _takes_any, SPLAT, 6, 2, 256, "not measured"),
    Row(("neon", "generic"), _takes_any, SPLAT, 4, 2, 128, "Zen 4: 10 GMAC/s in i32 at 3x3, 28x28x128"),
)  # fmt: skip


def positions_of(op: ContractionOp) -> int:
    """How many places of the result one run of tiles goes over: all of them for a product of matrices, or a row."""
    shape = shaped(op.target)[0]
    is_window = isinstance(op, ConvOp) and any(
        each != 1 for each in (*shaped(op.w)[0][1:-1], *(int(stride) for stride in op.strides.get_values()))
    )
    is_batched = not isinstance(op, ConvOp) and len(shaped(op.w)[0]) > 2
    if is_window or is_batched:
        return shape[-2]
    count = 1
    for size in shape[:-1]:
        count *= size
    return count


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
"""Work of a contraction on one core from which on threads divide it; see `docs/performance.md`."""

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
    assert isa in ISAS
    if isinstance(op, WinogradOp):
        return winograd_schedule(op, isa, threads if _is_large(op, _TRANSFORMED_TERMS) else 1)
    row = next(row for row in TABLE if isa in row.isas and row.accepts(op))
    # Where positions are many a smaller tile behind them costs nothing, and large tiles read weights less often.
    is_cut = _is_cut(op, row, row.vectors * _lanes(op, row))
    rows = row.rows if is_cut else tile_rows(positions_of(op), row.rows)
    return schedule_of(op, row, rows, row.vectors, threads)


def _lanes(op: ContractionOp, row: Row) -> int:
    """The sums that a register holds."""
    accumulator = op.accumulator_type
    integer = as_integer(accumulator)
    width = accumulator.bitwidth if isinstance(accumulator, AnyFloat) else 0 if integer is None else integer.width.data
    return row.bits // width


def schedule_of(op: ContractionOp, row: Row, rows: int, vectors: int, threads: int) -> ScheduleAttr:
    """The schedule by a row of the table with tiles of so many rows and at most so many vectors."""
    lanes = _lanes(op, row)
    group = GROUP.get(row.variant, 1)
    groups = op.group_count if isinstance(op, ConvOp) and row.variant != DEPTHWISE else 1
    # Interleaved rows are as many registers as they are.
    least = row.vectors if row.variant in INTERLEAVED else 1
    vectors = min(vectors, max(-(-op.channels() // groups // lanes), least))
    is_cut = _is_cut(op, row, vectors * lanes)
    return ScheduleAttr.of(
        row.variant,
        rows,
        vectors,
        lanes,
        group,
        threads=threads > 1 and _is_large(op, lanes if _is_depthwise(op) else lanes * group),
        block=_panel(op, rows) if is_cut else 1,
        prefetch=row.prefetch if is_cut or _prefetches(op) else 0,
    )
