"""How the time of a program grows with its size: a matrix product, sequences, batches, each from small to large.

All sizes of one growth run in turns. The exponent is the slope of the least squares line through the logarithms of
multiply-adds and times; 1 is linear. A step is the time per multiply-add of one size over that of the size before it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.architectures import random_inputs
from benchmarks.contest import Contest
from benchmarks.models import convnet, encoder, lstm, mlp
from benchmarks.narrow import product
from benchmarks.rows import BenchRow, Section, readable, row_of, with_rate
from qmlir.extensions.report.inspecting import inspect
from qmlir.extensions.report.timing import Times
from qmlir.interpreter.random_inputs import random_inputs as random_arguments
from qmlir.specialization.inputs import function_of
from qmlir.text.printing import PrintOptions, Weights, save_module

FULL = 0.9
"""A size fills the machine where it does this share of the most multiply-adds a second of all sizes."""


def _square(size: int) -> ModuleOp:
    weights = np.random.default_rng(0).integers(-127, 128, (size, size))
    return product(size, weights, "i8")


def _quantized(build: Callable[[int], ModelProto], size: int) -> ModuleOp:
    model = build(size)
    return qmlir.quantize(qmlir.load(model), [random_inputs(model, 1)]).module


@dataclass(frozen=True)
class Growth:
    """What grows: a module for each size."""

    what: str
    build: Callable[[int], ModuleOp]
    sizes: Sequence[int]


def _powers(low: int, high: int) -> Sequence[int]:
    """Powers of two from `low` to `high`, which are such."""
    return tuple(1 << exponent for exponent in range(low.bit_length() - 1, high.bit_length()))


GROWTHS: Mapping[str, Growth] = {
    "matmul": Growth("matmul NxNxN", _square, _powers(64, 4096)),
    "lstm": Growth("LSTM, sequence N", partial(_quantized, lambda size: lstm(sequence=size)), _powers(16, 512)),
    "encoder": Growth(
        "encoder, sequence N", partial(_quantized, lambda size: encoder(sequence=size)), _powers(16, 512)
    ),
    "mlp": Growth("MLP, batch N", partial(_quantized, lambda size: mlp(batch=size)), _powers(1, 64)),
    "convnet": Growth("convnet, batch N", partial(_quantized, lambda size: convnet(batch=size)), _powers(1, 64)),
}
"""What grows, by name."""


def exponent(products: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of time over multiply-adds, both as logarithms."""
    slope, _ = np.polyfit(np.log(products), np.log(seconds), 1)
    return float(slope)


def growth_rows(name: str, sizes: Mapping[int, tuple[int, Times]]) -> Iterator[BenchRow]:
    """Exponent, worst step and worst cost beyond a full machine, of multiply-adds and times by size."""
    cost = {size: timing.median / products for size, (products, timing) in sizes.items()}
    figures = [products for products, _ in sizes.values()], [timing.median for _, timing in sizes.values()]
    yield BenchRow("exponent of the time in multiply-adds", exponent(*figures), 1.0, "", subject=name)
    before, after = max(pairwise(cost), key=lambda pair: cost[pair[1]] / cost[pair[0]])
    step = f"worst step, {before} to {after}: time per multiply-add"
    yield BenchRow(step, cost[after] / cost[before], 1.0, "x", subject=name)
    full = next(size for size in cost if cost[size] <= min(cost.values()) / FULL)
    worst = max((size for size in cost if size >= full), key=lambda size: cost[size])
    beyond = f"{full} fills the machine; worst beyond, {worst}: time per multiply-add"
    yield BenchRow(beyond, cost[worst] / cost[full], 1.0, "x", subject=name)


def _kept(path: Path, build: Callable[[], ModuleOp]) -> ModuleOp:
    """The module in a file, made where it isn't there: quantizing a long sequence takes longer than all of its runs."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        save_module(build(), path, PrintOptions(weights=Weights.SIDECAR))
    return qmlir.load(path)


def _runs(name: str, contest: Contest) -> tuple[dict[int, Callable[[], object]], dict[int, int]]:
    """The compiled program of each size on an input, and its multiply-adds."""
    growth = GROWTHS[name]
    runs: dict[int, Callable[[], object]] = {}
    products: dict[int, int] = {}
    for size in growth.sizes:
        contest.say(f"{growth.what}, {size}: compiling")
        module = _kept(contest.folder / "growth" / f"{name}_{size}.mlir", partial(growth.build, size))
        found = inspect(module).multiply_adds
        assert found is not None  # all of these tell
        products[size] = found
        runs[size] = partial(qmlir.compile(module), random_arguments(function_of(module, "main"), 0))
    return runs, products


def prepare_growth(name: str, contest: Contest) -> None:
    """Have every program of a growth in the cache."""
    _runs(name, contest)


def growth_section(name: str, contest: Contest) -> Section:
    """One growth, on one thread."""
    runs, products = _runs(name, contest)
    timings = contest.times({str(size): run for size, run in runs.items()})
    peak = contest.peak(1).int8
    found = {size: timings[str(size)] for size in runs}
    rows = [
        with_rate(
            row_of(timing, "time", *readable(timing.median), f"{name}, N = {size}"), timing.median, products[size], peak
        )
        for size, timing in found.items()
    ]
    growth = growth_rows(name, {size: (products[size], timing) for size, timing in found.items()})
    return Section(f"Growth: {GROWTHS[name].what}", [*rows, *growth])
