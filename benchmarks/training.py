"""What training a classifier as its integer program gains: `python -m benchmarks.training model.onnx images.npz`.

The archive has images of u8, `x_train`, `x_valid` and `x_test`, and their classes, `y_train`, `y_valid` and `y_test`;
the model takes `(x / 255 - 0.5) / 0.25`. Training begins with 64 images that calibrate, and takes cross entropy, Adam,
a rate that falls with a cosine, and images that are mirrored and shifted by up to 4 pixels. The epoch that is best on
`x_valid` is judged on `x_test`, by the forward of training; its integers are compared with those of the frozen module.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import qmlir
from benchmarks.rows import BenchRow, print_rows
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.optimizers import Optimizer, OptimizerKind, cosine_share
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.workflows.training_programs import TrainingPrograms

_POWERS = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"}
_SETTINGS: Mapping[str, tuple[str, Mapping[str, Any], float]] = {
    "W8A8, powers of two": ("tqt", _POWERS, 0.0),
    "W4A8": ("lsq", {"weights": "i4"}, 0.003),
    "W4A4": ("lsq", {"weights": "i4", "activations": "u4"}, 0.008),
    "W2A4": ("lsq", {"weights": "i2", "activations": "u4"}, 0.04),
}
"""How scales are learned, what is quantized how, and the bar of what may be lost against the float model."""


def _ready(images: Array) -> Array:
    return ((images.astype(np.float32) / np.float32(255)) - np.float32(0.5)) / np.float32(0.25)


def _varied(images: Array, random: np.random.Generator) -> Array:
    """Each image mirrored or not, and shifted by up to 4 pixels."""
    size = images.shape[-1]
    padded = np.pad(images, ((0, 0), (0, 0), (4, 4), (4, 4)), constant_values=128)
    found = np.empty_like(images)
    for place, (up, left, is_mirrored) in enumerate(random.integers(0, (9, 9, 2), (len(images), 3))):
        image = padded[place, :, up : up + size, left : left + size]
        found[place] = image[..., ::-1] if is_mirrored else image
    return found


def _of_cross_entropy(scores: Array, classes: Array) -> Array:
    """The gradient of the mean cross entropy of the softmax of `scores`."""
    chances = np.exp(scores - scores.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    chances[np.arange(len(classes)), classes] -= 1
    return chances / np.float32(len(classes))


def _accuracy(scores_of: Callable[[Array], Array], batch: int, images: Array, classes: Array) -> float:
    """The share of whole batches of images whose highest score is that of their class."""
    starts = range(0, len(images) - batch + 1, batch)
    right = sum(
        int((scores_of(_ready(images[at : at + batch])).argmax(1) == classes[at : at + batch]).sum()) for at in starts
    )
    return right / (len(starts) * batch)


def _accuracy_of(
    programs: TrainingPrograms,
    port: str,
    batch: int,
    data: Mapping[str, Array],
    parameters: Mapping[str, Array],
    part: str,
) -> float:
    def scores_of(images: Array) -> Array:
        return next(iter(programs.results({port: images}, parameters).values()))

    return _accuracy(scores_of, batch, data[f"x_{part}"], data[f"y_{part}"])


def _rows(arguments: argparse.Namespace) -> Iterator[BenchRow]:
    data, model = dict(np.load(arguments.images)), qmlir.load(arguments.model)
    images, classes = data["x_train"], data["y_train"]
    (port,) = inputs_of(function_of(model, "main"))
    random = np.random.default_rng(0)
    shape = (arguments.batch, *images.shape[1:])
    program = qmlir.compile(qmlir.load(arguments.model, shapes={port.name: shape}))

    def scores_of(images: Array) -> Array:
        return next(iter(program({port.name: images}).values()))

    exact = _accuracy(scores_of, arguments.batch, data["x_test"], data["y_test"])
    yield BenchRow("accuracy", exact, None, "", subject="float")
    for name in arguments.only or _SETTINGS:
        scales, settings, bar = _SETTINGS[name]
        trained = qmlir.trainable(model, [{port.name: _ready(images[:64])}], scales=scales, **settings)
        programs = TrainingPrograms(trained, {port.name: shape}, threads=arguments.threads)
        (result,) = programs.outputs
        parameters = dict(trained.parameters)
        accuracy = partial(_accuracy_of, programs, port.name, arguments.batch, data)
        before = accuracy(parameters, "test")
        yield BenchRow("accuracy lost without training", exact - before, None, "", subject=name)
        best, kept = accuracy(parameters, "valid"), parameters
        optimizer = Optimizer(
            OptimizerKind.ADAM, arguments.rate, arguments.scale_rate, trained.learned_scales, trained.positive
        )
        per_epoch = len(images) // arguments.batch
        times: list[float] = []
        for epoch in range(arguments.epochs):
            order = random.permutation(len(images))
            for place in range(per_epoch):
                chosen = order[place * arguments.batch :][: arguments.batch]
                batch = _ready(_varied(images[chosen], random))
                done = (epoch * per_epoch + place) / (arguments.epochs * per_epoch)
                start = time.perf_counter()
                values = programs.forward({port.name: batch}, parameters)
                gradients = programs.backward(values, {result: _of_cross_entropy(values[result], classes[chosen])})
                parameters = optimizer.step(parameters, gradients, cosine_share(done))
                times.append(time.perf_counter() - start)
            found = accuracy(parameters, "valid")
            if found > best:
                best, kept = found, parameters
        after = accuracy(kept, "test")
        yield BenchRow("accuracy lost after training", exact - after, bar, "", subject=name)
        yield BenchRow("a step", float(np.median(times)) * 1e3, None, "ms", subject=name)
        some = _ready(data["x_test"][: arguments.batch])
        (wanted,) = qmlir.interpret(trained.freeze(kept), {port.name: some}).values()
        differ = float((wanted != programs.results({port.name: some}, kept)[result]).sum())
        yield BenchRow("scores that differ from the frozen module", differ, 0.0, "", subject=name)


def main() -> None:
    """Read the command line, train, and print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("model", type=Path, help="a classifier of images, with its batch norms folded")
    parser.add_argument("images", type=Path, help="an archive of images and classes")
    parser.add_argument("--only", action="append", choices=list(_SETTINGS), help="only this (may be repeated)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--scale-rate", type=float, default=2e-3)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = parser.parse_args()
    print_rows(list(_rows(arguments)), as_json=arguments.json)


if __name__ == "__main__":
    main()
