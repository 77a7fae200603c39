"""Codes of weights by AdaRound: whether each weight is rounded up or down is learned from the error of what it is for.

A layer computes `f(W x + b)`, with an activation `f` that is linear in pieces. Its weights become those of the codes
`floor(W / S) + h` with `h = clip(1.2 sigmoid(v) - .1, 0, 1)` for a number `v` each, which goes down the gradient of

    E |f(W~ x~ + b~) - f(W x + b)|^2 + lambda sum(1 - |2 h - 1|^beta)

where `beta` falls from 20 to 2, so that each `h` ends as 0 or 1 (Nagel et al., Up or Down? Adaptive Rounding for
Post-Training Quantization, ICML 2020, equations 21 to 25). `x~` is what the quantized program before the layer gives,
and `x` what the float one gave. Without an activation the error depends on `W~` and second moments alone.

Nothing is drawn: batches are rows at equal distances. Weights are `[groups, channels, terms]`, rows of data
`[groups, rows, terms]`. Channels are independent of each other, so each has the best of the codes known for it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.weight_rounding import F64, CodeGrid

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
