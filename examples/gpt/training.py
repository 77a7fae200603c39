"""A small GPT of NumPy arrays, and its training: characters in, logits of the next character out.

Each function below computes one layer and gives its backward pass with it: a function that takes the gradient of the
result, adds those of the parameters to a table, and returns that of the input. (A gradient pass of qmlir's own is
planned; it will take their place.)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Parameters = dict[str, Array]
Backward = Callable[[Array], Array]
Layer = Callable[[Array], tuple[Array, Backward]]

EPSILON = 1e-5
"""What layer normalization adds to the variance."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a GPT."""

    layers: int = 2
    width: int = 128
    heads: int = 4
    context: int = 128
    vocabulary: int = 128
    """Characters of ASCII."""

    @property
    def head_size(self) -> int:
        """The elements of one head's queries, keys and values."""
        return self.width // self.heads


def encoded(text: str) -> Array:
    """A token for each character."""
    return np.frombuffer(text.encode("ascii", "replace"), np.uint8).astype(np.int64)


def texts() -> tuple[Array, Array]:
    """Tokens to train on and tokens to judge by: the help topics of Python's library, of which each eighth is held out.

    They are English, half a million characters, and part of each Python.
    """
    every = list(topics.values())
    held_out = every[::8]
    del every[::8]
    return encoded("".join(every)), encoded("".join(held_out))


def windows(tokens: Array, length: int) -> Array:
    """`[count, length]`: the text cut into rows."""
    count = len(tokens) // length
    return tokens[: count * length].reshape(count, length)


def initial(shape: Shape, seed: int = 0) -> Parameters:
    """Random parameters. Weights are `[inputs, outputs]`; the table of tokens is the weight of the head, too."""
    random = np.random.default_rng(seed)

    def normal(*sizes: int, scale: float = 0.02) -> Array:
        return random.normal(0, scale, sizes).astype(np.float32)

    width = shape.width
    found = {"tokens": normal(shape.vocabulary, width), "positions": normal(shape.context, width)}
    depth = (2 * shape.layers) ** -0.5
    for layer in range(shape.layers):
        for name, inputs, outputs, scale in (
            ("query", width, width, 1.0), ("key", width, width, 1.0), ("value", width, width, 1.0),
            ("project", width, width, depth), ("expand", width, 4 * width, 1.0), ("reduce", 4 * width, width, depth),
        ):  # fmt: skip
            found[f"layer{layer}_{name}_weight"] = normal(inputs, outputs, scale=0.05 * scale)
            found[f"layer{layer}_{name}_bias"] = np.zeros(outputs, np.float32)
    norms = ["norm", *(f"layer{layer}_{name}" for layer in range(shape.layers) for name in ("norm1", "norm2"))]
    for name in norms:
        found[f"{name}_weight"], found[f"{name}_bias"] = np.ones(width, np.float32), np.zeros(width, np.float32)
    return found


@dataclass(frozen=True)
class _Pass:
    """One forward pass, and the gradients that its backward pass gives."""

    shape: Shape
    parameters: Parameters
    gradients: Parameters

    def _add(self, name: str, gradient: Array) -> None:
        self.gradients[name] = self.gradients.get(name, 0) + gradient

    def linear(self, name: str, x: Array) -> tuple[Array, Backward]:
        weight = self.parameters[f"{name}_weight"]

        def back(dy: Array) -> Array:
            rows = dy.reshape(-1, dy.shape[-1])
            self._add(f"{name}_weight", x.reshape(len(rows), -1).T @ rows)
            self._add(f"{name}_bias", rows.sum(0))
            return dy @ weight.T

        return x @ weight + self.parameters[f"{name}_bias"], back

    def norm(self, name: str, x: Array) -> tuple[Array, Backward]:
        weight = self.parameters[f"{name}_weight"]
        centered = x - x.mean(-1, keepdims=True)
        inverse = 1 / np.sqrt(np.square(centered).mean(-1, keepdims=True) + np.float32(EPSILON))
        unit = centered * inverse

        def back(dy: Array) -> Array:
            self._add(f"{name}_weight", (dy * unit).sum((0, 1)))
            self._add(f"{name}_bias", dy.sum((0, 1)))
            scaled = dy * weight
            along = (scaled * unit).mean(-1, keepdims=True)
            return (scaled - scaled.mean(-1, keepdims=True) - unit * along) * inverse

        return unit * weight + self.parameters[f"{name}_bias"], back

    def attention(self, layer: int, x: Array) -> tuple[Array, Backward]:
        batch, length, width = x.shape
        factor = np.float32(self.shape.head_size**-0.5)
        hidden = np.triu(np.full((length, length), -np.inf, np.float32), 1)

        def split(y: Array) -> Array:
            return y.reshape(batch, length, self.shape.heads, -1).transpose(0, 2, 1, 3)

        def joined(y: Array) -> Array:
            return y.transpose(0, 2, 1, 3).reshape(batch, length, width)

        made = [self.linear(f"layer{layer}_{name}", x) for name in ("query", "key", "value")]
        query, key, value = (split(result) for result, _ in made)
        scores = query @ key.swapaxes(2, 3) * factor + hidden
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        result, back_project = self.linear(f"layer{layer}_project", joined(weights @ value))

        def back(dy: Array) -> Array:
            attended = split(back_project(dy))
            weighted = attended @ value.swapaxes(2, 3) * weights
            scored = (weighted - weights * weighted.sum(-1, keepdims=True)) * factor
            gradients = scored @ key, scored.swapaxes(2, 3) @ query, weights.swapaxes(2, 3) @ attended
            first, *others = (back(joined(gradient)) for (_, back), gradient in zip(made, gradients, strict=True))
            return sum(others, first)

        return result, back

    def gelu(self, x: Array) -> tuple[Array, Backward]:
        root = np.float32(np.sqrt(2 / np.pi))
        bent = np.tanh(root * (x + np.float32(0.044715) * x * x * x))

        def back(dy: Array) -> Array:
            slope = (1 - bent * bent) * root * (1 + np.float32(3 * 0.044715) * x * x)
            return dy * (np.float32(0.5) * (1 + bent) + np.float32(0.5) * x * slope)

        return np.float32(0.5) * x * (1 + bent), back

    def branches(self, layer: int) -> Iterator[list[Layer]]:
        """The layers of each branch, whose result is added to the residual stream."""
        yield [lambda x: self.norm(f"layer{layer}_norm1", x), lambda x: self.attention(layer, x)]
        yield [
            lambda x: self.norm(f"layer{layer}_norm2", x), lambda x: self.linear(f"layer{layer}_expand", x), self.gelu,
            lambda x: self.linear(f"layer{layer}_reduce", x),
        ]  # fmt: skip

    def logits(self, tokens: Array) -> tuple[Array, Callable[[Array], None]]:
        table, positions = self.parameters["tokens"], self.parameters["positions"]
        x = table[tokens] + positions[: tokens.shape[1]]
        stack: list[list[Backward]] = []
        for layer in range(self.shape.layers):
            for branch in self.branches(layer):
                y, backs = x, list[Backward]()
                for step in branch:
                    y, back = step(y)
                    backs.append(back)
                x = x + y
                stack.append(backs)
        normed, back_norm = self.norm("norm", x)

        def back_all(dy: Array) -> None:
            rows = dy.reshape(-1, dy.shape[-1])
            head = rows.T @ normed.reshape(len(rows), -1)
            dx = back_norm(dy @ table)
            for backs in reversed(stack):
                gradient = dx
                for each in reversed(backs):
                    gradient = each(gradient)
                dx = dx + gradient
            np.add.at(head, tokens, dx)
            self._add("tokens", head)
            self._add("positions", np.zeros_like(positions))
            self.gradients["positions"][: tokens.shape[1]] = dx.sum(0)

        return normed @ table.T, back_all


def logits(shape: Shape, parameters: Parameters, tokens: Array) -> Array:
    """`[batch, length, vocabulary]` of `tokens [batch, length]`."""
    return _Pass(shape, parameters, {}).logits(tokens)[0]


def cross_entropy(scores: Array, targets: Array) -> tuple[float, Array]:
    """The mean of `-log p` of the targets, in nats, and its gradient."""
    exponents = np.exp(scores - scores.max(-1, keepdims=True))
    probabilities = exponents / exponents.sum(-1, keepdims=True)
    chosen = np.take_along_axis(probabilities, targets[..., None], -1)
    loss = float(-np.log(chosen).mean())
    np.put_along_axis(probabilities, targets[..., None], chosen - 1, -1)
    return loss, probabilities / np.float32(targets.size)


def gradients(shape: Shape, parameters: Parameters, rows: Array) -> tuple[float, Parameters]:
    """The loss of rows of text, each token of which is to follow from those before it, and its gradients."""
    run = _Pass(shape, parameters, {})
    scores, back = run.logits(rows[:, :-1])
    loss, slope = cross_entropy(scores, rows[:, 1:])
    back(slope)
    return loss, run.gradients


def train(
    shape: Shape, tokens: Array, steps: int, *, batch: int = 16, rate: float = 3e-3, seed: int = 0
) -> Iterator[tuple[float, Parameters]]:
    """After each step of Adam its loss and the parameters; the rate rises in the first steps, and falls to zero."""
    random = np.random.default_rng(seed)
    parameters = initial(shape, seed)
    means = {name: np.zeros_like(each) for name, each in parameters.items()}
    squares = {name: np.zeros_like(each) for name, each in parameters.items()}
    for step in range(1, steps + 1):
        starts = random.integers(0, len(tokens) - shape.context, batch)
        rows = np.stack([tokens[start : start + shape.context + 1] for start in starts])
        loss, found = gradients(shape, parameters, rows)
        now = np.float32(rate * min(step / 50, 0.5 + 0.5 * np.cos(np.pi * step / steps)))
        for name, gradient in found.items():
            means[name] = np.float32(0.9) * means[name] + np.float32(0.1) * gradient
            squares[name] = np.float32(0.99) * squares[name] + np.float32(0.01) * gradient * gradient
            mean, square = means[name] / np.float32(1 - 0.9**step), squares[name] / np.float32(1 - 0.99**step)
            parameters[name] = parameters[name] - now * mean / (np.sqrt(square) + np.float32(1e-8))
        yield loss, parameters
