"""The classes that a module predicts for data, and their labels.

`Batches` iterates over data, as often as needed, in batches as large as the model accepts. `Runner` runs modules in the
interpreter or as compiled programs, whichever is faster overall; both compute the same integers. The predicted class is
the index of the largest logit in one output.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from os import PathLike
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.archives import arrays_of, whole
from qmlir.interpreter.datasets import array_of, is_array, opened
from qmlir.interpreter.real_values import on_floats
from qmlir.interpreter.run import interpret
from qmlir.interpreter.samples import Data, Labelled, Run, Samples
from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error, unknown, warn
from qmlir.ir.signature import MAIN, inputs_of, outputs_of
from qmlir.specialization.inputs import function_of, shape_text
from qmlir.targets.cpu.compiler import compile_module
from qmlir.text.files import path_of
from qmlir.text.tables import counted
from qmlir.workflows.choices import Engine

Labels: TypeAlias = str | PathLike[str] | Array | Sequence[int]
"""The class of each sample: integers, or a file that holds them; `NAME=FILE` selects an array of an `.npz` file."""

BATCH = 64
"""Samples per run if the model's batch size is dynamic."""

# Data


@dataclass(frozen=True)
class Batch:
    """The arguments of one run.

    The last batch may be padded so that all batches have the same shape; only the first `samples` rows count.
    """

    inputs: Mapping[str, Array]
    samples: int
    rows: int
    """The number of rows in the arrays, including padding."""


def has_open_batch(samples: Samples) -> bool:
    """Returns true if the batch size of all inputs is dynamic."""
    return all(each.axis is not None and each.shape[each.axis] == DYNAMIC_INDEX for each in samples.inputs)


def together(samples: Samples, group: Sequence[Run]) -> tuple[Array, ...]:
    """Returns the arguments of the runs `group` of `samples`, concatenated into a batch."""
    columns = zip(samples.inputs, zip(*(run.arguments for run in group), strict=True), strict=True)
    return tuple(np.ascontiguousarray(np.concatenate(column, each.axis or 0)) for each, column in columns)


class Batches:
    """Batches of data for a function of `module`; each iteration passes over all data once."""

    def __init__(self, module: ModuleOp, data: Data, *, size: int = BATCH, limit: int | None = None) -> None:
        """Opens `data`; only the first `limit` samples are used, if it is given.

        Data that can be read only once, such as a generator, is kept in memory.
        """
        self._function = function_of(module, MAIN)
        self.data: Data = list(data) if isinstance(data, Iterator) else data
        """The data that is iterated, which can be shared with others."""
        self._size = size
        self._limit = limit

    def __iter__(self) -> Iterator[Batch]:
        names = [port.name for port in inputs_of(self._function)]
        left = self._limit
        for arguments, samples, rows in self._groups(Samples(self._function, self.data)):
            count = samples if left is None else min(samples, left)
            yield Batch(dict(zip(names, arguments, strict=True)), count, rows)
            if left is not None and (left := left - count) == 0:
                return

    def _groups(self, runs: Samples) -> Iterator[tuple[tuple[Array, ...], int, int]]:
        """Yields the arguments of the runs of each batch, the number of their samples, and that including padding."""
        waiting: list[Run] = []
        is_first, is_open = True, has_open_batch(runs)
        for run in runs:
            if not is_open:
                yield run.arguments, run.samples, run.samples
                continue
            waiting.append(run)
            if len(waiting) == self._size:
                yield together(runs, waiting), self._size, self._size
                waiting, is_first = [], False
        if waiting:
            count = len(waiting)
            # A new shape would be compiled again.
            filled = waiting if is_first else waiting + [waiting[-1]] * (self._size - count)
            yield together(runs, filled), count, len(filled)

    def digest(self) -> tuple[str, int]:
        """Returns a digest of all inputs, and the number of samples."""
        found, samples = hashlib.sha256(), 0
        for batch in self:
            samples += batch.samples
            for name, array in batch.inputs.items():
                found.update(f"{name} {array.dtype} {array.shape} {batch.samples}".encode())
                found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest(), samples


def read_labels(labels: Labels) -> Array:
    """Returns labels as integers, one per sample. Raises `DiagnosticError` if they are not integers."""
    found = _labels_in(str(labels)) if isinstance(labels, str | PathLike) else np.asarray(labels)
    if found.dtype.kind not in "iu" or found.ndim == 0:
        raise text_error(
            f"labels must be integers, one per sample, but got {found.dtype} of shape {shape_text(found.shape)}"
        )
    if found.ndim > 1 and found.size != len(found):
        raise text_error(f"labels must be one integer per sample, but got shape {shape_text(found.shape)}")
    if found.size and int(found.max()) > np.iinfo(np.int64).max:
        raise text_error(f"labels must fit into a signed 64-bit integer, but got {found.max()}")
    return found.reshape(-1).astype(np.int64)


def data_beside(labels: Labels | None, data: Data) -> Data:
    """Returns `data` without the array that `labels` names, if that is in the same file. Raises `DiagnosticError`."""
    if not isinstance(labels, str | PathLike) or not isinstance(data, str | PathLike):
        return data
    name, file = _name_and_file(str(labels))
    path = path_of(data)
    if not name or not path.is_file() or not path_of(file).is_file() or not path.samefile(file):
        return data
    return Labelled(path, name)


def _name_and_file(text: str) -> tuple[str, str]:
    """Splits `NAME=FILE`; without a name, the whole text is the file."""
    name, equals, file = text.partition("=")
    return (name, file) if equals else ("", text)


def _labels_in(text: str) -> Array:
    name, file = _name_and_file(text)
    arrays = arrays_of(path_of(file))
    known = ", ".join(arrays)
    if name and name not in arrays:
        raise text_error(f"'{file}' has no array '{name}'{nearest_name(name, arrays)} (available: {known})")
    if not arrays:
        raise text_error(f"cannot read labels from '{text}': the file contains no array")
    if not name and len(arrays) != 1:
        raise text_error(f"'{text}' contains several arrays ({known}); choose the labels with --labels NAME={text}")
    return whole(arrays[name or known])


def with_labels(data: Data, labels: Labels | bool | None) -> tuple[Data, Array | None]:
    """Splits `data` into samples and labels. Raises `DiagnosticError` if labels are required but missing."""
    if labels is None or labels is False:
        return data, None
    if labels is not True:
        return data_beside(labels, data), read_labels(labels)
    if isinstance(data, tuple | list) and len(data) == 2 and all(map(is_array, data)):
        return data[0], read_labels(array_of(data[1]))
    inputs: list[Any] = []
    found: list[Array] = []
    for item in opened(data).items:
        if is_array(item) or not isinstance(item, Sequence) or len(cast(Sequence[Any], item)) != 2:
            raise text_error("labels=True requires pairs (inputs, labels), but an item of the data is not a pair")
        inputs.append(item[0])
        found.append(array_of(item[1]).reshape(-1))
    if not found:
        raise text_error("labels=True requires pairs (inputs, labels), but the data contains none")
    return inputs, read_labels(np.concatenate(found))


@dataclass(frozen=True)
class LabelAccuracy:
    """The top-1 accuracy of two models on labeled samples, in [0, 1]."""

    reference: float
    """Accuracy of the float model, or of the reference."""

    candidate: float
    """Accuracy of the quantized model, or of the candidate."""

    samples: int
    """Number of samples."""

    def text(self, reference: str = "reference", candidate: str = "candidate") -> str:
        """Formats the accuracies as one line.

        Args:
            reference: Name of the reference.
            candidate: Name of the candidate.

        Returns:
            Both accuracies in percent, and the number of samples.
        """
        shares = f"{100 * self.reference:.1f}% {reference}, {100 * self.candidate:.1f}% {candidate}"
        return f"top-1 accuracy: {shares}, {counted(self.samples, 'labeled sample')}\n"


def accuracy_of(
    float_model: ModuleOp, quantized: ModuleOp, data: Data, labels: Array, *, is_limited: bool
) -> LabelAccuracy:
    """Returns the accuracies of a float and a quantized module on all of `data`.

    Raises `DiagnosticError` if the module has several outputs, or as `accuracy_by_labels` does.
    """
    name, runner, batches = scored_output(function_of(float_model, MAIN)), Runner(), Batches(float_model, data)
    theirs, ours = (
        [predicted(found[name], batch) for batch, found in runner.outputs(module, batches)]
        for module in (float_model, quantized)
    )
    return accuracy_by_labels(theirs, ours, labels, is_limited=is_limited)


def check_labels(module: ModuleOp, data: Data, labels: Array, *, is_limited: bool) -> None:
    """Raises `DiagnosticError` if the outputs of `module` for all of `data` cannot be compared with `labels`."""
    scored_output(function_of(module, MAIN))
    _check_count(labels, sum(batch.samples for batch in Batches(module, data)), is_limited=is_limited)


def _check_count(labels: Array, samples: int, *, is_limited: bool) -> None:
    if len(labels) < samples or (len(labels) > samples and not is_limited):
        raise text_error(f"expected one label per sample ({samples}), but got {len(labels)}")


def scored_output(function: FuncOp) -> str:
    """Returns the name of the output that labels apply to. Raises `DiagnosticError` if there are several."""
    ports = outputs_of(function)
    if len(ports) != 1:
        raise text_error(f"labels require a model with one output, but got {len(ports)}")
    return ports[0].name


def accuracy_by_labels(
    reference: Sequence[Array], candidate: Sequence[Array], labels: Array, *, is_limited: bool
) -> LabelAccuracy:
    """Returns the accuracies of the predicted classes of batches.

    Raises `DiagnosticError` unless there is one label per sample; with `is_limited`, there may be more labels.
    """
    theirs, ours = np.concatenate(reference), np.concatenate(candidate)
    _check_count(labels, len(ours), is_limited=is_limited)
    known = labels[: len(ours)]
    return LabelAccuracy(float((theirs == known).mean()), float((ours == known).mean()), len(ours))


# Running


_Choice = TypeVar("_Choice", bound=StrEnum)


def chosen_member(choices: type[_Choice], word: str, what: str) -> _Choice:
    """Returns the member of `choices` that `word` names.

    Raises `DiagnosticError` if there is no such member; the message calls the member a `what`.
    """
    known = [str(each) for each in choices]
    if word not in known:
        raise text_error(unknown(what, word, known))
    return choices(word)


FIRST_GUESS = 10.0
"""The compilation time in seconds that is assumed until one module has been compiled. Small networks take 1 to 8
seconds, large ones a minute. A wrong guess costs at most this time.
"""


@dataclass
class Runner:
    """Runs modules in the chosen engine, and records how long compilation takes."""

    engine: Engine = Engine.AUTO
    threads: int = 1
    clock: Callable[[], float] = time.perf_counter
    compile_seconds: float = field(default=FIRST_GUESS, init=False)
    compiled: int = field(default=0, init=False)
    """The number of modules that were compiled."""

    def outputs(self, module: ModuleOp, batches: Iterable[Batch]) -> Iterator[tuple[Batch, dict[str, Array]]]:
        """Yields each batch with the outputs of `module` for it.

        Raises `DiagnosticError` if an output cannot be computed, or if the engine is `compiled` and the module cannot
        be compiled.
        """
        program: Callable[[Mapping[str, Array]], dict[str, Array]] | None = None
        function = function_of(module, MAIN)
        interpreted = on_floats(partial(interpret, module), function)
        may_compile = self.engine is not Engine.INTERPRETER
        spent = 0.0
        for batch in batches:
            start = self.clock()
            if program is None and may_compile and (self.engine is Engine.COMPILED or spent >= self.compile_seconds):
                try:
                    program = on_floats(compile_module(module, threads=self.threads), function)
                    found = program(batch.inputs)
                    self.compile_seconds = self.clock() - start
                    self.compiled += 1
                    yield batch, found
                    continue
                except DiagnosticError as error:
                    if self.engine is Engine.COMPILED:
                        raise
                    may_compile, program = False, None
                    warn(f"continuing in the interpreter: {error.diagnostic.message}")
            found = interpreted(batch.inputs) if program is None else program(batch.inputs)
            spent += self.clock() - start
            yield batch, found


# Scores


def output_name(module: ModuleOp, name: str | None) -> str:
    """Returns `name` if it is an output, or the name of the only output if it is `None`. Raises `DiagnosticError`."""
    names = [port.name for port in outputs_of(function_of(module, MAIN))]
    if name is None:
        if len(names) != 1:
            raise text_error(
                f"the model has {len(names)} outputs ({', '.join(names)}); choose the one with the logits with "
                "--scores (output=)"
            )
        return names[0]
    if name not in names:
        raise text_error(unknown("output", name, names))
    return name


def score_rows(scores: Array) -> Array | None:
    """Reshapes logits to rows, along the last axis with more than one element (a global pool leaves axes of size 1).

    Returns `None` if there is no such axis.
    """
    while scores.ndim > 2 and scores.shape[-1] == 1:
        scores = scores[..., 0]
    return scores.reshape(-1, scores.shape[-1]) if scores.ndim and scores.shape[-1] > 1 else None


def rows_of_scores(scores: Array, batch: Batch) -> Array:
    """Returns one row of logits per row of the batch, taken along the last axis with more than one element.

    Raises `DiagnosticError` if the output does not have one row of logits per sample.
    """
    shape, rows = shape_text(scores.shape), score_rows(scores)
    if rows is None:
        raise text_error(f"top-1 accuracy requires an output with at least two logits per row, but got shape {shape}")
    if len(rows) != batch.rows:
        raise text_error(f"top-1 accuracy requires one row of logits per sample, but got shape {shape}")
    return rows


def predicted(scores: Array, batch: Batch) -> Array:
    """Returns the class of each sample: the index of its largest logit.

    Raises `DiagnosticError` in the same cases as `rows_of_scores`.
    """
    return rows_of_scores(scores, batch).argmax(axis=-1)[: batch.samples]
