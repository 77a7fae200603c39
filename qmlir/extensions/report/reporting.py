"""Reports on the effects of quantization: collects the content by running two models on samples, and writes the page.

The reference interpreter runs the samples one by one and accumulates statistics, so memory does not grow with their
number. Compiled programs are timed, and are evaluated on all of the data.
"""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from os import PathLike
from typing import IO, Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.requantize import computes_quantized, quantized_type
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import Granularity, StoredType, UniformQuantizedType
from qmlir.extensions.recovery.repairs import repairs_of
from qmlir.extensions.report import choices
from qmlir.extensions.report.findings import Checks, Deciders, Facts, WeightFacts
from qmlir.extensions.report.layout import GraphNode, ReportGraph, layout
from qmlir.extensions.report.model import ChannelWeights, Edge, Figure, KernelUse, Report, ReportNode, opening
from qmlir.extensions.report.naming import ParameterInfo
from qmlir.extensions.report.observing import Array, ObservedPair
from qmlir.extensions.report.render import PAGE_START, write_page
from qmlir.extensions.report.timing import interleaved
from qmlir.interpreter.progress import bar
from qmlir.interpreter.real_values import on_floats, stored_inputs
from qmlir.interpreter.samples import Data, Samples
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, text_error
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import outputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import CLEAN
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.report import coverage, element_text, key_of
from qmlir.quantization.retyping import KEEP_FLOAT
from qmlir.targets.cpu.compiler import Program, compile_module
from qmlir.targets.cpu.timing import KernelTime
from qmlir.text.files import access, note_sources, path_of, plan_output
from qmlir.text.tables import counted
from qmlir.text.writing import check_file, check_generated
from qmlir.workflows.comparison.compare import arguments_of
from qmlir.workflows.comparison.names import OUTPUT, matched, module_names
from qmlir.workflows.comparison.subjects import ModuleSubject
from qmlir.workflows.evaluating import Batch, Batches, Labels, data_beside, predicted, read_labels
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import load
from qmlir.workflows.quantized import Quantized
from qmlir.workflows.quantizing import quantize

SAMPLES = 8
"""The default number of samples for the interpreter, which takes seconds per sample for a large model."""

_TURNS, _SECONDS_A_TURN = 5, 0.15
"""The number of turns, and seconds per turn: timing both programs takes about 1.5 seconds in total."""


@dataclass(frozen=True)
class ReportOptions:
    """The options of a report."""

    title: str = "model"
    samples: int = SAMPLES
    time: bool = True
    """True to compile and time both models; otherwise the report shows no kernels."""

    threads: int = 1
    isa: str = "host"


def _constant(value: SSAValue | None) -> ConstantOp | None:
    return value.owner if value is not None and isinstance(value.owner, ConstantOp) else None


def _slot_values(op: Operation | None) -> dict[Slot, SSAValue]:
    """Returns the first operand of each slot."""
    found: dict[Slot, SSAValue] = {}
    if isinstance(op, Quantizable):
        for value, slot in op.operands_with_slots():
            if slot is not None:
                found.setdefault(slot, value)
    return found


def _stored_bytes(module: Operation) -> int:
    """Returns the bytes of constants and their scales; narrow types count as packed."""
    bits = 0
    for op in module.walk():
        if not isinstance(op, ConstantOp):
            continue
        element, count = element_type(op.result.type), int(np.prod(op.array.shape))
        bits += count * (element.bits if isinstance(element, StoredType) else 8 * op.array.itemsize)
        bits += 32 * element.scales.size if isinstance(element, UniformQuantizedType) else 0
    return -(-bits // 8)


def _operand_bytes(op: Operation) -> int:
    """Returns the bytes of the constant operands of an operation."""
    return sum(_stored_bytes(constant) for value in op.operands if (constant := _constant(value)) is not None)


class _Collector:
    """Collects the content of one report."""

    def __init__(
        self, reference: ModuleOp, quantized: ModuleOp, data: Data, options: ReportOptions, progress: IO[str] | None
    ) -> None:
        self.options = options
        self.progress = progress
        self.seconds: dict[str, float] = {}
        """The time of each step of making the report."""
        self.notes: list[str] = []
        self.modules = (reference, quantized)
        # Types are decided after folding: the folded model has the weights that were quantized.
        self.folded = run_pipeline(reference.clone(), CLEAN)
        self.subjects = ModuleSubject(self.folded, "float"), ModuleSubject(quantized, "quantized")
        theirs, ours = ([port.name for port in outputs_of(each.signature)] for each in self.subjects)
        if theirs != ours:
            named = f"{', '.join(theirs)} and {', '.join(ours)}"
            raise text_error(f"the float and the quantized model must have the same outputs, but got {named}")
        self.function: FuncOp = self.subjects[1].signature
        ports = outputs_of(self.function)
        self.scores = ports[0].name if len(ports) == 1 and _is_scores(ports[0].type) else ""
        """The output of a model with one output of logits."""
        self.graph = ReportGraph(self.function, module_names(quantized))
        pairs = matched(self.subjects[0].names, self.subjects[1].names)
        self.counterparts = {key: name for name, key in pairs.items()}
        self.data = data
        self.limited = {name.key for name in self.subjects[1].names if name.is_limited}
        self.observed = self._to_observe()
        self.seen_classes: tuple[list[Array], list[Array]] = ([], [])
        """The predicted class of each interpreted sample, for the float and the quantized model."""
        self.inputs: Mapping[str, Array] = {}
        self.samples = 0

    @contextmanager
    def _timed(self, step: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.seconds[step] = time.perf_counter() - start

    # Values

    def _to_observe(self) -> dict[str, ObservedPair]:
        found: dict[str, ObservedPair] = {}
        for node in self.graph.nodes:
            if node.key in found:
                continue
            op, type_ = node.operation, None if node.is_output else node.quantized
            axis = op.quantization_slots().result_channel_axis if isinstance(op, Quantizable) else None
            found[node.key] = ObservedPair(type_, axis, node.key in self.limited)
        return found

    def observe(self) -> None:
        """Runs both models on some samples."""
        runs = Samples(self.function, self.data)
        total = self.options.samples if runs.total is None else min(self.options.samples, runs.total)
        with self._timed("interpreter"), bar("comparing", total, self.progress) as advance:
            for run in runs:
                arguments = arguments_of(self.function, run)
                self.inputs = self.inputs or arguments
                reference, found = (subject.values(arguments) for subject in self.subjects)
                for key, observed in self.observed.items():
                    observed.add(reference.get(self.counterparts.get(key, ""), ()), found.get(key, ()))
                for values, classes in zip((reference, found), self.seen_classes, strict=True) if self.scores else ():
                    batch = Batch(arguments, run.samples, run.samples)
                    classes.append(predicted(values[f"output:{self.scores}"][-1], batch))
                self.samples += run.samples
                advance(run.samples)
                if self.samples >= self.options.samples:
                    break

    # Programs

    @property
    def stored(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The inputs of one run of each model, as it takes them."""
        reference, quantized = (stored_inputs(subject.signature, self.inputs) for subject in self.subjects)
        return reference, quantized

    def compiled(self) -> tuple[Program, Program] | None:
        """Compiles both models; returns `None` if timing is off, or a model cannot be compiled."""
        if not self.options.time:
            return None
        try:
            with self._timed("compiling"):
                made = [
                    compile_module(each, threads=self.options.threads, isa=self.options.isa, progress=self.progress)
                    for each in self.modules
                ]
                for each, inputs in zip(made, self.stored, strict=True):
                    each(inputs)  # compiles models with dynamic dimensions
            return made[0], made[1]
        except DiagnosticError as error:
            self.notes.append(f"Nothing is timed, because something cannot be compiled: {error.diagnostic.message}")
            emit(Diagnostic(Severity.REMARK, f"nothing is timed: {error.diagnostic.message}"))
            return None

    def timed(self, programs: tuple[Program, Program] | None) -> tuple[list[Figure], Sequence[KernelTime]]:
        """Returns the time of one run of both, and the times of the quantized model's kernels."""
        if programs is None:
            return [], ()
        reference, quantized = self.stored
        runs = {"reference": partial(programs[0], reference), "quantized": partial(programs[1], quantized)}
        with self._timed("timing"):
            times = interleaved(runs, _TURNS, _SECONDS_A_TURN)
            note = f"compiled, one run, median of {_TURNS} turns"
            figure = Figure("time", "s", times["quantized"].median, times["reference"].median, note)
            return [figure], programs[1].time_kernels(quantized)

    def judged(self, labels: Labels | None, programs: tuple[Program, Program] | None) -> list[Figure]:
        """Returns the accuracy with labels, or the agreement of both models.

        Evaluates on all data if there are programs, and otherwise on the interpreted samples.
        """
        ports = outputs_of(self.function)
        if labels is None and not self.scores:
            return []
        if len(ports) != 1:
            raise text_error(f"labels require a model with one output, but got {len(ports)}")
        known = None if labels is None else read_labels(labels)
        found: tuple[list[Array], list[Array]] = ([], [])
        signatures = [subject.signature for subject in self.subjects]
        calls = [on_floats(call, function) for call, function in zip(programs or (), signatures, strict=False)]
        with self._timed("accuracy"):
            for batch in () if programs is None else Batches(self.modules[0], self.data, size=1):
                for program, classes in zip(calls, found, strict=True):
                    classes.append(predicted(program(batch.inputs)[ports[0].name], batch))
        theirs, ours = map(np.concatenate, found if programs is not None else self.seen_classes)
        agreement = Figure("agreement", "%", 100 * float((theirs == ours).mean()), None, counted(len(ours), "sample"))
        if known is None:
            return [agreement]
        if len(known) != len(ours) and programs is not None:
            raise text_error(f"expected one label per sample ({len(ours)}), but got {len(known)}")
        known = known[: len(ours)]
        reference, quantized = (100 * float((each == known).mean()) for each in (theirs, ours))
        return [Figure("top-1 accuracy", "%", quantized, reference, counted(len(ours), "sample")), agreement]

    # Nodes

    def weights(self, node: GraphNode) -> WeightFacts | None:
        """Returns the weights of a contraction; `None` if they are not constant and quantized."""
        op = node.operation
        slots = _slot_values(op)
        constant, bias, data = _constant(slots.get(Slot.WEIGHT)), _constant(slots.get(Slot.BIAS)), slots.get(Slot.INPUT)
        axis = op.quantization_slots().weight_channel_axis if isinstance(op, Quantizable) else None
        element = None if constant is None else quantized_type(constant.result)
        if constant is None or axis is None or element is None:
            return None
        real = self._float_weights(node, constant.array.shape)
        added = None if bias is None or not isinstance(element_type(bias.result.type), StoredType) else bias.array
        return WeightFacts(constant.array, element, axis, real, added, None if data is None else quantized_type(data))

    def _float_weights(self, node: GraphNode, shape: tuple[int, ...]) -> Array | None:
        """Returns the weights of the same operation in the float model, or `None` if it has none of this shape."""
        op = self._float_operations.get(self.counterparts.get(node.key, ""))
        constant = _constant(_slot_values(op).get(Slot.WEIGHT))
        if op is None or node.operation is None or op.name != node.operation.name or constant is None:
            return None
        return constant.array if constant.array.shape == shape else None

    def report(self, labels: Labels | None, profile: Profile | None) -> Report:
        """Collects all parts of the report."""
        self.observe()
        found = module_names(self.folded)
        self._float_operations = {
            key: value.owner for value, key in found.values.items() if isinstance(value.owner, Operation)
        }
        programs = self.compiled()
        times, kernels = self.timed(programs)
        uses = _uses(self.graph, kernels)
        with self._timed("layout"):
            drawn = layout(len(self.graph.nodes), self.graph.edges)
        reasons = {row.key: row.reason for row in coverage(self.modules[1]).left_in_float}
        facts = [self._facts(node, reasons) for node in self.graph.nodes]
        nodes = tuple(
            replace(self._node(each, uses.get(each.node.number, ())), position=drawn.nodes[each.node.number])
            for each in facts
        )
        edges = tuple(Edge(*edge, points) for edge, points in zip(self.graph.edges, drawn.edges, strict=True))
        findings = Checks(Deciders(self.function), profile).run(facts)
        reference, quantized = (float(_stored_bytes(each)) for each in self.modules)
        sizes = Figure("weights", "bytes", quantized, reference)
        figures = (*self.judged(labels, programs), *self._outputs(), sizes, *times)
        return Report(
            self.options.title, f"qmlir {version('qmlir')}", self.samples, nodes, edges, drawn.width, drawn.height,
            figures, findings, tuple(self.notes), self.seconds, *opening(nodes),
        )  # fmt: skip

    def _facts(self, node: GraphNode, reasons: Mapping[str, str]) -> Facts:
        op = node.operation
        reason = "" if op is None else reasons.get(key_of(op), "")
        kept = op is not None and KEEP_FLOAT in op.attributes
        is_limited = node.key in self.limited
        return Facts(node, self.observed.get(node.key), self.weights(node), is_limited, reason, is_kept_in_float=kept)

    def _node(self, facts: Facts, uses: tuple[KernelUse, ...]) -> ReportNode:
        node, seen, op = facts.node, facts.observed, facts.node.operation
        element, quantized = None if node.value is None else element_type(node.value.type), node.quantized
        main = [use.seconds for use in uses if use.nodes[0] == node.number]
        op_types = () if op is None else dict.fromkeys(each.op_type for each in origins_of(op) if each.op_type)
        return ReportNode(
            node.number,
            node.key.removeprefix("output:"),
            op.name if op is not None else OUTPUT if node.is_output else "input",
            "+".join(op_types),
            node.shape,
            "" if element is None else element_text(element),
            quantized is not None,
            reason=facts.reason,
            mask=_mask(op),
            quantized=None if node.is_output or quantized is None else ParameterInfo.of(quantized),
            error=None if seen is None else seen.figures,
            is_limited=facts.is_limited,
            range=None if seen is None else seen.range,
            clipped=None if seen is None else seen.clipped,
            histogram=None if seen is None else seen.shown(),
            weights=None if facts.weights is None else _weights(facts.weights),
            repairs=() if op is None else repairs_of(op),
            multiply_adds=node.multiply_adds,
            bytes=0 if op is None else _operand_bytes(op),
            kernels=uses,
            seconds=sum(main) if main else None,
        )

    def _outputs(self) -> list[Figure]:
        """Returns the error of each output, of at most four."""
        outputs = [node for node in self.graph.nodes if node.is_output]
        found: list[Figure] = []
        for node in outputs[:4]:
            figures = self.observed[node.key].figures
            if figures is not None and figures.sqnr_db is not None:
                name = "output error" if len(outputs) == 1 else f"error of {node.key.removeprefix('output:')}"
                note = f"signal to noise, {counted(self.samples, 'sample')}"
                found.append(Figure(name, "dB", figures.sqnr_db, None, note))
        return found


def _is_scores(type_: Any) -> bool:
    tensor = ranked_tensor(type_)
    return tensor is not None and tensor.get_num_dims() == 2 and tensor.get_shape()[1] > 1


def _mask(op: Operation | None) -> str:
    """Describes the effect of a softmax mask; empty without one."""
    if not isinstance(op, SoftmaxOp) or op.mask is None:
        return ""
    if op.fill is not None:
        return f"adds {op.fill.value.data:g} to the masked logits"
    text = "what it excludes has the probability 0, and is in no range"
    return f"{text}; a row that it excludes as a whole is uniform" if op.is_uniform_if_empty else text


def _weights(facts: WeightFacts) -> ChannelWeights | None:
    """Returns the ranges of the channels; `None` for block-wise scales, or without weights."""
    if facts.type.granularity is Granularity.BLOCK or not facts.stored.size:
        return None
    if facts.real is not None:
        rows = facts.by_channel(facts.real).astype(np.float64)
    else:
        rows = facts.centered * facts.type.scales.reshape(-1, 1)
    low, high, scales = (each.tolist() for each in (rows.min(axis=1), rows.max(axis=1), facts.type.scales.reshape(-1)))
    return ChannelWeights(ParameterInfo.of(facts.type), tuple(low), tuple(high), tuple(scales))


def _uses(graph: ReportGraph, kernels: Sequence[KernelTime]) -> dict[int, tuple[KernelUse, ...]]:
    """Returns the kernel calls of each node; the first node of a call is the one with most multiply-adds."""
    by_name: dict[str, list[GraphNode]] = {}
    for node in graph.nodes:
        for origin in origins_of(node.operation) if node.operation is not None else ():
            by_name.setdefault(str(origin), []).append(node)
    found: dict[int, tuple[KernelUse, ...]] = {}
    for kernel in kernels:
        nodes = {each.number: each for name in kernel.nodes for each in _computed_by(name, by_name)}
        order = sorted(nodes.values(), key=lambda each: -each.multiply_adds)
        use = KernelUse(kernel.name, kernel.seconds, tuple(each.number for each in order))
        for each in order:
            found[each.number] = (*found.get(each.number, ()), use)
    return found


def _computed_by(name: str, by_name: Mapping[str, list[GraphNode]]) -> Sequence[GraphNode]:
    """Returns the nodes for a name in a kernel: that of a node, or of a part inside it."""
    while name not in by_name and "/" in name:
        name = name.rpartition("/")[0]
    return by_name.get(name, ())


def collect(
    reference: ModuleOp,
    quantized: ModuleOp,
    data: Data,
    *,
    labels: Labels | None = None,
    profile: Profile | None = None,
    options: ReportOptions = ReportOptions(),
    progress: IO[str] | None = None,
) -> Report:
    """Returns the report of `quantized` compared with `reference`, its float model, on `data`.

    `labels` contains the class of each sample (see `qmlir.workflows.evaluating`). Without labels, the report
    shows the agreement between both models instead of the accuracy. `profile` is the profile from which types were
    decided. Raises `DiagnosticError` if data or labels do not fit.
    """
    if options.samples < 1:
        raise text_error(f"samples must be at least 1, but got {options.samples}")
    return _Collector(reference, quantized, data, options, progress).report(labels, profile)


# Opens the models, and writes the page.

Model: TypeAlias = ModuleOp | str | PathLike[str]


def _opened(
    model: Model | Quantized,
    reference: Model | None,
    data: Data,
    shapes: Mapping[str, Sequence[int]] | None,
    progress: IO[str] | None,
) -> tuple[ModuleOp, ModuleOp, Profile | None, str]:
    """Returns the float and the quantized model of a report, the profile if there is one, and the title."""
    for each in (model, reference):
        note_sources(each)
    if isinstance(model, Quantized):
        note_sources(model.module)
        theirs = model.source if reference is None else _module(reference, shapes)
        return theirs, model.module, model.profile, "model"
    title = "model" if isinstance(model, ModuleOp) else path_of(model).name
    if not isinstance(model, ModuleOp) and QuantizedFolder.holds(model):
        folder = QuantizedFolder.open(model)
        theirs = load(folder.float_module) if reference is None else _module(reference, shapes)
        return theirs, load(folder.module), Profile.load(folder.profile), folder.stem
    module = _module(model, shapes)
    if computes_quantized(module):
        if reference is None:
            raise text_error(f"'{title}' is quantized; pass the float model with --reference (reference=)")
        return _module(reference, shapes), module, None, title
    if reference is not None:
        raise text_error(f"'{title}' has no quantized value; --reference requires a quantized model")
    made = quantize(module, data, validate=False, progress=progress)
    return module, made.module, made.profile, title


def _module(model: Model, shapes: Mapping[str, Sequence[int]] | None) -> ModuleOp:
    if isinstance(model, ModuleOp):
        return model
    path = path_of(model)
    if path.is_dir():
        raise text_error(f"'{path}' is not a folder written by 'qmlir quantize': it has no summary.json")
    return load(path, shapes=shapes)


def report(
    model: Model | Quantized,
    data: Data,
    output: str | PathLike[str] | None = None,
    *,
    reference: Model | None = None,
    labels: Labels | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    samples: int = SAMPLES,
    time: bool = True,
    threads: int = 1,
    isa: str = "host",
    title: str = "",
    progress: IO[str] | None = None,
) -> Report:
    """Write an HTML report of the effects of quantization on a model.

    The page shows the graph colored by error, histograms, scales and findings for each layer.

    Args:
        model: A folder written by `qmlir quantize`, the result of `quantize`, a quantized model with its float model as
            `reference`, or a float model, which is quantized first.
        data: Samples, in a form that `profile` accepts.
        output: The file to write. `None` writes `report.html`, and replaces only a report there.
        reference: The float model of a quantized `model`.
        labels: Class of each sample: integers, a file, or `NAME=FILE` for an array of an `.npz` file. With them, the
            page shows the accuracy; otherwise the agreement of both models.
        shapes: Shapes of inputs by name, for ONNX models with dynamic dimensions.
        samples: Number of samples for errors and histograms. Accuracy uses all of `data`.
        time: Compile and time both models. `False` leaves the times out.
        threads: Number of threads of compiled programs, at least 1.
        isa: Instruction set of the CPU, such as `avx2`; `host` is the best one of this CPU.
        title: Title of the page. Empty uses the name of the model.
        progress: Stream that shows progress: a terminal gets a bar, any other stream a line every ten seconds.

    Returns:
        The content of the page as data. Printing it shows the number of findings of each kind.

    Raises:
        DiagnosticError: A model, the data or the labels do not fit, or the file cannot be written.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data)
        >>> found = qmlir.report(quantized, data, "report.html", time=False)
        >>> [(figure.name, figure.unit) for figure in found.figures]
        [('agreement', '%'), ('output error', 'dB'), ('weights', 'bytes')]
    """
    target = path_of(choices.OUTPUT if output is None else output)
    if target.is_dir():
        raise text_error(
            f"cannot write the report to '{target}': it is a folder; pass a file, such as {target / choices.OUTPUT}"
        )
    with access():
        check_file(target)
        plan_output(target)
        if output is None:
            check_generated(target, PAGE_START)
        data = list(data) if isinstance(data, Iterator) else data_beside(labels, data)  # it is iterated more than once
        theirs, ours, profile, name = _opened(model, reference, data, shapes, progress)
        options = ReportOptions(title or name, samples, time, threads, isa)
        made = collect(theirs, ours, data, labels=labels, profile=profile, options=options, progress=progress)
        write_page(made, target)
        return made
