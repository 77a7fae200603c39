"""How contractions are made into loops on each instruction set: one table of rows, with what was measured beside them.

The first row whose conditions hold schedules an operation. `docs/performance.md` says how the figures were taken.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, NoneAttr, TensorType, i32
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import SSAValue

from qmlir.dialects.kernel.attributes import ISAS, ScheduleAttr
from qmlir.dialects.kernel.ops import ContractionOp, ConvOp, shaped
from qmlir.dialects.kernel.variants import (
    DEPTHWISE,
    GROUP,
    I16_PAIRS,
    S8S8_DOT,
    SCALAR,
    SPLAT,
    U8S2_DOT,
    U8S4_DOT,
    U8S8_DOT,
)
from qmlir.ir.builtin_types import as_dense, as_integer
from qmlir.text.elements import dense_array, narrowed


def integer_range(value: SSAValue, *, is_unsigned: bool) -> tuple[int, int] | None:
    """What the integers of a tensor may be: those of a constant, or those of its type; `None` for floats."""
    element = as_integer(shaped(value)[1])
    if element is None:
        return None
    bits = element.width.data
    if isinstance(value.owner, ConstantOp):
        constant = as_dense(value.owner.properties.get("value", NoneAttr()))
        if constant is not None:
            array = narrowed(dense_array(constant), element)  # 15 is -1 in four bits, as whoever wrote it had it
            if array.size == 0:
                return 0, 0
            if is_unsigned:
                array = array.view(f"u{array.itemsize}") & ((1 << bits) - 1)
            return int(array.min()), int(array.max())
    return (0, (1 << bits) - 1) if is_unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


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
    return values is not None and -(1 << (bits - 1)) <= values[0] and values[1] < 1 << (bits - 1)


def _is_depthwise(op: ContractionOp) -> bool:
    return isinstance(op, ConvOp) and op.group_count > 1 and op.group_count == op.channels() == shaped(op.x)[0][-1]


def _takes_bytes(op: ContractionOp) -> bool:
    """Whether `x` is bytes and the weights without zero points are signed bytes, summed in 32 bits."""
    element = as_integer(shaped(op.x)[1])
    is_byte = element is not None and element.width.data == 8
    return is_byte and op.accumulator_type == i32 and _fits(centred_weights(op), 8) and not _is_depthwise(op)


def _takes_narrow(bits: int) -> Callable[[ContractionOp], bool]:
    """Whether, besides, the weights are constants of a type of so few bits, which they keep without zero points."""

    def accepts(op: ContractionOp) -> bool:
        element = as_integer(shaped(op.w)[1])
        is_narrow = element is not None and element.width.data <= bits and isinstance(op.w.owner, ConstantOp)
        return is_narrow and _takes_bytes(op) and _fits(centred_weights(op), bits)

    return accepts


def _takes_pairs(op: ContractionOp) -> bool:
    """Whether both operands without zero points fit 16 bits and are summed in 32."""
    fit = _fits(centred_input(op), 16) and _fits(centred_weights(op), 16)
    return fit and op.accumulator_type == i32 and not _is_depthwise(op)


def _takes_any(op: ContractionOp) -> bool:
    return True


@dataclass(frozen=True)
class Row:
    """A way to make loops: for the instruction sets `isas` where `accepts` holds.

    A tile has up to `rows` positions by `vectors` registers of `bits`.
    """

    isas: tuple[str, ...]
    accepts: Callable[[ContractionOp], bool]
    variant: str
    rows: int
    vectors: int
    bits: int
    measured: str


TABLE: tuple[Row, ...] = (
    Row(("avx512-vnni",), _takes_narrow(2), U8S2_DOT, 6, 4, 512, "Zen 4: 105 GMAC/s at 784x512x256; bytes: 229"),
    Row(("avx512-vnni",), _takes_narrow(4), U8S4_DOT, 6, 4, 512, "Zen 4: 199 GMAC/s at 784x512x256; bytes: 229"),
    Row(("avx2-vnni",), _takes_narrow(2), U8S2_DOT, 6, 2, 256, "not measured"),
    Row(("avx2-vnni",), _takes_narrow(4), U8S4_DOT, 6, 2, 256, "not measured"),
    Row(("avx512-vnni",), _takes_bytes, U8S8_DOT, 6, 4, 512, "Zen 4: 168-228 GMAC/s; 12 x 2 and 4 x 4 within 5%"),
    Row(("avx2-vnni",), _takes_bytes, U8S8_DOT, 6, 2, 256, "not measured: the tile of avx2"),
    Row(("neon",), _takes_bytes, S8S8_DOT, 6, 4, 128, "not measured: 29 of 32 registers are in use"),
    Row(("avx512-vnni",), _takes_pairs, I16_PAIRS, 6, 4, 512, "Zen 4: 115 GMAC/s at 3x3, 28x28x128"),
    Row(("avx2", "avx2-vnni"), _takes_pairs, I16_PAIRS, 6, 2, 256, "Zen 4: 105 GMAC/s at 3x3, 28x28x128"),
    Row(("neon",), _takes_pairs, I16_PAIRS, 6, 4, 128, "not measured"),
    Row(("avx512-vnni",), _is_depthwise, DEPTHWISE, 4, 2, 512, "Zen 4: 29 GMAC/s at 3x3, 56x56x144"),
    Row(("avx2", "avx2-vnni"), _is_depthwise, DEPTHWISE, 4, 2, 256, "not measured"),
    Row(("neon", "generic"), _is_depthwise, DEPTHWISE, 4, 2, 128, "not measured"),
    Row(("avx512-vnni",), _takes_any, SPLAT, 6, 4, 512, "Zen 4: 44 GMAC/s in f32 at 784x512x256"),
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


def _tile_rows(positions: int, most: int) -> int:
    """Rows that leave no rest, at least half of `most`; otherwise tiles of about the same size."""
    if positions <= most:
        return max(positions, 1)
    for rows in range(most, (most + 1) // 2, -1):
        if positions % rows == 0:
            return rows
    return -(-positions // -(-positions // most))


THREADED_MULTIPLY_ADDS = 6_000_000
"""Multiply-adds of a contraction from which on threads divide it; see `docs/performance.md`."""

THREADED_ELEMENTS = 150_000
"""Elements read and written by an elementwise operation or a reduction, from which on threads divide it."""


def elements_schedule(op: LinalgStructuredOperation, threads: int) -> ScheduleAttr | None:
    """The schedule of a structured operation that is large enough for several threads, `None` for the others."""
    sizes = [math.prod(shaped(value)[0]) for value in op.operands if isinstance(value.type, TensorType)]
    if threads == 1 or sum(sizes) < THREADED_ELEMENTS:
        return None
    return ScheduleAttr.of(SCALAR, threads=True)


def schedule_for(op: ContractionOp, isa: str, threads: int) -> ScheduleAttr:
    """The schedule of the first row of the table that fits."""
    assert isa in ISAS
    row = next(row for row in TABLE if isa in row.isas and row.accepts(op))
    accumulator = op.accumulator_type
    integer = as_integer(accumulator)
    width = accumulator.bitwidth if isinstance(accumulator, AnyFloat) else 0 if integer is None else integer.width.data
    lanes = row.bits // width
    groups = op.group_count if isinstance(op, ConvOp) and row.variant != DEPTHWISE else 1
    vectors = min(row.vectors, max(-(-op.channels() // groups // lanes), 1))
    return ScheduleAttr.of(
        row.variant,
        _tile_rows(positions_of(op), row.rows),
        vectors,
        lanes,
        GROUP.get(row.variant, 1),
        threads=threads > 1 and op.multiply_adds() >= THREADED_MULTIPLY_ADDS,
    )
