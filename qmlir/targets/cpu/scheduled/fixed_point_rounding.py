"""Float chains written in integers, rounding by rounding: the same integers for all operands.

An f32 is an integer times a power of two. Of a chain it is known which one at least: a product of integers and
constants is a multiple of the product of their last bits. So every float of the chain is an i64 with a fixed exponent,
`value = I * 2^e`, an operation is exact on these, and what f32 rounds after it is the rounding of `I` to its 24 leading
bits, ties to even. The exponents are known when the chain is written; how many bits `I` has is known in the run.
"""

import math as python_math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, f32, i8, i32, i64
from xdsl.ir import Operation, SSAValue

from qmlir.analysis.dequant_requant_chains import FloatChain
from qmlir.analysis.intervals import EXACT_F32, Interval
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar
from qmlir.dialects.kernel.ops import RequantizeOp

_BITS = 24
"""Of the significand of f32."""

_SMALLEST = -149
"""The exponent of the smallest number of f32: a multiple of it has no smaller last bit, subnormal or not."""

_LARGEST = 127

_ROOM = (1 << 62) - (1 << 40)
"""What is computed stays below this magnitude: twice it, with a half of what is rounded, is an i64."""

_QUOTIENT = -26
"""The exponent of quotients: two bits below the last one of the f32 numbers from a half to 1. Smaller ones are rounded
to 0 whatever their last bits are, and the lowest bit says whether the quotient was cut off."""

NewParameter = Callable[[Array, IntegerType], SSAValue]
"""Gives an element of integers of a type along the axis of the chain."""


class NotInIntegers(Exception):
    """The chain has a step that 64 bits don't hold, or one that isn't written here; the text says which."""


@dataclass(frozen=True)
class _Fixed:
    """`value * 2^exponent`, whose magnitude in these units is at most `bound`; constants have `numbers`, too."""

    value: Scalar | None
    exponent: int
    bound: int
    numbers: Array | None = None


def _last_bit(number: float) -> int:
    """The exponent of the last bit of a number that isn't 0."""
    fraction = Fraction(number)
    return (fraction.numerator & -fraction.numerator).bit_length() - fraction.denominator.bit_length()


def _in_one_unit(numbers: Array) -> _Fixed:
    """Constants as integers of one exponent, that of the smallest last bit; at most 0: limits are in units of 1."""
    reals = [float(each) for each in numbers.reshape(-1)]
    if not np.isfinite(reals).all():
        raise NotInIntegers("a constant is not finite")
    exponent = min(0, min((_last_bit(each) for each in reals if each), default=0))
    whole = np.array([int(Fraction(each) / Fraction(2) ** exponent) for each in reals], object)
    return _Fixed(None, exponent, max(abs(int(each)) for each in whole), whole.reshape(numbers.shape))


def _is_rounded(op: Operation) -> bool:
    """Whether a quotient is rounded to a whole number at once."""
    user = op.results[0].get_user_of_unique_use()
    return isinstance(user, math.RoundEvenOp)


class ExactSteps:
    """Writes the operations of a chain where `builder` stands."""

    def __init__(
        self, chain: FloatChain, builder: ArithBuilder, ranges: Mapping[SSAValue, Interval], new: NewParameter
    ):
        self.chain = chain
        self.builder = builder
        self.ranges = ranges
        self.new = new
        self.values: dict[SSAValue, _Fixed] = {}

    def write(self) -> Scalar:
        """The integer that the chain ends in, as an i64. Raises `NotInIntegers`."""
        *steps, end = self.chain.operations
        for op in steps:
            if op.results[0].type != f32:
                raise NotInIntegers(f"{op.name} returns {op.results[0].type}")
            if self.chain.constant(op.results[0]) is None:
                self.values[op.results[0]] = self._step(op)
        if isinstance(end, RequantizeOp):
            return self._requantized(end)
        found = self._of(end.operands[0])
        if found.exponent < 0:
            raise NotInIntegers(f"{end.name} truncates a non-integer")
        return self._scalar(found, found.exponent)

    # --- Values -------------------------------------------------------------------------------------------------------

    def _of(self, value: SSAValue) -> _Fixed:
        if value in self.values:
            return self.values[value]
        numbers = self.chain.constant(value)
        assert numbers is not None
        return self._constant(numbers)

    def _constant(self, numbers: Array) -> _Fixed:
        found = _in_one_unit(numbers)
        self._check(found.bound)
        return found

    def _scalar(self, fixed: _Fixed, shift: int = 0) -> Scalar:
        """The integer of a value, shifted left."""
        if not fixed.bound:  # 0 is shifted by any number of places, of which a word has 64
            return Scalar(self.builder.constant(0, i64), self.builder)
        if fixed.value is not None:
            return fixed.value << shift if shift else fixed.value
        assert fixed.numbers is not None
        numbers = fixed.numbers.reshape(-1) << shift
        if len(set(numbers.tolist())) == 1:
            return Scalar(self.builder.constant(int(numbers[0]), i64), self.builder)
        found = Scalar(self.new(numbers, i32 if (abs(numbers) < 1 << 31).all() else i64), self.builder)
        return found.to(i64)

    @staticmethod
    def _check(bound: int) -> None:
        if bound >= _ROOM:
            raise NotInIntegers(f"an intermediate value needs {bound.bit_length() + 1} bits")

    # --- Steps --------------------------------------------------------------------------------------------------------

    def _step(self, op: Operation) -> _Fixed:
        match op:
            case arith.SIToFPOp():
                low, high = self.ranges[op.input].values
                bound = max(abs(low), abs(high))
                return self._rounded(_Fixed(Scalar(op.input, self.builder).to(i64), 0, bound))
            case arith.MulfOp():
                return self._rounded(self._product(self._of(op.lhs), self._of(op.rhs)))
            case arith.AddfOp():
                return self._rounded(self._sum(self._of(op.lhs), self._of(op.rhs)))
            case arith.SubfOp():
                return self._rounded(self._sum(self._of(op.lhs), self._negated(self._of(op.rhs))))
            case arith.NegfOp():
                return self._negated(self._of(op.operand))
            case math.FmaOp():
                return self._rounded(self._sum(self._product(self._of(op.a), self._of(op.b)), self._of(op.c)))
            case arith.DivfOp() if _is_rounded(op):
                return self._quotient(op, self._of(op.lhs), self._of(op.rhs))
            case math.RoundEvenOp():
                return self._whole(self._of(op.operand))
            case arith.MaximumfOp() | arith.MinimumfOp():
                return self._extreme(op, self._of(op.lhs), self._of(op.rhs))
            case _:
                raise NotInIntegers(f"{op.name} has no integer equivalent")

    def _negated(self, fixed: _Fixed) -> _Fixed:
        if fixed.numbers is not None:
            return _Fixed(None, fixed.exponent, fixed.bound, np.asarray(-fixed.numbers, object))
        return _Fixed(-self._scalar(fixed), fixed.exponent, fixed.bound)

    def _product(self, one: _Fixed, other: _Fixed) -> _Fixed:
        bound = one.bound * other.bound
        self._check(bound)
        return _Fixed(self._scalar(one) * self._scalar(other), one.exponent + other.exponent, bound)

    def _sum(self, one: _Fixed, other: _Fixed) -> _Fixed:
        exponent = min(one.exponent, other.exponent)
        shifts = [each.exponent - exponent for each in (one, other)]
        bound = (one.bound << shifts[0]) + (other.bound << shifts[1])
        self._check(bound)
        return _Fixed(self._scalar(one, shifts[0]) + self._scalar(other, shifts[1]), exponent, bound)

    def _extreme(self, op: Operation, one: _Fixed, other: _Fixed) -> _Fixed:
        exponent = min(one.exponent, other.exponent)
        shifts = [each.exponent - exponent for each in (one, other)]
        bounds = [each.bound << shift for each, shift in zip((one, other), shifts, strict=True)]
        self._check(max(bounds))
        values = [self._scalar(each, shift) for each, shift in zip((one, other), shifts, strict=True)]
        found = values[0].maximum(values[1]) if isinstance(op, arith.MaximumfOp) else values[0].minimum(values[1])
        return _Fixed(found, exponent, max(bounds))

    def _leading(self, magnitude: Scalar, bound: int) -> Scalar:
        """How many bits a number has beyond 24, as an i64: its leading zeros, of 32 bits where these hold the rest."""
        rest = magnitude >> _BITS
        width = 32 if bound >> _BITS < 1 << 31 else 64
        rest = rest.to(i32) if width == 32 else rest
        return (rest.constant(width) - rest.apply(math.CountLeadingZerosOp)).to(i64)

    def _rounded(self, fixed: _Fixed) -> _Fixed:
        """The nearest f32, ties to even."""
        self._check(fixed.bound)
        if fixed.exponent < _SMALLEST:
            raise NotInIntegers(
                f"an intermediate value has multiples of 2^{fixed.exponent}, which f32 cannot represent"
            )
        if fixed.exponent + fixed.bound.bit_length() > _LARGEST:
            raise NotInIntegers("an intermediate value may be infinite")
        if fixed.bound <= EXACT_F32:
            return fixed
        value = self._scalar(fixed)
        # With e bits to lose: (2 I + 2^e - 1 + odd) >> (e + 1), odd being the bit that stays last. It is I for e = 0.
        lost = self._leading(value.absolute(), fixed.bound)
        one = value.constant(1)
        odd = (value >> lost) & 1
        kept = ((value + value) + ((one << lost) - 1) + odd) >> (lost + 1)
        # A number of 24 bits that becomes 2^24 is one of f32, too.
        return _Fixed(kept << lost, fixed.exponent, 1 << (fixed.bound - 1).bit_length())

    def _nearest(self, fixed: _Fixed) -> Scalar:
        """The nearest whole number, ties to even, of exponent 0."""
        value, places = self._scalar(fixed), -fixed.exponent
        if places <= 0:
            return value << -places if places else value
        if places > fixed.bound.bit_length():  # less than a half
            return value.constant(0)
        odd = (value >> places) & 1
        return (value + ((1 << places - 1) - 1) + odd) >> places

    def _whole(self, fixed: _Fixed) -> _Fixed:
        bound = (fixed.bound << max(fixed.exponent, 0)) >> max(-fixed.exponent, 0)
        self._check(bound)
        return _Fixed(self._nearest(fixed), 0, bound + 1)

    def _quotient(self, op: Operation, dividend: _Fixed, divisor: _Fixed) -> _Fixed:
        """A quotient by constants, rounded to f32; it is kept inside the limits that follow, which leave the same."""
        if divisor.numbers is None or not divisor.numbers.all():
            raise NotInIntegers(f"{op.name} has a non-constant operand")
        limit = self._limit_after(op)
        least = min(abs(each) for each in divisor.numbers.reshape(-1).tolist())
        # In units of 2^_QUOTIENT the quotient is I 2^shift / D.
        shift = dividend.exponent - divisor.exponent - _QUOTIENT
        if dividend.exponent + dividend.bound.bit_length() - divisor.exponent - least.bit_length() > _LARGEST:
            raise NotInIntegers("a quotient may be infinite")
        value, bound = self._scalar(dividend), dividend.bound
        if limit is not None:  # what is larger than the limit by 2 is the limit
            most = Fraction(limit + 2) * divisor.bound * Fraction(2) ** (divisor.exponent - dividend.exponent)
            most = python_math.ceil(most)
            if most < bound:
                value, bound = value.clamp(-most, most), most
        if shift < 0:
            raise NotInIntegers(f"{op.name} has more than {-_QUOTIENT} fraction bits")
        self._check(bound << shift)
        by = self._scalar(divisor)
        wide = value << shift if bound else value
        quotient = wide.absolute().apply(arith.DivSIOp, by.absolute())
        rest = wide.absolute() - quotient * by.absolute()
        # What is cut off leaves its trace in the last bit.
        sticky = quotient | (rest != 0).to(i64, unsigned=True)
        is_negative = (wide ^ by) < 0
        signed = is_negative.select(-sticky, sticky)
        return self._rounded(_Fixed(signed, _QUOTIENT, ((bound << shift) // least) | 1))

    def _limit_after(self, op: Operation) -> int | None:
        """The largest magnitude that a rounded quotient is kept inside, where it is."""
        limits: dict[type[Operation], int] = {}
        value = cast(math.RoundEvenOp, op.results[0].get_user_of_unique_use()).result
        while isinstance(user := value.get_user_of_unique_use(), arith.MaximumfOp | arith.MinimumfOp):
            numbers = self.chain.constant(user.rhs if user.lhs is value else user.lhs)
            if numbers is None or not np.isfinite(numbers).all():
                break
            limits.setdefault(type(user), python_math.ceil(np.abs(numbers).max()))
            value = user.result
        return max(limits.values()) if len(limits) == 2 else None

    def _by_own_exponents(self, accumulator: _Fixed, multipliers: Array) -> Scalar:
        """The nearest whole number to f32(a m) where multipliers differ so much that no word holds all of them: each
        has 24 bits, and places that its product is shifted by."""
        fractions, exponents = np.frexp(multipliers.reshape(-1).astype(np.float64))
        numbers = np.ldexp(fractions, _BITS).astype(np.int64).astype(object)
        places = _BITS - exponents.astype(np.int64)
        if (places < 1).any() or (places > -_SMALLEST).any():
            raise NotInIntegers("a multiplier is too large or too small")
        whole = _Fixed(None, 0, 1 << _BITS, numbers)
        product = self._rounded(self._product(self._rounded(accumulator), whole))
        # What is rounded is bounded by a power of two, so a product that is below _ROOM has at most 2^61 units: it is
        # rounded to 0 by 62 places as by more.
        assert product.bound <= 1 << 61
        value = self._scalar(product)
        shift = Scalar(self.new(np.minimum(places, 62), i8), self.builder).to(i64)
        odd = (value >> shift) & 1
        return (value + ((value.constant(1) << (shift - 1)) - 1) + odd) >> shift

    def _requantized(self, op: RequantizeOp) -> Scalar:
        """`saturate(rne(f32(f32(a) m)))` with the zero point before or after the rounding."""
        low, high = self.ranges[op.accumulator].values
        accumulator = _Fixed(Scalar(op.accumulator, self.builder).to(i64), 0, max(abs(low), abs(high)))
        zero_point, (least, most) = op.zero_point.value.data, op.limits
        numbers = self.chain.constant(op.parameters[0])
        assert numbers is not None
        if _in_one_unit(numbers).bound >= 1 << 31 and op.mode.mode is Mode.F32:
            kept = self._by_own_exponents(accumulator, numbers).clamp(least - zero_point, most - zero_point)
            return kept + zero_point if zero_point else kept
        scaled = self._rounded(self._product(self._rounded(accumulator), self._constant(numbers)))
        if op.mode.mode is Mode.QLINEAR and zero_point:
            scaled = self._rounded(self._sum(scaled, self._constant(np.array(float(np.float32(zero_point))))))
            zero_point = 0
        elif op.mode.mode is Mode.QLINEAR:
            zero_point = 0
        whole = self._whole(scaled)
        assert whole.value is not None
        kept = whole.value.clamp(least - zero_point, most - zero_point)
        return kept + zero_point if zero_point else kept
