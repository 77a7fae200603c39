"""Validation: checks that a quantized module agrees with its float model by running both on a few samples.

If there are many calibration samples, some of them are held out for this comparison. Parts that the model concatenates
to one output are also compared separately. If an output no longer agrees (see `agreement`), the first bad layer is
found on one sample, and reported with its node in the user's model.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.elementwise.ops import BinaryOp, UnaryOp
from qmlir.interpreter.run import interpret_all
from qmlir.interpreter.samples import Data, Run, Samples
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.diagnostics import DiagnosticError, printable, text_error, warn
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import outputs_of
from qmlir.quantization.predicates import computed_operands
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.inputs import function_of
from qmlir.text.data import plain
from qmlir.text.tables import Readable, counted
from qmlir.workflows.agreement import BAD, MeasuredOutput, OutputValidation, parts_of
from qmlir.workflows.calibration_samples import HoldOut, runs_to_compare
from qmlir.workflows.comparison.compare import ValueComparison, arguments_of, compare
from qmlir.workflows.comparison.errors import FEWEST_CLASSES, MOST_CLASSES
from qmlir.workflows.comparison.names import module_names
from qmlir.workflows.comparison.subjects import ModuleSubject, real_outputs


@dataclass(frozen=True)
class ValidationOptions:
    """The bounds that a quantized module must meet."""

    data: Data | None = None
    """Samples on which to compare the models; `None` uses some of the calibration samples."""

    min_sqnr: float | None = None
    """Minimum SQNR of every output in dB; a lower SQNR is an error."""

    min_agreement: float | None = None
    """Minimum fraction of rows with the same largest element as in the float model, in [0, 1]; a lower one is an
    error."""

    def __post_init__(self) -> None:
        if self.min_agreement is not None and not 0 <= self.min_agreement <= 1:
            raise text_error(f"--min-agreement (min_agreement) must be in [0, 1], but got {self.min_agreement:g}")
        if self.min_sqnr is not None and math.isnan(self.min_sqnr):
            raise text_error("--min-sqnr (min_sqnr) must be a number of decibels, but got nan")

    @property
    def is_asked_for(self) -> bool:
        """True if a bound is given. A comparison must then be possible."""
        return self.min_sqnr is not None or self.min_agreement is not None


class References:
    """The outputs of the float module for each run, computed only once for all comparisons."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._known: dict[int, tuple[Run, dict[str, Array]]] = {}

    def of(self, runs: Sequence[Run]) -> Iterator[Mapping[str, Array]]:
        """Yields the outputs for each run, by name. Raises `DiagnosticError` if the module cannot run."""
        new = {id(run): run for run in runs if id(run) not in self._known}  # an id stays unique, as its run is kept
        signature = function_of(self.module, ENTRY)
        computed = iter(_outputs(self.module, [arguments_of(signature, run) for run in new.values()]))
        for run in runs:
            if id(run) not in self._known:
                self._known[id(run)] = run, next(computed)
            yield self._known[id(run)][1]


@dataclass(frozen=True)
class Cause:
    """The first bad value inside a degraded model. The values after it inherit its error."""

    key: str
    """The provenance of the value, or the name of an input."""

    operation: str
    """The operation that computes the value, such as `nn.matmul`."""

    op_type: str
    """The operator type in the user's model, such as `MatMul`; empty if unknown."""

    sqnr_db: float
    """The SQNR of the value, in dB."""

    nodes: tuple[str, ...] = ()
    """The nodes of the model that compute the value. For an activation function, these are all nodes back to the
    preceding contraction. Empty for an input."""

    @property
    def text(self) -> str:
        """The value with its SQNR, such as `fc1 (Gemm, nn.fully_connected), 9.4 dB`."""
        kind = f"{self.op_type}, {self.operation}" if self.op_type else self.operation
        return f"{printable(self.key)} ({printable(kind)}), {self.sqnr_db:.1f} dB"


@dataclass(frozen=True, repr=False)
class Validation(Readable):
    """The result of comparing a quantized model with its float model."""

    samples: int
    """Number of samples on which the models were compared."""

    source: str
    """The origin of the samples: held out, used for calibration, or given."""

    outputs: tuple[OutputValidation, ...] = ()
    """The error of each output."""

    faults: tuple[str, ...] = ()
    """A message for each output that no longer agrees; empty if all agree."""

    changes: tuple[str, ...] = ()
    """A message for each agreeing output with rows that change their class, with the fraction of these rows."""

    cause: Cause | None = None
    """The first bad value inside the model; `None` if all outputs agree, or if no bad value was found."""

    problem: str = ""
    """Why the models could not be compared; empty if they were."""

    @property
    def fault(self) -> str:
        """All problems in one line; empty if the quantized model agrees with the float model."""
        if self.problem:
            return f"could not compare the quantized model with the float one: {self.problem}"
        if not self.faults:
            return ""
        where = "" if self.cause is None else f"; first bad value: {self.cause.text}"
        return f"quantization degraded the model: {'; '.join(self.faults)}{where}"

    @property
    def loss(self) -> str:
        """The faults in one line, or else the class changes; empty if there are neither."""
        return "; ".join(self.faults or self.changes)

    @property
    def lowest_db(self) -> float:
        """SQNR of the worst output, in dB; infinite if no output has an SQNR."""
        ratios = [each for row in self.outputs for each in (row.sqnr_db, row.about_zero_db) if each is not None]
        return min(ratios, default=math.inf)

    @property
    def brief(self) -> str:
        """The errors of the worst output, such as `logits 33.6 dB, same class 100.0%`."""
        rows = [row for row in self.outputs if row.sqnr_db is not None] or list(self.outputs)
        worst = min(rows, key=lambda row: math.inf if row.sqnr_db is None else row.sqnr_db)
        figures = [] if worst.sqnr_db is None else [f"{worst.sqnr_db:.1f} dB"]
        return f"{printable(worst.name)} {', '.join([*figures, *worst.agreement_text])}"

    def text(self) -> str:
        """Formats the comparison.

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
        """Converts the comparison to plain values; an infinite SQNR becomes `None`.

        Returns:
            A dict that can be written as JSON.
        """
        return plain(self)


@dataclass(frozen=True)
class Validating:
    """The samples on which quantized modules are compared with the float module, and the bounds that they must meet."""

    references: References
    options: ValidationOptions
    runs: Sequence[Run]
    source: str
    """A description of the origin of the samples."""

    @staticmethod
    def of(references: References, options: ValidationOptions, hold_out: HoldOut | None) -> "Validating | None":
        """Chooses the samples: those in `options`, or else those in `hold_out`; returns `None` if there are none.

        Raises `DiagnosticError` if a bound is set and there are no samples.
        """
        if options.data is not None:
            module = references.module
            runs = list(islice(Samples(function_of(module, ENTRY), options.data), runs_to_compare(module)))
            return Validating(references, options, runs, "given to validate")
        if hold_out is not None:
            return Validating(references, options, *hold_out.compared)
        if options.is_asked_for:
            raise text_error(
                "--min-sqnr and --min-agreement require samples; pass --data (data=) or --validation (validation=)"
            )
        return None

    def compared(self, quantized: ModuleOp) -> Validation:
        """Compares `quantized` with the float module."""
        module, options = self.references.module, self.options
        signature = function_of(module, ENTRY)
        arguments = [arguments_of(signature, run) for run in self.runs]
        samples = sum(run.samples for run in self.runs)
        outputs: dict[str, list[MeasuredOutput]] = {}
        returned = terminator_of(signature.body.blocks[-1]).operands
        joined = dict(zip((port.name for port in outputs_of(signature)), returned, strict=True))
        references, results = self.references.of(self.runs), _outputs(quantized, arguments)
        for run in self.runs:
            try:
                reference, found = next(references), next(results)
            except DiagnosticError as error:
                return Validation(samples, self.source, problem=f"at sample {run.first}: {error.diagnostic.message}")
            for name, value in reference.items():
                if name in found and value.shape == found[name].shape and value.size:
                    if name not in outputs:
                        parts = list(parts_of(name, joined[name]))
                        outputs[name] = [MeasuredOutput(name, has_parts=bool(parts)), *parts]
                    for each in outputs[name]:
                        each.add(value, found[name])
        compared_ones = [each for parts in outputs.values() for each in parts if each.elements]
        if not compared_ones:
            problem = "there is no output of numbers, or none of the same shape in both"
            return Validation(samples, self.source, problem=problem)
        rows = [(each, each.validation()) for each in compared_ones]
        shown = tuple(row for _, row in rows)
        _check_measured(shown, options)
        bounds = options.min_sqnr, options.min_agreement
        faults = [(each, told) for each, row in rows if (told := each.fault(row, samples, *bounds))]
        if not faults:
            changes = tuple(told for each, _ in rows if (told := each.change(samples)))
            return Validation(samples, self.source, shown, changes=changes)
        chosen = arguments[faults[0][0].chosen(options.min_sqnr)]
        bound = BAD if options.min_sqnr is None else max(BAD, options.min_sqnr)
        told = tuple(each for _, each in faults)
        return Validation(samples, self.source, shown, told, cause=_cause(module, quantized, chosen, bound))

    def tell(self, found: Validation, help_: str = "") -> None:
        """Warns of a degraded model, with its cause and `help_`; raises `DiagnosticError` instead if a bound is set."""
        if not found.fault:
            return
        message = f"{found.fault}{help_}"
        if self.options.is_asked_for:
            raise text_error(message)
        warn(message)


def _check_measured(rows: Sequence[OutputValidation], options: ValidationOptions) -> None:
    """Raises `DiagnosticError` for a bound on a figure that no output has."""
    if options.min_sqnr is not None and all(row.sqnr_db is None for row in rows):
        raise text_error("cannot measure --min-sqnr (min_sqnr): no output is a tensor of floats; use --min-agreement")
    if options.min_agreement is not None and all(row.agreement is None for row in rows):
        raise text_error(
            "cannot measure --min-agreement (min_agreement): no output has a last axis of "
            f"{FEWEST_CLASSES} to {MOST_CLASSES} elements; use --min-sqnr"
        )


def _outputs(module: ModuleOp, inputs: Sequence[Mapping[str, Array]]) -> Iterator[dict[str, Array]]:
    """Yields the outputs for each of `inputs`, by name."""
    types = {port.name: port.type for port in outputs_of(function_of(module, ENTRY))}
    for outputs in interpret_all(module, inputs, function=ENTRY):
        found = real_outputs(outputs, types)
        yield {key.removeprefix("output:"): value for key, (value,) in found.items()}


def _cause(module: ModuleOp, quantized: ModuleOp, inputs: Mapping[str, Array], bound: float) -> Cause | None:
    """Returns the first value below `bound` on one sample.

    Returns `None` if only the differences between samples are degraded.
    """
    found = compare(ModuleSubject(module, "float"), ModuleSubject(quantized, "quantized"), [dict(inputs)])
    first: ValueComparison | None = found.first_below(bound)
    if first is None:
        return None
    owner = {key: value.owner for value, key in module_names(module).values.items()}.get(first.key)
    origins, nodes = (origins_of(owner), _nodes(owner)) if isinstance(owner, Operation) else ((), ())
    types = dict.fromkeys(each.op_type for each in origins if each.op_type)
    return Cause(first.key, first.operation, "+".join(types), first.sqnr_db, nodes)


def _nodes(op: Operation) -> tuple[str, ...]:
    """Returns the names of the nodes that compute `op`, with elementwise steps on one value back to a contraction."""
    found = [each.name for each in origins_of(op) if each.name]
    operands = computed_operands(op) if isinstance(op, UnaryOp | BinaryOp) else []
    if len(operands) == 1 and isinstance(owner := operands[0].owner, Operation):
        found += _nodes(owner)
    return tuple(dict.fromkeys(found))
