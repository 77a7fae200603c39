"""Codes of weights whose sums in 16 bits never saturate: those of each sum share what all of its weights may add up to.

An instruction that multiplies bytes and adds neighbours in 16 bits (`vpmaddubsw`) is exact for every input of 0 to 255
if the positive weights of each sum add up to at most 128, and the negative ones to at least -128: 255 * 128 is 32640.
Which terms are one sum is data here (`sums`): `qmlir.quantization.short_sums` has the order of the loops.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.integers import integer_limits
from qmlir.arithmetic.weight_rounding import F64, CodeGrid

LARGEST_INPUT = 255
"""What is read of the data at most: bytes without a sign."""

NEIGHBOURS = 2
"""The products that one instruction adds."""

REACH = integer_limits(16)[1] // LARGEST_INPUT
"""What the weights of one sign in a sum may add up to: 128, as 255 * 128 is 32640, and 255 * 129 is 32895."""


@dataclass(frozen=True)
class ShortGrid(CodeGrid):
    """A grid whose codes of one sign add up to at most `reach` in each sum."""

    sums: Array
    """The number of the sum of each term, `[terms]`."""

    reach: int

    @cached_property
    def members(self) -> Array:
        """The terms of each sum, `[sums, most]`, where `terms` stands for none."""
        terms = len(self.sums)
        order = np.argsort(self.sums, kind="stable")
        _, place, counts = np.unique(self.sums[order], return_index=True, return_counts=True)
        found = np.full((len(counts), int(counts.max(initial=0))), terms)
        for column in range(found.shape[1]):
            there = counts > column
            found[there, column] = order[place[there] + column]
        return found

    @cached_property
    def _beside(self) -> list[Array]:
        """For each term the others of its sum."""
        found: list[Array] = [np.empty(0, np.int64)] * len(self.sums)
        for row in self.members:
            own = row[row < len(self.sums)]
            for term in own:
                found[term] = own[own != term]
        return found

    def limits(self, codes: Array, term: int) -> tuple[F64, F64]:
        """What the others of its sum leave of the range of each code of `term`."""
        others = codes[:, self._beside[term]]
        low = -self.reach - np.minimum(others, 0).sum(axis=1)
        high = self.reach - np.maximum(others, 0).sum(axis=1)
        return np.maximum(self.low[:, term], np.minimum(low, 0)), np.minimum(self.high[:, term], np.maximum(high, 0))

    def accepts(self, codes: Array) -> bool:
        """Whether all sums of `codes` fit."""
        padded = np.concatenate([codes, np.zeros((len(codes), 1))], axis=1)[:, self.members]
        return all(bool((limit(padded, 0).sum(axis=2) <= self.reach).all()) for limit in (np.maximum, _negative))

    def permuted(self, order: Array) -> Self:
        """The grid of terms in another order."""
        return replace(super().permuted(order), sums=self.sums[order])

    def nearest(self, weights: Array) -> F64:
        """The nearest codes whose sums fit; steps are alike in a sum."""
        codes = super().nearest(weights)
        for sign in (1, -1):
            self._shorten(codes, weights / self.steps, sign)
        return np.clip(codes, self.low, self.high) + 0.0  # none is -0

    def _shorten(self, codes: F64, wanted: F64, sign: int) -> None:
        """Give each sum whose codes of a sign are too large the nearest ones of that sign that fit, in place."""
        padding = np.zeros((len(codes), 1))
        own = np.maximum(np.concatenate([codes * sign, padding], axis=1)[:, self.members], 0)
        channel, place = np.nonzero(own.sum(axis=2) > self.reach)
        if not len(channel):
            return
        terms = self.members[place]
        exact = np.concatenate([wanted * sign, padding], axis=1)[channel[:, None], terms]
        is_own = own[channel, place] > 0
        found = _with_total(np.where(is_own, exact, -np.inf), self.reach)
        row, column = np.nonzero(is_own)
        codes[channel[row], terms[row, column]] = sign * found[row, column]


def _negative(numbers: Array, most: int) -> Array:
    """The sizes of those below `most`, 0 in place of the others."""
    return most - np.minimum(numbers, most)


def _with_total(numbers: Array, total: int) -> Array:
    """The nearest integers of 0 and more to each row of `numbers`, whose nearest integers add up to more than `total`.

    The nearest numbers with this sum are all the same amount smaller, or 0 (the projection on a simplex: Duchi et al.,
    ICML 2008). Rounded, they are off by less than one for each: those that were rounded the furthest go back.
    """
    ordered = -np.sort(-numbers, axis=1)
    count = 1 + np.arange(int(numbers.shape[1]))
    with np.errstate(invalid="ignore"):  # behind the last number are infinite ones, of which none is above 0
        less = (np.cumsum(ordered, axis=1) - total) / count
        last = np.sum(ordered > less, axis=1) - 1
    exact = numbers - np.maximum(less[np.arange(len(numbers)), last], 0)[:, None]
    found = np.maximum(np.rint(exact), 0)
    for step in (-1, 1):
        while len(rows := np.flatnonzero(step * (total - found.sum(axis=1)) > 0)):
            gain = step * (exact[rows] - found[rows])
            best = np.argmax(np.where((found[rows] > 0) | (step > 0), gain, -np.inf), axis=1)
            found[rows, best] += step
    return found
