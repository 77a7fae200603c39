"""Fine-tuning: trains weights, biases and scales of the quantized form of a float model.

Training computes the integers of the final quantized model, so every figure applies to the model that is written.
Without labels, the float model is the teacher. An epoch depends only on the parameters, the state of the optimizer and
the epoch number, so a run continued from a checkpoint is bit-identical to an uninterrupted run.
"""

import hashlib
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeAlias, Unpack, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.calibrators import cross_entropy, distillation_divergence, squared_error
from qmlir.dialects.nn.requantize import computes_quantized
from qmlir.extensions.training.choices import FinetuneLoss, FinetuneOptions, OptimizerKind
from qmlir.extensions.training.optimizers import REMEMBERED, SUMS, Optimizer, cosine_share, still
from qmlir.extensions.training.samples import TrainingSamples, parted
from qmlir.extensions.training.trainable import Trainable, TrainingPrograms, trainable
from qmlir.interpreter.archives import arrays_of, whole
from qmlir.interpreter.datasets import Preprocess, preprocessed
from qmlir.interpreter.progress import Advance, bar
from qmlir.interpreter.samples import Data
from qmlir.ir.diagnostics import DiagnosticError, Severity, emit, text_error, warn
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.settings import QuantizeSettings, tells_settings
from qmlir.specialization.inputs import shape_text
from qmlir.specialization.specialize import specialize
from qmlir.targets.compiling import compile
from qmlir.text.data import JsonValue, parse_data, plain
from qmlir.text.files import path_of, plan_output
from qmlir.text.renames import old_name
from qmlir.text.tables import Readable
from qmlir.text.writing import check_own, write_own
from qmlir.workflows.evaluating import Labels, chosen_member, output_name, score_rows, with_labels
from qmlir.workflows.loading import HoldsModule, takes_model

CALIBRATION = 512
"""The number of training samples used to calibrate the initial ranges."""

NARROW = 4
"""Weights of at most this many bits start with least-squares scales, use `NARROW_RATE`, and may be frozen if they
oscillate."""

RATE, NARROW_RATE = 1e-3, 2e-3
"""The default learning rates of weights and biases. The second rate applies if some weights are narrow, because their
codes are farther apart.
"""

MIX = 0.5
"""The fraction of mixed samples if the float model is the only teacher. It also provides targets between samples, near
class boundaries, where samples are rare. The unmixed samples keep the batch close to the data.
"""

CHECKPOINT_VERSION = 1
"""The version of the checkpoint format; checkpoints of qmlir 0.1 have no version."""

Augment: TypeAlias = Callable[[dict[str, Array], np.random.Generator], dict[str, Array]]
"""A function that changes the inputs of a batch, using a random generator that is the same in every run."""


@dataclass(frozen=True)
class HeldOutFigures:
    """The figures of a model on the held-out samples."""

    loss: float
    """The value of the loss."""

    figure: float
    """The value of the metric that `Finetuned.metric` names."""

    @staticmethod
    def of(data: JsonValue) -> "HeldOutFigures":
        """Read the figures in a checkpoint; they may be infinite or NaN.

        Args:
            data: The JSON value.

        Returns:
            The figures.

        Raises:
            DiagnosticError: The value has another form.
        """
        return HeldOutFigures(data["loss"].number(allow_nonfinite=True), data["figure"].number(allow_nonfinite=True))


@dataclass(frozen=True, repr=False)
class Finetuned(HoldsModule, Readable):
    """A fine-tuned model. Every function that takes a model accepts it."""

    module: ModuleOp
    """The quantized module of the best epoch."""

    trained: Trainable
    """The trained model, with the parameters that training began with."""

    parameters: Mapping[str, Array]
    """The parameters of the best epoch, by name."""

    options: FinetuneOptions
    """The options of training."""

    metric: str
    """`top-1` with labels, `agreement` with the float model's classes for `kl`, `SQNR dB` for `mse`."""

    samples: int
    """The number of training samples."""

    held_out: int
    """The number of held-out samples."""

    float_figure: float | None
    """The metric of the float model; `None` without labels."""

    before: HeldOutFigures
    """The figures of the quantized model without training."""

    after: HeldOutFigures
    """The figures of the result."""

    epochs: tuple[HeldOutFigures, ...]
    """The figures after each epoch."""

    best: int
    """The number of the best epoch, counted from 1; 0 if no epoch was better than the model without training."""

    problem: str = ""
    """The reason why training stopped early; empty if it did not."""

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to plain values, without modules and parameters.

        Returns:
            A dict that can be written as JSON.
        """
        models = ("module", "trained", "parameters")
        return plain({name: value for name, value in vars(self).items() if name not in models})

    def text(self) -> str:
        """Format the result.

        Returns:
            The metric without and with training, on the held-out samples.
        """
        of_float = "" if self.float_figure is None else f", {self._shown(self.float_figure)} in float"
        ends = [f"{self._shown(each.figure)} (loss {each.loss:.4g})" for each in (self.before, self.after)]
        which = f"epoch {self.best} of {len(self.epochs)}" if self.best else "no epoch was better than no training"
        stopped = f"\n{self.problem}" if self.problem else ""
        return (
            f"{self.metric} on {self.held_out} samples held out: {ends[0]} quantized, {ends[1]} trained{of_float}; "
            f"{which}, {self.samples} samples each{stopped}\n"
        )

    def _shown(self, figure: float) -> str:
        return f"{figure:.2f}" if self.metric == "SQNR dB" else f"{100 * figure:.2f}%"


def _score_rows(scores: Array) -> Array:
    """Returns `score_rows`. Raises `DiagnosticError` if there are none."""
    rows, shape = score_rows(scores), shape_text(scores.shape)
    if rows is None:
        text = "losses 'kl' and 'labels' require an output with at least two logits per row, but got shape"
        raise text_error(f"{text} {shape}")
    return rows


def _is_state(state: Mapping[str, Array], parameters: Mapping[str, Array]) -> bool:
    """Returns true if `state` has the names, types and shapes of an optimizer's state for `parameters`."""
    known = {f"{what} {name}": array for name, array in parameters.items() for what in (*SUMS, *REMEMBERED)}
    for key, array in state.items():
        if key == "steps":
            is_fit = array.dtype.kind == "i" and array.shape == () and array >= 0
        else:
            shape = () if key.startswith(f"{REMEMBERED[-1]} ") else known[key].shape if key in known else None
            is_fit = key in known and (array.dtype, array.shape) == (np.float32, shape)
        if not is_fit:
            return False
    remembered = [[f"{what} {name}" in state for what in REMEMBERED] for name in parameters]
    return ("steps" in state or not state) and all(all(each) or not any(each) for each in remembered)


@dataclass
class _State:
    """The state of a run after an epoch, as saved in a checkpoint."""

    parameters: dict[str, Array]
    best_parameters: dict[str, Array]
    optimizer: Optimizer
    before: HeldOutFigures
    epochs: list[HeldOutFigures] = field(default_factory=list[HeldOutFigures])
    best: int = 0
    problem: str = ""

    @property
    def after(self) -> HeldOutFigures:
        return self.epochs[self.best - 1] if self.best else self.before

    def to_bytes(self, key: str) -> bytes:
        """Returns an `.npz` archive, with the digest `key` of everything that the run depends on."""
        parts = {"parameters": self.parameters, "best": self.best_parameters, "optimizer": self.optimizer.state}
        names = {part: list(arrays) for part, arrays in parts.items()}
        arrays = {f"{part}.{position}": each for part, of in parts.items() for position, each in enumerate(of.values())}
        told = {
            "version": CHECKPOINT_VERSION, "qmlir": version("qmlir"), "key": key, "names": names,
            "before": asdict(self.before), "epochs": [asdict(each) for each in self.epochs], "best": self.best,
            "problem": self.problem,
        }  # fmt: skip
        stream = io.BytesIO()
        np.savez(stream, about=np.frombuffer(json.dumps(told).encode(), np.uint8), **cast(dict[str, Any], arrays))
        return stream.getvalue()

    def restore(self, path: Path, key: Callable[[int], str]) -> None:
        """Continues from the checkpoint at `path`; `key` returns the digest of this run for a checkpoint version.

        Raises `DiagnosticError` if the file is not a checkpoint, or belongs to another run.
        """
        try:
            arrays = arrays_of(path, is_input=False)
        except DiagnosticError as error:
            raise text_error(f"'{path}' is not a checkpoint of 'qmlir finetune': {error.diagnostic.message}") from error
        if "about" not in arrays:
            raise text_error(f"'{path}' is not a checkpoint of 'qmlir finetune': it has no array 'about'")
        told = parse_data(whole(arrays["about"]).tobytes(), f"'about' of the checkpoint '{path}'", allow_nonfinite=True)
        known = told["version"].integer(1, CHECKPOINT_VERSION) if told.get("version") is not None else 0
        if known and (writer := told["qmlir"].text()) != (reader := version("qmlir")):
            raise text_error(
                f"checkpoint '{path}' was written by qmlir {writer}, but this is qmlir {reader}; continue with qmlir "
                f"{writer}, or pass another file to begin again"
            )
        if told["key"].text() != key(known):
            raise text_error(
                f"checkpoint '{path}' belongs to another model, other data or other settings; pass another file"
            )

        def part(name: str) -> dict[str, Array]:
            keys = {each.text(): f"{name}.{position}" for position, each in enumerate(told["names"][name])}
            if missing := [each for each in keys.values() if each not in arrays]:
                raise text_error(f"checkpoint '{path}' is damaged: it has no array '{missing[0]}'")
            return {each: whole(arrays[key]) for each, key in keys.items()}

        parameters, best, state = map(part, ("parameters", "best", "optimizer"))
        forms, *others = (
            {name: (array.dtype, array.shape) for name, array in arrays.items()}
            for arrays in (self.parameters, parameters, best)
        )
        if others != [forms, forms] or not _is_state(state, parameters):
            raise text_error(f"checkpoint '{path}' is damaged: its arrays do not match the parameters")
        self.parameters, self.best_parameters, self.optimizer.state = parameters, best, state
        self.before = HeldOutFigures.of(told["before"])
        self.epochs = [HeldOutFigures.of(each) for each in told["epochs"]]
        self.best, self.problem = told["best"].integer(0, len(self.epochs)), told["problem"].text()


class _Loop:
    """The student and teacher programs, and the samples."""

    def __init__(
        self, module: ModuleOp, rows: TrainingSamples, classes: Array | None, options: FinetuneOptions,
        output: str | None, threads: int, isa: str,
    ) -> None:  # fmt: skip
        self.rows, self.options, self.classes = rows, options, classes
        self._threads, self._isa = threads, isa
        size = max(1, options.batch_size // rows.per_run) if rows.is_open else 1
        size, self.training, self.held = parted(len(rows), options.validation_split, size, options.seed)
        self.size, held = size, len(self.held)
        self.per_epoch = len(self.training) // size
        self.scores = output_name(module, output) if options.loss is not FinetuneLoss.MSE else None
        self.shapes = {name: array.shape for name, array in rows.batch([0] * size).items()}
        self.teacher = compile(specialize(module, self.shapes), threads=threads, isa=isa)
        padded = np.resize(self.held, -(-held // size) * size)  # the last batch is padded with the first samples
        batches = padded.reshape(-1, size).tolist()
        self._held_batches = [(chosen, self._wanted(rows.batch(chosen))) for chosen in batches]
        names = self._held_batches[0][1]
        if classes is not None and self.scores is not None:
            scores = _score_rows(names[self.scores]).shape[-1]
            wrong = classes[(classes < 0) | (classes >= scores)]
            if len(wrong):
                raise text_error(
                    f"labels must be in [0, {scores - 1}], as output '{self.scores}' has {scores} logits, but got "
                    f"{wrong[0]}"
                )
        self.variances = {
            name: float(np.var(np.stack([wanted[name] for _, wanted in self._held_batches]).astype(np.float64))) or 1.0
            for name in names
        }

    def begin(self, trained: Trainable) -> None:
        """Compiles the student."""
        self._narrow = trained.weights(NARROW) if self.options.freeze_oscillating else []
        self.programs = TrainingPrograms(trained, self.shapes, threads=self._threads, isa=self._isa)

    def _wanted(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the float results of the teacher."""
        found = self.teacher(dict(inputs))
        results = {name: array for name, array in found.items() if array.dtype == np.float32 and array.size}
        if not results:
            raise text_error("the model has no float output to learn from")
        return {name: array.copy() for name, array in results.items()}

    def _classes(self, positions: Sequence[int]) -> Array | None:
        if self.classes is None:
            return None
        each = self.rows.per_run
        return np.concatenate([self.classes[position * each : (position + 1) * each] for position in positions])

    def _loss(
        self, found: Mapping[str, Array], wanted: Mapping[str, Array], classes: Array | None
    ) -> tuple[float, dict[str, Array]]:
        options, name = self.options, self.scores
        if name is None:
            parts = {each: squared_error(found[each], wanted[each], self.variances[each]) for each in wanted}
            loss = sum(part for part, _ in parts.values()) / len(parts)
            return loss, {each: gradient / np.float32(len(parts)) for each, (_, gradient) in parts.items()}
        given = _score_rows(found[name])
        loss, gradient = distillation_divergence(given, _score_rows(wanted[name]), options.temperature)
        if classes is not None:
            if len(classes) != len(given):
                shape = shape_text(found[name].shape)
                raise text_error(f"labels require one row of logits per sample, but output '{name}' has shape {shape}")
            own, of_own = cross_entropy(given, classes)
            share = options.distill
            loss = (1 - share) * own + share * loss
            gradient = np.float32(1 - share) * of_own + np.float32(share) * gradient
        return loss, {name: gradient.reshape(found[name].shape)}

    def judged(self, parameters: Mapping[str, Array]) -> HeldOutFigures:
        """Returns the loss and the metric on the held-out samples."""
        losses: list[float] = []
        right: list[Array] = []
        for chosen, wanted in self._held_batches:
            found = self.programs.results(self.rows.batch(chosen), parameters)
            losses.append(self._loss(found, wanted, self._classes(chosen))[0])
            right.append(self._right(found, wanted, chosen))
        loss = float(np.mean(losses))
        if self.scores is None:
            return HeldOutFigures(loss, -10 * math.log10(loss) if loss > 0 else math.inf)
        return HeldOutFigures(loss, self._share(right))

    def _right(self, found: Mapping[str, Array], wanted: Mapping[str, Array], chosen: Sequence[int]) -> Array:
        """Returns for each run and row of its logits whether the class is that of the label, or of the teacher."""
        if self.scores is None:
            return np.zeros((len(chosen), 0), np.bool_)
        classes = self._classes(chosen)
        positions, of_teacher = (_score_rows(each[self.scores]).argmax(-1) for each in (found, wanted))
        return (positions == (of_teacher if classes is None else classes)).reshape(len(chosen), -1)

    def _share(self, right: Sequence[Array]) -> float:
        """Returns the fraction of right rows, without those of padding."""
        return float(np.concatenate(right)[: len(self.held)].mean())

    def of_teacher(self) -> float | None:
        """Returns the metric of the float model if there are labels."""
        if self.classes is None:
            return None
        return self._share([self._right(wanted, wanted, chosen) for chosen, wanted in self._held_batches])

    def epoch(self, state: _State, augment: Augment | None, advance: Advance) -> None:
        """Trains on every sample once, as the next epoch of `state`, and evaluates the result."""
        options, number = self.options, len(state.epochs)
        random = np.random.default_rng([options.seed, number])
        order = random.permutation(self.training)
        parameters, loss = state.parameters, math.nan
        for position in range(self.per_epoch):
            chosen = [int(each) for each in order[position * self.size :][: self.size]]
            inputs = self._mixed(chosen, random) if options.mixup else self.rows.batch(chosen)
            if augment is not None:
                inputs = augment(inputs, random)
            wanted = self._wanted(inputs)
            values = self.programs.forward(inputs, parameters)
            loss, gradients = self._loss(values, wanted, self._classes(chosen))
            found = self.programs.backward(values, gradients) if math.isfinite(loss) else {}
            with np.errstate(over="ignore"):
                is_sound = found and all(np.isfinite(np.square(each)).all() for each in found.values())
            done, total = number * self.per_epoch + position, options.epochs * self.per_epoch
            if not is_sound:  # Adam accumulates squares: an infinite one would freeze a parameter forever
                state.problem = self._stopped("the loss or its gradient", f"at step {done + 1}")
                return
            parameters = state.optimizer.step(parameters, found, cosine_share(done / total, options.warmup))
            for weight in self._narrow:
                codes, steps = weight.codes(parameters)
                kept = state.optimizer.state
                parameters[weight.name] = still(weight.name, parameters[weight.name], codes, steps, kept)
            advance.at(done + 1, total, f"epoch {number + 1} of {options.epochs}, loss {loss:.4g}")
        state.parameters = parameters
        judged = self.judged(parameters)
        if not math.isfinite(judged.loss):
            state.problem = self._stopped("the loss", f"after epoch {number + 1}")
            return
        state.epochs.append(judged)
        if self.score(judged) > self.score(state.after):
            state.best, state.best_parameters = len(state.epochs), parameters

    def _mixed(self, chosen: Sequence[int], random: np.random.Generator) -> dict[str, Array]:
        """Returns samples, a fraction of which is mixed with another one by a uniform weight.

        Zhang et al., mixup: Beyond Empirical Risk Minimization, 2018.
        """
        others = [int(each) for each in random.choice(self.training, len(chosen))]
        shares = np.where(random.random(len(chosen)) < (self.options.mixup or 0), random.random(len(chosen)), 1.0)
        return self.rows.mixed(chosen, others, shares)

    @staticmethod
    def _stopped(what: str, where: str) -> str:
        return f"{what} is not finite {where}: kept the best epoch; use a lower --learning-rate"

    def score(self, found: HeldOutFigures) -> tuple[float, float]:
        """Returns a key that is largest for the best epoch: the metric with labels, the loss without."""
        return (found.figure if self.classes is not None else 0.0, -found.loss)


_METRICS = {FinetuneLoss.MSE: "SQNR dB", FinetuneLoss.KL: "agreement", FinetuneLoss.LABELS: "top-1"}


def _options(loss: str, classes: Array | None, optimizer: str, **given: Any) -> FinetuneOptions:
    usual = FinetuneLoss.MSE if classes is None else FinetuneLoss.LABELS
    known = chosen_member(FinetuneLoss, loss or usual, "loss")
    if known is FinetuneLoss.LABELS and classes is None:
        raise text_error("loss 'labels' requires labels; pass --labels (labels=), or use loss 'mse' or 'kl'")
    if known is not FinetuneLoss.LABELS and classes is not None:
        raise text_error(f"loss '{known}' learns from the float model and cannot be combined with labels")
    return FinetuneOptions(loss=known, optimizer=chosen_member(OptimizerKind, optimizer, "optimizer"), **given)


def _key(
    module: ModuleOp, trained: Trainable, rows: TrainingSamples, classes: Array | None, scores: str | None,
    options: FinetuneOptions, checkpoint: int = CHECKPOINT_VERSION,
) -> str:  # fmt: skip
    """Returns a digest of everything that a run depends on, for this checkpoint version; 0 is that of qmlir 0.1."""
    named = (
        asdict(options) if checkpoint else {old_name(name, "finetune"): each for name, each in vars(options).items()}
    )
    parts = [
        str(trained.module), str(module), rows.digest(), None if classes is None else classes.tolist(), named,
        scores, version("qmlir") if checkpoint else "0.1.0",
    ]  # fmt: skip
    found = hashlib.sha256(json.dumps(parts).encode())
    for name, array in trained.parameters.items():
        found.update(name.encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


@takes_model
@tells_settings(module="Model", data="Data", labels="Labels | bool | None")
def finetune(
    module: ModuleOp,
    data: Data,
    *,
    labels: Labels | bool | None = None,
    loss: str = "",
    output: str | None = None,
    scales: str = "lsq",
    train: Sequence[str] = (),
    profile: Profile | None = None,
    optimizer: str = "adam",
    augment: Augment | None = None,
    checkpoint: str | PathLike[str] | None = None,
    preprocess: Preprocess | None = None,
    threads: int = 1,
    isa: str = "host",
    progress: IO[str] | None = None,
    on_epoch: Callable[[int, HeldOutFigures], None] | None = None,
    epochs: int = FinetuneOptions.epochs,
    batch_size: int = FinetuneOptions.batch_size,
    mixup: float | None = FinetuneOptions.mixup,
    learning_rate: float | None = FinetuneOptions.learning_rate,
    scale_rate: float = FinetuneOptions.scale_rate,
    warmup: float = FinetuneOptions.warmup,
    validation_split: float = FinetuneOptions.validation_split,
    patience: int | None = FinetuneOptions.patience,
    temperature: float = FinetuneOptions.temperature,
    distill: float = FinetuneOptions.distill,
    seed: int = FinetuneOptions.seed,
    freeze_oscillating: bool = FinetuneOptions.freeze_oscillating,
    **settings: Unpack[QuantizeSettings],
) -> Finetuned:
    """Fine-tune a float model as the integer program that it becomes, and return the best quantized model found.

    Weights, biases and scales are trained. Without `labels`, the float model is the teacher. The epoch that is best on
    held-out samples is returned, or the model without training if no epoch is better. All samples are kept in memory. A
    loss or gradient that is not finite ends training with a warning.

    Args:
        module: The float model: a module, or a path or ONNX model that `load` accepts.
        data: Samples, in a form that `qmlir.profile` accepts; with `labels=True`, pairs `(inputs, labels)`.
        labels: Class of each sample: integers, a file, or `NAME=FILE` for an array of an `.npz` file. `True` takes them
            from pairs in `data`, `None` learns from the float model.
        loss: `"mse"`: squared error against the float model's outputs, over their variance. `"kl"`: divergence from its
            softmax. `"labels"`: cross entropy against labels, and a fraction of `"kl"`. Empty is `"labels"` with
            labels, otherwise `"mse"`.
        output: Name of the output with the logits. `None` is the only output. Not used by `"mse"`.
        scales: How scales are learned: see `trainable`.
        train: Patterns of the parameters to train: see `trainable`.
        profile: Statistics to initialize ranges from, instead of the first 512 training samples: the result of
            `qmlir.profile` with `passes=None`.
        optimizer: `"adam"`, or `"sgd"` with momentum, for weights and biases. Scales always use Adam.
        augment: Function `(inputs, generator)` that returns changed inputs of a batch, by a NumPy random generator.
        checkpoint: File that is written after each epoch. If it exists, training continues from it, with the same bits
            as an uninterrupted run.
        preprocess: Function that converts an item of `data` to the model's input, or its name:
            `package.module:function` or `file.py:function`.
        threads: Number of threads of compiled programs, at least 1.
        isa: Instruction set of the CPU, such as `avx2`; `host` is the best one of this CPU.
        progress: Stream that shows progress: a terminal gets a bar, any other stream a line every ten seconds.
        on_epoch: Function that is called with the number of each finished epoch, from 1, and its held-out figures.
        epochs: Maximum number of epochs, at least 1.
        batch_size: Samples per training step, at least 1. A static batch size of the model takes precedence.
        mixup: Fraction of the samples of a batch that are mixed with another sample, in [0, 1]. `None` is 0.5 if the
            float model alone teaches and all inputs are floats, otherwise 0.
        learning_rate: Learning rate of weights and biases, greater than 0. `None` is 1e-3, or 2e-3 if some weights have
            at most 4 bits.
        scale_rate: Learning rate of scales, greater than 0.
        warmup: Fraction of the steps in which learning rates rise, in [0, 1]. Then they fall with a cosine.
        validation_split: Fraction of the samples held out of training, in (0, 1).
        patience: Number of epochs without improvement that ends training, at least 1. `None` trains all epochs.
        temperature: Temperature of the softmax in `"kl"`, greater than 0.
        distill: Fraction of `"kl"` in the loss `"labels"`, in [0, 1].
        seed: Seed of all random choices, at least 0.
        freeze_oscillating: Freeze weights of at most 4 bits that oscillate between two quantized values (Nagel et al.,
            2022).

    Returns:
        The quantized model of the best epoch, with the figures of all epochs.

    Raises:
        DiagnosticError: Data, labels or settings do not fit, a number is out of range, the model is quantized already
            or cannot be trained, or the checkpoint belongs to another run.
        TypeError: An argument is not a setting. The message suggests a similar name.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> tuned = qmlir.finetune(model, data, epochs=2, batch_size=16, weights="i4")
        >>> tuned.metric, len(tuned.epochs)
        ('SQNR dB', 2)
        >>> program = qmlir.compile(tuned)
    """
    path = None if checkpoint is None else path_of(checkpoint)
    if path is not None:
        check_own(path)
        plan_output(path)
    if computes_quantized(module):
        raise text_error(
            "finetune requires the float model, but got a quantized one; pass the float model, or continue training "
            "with qmlir.trainable"
        )
    samples, classes = with_labels(data, labels)
    options = _options(
        loss, classes, optimizer, temperature=temperature, distill=distill, validation_split=validation_split,
        epochs=epochs, batch_size=batch_size, mixup=mixup, learning_rate=learning_rate, scale_rate=scale_rate,
        warmup=warmup, patience=patience, seed=seed, freeze_oscillating=freeze_oscillating,
    )  # fmt: skip
    rows = TrainingSamples(module, preprocessed(samples, preprocess))
    if classes is not None and len(classes) != len(rows) * rows.per_run:
        raise text_error(f"expected one label per sample ({len(rows) * rows.per_run}), but got {len(classes)}")
    if options.mixup and rows.whole_inputs:
        raise text_error(f"mixup takes inputs of floats, and '{rows.whole_inputs[0]}' has none")
    if options.mixup is None:
        options = replace(options, mixup=0.0 if classes is not None or rows.whole_inputs else MIX)
    loop = _Loop(module, rows, classes, options, output, threads, isa)
    begun = rows.items([int(position) for position in loop.training[:CALIBRATION]]) if profile is None else None
    trained = trainable(module, begun, profile=profile, scales=scales, train=train, **settings)
    if not trained.parameters:
        raise text_error("the model has nothing to train: it has no quantized weight, bias or scale")
    loop.begin(trained)
    if options.learning_rate is None:
        options = replace(options, learning_rate=NARROW_RATE if trained.weights(NARROW) else RATE)
    assert options.learning_rate is not None
    state = _State(
        trained.fitted(NARROW), dict(trained.parameters),
        Optimizer(options.optimizer, options.learning_rate, scale_rate, trained.learned_scales, trained.positive),
        loop.judged(trained.parameters),
    )  # fmt: skip
    if not math.isfinite(state.before.loss):
        raise text_error(
            "the validation loss is not finite before training: the float or the quantized model returns infinite "
            "or NaN values"
        )
    key_of = partial(_key, module, trained, rows, classes, loop.scores, options)
    key = "" if path is None else key_of()
    if path is not None and path.exists():
        state.restore(path, key_of)
    with bar("training", options.epochs * loop.per_epoch, progress) as advance:
        is_told = False
        while not state.problem and len(state.epochs) < options.epochs:
            if options.patience is not None and len(state.epochs) - state.best >= options.patience:
                break
            loop.epoch(state, augment, advance)
            if path is not None:
                try:
                    write_own(path, state.to_bytes(key))
                except DiagnosticError as error:
                    if not is_told:
                        emit(replace(error.diagnostic, severity=Severity.WARNING))
                    is_told = True
            if on_epoch is not None and not state.problem:
                on_epoch(len(state.epochs), state.epochs[-1])
    if state.problem:
        warn(state.problem)
    return Finetuned(
        trained.freeze(state.best_parameters), trained, state.best_parameters, options, _METRICS[options.loss],
        len(loop.training) * rows.per_run, len(loop.held) * rows.per_run, loop.of_teacher(), state.before, state.after,
        tuple(state.epochs), state.best, state.problem,
    )  # fmt: skip
