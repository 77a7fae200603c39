"""Which contractions a row of an instruction set takes: what is known of their operands, weights and sums."""

import math
from collections.abc import Callable

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, NoneAttr, i32
from xdsl.ir import SSAValue

from qmlir import analysis
from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.kernel.winograd import F4
from qmlir.ir.builtin_types import as_dense, as_integer
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


def is_depthwise(op: ContractionOp) -> bool:
    """Whether it is a convolution of each channel by a window of its own."""
    return isinstance(op, ConvOp) and op.group_count > 1 and op.group_count == op.channels() == shaped(op.x)[0][-1]


UNROLLED_TAPS = 49
"""The taps of a window that one tile goes through without loops, those of 7x7: beyond, code grows for little use."""


def _is_of_bytes(op: ContractionOp, weight_bits: int = 8) -> bool:
    """Whether `x` is bytes and the weights without zero points fit so many bits, with a sign, summed in 32 bits."""
    element = as_integer(shaped(op.x)[1])
    is_byte = element is not None and element.width.data == 8
    return is_byte and op.accumulator_type == i32 and _fits(centred_weights(op), weight_bits)


def takes_depthwise_bytes(op: ContractionOp) -> bool:
    """Whether it is a depthwise convolution by a small window of an image, of bytes."""
    return _is_of_bytes(op) and takes_depthwise_pairs(op)


def takes_depthwise_pairs(op: ContractionOp) -> bool:
    """The same where weights without zero points fit 16 bits: pairs of products by bytes always fit 32."""
    taps = shaped(op.w)[0][1:-1]
    is_small = is_depthwise(op) and len(taps) == 2 and 1 < math.prod(taps) <= UNROLLED_TAPS
    return is_small and _is_of_bytes(op, 16)


def takes_bytes(op: ContractionOp) -> bool:
    """The same for what is not a depthwise convolution."""
    return _is_of_bytes(op) and not is_depthwise(op)


def takes_signed_bytes(op: ContractionOp) -> bool:
    """Whether, besides, the bytes of `x` have a sign."""
    return takes_bytes(op) and op.input_unsigned is None


def has_offset_bytes(op: ContractionOp) -> bool:
    """Whether it is a product of matrices of bytes, whose weights without their one zero point are no signed bytes."""
    elements = [as_integer(shaped(each)[1]) for each in (op.x, op.w)]
    are_bytes = all(element is not None and element.width.data == 8 for element in elements)
    is_product = isinstance(op, MatMulOp) and op.weight_zero_points is None and op.accumulator_type == i32
    return is_product and are_bytes and not _fits(centred_weights(op), 8)


NARROW_TERMS = ((1 << 31) - 1) // (255 * 128)
"""The most terms of a sum by weights that share bytes: until it ends, they are in the highest bits of bytes."""


def terms_of(op: ContractionOp) -> int:
    """How many products a sum has."""
    shape = shaped(op.w)[0]
    return math.prod(shape[1:]) if isinstance(op, ConvOp) else shape[-1]


OFFSET_PRODUCTS = 8192
"""Products of a row of the input by all weights, from which on four bytes a lane save more than sums of rows take.

Attention of 12 heads, products with all that they read: of 64 tokens (2048) 69 us and 56 in pairs, of 512 (16384) 1.61
ms and 2.39.
"""


def takes_offset_bytes(op: ContractionOp) -> bool:
    """Whether, of such products, it is one that makes up for the sums of its rows."""
    return has_offset_bytes(op) and op.channels() * terms_of(op) >= OFFSET_PRODUCTS


def takes_narrow(bits: int) -> Callable[[ContractionOp], bool]:
    """Whether, besides, the weights are constants of a type of so few bits, which they keep without zero points, and
    few enough for a sum."""

    def accepts(op: ContractionOp) -> bool:
        element = as_integer(shaped(op.w)[1])
        is_narrow = element is not None and element.width.data <= bits and isinstance(op.w.owner, ConstantOp)
        is_short = terms_of(op) <= NARROW_TERMS
        return is_narrow and is_short and takes_bytes(op) and _fits(centred_weights(op), bits)

    return accepts


def has_signs(op: ContractionOp) -> bool:
    """Whether the weights of a matrix are constants of -1 and 1 without their one zero point."""
    if not isinstance(op, MatMulOp) or op.weight_zero_points is not None or not isinstance(op.w.owner, ConstantOp):
        return False
    element, constant = as_integer(shaped(op.w)[1]), as_dense(op.w.owner.properties.get("value", NoneAttr()))
    if element is None or constant is None or centred_weights(op) != (-1, 1):
        return False
    array = integers_of(dense_array(constant), element, is_unsigned=op.weight_unsigned is not None)
    return bool((array != op.weight_zero_point.value.data).all())


MASKED_PRODUCTS = 1 << 20
"""Products of a row by weights of 2 bits from which on masks save more than the sum of the row takes, about 2 us: 1x128
of 64 takes 2.8 us and .9 without them, 1x512 of 512 4.0 and 2.6, 1x1024 of 1024 7.5 and 7.2."""


def takes_masked_row(op: ContractionOp) -> bool:
    """Whether it is one row of a matrix by weights of 2 bits, with enough of them to make up for the sum of the row."""
    is_product = isinstance(op, MatMulOp) and op.channels() * terms_of(op) >= MASKED_PRODUCTS
    return is_product and takes_narrow_row(2)(op)


def takes_signs_row(op: ContractionOp) -> bool:
    """Whether it is such a row by -1 and 1."""
    return takes_masked_row(op) and has_signs(op)


def takes_narrow_row(bits: int) -> Callable[[ContractionOp], bool]:
    """Whether it is, besides, one row of a matrix: it waits for weights, of which each is read once."""
    return lambda op: math.prod(shaped(op.target)[0][:-1]) == 1 and takes_narrow(bits)(op)


def takes_narrow_blocks(bits: int) -> Callable[[ContractionOp], bool]:
    """Whether it is such a row, cut into blocks of terms that are added up: each sum has two registers."""
    return lambda op: (
        takes_narrow(bits)(op) and shaped(op.target)[0][-2] == 1 and analysis.summed_over_blocks(op) is not None
    )


def takes_short(bits: int) -> Callable[[ContractionOp], bool]:
    """Whether, besides, the weights without zero points fit so few bits."""
    return lambda op: takes_bytes(op) and _fits(centred_weights(op), bits)


def takes_short_sums(variant: str) -> Callable[[ContractionOp], bool]:
    """Whether, besides, the weights are constants that prove that 16 bits hold the sums of the steps of a variant."""
    return lambda op: takes_bytes(op) and analysis.fit_short_sums(op, variant_named(variant))


NEAR_TERMS, NEAR_CHANNELS = 1024, 32
"""Bytes of weights that a first cache of 32 KB holds: sums of so many terms for the channels of four registers."""


def stays_near(accepts: Callable[[ContractionOp], bool]) -> Callable[[ContractionOp], bool]:
    """Whether, besides, blocks of its weights stay in the first cache: a tile may be one row, and fit the registers."""

    def is_near(op: ContractionOp) -> bool:
        groups = op.group_count if isinstance(op, ConvOp) else 1
        return terms_of(op) <= NEAR_TERMS and op.channels() // groups >= NEAR_CHANNELS and accepts(op)

    return is_near


def takes_pairs(op: ContractionOp) -> bool:
    """Whether both operands without zero points fit 16 bits and are summed in 32."""
    fit = _fits(centred_input(op), 16) and _fits(centred_weights(op), 16)
    return fit and op.accumulator_type == i32 and not is_depthwise(op)


def takes_floats(op: ContractionOp) -> bool:
    """Whether it sums floats, and is not a depthwise convolution."""
    return isinstance(op.accumulator_type, AnyFloat) and not is_depthwise(op)


def takes_byte_weights(op: ContractionOp) -> bool:
    """Whether weights without their zero points fit a byte with a sign, and sums have 32 bits."""
    return op.accumulator_type == i32 and _fits(centred_weights(op), 8)


def takes_depthwise_byte_weights(op: ContractionOp) -> bool:
    """The same of a depthwise convolution."""
    return is_depthwise(op) and takes_byte_weights(op)


def takes_any(op: ContractionOp) -> bool:
    """Whatever it is."""
    return True


# Of height and width, input and output channels of a convolution: where Winograd's algorithms are faster.


def fills_tiles(least: int) -> Callable[[int, int, int, int], bool]:
    """Whether there are 16 tiles of F(4x4, 3x3), and `least` channels on both sides."""
    return lambda height, width, inputs, outputs: (
        -(-height // F4.step) * -(-width // F4.step) >= 16 and min(inputs, outputs) >= least
    )


def has_channels(least: int) -> Callable[[int, int, int, int], bool]:
    """Whether there are `least` channels on both sides."""
    return lambda height, width, inputs, outputs: min(inputs, outputs) >= least
