"""Optimizers for training, and the freezing of weights that oscillate between two codes."""

from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass, field

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.training.choices import OptimizerKind

# Optimizers take parameters by name and their gradients, and return the parameters after a step.
#
# Gradients of scales are sums over whole tensors, so scales are always updated by Adam, which is invariant to the
# magnitude of gradients: the factor `1 / sqrt(N * qmax)` of LSQ (Esser et al., 2020) would change nothing. Scales that
# must stay positive are updated by their logarithms, like the thresholds of TQT (Jain et al., 2020).

FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8
"""The decay rates of Adam's two moments, and the constant added to its divisor (Kingma and Ba, 2015)."""

MOMENTUM = 0.9
"""The momentum of stochastic gradient descent."""


SUMS = ("velocity", "first", "second")
"""The running sums of a parameter; these words are the prefixes of their names in the state."""


@dataclass
class Optimizer:
    """Updates parameters along their gradients. A checkpoint must store only `state`, which maps names to arrays."""

    kind: OptimizerKind
    rate: float
    scale_rate: float
    scales: Collection[str] = ()
    """The names of the parameters that are scales: Adam updates them with the learning rate `scale_rate`."""

    positive: Collection[str] = ()
    """The names of the scales that must stay positive."""

    state: dict[str, Array] = field(default_factory=dict[str, Array])

    def step(
        self, parameters: Mapping[str, Array], gradients: Mapping[str, Array], share: float = 1.0
    ) -> dict[str, Array]:
        """Returns the f32 parameters after a step with the learning rates multiplied by `share`.

        Parameters without a gradient are unchanged. If a rate is too high, values may become infinite or NaN.
        """
        steps = int(self.state.get("steps", 0)) + 1
        self.state["steps"] = np.asarray(steps)
        found = dict(parameters)
        for name, gradient in gradients.items():
            array, is_positive = parameters[name], name in self.positive
            rate = np.float32(share * (self.scale_rate if name in self.scales else self.rate))
            moved = rate * self._direction(name, gradient * array if is_positive else gradient, steps)
            with np.errstate(over="ignore"):
                found[name] = np.asarray(array * np.exp(-moved) if is_positive else array - moved, np.float32)
        return found

    def _direction(self, name: str, gradient: Array, steps: int) -> Array:
        if self.kind is OptimizerKind.SGD and name not in self.scales:
            return self._moved(f"velocity {name}", gradient, MOMENTUM, 1.0)
        first = self._moved(f"first {name}", gradient, FIRST, 1 - FIRST)
        second = self._moved(f"second {name}", gradient * gradient, SECOND, 1 - SECOND)
        divisor = np.sqrt(second / np.float32(1 - SECOND**steps)) + np.float32(EPSILON)
        return first / np.float32(1 - FIRST**steps) / divisor

    def _moved(self, key: str, value: Array, decay: float, weight: float) -> Array:
        """Updates the running sum `key` with `value`, and returns it."""
        before = self.state.get(key)
        new = np.float32(weight) * value + (0 if before is None else np.float32(decay) * before)
        self.state[key] = np.asarray(new, np.float32)
        return self.state[key]


def cosine_share(done: float, warmup: float = 0.0) -> float:
    """Returns the factor of the learning rate after a fraction `done` of the steps.

    The factor rises linearly during the fraction `warmup` of the steps, then falls with a cosine.
    """
    if done < warmup:
        return done / warmup
    return float(0.5 + 0.5 * np.cos(np.pi * (done - warmup) / (1 - warmup)))


# Freezing of weights that oscillate between two codes (Nagel et al., ICML 2022).
#
# A weight near the boundary between two codes crosses it repeatedly, because the straight-through gradient is that of
# the code rather than that of the weight. If the moving average of direction changes exceeds `THRESHOLD`, the weight is
# frozen at the code that it held most of the time: the rounded moving average of its codes. That average is
# bias-corrected by the sum of its weights, like Adam's moments; otherwise the first code would count for all earlier
# steps.

THRESHOLD = 0.02
"""A weight is frozen if the fraction of steps in which it changes direction exceeds this threshold."""

MEMORY = 0.01
"""The weight of a single step in moving averages."""


REMEMBERED = ("code", "direction", "frequency", "average", "frozen", "sum")
"""The names of the state of a weight. Each is an array of the weight's shape, except the scalar `sum`."""


def still(name: str, array: Array, codes: Array, scales: Array, state: MutableMapping[str, Array]) -> Array:
    """Returns the weight `array` after a step, with oscillating elements frozen at `scales` times their code.

    `codes` are the codes of `array`. The state of the weight `name` is stored in `state`, which maps names to arrays.
    """
    keys = [f"{what} {name}" for what in REMEMBERED]
    if keys[0] not in state:
        zeros = np.zeros_like(codes)
        state.update(
            zip(keys, (codes, zeros, zeros, zeros, np.full_like(codes, np.nan), np.zeros((), np.float32)), strict=True)
        )
    code, direction, frequency, average, frozen, total = (state[key] for key in keys)
    moved = np.sign(codes - code)
    turned = (moved != 0) & (direction != 0) & (moved != direction)
    frequency = np.float32(MEMORY) * turned + np.float32(1 - MEMORY) * frequency
    average = np.float32(MEMORY) * codes + np.float32(1 - MEMORY) * average
    total = np.float32(MEMORY) + np.float32(1 - MEMORY) * total
    frozen = np.where(np.isnan(frozen) & (frequency > THRESHOLD), np.rint(average / total), frozen)
    kept = np.isnan(frozen)
    direction = np.where(moved != 0, moved, direction)
    found = (np.where(kept, codes, frozen), direction, frequency, average, frozen, total)
    state.update(zip(keys, (np.asarray(each, np.float32) for each in found), strict=True))
    return np.asarray(np.where(kept, array, scales * np.where(kept, 0, frozen)), np.float32)
