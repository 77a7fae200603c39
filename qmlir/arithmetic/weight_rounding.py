"""Rounding of weights by the error of a layer's outputs: GPTQ, AdaRound, and sums that fit an accumulator."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.arithmetic.schemes import signs

# Codes of weights whose products have a small error, where the nearest codes do not give the smallest one.
#
# A contraction computes `W x` for rows `x` of its input. With `H`, the mean of `x x^T`, the squared error of the
# products of codes `C` times steps `S` is `sum((C S - W) H (C S - W)^T)`: that of the products, not that of the
# weights. Weights are `[channels, terms]` here, second moments `[terms, terms]`.

F64 = npt.NDArray[np.float64]

DAMPING = 0.01
"""The share of the mean of its diagonal that is added to that of second moments (Frantar et al., 2023, 3.3)."""

FLOATS_SHARE = 0.25
"""How much of the term of GPTAQ is taken, as its authors do. The whole term makes weights smaller where the data is
noisy, layer after layer: a ResNet-8 of 4-bit weights has 25.3 dB without it, 25.9 with a quarter, 25.2 with all of it,
and with 4-bit activations 13.8, 13.8 and 12.5 dB; the digits CNN 19.2, 21.4 and 22.1 dB, and 12.2, 12.4 and 12.5."""

SWEEPS = 4
"""How often each code is chosen anew: of 40 layers with 4 bits a fifth sweep changes the error by less than .2%."""

_BLOCK = 64
"""So many terms are chosen with one product for all that the others say of them."""

_SOLVED = 256
"""So many unknowns of triangular equations are solved at a time: what is left of the work are products."""


@dataclass(frozen=True, eq=False)
class DampedFactors:
    """Damped second moments `[terms, terms]`, terms with large ones first, as `R R^T` with an upper triangular `R`.

    Both GPTQ and the inverse of `compensated` go by these factors. The order is that of the diagonal. A Cholesky
    factor takes a third of `terms^3` multiply-adds, where an inverse takes six times as many.
    """

    order: npt.NDArray[np.intp]
    upper: F64
    """`R`, in this order."""

    @classmethod
    def of(cls, moments: Array, damping: float = DAMPING) -> "DampedFactors":
        """Those of `moments`, with the share `damping` of the mean of the diagonal added to it, or 1 where that is 0.

        Raises `numpy.linalg.LinAlgError` where they are not positive definite.
        """
        diagonal = np.diagonal(moments)
        order = np.argsort(-diagonal, kind="stable")
        reverse = order[::-1]
        damped = moments[np.ix_(reverse, reverse)].astype(np.float64)
        extra = damping * float(diagonal.mean())
        damped[np.diag_indices_from(damped)] += extra if extra > 0 else 1.0
        return cls(order, np.linalg.cholesky(damped)[::-1, ::-1].astype(np.float64, copy=False))

    @cached_property
    def unit(self) -> F64:
        """`R` with ones on its diagonal: each column divided by that of the term."""
        return self.upper / np.diagonal(self.upper)

    def solved(self, rows: Array) -> F64:
        """`X` with `X H = rows`, both `[channels, terms]` in the order of the moments, and `H` the damped ones."""
        wanted, upper = rows.T[self.order].astype(np.float64), self.upper
        blocks = _blocks(len(upper), _SOLVED)
        between, found = np.empty_like(wanted), np.empty_like(wanted)
        for at in reversed(blocks):  # R Y^T = rows^T
            known = upper[at, at.stop :] @ between[at.stop :]
            between[at] = np.linalg.solve(upper[at, at], wanted[at] - known)
        for at in blocks:  # R^T X^T = Y^T
            known = upper[: at.start, at].T @ found[: at.start]
            found[at] = np.linalg.solve(upper[at, at].T, between[at] - known)
        given = np.empty_like(found)
        given[self.order] = found
        return given.T


def _blocks(terms: int, size: int) -> list[slice]:
    return [slice(first, min(first + size, terms)) for first in range(0, terms, size)]


@dataclass(frozen=True)
class CodeGrid:
    """The codes that weights may have, without zero points, and what each of their steps is: `[channels, terms]`."""

    steps: F64
    low: F64
    high: F64
    is_signed: bool = field(default=False, kw_only=True)
    """Whether the codes are -1 and 1, without 0 between them."""

    def nearest(self, weights: Array) -> F64:
        """The nearest codes of weights; half-way cases to even."""
        numbers = weights / self.steps
        return np.asarray(signs(numbers)) if self.is_signed else np.clip(np.rint(numbers), self.low, self.high)

    def limits(self, codes: Array, term: int) -> tuple[F64, F64]:
        """The lowest and the highest code of `term` in each channel, beside the `codes` of the others."""
        return self.low[:, term], self.high[:, term]

    def rounded(self, numbers: Array, codes: Array, term: int) -> F64:
        """The nearest codes of `term` to `numbers` of steps, one for each channel, beside the `codes` of the others."""
        return np.asarray(signs(numbers)) if self.is_signed else np.clip(np.rint(numbers), *self.limits(codes, term))

    def scaled(self, share: float) -> Self:
        """The same codes with other steps."""
        return replace(self, steps=self.steps * share)

    def permuted(self, order: Array) -> Self:
        """The grid of terms in another order; the channels of a term lie side by side."""
        steps, low, high = (each.T[order].T for each in (self.steps, self.low, self.high))
        return replace(self, steps=steps, low=low, high=high)


def error(weights: Array, codes: Array, grid: CodeGrid, moments: Array) -> float:
    """The squared error of the products of `codes`, a sum over the channels, mean over the rows."""
    off = codes * grid.steps - weights
    return float(np.sum(_pull(off, moments) * off))


def _pull(off: Array, moments: Array) -> Array:
    """`off H`, where second moments may be those of terms that have nothing to do with each other: `[terms]`."""
    return off * moments if moments.ndim == 1 else off @ moments


def settled(
    weights: Array, grid: CodeGrid, moments: Array, *, sweeps: int = SWEEPS, factors: DampedFactors | None = None
) -> tuple[F64, float, float]:
    """The codes of GPTQ after a descent, or the nearest ones where these are better; the error of those, and of these.

    Second moments `[terms]` have nothing that makes up for anything: the nearest codes are the best. `factors` are
    those of `moments`, where they are known.
    """
    nearest = grid.nearest(weights)
    before = error(weights, nearest, grid, moments)
    if moments.ndim == 1:
        return nearest, before, before
    begun = gptq(weights, grid, moments, factors=factors)
    found = descend(weights, begun, grid, moments, sweeps=sweeps)
    after = error(weights, found, grid, moments)
    return (found, after, before) if after < before else (nearest, before, before)


def gptq(weights: Array, grid: CodeGrid, moments: Array, *, factors: DampedFactors | None = None) -> F64:
    """The codes of GPTQ: one term after the other is rounded, and those to come make up for its error.

    Frantar et al., GPTQ, ICLR 2023, algorithm 1, without its inverse. With `H = R R^T`, `R` upper triangular, the error
    of the products is the sum over the terms `q` of `(R_qq (e_q + sum_(j<q) e_j R_jq / R_qq))^2`, where `e` is `W` less
    the floats of the codes. So each term is rounded at `w_q + sum_(j<q) e_j R_jq / R_qq`: those are the same codes
    (Chee et al., QuIP, 2023, theorem 6). Terms with large second moments are rounded first. What was never anything but
    0 in the samples has its nearest code. `factors` are those of `moments`, where they are known.
    """
    if factors is None:
        factors = DampedFactors.of(moments)
    order, unit = factors.order, factors.unit
    wanted, ordered = weights.T[order].astype(np.float64), grid.permuted(order)
    codes, off = np.zeros_like(wanted), np.zeros_like(wanted)
    for block in _blocks(len(order), _BLOCK):
        first = block.start
        pushed = wanted[block] + unit[:first, block].T @ off[:first]
        for at in range(first, block.stop):
            numbers = (pushed[at - first] + unit[first:at, at] @ off[first:at]) / ordered.steps[:, at]
            codes[at] = ordered.rounded(numbers, codes.T, at)
            off[at] = wanted[at] - codes[at] * ordered.steps[:, at]
    found = np.empty_like(codes)
    found[order] = codes
    return found.T


def compensated(
    weights: Array, moments: Array, cross: Array, *, share: float = FLOATS_SHARE, factors: DampedFactors | None = None
) -> F64:
    """The floats `W*` whose products with quantized data `x~` are nearest to those of `weights` with float data `x`.

    Codes near `W*` make up for what the layers before have lost, too (Li et al., GPTAQ, 2025, whose term of `x - x~`
    this is): `E |W~ x~ - W x|^2` is `(W~ - W*) H (W~ - W*)^T` and a constant, with `H` the mean of `x~ x~^T`, `C` that
    of `x x~^T`, and `W* = W C H^-1 = W + W (C - H) H^-1`. The inverse is damped: what the data says little of stays.
    `share` is how much of the last term is taken. `factors` are those of `moments`, where they are known.
    """
    if cross is moments or np.array_equal(cross, moments):
        return weights.astype(np.float64)
    if factors is None:
        factors = DampedFactors.of(moments)
    return weights + share * factors.solved(weights @ (cross - moments))


def descend(weights: Array, codes: Array, grid: CodeGrid, moments: Array, *, sweeps: int = SWEEPS) -> F64:
    """`codes` after `sweeps` over all terms, in each of which every code becomes the best one beside the others.

    Coordinate descent on the squared error of the products, which no step makes larger (Behdin et al., QuantEase,
    2023): the best number beside the others is `w_q - ((C S - W) H)_q / H_qq` less what the term itself adds.
    """
    terms, moments = weights.shape[1], moments.astype(np.float64)
    # Of a term all channels lie side by side here: `[terms, channels]`.
    found, ordered = codes.T.astype(np.float64), grid.permuted(np.arange(terms, dtype=np.intp))
    off = found * ordered.steps.T - weights.T
    alive = np.diagonal(moments) > 0
    for _ in range(sweeps):
        is_changed = False
        for block in _blocks(terms, _BLOCK):
            own = moments[block, block]
            pull = moments[block] @ off
            for at in np.flatnonzero(alive[block]):
                place = block.start + int(at)
                steps = ordered.steps[:, place]
                best = found[place] - (pull[at] / own[at, at]) / steps
                chosen = ordered.rounded(best, found.T, place)
                change = (chosen - found[place]) * steps
                if change.any():
                    is_changed = True
                    found[place] = chosen
                    off[place] += change
                    pull += own[at][:, None] * change
        if not is_changed:
            break
    return found.T


def scale_shares(
    weights: Array,
    grid: CodeGrid,
    moments: Array,
    groups: Array,
    shares: Array,
    *,
    factors: DampedFactors | None = None,
) -> F64:
    """For each group of weights the share of its steps with the smallest error of the products, `[groups]`.

    `groups` has the number of the group of each weight, `[channels, terms]`; codes are the nearest ones, or those of
    GPTQ where `factors` of the moments are given. Groups in one channel have one share when they are judged, and each
    is judged by its own part of the error.
    """
    count = int(groups.max()) + 1
    best = np.full(count, np.inf)
    chosen = np.ones(count)
    for share in shares:
        tried = grid.scaled(share)
        codes = tried.nearest(weights) if factors is None else gptq(weights, tried, moments, factors=factors)
        off = codes * tried.steps - weights
        own = np.bincount(groups.reshape(-1), (_pull(off, moments) * off).reshape(-1), count)
        is_better = own < best
        best[is_better], chosen[is_better] = own[is_better], share
    return chosen


# Codes of weights by AdaRound: whether each weight is rounded up or down is learned from the error of what it is
# for.
#
# A layer computes `f(W x + b)`, with an activation `f` that is linear in pieces. Its weights become those of the
# codes `floor(W / S) + h` with `h = clip(1.2 sigmoid(v) - .1, 0, 1)` for a number `v` each, which goes down the
# gradient of
#
#     E |f(W~ x~ + b~) - f(W x + b)|^2 + lambda sum(1 - |2 h - 1|^beta)
#
# where `beta` falls from 20 to 2, so that each `h` ends as 0 or 1 (Nagel et al., Up or Down? Adaptive Rounding for
# Post-Training Quantization, ICML 2020, equations 21 to 25). `x~` is what the quantized program before the layer
# gives, and `x` what the float one gave. Without an activation the error depends on `W~` and second moments alone.
#
# Nothing is drawn: batches are rows at equal distances. Weights are `[groups, channels, terms]`, rows of data
# `[groups, rows, terms]`. Channels are independent of each other, so each has the best of the codes known for it.

F32 = npt.NDArray[np.float32]

STEPS = 500
"""Steps of the descent."""

_RATE = 0.05
"""What Adam's steps begin with, of numbers that are 2.4 where a weight is rounded to an end."""

_BATCH = 1024
"""Rows of one step."""

_WARM = 0.2
"""The share of the steps before anything draws `h` to 0 or 1, as in the paper."""

_PULL = 8.0
"""The `lambda`, where the error is a share of that of the known codes, times the number of weights."""

PULL_TOGETHER = 40.0
"""That of several weights with one error: with less, many are still on their way when the steps end. Measured on a
ResNet-8 with 4-bit weights, 500 steps: with 8 the first block ends 1 to 2 dB worse than it began, with 40 as it was."""

_BETAS = 20.0, 2.0


@dataclass(frozen=True)
class PiecewiseLinear:
    """`z` between two ends, `low + slope (z - low)` below, and `high` above."""

    low: float = -math.inf
    high: float = math.inf
    slope: float = 0.0

    def of(self, sums: Array) -> Array:
        """Its values."""
        below = np.minimum(sums - self.low, 0) * self.slope if self.slope else 0
        return np.clip(sums, self.low, self.high) + below

    def slopes(self, sums: Array) -> Array:
        """Its derivative."""
        inside = ((sums > self.low) & (sums < self.high)).astype(sums.dtype)
        return inside + (sums <= self.low) * sums.dtype.type(self.slope) if self.slope else inside


class Objective(Protocol):
    """The error of what a layer gives with some weights, channel by channel."""

    def errors(self, weights: F64) -> F64:
        """The error of each channel."""
        ...

    def gradient(self, weights: F64, step: int) -> F64:
        """Its derivative by the weights, on the batch of a step."""
        ...

    @property
    def multiply_adds(self) -> int:
        """Those of a gradient."""
        ...


@dataclass(frozen=True)
class ByMoments:
    """The error of a layer without an activation: that of the products, by second moments `[groups, terms, terms]`."""

    wanted: F64
    """Weights of floats whose error is 0."""

    moments: F64

    def errors(self, weights: F64) -> F64:
        """The mean squared error of each channel."""
        off = weights - self.wanted
        return np.sum((off @ self.moments) * off, -1)

    def gradient(self, weights: F64, step: int) -> F64:
        """Of all rows, whatever the step."""
        return 2 * (weights - self.wanted) @ self.moments

    @property
    def multiply_adds(self) -> int:
        """Those of a gradient."""
        return self.wanted.size * self.wanted.shape[-1]


@dataclass(frozen=True)
class ByRows:
    """The error of a layer with an activation, on rows of its data."""

    rows: F32
    """`[groups, rows, terms]`."""

    sums: F32
    """What the float layer gives before its activation, `[groups, rows, channels]`."""

    bias: F32
    """What the quantized layer adds, `[groups, 1, channels]`."""

    activation: PiecewiseLinear

    def _sums(self, weights: F64, rows: F32) -> F32:
        return rows @ weights.astype(np.float32).swapaxes(1, 2) + self.bias

    def errors(self, weights: F64) -> F64:
        """The mean squared error of each channel."""
        off = self.activation.of(self._sums(weights, self.rows)) - self.activation.of(self.sums)
        return np.square(off, dtype=np.float64).mean(1)

    def gradient(self, weights: F64, step: int) -> F64:
        """Of every n-th row."""
        stride = max(1, self.rows.shape[1] // _BATCH)
        rows, sums = (each[:, step % stride :: stride] for each in (self.rows, self.sums))
        found = self._sums(weights, rows)
        off = (self.activation.of(found) - self.activation.of(sums)) * self.activation.slopes(found)
        return ((off.swapaxes(1, 2) @ rows) * (2 / rows.shape[1])).astype(np.float64)

    @property
    def multiply_adds(self) -> int:
        """Those of a gradient: of the sums, and of the derivative by the weights."""
        groups, rows, terms = self.rows.shape
        stride = max(1, rows // _BATCH)
        return 2 * groups * self.sums.shape[-1] * terms * -(-rows // stride)


class SoftCodes:
    """Codes on their way to one of two neighbours each: floats between these, which go down a gradient.

    `v` begins where `h` gives each weight itself (equation 23 without rounding).
    """

    def __init__(self, wanted: F64, grid: CodeGrid) -> None:
        self._low = grid.low if grid.is_signed else np.clip(np.floor(wanted / grid.steps), grid.low, grid.high)
        # 0 where the largest code is reached.
        self._width = np.minimum(self._low + (2 if grid.is_signed else 1), grid.high) - self._low
        share = np.clip((wanted / grid.steps - self._low) / np.maximum(self._width, 1), 0.01, 0.99)
        self._v = -np.log(1.2 / (share + 0.1) - 1)
        self._sigmoid = 1 / (1 + np.exp(-self._v))
        self._moments = np.zeros_like(self._v), np.zeros_like(self._v)

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self._v.size

    def now(self) -> F64:
        """What they are now."""
        return self._low + self._h() * self._width

    def descend(self, gradient: F64, step: int, steps: int, pull_to_ends: float) -> None:
        """Go a step of Adam down `gradient`, that of the error by the codes, and towards 0 or 1."""
        sigmoid, h = self._sigmoid, self._h()
        pull = gradient * self._width
        done = (step / steps - _WARM) / (1 - _WARM)
        if done > 0:
            beta = _BETAS[1] + (_BETAS[0] - _BETAS[1]) * 0.5 * (1 + math.cos(math.pi * done))
            side = 2 * h - 1
            pull = pull - pull_to_ends * 2 * beta * np.sign(side) * np.abs(side) ** (beta - 1)
        own = np.where((h > 0) & (h < 1), pull * 1.2 * sigmoid * (1 - sigmoid), 0)
        first, second = self._moments
        first += 0.1 * (own - first)
        second += 0.001 * (np.square(own) - second)
        corrected = first / (1 - 0.9 ** (step + 1)), second / (1 - 0.999 ** (step + 1))
        self._v -= _RATE * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
        self._sigmoid = 1 / (1 + np.exp(-self._v))

    def settled(self) -> F64:
        """The nearer one of both for each weight."""
        return np.where(1.2 * self._sigmoid - 0.1 >= 0.5, self._low + self._width, self._low)

    def _h(self) -> F64:
        return np.clip(1.2 * self._sigmoid - 0.1, 0, 1)


def adaround(wanted: F64, known: F64, grid: CodeGrid, objective: Objective, *, steps: int = STEPS) -> F64:
    """Codes around the floats `wanted` with a small error by `objective`; those of `known` where these have less."""
    unit = float(np.sum(objective.errors(known * grid.steps)))

    def gradients(codes: Sequence[F64], step: int) -> Sequence[F64]:
        return [objective.gradient(codes[0] * grid.steps, step) * grid.steps]

    (found,) = adaround_together([wanted], [grid], gradients, unit, steps=steps, pull=_PULL)
    return best_of((known, found), grid, objective)


def adaround_together(
    wanted: Sequence[F64],
    grids: Sequence[CodeGrid],
    gradients: Callable[[Sequence[F64], int], Sequence[F64]],
    unit: float,
    *,
    steps: int,
    pull: float = PULL_TOGETHER,
) -> list[F64]:
    """Codes around the floats of several weights, by one error: `unit` with known codes, `gradients` by the codes.

    `gradients` takes the codes, which lie between two whole numbers, and the step; `pull` is the `lambda`.
    """
    soft = [SoftCodes(*each) for each in zip(wanted, grids, strict=True)]
    scale = sum(each.size for each in soft) / unit if unit > 0 else 0.0
    for step in range(steps):
        found = gradients([each.now() for each in soft], step)
        for each, gradient in zip(soft, found, strict=True):
            each.descend(scale * gradient, step, steps, pull)
    return [each.settled() for each in soft]


def best_of(codes: tuple[F64, ...], grid: CodeGrid, objective: Objective) -> F64:
    """For each channel the codes with the smallest error, the first of several."""
    errors = np.stack([objective.errors(each * grid.steps) for each in codes])
    return np.take_along_axis(np.stack(codes), errors.argmin(0)[None, ..., None], 0)[0]


# Codes of weights whose sums in 16 bits never saturate: those of each sum share what all of its weights may add up
# to.
#
# An instruction that multiplies bytes and adds neighbours in 16 bits (`vpmaddubsw`) is exact for every input of 0 to
# 255 if the positive weights of each sum add up to at most 128, and the negative ones to at least -128: 255 * 128 is
# 32640. Which terms are one sum is data here (`sums`): `qmlir.quantization.weights` has the order of the loops.

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
