"""What each effort of a repair gives: `python -m benchmarks.repairs model.onnx images.npz [model.onnx images.npz …]`.

An archive has `x_train`, `x_test` and `y_test`. Images of u8 are given as `(x / 255 - 0.5) / 0.25`, floats as they are.
The first training images calibrate; a row has the top-1 of the compiled program on the test images, the signal-to-noise
ratio of its scores against the float model's, and the seconds that quantizing took.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

import qmlir
from benchmarks.rows import BenchRow, print_rows
from qmlir.arithmetic.arrays import Array
from qmlir.ir.builtin_types import tensor
from qmlir.ir.signature import inputs_of
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.inputs import function_of
from qmlir.workflows.comparison.errors import ErrorSums
from qmlir.workflows.repairing import EFFORTS

_SETTINGS: dict[str, QuantizeSettings] = {
    "W8A8": {},
    "W4A8": {"weights": "i4"},
    "W4A4": {"weights": "i4", "activations": "u4"},
}


def _ready(images: Array, shape: Sequence[int]) -> Array:
    """All images as the one input of a model, whose open axis is that of the images."""
    if images.dtype == np.uint8:
        images = (images.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
    axis = list(shape).index(DYNAMIC_INDEX)
    return np.moveaxis(images.reshape(len(images), *shape[:axis], *shape[axis + 1 :]), 0, axis)


def _scores(module: ModuleOp, name: str, images: Array) -> Array:
    found: Any = next(iter(qmlir.compile(module)({name: images}).values()))
    return np.asarray(found)


def measured(model: Path, archive: Path, samples: int) -> Iterator[BenchRow]:
    """The rows of one model."""
    module = qmlir.load(model)
    (port,) = inputs_of(function_of(module, "main"))
    shape = tensor(port.type).get_shape()
    with np.load(archive) as found:
        data, images = (_ready(found[name][:most], shape) for name, most in (("x_train", samples), ("x_test", None)))
        classes = found["y_test"]
    wanted = _scores(module, port.name, images)
    right = float((wanted.argmax(1) == classes).mean())
    yield BenchRow("float", 100 * right, None, "%", subject=model.stem)
    for what, settings in _SETTINGS.items():
        for effort in EFFORTS:
            begun = time.perf_counter()
            quantized = qmlir.quantize(module, {port.name: data}, effort=effort, validate=False, **settings).module
            taken = time.perf_counter() - begun
            scores = _scores(quantized, port.name, images)
            sums = ErrorSums()
            sums.add(wanted, scores)
            top1 = float((scores.argmax(1) == classes).mean())
            name = f"{what}, effort {effort}"
            yield BenchRow(f"{name}: top-1", 100 * top1, 100 * right - 0.5 if effort else None, "%", subject=model.stem)
            yield BenchRow(f"{name}: scores", sums.sqnr_db, None, "dB", subject=model.stem)
            yield BenchRow(f"{name}: quantizing", taken, None, "s", subject=model.stem)


def main() -> None:
    """Measure the models that are named, and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="FILE", help="a model and its archive of images, in turn")
    parser.add_argument("--samples", type=int, default=512, help="training images that calibrate (default: 512)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    files = [Path(each) for each in arguments.pairs]
    if len(files) % 2:
        parser.error("each model has an archive of images")
    rows = [
        row
        for model, archive in zip(files[::2], files[1::2], strict=True)
        for row in measured(model, archive, arguments.samples)
    ]
    print_rows(rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
