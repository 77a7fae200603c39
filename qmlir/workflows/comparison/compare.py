"""Runs two subjects on the same samples, and computes the error of every value that both have, in the model's order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, i1
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.infer import element_type
from qmlir.interpreter.progress import bar
from qmlir.interpreter.samples import Data, Run, Samples
from qmlir.ir.diagnostics import LINES, printable, text_error
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import input_shapes
from qmlir.text.tables import Readable, aligned, counted
from qmlir.workflows.comparison.errors import ErrorSums, TopOne
from qmlir.workflows.comparison.names import INPUT, OUTPUT, Name, matched
from qmlir.workflows.comparison.subjects import Subject
from qmlir.workflows.evaluating import Batch, LabelAccuracy, accuracy_by_labels, predicted


@dataclass(frozen=True, repr=False)
class ValueComparison(Readable):
    """The error of one value of the candidate against the reference, over all samples."""

    key: str
    """The key of the value in the reference: its provenance, or the name of an input."""

    operation: str
    """The operation that computes it in the reference, such as `nn.conv`."""

    reference_type: str
    """The element type in the reference, such as `f32`."""

    type: str
    """The element type in the candidate, such as `i8`."""

    elements: int
    """Number of elements compared, in all samples."""

    samples: int
    """Number of samples."""

    sqnr_db: float
    """`10 log10(sum reference² / sum difference²)`; infinite if all elements are equal."""

    max_error: float
    """The largest absolute difference."""

    mean_error: float
    """The mean of the absolute differences."""

    mean_squared_error: float
    """The mean of the squared differences."""

    largest: float
    """The largest absolute value of the reference."""

    is_limited: bool = False
    """True if the value saturates because the next operation, a relu or a clip, limits it anyway."""

    def text(self) -> str:
        """Format the value as one line.

        Returns:
            Its figures with their names.
        """
        cells = zip(HEAD[1:], (*self.row()[1:], self.note()), strict=True)
        told = (f"{name} {cell}".strip() for name, cell in cells if cell)
        return f"{printable(self.key)}: {', '.join(told)}\n"

    def row(self) -> tuple[str, ...]:
        """Return the cells of its row in the table of `Comparison.text`, without the note.

        Returns:
            The cells.
        """
        figures = (f"{each:.4g}" for each in (self.max_error, self.mean_error, self.largest))
        return self.key, self.operation, f"{self.reference_type} {self.type}", f"{self.sqnr_db:.1f}", *figures

    def note(self, bound_db: float | None = None) -> str:
        """Return the note at the end of its row.

        Args:
            bound_db: Bound of the SQNR in dB; `None` for no bound.

        Returns:
            The note: the value saturates, or is below the bound. Empty otherwise.
        """
        if self.is_limited:
            return "saturates: limited by what follows"
        return "" if bound_db is None or self.sqnr_db >= bound_db else "below the bound"


@dataclass(frozen=True, repr=False)
class OutputComparison(ValueComparison):
    """The error of an output of the candidate against the reference."""

    top1_agreement: float | None = None
    """Fraction of samples with the same top-1 class; `None` if the output is not [N, C] of floats."""


HEAD = ("value", "operation", "types", "SQNR dB", "max error", "mean error", "largest", "")
NUMBERS = HEAD[3:-1]

_NAMED = 3
"""Number of values without a counterpart that are listed by name."""


@dataclass(frozen=True, repr=False)
class Comparison(Readable):
    """The errors of a candidate's values against those of a reference."""

    reference: str
    """Name of the reference."""

    candidate: str
    """Name of the candidate."""

    values: tuple[ValueComparison, ...]
    """The values inside the model that both sides have, and quantized inputs, in the order of the reference."""

    outputs: tuple[OutputComparison, ...] = ()
    """The outputs of both sides."""

    samples: int = 0
    """Number of samples."""

    unmatched: tuple[str, ...] = ()
    """Keys of the reference for which the candidate has no value of the same shape."""

    accuracy: LabelAccuracy | None = None
    """The top-1 accuracies of both; `None` without labels."""

    def first_below(self, bound_db: float) -> ValueComparison | None:
        """Find the first value, outputs last, whose SQNR is below a bound.

        Values that saturate because the next operation limits them anyway are skipped.

        Args:
            bound_db: The bound, in dB.

        Returns:
            The value, or `None` if there is none.
        """
        return next((each for each in self.below(bound_db)), None)

    def below(self, bound_db: float) -> Iterator[ValueComparison]:
        """Find all values and outputs whose SQNR is below a bound.

        Values that saturate because the next operation limits them anyway are skipped.

        Args:
            bound_db: The bound, in dB.

        Returns:
            The values, then the outputs, in order.
        """
        # Not `< bound`, so that NaN counts as below.
        return (each for each in (*self.values, *self.outputs) if not each.is_limited and not each.sqnr_db >= bound_db)

    def worst(self, count: int) -> tuple[ValueComparison, ...]:
        """Find the values with the lowest SQNR.

        Values that saturate because the next operation limits them anyway are skipped.

        Args:
            count: Maximum number of values.

        Returns:
            The values, lowest SQNR first.
        """
        told = (each for each in self.values if not each.is_limited)
        return tuple(sorted(told, key=lambda each: each.sqnr_db)[:count])

    def text(self, bound_db: float | None = None, values: Sequence[ValueComparison] | None = None) -> str:
        """Format the comparison as a table.

        Args:
            bound_db: Bound of the SQNR in dB: values below it are marked, and the first one is named. `None` marks
                none.
            values: The values to show. `None` shows all.

        Returns:
            A row for each value, then the outputs.
        """
        shown = self.values if values is None else values
        table = aligned([HEAD, *((*each.row(), each.note(bound_db)) for each in shown)], NUMBERS) if shown else []
        return self.framed("\n".join(table), bound_db)

    def framed(self, table: str, bound_db: float | None = None) -> str:
        """Format the comparison around a table that the caller provides.

        Args:
            table: The rows to show instead of those of `text`.
            bound_db: As for `text`.

        Returns:
            The heading, the table, and the outputs.
        """
        head = f"{self.candidate} against {self.reference}, {counted(self.samples, 'sample')}\n"
        around = printable(head, LINES), printable("".join(f"{each}\n" for each in self._results(bound_db)), LINES)
        return f"\n{table}\n\n".join(around) if table else "".join(around)

    def _is_turned(self) -> bool:
        """Whether the reference is the quantized side, and the candidate the float one."""
        pairs = {(each.reference_type[:1] in "iu", each.type[:1] in "iu") for each in self.values}
        return (True, False) in pairs and (False, True) not in pairs

    def _results(self, bound_db: float | None) -> Iterator[str]:
        if self._is_turned():
            yield "the reference is the quantized one of both: give the float model first"
        for each in self.outputs:
            agreement = "" if each.top1_agreement is None else f", top-1 agreement {100 * each.top1_agreement:.2f}%"
            yield f"output {printable(each.key)}: {each.sqnr_db:.1f} dB, max error {each.max_error:.4g}{agreement}"
        if self.accuracy is not None:
            yield self.accuracy.text().rstrip()
        if self.unmatched:
            more = f" and {len(self.unmatched) - _NAMED} more" if len(self.unmatched) > _NAMED else ""
            names = ", ".join(map(printable, self.unmatched[:_NAMED]))
            yield f"{counted(len(self.unmatched), 'value')} of {self.reference} without a counterpart: {names}{more}"
        if bound_db is not None:
            first = self.first_below(bound_db)
            is_below = "" if first is None else f"{printable(first.key)} ({first.operation}), {first.sqnr_db:.1f} dB"
            yield f"first below {bound_db:g} dB: {is_below}" if first else f"no value is below {bound_db:g} dB"


@dataclass
class _Pair:
    """A value that both subjects have: its names and its errors."""

    reference: Name
    candidate: Name
    sums: ErrorSums = field(default_factory=ErrorSums)
    top1: TopOne = field(default_factory=TopOne)
    samples: int = 0

    def add(self, reference: Sequence[Array], found: Sequence[Array], samples: int) -> None:
        steps = [
            (one, other) for one, other in zip(*_aligned(reference, found), strict=False) if one.shape == other.shape
        ]
        for one, other in steps:
            self.sums.add(one, other)
            self.top1.add(one, other)
        self.samples += samples if steps else 0

    def fields(self) -> dict[str, Any]:
        sums = self.sums
        return {
            "key": self.reference.key.removeprefix("output:") if self.is_output else self.reference.key,
            "operation": self.candidate.operation if self.reference.operation == INPUT else self.reference.operation,
            "reference_type": self.reference.type,
            "type": self.candidate.type,
            "elements": sums.elements,
            "samples": self.samples,
            "sqnr_db": sums.sqnr_db,
            "max_error": sums.max_error,
            "mean_error": sums.mean(sums.sizes),
            "mean_squared_error": sums.mean(sums.noise),
            "largest": sums.largest,
            "is_limited": self.reference.is_limited or self.candidate.is_limited,
        }

    @property
    def is_output(self) -> bool:
        return self.reference.operation == OUTPUT


def _aligned(reference: Sequence[Array], found: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
    """Returns the corresponding steps: a single step corresponds to the last one of several."""
    if len(reference) == 1:
        return reference, found[-1:]
    return (reference[-1:], found) if len(found) == 1 else (reference, found)


def _pairs(reference: Subject, candidate: Subject) -> list[_Pair]:
    theirs = {name.key: name for name in candidate.names}
    keys = matched(reference.names, candidate.names)
    pairs = (_Pair(name, theirs[keys[name.key]]) for name in reference.names if name.key in keys)
    # An input that both read unchanged is a result of neither.
    return [pair for pair in pairs if not pair.reference.operation == pair.candidate.operation == INPUT]


def _open_sizes(function: FuncOp) -> int:
    return sum(shape.count(DYNAMIC_INDEX) for shape in input_shapes(function).values())


def _signature(subjects: Sequence[Subject]) -> FuncOp:
    """Returns the signature by which samples are read: that of the subject with the fewest dynamic dimensions."""
    functions = [subject.signature for subject in subjects if subject.signature is not None]
    if not functions:
        raise text_error("cannot compare two programs; compare a program with a model")
    return min(functions, key=_open_sizes)


def arguments_of(function: FuncOp, run: Run) -> dict[str, Array]:
    """Returns the arguments of `run` by name, with the types that a caller of `function` passes."""
    ports = inputs_of(function)
    return {
        port.name: value.astype(np.bool_) if element_type(port.of_caller().type) == i1 else value
        for port, value in zip(ports, run.arguments, strict=True)
    }


def _limited(runs: Samples, limit: int | None) -> Iterator[Run]:
    left = limit
    for run in runs:
        if left is not None and left < run.samples:
            return
        yield run
        left = None if left is None else left - run.samples
        if left == 0:
            return


def compare(
    reference: Subject,
    candidate: Subject,
    data: Data,
    *,
    samples: int | None = None,
    labels: Array | None = None,
    progress: IO[str] | None = None,
) -> Comparison:
    """Returns the error of every value that both subjects have, on `data`, or on its first `samples` samples.

    `data` has a form that `qmlir.profile` accepts. Samples run in the batch sizes of the subjects, one by one if these
    are dynamic; memory does not grow with their number. With `labels`, the classes of the samples, the result also has
    the top-1 accuracies. A terminal as `progress` shows a bar. Raises `DiagnosticError` if the data does not fit, or
    the subjects have no value in common.
    """
    if samples is not None and samples < 1:
        raise text_error(f"samples must be >= 1, but got {samples}")
    function = _signature((reference, candidate))
    pairs = _pairs(reference, candidate)
    if not pairs:
        raise text_error(f"{reference.name} and {candidate.name} have no common value, not even an output")
    scores, classes = _scored(pairs) if labels is not None else None, (list[Array](), list[Array]())
    runs = Samples(function, data)
    total = runs.total if samples is None or runs.total is None else min(samples, runs.total)
    count = 0
    with bar("comparing", total, progress) as advance:
        for run in _limited(runs, samples):
            inputs = arguments_of(function, run)
            values = reference.values(inputs), candidate.values(inputs)
            _add_run(pairs, *values, run.samples)
            if scores is not None:
                batch, keys = Batch(inputs, run.samples, run.samples), (scores.reference.key, scores.candidate.key)
                for own, found, key in zip(classes, values, keys, strict=True):
                    own.append(predicted(found[key][-1], batch))
            count += run.samples
            advance(run.samples)
    if count == 0:
        raise text_error(f"samples must be at least the batch size of the model, but got {samples}")
    found = _comparison(reference, candidate, pairs, count)
    if labels is None:
        return found
    return replace(found, accuracy=accuracy_by_labels(*classes, labels, is_limited=samples is not None))


def _scored(pairs: Sequence[_Pair]) -> _Pair:
    """Returns the only output that both subjects have. Raises `DiagnosticError` if there are others."""
    outputs = [pair for pair in pairs if pair.is_output]
    if len(outputs) != 1:
        raise text_error(f"labels require models with one common output, but got {len(outputs)}")
    return outputs[0]


Values = Mapping[str, tuple[Array, ...]]


def _add_run(pairs: Sequence[_Pair], reference: Values, found: Values, samples: int) -> None:
    for pair in pairs:
        one, other = reference.get(pair.reference.key), found.get(pair.candidate.key)
        if one and other:
            pair.add(one, other, samples)


def _comparison(reference: Subject, candidate: Subject, pairs: Sequence[_Pair], samples: int) -> Comparison:
    seen = [pair for pair in pairs if pair.samples]
    known = {pair.reference.key for pair in seen}
    return Comparison(
        reference.name,
        candidate.name,
        tuple(ValueComparison(**pair.fields()) for pair in seen if not pair.is_output),
        tuple(OutputComparison(**pair.fields(), top1_agreement=pair.top1.share) for pair in seen if pair.is_output),
        samples,
        tuple(name.key for name in reference.names if name.key not in known and name.operation != INPUT),
    )
