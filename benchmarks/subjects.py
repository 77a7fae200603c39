"""The models of the contest, prepared in a folder: in ONNX for the peers, in float and in int8 for us, with one input.

`prepare` quantizes a model, by us and by the tools of ONNX Runtime, and keeps what the interpreter computes; `Subject`
finds all of it again. A folder that is kept lets another run start at once.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.accuracy import Digits
from benchmarks.architectures import random_inputs
from benchmarks.models import BENCH_MODELS
from qmlir.extensions.bench.peers import FORMS, PeerForm, modern
from qmlir.extensions.bench.peers import quantize as quantize_by_peer
from qmlir.extensions.report.inspecting import inspect
from qmlir.quantization.settings import QuantizeSettings
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import is_installed
from qmlir.text.printing import PrintOptions, Weights, save_module

Array = npt.NDArray[Any]
Samples = Sequence[Mapping[str, Array]]
Say = Callable[[str], object]

INT8, FLOAT = "qmlir int8, exact", "qmlir f32"

STATIC, DYNAMIC = "u8s8", "dynamic"

PEER_FORMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    STATIC: {"onnxruntime": ("f32", "u8s8", "u8s8 exact", "u8u8"), "openvino": ("f32", "u8s8")},
    DYNAMIC: {"onnxruntime": ("f32", "dynamic"), "openvino": ("f32",)},
    "": {"onnxruntime": ("f32",), "openvino": ("f32",)},
}
"""What each peer runs, by what it has in int8: see `BenchModel.peer_form`; LSTM and GRU stay in float when static."""

_SAMPLES = 2
"""Random inputs that calibrate a model of random weights, in ours and in ONNX Runtime: they only give some ranges."""

_DIGIT_SAMPLES = 64

_READY = "ready.json"
"""A file that is written last, with what is known of the model."""


@dataclass(frozen=True)
class Subject:
    """A model that is timed, as `prepare` left it in its folder."""

    name: str
    folder: Path
    peer_form: str
    """What the peers run in int8, by name in `PEER_FORMS`."""

    @property
    def onnx(self) -> Path:
        """The float model for the peers."""
        return self.folder / "model.onnx"

    def peer_file(self, form: PeerForm) -> Path:
        """The model in a form of the peers; forms of the same types are one file."""
        if not form.activations:
            return self.onnx
        kind = "dynamic" if form.is_dynamic else f"{form.activations}.{form.weights}"
        return self.folder / f"model.{kind}.onnx"

    def module_file(self, ours: str) -> Path:
        """The module in one of our forms, `INT8` or `FLOAT`, in text, weights beside it."""
        return self.folder / ("int8.mlir" if ours == INT8 else "f32.mlir")

    def module(self, ours: str) -> ModuleOp:
        """The module in one of our forms."""
        return qmlir.load(self.module_file(ours))

    @cached_property
    def inputs(self) -> Mapping[str, Array]:
        """What is run."""
        return dict(np.load(self.inputs_file))

    @property
    def inputs_file(self) -> Path:
        """The inputs as a process of its own reads them."""
        return self.folder / "inputs.npz"

    def _expected_file(self, ours: str) -> Path:
        return self.module_file(ours).with_suffix(".expected.npz")

    def expected(self, ours: str) -> Mapping[str, Array]:
        """What the interpreter computes in one of our forms."""
        return dict(np.load(self._expected_file(ours)))

    def keep(self, ours: str, module: ModuleOp) -> None:
        """Write a module in one of our forms, and what the interpreter computes."""
        save_module(module, self.module_file(ours), PrintOptions(weights=Weights.SIDECAR))
        np.savez(self._expected_file(ours), allow_pickle=False, **qmlir.interpret(module, self.inputs))

    @cached_property
    def multiply_adds(self) -> int | None:
        """Of one run."""
        return json.loads(self.ready_file.read_text())["multiply_adds"]

    @property
    def ready_file(self) -> Path:
        """What is written when everything else is there."""
        return self.folder / _READY


def _write_peer_forms(subject: Subject, samples: Samples, say: Say) -> None:
    """The model as ONNX Runtime's tools quantize it, where they are installed."""
    if not is_installed(onnx_runtime.PACKAGE):
        return
    names = dict.fromkeys(name for forms in PEER_FORMS[subject.peer_form].values() for name in forms)
    for form in (FORMS[name] for name in names):
        target = subject.peer_file(form)
        if not target.exists():
            say(f"{subject.name}: quantizing for the peers, {form.name}")
            quantize_by_peer(subject.onnx, target, form, samples)


def _prepare_random(subject: Subject) -> tuple[ModuleOp, Samples, Mapping[str, Array]]:
    model = BENCH_MODELS[subject.name].build()
    subject.onnx.write_bytes(modern(model).SerializeToString())
    samples = [random_inputs(model, seed) for seed in range(_SAMPLES)]
    return qmlir.load(model), samples, random_inputs(model, _SAMPLES)


def _prepare_digits(subject: Subject, models: Path) -> tuple[ModuleOp, Samples, Mapping[str, Array]]:
    digits = Digits.of(subject.name, models)
    axis = batch_axis(subject.name)
    subject.onnx.write_bytes(digits.path.read_bytes())
    samples = [{"input": digits.calibration.take([position], axis)} for position in range(_DIGIT_SAMPLES)]
    module = qmlir.load(digits.path, shapes={"input": samples[0]["input"].shape})
    return module, samples, {"input": np.ascontiguousarray(digits.test.take([0], axis))}


def batch_axis(name: str) -> int:
    """Of the images of a digit classifier: recurrent ones have the sequence first."""
    return 0 if name.endswith(("cnn", "mlp")) else 1


def prepare(name: str, folder: Path, models: Path, say: Say, settings: QuantizeSettings | None = None) -> Subject:
    """The model `name` in a folder of its own in `folder`, made where it isn't there, ours in int8 by `settings`.

    Digit classifiers come from the folder `models`.
    """
    own = folder / name
    form = BENCH_MODELS[name].peer_form if name in BENCH_MODELS else "" if batch_axis(name) else STATIC
    subject = Subject(name, own, form)
    if not subject.ready_file.exists():
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        say(f"{name}: quantizing")
        is_random = name in BENCH_MODELS
        module, samples, inputs = _prepare_random(subject) if is_random else _prepare_digits(subject, models)
        np.savez(subject.inputs_file, allow_pickle=False, **inputs)
        subject.keep(FLOAT, module)
        subject.keep(INT8, qmlir.quantize(module, samples, **(settings or {})).module)
        _write_peer_forms(subject, samples, say)
        subject.ready_file.write_text(json.dumps({"multiply_adds": inspect(module).multiply_adds}))
    return subject
