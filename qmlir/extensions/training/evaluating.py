"""How well a module does on data: top-1 against labels, or agreement with what another module says.

`Batches` goes over data again and again, in batches as large as the model takes. `Runner` runs modules on them in the
interpreter or compiled, whichever is done first: both give the same integers. Predictions are the places of the largest
scores in one output.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from typing import IO, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.archives import arrays_of, whole
from qmlir.interpreter.interpreter import Interpreter
from qmlir.interpreter.run import interpret
from qmlir.interpreter.samples import Data, Labelled, Run, Samples
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, nearest_name, text_error, unknown
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.inputs import shape_text
from qmlir.targets.cpu.compiler import compile_module
from qmlir.text.files import path_of

Labels: TypeAlias = str | PathLike[str] | Array | Sequence[int]
"""The class of each sample: whole numbers, or the file that holds them; `NAME=FILE` chooses an array of an `.npz`."""

BATCH = 64
"""Samples of a run where the model leaves the size of its batches open."""

# Data


@dataclass(frozen=True)
class Batch:
    """Arguments of one run. The last one is filled up, so that all have one shape: only `samples` of it count."""

    inputs: Mapping[str, Array]
    samples: int
    rows: int
    """All samples in the arrays."""


class Batches:
    """Data for a function of `module`, gone over once for each time that it is iterated."""

    def __init__(
        self, module: ModuleOp, data: Data, *, function: str = "main", size: int = BATCH, limit: int | None = None
    ) -> None:
        """`limit` takes so many samples from the beginning. What can be read only once is kept in memory."""
        self._function = Interpreter(module).function(function)
        self.data: Data = list(data) if isinstance(data, Iterator) else data
        """What is gone over, which others may go over too."""
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
        """The arguments of as many runs as go together, their samples, and these with what fills the last one up."""
        waiting: list[Run] = []
        is_first = True
        for run in runs:
            if any(each.axis is None or each.shape[each.axis] != DYNAMIC_INDEX for each in runs.inputs):
                yield run.arguments, run.samples, run.samples
                continue
            waiting.append(run)
            if len(waiting) == self._size:
                yield self._together(runs, waiting), self._size, self._size
                waiting, is_first = [], False
        if waiting:
            count = len(waiting)
            # A shape that no batch had before would be compiled anew.
            filled = waiting if is_first else waiting + [waiting[-1]] * (self._size - count)
            yield self._together(runs, filled), count, len(filled)

    @staticmethod
    def _together(runs: Samples, group: Sequence[Run]) -> tuple[Array, ...]:
        columns = zip(*(run.arguments for run in group), strict=True)
        axes = (each.axis or 0 for each in runs.inputs)
        arrays = (np.concatenate(column, axis) for column, axis in zip(columns, axes, strict=True))
        return tuple(map(np.ascontiguousarray, arrays))

    def digest(self) -> tuple[str, int]:
        """A digest of everything that is iterated, and the number of samples."""
        found, samples = hashlib.sha256(), 0
        for batch in self:
            samples += batch.samples
            for name, array in batch.inputs.items():
                found.update(f"{name} {array.dtype} {array.shape} {batch.samples}".encode())
                found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest(), samples


def read_labels(labels: Labels) -> Array:
    """Labels as an array of whole numbers, one a sample. Raises `DiagnosticError` for what is none."""
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
    """`data` as it is, without the array that `labels` name where it is the same file. Raises `DiagnosticError`."""
    if not isinstance(labels, str | PathLike) or not isinstance(data, str | PathLike):
        return data
    name, file = _name_and_file(str(labels))
    path = path_of(data)
    if not name or not path.is_file() or not path_of(file).is_file() or not path.samefile(file):
        return data
    return Labelled(path, name)


def _name_and_file(text: str) -> tuple[str, str]:
    """The parts of `NAME=FILE`; without a name the whole is the file."""
    name, equals, file = text.partition("=")
    return (name, file) if equals else ("", text)


def _labels_in(text: str) -> Array:
    name, file = _name_and_file(text)
    arrays = arrays_of(path_of(file))
    if name:
        if name not in arrays:
            raise text_error(
                f"'{file}' has no array '{name}'{nearest_name(name, arrays)} (available: {', '.join(arrays)})"
            )
        return whole(arrays[name])
    if not arrays:
        raise text_error(f"cannot read labels from '{text}': the file contains no array")
    if len(arrays) != 1:
        raise text_error(
            f"'{text}' contains several arrays ({', '.join(arrays)}); choose the labels with --labels NAME={text}"
        )
    return whole(next(iter(arrays.values())))


# Running


class Engine(StrEnum):
    """What runs modules."""

    AUTO = "auto"
    """The interpreter, until it has taken as long as compiling would; then what was compiled."""

    INTERPRETER = "interpreter"
    COMPILED = "compiled"


_Choice = TypeVar("_Choice", bound=StrEnum)


def chosen_member(choices: type[_Choice], word: str, what: str) -> _Choice:
    """The member of `choices`, each a `what`, that `word` names. Raises `DiagnosticError`."""
    known = [str(each) for each in choices]
    if word not in known:
        raise text_error(unknown(what, word, known))
    return choices(word)


FIRST_GUESS = 10.0
"""Seconds that compiling is thought to take before anything was compiled: small networks take 1 to 8 here, large ones
a minute. A wrong guess costs at most its own time."""


@dataclass
class Runner:
    """Runs modules, and learns what compiling costs on the way."""

    engine: Engine = Engine.AUTO
    threads: int = 1
    progress: IO[str] | None = None
    clock: Callable[[], float] = time.perf_counter
    compile_seconds: float = field(default=FIRST_GUESS, init=False)
    compiled: int = field(default=0, init=False)
    """How many modules were compiled."""

    def outputs(self, module: ModuleOp, batches: Iterable[Batch]) -> Iterator[tuple[Batch, dict[str, Array]]]:
        """What `module` gives for each batch.

        Raises `DiagnosticError` for what cannot be computed, or with the engine `compiled` not be compiled.
        """
        program: Callable[[Mapping[str, Array]], dict[str, Array]] | None = None
        may_compile = self.engine is not Engine.INTERPRETER
        spent = 0.0
        for batch in batches:
            start = self.clock()
            if program is None and may_compile and (self.engine is Engine.COMPILED or spent >= self.compile_seconds):
                try:
                    program = compile_module(module, threads=self.threads, progress=self.progress)
                    found = program(batch.inputs)
                    self.compile_seconds = self.clock() - start
                    self.compiled += 1
                    yield batch, found
                    continue
                except DiagnosticError as error:
                    if self.engine is Engine.COMPILED:
                        raise
                    may_compile, program = False, None
                    emit(Diagnostic(Severity.WARNING, f"continuing in the interpreter: {error.diagnostic.message}"))
            found = interpret(module, batch.inputs) if program is None else program(batch.inputs)
            spent += self.clock() - start
            yield batch, found


# Scores


def output_name(module: ModuleOp, name: str | None, function: str = "main") -> str:
    """The output that `name` names; the only one without a name. Raises `DiagnosticError`."""
    names = [port.name for port in outputs_of(Interpreter(module).function(function))]
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


def rows_of_scores(scores: Array, batch: Batch) -> Array:
    """A row of scores for each row of the batch: those along the last axis of more than one element.

    Raises `DiagnosticError` where the output has no row of scores for each sample.
    """
    shape = shape_text(scores.shape)
    while scores.ndim > 2 and scores.shape[-1] == 1:  # as a global pool leaves them
        scores = scores[..., 0]
    if scores.ndim == 0 or scores.shape[-1] < 2:
        raise text_error(f"top-1 accuracy requires an output with at least two logits per row, but got shape {shape}")
    rows = scores.reshape(-1, scores.shape[-1])
    if len(rows) != batch.rows:
        raise text_error(f"top-1 accuracy requires one row of logits per sample, but got shape {shape}")
    return rows


def predicted(scores: Array, batch: Batch) -> Array:
    """The class of each sample: the place of its largest score. Raises `DiagnosticError` as `rows_of_scores`."""
    return rows_of_scores(scores, batch).argmax(axis=-1)[: batch.samples]


@dataclass
class Accuracy:
    """The fraction of samples whose predicted class is right, `0 <= accuracy <= 1`.

    Without labels the right class is the one that `reference` says: agreement with the float model, no accuracy.
    """

    batches: Batches
    labels: Array | None
    reference: ModuleOp
    output: str
    runner: Runner
    _expected: Array | None = field(default=None, init=False)

    @property
    def metric(self) -> str:
        """What is measured, for a reader."""
        return "top-1" if self.labels is not None else "agreement with the float model"

    def predictions(self, module: ModuleOp, advance: Callable[[int], object] = lambda samples: None) -> Array:
        """The class that `module` puts each sample into."""
        found: list[Array] = []
        for batch, outputs in self.runner.outputs(module, self.batches):
            found.append(predicted(outputs[self.output], batch))
            advance(batch.samples)
        return np.concatenate(found)

    def of(self, module: ModuleOp, advance: Callable[[int], object] = lambda samples: None) -> float:
        """The accuracy of `module`. Raises `DiagnosticError` where there are not as many labels as samples."""
        if self._expected is None:
            self._expected = self.predictions(self.reference) if self.labels is None else self.labels
        return self.scored(self.predictions(module, advance))

    @property
    def is_expecting(self) -> bool:
        """Whether the right classes are known."""
        return self.labels is not None or self._expected is not None

    def expect(self, found: Array) -> None:
        """Take the classes that the float model says as the right ones, where there are no labels."""
        self._expected = found if self.labels is None else self.labels

    def scored(self, found: Array) -> float:
        """The accuracy of predictions, of each sample in order. Raises `DiagnosticError` as `of` does."""
        expected = self.labels if self._expected is None else self._expected
        assert expected is not None
        if len(found) != len(expected):
            raise text_error(f"expected one label per sample ({len(found)}), but got {len(expected)}")
        return float((found == expected).mean())
