"""What repairs of quantization give here and in other tools: `python -m benchmarks.repair_peers --packages PEER=DIR …`.

Models are quantized with 8 and 4 bits for weights (per channel) and activations, and judged on samples that have not
calibrated. In all tools the same samples calibrate, and scores have 8 bits. Ours are executed integers, by effort. A
peer runs its own simulation, in a process of its own (`benchmarks.repair_presets`), and every preset that it has for
post-training quantization is a row; so is what it cannot do, in its own words.

Classifiers of images lie in `--models`. Models of the zoo lie where `python -m benchmarks.zoo.make minilm ppocr_v4_rec
vit_s16` puts them (`--zoo`), with samples of their own, which are run one by one.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorShapeProto
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

import qmlir
from benchmarks.accuracy import MODELS
from benchmarks.repair_presets import PRESETS, SETTINGS, Feeds, parts_of
from benchmarks.repairs import ready_images
from benchmarks.rows import BenchRow, add_output, print_rows
from benchmarks.training import recipe_of
from benchmarks.zoo.made import zoo
from benchmarks.zoo.metrics import score
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.bench.peers import modern
from qmlir.extensions.recovery.repairing import EFFORTS
from qmlir.ir.builtin_types import tensor
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import inputs_of
from qmlir.onnx.reading import read_model
from qmlir.specialization.inputs import function_of
from qmlir.workflows.comparison.errors import ErrorSums

_STORAGES = {8: ("i8<-127:127>", "i8"), 4: ("i4", "u4")}
"""Of weights and of activations, by bits."""

OURS = "qmlir"

_WORDS = 160
"""Letters of a tool's own error that a row has at most."""


@dataclass(frozen=True)
class Subject:
    """A float model, the samples that calibrate and those that are judged, and what is told of its scores."""

    name: str
    proto: ModelProto
    module: ModuleOp
    data: Feeds
    test: Feeds
    axis: int
    """That of samples."""

    most: int
    """So many samples the model takes at once; 0 for any number."""

    recipe: Mapping[str, Any]
    """It gives scores 8 bits."""

    figure: "Figure"
    right: Array | None = None

    @cached_property
    def wanted(self) -> Array:
        """The scores of the float model."""
        return self.scores(self.module)

    def scores(self, module: ModuleOp) -> Array:
        """What the compiled `module` says of the samples that are judged."""
        program = qmlir.compile(module)
        return np.concatenate([np.asarray(next(iter(program(each).values()))) for each in self.parts(self.test)])

    def parts(self, samples: Feeds) -> list[dict[str, Array]]:
        """The samples, as many at once as the model takes."""
        return parts_of(samples, self.axis, self.most)

    def row(self, what: str, scores: Array) -> BenchRow:
        """The figure of scores."""
        found = self.figure.judge(scores, self.wanted, self.right)
        return BenchRow(f"{what}: {self.figure.title}", found, None, self.figure.unit, subject=self.name)

    def rows(self, what: str, scores: Array, seconds: float) -> Iterator[BenchRow]:
        """What is told of scores."""
        sums = ErrorSums()
        sums.add(self.wanted, scores)
        yield self.row(what, scores)
        yield BenchRow(f"{what}: scores", sums.sqnr_db, None, "dB", subject=self.name)
        yield BenchRow(f"{what}: quantizing", seconds, None, "s", subject=self.name)


def _top1(scores: Array, wanted: Array, classes: Array | None) -> float:
    right = wanted.argmax(1) if classes is None else classes
    return 100 * float((scores.argmax(1) == right).mean())


def _characters(scores: Array, _: Array, texts: Array | None) -> float:
    found = score("characters", [{"": each} for each in scores], texts)
    assert found is not None
    return 100 * found


def _cosine(scores: Array, wanted: Array, _: Array | None) -> float:
    lengths = np.linalg.norm(scores, axis=1) * np.linalg.norm(wanted, axis=1)
    return float(((scores * wanted).sum(1) / lengths).mean())


@dataclass(frozen=True)
class Figure:
    """What is told of scores, beside those of the float model and of what is right, where that is known."""

    title: str
    unit: str
    judge: Callable[[Array, Array, Array | None], float]


_TOP1 = Figure("top-1", "%", _top1)

IMAGES = {
    **dict.fromkeys(("digits_cnn", "digits_mlp", "digits_lstm", "digits_gru"), "digits_eval.npz"),
    "resnet8_cifar": "cifar10_small.npz",
}
"""Classifiers of images, and the archive of the images of each."""

ZOO = {
    "minilm": Figure("cosine to float", "", _cosine),
    "ppocr_v4_rec": Figure("characters", "%", _characters),
    "vit_s16": Figure("top-1 is that of float", "%", _top1),
}
"""Models of the zoo, and what is told of each."""

_NORMALIZED = frozenset({"minilm"})
"""Those whose output is divided by its length, which stays in float: there are no scores to have 8 bits."""


def _classifier(name: str, models: Path, samples: int) -> Subject:
    """A model of one input with an open axis of images."""
    path = models / f"{name}.onnx"
    module = qmlir.load(path)
    (port,) = inputs_of(function_of(module, "main"))
    shape = tensor(port.type).get_shape()
    with np.load(models / IMAGES[name]) as found:
        data, test = ({port.name: ready_images(each, shape)} for each in (found["x_train"][:samples], found["x_test"]))
        classes: Array = found["y_test"]
    axis, recipe = list(shape).index(DYNAMIC_INDEX), recipe_of(module, False)
    return Subject(name, read_model(path).proto, module, data, test, axis, 0, recipe, _TOP1, classes)


def _of_zoo(name: str, folder: Path, samples: int) -> Subject:
    """A model of the zoo with the shapes of its samples, each of which is a run."""
    models = zoo(folder)
    if name not in models:
        raise FileNotFoundError(f"no model {name} in {folder}: python -m benchmarks.zoo.make {name} --folder {folder}")
    model = models[name]
    shapes = {key: array.shape for key, array in model.judged[0].items()}
    module = qmlir.load(model.path, shapes=shapes)
    proto = modern(read_model(model.path).proto)
    for port in proto.graph.input:
        if port.name in shapes:
            dims = [TensorShapeProto.Dimension(dim_value=size) for size in shapes[port.name]]
            port.type.tensor_type.shape.CopyFrom(TensorShapeProto(dim=dims))
    data, test = (
        {key: np.concatenate([each[key] for each in feeds]) for key in shapes}
        for feeds in (model.calibrating[:samples], model.judged)
    )
    *_, (result, *_) = filter(None, map(origins_of, function_of(module, "main").walk()))
    rules = [] if name in _NORMALIZED else [{"origin": result.name, "slot": "output", "storage": "i8"}]
    return Subject(name, proto, module, data, test, 0, 1, {"rule": rules}, ZOO[name], model.labels)


def ours(subject: Subject, setting: str, effort: int, calibrator: str) -> Iterator[BenchRow]:
    """The rows of our integers."""
    weights, activations = SETTINGS[setting]
    begun = time.perf_counter()
    quantized = qmlir.quantize(
        subject.module, subject.parts(subject.data) if subject.most else subject.data, effort=effort, validate=False,
        calibrator=calibrator, weights=_STORAGES[weights][0], activations=_STORAGES[activations][1],
        recipe=subject.recipe,
    ).module  # fmt: skip
    taken = time.perf_counter() - begun
    what = f"{setting}, {OURS}, effort {effort}" + (f", {calibrator}" if calibrator else "")
    yield from subject.rows(what, subject.scores(quantized), taken)


def theirs(
    subject: Subject, peer: str, settings: Sequence[str], packages: Path | None, arguments: argparse.Namespace
) -> Iterator[BenchRow]:
    """The rows of a peer: those of its presets, or what it says that it cannot do."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.onnx").write_bytes(subject.proto.SerializeToString())
        samples = {"data": subject.data, "test": subject.test}
        arrays: dict[str, Any] = {f"{kind}/{key}": a for kind, feeds in samples.items() for key, a in feeds.items()}
        arrays.update(axis=subject.axis, most=subject.most, iterations=arguments.iterations)
        np.savez(folder / "samples.npz", **arrays)
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
    for name in arguments.model or [*IMAGES, *ZOO]:
        make, folder = (_classifier, arguments.models) if name in IMAGES else (_of_zoo, arguments.zoo)
        subject = make(name, folder, arguments.samples)
        yield subject.row("float", subject.wanted)
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
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR", help="where classifiers and images are")
    parser.add_argument("--zoo", type=Path, default=Path("build/zoo"), metavar="DIR", help="where those of the zoo are")
    parser.add_argument("--model", action="append", choices=[*IMAGES, *ZOO], help="only this (may be repeated)")
    parser.add_argument("--only", action="append", choices=list(SETTINGS), help="only this (may be repeated)")
    parser.add_argument("--effort", action="append", type=int, choices=list(EFFORTS), help="only this of ours")
    parser.add_argument("--calibrator", default="", help="of ours (default: by the bits of a value)")
    parser.add_argument("--peer", action="append", choices=[OURS, *PRESETS], help="only this (may be repeated)")
    presets = [preset for each in PRESETS.values() for preset in each]
    parser.add_argument("--preset", action="append", choices=presets, default=[], help="only this of peers")
    parser.add_argument("--packages", action="append", type=_package, default=[], metavar="PEER=DIR",
                        help="the folder that a peer is installed into")  # fmt: skip
    parser.add_argument("--samples", type=int, default=512, help="that calibrate, at most (default: 512)")
    parser.add_argument("--iterations", type=int, default=0, help="of what a peer learns (default: its own)")
    add_output(parser)
    arguments = parser.parse_args()
    rows: list[BenchRow] = []
    for row in _rows(arguments):
        print(f"{row.title} {row.figure:.5g} {row.unit}", file=sys.stderr, flush=True)
        rows.append(row)
    print_rows(rows, arguments)


if __name__ == "__main__":
    main()
