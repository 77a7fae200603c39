"""Weight rounding that minimizes the error of a layer's outputs: GPTQ, AdaRound, and weights for 16-bit sums."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64, signs

# GPTQ and coordinate descent: quantized weights that minimize the error of a layer's products.
#
# A contraction computes `W x` for rows `x` of its input. With `H` the mean of `x x^T`, the squared error of the
# products for quantized weights ("codes") `C` with scales ("steps") `S` is `sum((C S - W) H (C S - W)^T)`. Rounding
# each weight to the nearest code minimizes the error of the weights, not this one. Weights are `[channels, terms]`
# here, second moments `[terms, terms]`.

DAMPING = 0.01
"""The damping of second moments, as a fraction of the mean of their diagonal (Frantar et al., 2023, 3.3)."""

FLOATS_SHARE = 0.25
"""The weight of the GPTAQ term, as in the authors' code. The whole term shrinks weights layer after layer if the data
is noisy: a ResNet-8 with 4-bit weights has 25.3 dB without the term, 25.9 dB with a quarter of it and 25.2 dB with all
of it; with 4-bit activations, 13.8, 13.8 and 12.5 dB. The digits CNN has 19.2, 21.4 and 22.1 dB; 12.2, 12.4 and 12.5
dB.
"""

SWEEPS = 4
"""Sweeps of the coordinate descent: on 40 layers with 4 bits, a fifth sweep changes the error by less than 0.2%."""

_BLOCK = 64
"""The number of terms per block; one matrix product propagates the errors of a block to the later terms."""

_SOLVED = 256
"""The number of unknowns per block of a triangular solve; the rest of the work is done by matrix products."""


@dataclass(frozen=True, eq=False)
class DampedFactors:
    """Damped second moments `[terms, terms]`, factored as `R R^T` with upper triangular `R` and sorted terms.

    GPTQ and the inverse in `compensated` share these factors. Terms with large second moments come first. A Cholesky
    factorization takes a third of `terms^3` multiply-adds, a sixth of those of an inverse.
    """

    order: npt.NDArray[np.intp]
    upper: F64
    """The factor `R`, with its terms in `order`."""

    @classmethod
    def of(cls, moments: Array, damping: float = DAMPING) -> "DampedFactors":
        """Factorizes `moments` after adding `damping` times the mean of the diagonal (1 if that is 0) to the diagonal.

        Raises `numpy.linalg.LinAlgError` if the damped moments are not positive definite.
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
        """`R` with a unit diagonal: each column divided by its diagonal element."""
        return self.upper / np.diagonal(self.upper)

    def solved(self, rows: Array) -> F64:
        """Solves `X H = rows` for `X`, where `H` are the damped moments.

        `X` and `rows` have shape `[channels, terms]`, with terms in the order of the moments.
        """
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
    """The limits on codes without zero points, and the scales ("steps") of codes: arrays `[channels, terms]`."""

    steps: F64
    low: F64
    high: F64
    is_signed: bool = field(default=False, kw_only=True)
    """True if the only codes are -1 and 1, without 0."""

    def nearest(self, weights: Array) -> F64:
        """Returns the nearest code for each weight; ties round to even."""
        numbers = weights / self.steps
        return np.asarray(signs(numbers)) if self.is_signed else np.clip(np.rint(numbers), self.low, self.high)

    def limits(self, codes: Array, term: int) -> tuple[F64, F64]:
        """Returns the lowest and highest code of `term` in each channel, given the `codes` of the other terms."""
        return self.low[:, term], self.high[:, term]

    def rounded(self, numbers: Array, codes: Array, term: int) -> F64:
        """Returns the code of `term` nearest to `numbers` (in steps, one per channel), given the other `codes`."""
        return np.asarray(signs(numbers)) if self.is_signed else np.clip(np.rint(numbers), *self.limits(codes, term))

    def scaled(self, share: float) -> Self:
        """Returns this grid with its steps multiplied by `share`."""
        return replace(self, steps=self.steps * share)

    def permuted(self, order: Array) -> Self:
        """Returns this grid with its terms permuted by `order`, and the channels of a term contiguous."""
        steps, low, high = (each.T[order].T for each in (self.steps, self.low, self.high))
        return replace(self, steps=steps, low=low, high=high)


def error(weights: Array, codes: Array, grid: CodeGrid, moments: Array) -> float:
    """Returns the squared error of the products with `codes`, summed over channels and averaged over rows."""
    off = codes * grid.steps - weights
    return float(np.sum(_pull(off, moments) * off))


def _pull(off: Array, moments: Array) -> Array:
    """`off H`; moments of rank 1 (`[terms]`) are the diagonal of `H` for uncorrelated terms."""
    return off * moments if moments.ndim == 1 else off @ moments


def settled(
    weights: Array, grid: CodeGrid, moments: Array, *, sweeps: int = SWEEPS, factors: DampedFactors | None = None
) -> tuple[F64, float, float]:
    """Quantizes weights by GPTQ and coordinate descent, or to the nearest codes if these have a smaller error.

    Returns the codes, their error, and the error of the nearest codes. If `moments` is diagonal (`[terms]`), no term
    can compensate for another, so the nearest codes are optimal. `factors` are the factors of `moments`, if already
    computed.
    """
    nearest = grid.nearest(weights)
    before = error(weights, nearest, grid, moments)
    if moments.ndim == 1:
        return nearest, before, before
    found = descend(weights, gptq(weights, grid, moments, factors=factors), grid, moments, sweeps=sweeps)
    after = error(weights, found, grid, moments)
    return (found, after, before) if after < before else (nearest, before, before)


def gptq(weights: Array, grid: CodeGrid, moments: Array, *, factors: DampedFactors | None = None) -> F64:
    """Quantizes weights by GPTQ: rounds one term at a time and compensates for its error in the later terms.

    This is algorithm 1 of Frantar et al., GPTQ, ICLR 2023, without computing an inverse. With `H = R R^T`, `R` upper
    triangular, the error of the products is the sum over the terms `q` of `(R_qq (e_q + sum_(j<q) e_j R_jq / R_qq))^2`,
    where `e` is `W` minus the dequantized codes. So each term is rounded from `w_q + sum_(j<q) e_j R_jq / R_qq`, which
    yields the codes of the original algorithm (Chee et al., QuIP, 2023, theorem 6). Terms with large second moments are
    rounded first. A term that is 0 in all samples takes its nearest code. `factors` are the factors of `moments`, if
    already computed.
    """
    factors = factors or DampedFactors.of(moments)
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
    """Returns weights `W*` whose products with quantized data `x~` best match those of `weights` with float data `x`.

    Codes near `W*` also compensate for the error of earlier layers (Li et al., GPTAQ, 2025: the term in `x - x~`):
    `E |W~ x~ - W x|^2` is `(W~ - W*) H (W~ - W*)^T` plus a constant, with `H` the mean of `x~ x~^T`, `C` that of
    `x x~^T`, and `W* = W C H^-1 = W + W (C - H) H^-1`. The inverse is damped, so that directions with little data
    change little. `share` scales the last term of the sum. `factors` are the factors of `moments`, if already computed.
    """
    if cross is moments or np.array_equal(cross, moments):
        return weights.astype(np.float64)
    factors = factors or DampedFactors.of(moments)
    return weights + share * factors.solved(weights @ (cross - moments))


def descend(weights: Array, codes: Array, grid: CodeGrid, moments: Array, *, sweeps: int = SWEEPS) -> F64:
    """Improves `codes` by coordinate descent: each of `sweeps` passes sets every code to its optimum given the others.

    No step increases the squared error of the products (Behdin et al., QuantEase, 2023). With `C` the codes, `S` their
    scales and `H` the moments, the unrounded optimum of term `q` given the others is `w_q - ((C S - W) H)_q / H_qq`,
    where the contribution of term `q` itself is left out of the product.
    """
    terms, moments = weights.shape[1], moments.astype(np.float64)
    # All channels of a term are contiguous here: `[terms, channels]`.
    found, ordered = codes.T.astype(np.float64), grid.permuted(np.arange(terms, dtype=np.intp))
    off = found * ordered.steps.T - weights.T
    alive = np.diagonal(moments) > 0
    for _ in range(sweeps):
        is_changed = False
        for block in _blocks(terms, _BLOCK):
            own = moments[block, block]
            pull = moments[block] @ off
            for at in np.flatnonzero(alive[block]):
                position = block.start + int(at)
                steps = ordered.steps[:, position]
                best = found[position] - (pull[at] / own[at, at]) / steps
                chosen = ordered.rounded(best, found.T, position)
                change = (chosen - found[position]) * steps
                if change.any():
                    is_changed = True
                    found[position] = chosen
                    off[position] += change
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
    """Returns, for each group of weights, the scale factor that minimizes the error of the products: `[groups]`.

    `groups` holds the group index of each weight, `[channels, terms]`, and `shares` the candidate factors. A candidate
    is evaluated with the nearest codes, or with those of GPTQ if `factors` of the moments are given. All groups of a
    channel try the same factor at once, and each group is judged by its part of the error.
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


# AdaRound: learns for each weight whether to round up or down from the error of the layer's output.
#
# A layer computes `f(W x + b)` with a piecewise linear activation `f`. The codes of its weights are `floor(W / S) + h`
# with `h = clip(1.2 sigmoid(v) - 0.1, 0, 1)` for one variable `v` each; gradient descent minimizes
#
#     E |f(W~ x~ + b~) - f(W x + b)|^2 + lambda sum(1 - |2 h - 1|^beta)
#
# where `beta` falls from 20 to 2, so that each `h` ends as 0 or 1 (Nagel et al., Up or Down? Adaptive Rounding for
# Post-Training Quantization, ICML 2020, equations 21 to 25). `x~` is the layer input in the quantized program and `x`
# that in the float model. Without an activation the error depends only on `W~` and second moments.
#
# The method is deterministic: batches are equally spaced rows. Weights are `[groups, channels, terms]`, rows of data
# `[groups, rows, terms]`. Channels are independent, so each one keeps the best codes known for it.

F32 = npt.NDArray[np.float32]

STEPS = 500
"""Number of gradient descent steps."""

_RATE = 0.05
"""Adam's initial step size. The variables `v` have a magnitude of about 2.4 when `h` is 0 or 1."""

_BATCH = 1024
"""The number of rows per step."""

_WARM = 0.2
"""The fraction of the steps that run before the regularizer starts to pull `h` towards 0 or 1, as in the paper."""

_PULL = 8.0
"""The regularizer weight `lambda`, multiplied by the number of weights; the error is relative to that of the known
codes.
"""

PULL_TOGETHER = 40.0
"""The regularizer weight `lambda` for several weight tensors with a common error. With a smaller value, many weights
are still undecided after the last step: on a ResNet-8 with 4-bit weights and 500 steps, the first block ends 1 to 2 dB
worse than it began with a value of 8, and unchanged with 40.
"""

_BETAS = 20.0, 2.0


@dataclass(frozen=True)
class PiecewiseLinear:
    """A piecewise linear activation: `z` between `low` and `high`, `low + slope (z - low)` below, `high` above."""

    low: float = -math.inf
    high: float = math.inf
    slope: float = 0.0

    def of(self, sums: Array) -> Array:
        """Applies the activation to `sums`."""
        below = np.minimum(sums - self.low, 0) * self.slope if self.slope else 0
        return np.clip(sums, self.low, self.high) + below

    def slopes(self, sums: Array) -> Array:
        """The derivative of the activation at `sums`."""
        inside = ((sums > self.low) & (sums < self.high)).astype(sums.dtype)
        return inside + (sums <= self.low) * sums.dtype.type(self.slope) if self.slope else inside


@dataclass(frozen=True)
class HessianLoss:
    """The error of a layer without an activation, from second moments `[groups, terms, terms]`."""

    wanted: F64
    """The float weights, whose error is 0."""

    moments: F64

    def errors(self, weights: F64) -> F64:
        """Returns the mean squared error of each channel."""
        off = weights - self.wanted
        return np.sum((off @ self.moments) * off, -1)

    def gradient(self, weights: F64, step: int) -> F64:
        """Returns the derivative of the error on all rows; it does not depend on `step`."""
        return 2 * (weights - self.wanted) @ self.moments

    @property
    def multiply_adds(self) -> int:
        """The multiply-adds of one gradient evaluation."""
        return self.wanted.size * self.wanted.shape[-1]


@dataclass(frozen=True)
class SampleLoss:
    """The error of a layer with an activation, evaluated on rows of its data."""

    rows: F32
    """The quantized layer's input, `[groups, rows, terms]`."""

    sums: F32
    """The float layer's output before its activation, `[groups, rows, channels]`."""

    bias: F32
    """The bias of the quantized layer, `[groups, 1, channels]`."""

    activation: PiecewiseLinear

    def _sums(self, weights: F64, rows: F32) -> F32:
        return rows @ weights.astype(np.float32).swapaxes(1, 2) + self.bias

    def errors(self, weights: F64) -> F64:
        """Returns the mean squared error of each channel."""
        off = self.activation.of(self._sums(weights, self.rows)) - self.activation.of(self.sums)
        return np.square(off, dtype=np.float64).mean(1)

    def gradient(self, weights: F64, step: int) -> F64:
        """Returns the derivative of the error on equally spaced rows, starting from a row that depends on `step`."""
        stride = max(1, self.rows.shape[1] // _BATCH)
        rows, sums = (each[:, step % stride :: stride] for each in (self.rows, self.sums))
        found = self._sums(weights, rows)
        off = (self.activation.of(found) - self.activation.of(sums)) * self.activation.slopes(found)
        return ((off.swapaxes(1, 2) @ rows) * (2 / rows.shape[1])).astype(np.float64)

    @property
    def multiply_adds(self) -> int:
        """The multiply-adds of one gradient evaluation, forward and backward."""
        groups, rows, terms = self.rows.shape
        stride = max(1, rows // _BATCH)
        return 2 * groups * self.sums.shape[-1] * terms * -(-rows // stride)


Objective = HessianLoss | SampleLoss
"""The error of a layer's output for given weights, channel by channel."""


class SoftCodes:
    """Relaxed codes: each is a float between its two neighboring codes, optimized by gradient descent.

    `v` is initialized so that `h` reproduces each weight exactly (equation 23 without rounding).
    """

    def __init__(self, wanted: F64, grid: CodeGrid) -> None:
        self._low = grid.low if grid.is_signed else np.clip(np.floor(wanted / grid.steps), grid.low, grid.high)
        # The width is 0 at the largest code.
        self._width = np.minimum(self._low + (2 if grid.is_signed else 1), grid.high) - self._low
        share = np.clip((wanted / grid.steps - self._low) / np.maximum(self._width, 1), 0.01, 0.99)
        self._v = -np.log(1.2 / (share + 0.1) - 1)
        self._sigmoid = 1 / (1 + np.exp(-self._v))
        self._moments = np.zeros_like(self._v), np.zeros_like(self._v)

    @property
    def size(self) -> int:
        """The number of weights."""
        return self._v.size

    def now(self) -> F64:
        """Returns the current relaxed codes."""
        return self._low + self._h() * self._width

    def descend(self, gradient: F64, step: int, steps: int, pull_to_ends: float) -> None:
        """Takes one Adam step along the gradient of the regularizer and `gradient`, that of the error for the codes."""
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
        """Returns, for each weight, the neighboring code that its relaxed code is closer to."""
        return np.where(1.2 * self._sigmoid - 0.1 >= 0.5, self._low + self._width, self._low)

    def _h(self) -> F64:
        return np.clip(1.2 * self._sigmoid - 0.1, 0, 1)


def adaround(wanted: F64, known: F64, grid: CodeGrid, objective: Objective, *, steps: int = STEPS) -> F64:
    """Rounds the weights `wanted` by AdaRound. Channels whose error does not decrease keep the codes of `known`."""
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
    """Runs AdaRound on several weight tensors with a common error; `unit` is the error of the known codes.

    `gradients(codes, step)` returns the derivatives of the error with respect to the relaxed codes. `pull` is the
    regularizer weight `lambda`.
    """
    soft = [SoftCodes(*each) for each in zip(wanted, grids, strict=True)]
    scale = sum(each.size for each in soft) / unit if unit > 0 else 0.0
    for step in range(steps):
        found = gradients([each.now() for each in soft], step)
        for each, gradient in zip(soft, found, strict=True):
            each.descend(scale * gradient, step, steps, pull)
    return [each.settled() for each in soft]


def best_of(codes: tuple[F64, ...], grid: CodeGrid, objective: Objective) -> F64:
    """Returns, for each channel, the candidate codes with the smallest error; the first one wins a tie."""
    errors = np.stack([objective.errors(each * grid.steps) for each in codes])
    return np.take_along_axis(np.stack(codes), errors.argmin(0)[None, ..., None], 0)[0]


# Weights whose partial sums fit in 16 bits, so that instructions with saturating sums are exact.
#
# An instruction that multiplies bytes and adds adjacent products in 16 bits (`vpmaddubsw`) is exact for every input of
# 0 to 255 if the positive weights of each sum add up to at most 128, and the negative ones to at least -128: 255 * 128
# is 32640. The array `sums` maps each term to the sum it belongs to; `rounded_weights` derives it from the loop order.


@dataclass(frozen=True)
class ShortGrid(CodeGrid):
    """A grid that limits the total magnitude of the codes of each sign to `reach` in each sum."""

    sums: Array
    """The index of the sum that each term belongs to, `[terms]`."""

    reach: int

    @cached_property
    def members(self) -> Array:
        """The indices of the terms of each sum, `[sums, most]`, padded with `len(self.sums)`."""
        terms = len(self.sums)
        order = np.argsort(self.sums, kind="stable")
        _, position, counts = np.unique(self.sums[order], return_index=True, return_counts=True)
        found = np.full((len(counts), int(counts.max(initial=0))), terms)
        for column in range(found.shape[1]):
            there = counts > column
            found[there, column] = order[position[there] + column]
        return found

    @cached_property
    def _beside(self) -> list[Array]:
        """For each term, the other terms of its sum."""
        found: list[Array] = [np.empty(0, np.int64)] * len(self.sums)
        for row in self.members:
            own = row[row < len(self.sums)]
            for term in own:
                found[term] = own[own != term]
        return found

    def limits(self, codes: Array, term: int) -> tuple[F64, F64]:
        """Returns the range that the other terms of the sum leave for the code of `term` in each channel."""
        others = codes[:, self._beside[term]]
        low = -self.reach - np.minimum(others, 0).sum(axis=1)
        high = self.reach - np.maximum(others, 0).sum(axis=1)
        return np.maximum(self.low[:, term], np.minimum(low, 0)), np.minimum(self.high[:, term], np.maximum(high, 0))

    def accepts(self, codes: Array) -> bool:
        """Returns true if all sums of `codes` stay within `reach`."""
        padded = np.concatenate([codes, np.zeros((len(codes), 1))], axis=1)[:, self.members]
        return all(bool((np.maximum(each, 0).sum(axis=2) <= self.reach).all()) for each in (padded, -padded))

    def permuted(self, order: Array) -> Self:
        """Returns this grid with its terms permuted by `order`."""
        return replace(super().permuted(order), sums=self.sums[order])

    def nearest(self, weights: Array) -> F64:
        """Returns the nearest codes whose sums stay within `reach`; all terms of a sum must have the same scale."""
        codes = super().nearest(weights)
        for sign in (1, -1):
            self._shorten(codes, weights / self.steps, sign)
        return np.clip(codes, self.low, self.high) + 0.0  # none is -0

    def _shorten(self, codes: F64, wanted: F64, sign: int) -> None:
        """Replaces, in place, the codes of one sign in each sum that exceeds `reach` by the nearest ones that fit."""
        padding = np.zeros((len(codes), 1))
        own = np.maximum(np.concatenate([codes * sign, padding], axis=1)[:, self.members], 0)
        channel, position = np.nonzero(own.sum(axis=2) > self.reach)
        if not len(channel):
            return
        terms = self.members[position]
        exact = np.concatenate([wanted * sign, padding], axis=1)[channel[:, None], terms]
        is_own = own[channel, position] > 0
        found = _with_total(np.where(is_own, exact, -np.inf), self.reach)
        row, column = np.nonzero(is_own)
        codes[channel[row], terms[row, column]] = sign * found[row, column]


@dataclass(frozen=True)
class AccumulatorGrid(CodeGrid):
    """A grid that keeps the sums of products and biases of each channel in `bits` bits; its steps have one scale each.

    With positive codes of total P and negative ones of total -N, data in `[-l, h]` and a bias b, partial sums lie
    between `-(l P + h N) + min(b, 0)` and `h P + l N + max(b, 0)`. Multiplying P and N by one factor divides both.
    """

    data: tuple[int, int]
    """The limits of the centered data; 0 is within them."""

    least: F64
    most: F64
    """The smallest (at most 0) and the largest bias of each channel (at least 0), divided by the scale of the data."""

    bits: int

    def nearest(self, weights: Array) -> F64:
        """Returns the nearest codes with sums of `bits` bits; if no code is 0, or the bias is too large, others."""
        codes = super().nearest(weights)
        if self.is_signed:
            return codes
        for channel, (row, step) in enumerate(zip(codes, self.steps[:, 0], strict=True)):
            positive, negative = (int(np.maximum(sign * row, 0).sum()) for sign in (1, -1))
            fitting = self._kept(positive, negative, channel, step)
            for sign, total, kept in zip((1, -1), (positive, negative), fitting, strict=True):
                if kept < total:
                    own = np.flatnonzero(sign * row > 0)
                    exact = sign * weights[channel, own][None] / step
                    row[own] = sign * _with_total(exact, kept)[0] if kept else 0
        return np.clip(codes, self.low, self.high) + 0.0  # none is -0

    def _kept(self, positive: int, negative: int, channel: int, step: float) -> tuple[int, int]:
        """Returns the largest totals P and N, in about the given proportion, with which the sums of a channel fit."""
        limit, low, high = 1 << (self.bits - 1), -self.data[0], self.data[1]
        above, below = (  # the cast of the bias divides in f32, and rounds
            math.ceil(abs(bias[channel] / step) * (1 + 2**-20)) + bool(bias[channel])
            for bias in (self.most, self.least)
        )
        rooms = max(limit - 1 - above, 0), max(limit - below, 0)
        sums = high * positive + low * negative, low * positive + high * negative
        room, worst = max(zip(rooms, sums, strict=True), key=lambda end: end[1] / (end[0] + 0.5))
        if worst <= room:
            return positive, negative

        def largest(total: int, other: int, own: tuple[int, int], others: tuple[int, int]) -> int:
            ends = zip(rooms, own, others, strict=True)
            return min(total, *((room - taken * other) // each for room, each, taken in ends if each))

        kept = largest(positive, negative * room // worst, (high, low), (low, high))
        return kept, largest(negative, kept, (low, high), (high, low))


def _with_total(numbers: Array, total: int) -> Array:
    """Returns the nearest nonnegative integers with sum `total` to each row of `numbers`, whose rounded sum is larger.

    The nearest real numbers with this sum are all smaller by one amount, or 0 (projection onto a simplex: Duchi et al.,
    ICML 2008). Rounding them changes each by less than one; those rounded furthest are corrected.
    """
    ordered = -np.sort(-numbers, axis=1)
    count = 1 + np.arange(int(numbers.shape[1]))
    with np.errstate(invalid="ignore"):  # the entries after the last number are infinite, and none exceeds 0
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
