"""Predicates that match contractions to microkernels, based on bounds on their operands, weights and sums."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, i32
from xdsl.dialects.linalg.ops import GenericOp

from qmlir import analysis
from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.kernel.winograd import F4
from qmlir.ir.builtin_types import as_integer

if TYPE_CHECKING:
    from qmlir.analysis.intervals import Interval


def _fits(values: "Interval | None", bits: int) -> bool:
    return values is not None and values.within(*integer_limits(bits))


def is_depthwise(op: ContractionOp) -> bool:
    """Returns true if `op` is a depthwise convolution: each channel has its own filter."""
    return isinstance(op, ConvOp) and op.group_count > 1 and op.group_count == op.channels() == shaped(op.x)[0][-1]


UNROLLED_TAPS = 49
"""The largest number of filter taps (7x7) that a tile unrolls. Unrolling more costs code size for little speed."""


def _is_of_bytes(op: ContractionOp, weight_bits: int = 8) -> bool:
    """Returns true if `x` is 8-bit, `w - z_w` fits in signed `weight_bits`-bit integers, and sums have 32 bits."""
    element = as_integer(shaped(op.x)[1])
    is_byte = element is not None and element.width.data == 8
    return is_byte and op.accumulator_type == i32 and _fits(analysis.centered_weights(op), weight_bits)


def takes_depthwise_bytes(op: ContractionOp) -> bool:
    """Returns true for a 2-D depthwise convolution of bytes with a small filter whose `w - z_w` fits in 8 bits."""
    return _is_of_bytes(op) and takes_depthwise_pairs(op)


def takes_depthwise_pairs(op: ContractionOp) -> bool:
    """Returns true for a 2-D depthwise convolution of bytes with a small filter whose `w - z_w` fits in 16 bits.

    A sum of two products of such weights and bytes always fits in 32 bits.
    """
    taps = shaped(op.w)[0][1:-1]
    is_small = is_depthwise(op) and len(taps) == 2 and 1 < math.prod(taps) <= UNROLLED_TAPS
    return is_small and _is_of_bytes(op, 16)


def takes_bytes(op: ContractionOp, weight_bits: int = 8) -> bool:
    """Returns true for a contraction of bytes whose `w - z_w` fits in `weight_bits` bits; false if depthwise."""
    return _is_of_bytes(op, weight_bits) and not is_depthwise(op)


def takes_signed_bytes(op: ContractionOp) -> bool:
    """Returns true if `takes_bytes` does and the bytes of `x` are signed."""
    return takes_bytes(op) and op.input_unsigned is None


def has_offset_bytes(op: ContractionOp) -> bool:
    """Returns true for a matmul of bytes with one weight zero point whose `w - z_w` doesn't fit in 8 signed bits."""
    elements = [as_integer(shaped(each)[1]) for each in (op.x, op.w)]
    are_bytes = all(element is not None and element.width.data == 8 for element in elements)
    is_product = isinstance(op, MatMulOp) and op.weight_zero_points is None and op.accumulator_type == i32
    return is_product and are_bytes and not _fits(analysis.centered_weights(op), 8)


NARROW_TERMS = ((1 << 31) - 1) // (255 * 128)
"""The largest number of terms in a reduction by packed sub-byte weights.

The microkernels keep these weights in the highest bits of bytes until the sum is complete, so a term can reach
255 * 128.
"""


def terms_of(op: ContractionOp) -> int:
    """Returns the number of products in each sum (the size of the reduction)."""
    shape = shaped(op.w)[0]
    return math.prod(shape[1:]) if isinstance(op, ConvOp) else shape[-1]


OFFSET_PRODUCTS = 8192
"""The smallest number of products per input row for which four bytes per lane are faster, despite the sums of rows.

Measured on attention with 12 heads, including memory reads, for four bytes per lane and for 16-bit pairs: 69 µs and
56 µs with 64 tokens (2048 products), 1.61 ms and 2.39 ms with 512 tokens (16384 products).
"""


def takes_offset_bytes(op: ContractionOp) -> bool:
    """Returns true if `has_offset_bytes` does and the matmul is large enough to outweigh the sums of its rows."""
    return has_offset_bytes(op) and op.channels() * terms_of(op) >= OFFSET_PRODUCTS


def takes_narrow(bits: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for contractions of bytes by constant weights of at most `bits` bits.

    `w - z_w` must fit in `bits` bits, and a sum must have at most `NARROW_TERMS` terms.
    """

    def accepts(op: ContractionOp) -> bool:
        element = as_integer(shaped(op.w)[1])
        is_narrow = element is not None and element.width.data <= bits and isinstance(op.w.owner, ConstantOp)
        is_short = terms_of(op) <= NARROW_TERMS
        return is_narrow and is_short and takes_bytes(op, bits)

    return accepts


def has_signs(op: ContractionOp) -> bool:
    """Returns true for a matmul whose constant `w - z_w` contains only -1 and 1, with one weight zero point."""
    if not isinstance(op, MatMulOp) or op.weight_zero_points is not None:
        return False
    centered = analysis.centered_weights(op)
    weights = analysis.known_weights(op) if centered is not None and centered.values == (-1, 1) else None
    return weights is not None and bool(np.all(weights))


MASKED_PRODUCTS = 1 << 20
"""The smallest number of products per row, with 2-bit weights, for which masks save more than the sum of the row takes.

That sum takes about 2 µs. Measured without and with masks, 1x128 by 64 channels takes 0.9 and 2.8 µs, 1x512 by 512
takes 2.6 and 4.0 µs, and 1x1024 by 1024 takes 7.2 and 7.5 µs.
"""


def takes_masked_row(bits: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for `takes_narrow_row(bits)` matmuls that are large enough to outweigh the sum of the row."""

    def accepts(op: ContractionOp) -> bool:
        is_product = isinstance(op, MatMulOp) and op.channels() * terms_of(op) >= MASKED_PRODUCTS
        return is_product and takes_narrow_row(bits)(op)

    return accepts


def takes_signs_row(op: ContractionOp) -> bool:
    """Returns true if `takes_masked_row(2)` does and all weights are -1 or 1."""
    return takes_masked_row(2)(op) and has_signs(op)


def takes_narrow_row(bits: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for `takes_narrow(bits)` contractions of one row.

    They are bound by the memory bandwidth for weights, since each weight is read only once.
    """
    return lambda op: math.prod(shaped(op.target)[0][:-1]) == 1 and takes_narrow(bits)(op)


def takes_narrow_blocks(bits: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for `takes_narrow(bits)` contractions of one row that are summed over blocks of terms.

    Each sum then needs two registers.
    """
    return lambda op: (
        takes_narrow(bits)(op) and shaped(op.target)[0][-2] == 1 and analysis.summed_over_blocks(op) is not None
    )


def takes_short(bits: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for `takes_bytes` contractions whose `w - z_w` fits in `bits` bits."""
    return lambda op: takes_bytes(op, bits)


def takes_short_sums(variant: str) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for `takes_bytes` contractions whose constant weights prove that partial sums fit in 16 bits.

    A partial sum covers one step of `variant`.
    """
    return lambda op: takes_bytes(op) and analysis.fit_short_sums(op, variant_named(variant))


NEAR_TERMS, NEAR_CHANNELS = 1024, 32
"""The limits for weights that fit in a 32 KiB L1 cache: the most terms per sum, and the fewest channels per group.

That number of channels fills four registers.
"""


def stays_near(accepts: Callable[[ContractionOp], bool]) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for contractions that `accepts` matches and whose blocks of weights stay in the L1 cache.

    A tile may then be a single row, so that its sums fit in the registers.
    """

    def is_near(op: ContractionOp) -> bool:
        groups = op.group_count if isinstance(op, ConvOp) else 1
        return terms_of(op) <= NEAR_TERMS and op.channels() // groups >= NEAR_CHANNELS and accepts(op)

    return is_near


def takes_pairs(op: ContractionOp) -> bool:
    """Returns true if sums have 32 bits and both operands, without zero points, fit in 16 bits; false if depthwise."""
    fit = _fits(analysis.centered_input(op), 16) and _fits(analysis.centered_weights(op), 16)
    return fit and op.accumulator_type == i32 and not is_depthwise(op)


FEW_ROWS = 4
"""The most rows that share a matrix for which reading it as it is beats packing it."""


def _is_read_as_it_is(op: ContractionOp) -> bool:
    """Returns true for a matmul of few rows by computed matrices of signed bytes that have one zero point."""
    if not isinstance(op, MatMulOp) or isinstance(op.w.owner, ConstantOp) or op.accumulator_type != i32:
        return False
    element, batches = as_integer(shaped(op.w)[1]), len(shaped(op.w)[0]) - 2
    is_byte = element is not None and element.width.data == 8 and op.weight_unsigned is None
    is_few = math.prod(shaped(op.target)[0][batches:-1]) <= FEW_ROWS
    return is_byte and is_few and batches > 0 and op.weight_zero_points is None


def takes_dots(step: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for matmuls of few rows by computed matrices `[N, K]` of bytes, K a multiple of `step`."""

    def accepts(op: ContractionOp) -> bool:
        is_moved = isinstance(op.w.owner, GenericOp) and analysis.is_movement(op.w.owner)
        is_there = _is_read_as_it_is(op) and not is_moved and terms_of(op) % step == 0
        return is_there and _fits(analysis.centered_input(op), 16)

    return accepts


def _has_rows(op: ContractionOp, step: int) -> bool:
    """Returns true if `_is_read_as_it_is` does and the matrices are `[K, N]` in memory, N a multiple of `step`."""
    move = op.w.owner
    if not _is_read_as_it_is(op) or not isinstance(move, GenericOp) or not analysis.is_movement(move):
        return False
    (reading,), (written,) = analysis.readings_of(move), analysis.output_maps(move)
    rank = written.num_dims
    turned = [*range(rank - 2), rank - 1, rank - 2]
    are_turned = analysis.permutation_of(written) == [*range(rank)] and analysis.permutation_of(reading.map_) == turned
    return are_turned and terms_of(op) % 2 == 0 and op.channels() % step == 0


def takes_rows(step: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate for matmuls of few rows by computed matrices `[K, N]` of bytes, N a multiple of `step`."""
    return lambda op: _has_rows(op, step) and _fits(analysis.centered_input(op), 16)


def takes_shifted_rows(step: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate like `takes_rows`, for data of 16 signed bits of which `x - z_x` doesn't fit in 16 bits."""

    def accepts(op: ContractionOp) -> bool:
        element = as_integer(shaped(op.x)[1])
        is_short = element is not None and element.width.data == 16 and op.input_unsigned is None
        return is_short and _has_rows(op, step)

    return accepts


def takes_word_rows(step: int) -> Callable[[ContractionOp], bool]:
    """Returns a predicate like `takes_shifted_rows`, for a zero point of -2^15 and a multiple of 4 terms."""
    accepts = takes_shifted_rows(step)
    return lambda op: op.input_zero_point.value.data == -(1 << 15) and terms_of(op) % 4 == 0 and accepts(op)


def takes_floats(op: ContractionOp) -> bool:
    """Returns true if `op` accumulates floats and is not a depthwise convolution."""
    return isinstance(op.accumulator_type, AnyFloat) and not is_depthwise(op)


def takes_float_row(op: ContractionOp) -> bool:
    """Returns true if `takes_floats` does and there is one row, which reads each weight once."""
    return takes_floats(op) and math.prod(shaped(op.target)[0][:-1]) == 1


def takes_byte_weights(op: ContractionOp) -> bool:
    """Returns true if `w - z_w` fits in 8 signed bits and sums have 32 bits."""
    return op.accumulator_type == i32 and _fits(analysis.centered_weights(op), 8)


def takes_depthwise_byte_weights(op: ContractionOp) -> bool:
    """Returns true for a depthwise convolution whose `w - z_w` fits in 8 signed bits and whose sums have 32 bits."""
    return is_depthwise(op) and takes_byte_weights(op)


FEW_TAPS = 9
"""The most filter taps (3x3) for which a CPU with little memory unrolls all of them."""


def takes_few_depthwise_byte_weights(op: ContractionOp) -> bool:
    """Returns true if `takes_depthwise_byte_weights` does and the filter has at most `FEW_TAPS` taps."""
    return takes_depthwise_byte_weights(op) and math.prod(shaped(op.w)[0][1:-1]) <= FEW_TAPS


def has_one_row(op: ContractionOp) -> bool:
    """Returns true for a matmul of signed bytes with one row."""
    return takes_signed_bytes(op) and isinstance(op, MatMulOp) and math.prod(shaped(op.target)[0][:-1]) == 1


def takes_any(op: ContractionOp) -> bool:
    """Returns true for every contraction."""
    return True


# Predicates over (height, width, input channels, output channels) of a convolution that say when Winograd's algorithm
# is faster.


def fills_tiles(least: int) -> Callable[[int, int, int, int], bool]:
    """Returns a predicate that requires at least 16 tiles of F(4x4, 3x3), and `least` input and output channels."""
    return lambda height, width, inputs, outputs: (
        -(-height // F4.step) * -(-width // F4.step) >= 16 and min(inputs, outputs) >= least
    )


def has_channels(least: int) -> Callable[[int, int, int, int], bool]:
    """Returns a predicate that requires at least `least` input and output channels."""
    return lambda height, width, inputs, outputs: min(inputs, outputs) >= least
