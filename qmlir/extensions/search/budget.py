"""Widths under a budget: what each width of each layer costs and loses, and the choice that loses least.

A layer is as it was quantized, or has weights of 4 bits, or 16 bits. It costs the bytes of its constants, and time: the
estimate of `coverage`, or what it takes in compiled programs (`extensions.search.latency`), in one of which all layers
are as they were quantized, and in one for each width all have it that may. What it loses is the divergence
of `extensions.search.sensitivity`. Its sum over the layers, and over each two of which both have weights and are near
each other, is minimized exactly (`qmlir.extensions.search.knapsack`).

The estimate of a layer is that of its wider operand, so that two layers of 16 bits beside each other are counted as no
less than they take: what is chosen is within the budget. Measured times do not count what casts between two widths
take, so the program of the chosen widths is measured, too.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qmlir import registry
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.quant.infer import elements_of
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.search.knapsack import Option, Selection, front, least
from qmlir.extensions.search.latency import Latency
from qmlir.extensions.search.measurements import Measurements
from qmlir.extensions.search.sensitivity import PASSES, Rounded, divergences, rounded
from qmlir.extensions.search.widths import Layered, Width, Widths
from qmlir.extensions.training.evaluating import Batch
from qmlir.interpreter.jobs import content_digest
from qmlir.ir.diagnostics import text_error
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.report import coverage
from qmlir.specialization.inputs import function_of
from qmlir.text.tables import aligned, bytes_text
from qmlir.workflows.workers import environment

SAMPLES = 512
"""Samples that gradients are taken on at most. Few of them decide, those whose class is not sure. On a ResNet-8 whose
samples are those of its training the rank correlation with 256 choices is .75 to .93 with each 128 of 512, .84 to .95
with 256, and .91 with all. On the digits CNN it is .90 to .93 with 32, .94 to .96 with 64 and .96 to .97 with 128."""

FEWEST = 128
"""Those of a large model."""

MULTIPLY_ADDS = 2e10
"""Those of one run of all samples, which the gradients take five times: about two minutes of one core."""

STATES = 64
"""Choices of the last layers that the solver keeps apart at most. This says how far apart two layers with weights may
be for what they lose together to count in full: 6 layers of two widths each, 3 of three. On the ResNet-8 the rank
correlation is .85 for 3, .91 for 6, and .92 for all, of which the other half is not near."""

SHOWN = 12
"""Points of a front that are printed."""


@dataclass(frozen=True)
class SearchBudget:
    """The most that a model may take; at least one of the two."""

    bytes: int | None = None
    """Of its quantized constants, packed."""

    time: float | None = None
    """As a multiple of that of the model as it was quantized, estimated or measured."""

    def check(self) -> None:
        """Raise `DiagnosticError` for a budget that has no limit, or one that is not above 0."""
        if self.bytes is None and self.time is None:
            raise text_error("a budget requires a number of bytes, an estimated time, or both")
        for name, figure in (("bytes", self.bytes), ("time", self.time)):
            if figure is not None and not figure > 0:
                raise text_error(f"{name} must be greater than 0, but got {figure}")


@dataclass(frozen=True)
class LayerWidth:
    """What one width of one layer changes in the model as it was quantized."""

    layer: str
    width: Width
    bytes: int
    time: float
    """As a part of all of it; 0 where the budget has none."""

    loss: float
    """The divergence in nats that it adds."""


@dataclass(frozen=True)
class FrontPoint:
    """A choice of widths that none which costs no more loses as little as."""

    bytes: int
    time: float | None
    """As a multiple of that of the model as it was quantized; `None` where the budget has none."""

    loss: float
    """The predicted divergence from the float model in nats."""

    widths: Mapping[str, Width]
    is_chosen: bool
    accuracy: float | None = None
    """As measured; `None` where it was not."""


@dataclass(frozen=True)
class Allotment:
    """What a budget gives."""

    samples: int
    """Those that the loss was predicted on."""

    layers: tuple[LayerWidth, ...]
    front: tuple[FrontPoint, ...]
    """Of the whole front so many points as a reader takes in, those that cost least first, and the chosen one."""

    points: int
    """Of the whole front."""

    measured_time: float | None = None
    """Of the program of the chosen point, in the unit of `time`; `None` where times are estimated."""

    @property
    def chosen(self) -> FrontPoint:
        """The point of the least loss."""
        return next(each for each in self.front if each.is_chosen)

    def measured(self, accuracy: Callable[[Widths], float], most: int) -> "Allotment":
        """The same with the accuracy of the chosen point, and of others up to `most` points."""
        others = [each for each in self.front if not each.is_chosen]
        kept = [self.chosen, *_spread(others, most - 1)]
        return replace(
            self,
            front=tuple(replace(each, accuracy=accuracy(each.widths)) if each in kept else each for each in self.front),
        )

    def text(self, metric: str) -> str:
        """The tables of layers and of the front."""
        widths = list(dict.fromkeys(each.width for each in self.layers))
        known = {(each.layer, each.width): each for each in self.layers}
        chosen = self.chosen.widths
        names = dict.fromkeys(each.layer for each in self.layers)
        columns = [f"loss at {width}" for width in widths]
        rows = [
            (name, *(_loss(known.get((name, width))) for width in widths), str(chosen.get(name, ""))) for name in names
        ]
        lines = [*aligned([("layer", *columns, "now"), *rows], {*columns, "now"}), ""] if rows else []
        points = [
            (
                bytes_text(each.bytes), "" if each.time is None else f"{each.time:.3f}", f"{each.loss:.2e}",
                "" if each.accuracy is None else f"{100 * each.accuracy:.2f}%", "chosen" if each.is_chosen else "",
            )
            for each in self.front
        ]  # fmt: skip
        head = ("weights", "time", "predicted loss", metric, "")
        lines += [*aligned([head, *points], {"weights", "time", "predicted loss", metric}), ""]
        return "".join(f"{line}\n" for line in lines)


def _loss(found: LayerWidth | None) -> str:
    return "" if found is None else f"{found.loss:.2e}"


def _spread(points: Sequence[Any], count: int) -> list[Any]:
    """So many of the points, the first and the last among them where there are two and more."""
    if count >= len(points):
        return list(points)
    return [points[place * (len(points) - 1) // max(count - 1, 1)] for place in range(count)]


Alone = tuple[str, Width]
"""A layer and the width that it has alone, all others being as they are."""


@dataclass(frozen=True)
class Prediction:
    """What widths lose, as far as it is predicted."""

    matrix: F64
    """Of `divergences`; the first row is the model as it was quantized."""

    rows: Mapping[Alone, int]
    weighted: Sequence[str]
    """The layers that have weights, in the order of the model."""

    def of(self, width: Alone) -> float:
        """The divergence in nats that one width adds alone."""
        row = self.rows[width]
        return float(self.matrix[row, row] - self.matrix[0, 0])

    @property
    def reach(self) -> int:
        """How far apart two layers with weights may be to be near: of so many there are at most `STATES` choices."""
        ways = max((1 + len(self._widths(name)) for name in self.weighted), default=1)
        return int(math.log(STATES, ways) + 1e-9) if ways > 1 else 0

    def near(self) -> Iterator[tuple[str, str]]:
        """The pairs of layers for which both widths count together, the earlier first."""
        for place, later in enumerate(self.weighted):
            for earlier in self.weighted[max(0, place - self.reach) : place]:
                yield earlier, later

    def _widths(self, name: str) -> list[Width]:
        return [width for layer, width in self.rows if layer == name]

    def together(self, first: Alone, second: Alone) -> float:
        """The divergence in nats that two widths add together, beside what each adds alone."""
        one, other, known = self.rows[first], self.rows[second], self.matrix
        return float(2 * (known[one, other] - known[one, 0] - known[0, other] + known[0, 0]))

    def added(self, width: Alone) -> float:
        """The divergence in nats that one width adds, with its share of what it adds together with layers far from it.

        A sum over layers has the least squared error for a product of theirs, where all widths are as likely, with the
        mean of the product over the widths of the other layer in each: of two widths, one of which adds nothing, half.
        """
        name, _ = width
        found = self.of(width)
        if name not in self.weighted:
            return found
        place = self.weighted.index(name)
        for at, other in enumerate(self.weighted):
            if abs(at - place) > self.reach:
                widths = self._widths(other)
                found += sum(self.together(width, (other, each)) for each in widths) / (1 + len(widths))
        return found

    def loss(self, widths: Widths) -> float:
        """The divergence in nats from the float model."""
        alone = sum(self.added(each) for each in widths.items())
        pairs = ((first, second) for first, second in self.near() if first in widths and second in widths)
        beside = sum(self.together((first, widths[first]), (second, widths[second])) for first, second in pairs)
        return float(self.matrix[0, 0]) + alone + beside


def samples_to_grade(module: ModuleOp, function: str = ENTRY) -> int:
    """How many samples gradients of `module` are taken on: fewer of a large model."""
    products = sum(
        op.multiply_adds() for op in function_of(module, function).walk() if isinstance(op, MultipliesAndAdds)
    )
    return max(FEWEST, min(SAMPLES, int(MULTIPLY_ADDS / products))) if products > 0 else SAMPLES


def rounded_by(layered: Layered, choices: Sequence[Widths]) -> list[Rounded]:
    """The places of `layered.decided` that each choice of widths rounds."""
    decided = map(layered.decisions, choices)
    return [dict(pair for each in one for pair in rounded(each).items()) for one in decided]


Divergences = Callable[[Sequence[Widths]], F64]
"""The matrix of `divergences` of choices of widths."""


def predict(
    layered: Layered,
    batches: Iterable[Batch],
    output: str,
    wanted: Sequence[Alone],
    figures: Measurements,
    measured: Divergences | None = None,
) -> Prediction:
    """What each of `wanted` loses, by gradients on `batches` of the scores in `output`.

    All of it comes from one pass, which is made, here or by `measured`, where a part of it is not in `figures`. Raises
    `DiagnosticError` for an operation that has no gradient.
    """
    alone: list[Widths] = [{}, *({name: width} for name, width in wanted)]
    rows, columns = np.triu_indices(len(alone))

    def measure() -> list[float]:
        if measured is not None:
            return measured(alone)[rows, columns].tolist()
        return divergences(layered.decided, output, batches, rounded_by(layered, alone))[rows, columns].tolist()

    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    names = [f"divergence by {PASSES} passes {_text(alone[row])} {_text(alone[column])}" for row, column in pairs]
    matrix = np.zeros((len(alone), len(alone)))
    matrix[rows, columns] = matrix[columns, rows] = figures.together(names, measure)
    weighted = [name for name, layer in layered.layers.items() if layer.weights]
    return Prediction(matrix, {each: row for row, each in enumerate(wanted, 1)}, weighted)


def allot(
    layered: Layered,
    batches: Iterable[Batch],
    output: str,
    budget: SearchBudget,
    figures: Measurements,
    latency: Latency | None = None,
    losses: Divergences | None = None,
) -> Allotment:
    """The widths of the layers that lose least within `budget`, by gradients on `batches` of the scores in `output`.

    Times are measured by `latency`, or estimated without one. `losses` says what choices of widths lose, in the place
    of a pass here. A width that costs as much as the layer does is no candidate: no budget could refuse it. Raises
    `DiagnosticError` for a budget that no choice keeps, and for an operation that has no gradient.
    """
    tried = [
        (name, width)
        for name, layer in layered.layers.items()
        for width in (Width.NARROW, Width.WIDE)
        if layer.may_be(width) and layered.supported({name: width}) == {name: width}
    ]
    counts: list[Callable[[Widths], int]] = []
    limits: list[int] = []
    size, time = constant_bytes(layered, {}), 0
    if budget.bytes is not None:
        counts.append(partial(constant_bytes, layered))
        limits.append(budget.bytes - size)
    if budget.time is not None:
        counts.append(_estimated(layered, figures) if latency is None else _measured(latency, tried, figures))
        time = counts[-1]({})
        limits.append(int(budget.time * time) - time)
    begun = [count({}) for count in counts]
    costs = {
        (name, width): tuple(count({name: width}) - before for count, before in zip(counts, begun, strict=True))
        for name, width in tried
    }
    kept = [each for each in tried if any(costs[each])]
    ways: dict[str, list[Width | None]] = {name: [None] for name, _ in kept}
    for name, width in kept:
        ways[name].append(width)
    free = Option((0,) * len(counts), 0.0)
    priced = [[free, *(Option(costs[name, each], 0.0) for each in widths if each)] for name, widths in ways.items()]
    lowest = least(priced, len(counts))
    if any(each > limit for each, limit in zip(lowest, limits, strict=True)):
        raise _unreachable(budget, size, time, lowest)
    known = predict(layered, batches, output, kept, figures, losses)
    options = [
        [free if width is None else Option(costs[name, width], known.added((name, width))) for width in each]
        for name, each in ways.items()
    ]
    found = front(options, limits, _pairs(known, ways))
    if not found:
        raise _unreachable(budget, size, time, lowest)
    best = min(found, key=lambda each: (each.loss, each.costs))
    sizes = {(name, width): constant_bytes(layered, {name: width}) - size for name, width in kept}

    def point(choice: Selection) -> FrontPoint:
        picked = ((name, each[pick]) for (name, each), pick in zip(ways.items(), choice.picks, strict=True))
        widths = {name: width for name, width in picked if width is not None}
        taken = None if budget.time is None else 1 + choice.costs[-1] / time
        total = size + sum(sizes[each] for each in widths.items())
        return FrontPoint(total, taken, float(known.matrix[0, 0]) + choice.loss, widths, choice is best)

    shown = _spread([each for each in found if each is not best], SHOWN - 1)
    points = tuple(point(each) for each in found if each is best or each in shown)
    layers = tuple(
        LayerWidth(*each, sizes[each], costs[each][-1] / time if time else 0.0, known.of(each)) for each in kept
    )
    made = Allotment(sum(batch.samples for batch in batches), layers, points, len(found))
    if latency is None or budget.time is None:
        return made
    taken = sum(_times(latency, made.chosen.widths, figures).values())
    return replace(made, measured_time=taken / time)


def _pairs(known: Prediction, ways: Mapping[str, Sequence[Width | None]]) -> dict[tuple[int, int], F64]:
    """What each two layers lose together, by their places in `ways`: for each width of both."""
    places = {name: place for place, name in enumerate(ways)}
    return {
        (places[first], places[second]): np.asarray(
            [
                [
                    0.0 if one is None or other is None else known.together((first, one), (second, other))
                    for other in ways[second]
                ]
                for one in ways[first]
            ]
        )
        for first, second in known.near()
        if first in places and second in places
    }


def _text(widths: Widths) -> str:
    return json.dumps(dict(sorted(widths.items())), ensure_ascii=False)


def constant_bytes(layered: Layered, widths: Widths) -> int:
    """The bytes of the quantized constants, packed: one that several operations read in one type is there once."""
    constants: dict[tuple[SSAValue, UniformQuantizedType], int] = {}
    for each in layered.decisions(widths):
        for (op, place), type_ in each.constants.items():
            value = op.operands[place]
            constants[value, type_] = -(-elements_of(value) * type_.bits // 8)
    return sum(constants.values())


def _estimated(layered: Layered, figures: Measurements) -> Callable[[Widths], int]:
    """The estimated time of the model with some widths."""

    def count(widths: Widths) -> int:
        return int(figures.measured(f"time {_text(widths)}", lambda: coverage(layered.quantized(widths)).cost))

    return count


def _times(latency: Latency, widths: Widths, figures: Measurements) -> dict[str, int]:
    """The nanoseconds of each layer in the program of `widths`, which are known of this code and processor alone."""
    names = ["", *latency.layered.layers]
    here = f"{content_digest(environment())[:16]}{registry.plugged_code()[:16]} {latency.threads}"
    found = figures.together(
        [f"nanoseconds {here} {json.dumps(name, ensure_ascii=False)} {_text(widths)}" for name in names],
        lambda: [*map(latency.of(widths).__getitem__, names)],
    )
    return dict(zip(names, map(int, found), strict=True))


def _measured(latency: Latency, tried: Sequence[Alone], figures: Measurements) -> Callable[[Widths], int]:
    """The measured time of the model, and with one layer in a width of those that are `tried`."""
    begun = _times(latency, {}, figures)
    total = sum(begun.values())
    uniform: dict[Width, dict[str, int]] = {}
    for width in dict.fromkeys(width for _, width in tried):
        wanted = latency.layered.supported({name: width for name, each in tried if each is width})
        uniform[width] = _times(latency, wanted, figures)

    def count(widths: Widths) -> int:
        return total + sum(uniform[width][name] - begun[name] for name, width in widths.items())

    return count


def _unreachable(budget: SearchBudget, size: int, time: int, lowest: Sequence[int]) -> Exception:
    """What says that a budget is too small, and what each of its parts takes at least."""
    parts: list[str] = []
    if budget.bytes is not None:
        parts.append(f"{budget.bytes} bytes (minimum {size + lowest[0]})")
    if budget.time is not None:
        parts.append(f"{budget.time} of the time (minimum {(time + lowest[-1]) / time:.3f})")
    return text_error(
        f"no choice of 4 bits, 8 bits, 16 bits or float per layer meets the budget: {' and '.join(parts)}"
    )
