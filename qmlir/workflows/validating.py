"""Checks that a quantized module gives the answers of its float model: both run on a few samples, and are compared.

A calibration of many samples holds a share of them out for this. The verdict is by what differs between samples (see
`comparison.variation`), for the median sample and for the worst quarter: one spoiled sample with large outputs would
decide a ratio of sums over all of them, and a median says nothing of the worse half. The parts that a model joins to
one output are also compared one by one. If answers are lost, the first layer that loses them is found on one sample,
and named with its place in the user's model.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import accumulate, islice
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.elementwise.ops import BinaryOp, UnaryOp
from qmlir.dialects.nn.movement.ops import ConcatOp
from qmlir.interpreter.run import interpret
from qmlir.interpreter.samples import Data, Run, Samples
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, printable, text_error
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import outputs_of
from qmlir.quantization.predicates import computed_operands
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.inputs import function_of
from qmlir.text.tables import Readable, counted
from qmlir.workflows.comparison.compare import ValueComparison, arguments_of, compare
from qmlir.workflows.comparison.errors import (
    FEWEST_CLASSES,
    MOST_CLASSES,
    Ratios,
    TopOne,
    are_events,
    lost_places,
    misplaced,
    ratios_of,
    thinned,
)
from qmlir.workflows.comparison.names import module_names
from qmlir.workflows.comparison.subjects import ModuleSubject, real_outputs
from qmlir.workflows.hold_out import HoldOut, runs_to_compare

MIN_SQNR = 10.0
"""The ratio about 0, in decibels, below which answers count as lost if nobody asks for another one: the error is a
third of the signal, and a cosine about 0.95. The digits models keep all classes at 35 to 41 dB with 8 bits and at 11 to
14 dB with 4; with 2 bits, -5 to 0 dB, they keep one in five at most."""

MIN_VARIATION = 6.0
"""The same for what differs between samples: the error is half as large. It is lower because outputs of a sound model
may differ little between the samples at hand."""

MOST_PARTS = 16
"""Parts of an output that are compared one by one at most."""

MIN_AGREEMENT, OF_SAMPLES = 0.9, 8
"""The share of samples with the float model's class below which answers count as lost, likewise; asked of so many
samples at least, and of rows below `BAD`: above, classes differ that are as good as equal."""

MOST_AXES = 3
"""Axes of an output with classes at most: the last one of images and maps is a position."""

MOST_PLACES = 16
"""Places of an output that are looked at one by one at most: of more, each is a class or a feature among many."""

KEEPS = 0.98
"""The share of rows that must keep their class for nothing to be lost: one of 16 samples that changes is a loss."""

BAD = 20.0
"""The decibels below which a value inside is bad: it has an error of a tenth of the signal, where 8 bits have 30 and
more. The first one is the cause of what comes after it, which may have lost much more."""


@dataclass(frozen=True)
class ValidationOptions:
    """What quantized modules are held to."""

    data: Data | None = None
    """Samples to compare on; `None` for some of those that calibrate."""

    min_sqnr: float | None = None
    """Decibels that every output has to have: below them there is an error, and no result."""

    min_agreement: float | None = None
    """The share of rows whose largest element has to be that of the float model, `0 <= share <= 1`, likewise."""

    def __post_init__(self) -> None:
        if self.min_agreement is not None and not 0 <= self.min_agreement <= 1:
            raise text_error(f"--min-agreement (min_agreement) must be in [0, 1], but got {self.min_agreement:g}")
        if self.min_sqnr is not None and math.isnan(self.min_sqnr):
            raise text_error("--min-sqnr (min_sqnr) must be a number of decibels, but got nan")

    @property
    def is_asked_for(self) -> bool:
        """Whether a bound is given, so that a comparison has to be possible."""
        return self.min_sqnr is not None or self.min_agreement is not None


class References:
    """What the float module gives in runs, each of which is computed once, whatever is compared with it."""

    def __init__(self, module: ModuleOp, function: str = ENTRY):
        self.module = module
        self.function = function
        self._known: dict[int, tuple[Run, dict[str, Array]]] = {}

    def of(self, run: Run) -> Mapping[str, Array]:
        """The outputs by name. Raises `DiagnosticError` where the module cannot run."""
        if id(run) not in self._known:  # which stays the name of this run, as it is held
            arguments = arguments_of(function_of(self.module, self.function), run)
            self._known[id(run)] = run, _outputs(self.module, arguments, self.function)
        return self._known[id(run)][1]


@dataclass(frozen=True)
class OutputValidation:
    """The error of an output of the quantized model, or of a part that is joined to one."""

    name: str
    """Name of the output."""

    sqnr_db: float | None
    """SQNR of the median sample in dB, without the part that all samples share; `None` for an output of integers."""

    cosine: float | None
    """Cosine similarity of the median sample; `None` for an output of integers."""

    agreement: float | None
    """Fraction of rows with the same largest element, or of equal integers; `None` for neither."""

    pooled_db: float | None = None
    """SQNR of all samples together, in dB."""

    worst_db: float | None = None
    """SQNR of the worst sample, in dB."""

    about_zero_db: float | None = None
    """SQNR of the median sample in dB, with the part that all samples share."""

    is_part: bool = False
    """True for a part that the model joins to an output."""

    @property
    def text(self) -> str:
        """One line: `logits 33.6 dB (pooled 33.1, worst 29.8), cosine 0.9998, same class 100.0%`."""
        parts: list[str] = []
        if self.sqnr_db is not None:
            parts += [f"{self.sqnr_db:.1f} dB (pooled {self.pooled_db:.1f}, worst {self.worst_db:.1f})"]
            parts += [f"cosine {self.cosine:.4f}"]
        return f"{printable(self.name)} {', '.join([*parts, *self.agreement_text])}"

    @property
    def agreement_text(self) -> list[str]:
        """`["same class 100.0%"]`; empty if the output has no classes."""
        what = "equal" if self.sqnr_db is None else "same class"
        return [] if self.agreement is None else [f"{what} {100 * self.agreement:.1f}%"]


@dataclass(frozen=True)
class Cause:
    """The first bad value inside a degraded model; the values after it inherit its error."""

    key: str
    """Its provenance, or the name of an input."""

    operation: str
    """The operation that computes it, such as `nn.matmul`."""

    op_type: str
    """The operator in the model, such as `MatMul`; empty if unknown."""

    sqnr_db: float
    """Its SQNR in dB."""

    nodes: tuple[str, ...] = ()
    """The nodes of the model that compute it: for an activation, those back to the contraction before it. Empty for an
    input."""

    @property
    def text(self) -> str:
        """The value and its SQNR, such as `fc1 (Gemm, nn.fully_connected), 9.4 dB`."""
        kind = f"{self.op_type}, {self.operation}" if self.op_type else self.operation
        return f"{printable(self.key)} ({printable(kind)}), {self.sqnr_db:.1f} dB"


@dataclass(frozen=True, repr=False)
class Validation(Readable):
    """The comparison of a quantized model with its float model."""

    samples: int
    """Number of samples."""

    source: str
    """Where the samples come from: held out, used for calibration, or given."""

    outputs: tuple[OutputValidation, ...] = ()
    """The error of each output."""

    faults: tuple[str, ...] = ()
    """A message for each output that no longer agrees; empty if all agree."""

    changes: tuple[str, ...] = ()
    """Outputs that agree, but of which some rows change their class, with the fraction of rows."""

    cause: Cause | None = None
    """The first bad value inside the model; `None` if all outputs agree, or none was found."""

    problem: str = ""
    """Why the models could not be compared; empty if they were."""

    @property
    def fault(self) -> str:
        """All problems in one line; empty if the quantized model agrees with the float one."""
        if self.problem:
            return f"could not compare the quantized model with the float one: {self.problem}"
        if not self.faults:
            return ""
        where = "" if self.cause is None else f"; first bad value: {self.cause.text}"
        return f"quantization degraded the model: {'; '.join(self.faults)}{where}"

    @property
    def loss(self) -> str:
        """The faults, or else the changes of classes, in one line; empty if there are none."""
        return "; ".join(self.faults or self.changes)

    @property
    def lowest_db(self) -> float:
        """SQNR of the worst output, in dB; infinite if no output has one."""
        ratios = [each for row in self.outputs for each in (row.sqnr_db, row.about_zero_db) if each is not None]
        return min(ratios, default=math.inf)

    @property
    def brief(self) -> str:
        """The figures of the worst output, such as `logits 33.6 dB, same class 100.0%`."""
        rows = [row for row in self.outputs if row.sqnr_db is not None] or list(self.outputs)
        worst = min(rows, key=lambda row: math.inf if row.sqnr_db is None else row.sqnr_db)
        figures = [] if worst.sqnr_db is None else [f"{worst.sqnr_db:.1f} dB"]
        return f"{printable(worst.name)} {', '.join([*figures, *worst.agreement_text])}"

    def text(self) -> str:
        """Format the comparison.

        Returns:
            Problems first, then the error of each output.
        """
        if self.problem:
            return f"not compared with the float model: {self.problem}\n"
        head = f"against the float model, {counted(self.samples, 'sample')} {self.source}:"
        told = [each.text for each in self.outputs]
        lines = [f"{head} {told[0]}"] if len(told) == 1 else [head, *(f"  {each}" for each in told)]
        if self.faults:
            lines.insert(0, "DEGRADED: " + "; ".join(self.faults))
            if self.cause is not None:
                lines.append(f"first bad value: {self.cause.text}")
        return "".join(f"{line}\n" for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Convert the comparison to plain values; an infinite SQNR becomes `None`.

        Returns:
            A dict that can be written as JSON.
        """
        found = asdict(self)
        for row in (*found["outputs"], *([found["cause"]] if found["cause"] else ())):
            for name, value in row.items():
                row[name] = None if isinstance(value, float) and not math.isfinite(value) else value
        return found


@dataclass
class _Output:
    """One output, or a part of it, sample by sample."""

    name: str
    part: tuple[slice, ...] = ()
    has_parts: bool = False
    is_integer: bool = False
    axes: int = 0
    equal: int = 0
    elements: int = 0
    references: list[Array] = field(default_factory=list[Array])
    founds: list[Array] = field(default_factory=list[Array])
    cosines: list[float] = field(default_factory=list[float])
    top1: TopOne = field(default_factory=TopOne)
    misplaced: int = 0
    """The rows whose class has changed by noise."""

    def add(self, reference: Array, found: Array) -> None:
        one, other = reference[self.part], found[self.part]
        self.axes, self.is_integer = one.ndim, one.dtype.kind in "iub"
        self.elements += one.size
        if self.is_integer:
            self.equal += int((one == other).sum())
            return
        self.references.append(thinned(one))
        self.founds.append(thinned(other))
        self.cosines.append(_cosine(one, other))
        self.top1.add(one, other)
        if self.top1.is_scores and one.size and self.axes <= MOST_AXES:
            self.misplaced += misplaced(one, other, BAD)

    @cached_property
    def ratios(self) -> tuple[Ratios, Ratios]:
        """About 0 and about what the samples have in common."""
        return ratios_of(self.references, self.founds)

    def validation(self) -> OutputValidation:
        if self.is_integer:
            return OutputValidation(self.name, None, None, self.equal / self.elements if self.elements else None)
        plain, varying = self.ratios
        return OutputValidation(
            self.name,
            varying.samples[varying.median],
            sorted(self.cosines)[(len(self.cosines) - 1) // 2],
            self.top1.share,
            varying.pooled,
            varying.samples[varying.worst],
            plain.samples[plain.median],
            bool(self.part),
        )

    @property
    def clear_agreement(self) -> float | None:
        """The share of rows that are not clearly in another class; `None` for outputs without classes.

        Those are embeddings, and images and maps of more than `MOST_AXES`. Of series of 3 axes, neighbors of the
        largest element are as good as it.
        """
        if self.top1.share is None or self.top1.are_directions or self.axes > MOST_AXES:
            return None
        return 1 - self.top1.wrong / self.top1.rows if self.axes > 2 else self.top1.share

    @property
    def has_unequal(self) -> bool:
        """True if more integers differ than `MIN_AGREEMENT` allows, and one: of 16 labels two differ by chance."""
        return self.elements - self.equal > (1 - MIN_AGREEMENT) * self.elements + 1

    @property
    def has_misplaced(self) -> bool:
        """True if more rows than `MIN_AGREEMENT` allows are clearly in another class, because of noise."""
        share = self.clear_agreement
        if share is None or max(share, 1 - self.misplaced / self.top1.rows) >= MIN_AGREEMENT:
            return False
        _, varying = self.ratios
        return not are_events(self.references) or not min(varying.samples[varying.median], varying.pooled) >= BAD

    @property
    def has_lost_sample(self) -> bool:
        """True if a sample is lost, and more samples than `MIN_AGREEMENT` allows change their class.

        Feedback in a layer amplifies errors in some samples only, of which a median says nothing.
        """
        share, varying = self.clear_agreement, self.ratios[1]
        is_lost = varying.samples[varying.worst] < MIN_VARIATION and varying.pooled < BAD
        return share is not None and share < MIN_AGREEMENT and is_lost

    @property
    def lost_place(self) -> str:
        """The first row or column that has lost its variation, of an output of few, `y[:, 2]`; empty if there is none.

        Probabilities have no such columns: those of a rare class are all as good as 0.
        """
        shapes = {each.shape for each in self.references}
        if self.part or self.has_parts or len(shapes) != 1 or self.axes < 2 or len(self.references) < OF_SAMPLES:
            return ""
        (shape,) = shapes
        if len(shape) != self.axes:  # some rows of a large one
            return ""
        low, high = (getattr(np, name)([getattr(each, name)() for each in self.references]) for name in ("min", "max"))
        if (low >= 0 and high <= 1) or not (math.isfinite(low) and math.isfinite(high)):
            return ""
        axes = {2: (1,), 3: (2, 1)}.get(self.axes, (1,))  # of maps only channels: their rows are positions
        for axis in axes:
            if 1 < shape[axis] <= MOST_PLACES:
                for place in lost_places(self.references, self.founds, axis, MIN_VARIATION):
                    return f"{printable(self.name)}[{', '.join([*(':' for _ in range(axis)), str(place)])}]"
        return ""

    def chosen(self, options: ValidationOptions) -> int:
        """The run that tells where answers are lost: the median one if it has lost its own, otherwise the worst."""
        if self.is_integer:
            return 0
        _, varying = self.ratios
        is_median = not varying.samples[varying.median] >= max(BAD, options.min_sqnr or 0.0)
        return varying.median if is_median else varying.worst


def _parts(name: str, value: SSAValue) -> Iterator[_Output]:
    """The parts of an output that a model joins at its end, as outputs of their own; one that is none has none.

    Elementwise steps on the joined value, such as a final scale, leave its parts where they are.
    """
    join = value.owner
    while isinstance(join, UnaryOp | BinaryOp) and len(operands := computed_operands(join)) == 1:
        if shape_of(operands[0]) != shape_of(value):
            return
        join = operands[0].owner
    if not isinstance(join, ConcatOp) or kind_of(element_of(value)) is not Kind.FLOAT:
        return
    axis = join.axis.value.data % len(shape_of(value))
    sizes = [shape_of(each)[axis] for each in join.inputs]
    if not 1 < len(sizes) <= MOST_PARTS or DYNAMIC_INDEX in sizes:
        return
    for end, size in zip(accumulate(sizes), sizes, strict=True):
        part = (*(slice(None) for _ in range(axis)), slice(end - size, end))
        text = ", ".join([*(":" for _ in range(axis)), f"{end - size}:{end}"])
        yield _Output(f"{name}[{text}]", part)


def _cosine(reference: Array, found: Array) -> float:
    """The cosine of the angle between both as vectors; 1 for equal ones, 0 where one of them is 0 or not finite."""
    if np.array_equal(reference, found, equal_nan=True):
        return 1.0
    one, other = (each.astype(np.float64).reshape(-1) for each in (reference, found))
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
        product = float(one @ other)
    return product / sizes if 0 < sizes < math.inf and math.isfinite(product) else 0.0


@dataclass(frozen=True)
class Validating:
    """The samples on which quantized modules are compared with the float one, and the bounds that they must keep."""

    references: References
    options: ValidationOptions
    runs: Sequence[Run]
    source: str
    """The origin of the samples, for a reader."""

    @staticmethod
    def of(references: References, options: ValidationOptions, hold_out: HoldOut | None) -> "Validating | None":
        """With the samples of `options`, or else those that `hold_out` compares; `None` if there are none.

        Raises `DiagnosticError` if a bound is asked for and there are no samples.
        """
        module, function = references.module, references.function
        if options.data is not None:
            runs = list(islice(Samples(function_of(module, function), options.data), runs_to_compare(module, function)))
            return Validating(references, options, runs, "given to validate")
        if hold_out is not None:
            return Validating(references, options, *hold_out.compared)
        if options.is_asked_for:
            raise text_error(
                "--min-sqnr and --min-agreement require samples; pass --data (data=) or --validation (validation=)"
            )
        return None

    def compared(self, quantized: ModuleOp) -> Validation:
        """The comparison of `quantized` with the float module."""
        return compared(self.references, quantized, self.runs, self.source, self.options)

    def tell(self, found: Validation, help_: str = "") -> None:
        """Warn of lost answers, with the first cause and `help_`; raise `DiagnosticError` if a bound was asked for."""
        if not found.fault:
            return
        message = f"{found.fault}{help_}"
        if self.options.is_asked_for:
            raise text_error(message)
        emit(Diagnostic(Severity.WARNING, message))


def compared(
    references: References, quantized: ModuleOp, runs: Sequence[Run], source: str, options: ValidationOptions
) -> Validation:
    """How far `quantized` is from the float module in `runs`, whose `source` is told to a reader."""
    module, function = references.module, references.function
    signature = function_of(module, function)
    arguments = [arguments_of(signature, run) for run in runs]
    samples = sum(run.samples for run in runs)
    outputs: dict[str, list[_Output]] = {}
    joined = dict(zip((port.name for port in outputs_of(signature)), _returned(signature), strict=True))
    for run, inputs in zip(runs, arguments, strict=True):
        try:
            reference, found = references.of(run), _outputs(quantized, inputs, function)
        except DiagnosticError as error:
            return Validation(samples, source, problem=f"at sample {run.first}: {error.diagnostic.message}")
        for name, value in reference.items():
            if name in found and value.shape == found[name].shape and value.size:
                if name not in outputs:
                    parts = list(_parts(name, joined[name]))
                    outputs[name] = [_Output(name, has_parts=bool(parts)), *parts]
                for each in outputs[name]:
                    each.add(value, found[name])
    compared_ones = [each for parts in outputs.values() for each in parts if each.elements]
    if not compared_ones:
        return Validation(samples, source, problem="there is no output of numbers, or none of the same shape in both")
    rows = [(each, each.validation()) for each in compared_ones]
    shown = tuple(row for _, row in rows)
    _check_measured(shown, options)
    faults = [(each, told) for each, row in rows if (told := _fault(each, row, options, samples))]
    if not faults:
        changes = tuple(told for each, _ in rows if (told := _change(each, samples)))
        return Validation(samples, source, shown, changes=changes)
    chosen = arguments[faults[0][0].chosen(options)]
    bound = BAD if options.min_sqnr is None else max(BAD, options.min_sqnr)
    told = tuple(each for _, each in faults)
    return Validation(samples, source, shown, told, cause=_cause(module, quantized, chosen, bound, function))


def _returned(function: FuncOp) -> Sequence[SSAValue]:
    end = function.body.blocks[-1].last_op
    assert isinstance(end, ReturnOp)
    return end.operands


def _check_measured(rows: Sequence[OutputValidation], options: ValidationOptions) -> None:
    """Raise `DiagnosticError` for a bound on a figure that no output has."""
    if options.min_sqnr is not None and all(row.sqnr_db is None for row in rows):
        raise text_error("cannot measure --min-sqnr (min_sqnr): no output is a tensor of floats; use --min-agreement")
    if options.min_agreement is not None and all(row.agreement is None for row in rows):
        raise text_error(
            "cannot measure --min-agreement (min_agreement): no output has a last axis of "
            f"{FEWEST_CLASSES} to {MOST_CLASSES} elements; use --min-sqnr"
        )


def _fault(output: _Output, row: OutputValidation, options: ValidationOptions, samples: int) -> str:
    """What is wrong with an output, empty for a sound one."""
    name, ratio = printable(row.name), row.sqnr_db
    least = MIN_VARIATION if options.min_sqnr is None else options.min_sqnr
    if ratio is not None and not ratio >= least:
        return f"output {name}: SQNR {ratio:.1f} dB (threshold {least:g} dB)"
    if ratio is not None and row.about_zero_db is not None and options.min_sqnr is None:
        if not row.about_zero_db >= MIN_SQNR:
            return f"output {name}: SQNR about 0 {row.about_zero_db:.1f} dB (threshold {MIN_SQNR:g} dB)"
        quartile = output.ratios[1].quartile
        if samples >= OF_SAMPLES and not quartile >= least:
            return f"output {name}: SQNR {quartile:.1f} dB or less in a quarter of the samples (threshold {least:g} dB)"
        if place := output.lost_place:
            return f"output {place}: SQNR below {least:g} dB"
    agreement, share = row.agreement, options.min_agreement
    if share is None and samples >= OF_SAMPLES:
        is_lost = output.has_unequal if ratio is None else output.has_misplaced or output.has_lost_sample
        share = MIN_AGREEMENT if is_lost else None
    if share is not None and agreement is not None and agreement < share:
        rows = "samples" if output.axes <= 2 else "rows"
        what = "of its integers equal" if ratio is None else f"of the {rows} in the same class"
        return f"output {name}: {100 * agreement:.1f}% {what} (threshold {100 * share:g}%)"
    return ""


def _change(output: _Output, samples: int) -> str:
    """The rows of a sound output that change their class; empty for a share of them that is as good as none."""
    share, top1 = output.clear_agreement, output.top1
    if output.part or share is None or samples < OF_SAMPLES or not 0 < 1 - top1.wrong / top1.rows < KEEPS:
        return ""
    return f"{100 * top1.wrong / top1.rows:.1f}% of the rows of output {printable(output.name)} change their class"


def _outputs(module: ModuleOp, inputs: Mapping[str, Array], function: str) -> dict[str, Array]:
    types = {port.name: port.type for port in outputs_of(function_of(module, function))}
    found = real_outputs(interpret(module, inputs, function=function), types)
    return {key.removeprefix("output:"): value for key, (value,) in found.items()}


def _cause(
    module: ModuleOp, quantized: ModuleOp, inputs: Mapping[str, Array], bound: float, function: str
) -> Cause | None:
    """The first value below `bound` on one sample; `None` if no value is: only what differs between samples is lost."""
    sides = ModuleSubject(module, "float", function=function), ModuleSubject(quantized, "quantized", function=function)
    found = compare(*sides, [dict(inputs)])
    first: ValueComparison | None = found.first_below(bound)
    if first is None:
        return None
    named = {key: value.owner for value, key in module_names(module, function).values.items()}
    owner = named.get(first.key)
    origins = origins_of(owner) if isinstance(owner, Operation) else ()
    types = dict.fromkeys(each.op_type for each in origins if each.op_type)
    nodes = _nodes(owner) if isinstance(owner, Operation) else ()
    return Cause(first.key, first.operation, "+".join(types), first.sqnr_db, nodes)


def _nodes(op: Operation) -> tuple[str, ...]:
    """The names of nodes that compute `op`: itself, and elementwise steps on one value back to a contraction."""
    found = [each.name for each in origins_of(op) if each.name]
    operands = computed_operands(op) if isinstance(op, UnaryOp | BinaryOp) else []
    if len(operands) == 1 and isinstance(owner := operands[0].owner, Operation):
        found += _nodes(owner)
    return tuple(dict.fromkeys(found))
