"""What repairs of quantization give here and in other tools: `python -m benchmarks.repair_peers --packages PEER=DIR …`.

Classifiers are quantized with 8 and 4 bits for weights (per channel) and activations, and scored on test images. In all
tools the same training images calibrate, and scores have 8 bits. Ours are executed integers, by effort. A peer runs its
own simulation, in a process of its own (`benchmarks.repair_presets`), and every preset that it has for post-training
quantization is a row; so is what it cannot do, in its own words.

- onnxsim 0.8.1: `quantize_full_qdq` with corrected biases, and with its AdaRound. Of 4 bits it has weights of products
  alone (`auto_quantize_int4`: by block of 32, equalized, AdaRound, biases), which leave activations floats.
- aimet-onnx 2.42.0: `QuantizationSimModel` per channel with ranges by SQNR, sequential MSE, or AdaRound, after
  cross-layer equalization, too.
- nncf 3.4.0: `quantize`, preset MIXED, biases corrected by running the model (`fast_bias_correction=False`) or fast. Of
  4 bits it has weights of products alone (`compress_weights` with AWQ and scale estimation; no GPTQ for ONNX).
- esp-ppq 1.3.12: its calibration per channel with integers of any bits, then its passes that correct biases or learn
  weights and scales block by block (`LearnedStepSizePass`), after equalization, too. Scales are no powers of two.

Each is installed into a folder: `pip install --target DIR --no-deps onnxsim==0.8.1 aimet_onnx==2.42.0 nncf==3.4.0`, and
what these import and the environment has not; `pip install --target OTHER --no-deps esp-ppq==1.3.12` with onnxsim 0.7.3
in another one. A peer without `--packages` is that of the environment.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX

import qmlir
from benchmarks.accuracy import MODELS
from benchmarks.repair_presets import PRESETS, SETTINGS
from benchmarks.repairs import ready_images, scores_of
from benchmarks.rows import BenchRow, print_rows
from benchmarks.training import recipe_of
from qmlir.arithmetic.arrays import Array
from qmlir.ir.builtin_types import tensor
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.workflows.comparison.errors import ErrorSums
from qmlir.workflows.repairing import EFFORTS

SUBJECTS = {
    **dict.fromkeys(("digits_cnn", "digits_mlp", "digits_lstm", "digits_gru"), "digits_eval.npz"),
    "resnet8_cifar": "cifar10_small.npz",
}
"""Models, and the archive of the images of each."""


_STORAGES = {8: ("i8<-127:127>", "i8"), 4: ("i4", "u4")}
"""Of weights and of activations, by bits."""

OURS = "qmlir"

_WORDS = 160
"""Letters of a tool's own error that a row has at most."""


class Classifier:
    """A float model, the images that calibrate and those that are judged, and what it computes of them."""

    def __init__(self, name: str, models: Path, samples: int):
        self.name = name
        self.path = models / f"{name}.onnx"
        self.module = qmlir.load(self.path)
        (port,) = inputs_of(function_of(self.module, "main"))
        self.port = port.name
        shape = tensor(port.type).get_shape()
        with np.load(models / SUBJECTS[name]) as found:
            self.data = ready_images(found["x_train"][:samples], shape)
            self.test = ready_images(found["x_test"], shape)
            self.classes: Array = found["y_test"]
        self.axis = list(shape).index(DYNAMIC_INDEX)
        self.wanted = scores_of(self.module, self.port, self.test)

    def top1(self, scores: Array) -> float:
        """The share of images whose highest score is that of their class, in percent."""
        return 100 * float((scores.argmax(1) == self.classes).mean())

    def rows(self, what: str, scores: Array, seconds: float) -> Iterator[BenchRow]:
        """What is told of scores."""
        sums = ErrorSums()
        sums.add(self.wanted, scores)
        yield BenchRow(f"{what}: top-1", self.top1(scores), None, "%", subject=self.name)
        yield BenchRow(f"{what}: scores", sums.sqnr_db, None, "dB", subject=self.name)
        yield BenchRow(f"{what}: quantizing", seconds, None, "s", subject=self.name)


def ours(subject: Classifier, setting: str, effort: int, calibrator: str) -> Iterator[BenchRow]:
    """The rows of our integers."""
    weights, activations = SETTINGS[setting]
    begun = time.perf_counter()
    quantized = qmlir.quantize(
        subject.module, {subject.port: subject.data}, effort=effort, validate=False, calibrator=calibrator,
        weights=_STORAGES[weights][0], activations=_STORAGES[activations][1],
        recipe=recipe_of(subject.module, False),
    ).module  # fmt: skip
    taken = time.perf_counter() - begun
    what = f"{setting}, {OURS}, effort {effort}" + (f", {calibrator}" if calibrator else "")
    yield from subject.rows(what, scores_of(quantized, subject.port, subject.test), taken)


def theirs(
    subject: Classifier, peer: str, settings: Sequence[str], packages: Path | None, arguments: argparse.Namespace
) -> Iterator[BenchRow]:
    """The rows of a peer: those of its presets, or what it says that it cannot do."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copyfile(subject.path, folder / "model.onnx")
        arrays: dict[str, Any] = {"data": subject.data, "test": subject.test, "axis": subject.axis}
        np.savez(folder / "samples.npz", **arrays, iterations=arguments.iterations)
        known = [str(each) for each in (packages, Path(__file__).parents[1]) if each is not None]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*known, os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-m", "benchmarks.repair_presets", peer, name, *settings]
        command += [f"--preset={each}" for each in arguments.preset]
        subprocess.run(command, env=environment, stdout=sys.stderr, check=True)
        for setting in settings:
            for path in sorted(folder.glob(f"{peer}-{setting}-*.npz")):
                with np.load(path) as found:
                    what = f"{setting}, {peer}, {found['preset']}"
                    if "failure" in found:
                        words = " ".join(str(found["failure"]).split())[:_WORDS]
                        yield BenchRow(f"{what}: {words}", math.nan, None, "", subject=subject.name)
                    else:
                        yield from subject.rows(what, found["scores"], float(found["seconds"]))


def _rows(arguments: argparse.Namespace) -> Iterator[BenchRow]:
    packages: Mapping[str, Path] = dict(arguments.packages)
    settings = arguments.only or list(SETTINGS)
    for name in arguments.model or list(SUBJECTS):
        subject = Classifier(name, arguments.models, arguments.samples)
        yield BenchRow("float: top-1", subject.top1(subject.wanted), None, "%", subject=name)
        for tool in arguments.peer or [OURS, *PRESETS]:
            if tool != OURS:
                yield from theirs(subject, tool, settings, packages.get(tool), arguments)
                continue
            for setting in settings:
                for effort in arguments.effort or list(EFFORTS):
                    yield from ours(subject, setting, effort, arguments.calibrator)


def _package(text: str) -> tuple[str, Path]:
    peer, _, folder = text.partition("=")
    if peer not in PRESETS or not folder:
        raise argparse.ArgumentTypeError(f"expected PEER=DIR of {', '.join(PRESETS)}, found {text}")
    return peer, Path(folder).resolve()


def main() -> None:
    """Read the command line, measure, and print the rows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.repair_peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR", help="where the models and images are")
    parser.add_argument("--model", action="append", choices=list(SUBJECTS), help="only this (may be repeated)")
    parser.add_argument("--only", action="append", choices=list(SETTINGS), help="only this (may be repeated)")
    parser.add_argument("--effort", action="append", type=int, choices=list(EFFORTS), help="only this of ours")
    parser.add_argument("--calibrator", default="", help="of ours (default: by the bits of a value)")
    parser.add_argument("--peer", action="append", choices=[OURS, *PRESETS], help="only this (may be repeated)")
    presets = [preset for each in PRESETS.values() for preset in each]
    parser.add_argument("--preset", action="append", choices=presets, default=[], help="only this of peers")
    parser.add_argument("--packages", action="append", type=_package, default=[], metavar="PEER=DIR",
                        help="the folder that a peer is installed into")  # fmt: skip
    parser.add_argument("--samples", type=int, default=512, help="training images that calibrate (default: 512)")
    parser.add_argument("--iterations", type=int, default=0, help="of what a peer learns (default: its own)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = parser.parse_args()
    rows: list[BenchRow] = []
    for row in _rows(arguments):
        print(f"{row.title} {row.figure:.5g} {row.unit}", file=sys.stderr, flush=True)
        rows.append(row)
    print_rows(rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
