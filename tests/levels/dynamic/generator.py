"""Random models of a few operations; a dynamic dimension may be a batch, time, rows, a waveform or an image."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from tests.levels.dynamic.building import DynamicModel

T = TypeVar("T")
Size = int | str
"""A number, the name of a dynamic dimension, or `?` for a size that follows from one in another way."""

LAYOUTS: tuple[tuple[Size, ...], ...] = (
    ("N", 4),
    ("N", 3, 4),
    ("N", 2, 5, 5),
    ("T", 4),
    ("T", 2, 3),
    ("T", "N", 3),
    ("N", "T", 3),
    (1, "T", 4),
    ("D", 4),
    ("L",),
    (1, "L"),
    (1, 2, "H", 5),
    (1, 2, 5, "W"),
    (2, "N", 3),
    (4, "N"),
    ("N",),
)
"""The shapes of the first input."""

UNARY = ("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "HardSigmoid", "Softplus")
BINARY = ("Add", "Mul", "Sub", "Max")
REDUCTIONS = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2")


@dataclass
class _Value:
    name: str
    sizes: tuple[Size, ...]


@dataclass
class _Drawing:
    """One model in the making; a step appends a node, or returns `None` if it does not apply."""

    rng: np.random.Generator
    nodes: list[str] = field(default_factory=list[str])
    values: list[_Value] = field(default_factory=list[_Value])

    def choice(self, options: Sequence[T]) -> T:
        return options[int(self.rng.integers(len(options)))]

    def node(self, text: str, sizes: tuple[Size, ...]) -> _Value:
        """The result of a new node, whose operator and operands are `text`."""
        value = _Value(f"v{len(self.nodes)}", sizes)
        self.nodes.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def axis(self, value: _Value) -> int:
        return int(self.rng.integers(len(value.sizes)))

    # --- Steps --------------------------------------------------------------------------------------------------------

    def unary(self, x: _Value) -> _Value | None:
        return self.node(f"{self.choice(UNARY)}({x.name})", x.sizes)

    def weighted(self, x: _Value) -> _Value | None:
        if not x.sizes or not isinstance(x.sizes[-1], int):
            return None
        return self.node(f"{self.choice(BINARY)}({x.name}, w{x.sizes[-1]})", x.sizes)

    def joined(self, x: _Value) -> _Value | None:
        others = [each for each in self.values if each.sizes == x.sizes and "?" not in x.sizes]
        other = self.choice(others).name if others else ""
        return self.node(f"{self.choice(BINARY)}({x.name}, {other})", x.sizes) if other else None

    def layer(self, x: _Value) -> _Value | None:
        if len(x.sizes) < 2 or not isinstance(x.sizes[-1], int):
            return None
        width = int(self.rng.integers(2, 5))
        return self.node(f"MatMul({x.name}, w{x.sizes[-1]}x{width})", (*x.sizes[:-1], width))

    def softmax(self, x: _Value) -> _Value | None:
        return self.node(f"Softmax<axis={self.axis(x)}>({x.name})", x.sizes) if x.sizes else None

    def softmax_of_the_last(self, x: _Value) -> _Value | None:
        return self.node(f"Softmax<axis=-1>({x.name})", x.sizes) if x.sizes else None

    def norm(self, x: _Value) -> _Value | None:
        size = x.sizes[-1] if x.sizes else "?"
        return self.node(f"LayerNormalization({x.name}, p{size}, w{size})", x.sizes) if isinstance(size, int) else None

    def reduced(self, x: _Value) -> _Value | None:
        if len(x.sizes) < 2:
            return None
        axis = self.axis(x)
        return self.node(
            f"{self.choice(REDUCTIONS)}<keepdims=0>({x.name}, k_{axis})", (*x.sizes[:axis], *x.sizes[axis + 1 :])
        )

    def centered(self, x: _Value) -> _Value | None:
        if not x.sizes:
            return None
        axis = self.axis(x)
        mean = self.node(f"ReduceMean({x.name}, k_{axis})", (*x.sizes[:axis], 1, *x.sizes[axis + 1 :]))
        return self.node(f"Sub({x.name}, {mean.name})", x.sizes)

    def transposed(self, x: _Value) -> _Value | None:
        if len(x.sizes) < 2:
            return None
        order = [int(each) for each in self.rng.permutation(len(x.sizes))]
        return self.node(f"Transpose<perm={order}>({x.name})", tuple(x.sizes[each] for each in order))

    def times_itself(self, x: _Value) -> _Value | None:
        if len(x.sizes) < 2:
            return None
        order = [*range(len(x.sizes) - 2), len(x.sizes) - 1, len(x.sizes) - 2]
        other = self.node(f"Transpose<perm={order}>({x.name})", tuple(x.sizes[each] for each in order))
        return self.node(f"MatMul({x.name}, {other.name})", (*x.sizes[:-1], x.sizes[-2]))

    def attention(self, x: _Value) -> _Value | None:
        scores = self.times_itself(x)
        if scores is None:
            return None
        shares = self.node(f"Softmax<axis=-1>({scores.name})", scores.sizes)
        return self.node(f"MatMul({shares.name}, {x.name})", x.sizes)

    def sliced(self, x: _Value) -> _Value | None:
        if not x.sizes:
            return None
        axis = self.axis(x)
        start, end, step = self.choice(((0, 1, 1), (0, 99, 2), (-99, 99, 1), (-1, -99, -1), (-1, 99, 1), (0, 2, 1)))
        bounds = ", ".join(f"k_{each}".replace("-", "m") for each in (start, end, axis, step))
        is_whole = abs(step) == 1 and abs(end - start) > 90
        size = x.sizes[axis] if is_whole else 1 if end - start == 1 or start == -1 else "?"
        return self.node(f"Slice({x.name}, {bounds})", (*x.sizes[:axis], size, *x.sizes[axis + 1 :]))

    def picked(self, x: _Value) -> _Value | None:
        if len(x.sizes) < 2:
            return None
        axis, index = self.axis(x), self.choice(("s_0", "s_m1"))
        return self.node(f"Gather<axis={axis}>({x.name}, {index})", (*x.sizes[:axis], *x.sizes[axis + 1 :]))

    def doubled(self, x: _Value) -> _Value | None:
        if not x.sizes:
            return None
        axis = self.axis(x)
        size = x.sizes[axis]
        grown: Size = 2 * size if isinstance(size, int) else "?"
        return self.node(f"Concat<axis={axis}>({x.name}, {x.name})", (*x.sizes[:axis], grown, *x.sizes[axis + 1 :]))

    def padded(self, x: _Value) -> _Value | None:
        if not x.sizes:
            return None
        axis = self.axis(x)
        size = x.sizes[axis]
        begin = [int(position == axis) for position in range(len(x.sizes))]
        pads = "_".join(map(str, [*begin, *[0] * len(x.sizes)]))
        grown: Size = size + 1 if isinstance(size, int) else "?"
        return self.node(f"Pad({x.name}, k_{pads})", (*x.sizes[:axis], grown, *x.sizes[axis + 1 :]))

    def summed(self, x: _Value) -> _Value | None:
        return self.node(f"CumSum({x.name}, s_{self.axis(x)})", x.sizes) if x.sizes else None

    def over_its_size(self, x: _Value) -> _Value | None:
        if not x.sizes:
            return None
        axis = self.axis(x)
        size = self.node(f"Shape<start={axis},end={axis + 1}>({x.name})", (1,))
        number = self.node(f"Cast<to=1>({size.name})", (1,))
        self.values.remove(size)
        return self.node(f"Div({x.name}, {number.name})", x.sizes)

    def with_places(self, x: _Value) -> _Value | None:
        if not x.sizes:
            return None
        size = self.node(f"Shape<start={len(x.sizes) - 1}>({x.name})", (1,))
        count = self.node(f"Squeeze({size.name}, k_0)", ())
        positions = self.node(f"Range(s_0, {count.name}, s_1)", (x.sizes[-1],))
        numbers = self.node(f"Cast<to=1>({positions.name})", (x.sizes[-1],))
        for each in (size, count, positions):
            self.values.remove(each)
        return self.node(f"Add({x.name}, {numbers.name})", x.sizes)

    def folded(self, x: _Value) -> _Value | None:
        """The first two axes as one."""
        if len(x.sizes) < 3 or not all(isinstance(size, int) for size in x.sizes[2:]):
            return None
        first, second = x.sizes[:2]
        rest = "_".join(map(str, x.sizes[2:]))
        both: Size = first * second if isinstance(first, int) and isinstance(second, int) else "?"
        return self.node(f"Reshape({x.name}, k_m1_{rest})", (both, *x.sizes[2:]))

    def flat(self, x: _Value) -> _Value | None:
        return self.node(f"Reshape({x.name}, k_1_m1)", (1, "?")) if x.sizes else None

    def split_up(self, x: _Value) -> _Value | None:
        """Rows of four elements as two by two."""
        if len(x.sizes) < 2 or x.sizes[-1] != 4 or sum(isinstance(size, str) for size in x.sizes) > 1:
            return None
        shape = [size if isinstance(size, int) else -1 for size in x.sizes[:-1]]
        text = "_".join(str(size) for size in (*shape, 2, 2)).replace("-", "m")
        return self.node(f"Reshape({x.name}, k_{text})", (*x.sizes[:-1], 2, 2))

    def recurrent(self, x: _Value) -> _Value | None:
        if len(x.sizes) != 3 or not isinstance(x.sizes[2], int):
            return None
        width = x.sizes[2]
        states, last = f"v{len(self.nodes)}", f"v{len(self.nodes)}h"
        kind, gates = self.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
        self.nodes.append(
            f"{states}, {last} = {kind}<hidden_size=2>({x.name}, w1x{2 * gates}x{width}, w1x{2 * gates}x2)"
        )
        found = _Value(states, (x.sizes[0], 1, x.sizes[1], 2))
        self.values += [found, _Value(last, (1, x.sizes[1], 2))]
        return self.choice(self.values[-2:])

    def convolved(self, x: _Value) -> _Value | None:
        if len(x.sizes) not in (3, 4) or not isinstance(x.sizes[1], int):
            return None
        rank = len(x.sizes) - 2
        kernel, pads = "x3" * rank, ",".join(["1"] * 2 * rank)
        return self.node(f"Conv<pads=[{pads}]>({x.name}, w3x{x.sizes[1]}{kernel}, w3)", (x.sizes[0], 3, *x.sizes[2:]))

    def pooled(self, x: _Value) -> _Value | None:
        if len(x.sizes) not in (3, 4):
            return None
        kind = self.choice(("GlobalAveragePool", "GlobalMaxPool"))
        return self.node(f"{kind}({x.name})", (*x.sizes[:2], *[1] * (len(x.sizes) - 2)))

    def masked(self, x: _Value) -> _Value | None:
        condition = self.node(f"Greater({x.name}, f_0)", x.sizes)
        self.values.remove(condition)
        return self.node(f"Where({condition.name}, {x.name}, f_0p5)", x.sizes)

    def largest(self, x: _Value) -> _Value | None:
        if not x.sizes:
            return None
        axis = self.axis(x)
        found = self.node(f"ArgMax<axis={axis}>({x.name})", (*x.sizes[:axis], 1, *x.sizes[axis + 1 :]))
        self.values.remove(found)
        return self.node(f"Cast<to=1>({found.name})", found.sizes)


STEPS: tuple[Callable[[_Drawing, _Value], _Value | None], ...] = (
    _Drawing.unary, _Drawing.unary, _Drawing.weighted, _Drawing.joined, _Drawing.layer, _Drawing.layer,
    _Drawing.softmax, _Drawing.softmax_of_the_last, _Drawing.norm, _Drawing.reduced, _Drawing.centered,
    _Drawing.transposed, _Drawing.times_itself, _Drawing.attention, _Drawing.sliced, _Drawing.picked,
    _Drawing.doubled, _Drawing.padded, _Drawing.summed, _Drawing.over_its_size, _Drawing.with_places,
    _Drawing.folded, _Drawing.flat, _Drawing.split_up, _Drawing.recurrent, _Drawing.convolved, _Drawing.pooled,
    _Drawing.masked, _Drawing.largest,
)  # fmt: skip

OTHER = 3
"""The size of a second dynamic dimension."""


def drawn(seed: int) -> DynamicModel:
    """The model of a seed: two to five steps from an input; each second one is quantized."""
    rng = np.random.default_rng([seed, 11])
    sizes = LAYOUTS[seed % len(LAYOUTS)]
    drawing = _Drawing(rng)
    value = _Value("x", sizes)
    drawing.values.append(value)
    wanted = int(rng.integers(2, 6))
    while len(drawing.nodes) < wanted:
        found = drawing.choice(STEPS)(drawing, value)
        value = value if found is None else found
    text = "x:" + ",".join(map(str, sizes))
    names = [size for size in sizes if isinstance(size, str)]
    others = {names[1 - seed % 2]: OTHER} if len(names) > 1 else {}
    return DynamicModel(f"{text} -> {' '.join(drawing.nodes)}", seed % 2 == 1, others)
