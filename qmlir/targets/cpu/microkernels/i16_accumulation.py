"""`u8s4_short` to `u8s7_short`, `u8s8_short`: products of bytes, with partial sums of a few steps in 16 bits.

One instruction multiplies bytes and adds neighboring products to 16 bits; the instruction for pairs of 16 bits handles
only half the elements. It saturates on overflow, but `short_steps`, the number of steps that fit, is derived from the
width of the weights, so overflow never happens. `u8s8_short` (one step), `u8s8_short2` and `u8s8_short4` require
constant weights whose values prove it.
"""

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i16

from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.dialects.simd.lanes import DotAccumulateOp, MultiplyPairsOp
from qmlir.targets.cpu.loops.contraction.geometry import Window
from qmlir.targets.cpu.loops.contraction.tiles import Registers, TileWriter
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, times
from qmlir.targets.cpu.microkernels.byte_dots import ByteDots


class ShortSumWriter(TileWriter):
    """Writes the loops of a contraction whose steps go in runs of `short_steps`."""

    def _sum_steps(
        self, emit: VectorEmitter, sums: Registers, window: Window, weights: list[Index], valid: int
    ) -> Registers:
        assert isinstance(self.variant, ShortSums)
        count = self.variant.short_steps
        whole, rest = divmod(self.geometry.steps, count)
        if whole:
            sums = self._carried(
                emit, whole, sums,
                lambda inner, run, before: self._run(inner, before, window, weights, times(inner, run, count), count),
            )  # fmt: skip
        return self._run(emit, sums, window, weights, whole * count, rest) if rest else sums

    def _run(
        self, emit: VectorEmitter, sums: Registers, window: Window, weights: list[Index], first: Index, count: int
    ) -> Registers:
        """So many steps from `first` on, added in 16 bits, then to the sums: neighbours times 1."""

        def added(inner: VectorEmitter, number: Index, before: Registers) -> Registers:
            step = add(inner, first, add(inner, number, 1))
            products = self._products(inner, sums, window, weights, step)
            return [
                [inner.binary(arith.AddiOp, *each) for each in zip(*rows, strict=True)]
                for rows in zip(before, products, strict=True)
            ]

        short = self._products(emit, sums, window, weights, first)
        if count > 1:
            short = self._carried(emit, count - 1, short, added)
        ones = emit.with_lanes(2 * emit.lanes).constant(1, i16)
        return [
            [emit.insert(DotAccumulateOp(total, products, ones)) for total, products in zip(*rows, strict=True)]
            for rows in zip(sums, short, strict=True)
        ]

    def _products(
        self, emit: VectorEmitter, sums: Registers, window: Window, weights: list[Index], step: Index
    ) -> Registers:
        """The products of one step of a tile, neighbours added."""
        loaded = self._step_weights(emit, sums, weights, step)
        moved = window.moved(emit, times(emit, step, self.variant.group))
        read = [self.variant.read(emit, self.geometry.x, moved.row(emit, row), None) for row in range(len(sums))]
        return [[emit.insert(MultiplyPairsOp(x, each)) for each in loaded] for x in read]


@dataclass(frozen=True, eq=False, kw_only=True)
class ShortSums(ByteDots):
    """Bytes in the unsigned range, by weights of few bits: two times 255 times -8, with 4 bits, is -32640 for eight."""

    def write(self, op: PackedOp, emit: Emitter) -> None:
        ShortSumWriter(op, self, emit).write(emit)


def _named(name: str, steps: int, bits: int | None = None) -> ShortSums:
    return ShortSums(
        name=name, group=4, element=i8, input_element=i8, weight_bits=bits, reads_unsigned=True, short_steps=steps
    )


def _of_bits(bits: int) -> ShortSums:
    return _named(f"u8s{bits}_short", 1 << 7 - bits, bits)


U8S4_SHORT, U8S5_SHORT, U8S6_SHORT, U8S7_SHORT = map(_of_bits, (4, 5, 6, 7))
U8S8_SHORT, U8S8_SHORT2, U8S8_SHORT4 = (_named(f"u8s8_short{steps if steps > 1 else ''}", steps) for steps in (1, 2, 4))
