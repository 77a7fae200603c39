"""Measures choices of layer widths: their accuracy, and the noise that they add to the output.

`Trials` measures in this process. `TrialsByWorkers` sends tasks to workers, for several choices at once. Each worker
quantizes a choice itself, and the samples for an accuracy are sent in groups of batches. Both produce the same figures,
because workers run the same code.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.extensions.search.budget import rounded_by
from qmlir.extensions.search.sensitivity import PASSES, LogitSensitivity, averaged
from qmlir.extensions.search.widths import LayerwiseModel, Widths
from qmlir.extensions.training.choices import Engine
from qmlir.extensions.training.evaluating import Accuracy, Batch, Runner, predicted
from qmlir.interpreter.jobs import Begun, Job, ShippedModule, Workers
from qmlir.ir.diagnostics import without_remarks
from qmlir.pipelines import QuantizeOptions
from qmlir.workflows.comparison.errors import ErrorSums

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


class Trials:
    """Measures choices in this process, one at a time."""

    at_once = 1

    def __init__(self, layered: LayerwiseModel, accuracy: Accuracy, ranked_on: Iterable[Batch]) -> None:
        self._layered, self._accuracy = layered, accuracy
        self._noise = Noise(layered, accuracy.output, accuracy.runner, ranked_on)

    def float_accuracy(self) -> float:
        """Returns the accuracy of the float model."""
        return self._accuracy.of(self._accuracy.reference)

    def accuracies(self, choices: Sequence[Widths]) -> Iterator[float]:
        """Returns the accuracy of each choice."""
        return (self._accuracy.of(self._layered.quantized(each)) for each in choices)

    def noises(self, choices: Sequence[Widths], reference: Widths) -> Iterator[float]:
        """Returns the SQNR of each choice."""
        return (self._noise.of(each, reference) for each in choices)


# By workers


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


@dataclass(frozen=True)
class _Ranked:
    """A subject with the batches that layers are ranked on."""

    subject: SearchSubject
    batches: tuple[Batch, ...]


@dataclass(frozen=True)
class _Predicting:
    """Batches whose classes are to be predicted with a choice of widths, or with the float model."""

    widths: Widths | None
    batches: tuple[Batch, ...]


def _begin_ranking(ranked: _Ranked) -> Begun:
    """Returns a function that answers two choices with the SQNR of one against the other."""
    subject = ranked.subject
    noise = Noise(subject.layered, subject.output, subject.runner, ranked.batches)

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


def _begin_predicting(subject: SearchSubject) -> Begun:
    """Returns a function that answers batches with the classes of their samples."""
    layered, runner = subject.layered, subject.runner
    known: dict[str, _Predictor] = {}

    def predict(task: _Predicting) -> bytes:
        key = repr(None if task.widths is None else sorted(task.widths.items()))
        with without_remarks():
            if key not in known:
                known.clear()  # the groups of a choice follow each other
                module = subject.module.module() if task.widths is None else layered.quantized(task.widths)
                known[key] = _Predictor(runner, module, subject.output)
            return known[key].predictions(task.batches).tobytes()

    return predict


def _is_prediction(task: _Predicting, content: bytes) -> bool:
    """Returns true if `content` can be the classes of the samples."""
    return len(content) == 8 * sum(batch.samples for batch in task.batches)


@dataclass(frozen=True)
class _Graded:
    """A subject, and the choices of widths whose changes each batch is asked for."""

    subject: SearchSubject
    choices: tuple[Widths, ...]


def _begin_grading(graded: _Graded) -> Begun:
    """Returns a function that answers a batch and its index with the changes in the logits, as f64.

    There is one change for each choice of widths.
    """
    layered = graded.subject.layered
    changes = LogitSensitivity(layered.decided, graded.subject.output, rounded_by(layered, graded.choices))

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


class TrialsByWorkers:
    """Measures choices with workers."""

    def __init__(
        self, workers: Workers, subject: SearchSubject, accuracy: Accuracy, ranked_on: Iterable[Batch]
    ) -> None:
        self._workers, self._subject, self._accuracy = workers, subject, accuracy
        self._predicting = Job(_begin_predicting, subject, fits=_is_prediction)
        self._ranked_on = ranked_on

    @property
    def at_once(self) -> int:
        """The number of choices that can be measured together if the next choices are known."""
        return self._workers.at_once

    def float_accuracy(self) -> float:
        """Returns the accuracy of the float model."""
        (found,) = self._predictions([None])
        self._accuracy.expect(found)
        return self._accuracy.scored(found)

    def accuracies(self, choices: Sequence[Widths]) -> Iterator[float]:
        """Yields the accuracy of each choice."""
        if not self._accuracy.is_expecting:
            self._accuracy.expect(*self._predictions([None]))
        yield from map(self._accuracy.scored, self._predictions(choices))

    def _predictions(self, choices: Sequence[Widths | None]) -> list[Array]:
        owners = deque[int]()

        def tasks() -> Iterator[Any]:
            for position, widths in enumerate(choices):
                for group in _groups(self._accuracy.batches):
                    owners.append(position)
                    yield _Predicting(widths, group)

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

        graded = _Graded(self._subject, tuple(choices))
        found = self._workers.map(Job(_begin_grading, graded, fits=partial(_is_change, len(choices))), tasks())
        rows = ((np.frombuffer(content, np.float64).reshape(PASSES, -1), counts.popleft()) for content in found)
        return averaged(rows, len(choices))

    def noises(self, choices: Sequence[Widths], reference: Widths) -> Iterator[float]:
        """Returns the SQNR of each choice."""
        job = Job(_begin_ranking, _Ranked(self._subject, tuple(self._ranked_on)), fits=_is_noise)
        return map(float, self._workers.map(job, ((widths, reference) for widths in choices)))
