"""Measures the accuracy of quantized models: `make bench-accuracy`.

Four digit classifiers are quantized in 8 bits with several calibrators, per tensor and per channel, and scored on test
images; ONNX Runtime's static quantizer does the same beside, where it is installed. `--layers MODEL` shows the error of
every value of one model instead. The models lie beside the repository: `--models` says where else.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from benchmarks.rows import BenchRow, add_results, write_results
from qmlir import interpret, load, profile, quantize
from qmlir.environment import default_environment
from qmlir.extensions.bench.peers import FORMS, METHODS
from qmlir.extensions.bench.peers import quantize as quantize_by_peer
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import QUANTIZE, kept_composites
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.report import coverage
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.targets.runtimes.packages import is_installed
from qmlir.workflows.comparison.compare import Comparison, compare
from qmlir.workflows.comparison.errors import ErrorSums
from qmlir.workflows.comparison.subjects import ModuleSubject

Array = npt.NDArray[Any]

MODELS = Path(__file__).parents[2] / "shared" / "models"
NAMES = ("digits_mlp", "digits_cnn", "digits_lstm", "digits_gru")
CALIBRATORS = ("min_max", "percentile", "entropy", "mse")
GRANULARITIES = ("tensor", "channel")
CALIBRATION_SAMPLES = 256
"""The first so many training images calibrate, in ours and in ONNX Runtime."""

BAR = 0.004
"""How much of the float model's top-1 a quantized one may lose."""


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
    def of(name: str, models: Path = MODELS, samples: int = CALIBRATION_SAMPLES) -> "Digits":
        """The model `name` of the folder, calibrated on so many images."""
        data = np.load(models / "digits_eval.npz")
        calibration, test = (_arranged(name, images) for images in (data["x_train"][:samples], data["x_test"]))
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
        sums = ErrorSums()
        sums.add(self.logits, logits)
        return sums.sqnr_db

    def profile(self, keep: Sequence[str] | None = None) -> Profile:
        """What the lowered model's values are on the calibration images; taken once."""
        passes = QUANTIZE.text("lower", keep_composites=kept_composites() if keep is None else tuple(keep))
        if passes not in self._profiles:
            self._profiles[passes] = profile(self.module, iter([{"input": self.calibration}]), passes=passes)
        return self._profiles[passes]

    def quantized(self, **options: Any) -> ModuleOp:
        """The quantized model; `options` are those of `qmlir.quantize`."""
        return quantize(self.module, profile=self.profile(), **options).module

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
    if not is_installed("onnxruntime") or calibrator not in METHODS:
        return
    # In one batch, as histograms need one shape.
    samples, is_channel = [{"input": digits.calibration}], granularity == "channel"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantized.onnx"
        quantize_by_peer(
            digits.path, path, FORMS["s8s8"], samples, per_channel=is_channel, calibrator=calibrator, prepare=False
        )
        share = _peer_share(path)
        for by, optimization in (("ONNX Runtime, exact", "none"), ("ONNX Runtime, as used", "all")):
            (logits,) = OrtSession(path, OrtOptions(optimization=optimization))({"input": digits.test}).values()
            yield digits.score(logits, by, granularity, calibrator, share)


# Layers


def measure_layers(digits: Digits, granularity: str, calibrator: str) -> Comparison:
    """The error of every value, parts of composites too: both modules stay lowered."""
    environment = default_environment()
    ctx = environment.new_context()

    def run(module: ModuleOp, *stages: str, **options: Any) -> None:
        PassManager(ctx, QUANTIZE.passes(*stages, keep_composites=kept_composites(), **options)).run(module)

    reference, quantized = digits.module.clone(), digits.module.clone()
    run(reference, "lower")
    run(quantized, "lower")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        digits.profile().save(path)
        run(quantized, "profile", profile=str(path))
    run(quantized, "decide", "propagate", granularity=granularity, calibrator=calibrator)
    data = iter([{"input": digits.test}])
    return compare(ModuleSubject(reference, "float"), ModuleSubject(quantized, "quantized"), data)


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


def score_rows(scores: Sequence[Score]) -> Iterator[BenchRow]:
    """The scores as rows of `docs/results`, those of a float model once."""
    floats = {each.model: each.float_top1 for each in scores}
    for model, top1 in floats.items():
        yield BenchRow("top-1, float", 100 * top1, None, "%", subject=model)
    for each in scores:
        how = f"{each.by}, {each.granularity}, {each.calibrator}"
        for what, figure, unit in (
            ("top-1", 100 * each.top1, "%"), ("SQNR", each.sqnr, "dB"),
            ("int8 multiply-adds", 100 * each.integer_share, "%"),
        ):  # fmt: skip
            yield BenchRow(f"{what}, {how}", figure, None, unit, subject=each.model)


def layer_table(found: Comparison) -> Table:
    """The errors of values, one a line, in the order in which they are computed."""
    table = Table("value", "elements", "SQNR dB", "max error", "")
    for each in found.values:
        note = "saturates: limited by what follows" if each.is_limited else ""
        table.add_row(each.key, str(each.elements), f"{each.sqnr_db:.1f}", f"{each.max_error:.4g}", note)
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
    add_results(parser)
    arguments = parser.parse_args()
    if arguments.layers and arguments.results:
        parser.error("--results has the scores of models: it doesn't go with --layers")
    progress = Console(stderr=True)
    if not arguments.models.is_dir():
        progress.print(f"no models in {arguments.models}: say where they are with --models")
        return 1
    if arguments.layers:
        found = measure_layers(
            Digits.of(arguments.layers, arguments.models), arguments.granularity, arguments.calibrator
        )
        rows, table = [asdict(each) for each in found.values], layer_table(found)
    else:
        scores = measure(arguments.models, arguments.model or NAMES, progress.print)
        rows, table = [asdict(each) for each in scores], score_table(scores)
        write_results(score_rows(scores), arguments)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
