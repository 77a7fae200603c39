"""Lowers `kernel.record` to loops: one pass over a value for its range and counts, one for its sums and histogram.

A record doesn't depend on the order of the elements, so each lane of a vector is reduced separately. Minima, maxima,
counts and sums are integers; `qmlir.arithmetic.statistics` describes the integer sums of floats. Elements that aren't
finite are counted by kind. The sums and the histogram treat them as 0, and their count is subtracted from bin 0 at the
end.
"""

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import math as math_dialect
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, f32, f64, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.arithmetic.records import (
    COUNT,
    COUNTS,
    EXPONENT,
    HIGH,
    LOW,
    NANS,
    NEGATIVE,
    POSITIVE,
    RUN_HIGH,
    RUN_LOW,
    RUN_SQUARES,
    RUN_TOTAL,
    RUN_WORDS,
    ZEROS,
)
from qmlir.arithmetic.statistics import SMALLEST_EXPONENT, SPARE_BITS, rounding_addend
from qmlir.dialects.kernel.lowering.scalars import Number, Scalar
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.record import RecordOp
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, emit_binary, memory_of, times
from qmlir.targets.cpu.loops.geometry import load, without_gaps
from qmlir.targets.cpu.loops.nests import collapse_axes
from qmlir.targets.cpu.loops.structured import replace_by_loops

_LANES = 8
"""The number of elements of a vector: f64 in two AVX2 registers."""

_INFINITY, _MAGNITUDE = 0x7F800000, 0x7FFFFFFF
"""The bits of f32: infinity, and all but the sign."""

_BIAS = 1023
"""That of the exponent of f64; `frexp` counts one more."""


def _magnitude(bits: Scalar) -> Scalar:
    return bits & _MAGNITUDE


def _ordered(bits: Scalar) -> Scalar:
    """The bits of f32 as integers that are ordered as the floats are, and back."""
    return bits ^ ((bits >> 31) & _MAGNITUDE)


def _power(exponent: Scalar) -> Scalar:
    """The f64 `2^exponent`, of a normal number."""
    return ((exponent + _BIAS) << 52).bitcast(f64)


def _exponent(positive: Scalar) -> Scalar:
    """Computes the exponent that `frexp` returns for a normal f64."""
    return (positive.bitcast(i64) >> 52) - (_BIAS - 1)


def _floor(value: Scalar) -> Scalar:
    return value.apply(math_dialect.FloorOp)


def _without_sign_of_zero(value: Scalar) -> Scalar:
    return (value == 0.0).select(value.constant(0.0), value)


@dataclass(frozen=True)
class _Total:
    """The initial value and element type of a reduction, and the function that combines two partial results."""

    start: Number
    type: Attribute
    combine: Callable[[Scalar, Scalar], Scalar]


def _sum(type_: Attribute) -> _Total:
    return _Total(0, type_, lambda a, b: a + b)


_TOP, _BOTTOM = 2**31 - 1, -(2**31)
_ENDS = _Total(_TOP, i32, Scalar.minimum), _Total(_BOTTOM, i32, Scalar.maximum)
"""The smallest and the largest of ordered integers."""

_Step = Callable[[Scalar, Sequence[Scalar]], Sequence[Scalar]]
"""The totals after one more element, or one more in each lane."""


class _Record:
    """Emits the loops of one `kernel.record` at the insertion point of `emit`."""

    def __init__(self, emit: Emitter, op: RecordOp):
        self.op, self.layout, self.emit = op, op.layout, emit
        self.first = self._index_at(op.position, 0)
        self.memory, self.begin = self._without_gaps(), 0
        self.count: Index = math.prod(shaped(op.input)[0])

    def _scalar(self, value: SSAValue) -> Scalar:
        return Scalar(value, self.emit)

    def _index_at(self, memory: SSAValue, position: int) -> SSAValue:
        return self._scalar(self.emit.load(memory, [position])).to(IndexType()).value

    def _without_gaps(self) -> SSAValue:
        """The input with the axes at its end that have no gaps between them as one."""
        value, rank = self.op.input, len(shaped(self.op.input)[0])
        first = next((axis for axis in range(rank) if without_gaps(value, axis, rank - 1)), 0)
        if first >= rank - 1:
            return value
        return collapse_axes(self.emit, value, [*([axis] for axis in range(first)), range(first, rank)])

    def write(self) -> None:
        """Emits the whole record; emits nothing for a value without elements."""
        if self.op.runs is not None:
            self._write_runs(self.op.runs)
        elif self.count:
            self._write_run()

    def _write_runs(self, runs: SSAValue) -> None:
        number, self.count = (self._index_at(runs, position) for position in range(2))
        with self._loop(number) as run:
            self.begin = emit_binary(self.emit, AffineBinaryOpKind.Mul, run, self.count)
            for word, value in zip(range(RUN_LOW, RUN_LOW + RUN_WORDS), (math.inf, -math.inf, 0.0, 0.0), strict=True):
                self._store(word, self._scalar(self.emit.constant(value, f64)))
            with self._if(self._scalar(self.emit.index(self.count)).to(i64) > 0):
                self._write_run()
            behind = add(self.emit, times(self.emit, run, RUN_WORDS), self.layout.words)
            for word in range(RUN_WORDS):
                self._store(add(self.emit, behind, word), self._word(RUN_LOW + word))

    def _write_run(self) -> None:
        low_key, high_key, *counts = self._reduced(
            [*_ENDS, *[_sum(i32)] * 4],
            self._extent,
        )
        zeros, negative, positive, nans = (each.to(i64) for each in counts)
        others = negative + positive + nans
        finite = self._scalar(self.emit.index(self.count)).to(i64) - others
        for word, number in zip(
            (COUNT, ZEROS, NEGATIVE, POSITIVE, NANS), (finite, zeros, negative, positive, nans), strict=True
        ):
            self._store(word, self._word(word) + number)
        with self._if(finite > 0):
            low, high = (self._real_of(self._scalar(each.value)) for each in (low_key, high_key))
            self._add_finite(low, high, self._scalar(others.value))
        if self.layout.axis is not None:
            self._widen_axis(self.layout.axis)

    @contextmanager
    def _if(self, condition: Scalar) -> Generator[None]:
        """Inside the `with` block stands what runs if the condition holds."""
        outer, block = self.emit, Block()
        self.emit = outer.at_end(block)
        yield
        self.emit.builder.insert(scf.YieldOp())
        self.emit = outer
        outer.builder.insert(scf.IfOp(condition.value, [], Region(block)))

    @contextmanager
    def _loop(self, end: Index, start: Index = 0) -> Generator[Index]:
        outer = self.emit
        with outer.loop(end, start) as (inner, position):
            self.emit = inner
            yield position
        self.emit = outer

    # --- Words --------------------------------------------------------------------------------------------------------

    def _word(self, word: Index) -> Scalar:
        return self._scalar(self.emit.load(self.op.records, [add(self.emit, self.first, word)]))

    def _store(self, word: Index, value: Scalar) -> None:
        integer = value.bitcast(i64) if value.is_float else value
        self.emit.store(integer.value, self.op.records, [add(self.emit, self.first, word)])

    def _widen_range(self, words: Sequence[Index], low: Scalar, high: Scalar) -> None:
        """Let the range in two words contain `low` and `high`."""
        for word, end, is_wider in zip(words, (low, high), (Scalar.__lt__, Scalar.__gt__), strict=True):
            known = self._real(word)
            self._store(word, is_wider(end, known).select(end, known))

    def _real(self, word: Index) -> Scalar:
        return self._word(word).bitcast(f64)

    def _real_of(self, key: Scalar) -> Scalar:
        return _without_sign_of_zero(_ordered(key).bitcast(f32).to(f64))

    # --- Reductions ---------------------------------------------------------------------------------------------------

    def _reduced(self, totals: Sequence[_Total], step: _Step, position: Sequence[Index] = ()) -> list[Scalar]:
        """The totals over all elements of a run, or over those at a place of the first axes."""
        start = [self.emit.constant(each.start, each.type) for each in totals]
        return [self._scalar(each) for each in self._over([*position], start, totals, step)]

    def _over(
        self, position: list[Index], so_far: Sequence[SSAValue], totals: Sequence[_Total], step: _Step
    ) -> Sequence[SSAValue]:
        type_ = memory_of(self.memory)
        shape, outer = type_.get_shape(), self.emit
        if len(position) == len(shape):
            return self._step(step, self._scalar(outer.load(self.memory, position)), so_far)
        if len(position) < len(shape) - 1:

            def write_row(inner: Emitter, index: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                self.emit = inner
                found = self._over([*position, index], carried, totals, step)
                self.emit = outer
                return found

            return outer.carried(shape[len(position)], so_far, write_row)
        steps: Index = self.count if self.op.runs is not None else shape[-1]
        strides = type_.get_strides()
        whole = self._whole(steps) if strides and strides[-1] == 1 else 0
        if whole != 0:
            so_far = self._of_vectors(position, whole, so_far, totals, step)

        def write_scalar(inner: Emitter, index: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = inner.load(self.memory, [*position, add(inner, self.begin, index)])
            return self._step(step, Scalar(value, inner), carried)

        return so_far if whole == steps else outer.carried(steps, so_far, write_scalar, whole)

    def _whole(self, steps: Index) -> Index:
        """Returns the number of iterations that form full vectors."""
        vectors = emit_binary(self.emit, AffineBinaryOpKind.FloorDiv, steps, _LANES, is_natural=True)
        return times(self.emit, vectors, _LANES)

    @staticmethod
    def _step(step: _Step, value: Scalar, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [each.value for each in step(value, [Scalar(each, value.builder) for each in carried])]

    def _of_vectors(
        self, position: list[Index], whole: Index, so_far: Sequence[SSAValue], totals: Sequence[_Total], step: _Step
    ) -> Sequence[SSAValue]:
        lanes = VectorEmitter.of(self.emit, _LANES)
        start = [lanes.constant(each.start, each.type) for each in totals]

        def write(inner: VectorEmitter, index: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = [*position, add(inner, self.begin, index)]
            return self._step(step, Scalar(load(inner, self.memory, at, _LANES), inner), carried)

        found = lanes.carried(whole, start, write, step=_LANES)
        results: list[SSAValue] = []
        for total, before, each in zip(totals, so_far, found, strict=True):
            sum_ = self._scalar(before)
            for lane in range(_LANES):
                sum_ = total.combine(sum_, self._scalar(lanes.lane(each, lane)))
            results.append(sum_.value)
        return results

    # --- The first read -----------------------------------------------------------------------------------------------

    def _ends(self, value: Scalar, totals: Sequence[Scalar]) -> Sequence[Scalar]:
        """Emits the minimum and maximum of the finite elements, as ordered integers."""
        bits = value.bitcast(i32)
        is_finite, key = _magnitude(bits) < _INFINITY, _ordered(bits)
        low, high = totals
        return [low.minimum(is_finite.select(key, _TOP)), high.maximum(is_finite.select(key, _BOTTOM))]

    def _extent(self, value: Scalar, totals: Sequence[Scalar]) -> Sequence[Scalar]:
        """The ends, and the number of zeros, of minus and plus infinities and of NaN."""
        bits = value.bitcast(i32)
        magnitude = _magnitude(bits)
        kinds = (magnitude == 0, bits == _INFINITY + _BOTTOM, bits == _INFINITY, magnitude > _INFINITY)
        counts = (count + is_one.select(bits.constant(1), 0) for count, is_one in zip(totals[2:], kinds, strict=True))
        return [*self._ends(value, totals[:2]), *counts]

    # --- The second read ----------------------------------------------------------------------------------------------

    def _add_finite(self, low: Scalar, high: Scalar, others: Scalar) -> None:
        """Add a value with finite elements in this range, and so many others."""
        self._widen_range((RUN_LOW, RUN_HIGH), low, high)
        bin_scale = self._widen(low, high)
        largest = (-low > high).select(-low, high)
        exponent = _exponent((largest > 0.0).select(largest, 0.5))
        scale, addend = _power(-exponent), self._addend()
        total, squares = self._reduced(
            [_sum(i64), _sum(i64)],
            partial(self._sums_and_bin, (scale, bin_scale, addend)),
        )
        bits = addend.bitcast(i64)
        excess, unit = bits * self._scalar(self.emit.index(self.count)).to(i64), _power(_exponent(addend) - 53)
        up = _power(exponent)
        for word, sum_, factor in ((RUN_TOTAL, total, up), (RUN_SQUARES, squares, up * up)):
            self._store(word, self._real(word) + (sum_ - excess).to(f64) * unit * factor)
        self._store(COUNTS, self._word(COUNTS) - others)

    def _addend(self) -> Scalar:
        """The `rounding_addend` of the elements of a run."""
        if isinstance(self.count, int):
            return self._scalar(self.emit.constant(rounding_addend(self.count), f64))
        bits = _exponent(self._scalar(self.count).to(i64).to(f64))
        return _power((bits - SPARE_BITS).maximum(1)) * 1.5

    def _widen(self, low: Scalar, high: Scalar) -> Scalar:
        """Extends the range of the record to contain `low` and `high`, and widens the bins of its histogram if needed.

        Returns the number of bins per unit, the reciprocal of the bin width.
        """
        old_low, old_high, before = self._real(LOW), self._real(HIGH), self._word(EXPONENT)
        low, high = (low < old_low).select(low, old_low), (high > old_high).select(high, old_high)
        self._store(LOW, low)
        self._store(HIGH, high)
        low, old_low = ((each < 0.0).select(each, 0.0) for each in (low, old_low))
        high, old_high = ((each > 0.0).select(each, 0.0) for each in (high, old_high))
        largest = (-low > high).select(-low, high)
        is_some = largest > 0.0
        # At this exponent, the larger end alone needs too many bins; at most three steps later, there are enough bins.
        exponent = _exponent(is_some.select(largest, 1.0)) - (1 + (self.layout.bins - 1).bit_length())
        for _ in range(3):
            scale = _power(-exponent)
            is_over = _floor(high * scale) - _floor(low * scale) >= float(self.layout.bins)
            exponent = is_over.select(exponent + 1, exponent)
        self._store(EXPONENT, is_some.select(exponent, SMALLEST_EXPONENT))
        is_coarser = (exponent > before) & (old_low < old_high)
        with self._if(is_coarser):
            self._coarsen(*map(self._scalar, (each.value for each in (before, exponent, old_low, old_high))))
        return _power(-exponent)

    def _coarsen(self, before: Scalar, after: Scalar, low: Scalar, high: Scalar) -> None:
        """In place: a bin goes to one that is no further from 0, after what was there has gone."""
        shift = (after - before).minimum(63)
        scale, bins = _power(-before), self.layout.bins
        for end, is_negative in ((high, False), (-low, True)):
            # The first bin of negative values is -1, and the last one that of `low`.
            last = end * scale
            last = last.apply(math_dialect.CeilOp) if is_negative else _floor(last)
            with self._loop((last.to(i64) + 1).to(IndexType()).value, 1) as position:
                number = self._scalar(self.emit.index(position)).to(i64)
                shift_here = self._scalar(shift.value)
                if is_negative:
                    number = -number
                self._move(number, number >> shift_here, bins if is_negative else 0)

    def _move(self, source: Scalar, target: Scalar, offset: int) -> None:
        positions = [((each + (COUNTS + offset)).to(IndexType())).value for each in (source, target)]
        count = self._word(positions[0])
        self._store(positions[0], count.constant(0))
        self._store(positions[1], self._word(positions[1]) + count)

    def _sums_and_bin(self, factors: Sequence[Scalar], value: Scalar, totals: Sequence[Scalar]) -> Sequence[Scalar]:
        """Add elements to the sums and to their bins. `factors` are those of sums and of bins, and the addend."""
        emit = value.builder
        assert isinstance(emit, Emitter)
        scale, bin_scale, addend = (
            Scalar(emit.splat(each.value) if isinstance(emit, VectorEmitter) else each.value, emit) for each in factors
        )
        is_finite = _magnitude(value.bitcast(i32)) < _INFINITY
        wide = is_finite.select(value, 0.0).to(f64)
        scaled = wide * scale
        total, squares = (
            sum_ + (term + addend).bitcast(i64) for sum_, term in zip(totals, (scaled, scaled * scaled), strict=True)
        )
        number = _floor(wide * bin_scale).to(i32)
        number = number + ((number >> 31) & self.layout.bins)
        outer, self.emit = self.emit, self.emit.at(emit.builder)
        lanes = [emit.lane(number.value, lane) for lane in range(_LANES)] if isinstance(emit, VectorEmitter) else None
        for position in lanes or [number.value]:
            word = add(self.emit, self._scalar(position).to(IndexType()).value, COUNTS)
            self._store(word, self._word(word) + 1)
        self.emit = outer
        return [total, squares]

    # --- Ranges of an axis --------------------------------------------------------------------------------------------

    def _widen_axis(self, axis: int) -> None:
        """Widen the range of each index of the axis by the finite elements that have it."""
        lows, self.memory = COUNTS + self.layout.bins, self.op.input
        with ExitStack() as nest:
            outer = [nest.enter_context(self._loop(size)) for size in shaped(self.op.input)[0][: axis + 1]]
            words = [add(self.emit, outer[-1], lows + part * self.layout.indices) for part in range(2)]
            low, high = self._reduced(_ENDS, self._ends, outer)
            with self._if(low <= high):
                self._widen_range(words, *(self._real_of(self._scalar(each.value)) for each in (low, high)))


class ExpandRecord(RewritePattern):
    """Lowers a `kernel.record` on memrefs to loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RecordOp, rewriter: PatternRewriter, /) -> None:
        if op.result is None:
            replace_by_loops(op, rewriter, lambda emit: _Record(emit, op).write())
