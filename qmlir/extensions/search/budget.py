"""Mixed precision within a budget: finds the widths of all layers with the least predicted loss.

A layer keeps its width, or gets 4-bit weights, or 16 bits. Its cost is the bytes of its constants and its time: either
the estimate of `coverage`, or its time in compiled programs (`Latency`). To measure times, one program keeps all
layers, and one program per width changes all layers that support that width. The loss is the divergence of
`qmlir.extensions.search.sensitivity`. Its sum over the layers, and over pairs of nearby layers with weights, is
minimized exactly (`qmlir.extensions.search.knapsack`).

The estimate of a layer uses its wider operand, so adjacent 16-bit layers are never underestimated and the choice stays
within the budget. Measured times don't include casts between widths, so the program with the chosen widths is measured
as well.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.quant.infer import elements_of
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.search.choices import Width
from qmlir.extensions.search.knapsack import Option, Selection, front, least
from qmlir.extensions.search.sensitivity import PASSES
from qmlir.extensions.search.trials import Measurements
from qmlir.extensions.search.widths import LayerwiseModel, Widths
from qmlir.interpreter.jobs import content_digest
from qmlir.ir.diagnostics import text_error
from qmlir.quantization.report import coverage
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.cpu.timing import KernelTime
from qmlir.text.tables import aligned, bytes_text
from qmlir.workflows.calibration_samples import runs_within
from qmlir.workflows.evaluating import Batch
from qmlir.workflows.workers import environment

SAMPLES = 512
"""The maximum number of samples on which gradients are computed. Samples whose class is uncertain dominate the result,
and they are few. On a ResNet-8 with its training samples, the rank correlation with 256 choices is 0.75 to 0.93 with
each 128 of 512, 0.84 to 0.95 with 256, and 0.91 with all. On the digits CNN it is 0.90 to 0.93 with 32, 0.94 to 0.96
with 64 and 0.96 to 0.97 with 128.
"""

FEWEST = 128
"""The minimum number of samples, used for large models."""

MULTIPLY_ADDS = 2e10
"""The limit on the multiply-adds for running all samples once. Computing gradients takes five times as long, about two
minutes on one core.
"""

STATES = 64
"""The maximum number of combinations of widths of the most recent layers that the solver distinguishes. It limits the
distance between two layers with weights whose joint loss counts exactly: 6 layers if each has two widths, 3 if each has
three. On the ResNet-8 the rank correlation is 0.85 for 3, 0.91 for 6, and 0.92 for all pairs, half of which are not
nearby.
"""

SHOWN = 12
"""The maximum number of points of a Pareto front that are printed."""


@dataclass(frozen=True)
class SearchBudget:
    """Upper limits on the size and time of a model; at least one of the two is set."""

    bytes: int | None = None
    """The size of the packed quantized constants in bytes."""

    time: float | None = None
    """The estimated or measured time, as a multiple of the time of the model quantized by the settings."""

    def check(self) -> None:
        """Raises `DiagnosticError` if the budget has no limit or if a limit is not positive."""
        if self.bytes is None and self.time is None:
            raise text_error("a budget requires a number of bytes, an estimated time, or both")
        for name, figure in (("bytes", self.bytes), ("time", self.time)):
            if figure is not None and not figure > 0:
                raise text_error(f"{name} must be greater than 0, but got {figure}")


@dataclass(frozen=True)
class LayerWidth:
    """The changes in cost and loss if one layer of the initially quantized model gets another width."""

    layer: str
    width: Width
    bytes: int
    time: float
    """The change in time as a fraction of the model's time; 0 if the budget does not limit time."""

    loss: float
    """The added divergence in nats."""


@dataclass(frozen=True)
class ParetoPoint:
    """A Pareto-optimal choice of widths: every other choice that costs no more has a larger loss."""

    bytes: int
    time: float | None
    """The time as a multiple of that of the model quantized by the settings; `None` if the budget does not limit
    time.
    """

    loss: float
    """The predicted divergence from the float model in nats."""

    widths: Mapping[str, Width]
    is_chosen: bool
    accuracy: float | None = None
    """The measured accuracy; `None` if it was not measured."""


@dataclass(frozen=True)
class Allotment:
    """The result of a search within a budget."""

    samples: int
    """The number of samples on which the loss was predicted."""

    layers: tuple[LayerWidth, ...]
    front: tuple[ParetoPoint, ...]
    """At most `SHOWN` points of the Pareto front, cheapest first, including the chosen point."""

    points: int
    """The number of points of the complete front."""

    measured_time: float | None = None
    """The measured time of the chosen point, in the unit of `ParetoPoint.time`; `None` if times are estimated."""

    @property
    def chosen(self) -> ParetoPoint:
        """The point with the least loss."""
        return next(each for each in self.front if each.is_chosen)

    def measured(self, accuracy: Callable[[Widths], float], most: int) -> "Allotment":
        """Returns this result with the measured accuracy of up to `most` points, including the chosen one."""
        kept = [self.chosen, *_spread([each for each in self.front if not each.is_chosen], most - 1)]
        return replace(
            self,
            front=tuple(replace(each, accuracy=accuracy(each.widths)) if each in kept else each for each in self.front),
        )

    def text(self, metric: str) -> str:
        """Formats the tables of the layers and of the front; `metric` is the name of the accuracy."""
        widths = list(dict.fromkeys(each.width for each in self.layers))
        known = {(each.layer, each.width): f"{each.loss:.2e}" for each in self.layers}
        chosen = self.chosen.widths
        names = dict.fromkeys(each.layer for each in self.layers)
        columns = [f"loss at {width}" for width in widths]
        rows = [
            (name, *(known.get((name, width), "") for width in widths), str(chosen.get(name, ""))) for name in names
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


def _spread(points: Sequence[Any], count: int) -> list[Any]:
    """Returns `count` of the points, equally spaced; the first and the last are included if `count` is 2 or more."""
    if count >= len(points):
        return list(points)
    return [points[position * (len(points) - 1) // max(count - 1, 1)] for position in range(count)]


# The time of each layer in a compiled program, measured per kernel.
#
# The time of a kernel that covers several nodes, such as a convolution with a fused residual add and activation, is
# assigned to its first node with weights. So the times of the layers add up to those of the kernels, regardless of
# fusion.

ROUNDS = 50
"""The number of timed runs of a program. The shortest time of each kernel counts, because other load on the machine
affects it least.
"""


@dataclass(frozen=True)
class Latency:
    """Measures the latency of a module, compiled with chosen layer widths, on one sample."""

    layered: LayerwiseModel
    inputs: Mapping[str, Array]
    threads: int = 1

    def of(self, widths: Widths) -> dict[str, int]:
        """Returns the nanoseconds of each layer with these widths; the name '' stands for the rest of the program.

        Raises `DiagnosticError` if the module cannot be compiled.
        """
        program = compile_module(self.layered.quantized(widths), threads=self.threads)
        found: Counter[str] = Counter(dict.fromkeys(["", *self.layered.layers], 0))
        for each in program.time_kernels(self.inputs, ROUNDS):
            found[self._layer(each)] += round(each.seconds * 1e9)
        return dict(found)

    def _layer(self, kernel: KernelTime) -> str:
        known = [name for node in kernel.nodes if (name := _named(node, self.layered.layers))]
        weighted = (name for name in known if self.layered.layers[name].weights)
        return next(weighted, known[0] if known else "")


def _named(node: str, names: Iterable[str]) -> str:
    """Returns the longest of `names` that a node, or a part of it such as `fc1/bias_add`, belongs to.

    Returns an empty string if none does.
    """
    fitting: Sequence[str] = [name for name in names if node == name or node.startswith(f"{name}/")]
    return max(fitting, key=len, default="")


# The predicted loss, and the choice of widths.

Alone = tuple[str, Width]
"""A layer and its new width, with all other layers unchanged."""


@dataclass(frozen=True)
class Prediction:
    """Predicts the loss of any choice of widths."""

    matrix: F64
    """The matrix of `divergences`; its first row and column belong to the initially quantized model."""

    rows: Mapping[Alone, int]
    weighted: Sequence[str]
    """The layers with weights, in the order of the model."""

    def of(self, width: Alone) -> float:
        """Returns the divergence in nats that `width` adds if only this layer changes."""
        row = self.rows[width]
        return float(self.matrix[row, row] - self.matrix[0, 0])

    @property
    def reach(self) -> int:
        """The maximum distance between nearby layers with weights, for at most `STATES` choices in the solver."""
        ways = max((1 + len(self._widths(name)) for name in self.weighted), default=1)
        return int(math.log(STATES, ways) + 1e-9) if ways > 1 else 0

    def near(self) -> Iterator[tuple[str, str]]:
        """Yields the pairs of nearby layers, earlier layer first; their joint loss counts exactly."""
        for position, later in enumerate(self.weighted):
            for earlier in self.weighted[max(0, position - self.reach) : position]:
                yield earlier, later

    def _widths(self, name: str) -> list[Width]:
        return [width for layer, width in self.rows if layer == name]

    def together(self, first: Alone, second: Alone) -> float:
        """Returns the divergence in nats that two widths add jointly, beyond the sum of what each adds alone."""
        one, other, known = self.rows[first], self.rows[second], self.matrix
        return float(2 * (known[one, other] - known[one, 0] - known[0, other] + known[0, 0]))

    def added(self, width: Alone) -> float:
        """Returns the divergence in nats that one width adds, including its share of joint losses with distant layers.

        The joint loss of two distant layers is approximated by a sum over layers. With all widths equally likely, the
        least-squares approximation assigns to each layer the mean of the joint loss over the widths of the other layer.
        If the other layer has two widths, one of which adds nothing, this is half of the joint loss.
        """
        name, _ = width
        found = self.of(width)
        if name not in self.weighted:
            return found
        position = self.weighted.index(name)
        for at, other in enumerate(self.weighted):
            if abs(at - position) > self.reach:
                widths = self._widths(other)
                found += sum(self.together(width, (other, each)) for each in widths) / (1 + len(widths))
        return found

    def loss(self, widths: Widths) -> float:
        """Returns the predicted divergence from the float model in nats."""
        alone = sum(self.added(each) for each in widths.items())
        pairs = ((first, second) for first, second in self.near() if first in widths and second in widths)
        beside = sum(self.together((first, widths[first]), (second, widths[second])) for first, second in pairs)
        return float(self.matrix[0, 0]) + alone + beside


def samples_to_grade(module: ModuleOp) -> int:
    """Returns the number of samples on which to compute gradients of `module`; large models use fewer."""
    return runs_within(module, MULTIPLY_ADDS, FEWEST, SAMPLES)


Divergences = Callable[[Sequence[Widths]], F64]
"""Computes the matrix of `divergences` for choices of widths."""


def predict(layered: LayerwiseModel, losses: Divergences, wanted: Sequence[Alone], figures: Measurements) -> Prediction:
    """Predicts the loss of each of `wanted` by `losses`.

    If `figures` lacks a part of the result, the whole result is computed in one pass. Raises `DiagnosticError` if an
    operation has no gradient.
    """
    alone: list[Widths] = [{}, *({name: width} for name, width in wanted)]
    rows, columns = np.triu_indices(len(alone))
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    names = [f"divergence by {PASSES} passes {_text(alone[row])} {_text(alone[column])}" for row, column in pairs]
    matrix = np.zeros((len(alone), len(alone)))
    matrix[rows, columns] = matrix[columns, rows] = figures.together(
        names, lambda: losses(alone)[rows, columns].tolist()
    )
    weighted = [name for name, layer in layered.layers.items() if layer.weights]
    return Prediction(matrix, {each: row for row, each in enumerate(wanted, 1)}, weighted)


def allot(
    layered: LayerwiseModel,
    batches: Iterable[Batch],
    losses: Divergences,
    budget: SearchBudget,
    figures: Measurements,
    latency: Latency | None = None,
) -> Allotment:
    """Returns the widths with the least predicted loss within `budget`.

    The loss is predicted by `losses` from gradients on `batches`. Times are measured by `latency`, or estimated if it
    is `None`. A width that costs the same as the layer's present width is not a candidate, because no budget could
    exclude it. Raises `DiagnosticError` if no choice meets the budget or an operation has no gradient.
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
        estimated = partial(_estimated, layered, figures)
        counts.append(estimated if latency is None else _measured(latency, tried, figures))
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
    known = predict(layered, losses, kept, figures)
    options = [
        [free if width is None else Option(costs[name, width], known.added((name, width))) for width in each]
        for name, each in ways.items()
    ]
    found = front(options, limits, _pairs(known, ways))
    if not found:
        raise _unreachable(budget, size, time, lowest)
    best = min(found, key=lambda each: (each.loss, each.costs))
    sizes = {(name, width): constant_bytes(layered, {name: width}) - size for name, width in kept}

    def point(choice: Selection) -> ParetoPoint:
        picked = ((name, each[pick]) for (name, each), pick in zip(ways.items(), choice.picks, strict=True))
        widths = {name: width for name, width in picked if width is not None}
        taken = None if budget.time is None else 1 + choice.costs[-1] / time
        total = size + sum(sizes[each] for each in widths.items())
        return ParetoPoint(total, taken, float(known.matrix[0, 0]) + choice.loss, widths, choice is best)

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
    """Returns the joint losses of each pair of nearby layers, by their indices in `ways`.

    Each has one element per pair of widths.
    """
    positions = {name: position for position, name in enumerate(ways)}
    return {
        (positions[first], positions[second]): np.asarray(
            [
                [
                    0.0 if one is None or other is None else known.together((first, one), (second, other))
                    for other in ways[second]
                ]
                for one in ways[first]
            ]
        )
        for first, second in known.near()
        if first in positions and second in positions
    }


def _text(widths: Widths) -> str:
    return json.dumps(dict(sorted(widths.items())), ensure_ascii=False)


def constant_bytes(layered: LayerwiseModel, widths: Widths) -> int:
    """Returns the bytes of the packed quantized constants, counting a constant once per type."""
    constants: dict[tuple[SSAValue, UniformQuantizedType], int] = {}
    for each in layered.decisions(widths):
        for (op, position), type_ in each.constants.items():
            value = op.operands[position]
            constants[value, type_] = -(-elements_of(value) * type_.bits // 8)
    return sum(constants.values())


def _estimated(layered: LayerwiseModel, figures: Measurements, widths: Widths) -> int:
    """Returns the estimated time of the model with these widths."""
    return int(figures.measured(f"time {_text(widths)}", lambda: coverage(layered.quantized(widths)).cost))


def _times(latency: Latency, widths: Widths, figures: Measurements) -> dict[str, int]:
    """Returns the nanoseconds of each layer in the program of `widths`, stored for this code and CPU only."""
    names = ["", *latency.layered.layers]
    here = f"{content_digest(environment())[:16]}{registry.plugged_code()[:16]} {latency.threads}"
    found = figures.together(
        [f"nanoseconds {here} {json.dumps(name, ensure_ascii=False)} {_text(widths)}" for name in names],
        lambda: [*map(latency.of(widths).__getitem__, names)],
    )
    return dict(zip(names, map(int, found), strict=True))


def _measured(latency: Latency, tried: Sequence[Alone], figures: Measurements) -> Callable[[Widths], int]:
    """Returns a function that adds measured times of layers, from one program for each width in `tried`."""
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
    """Returns the error for a budget that is too small, with the minimum of each of its limits."""
    parts: list[str] = []
    if budget.bytes is not None:
        parts.append(f"{budget.bytes} bytes (minimum {size + lowest[0]})")
    if budget.time is not None:
        parts.append(f"{budget.time} of the time (minimum {(time + lowest[-1]) / time:.3f})")
    return text_error(
        f"no choice of 4 bits, 8 bits, 16 bits or float per layer meets the budget: {' and '.join(parts)}"
    )
