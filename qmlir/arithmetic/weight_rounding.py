"""Codes of weights whose products have a small error, where the nearest codes do not give the smallest one.

A contraction computes `W x` for rows `x` of its input. With `H`, the mean of `x x^T`, the squared error of the products
of codes `C` times steps `S` is `sum((C S - W) H (C S - W)^T)`: that of the products, not that of the weights. Weights
are `[channels, terms]` here, second moments `[terms, terms]`.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.few_levels import signs

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
