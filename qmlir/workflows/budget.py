"""Widths under a budget: what each width of each layer costs and loses, and the choice that loses least.

A layer is as it was quantized, or has weights of 4 bits, or 16 bits. What that costs is counted: the bytes of its
constants, and the estimated time of `coverage`. What it loses is the divergence of `qmlir.workflows.sensitivity`. The
sum over the layers is minimized exactly (`qmlir.arithmetic.knapsack`).

The time of a layer is that of its wider operand, so that two layers of 16 bits beside each other are counted as no less
than they take: what is chosen is within the budget.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.ir import SSAValue

from qmlir.arithmetic.knapsack import Choice, Option, front, least
from qmlir.dialects.quant.sizes import elements_of
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.diagnostics import text_error
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.report import coverage
from qmlir.text.tables import aligned, bytes_text
from qmlir.workflows.evaluating import Batches
from qmlir.workflows.sensitivity import Sensitivity, rounded
from qmlir.workflows.widths import Layered, Width, Widths

SAMPLES = 32
"""Samples that gradients are taken on."""

SHOWN = 12
"""Points of a front that are told of."""

Measure = Callable[[str, Callable[[], float]], float]
"""Gives the figure of a name: one that is known, or what the function gives."""


@dataclass(frozen=True)
class Budget:
    """The most that a model may take; at least one of the two."""

    bytes: int | None = None
    """Of its quantized constants, packed."""

    time: float | None = None
    """Estimated, as a multiple of that of the model as it was quantized."""

    def check(self) -> None:
        """Raise `DiagnosticError` for a budget that has no limit, or one that is not above 0."""
        if self.bytes is None and self.time is None:
            raise text_error("a budget is a number of bytes, or an estimated time, or both: none is given")
        for name, figure in (("bytes", self.bytes), ("time", self.time)):
            if figure is not None and not figure > 0:
                raise text_error(f"a budget is above 0, found {name} of {figure}")


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
    """Estimated, as a multiple of that of the model as it was quantized; `None` where the budget has none."""

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


def allot(layered: Layered, batches: Batches, output: str, budget: Budget, measure: Measure) -> Allotment:
    """The widths of the layers that lose least within `budget`, by gradients on `batches` of the scores in `output`.

    A width that costs as much as the layer does is no candidate: no budget could refuse it. Raises `DiagnosticError`
    for a budget that no choice keeps, and for an operation that has no gradient.
    """
    tried = [
        (name, width)
        for name, layer in layered.layers.items()
        for width in (Width.NARROW, Width.WIDE)
        if layer.may_be(width) and layered.supported({name: width}) == {name: width}
    ]
    alone: list[dict[str, Width]] = [{}, *({name: width} for name, width in tried)]
    decided = [layered.decisions(widths) for widths in alone]
    sizes = [_bytes(each) for each in decided]
    times = [0] * len(alone)
    if budget.time is not None:
        times = [int(measure(f"time {_text(each)}", lambda each=each: _time(layered, each))) for each in alone]
    kinds = ([sizes] if budget.bytes is not None else []) + ([times] if budget.time is not None else [])
    kept = [0, *(place for place in range(1, len(alone)) if any(kind[place] != kind[0] for kind in kinds))]
    losses = _losses(layered, batches, output, [(alone[place], decided[place]) for place in kept], measure)
    items: dict[str, list[tuple[Width | None, Option]]] = {}
    layers: list[LayerWidth] = []
    for place, loss in zip(kept[1:], losses[1:], strict=True):
        name, width = tried[place - 1]
        costs = tuple(kind[place] - kind[0] for kind in kinds)
        option = Option(costs, loss - losses[0])
        items.setdefault(name, [(None, Option((0,) * len(kinds), 0.0))]).append((width, option))
        share = (times[place] - times[0]) / times[0] if times[0] else 0.0
        layers.append(LayerWidth(name, width, sizes[place] - sizes[0], share, option.loss))
    most = ([budget.bytes - sizes[0]] if budget.bytes is not None else []) + (
        [int(budget.time * times[0]) - times[0]] if budget.time is not None else []
    )
    options = [[option for _, option in each] for each in items.values()]
    found = front(options, most)
    if not found:
        raise _unreachable(budget, sizes[0], times[0], least(options) if options else (0,) * len(kinds))
    best = min(found, key=lambda each: (each.loss, each.costs))

    def point(choice: Choice) -> FrontPoint:
        picked = zip(items.items(), choice.picks, strict=True)
        widths = {name: width for (name, ways), pick in picked if (width := ways[pick][0]) is not None}
        size = sizes[0] + sum(each.bytes for each in layers if widths.get(each.layer) == each.width)
        time = None if budget.time is None else 1 + choice.costs[-1] / times[0]
        return FrontPoint(size, time, losses[0] + choice.loss, widths, choice is best)

    shown = _spread([each for each in found if each is not best], SHOWN - 1)
    points = tuple(point(each) for each in found if each is best or each in shown)
    samples = sum(batch.samples for batch in batches)
    return Allotment(samples, tuple(layers), points, len(found))


def _text(widths: Widths) -> str:
    return json.dumps(dict(sorted(widths.items())), ensure_ascii=False)


def _bytes(decided: Sequence[Decisions]) -> int:
    """Of the quantized constants: one that several operations read in one type is there once."""
    constants: dict[tuple[SSAValue, UniformQuantizedType], int] = {}
    for each in decided:
        for (op, place), type_ in each.constants.items():
            value = op.operands[place]
            constants[value, type_] = -(-elements_of(value) * type_.bits // 8)
    return sum(constants.values())


def _time(layered: Layered, widths: Widths) -> int:
    return coverage(layered.quantized(widths)).cost


def _losses(
    layered: Layered, batches: Batches, output: str, wanted: Sequence[tuple[Widths, Sequence[Decisions]]],
    measure: Measure,
) -> list[float]:  # fmt: skip
    """The divergence of each of the widths; all come from one pass, which is made where one of them is not known."""
    known: dict[str, float] = {}

    def figure(name: str) -> float:
        if not known:
            places = [
                {place: type_ for one in decided for place, type_ in rounded(one).items()} for _, decided in wanted
            ]
            found = Sensitivity(layered.decided, output).losses(batches, places)
            known.update(zip(names, found, strict=True))
        return known[name]

    names = [f"divergence {_text(widths)}" for widths, _ in wanted]
    return [measure(name, lambda name=name: figure(name)) for name in names]


def _unreachable(budget: Budget, size: int, time: int, lowest: Sequence[int]) -> Exception:
    """What says that a budget is too small, and what each of its parts takes at least."""
    parts: list[str] = []
    if budget.bytes is not None:
        parts.append(f"{budget.bytes} bytes, of which {size + lowest[0]} are the fewest")
    if budget.time is not None:
        parts.append(f"{budget.time} of the time, of which {(time + lowest[-1]) / time:.3f} is the least")
    return text_error(f"no widths of 4 bits, as quantized and 16 bits keep the budget: {' and '.join(parts)}")
