"""Measures the accuracy of quantized models: `make bench-accuracy`.

Four digit classifiers are quantized in 8 bits with several calibrators, per tensor and per channel, and scored on test
images; ONNX Runtime's static quantizer does the same beside, where it is installed. `--layers MODEL` shows the error of
every value of one model instead. The models lie beside the repository: `--models` says where else.
"""

import argparse
import contextlib
import io
import json
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir.api import interpret, load, profile, quantize
from qmlir.environment import default_environment
from qmlir.interpreter.machine import Listener
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import KEPT_COMPOSITES, QUANTIZE
from qmlir.profiles.file import Profile
from qmlir.quantization.report import LayerErrors, Watch, coverage, layer_errors, sqnr

Array = npt.NDArray[Any]

MODELS = Path(__file__).parents[3] / "shared" / "models"
NAMES = ("digits_mlp", "digits_cnn", "digits_lstm", "digits_gru")
CALIBRATORS = ("min_max", "percentile", "entropy", "mse")
GRANULARITIES = ("tensor", "channel")
CALIBRATION_SAMPLES = 256
"""The first so many training images calibrate, in ours and in ONNX Runtime."""

BAR = 0.004
"""How much of the float model's top-1 a quantized one may lose."""

PEER_METHODS = {"min_max": "MinMax", "percentile": "Percentile", "entropy": "Entropy"}
"""Our names of the calibrators that ONNX Runtime's static quantizer has, too."""


@dataclass(frozen=True)
class Score:
    """How well one quantized model does on the test images."""

    model: str
    by: str
    """Who quantized and ran it."""

    granularity: str
    calibrator: str
    top1: float
    float_top1: float
    sqnr: float
    """Of the logits against those of the float model, in decibels."""

    integer_share: float
    """The share of multiply-adds in integers, from 0 to 1."""

    @property
    def meets_the_bar(self) -> bool:
        """Whether top-1 is at most `BAR` below that of the float model."""
        return self.top1 >= self.float_top1 - BAR


def _arranged(name: str, images: Array) -> Array:
    """Images as the input of a model."""
    if name.endswith("cnn"):
        return images[:, None]
    if name.endswith("mlp"):
        return images.reshape(len(images), -1)
    return np.ascontiguousarray(images.transpose(1, 0, 2))  # one row of the image is one step


@dataclass
class Digits:
    """One model, its images, and what it computes in float."""

    name: str
    path: Path
    calibration: Array
    test: Array
    labels: Array

    def __post_init__(self) -> None:
        self.module = load(self.path)
        self.logits = self.run(self.module)
        self._profiles: dict[str, Profile] = {}

    @staticmethod
    def of(name: str, models: Path = MODELS) -> "Digits":
        """The model `name` of the folder."""
        data = np.load(models / "digits_eval.npz")
        calibration, test = (
            _arranged(name, images) for images in (data["x_train"][:CALIBRATION_SAMPLES], data["x_test"])
        )
        return Digits(name, models / f"{name}.onnx", calibration, test, data["y_test"])

    def run(self, module: ModuleOp) -> Array:
        """The logits of the test images."""
        (logits,) = interpret(module, [self.test]).values()
        return logits

    def top1(self, logits: Array) -> float:
        """The share of test images whose largest logit is that of their digit."""
        return float((logits.argmax(axis=-1) == self.labels).mean())

    def sqnr(self, logits: Array) -> float:
        """The signal-to-noise ratio of logits against the float ones, in decibels."""
        exact = self.logits.astype(np.float64)
        return sqnr(float((exact**2).sum()), float(((logits - exact) ** 2).sum()))

    def profile(self, keep: Sequence[str] = KEPT_COMPOSITES) -> Profile:
        """What the lowered model's values are on the calibration images; taken once."""
        passes = _stages(keep, "lower")
        if passes not in self._profiles:
            self._profiles[passes] = profile(self.module, iter([{"input": self.calibration}]), passes=passes)
        return self._profiles[passes]

    def quantized(self, **options: Any) -> ModuleOp:
        """The quantized model; `options` are those of `qmlir.quantize`."""
        return quantize(self.module, profiled=self.profile(), **options)

    def score(self, logits: Array, by: str, granularity: str, calibrator: str, share: float) -> Score:
        """How well `logits` do."""
        return Score(
            self.name, by, granularity, calibrator, self.top1(logits), self.top1(self.logits), self.sqnr(logits), share
        )

    def our_score(self, granularity: str, calibrator: str, **options: Any) -> Score:
        """Quantize, run and score."""
        module = self.quantized(granularity=granularity, calibrator=calibrator, **options)
        return self.score(self.run(module), "qmlir", granularity, calibrator, coverage(module).integer_share)


# ONNX Runtime


def _peer_reader(array: Array) -> Any:
    """The calibration images as ONNX Runtime takes them: in one batch, as its histograms need one shape."""
    base: Any = import_module("onnxruntime.quantization").CalibrationDataReader

    class Reader(base):
        def __init__(self) -> None:
            self.left = iter([{"input": array}])

        def get_next(self) -> Mapping[str, Array] | None:
            return next(self.left, None)

    return Reader()


def _peer_logits(path: Path, inputs: Array, *, is_optimized: bool) -> Array:
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    if not is_optimized:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"input": inputs})[0]


def _peer_share(path: Path) -> float:
    """The share of multiply-adds that ONNX Runtime's quantizer put between casts: it leaves an LSTM or GRU in float."""
    environment = default_environment()
    module = load(path)
    PassManager(environment.new_context(), parse_pipeline("quant-propagate-types", environment.passes)).run(module)
    return coverage(module).integer_share


def peer_scores(digits: Digits, granularity: str, calibrator: str) -> Iterator[Score]:
    """The same by ONNX Runtime: QDQ, activations and weights in int8; nothing where it is missing or cannot.

    Without graph optimization it computes what the model says, in floats between casts; as it is used, integer kernels
    run, and on a CPU without VNNI they may saturate.
    """
    if find_spec("onnxruntime") is None or calibrator not in PEER_METHODS:
        return
    peer: Any = import_module("onnxruntime.quantization")
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "quantized.onnx"
        disabled = logging.root.manager.disable
        logging.disable(logging.WARNING)  # it advises to preprocess the model, once for each
        try:
            peer.quantize_static(
                str(digits.path), str(path), _peer_reader(digits.calibration),
                quant_format=peer.QuantFormat.QDQ, per_channel=granularity == "channel",
                activation_type=peer.QuantType.QInt8, weight_type=peer.QuantType.QInt8,
                calibrate_method=getattr(peer.CalibrationMethod, PEER_METHODS[calibrator]),
            )  # fmt: skip
        finally:
            logging.disable(disabled)
        share = _peer_share(path)
        for by, is_optimized in (("ONNX Runtime, exact", False), ("ONNX Runtime, as used", True)):
            logits = _peer_logits(path, digits.test, is_optimized=is_optimized)
            yield digits.score(logits, by, granularity, calibrator, share)


# Layers


def _stages(keep: Sequence[str], *stages: str, **values: str) -> str:
    return QUANTIZE.text(*stages, keep=f"{{keep={','.join(keep)}}}" if keep else "", **values)


class _Watching(Listener):
    def __init__(self, watch: Watch):
        self.watch = watch

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        self.watch(op, operands, results)


def run_watched(module: ModuleOp, inputs: Any, watch: Watch) -> object:
    """Run `module` in the interpreter, telling `watch` of every operation."""
    return interpret(module, inputs, listeners=[_Watching(watch)])


def measure_layers(digits: Digits, granularity: str, calibrator: str) -> LayerErrors:
    """The error of every value, parts of composites too: both modules stay lowered."""
    environment = default_environment()
    ctx = environment.new_context()

    def run(module: ModuleOp, *stages: str, **values: str) -> None:
        PassManager(ctx, parse_pipeline(_stages(KEPT_COMPOSITES, *stages, **values), environment.passes)).run(module)

    reference, quantized = digits.module.clone(), digits.module.clone()
    run(reference, "lower")
    run(quantized, "lower")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        digits.profile().save(path)
        run(quantized, "profile", profile=str(path))
    options = f'{{granularity="{granularity}" calibrator="{calibrator}"}}'
    run(quantized, "decide", "propagate", options=options)
    return layer_errors(reference, quantized, [[digits.test]], run_watched)


# Output


def _percent(part: float) -> str:
    return f"{100 * part:.2f}"


def score_table(scores: Sequence[Score]) -> Table:
    """The scores of models, one a line."""
    table = Table("model", "by", "weights per", "calibrator", "float", "int8", "SQNR dB", "int8 MACs %", "")
    for each in scores:
        verdict = "met" if each.meets_the_bar else "MISSED"
        table.add_row(
            each.model, each.by, each.granularity, each.calibrator, _percent(each.float_top1), _percent(each.top1),
            f"{each.sqnr:.1f}", _percent(each.integer_share), verdict,
        )  # fmt: skip
    return table


def layer_table(found: LayerErrors) -> Table:
    """The errors of values, one a line, in the order in which they are computed."""
    table = Table("value", "elements", "SQNR dB", "max error", "")
    for each in found.errors:
        note = "saturates: limited by what follows" if each.is_limited else ""
        table.add_row(each.key, str(each.elements), f"{each.sqnr:.1f}", f"{each.max_abs:.4g}", note)
    return table


def measure(models: Path, names: Sequence[str], say: Callable[[str], object]) -> list[Score]:
    """All scores; `say` is told what is being measured."""
    scores: list[Score] = []
    for name in names:
        digits = Digits.of(name, models)
        for granularity in GRANULARITIES:
            for calibrator in CALIBRATORS:
                say(f"{name}, per {granularity}, {calibrator}")
                scores.append(digits.our_score(granularity, calibrator))
                scores += peer_scores(digits, granularity, calibrator)
    return scores


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        prog="bench-accuracy", description="Measures the accuracy of models quantized in 8 bits."
    )
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR", help="where the models are")
    parser.add_argument("--model", action="append", choices=NAMES, help="only this model; may be repeated")
    parser.add_argument("--layers", choices=NAMES, metavar="MODEL", help="the error of every value of one model")
    parser.add_argument("--granularity", choices=GRANULARITIES, default="channel", help="of weights, for --layers")
    parser.add_argument("--calibrator", choices=CALIBRATORS, default="min_max", help="for --layers")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    progress = Console(stderr=True)
    if not arguments.models.is_dir():
        progress.print(f"no models in {arguments.models}: say where they are with --models")
        return 1
    if arguments.layers:
        found = measure_layers(
            Digits.of(arguments.layers, arguments.models), arguments.granularity, arguments.calibrator
        )
        rows, table = [asdict(each) for each in found.errors], layer_table(found)
    else:
        scores = measure(arguments.models, arguments.model or NAMES, progress.print)
        rows, table = [asdict(each) for each in scores], score_table(scores)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
