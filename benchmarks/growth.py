"""How the time of a program grows with its size: a matrix product, sequences, batches, each from small to large.

And slopes, which a run requires to be straight: the time and the memory of quantizing over the weights of a model, and
over the samples and steps of an LSTM; those of a program over the length of a sequence, and over the rows of a cache.

All sizes of one growth run in turns. The exponent is the slope of the least squares line through the logarithms of
multiply-adds and times; 1 is linear. A step is the time per multiply-add of one size over that of the size before it.
"""

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.architectures import random_inputs
from benchmarks.contest import Contest
from benchmarks.models import Decoder, convnet, encoder, lstm, mlp
from benchmarks.narrow import product
from benchmarks.rows import BenchRow, Section, readable, row_of, with_rate
from benchmarks.starts import in_process
from qmlir.extensions.report.inspecting import inspect
from qmlir.extensions.report.timing import Times
from qmlir.interpreter.random_inputs import random_inputs as random_arguments
from qmlir.interpreter.run import interpret_all
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.saved import cards_in
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


_DECODERS = tuple(Decoder(layers, 768, 2048) for layers in (2, 5, 8))
_SETTINGS = ("weights=i4", "activations=f32", "granularity=block:32")
_SECONDS, _BYTES = 90 / 341, 1.5
"""The bars of the processor time of a million parameters, and of the memory over the bytes of their floats."""

LARGE = "large"
"""The name of the measurement of decoders as large as the memory of a usual machine permits."""

_LARGE: Mapping[str, tuple[Decoder, tuple[str, ...]]] = {
    "341 million parameters, 8 bits": (Decoder(24, 1024, 2816, 16000), ("16",)),
    "1 billion parameters, 4-bit blocks": (Decoder(18, 2048, 5504, 32000), ("0", *_SETTINGS)),
}
"""Decoders, with the number of samples and the settings that quantize them."""

_LARGE_SECONDS, _LARGE_GIGABYTES = 360, 12
"""The bars of the processor time from the import to the first token, and of the peak of memory."""

_BEND = 1.2
"""The bar of the steepest step over the first: by how much the cost of one more may rise. Required."""

_NOISE = 1.5
"""The bar of times instead of `_BEND`: caches fill, and the machines are shared."""


def slope_rows(
    what: str, figures: Mapping[float, float], bar: float | None, unit: str, subject: str = "", bend: float = _BEND
) -> Iterator[BenchRow]:
    """The slope of figures over their sizes, and the steepest step over the first one.

    The run requires the bar of exact figures; times, with a wider bar, depend on the load.
    """
    slope, _ = np.polyfit(list(figures), list(figures.values()), 1)
    yield BenchRow(what, float(slope), bar, unit, subject=subject)
    first, *others = ((high - low) / (after - before) for (before, low), (after, high) in pairwise(figures.items()))
    ratio = max(others) / first if first > 0 else math.inf
    yield BenchRow(f"{what}: steepest step over first", ratio, bend, "", subject=subject, is_required=bend == _BEND)


def _written(decoder: Decoder, contest: Contest) -> Path:
    """The file of a decoder, made where it isn't there."""
    path = contest.folder / "growth" / f"decoder_{decoder.layers}_{decoder.width}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        decoder.write(path)
    return path


def large_section(contest: Contest) -> Section:
    """Importing, quantizing and compiling large decoders, and one token of each, with an empty cache."""
    rows: list[BenchRow] = []
    for name, (decoder, settings) in _LARGE.items():
        path = _written(decoder, contest)
        contest.say(f"{name}: importing, quantizing, compiling, one token")
        with TemporaryDirectory(prefix="qmlir-bench-") as cache:
            done = in_process(Path(cache), "token", path, *settings)
        rows += [
            BenchRow("processor time to the first token", done.processor_seconds, _LARGE_SECONDS, "s", subject=name),
            BenchRow("peak memory", done.peak_bytes / 1e9, _LARGE_GIGABYTES, "GB", subject=name),
            BenchRow("peak memory over floats", done.peak_bytes / (4 * decoder.parameters), None, "x", subject=name),
        ]
    return Section("Large decoders, from the import to a token", rows)


def weights_section(contest: Contest) -> Section:
    """Quantizing the weights of decoders to 4-bit blocks: its time and its peak of memory."""
    seconds, memory = dict[float, float](), dict[float, float]()
    for decoder in _DECODERS:
        path = _written(decoder, contest)
        contest.say(f"quantizing {decoder.parameters / 1e6:.0f} million parameters")
        done = in_process(contest.folder / "cache", "quantize", path, *_SETTINGS)
        seconds[decoder.parameters / 1e6], memory[4 * decoder.parameters] = done.processor_seconds, done.peak_bytes
    times = slope_rows("processor time of a million parameters", seconds, _SECONDS, "s")
    return Section(
        "Growth: quantizing to 4-bit blocks", [*times, *slope_rows("peak memory over floats", memory, _BYTES, "x")]
    )


_NAMED = "size"
"""The name of a dimension of any size."""


def _open(model: ModelProto) -> ModelProto:
    """The model with a dimension of this name wherever its size is -1."""
    for port in (*model.graph.input, *model.graph.output):
        for dimension in port.type.tensor_type.shape.dim:
            if dimension.dim_value < 0:
                dimension.dim_param = _NAMED
    return model


_WIDTH, _LAYERS = 256, 2
_LENGTHS, _CAPACITIES = (64, 256, 320, 512), (256, 512, 1024)
"""The lengths that are timed, one just above a capacity, and those that an arena is planned for. Attention takes more
time for a multiply-add than projections do: far longer sequences would be a bend."""


def _products(length: int) -> int:
    """Multiply-adds of an encoder: projections and a hidden layer four times as wide, and the two of attention."""
    return _LAYERS * length * _WIDTH * (12 * _WIDTH + 2 * length)


def _inputs(length: int) -> Mapping[str, Any]:
    return {"input": np.random.default_rng(0).standard_normal((1, length, _WIDTH)).astype(np.float32)}


def lengths_section(contest: Contest) -> Section:
    """One program of an encoder for any length: its time over multiply-adds, and its arena over the longest."""
    model = _open(encoder(_LAYERS, _WIDTH, 4, -1))
    module = qmlir.quantize(qmlir.load(model), [_inputs(64)]).module
    arenas, programs = dict[float, float](), list[Any]()
    for capacity in _CAPACITIES:
        contest.say(f"encoder up to {capacity} tokens: compiling")
        programs.append(qmlir.compile(module, max_sizes={_NAMED: capacity}))
        programs[-1].save(contest.folder / "growth" / f"encoder_{capacity}", force=True)
        arenas[capacity] = cards_in(contest.folder / "growth" / f"encoder_{capacity}")[0].arena_bytes / 1024
    times = contest.times({str(length): partial(programs[-1], _inputs(length)) for length in _LENGTHS})
    seconds = {_products(length) / 1e9: times[str(length)].low * 1e3 for length in _LENGTHS}
    name = "encoder of any length"
    return Section(
        "Growth: sequence length",
        [
            *(row_of(times[str(length)], f"time, {length} tokens", 1e3, "ms", name) for length in _LENGTHS),
            *slope_rows("time of 1e9 multiply-adds", seconds, None, "ms", name, _NOISE),
            *slope_rows("arena of a token", arenas, None, "KiB", name),
        ],
    )


_ROWS = (128, 256, 512, 1024)


def cache_section(contest: Contest) -> Section:
    """A token of a decoder: its time over the rows of its cache."""
    runs: dict[str, Callable[[], object]] = {}
    for rows in _ROWS:
        contest.say(f"decoder with a cache of {rows} rows: compiling")
        path = contest.folder / "growth" / f"cache_{rows}.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        Decoder(_LAYERS, _WIDTH, 3 * _WIDTH, vocabulary=1000, past=rows).write(path)
        model = qmlir.load(path)
        inputs = random_arguments(function_of(model, "main"), 0)
        runs[str(rows)] = partial(qmlir.compile(qmlir.quantize(model, [inputs]).module), inputs)
    times, name = contest.times(runs), "decoder with a cache"
    seconds = {float(rows): times[str(rows)].low * 1e6 for rows in _ROWS}
    return Section(
        "Growth: rows of a cache",
        [
            *(row_of(times[str(rows)], f"time of a token, {rows} rows", 1e6, "us", name) for rows in _ROWS),
            *slope_rows("time of a row", seconds, None, "us", name, _NOISE),
        ],
    )


_STEPS, _SAMPLES = (100, 300, 500), (8, 24, 40)

_HELD = 1.5
"""The bar of the peak of memory for five times as many steps or samples: the parts of 8 samples are held at once."""


def _calls(run: Callable[[], object]) -> int:
    """The functions that a run enters or calls: work that no other process changes."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


def quantize_lstm(steps: int, samples: int) -> float:
    """Quantize an LSTM of 64 units on random walks, run it and the float model on them, and return the processor time.

    It isn't compared by `quantize`, which would try remedies on some of the walks and not on others.
    """
    model, generator = _open(lstm(-1, 32, 64)), np.random.default_rng(1)
    walks = generator.normal(0, 0.3, (samples, steps, 1, 32)).cumsum(1).astype(np.float32)
    module = qmlir.load(model)
    start = time.process_time()
    inputs = [{"input": walk} for walk in walks]
    quantized = qmlir.quantize(module, inputs, validate=False)
    for each in (module, quantized.module):
        deque(interpret_all(each, inputs), 0)
    return time.process_time() - start


def recurrent_section(contest: Contest) -> Section:
    """Quantizing an LSTM: its time and calls over samples and over steps, and the peak of memory of many and of few."""
    quantize_lstm(_STEPS[0], 2)  # imports
    name, rows = "quantizing an LSTM of 64", list[BenchRow]()
    growths = {"step": [(each, _SAMPLES[0]) for each in _STEPS], "sample": [(_STEPS[0], each) for each in _SAMPLES]}
    for number, (what, growing) in enumerate(growths.items()):
        calls, seconds = dict[float, float](), dict[float, float]()
        for size in growing:
            contest.say(f"{name}: {size[0]} steps, {size[1]} samples")
            seconds[size[number]] = 1e3 * quantize_lstm(*size)
            calls[size[number]] = _calls(partial(quantize_lstm, *size))
        few, many = (
            in_process(contest.folder / "cache", "recurrent", *map(str, growing[place])).peak_bytes for place in (0, -1)
        )
        time_of_one, _ = slope_rows(f"processor time of a {what}", seconds, None, "ms", name)
        more = f"peak memory, {growing[-1][number] / growing[0][number]:g} times as many {what}s"
        rows += [
            time_of_one,
            *slope_rows(f"calls of functions for a {what}", calls, None, "calls", name),
            BenchRow(more, many / few, _HELD, "", subject=name, is_required=True),
        ]
    return Section("Growth: quantizing a recurrent layer", rows)


SLOPES: dict[str, Callable[[Contest], Section]] = {
    "weights": weights_section,
    "lengths": lengths_section,
    "cache": cache_section,
    "recurrent": recurrent_section,
}
"""What a run requires to grow by straight lines, by name."""

SECTIONS: Mapping[str, Callable[[Contest], Section]] = {**SLOPES, LARGE: large_section}
"""The measurements with sections of their own, by name."""


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
    if name not in SECTIONS:
        _runs(name, contest)


def growth_section(name: str, contest: Contest) -> Section:
    """One growth, on one thread."""
    if name in SECTIONS:
        return SECTIONS[name](contest)
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
