"""What each effort of a repair gives: `python -m benchmarks.repairs model.onnx images.npz [model.onnx images.npz …]`.

An archive has `x_train`, `x_test` and `y_test`. Images of u8 are given as `(x / 255 - 0.5) / 0.25`, floats as they are.
The first training images calibrate; a row has the top-1 of the compiled program on the test images, the signal-to-noise
ratio of its scores against the float model's, and the seconds that quantizing took.

With `--layers` the rows are of layers instead: the signal-to-noise ratio of what each layer of the quantized program
gives, against the float model, without a repair and with the best one, on test images; the same ratio of all that were
tried, on samples that are held out; and how far each pass brought the error of each layer down on its own samples.

With `--short-sums` the rows are those of weights whose sums never saturate in 16 bits, beside 8 bits without that.

With `--choices N` the rows are of a search by a budget instead (`qmlir search --mode budget`): how well the predicted
loss orders choices of 4 and 8 bits for the weights of each layer, against the divergence of their executed integers on
test images, all choices or N that are drawn; and the models that the search evaluates, against those of the greedy one.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

import qmlir
from benchmarks.rows import BenchRow, print_rows
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.losses import divergence
from qmlir.ir.builtin_types import tensor
from qmlir.ir.signature import inputs_of
from qmlir.quantization.settings import QuantizeSettings
from qmlir.quantization.short_sums import STEPS
from qmlir.specialization.inputs import function_of
from qmlir.workflows.budget import SAMPLES, constant_bytes, predict
from qmlir.workflows.comparison.compare import compare
from qmlir.workflows.comparison.errors import ErrorSums
from qmlir.workflows.comparison.subjects import ModuleSubject
from qmlir.workflows.evaluating import Batches, output_name
from qmlir.workflows.measurements import Measurements
from qmlir.workflows.repairing import EFFORTS
from qmlir.workflows.searching import search
from qmlir.workflows.widths import Layered, Width

_SETTINGS: dict[str, QuantizeSettings] = {
    "W8A8": {},
    "W4A8": {"weights": "i4"},
    "W4A4": {"weights": "i4", "activations": "u4"},
}


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
    **{f"W8A8, sums of {steps} pairs in 16 bits": {"short_sums": steps} for steps in STEPS},
}


def measured(model: Path, archive: Path, chosen: Mapping[str, QuantizeSettings], samples: int) -> Iterator[BenchRow]:
    """The rows of one model, quantized by each of the `chosen` settings."""
    module = qmlir.load(model)
    (port,) = inputs_of(function_of(module, "main"))
    shape = tensor(port.type).get_shape()
    with np.load(archive) as found:
        data, images = (
            ready_images(found[name][:most], shape) for name, most in (("x_train", samples), ("x_test", None))
        )
        classes = found["y_test"]
    wanted = scores_of(module, port.name, images)
    right = float((wanted.argmax(1) == classes).mean())
    yield BenchRow("float", 100 * right, None, "%", subject=model.stem)
    for what, settings in chosen.items():
        for effort in EFFORTS:
            begun = time.perf_counter()
            quantized = qmlir.quantize(module, {port.name: data}, effort=effort, validate=False, **settings).module
            taken = time.perf_counter() - begun
            scores = scores_of(quantized, port.name, images)
            sums = ErrorSums()
            sums.add(wanted, scores)
            top1 = float((scores.argmax(1) == classes).mean())
            name = f"{what}, effort {effort}"
            yield BenchRow(f"{name}: top-1", 100 * top1, 100 * right - 0.5 if effort else None, "%", subject=model.stem)
            yield BenchRow(f"{name}: scores", sums.sqnr_db, None, "dB", subject=model.stem)
            yield BenchRow(f"{name}: quantizing", taken, None, "s", subject=model.stem)


def by_layer(model: Path, archive: Path, names: Sequence[str], samples: int, images: int) -> Iterator[BenchRow]:
    """The rows of one model's layers, on `images` of the test set."""
    module = qmlir.load(model)
    (port,) = inputs_of(function_of(module, "main"))
    shape = tensor(port.type).get_shape()
    with np.load(archive) as found:
        data, tested = (
            ready_images(found[name][:most], shape) for name, most in (("x_train", samples), ("x_test", images))
        )
    for what in names:
        for effort in (0, max(EFFORTS)):
            given = {port.name: data}
            made = qmlir.quantize(module, given, effort=effort, validate=False, **_SETTINGS[what])
            sides = ModuleSubject(module, "float"), ModuleSubject(made.module, "quantized")
            values = compare(*sides, {port.name: tested}).values
            for at, each in enumerate(values):
                if each.operation in _LAYERS:
                    after = (value for value in values[at:] if not value.is_limited)  # behind what cuts it off
                    name = f"{what}, effort {effort}: {each.key}"
                    yield BenchRow(name, next(after, each).sqnr_db, None, "dB", subject=model.stem)
            if made.repair is None:
                continue
            tried = ((made.repair.passes, made.repair.after_db), *made.repair.others)
            for passes, ratio in (("no repair", made.repair.before_db), *tried):
                yield BenchRow(f"{what}, held out: {passes}", ratio, None, "dB", subject=model.stem)
            for gain in made.repair.layers if made.repair.is_kept else ():
                if gain.gain_db is not None:
                    name = f"{what}, {gain.repair}: {gain.layer}"
                    yield BenchRow(name, gain.gain_db, None, "dB less", subject=model.stem)


def _ranks(figures: Sequence[float]) -> Array:
    """The place of each figure among all; these differ but by chance."""
    return np.argsort(np.argsort(np.asarray(figures))).astype(np.float64)


def _choices(names: Sequence[str], most: int) -> Iterator[dict[str, Width]]:
    """4 bits for some of the layers: all choices, or `most` different ones."""
    count = 1 << len(names)
    numbers = range(count) if count <= most else np.random.default_rng(0).choice(count, most, replace=False).tolist()
    for number in numbers:
        yield {name: Width.NARROW for place, name in enumerate(names) if number >> place & 1}


def ordered(model: Path, archive: Path, samples: int, choices: int, images: int) -> Iterator[BenchRow]:
    """The rows of a search by a budget, of one model; `images` of the test set are the referee."""
    module = qmlir.load(model)
    (port,) = inputs_of(function_of(module, "main"))
    shape = tensor(port.type).get_shape()
    with np.load(archive) as found:
        data, tested = (
            ready_images(found[name][:most], shape) for name, most in (("x_train", samples), ("x_test", images))
        )
        classes = found["y_test"][:images]
    output = output_name(module, None)
    profiled = qmlir.quantize(module, {port.name: data}, validate=False).profiled
    layered = Layered(profiled, {"granularity": "channel"})
    names = [name for name, layer in layered.layers.items() if layer.weights]
    batches = Batches(module, {port.name: data}, limit=SAMPLES, size=1)
    begun = time.perf_counter()
    known = predict(layered, batches, output, [(name, Width.NARROW) for name in names], Measurements(""))
    yield BenchRow("gradients", time.perf_counter() - begun, None, "s", subject=model.stem)
    wanted = scores_of(module, port.name, tested)
    predicted: list[float] = []
    alone: list[float] = []
    measured: list[float] = []
    for widths in _choices(names, choices):
        predicted.append(known.loss(widths))
        alone.append(sum(known.of(each) for each in widths.items()))
        scores = qmlir.interpret(layered.quantized(widths), {port.name: tested})[output]
        measured.append(divergence(scores.reshape(wanted.shape), wanted, 1.0)[0])
    for what, figures, bar in (("", predicted, 0.1), (", without pairs of layers", alone, None)):
        correlation = float(np.corrcoef(_ranks(figures), _ranks(measured))[0, 1])
        name = f"1 - rank correlation, {len(predicted)} of {1 << len(names)} choices{what}"
        yield BenchRow(name, 1 - correlation, bar, "", subject=model.stem)
    begun = time.perf_counter()
    greedy = search(module, {port.name: tested}, labels=classes, calibration={port.name: data}, drop=0.01, mode="raise")
    yield BenchRow("greedy search", time.perf_counter() - begun, None, "s", subject=model.stem)
    begun = time.perf_counter()
    size = constant_bytes(layered, greedy.widths)
    found = search(
        module, {port.name: tested}, labels=classes, calibration={port.name: data}, weight_bytes=size, mode="budget"
    )
    yield BenchRow("search by a budget", time.perf_counter() - begun, None, "s", subject=model.stem)
    for what, each in (("greedy", greedy), ("budget", found)):
        yield BenchRow(f"{what}: top-1 at {size} bytes", 100 * each.accuracy, None, "%", subject=model.stem)
        scores = qmlir.interpret(each.quantized.module, {port.name: tested})[output]
        lost = divergence(scores.reshape(wanted.shape), wanted, 1.0)[0]
        yield BenchRow(f"{what}: divergence at {size} bytes", 1e3 * lost, None, "mnat", subject=model.stem)
    # The model as it was quantized is run for its accuracy, and as what the order of the layers is measured against.
    evaluated = 2 + len(greedy.ranking) + len(greedy.steps)
    name = f"models evaluated, of {evaluated} by the greedy search"
    yield BenchRow(name, 1 / evaluated, 1 / 20, "", subject=model.stem)


def main() -> None:
    """Measure the models that are named, and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="FILE", help="a model and its archive of images, in turn")
    parser.add_argument("--samples", type=int, default=512, help="training images that calibrate (default: 512)")
    parser.add_argument("--short-sums", action="store_true", help="measure weights whose sums fit 16 bits")
    parser.add_argument("--choices", type=int, metavar="N", help="measure a search by a budget, on N choices of widths")
    parser.add_argument(
        "--settings", nargs="+", choices=tuple(_SETTINGS), default=tuple(_SETTINGS), help="widths to measure"
    )
    parser.add_argument("--layers", action="store_true", help="measure each layer")
    parser.add_argument("--images", type=int, default=128, help="test images of --choices and --layers (default: 128)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    files = [Path(each) for each in arguments.pairs]
    if len(files) % 2:
        parser.error("each model has an archive of images")
    if arguments.layers and arguments.choices is not None:
        parser.error("--layers and --choices are two measurements")
    chosen = _SHORT if arguments.short_sums else {name: _SETTINGS[name] for name in arguments.settings}

    def rows_of(model: Path, archive: Path) -> Iterator[BenchRow]:
        if arguments.layers:
            return by_layer(model, archive, arguments.settings, arguments.samples, arguments.images)
        if arguments.choices is not None:
            return ordered(model, archive, arguments.samples, arguments.choices, arguments.images)
        return measured(model, archive, chosen, arguments.samples)

    pairs = zip(files[::2], files[1::2], strict=True)
    rows = [row for model, archive in pairs for row in rows_of(model, archive)]
    print_rows(rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
