"""`simd-legalize`: lowers dot products, table lookups and shifts to the target's instructions or plain arithmetic.

The instruction set of the module determines which instructions exist. Every CPU supports all other `simd` operations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    VectorType,
)
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.simd.base import as_vector, bits_of, element_of, is_tile, lanes_of, tile_of, vector
from qmlir.dialects.simd.lanes import Conversion, ConvertOp, DotAccumulateOp, MultiplyPairsOp, NarrowOp, Signs
from qmlir.dialects.simd.memory import GatherOp, LookUpOp, is_byte_table
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.targets.cpu.isa import isa_of
from qmlir.targets.cpu.isa.base import DOT_PAIRS, DOT_SS, DOT_US, MULTIPLY_PAIRS, InstructionSet
from qmlir.targets.cpu.loops.emitter import VectorEmitter, reinterpreted
from qmlir.text.elements import dense_array, dense_dtype

LANE_BITS = 32
"""The width of an accumulator lane, and of the group of factors that is summed in it, in bits."""

_PAIR_BITS = 16
"""The bits of a sum of two products of bytes."""


class _Writer(VectorEmitter):
    """Inserts vector operations before the operation that is replaced."""

    def __init__(self, rewriter: PatternRewriter) -> None:
        super().__init__(rewriter, rewriter, lanes=1)
        self._numbers: dict[tuple[int, Attribute], SSAValue] = {}

    def number(self, number: int, type_: Attribute) -> SSAValue:
        """Returns a constant vector, or a tile of them, with `number` in all lanes."""
        found = as_vector(type_)
        assert found is not None
        *tile, lanes = found.get_shape()
        if (number, type_) not in self._numbers:
            one = vector(lanes, found.get_element_type())
            data = np.full(lanes, number, dense_dtype(found.get_element_type())).tobytes()
            constant = arith.ConstantOp(DenseIntOrFPElementsAttr(cast(VectorType[Any], one), BytesAttr(data)))
            value = self.insert(constant)
            self._numbers[number, type_] = self.insert(BroadcastOp(value, found)) if tile else value
        return self._numbers[number, type_]

    def bits(self, value: SSAValue, position: int, bits: int, width: int, signed: bool) -> SSAValue:
        """Extracts the `bits`-bit element at index `position` of each `width`-bit group, extended to `width` bits."""
        held = reinterpreted(self, value, IntegerType(width))
        above = width - (position + 1) * bits
        if above:
            held = self.insert(arith.ShLIOp(held, self.number(above, held.type)))
        amount = self.number(width - bits, held.type)
        return self.insert(arith.ShRSIOp(held, amount) if signed else arith.ShRUIOp(held, amount))


def _is_unsigned(op: DotAccumulateOp) -> bool:
    return op.signs.data == Signs.US


_OTHER_SIGNS = {DOT_US: DOT_SS, DOT_SS: DOT_US}


def _halves(write: _Writer, op: DotAccumulateOp) -> SSAValue:
    """Two dot products of half the lanes; on a tile, for each of its registers."""
    operands = op.accumulator, op.x, op.w
    if is_tile(op.result):

        def of_registers(alone: VectorEmitter, values: Sequence[SSAValue]) -> SSAValue:
            accumulator, x, w = values
            return alone.insert(DotAccumulateOp(accumulator, x, w, op.signs.data))

        return write.over(*tile_of(op.result)).by_registers(of_registers, *operands)
    results: list[SSAValue] = []
    for half in range(2):
        accumulator, x, w = (write.part(each, half * lanes_of(each) // 2, lanes_of(each) // 2) for each in operands)
        results.append(write.insert(DotAccumulateOp(accumulator, x, w, op.signs.data)))
    return write.joined(*results)


def _with_other_signs(write: _Writer, op: DotAccumulateOp) -> SSAValue:
    """Flips the highest bit of `x`: `sum x w = sum (x + 128) w - 128 sum w`, modulo 2^32, for a signed `x`.

    With the other signedness, the flipped bit is worth 128 or -128, so the same operations serve both directions.
    """
    signs = Signs.SS if _is_unsigned(op) else Signs.US
    sign = write.number(-128, op.x.type)
    moved = write.insert(arith.XOrIOp(op.x, sign))
    total = write.insert(DotAccumulateOp(op.accumulator, moved, op.w, signs))
    zero = write.number(0, op.accumulator.type)
    excess = write.insert(DotAccumulateOp(zero, sign, op.w, signs))
    return write.insert(arith.SubiOp(total, excess))


def _with_pairs(write: _Writer, op: DotAccumulateOp) -> SSAValue:
    """Bytes as integers of 16 bits: the even ones of each group, then the odd ones."""
    total = op.accumulator
    for position in range(2):
        x = write.bits(op.x, position, 8, 16, signed=not _is_unsigned(op))
        w = write.bits(op.w, position, 8, 16, signed=True)
        total = write.insert(DotAccumulateOp(total, x, w))
    return total


def _with_products(write: _Writer, op: DotAccumulateOp) -> SSAValue:
    """One product of 32 bits for each element of a group."""
    bits, total = bits_of(element_of(op.x)), op.accumulator
    for position in range(LANE_BITS // bits):
        x = write.bits(op.x, position, bits, 32, signed=not _is_unsigned(op))
        w = write.bits(op.w, position, bits, 32, signed=True)
        total = write.insert(arith.AddiOp(total, write.insert(arith.MuliOp(x, w))))
    return total


@dataclass(frozen=True)
class LegalizeDot(RewritePattern):
    """Replaces a dot product without an instruction with dot products that have one, or with plain arithmetic."""

    isa: InstructionSet

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DotAccumulateOp, rewriter: PatternRewriter, /) -> None:
        write, lanes, name = _Writer(rewriter), lanes_of(op.accumulator), op.kind
        widths, is_bytes = self.isa.widths(name), name != DOT_PAIRS
        if lanes * LANE_BITS in widths:
            return
        others = self.isa.widths(_OTHER_SIGNS[name]) if is_bytes else frozenset[int]()
        if lanes * LANE_BITS in others:
            result = _with_other_signs(write, op)
        elif (has := widths | others) and lanes * LANE_BITS > max(has) and lanes % 2 == 0:
            result = _halves(write, op)
        elif is_bytes and self.isa.widths(DOT_PAIRS):
            result = _with_pairs(write, op)
        else:
            result = _with_products(write, op)
        rewriter.replace(op, [], [result])


@dataclass(frozen=True)
class LegalizeProducts(RewritePattern):
    """Lowers sums of two byte products to 16-bit products and a 32-bit sum, which is narrowed with saturation."""

    isa: InstructionSet

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MultiplyPairsOp, rewriter: PatternRewriter, /) -> None:
        lanes = lanes_of(op.result)
        if lanes * _PAIR_BITS in self.isa.widths(MULTIPLY_PAIRS):
            return
        write, wide = _Writer(rewriter), vector(lanes, IntegerType(32), tile_of(op.result))
        products: list[SSAValue] = []
        for position in range(2):
            x, w = write.bits(op.x, position, 8, 16, signed=False), write.bits(op.w, position, 8, 16, signed=True)
            products.append(write.insert(arith.MuliOp(x, w)))
        first, second = (write.insert(ConvertOp(each, Conversion.EXTSI, wide)) for each in products)
        rewriter.replace(op, [NarrowOp([write.insert(arith.AddiOp(first, second))], IntegerType(16))])


@dataclass(frozen=True)
class LegalizeGather(RewritePattern):
    """Replaces a gather from a 256-byte table with a lookup in registers, whose indices are unsigned bytes."""

    isa: InstructionSet

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GatherOp, rewriter: PatternRewriter, /) -> None:
        lanes = lanes_of(op.positions)
        if not lanes <= self.isa.table_bytes or not is_byte_table(op.table):
            return
        write, positions, tile = _Writer(rewriter), op.positions, tile_of(op.positions)
        if isinstance(element_of(positions), IndexType):
            positions = write.insert(ConvertOp(positions, Conversion.INDEX_CAST, vector(lanes, IntegerType(64), tile)))
        narrow = write.insert(ConvertOp(positions, Conversion.TRUNCI, vector(lanes, IntegerType(8), tile)))
        rewriter.replace(op, [LookUpOp(op.table, narrow)])


def _known_number(value: SSAValue) -> int | None:
    """The integer that is in all lanes of a vector, where it is written out."""
    owner = value.owner
    scalar = owner.source.owner if isinstance(owner, BroadcastOp) else owner
    match scalar.value if isinstance(scalar, arith.ConstantOp) else None:
        case IntegerAttr() as number:
            return number.value.data
        case DenseIntOrFPElementsAttr() as dense if dense.is_splat():
            return int(dense_array(dense).flat[0])
        case _:
            return None


@dataclass(frozen=True)
class LegalizeShift(RewritePattern):
    """Shifts bytes as parts of wider integers, and clears the bits that were shifted in from the byte below.

    LLVM would do the same, or use `vgf2p8affineqb` if the CPU has it. That needs one instruction less, but the
    instruction takes an issue slot from a dot product.
    """

    isa: InstructionSet

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.ShLIOp, rewriter: PatternRewriter, /) -> None:
        if as_vector(op.result.type) is None or element_of(op.result) != IntegerType(8):
            return
        number, lanes, width = _known_number(op.rhs), lanes_of(op.result), self.isa.shift_bits
        if number is None or not 0 <= number < 8 or width <= 8 or lanes * 8 % width:
            return
        write = _Writer(rewriter)
        held = reinterpreted(write, op.lhs, IntegerType(width))
        shifted = write.insert(arith.ShLIOp(held, write.number(number, held.type)))
        divided = reinterpreted(write, shifted, IntegerType(8))
        rewriter.replace(op, arith.AndIOp(divided, write.number(-1 << number, divided.type)))


@dataclass(frozen=True)
class SimdLegalize(ModulePass):
    """Expands dot products for which the target of the module (`kernel.target`) has no instruction.

    A dot product that is wider than the registers is split into halves. Bytes of the wrong signedness are converted to
    the other one. If there are no dot products of bytes, these become pairs of 16-bit integers, and if there are no dot
    products at all, 32-bit products. A gather from a 256-byte table becomes `simd.look_up` if four registers hold the
    table. Bytes are shifted as 16-bit integers if there are no narrower shifts. Without a target, the loops run on
    every CPU.

    Before:

    ```mlir
    func.func @main(%acc: vector<4xi32>, %x: vector<8xi16>, %w: vector<8xi16>) -> vector<4xi32> {
      %0 = simd.dot_accumulate %acc, %x, %w : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
      func.return %0 : vector<4xi32>
    }
    ```

    After:

    ```mlir
    func.func @main(%acc: vector<4xi32>, %x: vector<8xi16>, %w: vector<8xi16>) -> vector<4xi32> {
      %0 = simd.convert %x {kind = "bitcast"} : vector<8xi16> to vector<4xi32>
      %1 = arith.constant dense<16> : vector<4xi32>
      %2 = arith.shli %0, %1 : vector<4xi32>
      %3 = arith.shrsi %2, %1 : vector<4xi32>
      %4 = simd.convert %w {kind = "bitcast"} : vector<8xi16> to vector<4xi32>
      %5 = arith.shli %4, %1 : vector<4xi32>
      %6 = arith.shrsi %5, %1 : vector<4xi32>
      %7 = arith.muli %3, %6 : vector<4xi32>
      %8 = arith.addi %acc, %7 : vector<4xi32>
      %9 = simd.convert %x {kind = "bitcast"} : vector<8xi16> to vector<4xi32>
      %10 = arith.shrsi %9, %1 : vector<4xi32>
      %11 = simd.convert %w {kind = "bitcast"} : vector<8xi16> to vector<4xi32>
      %12 = arith.shrsi %11, %1 : vector<4xi32>
      %13 = arith.muli %10, %12 : vector<4xi32>
      %14 = arith.addi %8, %13 : vector<4xi32>
      func.return %14 : vector<4xi32>
    }
    ```
    """

    name = "simd-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        isa = isa_of(op)
        patterns = [LegalizeDot(isa), LegalizeProducts(isa), LegalizeGather(isa), LegalizeShift(isa)]
        apply_patterns_greedily(op, patterns, ctx)
