"""Quantized models with samples, by which programs without Python are held against the interpreter.

The classifiers of digits and ResNet-8 lie in the folder `--models`, MobileNetV2 has random weights, and MiniLM lies in
the folder `--zoo`, where `python -m benchmarks.zoo.make minilm` puts it.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.accuracy import MODELS, NAMES, Digits
from benchmarks.architectures import random_inputs
from benchmarks.models import BENCH_MODELS
from benchmarks.subjects import batch_axis
from benchmarks.zoo.made import zoo
from qmlir.arithmetic.arrays import Array
from qmlir.onnx.reading import read_model

CALIBRATING, SAMPLES = 16, 4
RESNET, MOBILENET, MINILM = "resnet8_cifar", "mobilenetv2", "minilm"

Feeds = Mapping[str, Array]


@dataclass(frozen=True)
class ComparedModel:
    """A model in float, and inputs: those that calibrate it, and those that programs run on."""

    name: str
    onnx: ModelProto
    calibrating: Sequence[Feeds]
    samples: Sequence[Feeds]

    @cached_property
    def module(self) -> ModuleOp:
        """The model in int8, for inputs of the shapes of the samples."""
        shapes = {name: array.shape for name, array in self.samples[0].items()}
        return qmlir.quantize(qmlir.load(self.onnx, shapes=shapes), self.calibrating).module

    @cached_property
    def wanted(self) -> Sequence[Sequence[Array]]:
        """What the interpreter computes of each sample, its outputs in order."""
        return [list(qmlir.interpret(self.module, sample).values()) for sample in self.samples]

    @property
    def inputs(self) -> Sequence[Sequence[Array]]:
        """The inputs of each sample, in the order of the model's."""
        return [list(sample.values()) for sample in self.samples]


@dataclass(frozen=True)
class Folders:
    """Where models are."""

    models: Path = MODELS
    zoo: Path = Path("build/zoo")


def _digits(name: str, folders: Folders) -> ComparedModel:
    digits, axis = Digits.of(name, folders.models), batch_axis(name)
    calibrating, samples = (
        [{"input": np.ascontiguousarray(images.take([position], axis))} for position in range(count)]
        for images, count in ((digits.calibration, CALIBRATING), (digits.test, SAMPLES))
    )
    return ComparedModel(name, read_model(digits.path).proto, calibrating, samples)


def _resnet(name: str, folders: Folders) -> ComparedModel:
    data = np.load(folders.models / "cifar10_small.npz")
    calibrating, samples = (
        [{"image": image[None]} for image in ((data[key][:count] / 255 - 0.5) / 0.25).astype(np.float32)]
        for key, count in (("x_train", CALIBRATING), ("x_test", SAMPLES))
    )
    return ComparedModel(name, read_model(folders.models / f"{name}.onnx").proto, calibrating, samples)


def _random(name: str, folders: Folders, calibrating: int = 2, samples: int = 2) -> ComparedModel:
    model = BENCH_MODELS[name].build()
    feeds = [random_inputs(model, seed) for seed in range(calibrating + samples)]
    return ComparedModel(name, model, feeds[:calibrating], feeds[calibrating:])


def _of_zoo(name: str, folders: Folders, calibrating: int = 8, samples: int = 2) -> ComparedModel:
    model = zoo(folders.zoo)[name]
    return ComparedModel(name, read_model(model.path).proto, model.calibrating[:calibrating], model.judged[:samples])


COMPARED: Mapping[str, Callable[[Folders], ComparedModel]] = {
    **{name: partial(_digits, name) for name in NAMES},
    RESNET: partial(_resnet, RESNET),
    MOBILENET: partial(_random, MOBILENET),
    MINILM: partial(_of_zoo, MINILM),
}
"""What is compared, and what makes it."""


def add_models(parser: argparse.ArgumentParser, more: Sequence[str] = ()) -> None:
    """The arguments that say which models are compared; `more` are names beside theirs."""
    parser.add_argument("--models", type=Path, default=Folders.models, metavar="DIR", help="where the models are")
    parser.add_argument("--zoo", type=Path, default=Folders.zoo, metavar="DIR", help="where those of the zoo are")
    parser.add_argument("--model", action="append", choices=(*COMPARED, *more), help="this one alone; may be repeated")


def compared_models(given: argparse.Namespace) -> Iterator[ComparedModel]:
    """The models that are asked for, one after the other; one that isn't there is told of on standard error."""
    folders = Folders(given.models, given.zoo)
    for name in given.model or COMPARED:
        if name == MINILM and name not in zoo(folders.zoo):
            made_by = f"python -m benchmarks.zoo.make {name} --folder {folders.zoo}"
            print(f"{name}: not run, it is not there: {made_by}", file=sys.stderr, flush=True)
        elif name in COMPARED:
            yield COMPARED[name](folders)


def differing_elements(found: Sequence[Sequence[Array]], wanted: Sequence[Sequence[Array]]) -> tuple[int, int]:
    """How many elements of the outputs of some samples have other bits, and of how many."""
    pairs = [pair for rows in zip(found, wanted, strict=True) for pair in zip(*rows, strict=True)]
    wrong = (a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}") for a, b in pairs)
    return sum(int(np.count_nonzero(each)) for each in wrong), sum(array.size for _, array in pairs)


def outputs_in(data: bytes, outputs: Sequence[Array]) -> Iterator[list[Array]]:
    """The outputs of each run of a program that writes all of them, of the types and shapes of `outputs`."""
    start = 0
    while start < len(data):
        found: list[Array] = []
        for array in outputs:
            found.append(np.frombuffer(data[start : start + array.nbytes], array.dtype).reshape(array.shape))
            start += array.nbytes
        yield found
