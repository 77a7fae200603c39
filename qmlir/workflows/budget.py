"""Widths under a budget: what each width of each layer costs and loses, and the choice that loses least.

A layer is as it was quantized, or has weights of 4 bits, or 16 bits. What that costs is counted: the bytes of its
constants, and the estimated time of `coverage`. What it loses is the divergence of `qmlir.workflows.sensitivity`. Its
sum over the layers, and over each two of which both have weights and are near each other, is minimized exactly
(`qmlir.arithmetic.knapsack`).

The time of a layer is that of its wider operand, so that two layers of 16 bits beside each other are counted as no less
than they take: what is chosen is within the budget.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from qmlir.arithmetic.knapsack import Choice, Option, front, least
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.quant.sizes import elements_of
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.diagnostics import text_error
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.report import coverage
from qmlir.text.tables import aligned, bytes_text
from qmlir.workflows.evaluating import Batches
from qmlir.workflows.measurements import Measurements
from qmlir.workflows.sensitivity import divergences, rounded
from qmlir.workflows.widths import Layered, Width, Widths

SAMPLES = 128
"""Samples that gradients are taken on. With 32, 64 and 128 the rank correlation of the prediction with all choices of 4
and 8 bits is .90 to .93, .94 to .96 and .96 to .97 on the digits CNN, by the random signs."""

REACH = 3
"""The layers with weights from one to the next that it loses something together with: the digits CNN has .80 without,
and .94, .97 and .98 for 2, 3 and all. The solver takes time by the power of the widths to this."""

SHOWN = 12
"""Points of a front that are told of."""


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


@dataclass(frozen=True)
class _Way:
    """One width of a layer, `None` as it is, and its row in the matrix of divergences."""

    width: Width | None
    row: int
    option: Option


def allot(layered: Layered, batches: Batches, output: str, budget: Budget, figures: Measurements) -> Allotment:
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
        times = [int(figures.measured(f"time {_text(each)}", partial(_time, layered, each))) for each in alone]
    kinds = ([sizes] if budget.bytes is not None else []) + ([times] if budget.time is not None else [])
    kept = [0, *(place for place in range(1, len(alone)) if any(kind[place] != kind[0] for kind in kinds))]
    known = _divergences(layered, batches, output, [(alone[place], decided[place]) for place in kept], figures)
    items: dict[str, list[_Way]] = {}
    layers: list[LayerWidth] = []
    for row, place in enumerate(kept[1:], 1):
        name, width = tried[place - 1]
        way = _Way(width, row, Option(tuple(kind[place] - kind[0] for kind in kinds), known[row, row] - known[0, 0]))
        items.setdefault(name, [_Way(None, 0, Option((0,) * len(kinds), 0.0))]).append(way)
        share = (times[place] - times[0]) / times[0] if times[0] else 0.0
        layers.append(LayerWidth(name, width, sizes[place] - sizes[0], share, way.option.loss))
    most = ([budget.bytes - sizes[0]] if budget.bytes is not None else []) + (
        [int(budget.time * times[0]) - times[0]] if budget.time is not None else []
    )
    options = [[way.option for way in ways] for ways in items.values()]
    found = front(options, most, _pairs(layered, items, known))
    if not found:
        raise _unreachable(budget, sizes[0], times[0], least(options) if options else (0,) * len(kinds))
    best = min(found, key=lambda each: (each.loss, each.costs))

    def point(choice: Choice) -> FrontPoint:
        picked = zip(items.items(), choice.picks, strict=True)
        widths = {name: width for (name, ways), pick in picked if (width := ways[pick].width) is not None}
        size = sizes[0] + sum(each.bytes for each in layers if widths.get(each.layer) == each.width)
        time = None if budget.time is None else 1 + choice.costs[-1] / times[0]
        return FrontPoint(size, time, float(known[0, 0]) + choice.loss, widths, choice is best)

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


def _pairs(layered: Layered, items: Mapping[str, Sequence[_Way]], known: F64) -> dict[tuple[int, int], F64]:
    """What each two of the layers with weights lose together, that are at most `REACH` of these apart."""
    places = [place for place, name in enumerate(items) if layered.layers[name].weights]
    rows = [[way.row for way in ways] for ways in items.values()]
    found: dict[tuple[int, int], F64] = {}
    for at, later in enumerate(places):
        for earlier in places[max(0, at - REACH) : at]:
            first, second = np.asarray(rows[earlier])[:, None], np.asarray(rows[later])[None, :]
            found[earlier, later] = 2 * (known[first, second] - known[first, 0] - known[0, second] + known[0, 0])
    return found


def _divergences(
    layered: Layered, batches: Batches, output: str, wanted: Sequence[tuple[Widths, Sequence[Decisions]]],
    figures: Measurements,
) -> F64:  # fmt: skip
    """The matrix of `divergences`; all of it comes from one pass, which is made where a part of it is not known."""

    def measure() -> list[float]:
        places = [dict(pair for each in decided for pair in rounded(each).items()) for _, decided in wanted]
        return divergences(layered.decided, output, batches, places)[rows, columns].tolist()

    rows, columns = np.triu_indices(len(wanted))
    names = [_text(widths) for widths, _ in wanted]
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    values = figures.together([f"divergence {names[row]} {names[column]}" for row, column in pairs], measure)
    found = np.zeros((len(wanted), len(wanted)))
    found[rows, columns] = found[columns, rows] = values
    return found


def _unreachable(budget: Budget, size: int, time: int, lowest: Sequence[int]) -> Exception:
    """What says that a budget is too small, and what each of its parts takes at least."""
    parts: list[str] = []
    if budget.bytes is not None:
        parts.append(f"{budget.bytes} bytes, of which {size + lowest[0]} are the fewest")
    if budget.time is not None:
        parts.append(f"{budget.time} of the time, of which {(time + lowest[-1]) / time:.3f} is the least")
    return text_error(f"no widths of 4 bits, as quantized and 16 bits keep the budget: {' and '.join(parts)}")
