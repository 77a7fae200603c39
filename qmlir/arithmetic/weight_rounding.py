"""Codes of weights whose products have a small error, where the nearest codes do not give the smallest one.

A contraction computes `W x` for rows `x` of its input. With `H`, the mean of `x x^T`, the squared error of the products
of codes `C` times steps `S` is `sum((C S - W) H (C S - W)^T)`: that of the products, not that of the weights. Weights
are `[channels, terms]` here, second moments `[terms, terms]`.
"""

from dataclasses import dataclass, field, replace
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
"""So many terms are chosen with one product for all the terms that come after them."""


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
        """The grid of terms in another order."""
        return replace(self, steps=self.steps[:, order], low=self.low[:, order], high=self.high[:, order])


def error(weights: Array, codes: Array, grid: CodeGrid, moments: Array) -> float:
    """The squared error of the products of `codes`, a sum over the channels, mean over the rows."""
    off = codes * grid.steps - weights
    return float(np.sum(_pull(off, moments) * off))


def _pull(off: Array, moments: Array) -> Array:
    """`off H`, where second moments may be those of terms that have nothing to do with each other: `[terms]`."""
    return off * moments if moments.ndim == 1 else off @ moments


def settled(
    weights: Array, grid: CodeGrid, moments: Array, *, damping: float = DAMPING, sweeps: int = SWEEPS
) -> tuple[F64, float, float]:
    """The codes of GPTQ after a descent, or the nearest ones where these are better; the error of those, and of these.

    Second moments `[terms]` have nothing that makes up for anything: the nearest codes are the best.
    """
    nearest = grid.nearest(weights)
    before = error(weights, nearest, grid, moments)
    if moments.ndim == 1:
        return nearest, before, before
    found = descend(weights, gptq(weights, grid, moments, damping=damping), grid, moments, sweeps=sweeps)
    after = error(weights, found, grid, moments)
    return (found, after, before) if after < before else (nearest, before, before)


def gptq(weights: Array, grid: CodeGrid, moments: Array, *, damping: float = DAMPING) -> F64:
    """The codes of GPTQ: one term after the other is rounded, and those to come make up for its error.

    Frantar et al., GPTQ, ICLR 2023, algorithm 1: with the upper Cholesky factor `U` of the inverse of `H`, the error
    `e = (w_q - S c_q) / U_qq` of a term is taken from the terms after it as `e U_q`. Terms with large second moments
    are rounded first. What was never anything but 0 in the samples has its nearest code.
    """
    diagonal = np.diagonal(moments)
    order = np.argsort(-diagonal, kind="stable")
    left, ordered = weights[:, order].astype(np.float64), grid.permuted(order)
    damped = moments[np.ix_(order, order)].astype(np.float64)
    extra = damping * float(diagonal.mean())
    damped[np.diag_indices_from(damped)] += extra if extra > 0 else 1.0
    upper = np.linalg.cholesky(np.linalg.inv(damped)).T
    codes = np.zeros_like(left)
    terms = len(order)
    for first in range(0, terms, _BLOCK):
        last = min(first + _BLOCK, terms)
        errors = np.empty((len(left), last - first))
        for at in range(first, last):
            codes[:, at] = ordered.rounded(left[:, at] / ordered.steps[:, at], codes, at)
            errors[:, at - first] = (left[:, at] - codes[:, at] * ordered.steps[:, at]) / upper[at, at]
            left[:, at + 1 : last] -= np.outer(errors[:, at - first], upper[at, at + 1 : last])
        left[:, last:] -= errors @ upper[first:last, last:]
    found = np.empty_like(codes)
    found[:, order] = codes
    return found


def compensated(
    weights: Array, moments: Array, cross: Array, *, damping: float = DAMPING, share: float = FLOATS_SHARE
) -> F64:
    """The floats `W*` whose products with quantized data `x~` are nearest to those of `weights` with float data `x`.

    Codes near `W*` make up for what the layers before have lost, too (Li et al., GPTAQ, 2025, whose term of `x - x~`
    this is): `E |W~ x~ - W x|^2` is `(W~ - W*) H (W~ - W*)^T` and a constant, with `H` the mean of `x~ x~^T`, `C` that
    of `x x~^T`, and `W* = W C H^-1 = W + W (C - H) H^-1`. The inverse is damped: what the data says little of stays.
    `share` is how much of the last term is taken.
    """
    if np.array_equal(cross, moments):
        return weights.astype(np.float64)
    damped = moments.astype(np.float64)
    extra = damping * float(np.diagonal(damped).mean())
    damped[np.diag_indices_from(damped)] += extra if extra > 0 else 1.0
    shift = np.linalg.solve(damped, (weights @ (cross - moments)).T).T
    return weights + (share * shift).astype(np.float64)


def descend(weights: Array, codes: Array, grid: CodeGrid, moments: Array, *, sweeps: int = SWEEPS) -> F64:
    """`codes` after `sweeps` over all terms, in each of which every code becomes the best one beside the others.

    Coordinate descent on the squared error of the products, which no step makes larger (Behdin et al., QuantEase,
    2023): the best number beside the others is `w_q - ((C S - W) H)_q / H_qq` less what the term itself adds.
    """
    found = codes.astype(np.float64)
    moments = moments.astype(np.float64)
    terms = weights.shape[1]
    alive = np.diagonal(moments) > 0
    for _ in range(sweeps):
        off = found * grid.steps - weights
        pull = off @ moments
        is_changed = False
        for first in range(0, terms, _BLOCK):
            last = min(first + _BLOCK, terms)
            block = moments[first:last, first:last]
            moved = np.zeros((len(found), last - first))
            for at in np.flatnonzero(alive[first:last]):
                place = first + int(at)
                steps = grid.steps[:, place]
                best = found[:, place] - (pull[:, place] / block[at, at]) / steps
                chosen = grid.rounded(best, found, place)
                change = (chosen - found[:, place]) * steps
                if np.any(change):
                    is_changed = True
                    found[:, place] = chosen
                    moved[:, at] = change
                    pull[:, first:last] += np.outer(change, block[at])
            pull[:, :first] += moved @ moments[first:last, :first]
            pull[:, last:] += moved @ moments[first:last, last:]
        if not is_changed:
            break
    return found


def scale_shares(weights: Array, grid: CodeGrid, moments: Array, groups: Array, shares: Array) -> F64:
    """For each group of weights the share of its steps with the smallest error of the products, `[groups]`.

    `groups` has the number of the group of each weight, `[channels, terms]`; codes are the nearest ones. Groups in one
    channel have one share when they are judged, and each is judged by its own part of the error.
    """
    count = int(groups.max()) + 1
    best = np.full(count, np.inf)
    chosen = np.ones(count)
    for share in shares:
        tried = grid.scaled(share)
        off = tried.nearest(weights) * tried.steps - weights
        own = np.bincount(groups.reshape(-1), (_pull(off, moments) * off).reshape(-1), count)
        is_better = own < best
        best[is_better], chosen[is_better] = own[is_better], share
    return chosen
