"""Losses of training, each with its gradient: results of a batch in, the loss and the gradient of the results out."""

import numpy as np

from qmlir.arithmetic.arrays import Array


def softmax(scores: Array) -> Array:
    """Along the last axis."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def squared_error(found: Array, wanted: Array, variance: float) -> tuple[float, Array]:
    """The mean squared error over `variance`, that of what is wanted: 1 for a result that is its mean everywhere."""
    error = found.astype(np.float64) - wanted
    return float((error * error).mean() / variance), (2 / (variance * error.size) * error).astype(np.float32)


def divergence(found: Array, wanted: Array, temperature: float) -> tuple[float, Array]:
    """`T^2 KL(softmax(wanted / T) || softmax(found / T))`, the mean over rows of scores (Hinton et al., 2015)."""
    rows = found.size // found.shape[-1]
    given, target = (softmax(each.astype(np.float64) / temperature) for each in (found, wanted))
    tiny = np.finfo(np.float64).tiny
    terms = target * (np.log(np.maximum(target, tiny)) - np.log(np.maximum(given, tiny)))
    return float(terms.sum() * temperature**2 / rows), (temperature * (given - target) / rows).astype(np.float32)


def cross_entropy(found: Array, classes: Array) -> tuple[float, Array]:
    """That of the softmax of each row of scores against its class, the mean over rows."""
    scores = found.reshape(-1, found.shape[-1]).astype(np.float64)
    chances, rows = softmax(scores), np.arange(len(scores))
    loss = float(-np.log(np.maximum(chances[rows, classes], np.finfo(np.float64).tiny)).mean())
    chances[rows, classes] -= 1
    return loss, (chances / len(scores)).reshape(found.shape).astype(np.float32)
