"""Measures choices of layer widths: their accuracy, and the noise that they add to the output; and stores the figures.

`Trials` sends tasks to workers, for several choices at once, or runs them in this process. Each worker quantizes a
choice itself, and the samples for an accuracy are sent in groups of batches.
"""

import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.extensions.search.sensitivity import PASSES, LogitSensitivity, Rounded, averaged, rounded
from qmlir.extensions.search.widths import LayerwiseModel, Widths
from qmlir.interpreter.jobs import Begun, Job, ShippedModule, Workers
from qmlir.ir.diagnostics import DiagnosticError, text_error, without_remarks
from qmlir.pipelines import QuantizeOptions
from qmlir.text.data import read_data
from qmlir.text.files import path_of
from qmlir.text.writing import check_generated, made_folder, write_own
from qmlir.workflows.choices import Engine
from qmlir.workflows.comparison.errors import ErrorSums
from qmlir.workflows.evaluating import Batch, Batches, Runner, predicted

# Figures that are slow to measure, stored by name in a file, so that an interrupted search can continue.

FORMAT = "qmlir-search"

_START = f'{{\n "format": "{FORMAT}"'.encode()


class Measurements:
    """Measured figures by name, optionally backed by a file."""

    def __init__(self, key: str, path: str | PathLike[str] | None = None) -> None:
        """Reads the figures stored in `path` under `key`; figures stored under another key are discarded.

        Raises `DiagnosticError` if `path` is a file of another kind.
        """
        self.key = key
        self.path = None if path is None else path_of(path)
        if self.path is not None:
            check_generated(self.path, _START)
        self._figures: dict[str, float] = {} if self.path is None else _read(self.path, key)
        self.known = len(self._figures)
        """Number of figures that were read."""
        self.taken = 0
        """Number of figures measured since."""

    def __contains__(self, name: str) -> bool:
        return name in self._figures

    def measured(self, name: str, measure: Callable[[], float]) -> float:
        """Returns the stored figure `name`, or calls `measure` and stores its result immediately.

        Raises `DiagnosticError` if the result cannot be stored.
        """
        return self.together([name], lambda: [measure()])[0]

    def together(self, names: Sequence[str], measure: Callable[[], Sequence[float]]) -> list[float]:
        """Returns the stored figures `names`; if one is missing, calls `measure` and stores all its results."""
        if any(name not in self._figures for name in names):
            self._figures.update(zip(names, measure(), strict=True))
            self.taken += len(names)
            if self.path is not None:
                made_folder(self.path.parent)
                write_own(self.path, self.text())
        return [self._figures[name] for name in names]

    def text(self) -> str:
        """Returns the content of the file."""
        content = {"format": FORMAT, "key": self.key, "figures": self._figures}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _read(path: Path, key: str) -> dict[str, float]:
    """Returns the figures of a file; none if it does not exist or cannot be parsed."""
    try:
        data = read_data(path, allow_nonfinite=True)
        data["format"].text([FORMAT])
        data["key"].text([key])
        figures = data["figures"].entries()
    except DiagnosticError:
        return {}
    found: dict[str, float] = {}
    for name, each in figures.items():
        with suppress(DiagnosticError):
            found[name] = each.number(allow_nonfinite=True)
    return found


# The measurements.

_TASK_BYTES, _TASK_SAMPLES = 1 << 22, 512
"""Limits on the bytes and samples of a group of batches; a single batch may exceed them."""


@dataclass(frozen=True)
class Noise:
    """Measures the SQNR, in decibels, of an output under one choice of widths relative to another choice."""

    layered: LayerwiseModel
    output: str
    runner: Runner
    batches: Iterable[Batch]
    _references: dict[str, list[Array]] = field(default_factory=dict[str, list[Array]], init=False)

    def of(self, widths: Widths, reference: Widths) -> float:
        """Returns the SQNR in decibels of `widths` relative to `reference`."""
        key = repr(sorted(reference.items()))
        if key not in self._references:
            self._references[key] = self._outputs(reference)
        sums = ErrorSums()
        for exact, found in zip(self._references[key], self._outputs(widths), strict=True):
            sums.add(exact, found)
        return sums.sqnr_db

    def _outputs(self, widths: Widths) -> list[Array]:
        return [
            outputs[self.output] for _, outputs in self.runner.outputs(self.layered.quantized(widths), self.batches)
        ]


@dataclass(frozen=True)
class SearchSubject:
    """The data that the measurements of a search need, in a form that can be sent to workers."""

    module: ShippedModule
    profiled: ShippedModule
    options: QuantizeOptions
    """The types of all values, and the user's recipe."""

    output: str
    engine: Engine
    threads: int

    @property
    def layered(self) -> LayerwiseModel:
        """The module whose layer widths are searched."""
        return LayerwiseModel(self.profiled.module(), self.options)

    @property
    def runner(self) -> Runner:
        """The runner that executes modules."""
        return Runner(self.engine, self.threads)


def _begin_ranking(ranked: tuple[SearchSubject, tuple[Batch, ...]]) -> Begun:
    """Returns a function that answers two choices with the SQNR of one against the other on some batches."""
    subject, batches = ranked
    noise = Noise(subject.layered, subject.output, subject.runner, batches)

    def measure(choices: tuple[Widths, Widths]) -> bytes:
        with without_remarks():
            return repr(noise.of(*choices)).encode()

    return measure


def _is_noise(choices: tuple[Widths, Widths], content: bytes) -> bool:
    """Returns true if `content` can be an SQNR, which has no bounds."""
    try:
        return len(content) < 32 and not math.isnan(float(content))
    except ValueError:
        return False


class _Predictor:
    """Predicts batches that arrive in groups; a module that runs on several groups is compiled at most once."""

    def __init__(self, runner: Runner, module: ModuleOp, output: str) -> None:
        self._waiting = deque[Batch]()
        self._outputs = runner.outputs(module, iter(self._waiting.popleft, None))
        self._output = output

    def predictions(self, batches: Sequence[Batch]) -> Array:
        """Returns the class of each sample, as i64."""
        self._waiting.extend(batches)
        found = [next(self._outputs) for _ in batches]
        return np.concatenate([predicted(outputs[self._output], batch) for batch, outputs in found]).astype(np.int64)


_Predicting = tuple[Widths | None, tuple[Batch, ...]]
"""A choice of widths, or `None` for the float model, and batches whose classes are to be predicted."""


def _begin_predicting(subject: SearchSubject) -> Begun:
    """Returns a function that answers batches with the classes of their samples."""
    layered, runner = subject.layered, subject.runner
    known: dict[str, _Predictor] = {}

    def predict(task: _Predicting) -> bytes:
        widths, batches = task
        key = repr(None if widths is None else sorted(widths.items()))
        with without_remarks():
            if key not in known:
                known.clear()  # the groups of a choice follow each other
                module = subject.module.module() if widths is None else layered.quantized(widths)
                known[key] = _Predictor(runner, module, subject.output)
            return known[key].predictions(batches).tobytes()

    return predict


def _is_prediction(task: _Predicting, content: bytes) -> bool:
    """Returns true if `content` can be the classes of the samples."""
    return len(content) == 8 * sum(batch.samples for batch in task[1])


def rounded_by(layered: LayerwiseModel, choices: Sequence[Widths]) -> list[Rounded]:
    """Returns, for each choice of widths, the values and operands that it rounds, with their types.

    These belong to the functions of `layered.decided`.
    """
    decided = map(layered.decisions, choices)
    return [dict(pair for each in one for pair in rounded(each).items()) for one in decided]


def _begin_grading(graded: tuple[SearchSubject, tuple[Widths, ...]]) -> Begun:
    """Returns a function that answers a batch and its index with the changes in the logits, as f64.

    There is one change for each choice of widths.
    """
    subject, choices = graded
    layered = subject.layered
    changes = LogitSensitivity(layered.decided, subject.output, rounded_by(layered, choices))

    def grade(task: tuple[int, Batch]) -> bytes:
        with without_remarks():
            position, batch = task
            return changes.of(batch, position).tobytes()

    return grade


def _is_change(choices: int, task: tuple[int, Batch], content: bytes) -> bool:
    """Returns true if `content` can be the changes of that number of choices."""
    return len(content) == 8 * PASSES * choices and bool(np.isfinite(np.frombuffer(content, np.float64)).all())


def _groups(batches: Iterable[Batch]) -> Iterator[tuple[Batch, ...]]:
    """Groups batches up to the limits of a task."""
    group: list[Batch] = []
    samples = size = 0
    for batch in batches:
        more = sum(array.nbytes for array in batch.inputs.values())
        if group and (samples + batch.samples > _TASK_SAMPLES or size + more > _TASK_BYTES):
            yield tuple(group)
            group, samples, size = [], 0, 0
        group.append(batch)
        samples, size = samples + batch.samples, size + more
    if group:
        yield tuple(group)


class Trials:
    """Measures the choices of a search by `workers`."""

    def __init__(
        self, workers: Workers, subject: SearchSubject, batches: Batches, labels: Array | None, ranked_on: Batches
    ) -> None:
        """`labels` are the classes of the samples; without them, the float model's predictions are correct."""
        self._workers, self._subject, self._batches, self._labels = workers, subject, batches, labels
        self._predicting = Job(_begin_predicting, subject, fits=_is_prediction)
        self._ranked_on = ranked_on

    @property
    def at_once(self) -> int:
        """The number of choices that can be measured together if the next choices are known."""
        return self._workers.at_once

    @property
    def metric(self) -> str:
        """The name of the accuracy in reports."""
        return "agreement with the float model" if self._labels is None else "top-1"

    @cached_property
    def _of_float(self) -> Array:
        """The classes that the float model predicts."""
        (found,) = self._predictions([None])
        return found

    def float_accuracy(self) -> float:
        """Returns the accuracy of the float model."""
        return self._scored(self._of_float)

    def accuracies(self, choices: Sequence[Widths]) -> Iterator[float]:
        """Yields the accuracy of each choice: the fraction of samples whose predicted class is correct, in [0, 1].

        Raises `DiagnosticError` if the numbers of labels and samples differ.
        """
        yield from map(self._scored, self._predictions(choices))

    def _scored(self, found: Array) -> float:
        expected = self._of_float if self._labels is None else self._labels
        if len(found) != len(expected):
            raise text_error(f"expected one label per sample ({len(found)}), but got {len(expected)}")
        return float((found == expected).mean())

    def _predictions(self, choices: Sequence[Widths | None]) -> list[Array]:
        owners = deque[int]()

        def tasks() -> Iterator[Any]:
            for position, widths in enumerate(choices):
                for group in _groups(self._batches):
                    owners.append(position)
                    yield widths, group

        found: list[list[Array]] = [[] for _ in choices]
        for content in self._workers.map(self._predicting, tasks()):
            found[owners.popleft()].append(np.frombuffer(content, np.int64))
        return [np.concatenate(each) for each in found]

    def divergences(self, choices: Sequence[Widths], batches: Iterable[Batch]) -> F64:
        """Returns the matrix of `qmlir.extensions.search.sensitivity.divergences` for the choices."""
        counts = deque[int]()

        def tasks() -> Iterator[tuple[int, Batch]]:
            for position, batch in enumerate(batches):
                counts.append(batch.samples)
                yield position, batch

        graded = self._subject, tuple(choices)
        found = self._workers.map(Job(_begin_grading, graded, fits=partial(_is_change, len(choices))), tasks())
        rows = ((np.frombuffer(content, np.float64).reshape(PASSES, -1), counts.popleft()) for content in found)
        return averaged(rows, len(choices))

    def noises(self, choices: Sequence[Widths], reference: Widths) -> Iterator[float]:
        """Returns the SQNR of each choice."""
        job = Job(_begin_ranking, (self._subject, tuple(self._ranked_on)), fits=_is_noise)
        return map(float, self._workers.map(job, ((widths, reference) for widths in choices)))
