"""What each effort of a repair gives: `python -m benchmarks.repairs model.onnx images.npz [model.onnx images.npz …]`.

An archive has `x_train`, `x_test` and `y_test`. Images of u8 are given as `(x / 255 - 0.5) / 0.25`, floats as they are.
The first training images calibrate; a row has the top-1 of the compiled program on the test images, the signal-to-noise
ratio of its scores against the float model's, and the seconds that quantizing took.

With `--layers` the rows are of layers instead: the signal-to-noise ratio of what each layer of the quantized program
gives, against the float model, without a repair and with the best one, on test images; the same ratio of all that were
tried, on samples that are held out; and how far each pass brought the error of each layer down on its own samples.

With `--short-sums` the rows are those of weights whose sums never saturate in 16 bits, beside 8 bits without that.

With `--spectra` there is no model: random weights of 4 bits, one scale for each of 64 channels, are multiplied by data
whose second moments have eigenvalues that fall as a power of their place. Codes are chosen by samples, and judged by
the moments that these were drawn from: the signal-to-noise ratio of the products, and the noise against nearest codes.

With `--blocks` the rows are those of blocks that are learned together, with weights of their errors and without, beside
layers alone: the ratio of the scores on test images, and the top-1.

With `--choices N` the rows are of a search by a budget instead (`qmlir search --mode budget`): how well the predicted
loss orders choices of 4 and 8 bits for the weights of each layer, against the divergence of their executed integers on
test images, all choices or N that are drawn; and the models that the search evaluates, against those of the greedy one.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

import qmlir
from benchmarks.rows import BenchRow, add_output, print_rows
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.calibrators import distillation_divergence
from qmlir.extensions.recovery.repairing import BLOCKS, EFFORTS
from qmlir.extensions.recovery.rounded_weights import STEPS
from qmlir.extensions.recovery.weight_rounding import F64, CodeGrid, HessianLoss, adaround, error, gptq, settled
from qmlir.extensions.search.budget import constant_bytes, predict, samples_to_grade
from qmlir.extensions.search.choices import Width
from qmlir.extensions.search.searching import search
from qmlir.extensions.search.sensitivity import divergences
from qmlir.extensions.search.trials import Measurements, rounded_by
from qmlir.extensions.search.widths import LayerwiseModel
from qmlir.ir.builtin_types import tensor
from qmlir.ir.signature import inputs_of
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.inputs import function_of
from qmlir.workflows.calibrated import stages_of
from qmlir.workflows.comparison.compare import compare
from qmlir.workflows.comparison.errors import ErrorSums
from qmlir.workflows.comparison.subjects import ModuleSubject
from qmlir.workflows.evaluating import Batches, output_name
from qmlir.workflows.profiling import profile

_SETTINGS: dict[str, QuantizeSettings] = {
    "W8A8": {},
    "W4A8": {"weights": "i4"},
    "W4A4": {"weights": "i4", "activations": "u4"},
    "W2A8": {"weights": "i2"},
}
_USUAL = "W8A8", "W4A8", "W4A4"


_LAYERS = ("nn.conv", "nn.fully_connected", "nn.gru", "nn.lstm", "nn.matmul")


def ready_images(images: Array, shape: Sequence[int]) -> Array:
    """All images as the one input of a model, whose open axis is that of the images."""
    if images.dtype == np.uint8:
        images = (images.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
    axis = list(shape).index(DYNAMIC_INDEX)
    return np.moveaxis(images.reshape(len(images), *shape[:axis], *shape[axis + 1 :]), 0, axis)


def scores_of(module: ModuleOp, name: str, images: Array) -> Array:
    found: Any = next(iter(qmlir.compile(module)({name: images}).values()))
    return np.asarray(found)


_SHORT: dict[str, QuantizeSettings] = {
    "W8A8": {},
    **{
        f"W8A8, sums of {steps} pairs in 16 bits": {"accumulator_bits": 16, "accumulator_pairs": steps}
        for steps in STEPS
    },
}


@dataclass(frozen=True)
class _Images:
    """A model with one input, and the images that calibrate and judge it."""

    module: ModuleOp
    name: str
    """That of its input."""

    stem: str
    data: Array
    """Those of the training set."""

    tested: Array
    classes: Array
    """Of `tested`."""

    @staticmethod
    def load(model: Path, archive: Path, samples: int, images: int | None) -> "_Images":
        """`samples` images that calibrate, and `images` of the test set, or all."""
        module = qmlir.load(model)
        (port,) = inputs_of(function_of(module, "main"))
        shape = tensor(port.type).get_shape()
        with np.load(archive) as found:
            data, tested = (
                ready_images(found[name][:most], shape) for name, most in (("x_train", samples), ("x_test", images))
            )
            return _Images(module, port.name, model.stem, data, tested, found["y_test"][:images])

    @property
    def calibrating(self) -> dict[str, Array]:
        """The images that calibrate, by the name of the input."""
        return {self.name: self.data}

    def scores(self, module: ModuleOp | None = None) -> Array:
        """What `module`, or else the model itself, gives on the test images."""
        return scores_of(self.module if module is None else module, self.name, self.tested)


def measured(of: _Images, chosen: Mapping[str, QuantizeSettings]) -> Iterator[BenchRow]:
    """The rows of one model, quantized by each of the `chosen` settings."""
    wanted = of.scores()
    right = float((wanted.argmax(1) == of.classes).mean())
    yield BenchRow("float", 100 * right, None, "%", subject=of.stem)
    for what, settings in chosen.items():
        for effort in (0, *EFFORTS):
            begun = time.perf_counter()
            quantized = qmlir.quantize(of.module, of.calibrating, effort=effort, validate=False, **settings).module
            taken = time.perf_counter() - begun
            scores = of.scores(quantized)
            sums = ErrorSums()
            sums.add(wanted, scores)
            top1 = float((scores.argmax(1) == of.classes).mean())
            name = f"{what}, effort {effort}"
            yield BenchRow(f"{name}: top-1", 100 * top1, None, "%", subject=of.stem)
            if effort:
                yield BenchRow(f"{name}: top-1 below float", 100 * (right - top1), 0.5, "%", subject=of.stem)
            yield BenchRow(f"{name}: scores", sums.sqnr_db, None, "dB", subject=of.stem)
            yield BenchRow(f"{name}: quantizing", taken, None, "s", subject=of.stem)


def by_layer(of: _Images, names: Sequence[str]) -> Iterator[BenchRow]:
    """The rows of one model's layers, on the test images."""
    for what in names:
        for effort in (0, max(EFFORTS)):
            made = qmlir.quantize(of.module, of.calibrating, effort=effort, validate=False, **_SETTINGS[what])
            sides = ModuleSubject(made.source, "float"), ModuleSubject(made.module, "quantized")
            values = compare(*sides, {of.name: of.tested}).values
            for at, each in enumerate(values):
                if each.operation in _LAYERS:
                    after = (value for value in values[at:] if not value.is_limited)  # behind what cuts it off
                    name = f"{what}, effort {effort}: {each.key}"
                    yield BenchRow(name, next(after, each).sqnr_db, None, "dB", subject=of.stem)
            if made.repair is None:
                continue
            tried = ((made.repair.passes, made.repair.after_db), *made.repair.others)
            for passes, ratio in (("no repair", made.repair.before_db), *tried):
                yield BenchRow(f"{what}, held out: {passes}", ratio, None, "dB", subject=of.stem)
            for gain in made.repair.layers if made.repair.is_kept else ():
                if gain.gain_db is not None:
                    name = f"{what}, {gain.repair}: {gain.layer}"
                    yield BenchRow(name, gain.gain_db, None, "dB less", subject=of.stem)


def by_blocks(of: _Images, names: Sequence[str]) -> Iterator[BenchRow]:
    """The rows of one model whose blocks are learned together; all images that calibrate repair it."""
    wanted, (layers, blocks) = of.scores(), next(iter(BLOCKS.items()))
    lists: dict[str, LiteralString] = {
        "layers alone": layers,
        "blocks": blocks.replace(" weighted", ""),
        "blocks, weighted": blocks,
    }
    for what in names:
        for name, passes in lists.items():
            run = stages_of(_SETTINGS[what], of.module, repair=passes)
            floats = of.module.clone()
            run(floats, "target", "lower")
            run(floats, "profile", "mask", "balance", taken=profile(floats, of.calibrating))
            repaired = floats.clone()
            run(repaired, "decide", "propagate")
            run(repaired, "repair", samples=of.calibrating, floats=floats)
            run(repaired, "raise", "rescale", "store")
            scores = of.scores(repaired)
            sums = ErrorSums()
            sums.add(wanted, scores)
            yield BenchRow(f"{what}, {name}: scores", sums.sqnr_db, None, "dB", subject=of.stem)
            top1 = float((scores.argmax(1) == of.classes).mean())
            yield BenchRow(f"{what}, {name}: top-1", 100 * top1, None, "%", subject=of.stem)


def _ranks(figures: Sequence[float]) -> Array:
    """The place of each figure among all; these differ but by chance."""
    return np.argsort(np.argsort(np.asarray(figures))).astype(np.float64)


def _choices(names: Sequence[str], most: int) -> Iterator[dict[str, Width]]:
    """4 bits for some of the layers: all choices, or `most` different ones."""
    count = 1 << len(names)
    numbers = range(count) if count <= most else np.random.default_rng(0).choice(count, most, replace=False).tolist()
    for number in numbers:
        yield {name: Width.NARROW for position, name in enumerate(names) if number >> position & 1}


def ordered(of: _Images, choices: int) -> Iterator[BenchRow]:
    """The rows of a search by a budget, of one model; the test images are the referee."""
    module, given, tested = of.module, of.calibrating, {of.name: of.tested}
    output = output_name(module, None)
    profiled = qmlir.quantize(module, given, validate=False).profiled
    layered = LayerwiseModel(profiled, QuantizeOptions(granularity="channel"))
    names = [name for name, layer in layered.layers.items() if layer.weights]
    batches = Batches(module, given, limit=samples_to_grade(module), size=1)
    begun = time.perf_counter()
    known = predict(
        layered,
        lambda choices: divergences(layered.decided, output, batches, rounded_by(layered, choices)),
        [(name, Width.NARROW) for name in names],
        Measurements(""),
    )
    yield BenchRow("gradients", time.perf_counter() - begun, None, "s", subject=of.stem)
    wanted = of.scores()
    predicted: list[float] = []
    alone: list[float] = []
    measured: list[float] = []
    for widths in _choices(names, choices):
        predicted.append(known.loss(widths))
        alone.append(sum(known.of(each) for each in widths.items()))
        scores = qmlir.interpret(layered.quantized(widths), tested)[output]
        measured.append(distillation_divergence(scores.reshape(wanted.shape), wanted, 1.0)[0])
    for what, figures, bar in (("", predicted, 0.1), (", without pairs of layers", alone, None)):
        correlation = float(np.corrcoef(_ranks(figures), _ranks(measured))[0, 1])
        name = f"1 - rank correlation, {len(predicted)} of {1 << len(names)} choices{what}"
        yield BenchRow(name, 1 - correlation, bar, "", subject=of.stem)
    begun = time.perf_counter()
    greedy = search(module, tested, labels=of.classes, calibration=given, max_drop=0.01, mode="raise")
    yield BenchRow("greedy search", time.perf_counter() - begun, None, "s", subject=of.stem)
    begun = time.perf_counter()
    size = constant_bytes(layered, greedy.widths)
    found = search(module, tested, labels=of.classes, calibration=given, max_bytes=size, mode="budget")
    yield BenchRow("search by a budget", time.perf_counter() - begun, None, "s", subject=of.stem)
    for what, each in (("greedy", greedy), ("budget", found)):
        yield BenchRow(f"{what}: top-1 at {size} bytes", 100 * each.accuracy, None, "%", subject=of.stem)
        scores = qmlir.interpret(each.quantized.module, tested)[output]
        lost = distillation_divergence(scores.reshape(wanted.shape), wanted, 1.0)[0]
        yield BenchRow(f"{what}: divergence at {size} bytes", 1e3 * lost, None, "mnat", subject=of.stem)
    # The model as it was quantized is run for its accuracy, and as what the order of the layers is measured against.
    evaluated = 2 + len(greedy.ranking) + len(greedy.steps)
    name = f"models evaluated, of {evaluated} by the greedy search"
    yield BenchRow(name, 1 / evaluated, 1 / 20, "", subject=of.stem)


_CHANNELS, _TERMS, _ROWS = 64, 288, 4096
"""Weights of a 3x3 convolution of 32 channels, and the samples that choose their codes."""

_POWERS = 1.0, 1.5, 2.0
"""Second moments of the layers of trained networks have eigenvalues that fall like these."""

_LEAST_GAIN = 6.0
"""Decibels that codes of 4 bits are to gain over the nearest ones."""


def _moments(rows: F64) -> F64:
    return rows.T @ rows / len(rows)


def by_spectrum(power: float) -> Iterator[BenchRow]:
    """The rows of one layer of random weights, on data whose second moments have eigenvalues that fall by `power`."""
    draw = np.random.default_rng(0)
    weights = draw.normal(size=(_CHANNELS, _TERMS))
    axes = np.linalg.qr(draw.normal(size=(_TERMS, _TERMS)))[0]
    steps = np.broadcast_to(np.abs(weights).max(1, keepdims=True) / 7, weights.shape)
    grid = CodeGrid(steps, np.full(weights.shape, -7.0), np.full(weights.shape, 7.0))
    values = np.arange(1, _TERMS + 1) ** -power
    known = (axes * values) @ axes.T
    drawn = _moments((draw.normal(size=(_ROWS, _TERMS)) * np.sqrt(values)) @ axes.T)
    nearest = grid.nearest(weights)
    (learned,) = adaround(weights[None], nearest[None], grid, HessianLoss(weights[None], drawn[None]))
    chosen = {
        "nearest": nearest,
        "GPTQ": gptq(weights, grid, drawn),
        "GPTQ and a descent": settled(weights, grid, drawn)[0],
        "AdaRound": learned,
    }
    signal = error(weights, np.zeros_like(weights), grid, known)
    noises = {name: error(weights, codes, grid, known) for name, codes in chosen.items()}
    subject = f"eigenvalues of power {power:g}"
    # Rounding one code after the other multiplies a squared step by the variance of a term given those to come, not by
    # the variance itself. The product of the former is the determinant: their mean is at least the geometric mean of
    # the eigenvalues, that of the latter is the arithmetic one.
    limit = 10 * float(np.log10(values).mean() - np.log10(values.mean()))
    yield BenchRow("noise against nearest, one code after the other: the limit", limit, None, "dB", subject=subject)
    for name, noise in noises.items():
        yield BenchRow(f"{name}: products", 10 * np.log10(signal / noise), None, "dB", subject=subject)
        if name != "nearest":
            than = 10 * float(np.log10(noise / noises["nearest"]))
            yield BenchRow(f"{name}: noise against nearest", than, -_LEAST_GAIN, "dB", subject=subject)


def main() -> None:
    """Measure the models that are named, and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", metavar="FILE", help="a model and its archive of images, in turn")
    parser.add_argument("--samples", type=int, default=512, help="training images that calibrate (default: 512)")
    parser.add_argument("--short-sums", action="store_true", help="measure weights whose sums fit 16 bits")
    parser.add_argument("--spectra", action="store_true", help="measure random weights, without a model")
    parser.add_argument("--choices", type=int, metavar="N", help="measure a search by a budget, on N choices of widths")
    parser.add_argument("--settings", nargs="+", choices=tuple(_SETTINGS), default=_USUAL, help="widths to measure")
    parser.add_argument("--layers", action="store_true", help="measure each layer")
    parser.add_argument("--blocks", action="store_true", help="measure blocks that are learned together")
    parser.add_argument("--images", type=int, default=128, help="test images of --choices and --layers (default: 128)")
    add_output(parser)
    arguments = parser.parse_args()
    files = [Path(each) for each in arguments.pairs]
    if arguments.spectra:
        print_rows([row for power in _POWERS for row in by_spectrum(power)], arguments)
        return
    if not files or len(files) % 2:
        parser.error("each model has an archive of images, one after the other; --spectra takes none")
    if arguments.layers + arguments.blocks + (arguments.choices is not None) > 1:
        parser.error("--layers, --blocks and --choices are measurements of their own")
    chosen = _SHORT if arguments.short_sums else {name: _SETTINGS[name] for name in arguments.settings}

    def rows_of(model: Path, archive: Path) -> Iterator[BenchRow]:
        is_large = not arguments.layers and arguments.choices is None
        of = _Images.load(model, archive, arguments.samples, None if is_large else arguments.images)
        if arguments.layers:
            return by_layer(of, arguments.settings)
        if arguments.blocks:
            return by_blocks(of, arguments.settings)
        return measured(of, chosen) if arguments.choices is None else ordered(of, arguments.choices)

    pairs = zip(files[::2], files[1::2], strict=True)
    rows = [row for model, archive in pairs for row in rows_of(model, archive)]
    print_rows(rows, arguments)


if __name__ == "__main__":
    main()
