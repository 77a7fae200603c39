"""Weights that oscillate between two codes, and are frozen (Nagel et al., ICML 2022).

A weight near the border of two codes is moved across it again and again, as the gradient of the straight-through
estimate is that of its code and not its own. What changes its direction more often than `THRESHOLD` of the steps, by a
moving average, stays at the code that it held most: the moving average of its codes, rounded. That average is divided
by the sum of its weights, as moments of Adam are: otherwise the first code would count for all steps before it.
"""

from collections.abc import MutableMapping

import numpy as np

from qmlir.arithmetic.arrays import Array

THRESHOLD = 0.02
"""The share of the steps in which the direction changes, above which a weight is frozen."""

MEMORY = 0.01
"""The weight of a step in moving averages."""


REMEMBERED = ("code", "direction", "frequency", "average", "frozen", "sum")
"""What is remembered of a weight: arrays of its shape, and one number."""


def still(name: str, array: Array, codes: Array, scales: Array, state: MutableMapping[str, Array]) -> Array:
    """`array` after a step, but for elements that oscillate: `scales` times their code.

    `codes` are those of `array`. What is remembered of the weight `name` is in `state`, arrays by name.
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
