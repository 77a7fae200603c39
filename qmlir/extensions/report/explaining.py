"""Explains why a node is quantized as it is, by repeating the quantization and recording the decisions.

The quantize pipeline runs again on the float module, with the same profile and rules. The code that decides types
records its reasons, and an instrumentation records the passes that change the node. The compile pipeline then runs up
to the stage that names kernels, to show which kernels compute the node. No samples are run, and no code is generated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute

from qmlir.dialects.kernel.attributes import TARGET, TargetAttr
from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.extensions.report.deciding import DEFAULT, DecisionReader, Observation, OperationDecision, SlotDecision
from qmlir.extensions.report.naming import NamedNode, ValueInfo, find_node, value_infos
from qmlir.ir.diagnostics import DiagnosticError, printable, text_error, without_remarks
from qmlir.ir.provenance import origins_of
from qmlir.passmanager.instrumentation import Instrumentation, PassChange, ProvenanceChanges
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import Pipeline
from qmlir.pipelines import COMPILE, quantize_pipeline
from qmlir.quantization.choice import Basis
from qmlir.quantization.profiles.keys import functions_of, is_constant
from qmlir.quantization.profiles.profile import Profile, model_digest
from qmlir.quantization.report import CASTS, key_of
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.specialize import specialize
from qmlir.text.tables import Readable, counted
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.loading import load
from qmlir.workflows.quantized import Quantized

# The explanation, as data and as text.


@dataclass(frozen=True)
class ImplementingOperation:
    """An operation of the quantized module that implements the node."""

    key: str
    operation: str
    operands: tuple[ValueInfo, ...]
    results: tuple[ValueInfo, ...]


@dataclass(frozen=True)
class NodeKernel:
    """A kernel: a function that computes a node or a part of it."""

    name: str
    """The name in emitted code and timings, such as `conv3x3s1_56x56x64_i8`."""

    operations: tuple[str, ...]
    """The operations that it contains, such as `kernel.packed_conv` or `linalg.generic`."""

    schedule: Mapping[str, str | int | bool] | None
    """The schedule of a contraction: `variant`, `rows`, `vectors`, `lanes`, `k_unroll`, `threads`, `packed`."""

    calls: int
    """Number of calls for this node."""

    nodes: tuple[str, ...]
    """The nodes that these calls implement; a kernel computes all nodes that were fused into it."""


@dataclass(frozen=True, repr=False)
class Explanation(Readable):
    """The decisions about a node, the passes that changed it, and its kernels."""

    node: str
    """The requested name."""

    keys: tuple[str, ...]
    """The provenance keys that the name stands for."""

    op_types: tuple[str, ...]
    """The operators of the node in the model, such as `Conv`."""

    operations: tuple[ImplementingOperation, ...]
    """The operations of the quantized module that implement the node."""

    decisions: tuple[OperationDecision, ...]
    """The decisions, for each operation of the lowered model that implements the node or consumes its value."""

    quantize_changes: tuple[PassChange, ...]
    """The passes of the quantize pipeline that changed the node, in order."""

    compile_changes: tuple[PassChange, ...]
    """The passes of the compile pipeline that change the node, up to the stage that names kernels."""

    isa: str
    """The instruction set of the kernels."""

    kernels: tuple[NodeKernel, ...]
    """The kernels that run the node."""

    not_compiled: str = ""
    """The reason why the kernels are unknown: dynamic dimensions, or an operation that cannot be compiled. Otherwise
    empty.
    """

    is_reproduced: bool = True
    """False if repeating the quantization yields another module, because the module was changed after it was
    quantized.
    """

    def text(self) -> str:
        """Format the explanation.

        Returns:
            The node, the reason for each of its types, and what became of it.
        """
        return "".join(f"{printable(line)}\n" for line in _lines(self))


_NAMED = 4
"""The maximum number of values of a group that are listed by name."""


def _listed(names: tuple[str, ...], most: int = _NAMED) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _interval(low: float, high: float) -> str:
    return f"{low:.6g} to {high:.6g}"


def _seen(seen: Observation) -> str:
    numbers = f"{seen.count} numbers of {counted(seen.samples, 'sample')}"
    spread = f"mean {seen.mean:.4g}, standard deviation {seen.deviation:.4g}"
    text = f"observed: {_interval(seen.minimum, seen.maximum)} in {numbers}, {spread}"
    if seen.lowest_sample is None or seen.highest_sample is None:
        return text
    return f"{text}; sample {seen.lowest_sample} has the smallest of them, sample {seen.highest_sample} the largest"


_REASONS: Mapping[str, str] = {
    Basis.FIXED: "the result of {by} is in a fixed range, whatever the input",
    Basis.WEIGHTS: "from the weights themselves",
    Basis.SUM: "an exact sum of products: its scale is that of the data times that of the weights, its zero point 0",
    Basis.ADDEND: "it is added to an exact sum as integers, and has the scale of that sum",
    Basis.RULE: "a rule gives its parameters",
    Basis.GIVEN: "the model came with it",
    Basis.SHARED: "it has the type of what {by} gives",
}


def _because(slot: SlotDecision) -> Iterator[str]:
    if slot.basis in _REASONS:
        yield _REASONS[slot.basis].format(by=slot.decided_by)
    if slot.basis not in _REASONS or slot.basis == Basis.SHARED:
        yield from _ranges(slot)


def _ranges(slot: SlotDecision) -> Iterator[str]:
    calibrator = next((each.value for each in slot.settings if each.name == "calibrator"), "min_max")
    for each in slot.ranges[:_NAMED]:
        given = _interval(each.low, each.high)
        was = _interval(each.minimum, each.maximum)
        what = given if given == was else f"{given} of {was}"
        yield f"{calibrator if each.is_recorded else 'min_max'} takes {what} for {each.name}"
    if len(slot.ranges) > _NAMED:
        yield f"and the ranges of {len(slot.ranges) - _NAMED} more values"
    if slot.headroom != 1:
        yield f"{slot.headroom:g} times that, so that sums do not saturate"


def _slot(slot: SlotDecision, told: set[str]) -> Iterator[str]:
    if slot.value in told:
        yield f"  {slot.slot} '{slot.value}': {slot.type.text}, as above"
        return
    told.add(slot.value)
    yield f"  {slot.slot} '{slot.value}': {slot.type.text}"
    if slot.observation is not None:
        yield f"    {_seen(slot.observation)}"
    for line in _because(slot):
        yield f"    {line}"
    if slot.shared_with:
        yield f"    one type with {_listed(slot.shared_with)}: values that are only moved or limited keep it"
    if slot.settings:
        said = [each for each in slot.settings if each.source != DEFAULT]
        defaults = [each for each in slot.settings if each.source == DEFAULT]
        yield f"    decided at slot '{slot.decided_slot}' of {slot.decided_by}"
        for each in said:
            yield f"      {each.name} {each.value}: by {each.source}"
        if defaults:
            yield f"      by default: {', '.join(f'{each.name} {each.value}' for each in defaults)}"


def _decision(decision: OperationDecision, told: set[str]) -> Iterator[str]:
    yield f"{decision.key} ({decision.operation})"
    if not decision.is_quantized:
        by = f" (by {decision.rule})" if decision.rule else ""
        cause, *action = decision.reason.partition("; help: ")
        yield f"  not quantized: {cause}{by}{''.join(action)}"
        yield from (f"  {each.key}, {_seen(each)}" for each in decision.observations)
    for slot in decision.slots:
        yield from _slot(slot, told)
    yield from (f"  note: it {remark}" for remark in decision.remarks)


def _kernel(kernel: NodeKernel) -> Iterator[str]:
    times = f", called {kernel.calls} times" if kernel.calls > 1 else ""
    yield f"  @{kernel.name}: {', '.join(kernel.operations)}{times}, for {_listed(kernel.nodes)}"
    if kernel.schedule is not None:
        found = kernel.schedule
        threads = ", divided among threads" if found["threads"] else ""
        packed = ", weights packed" if found["packed"] else ""
        yield (
            f"    variant {found['variant']}: tiles of {found['rows']} rows by {found['vectors']} x {found['lanes']} "
            f"channels, {found['k_unroll']} terms a step{packed}{threads}"
        )


def _kernels(found: Explanation) -> Iterator[str]:
    if found.not_compiled:
        yield f"which kernel runs it cannot be told: {found.not_compiled}"
    elif found.kernels:
        yield f"run by, on {found.isa}"
        for kernel in found.kernels:
            yield from _kernel(kernel)
    else:
        yield "no kernel is its own: it is a part of others, or nothing is left to be done"


def _lines(found: Explanation) -> Iterator[str]:
    types = f", {' and '.join(found.op_types)} in the model" if found.op_types else ""
    yield f"{found.node}{types}"
    for op in found.operations:
        operands, results = (", ".join(each.text for each in values) for values in (op.operands, op.results))
        yield f"  {op.key}: {op.operation} ({operands}) -> {results}"
    if not found.is_reproduced:
        yield "  The module was changed: its types are not those that the float model, profile and recipe give."
    told: set[str] = set()
    for decision in found.decisions:
        yield ""
        yield from _decision(decision, told)
    if not found.decisions:
        yield "  Nothing was decided about it: it computes nothing on floats."
    for title, changes in (
        ("passes that changed it when it was quantized", found.quantize_changes),
        ("passes that change it when it is compiled", found.compile_changes),
    ):
        if changes:
            yield from ("", title)
            width = max(len(change.pass_name) for change in changes)
            yield from (f"  {change.pass_name.ljust(width)}  {change.text}" for change in changes)
    if not found.operations and not found.compile_changes and not found.not_compiled:
        return
    yield ""
    yield from _kernels(found)


# The kernels that run a node: the functions outlined from it, each with its schedule.
#
# The module is at the scheduled level. No code is generated, because kernels get their names before they are lowered to
# loops.


def _schedule(op: EpilogueOp) -> dict[str, str | int | bool] | None:
    is_packed = isinstance(op, PackedOp)
    attribute = op.loops if is_packed else op.schedule
    if attribute is None:
        return None
    found = {name: getattr(attribute, name) for name in ("variant", "rows", "vectors", "lanes", "k_unroll")}
    return {**found, "threads": bool(attribute.threads), "packed": is_packed}


def kernels_of(module: ModuleOp, node: NamedNode) -> tuple[NodeKernel, ...]:
    """Returns the kernels that `module` calls for `node`, in the order of their first calls."""
    functions = {function.sym_name.data: function for function in functions_of(module)}
    calls: dict[str, list[CallOp]] = {}
    for op in module.walk():
        if isinstance(op, CallOp) and node.is_of(op) and op.callee.root_reference.data in functions:
            calls.setdefault(op.callee.root_reference.data, []).append(op)
    found: list[NodeKernel] = []
    for name, sites in calls.items():
        block = functions[name].body.blocks[0]
        inside = [op for op in block.ops if op.regions or isinstance(op, EpilogueOp)]  # no constants, no terminator
        schedules = (_schedule(op) for op in inside if isinstance(op, EpilogueOp))
        nodes = dict.fromkeys(str(origin) for site in sites for origin in origins_of(site))
        operations, schedule = dict.fromkeys(op.name for op in inside), next(filter(None, schedules), None)
        found.append(NodeKernel(name, tuple(operations), schedule, len(sites), tuple(nodes)))
    return tuple(found)


# The decisions, made again.

_TO_KERNELS = ("lower", "fuse", "schedule", "bufferize")
"""The stages after which every kernel is a function with a name and a schedule."""


def _run(module: ModuleOp, passes: Pipeline, instrumentations: Sequence[Instrumentation], **given: Any) -> None:
    with without_remarks():  # the original run emitted them
        run_pipeline(module, passes, instrumentations, **given)


def _standing(module: ModuleOp, node: NamedNode) -> tuple[ImplementingOperation, ...]:
    found: dict[ImplementingOperation, None] = {}
    for op in module.walk():
        if node.is_of(op) and op.results and not isinstance(op, CASTS) and not is_constant(op):
            operands, results = value_infos(op.operands), value_infos(op.results)
            found[ImplementingOperation(key_of(op), op.name, operands, results)] = None
    return tuple(found)


def _whole(module: ModuleOp, node: NamedNode) -> NamedNode:
    """Returns the nodes that `node`, possibly a part of one, belongs to."""
    origins = (origin for op in module.walk() for origin in origins_of(op))
    return replace(node, origins=frozenset(origin.name for origin in origins if node.has(origin)))


def _types(module: ModuleOp, node: NamedNode) -> list[tuple[str, list[Attribute]]]:
    """Returns the operations of the node with their types, for comparisons."""
    return [(op.name, [value.type for value in (*op.operands, *op.results)]) for op in module.walk() if node.is_of(op)]


def _changes(changes: ProvenanceChanges, node: NamedNode) -> tuple[PassChange, ...]:
    return tuple(change for key in sorted(node.origins) for change in changes.of(key))


def _op_types(modules: Sequence[ModuleOp], node: NamedNode) -> tuple[str, ...]:
    names = {key.partition("/")[0] for key in node.origins} | node.origins
    origins = (origin for module in modules for op in module.walk() for origin in origins_of(op))
    return tuple(dict.fromkeys(each.op_type for each in origins if each.op_type and each.name in names))


def explain_node(
    node: str,
    module: ModuleOp,
    profile: Profile,
    *,
    quantized: ModuleOp | None = None,
    isa: str = "host",
    threads: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
    **settings: Unpack[QuantizeSettings],
) -> Explanation:
    """Explains the type decisions about `node` of a float `module`.

    `node` is the name of a node, a provenance key (`fc1/matmul`), or the name of a tensor, an input or a weight.
    `profile` and `settings` are those that `qmlir.quantize` used. `quantized` is the resulting module if it is known;
    otherwise the module is quantized again. `shapes` fixes dynamic dimensions of inputs by name, since kernels require
    static shapes; `isa` and `threads` select the kernels.

    Raises `DiagnosticError`, with similar names, if the model does not contain `node`, and if the profile or the recipe
    does not fit the model. If the kernels cannot be determined, the explanation states the reason.
    """
    pipeline = quantize_pipeline(settings, module)
    changes = ProvenanceChanges()
    made = module.clone()
    _run(made, pipeline.passes("target", "lower"), [changes])
    if model_digest(made).structure != profile.model.structure:  # an effort unrolls long recurrent layers
        unrolled, of_unrolled = module.clone(), ProvenanceChanges()
        _run(unrolled, pipeline.passes("target", "lower", unrolls=True), [of_unrolled])
        if model_digest(unrolled).structure == profile.model.structure:
            made, changes = unrolled, of_unrolled
    found = find_node(node, module, made)
    op_types = _op_types((module, made), found)
    whole = _whole(made, found)
    reader = DecisionReader(made, found, profile)
    rest = [stage.name for stage in pipeline.stages if stage.name not in ("target", "lower")]
    _run(made, pipeline.passes(*rest), [changes], taken=profile, watch=reader)
    given = made if quantized is None else quantized
    standing = found if any(map(found.is_of, given.walk())) else whole  # an operation may implement several nodes
    explanation = Explanation(
        node, tuple(sorted(found.origins | found.values)), op_types, _standing(given, standing), tuple(reader.found),
        _changes(changes, found), compile_changes=(), isa=isa, kernels=(),
        is_reproduced=quantized is None or _types(quantized, standing) == _types(made, standing),
    )  # fmt: skip
    compiled = ProvenanceChanges()
    try:
        scheduled = specialize(given, shapes)
        _run(scheduled, COMPILE.passes(*_TO_KERNELS, isa=isa, threads=threads), [compiled])
    except DiagnosticError as error:
        return replace(explanation, not_compiled=error.diagnostic.message)
    target = scheduled.attributes.get(TARGET)
    target_isa = target.isa if isinstance(target, TargetAttr) else ""
    kernels = kernels_of(scheduled, standing)
    return replace(explanation, compile_changes=_changes(compiled, found), isa=target_isa, kernels=kernels)


# Explanations of nodes of a quantized model or its folder, which contain everything needed to repeat the decisions.


def explain(
    model: Quantized | str | PathLike[str],
    node: str,
    *,
    isa: str = "host",
    threads: int = 1,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Explanation:
    """Explain why a node of a quantized model has its types, or stays in float.

    Args:
        model: The result of `quantize`, a folder written by `qmlir quantize` or `Quantized.save`, or the `.q.mlir` in
            it.
        node: Name of a node, a provenance key (`fc1/matmul`), or the name of a tensor, an input or a weight.
        isa: Instruction set of the CPU, such as `avx2`; `host` is the best one of this CPU.
        threads: Number of threads that kernels are chosen for, at least 1.
        shapes: Shapes of inputs by name, to show the kernels of a model with dynamic dimensions.

    Returns:
        The decisions about the node, the passes that changed it, and its kernels. Printing it shows them.

    Raises:
        DiagnosticError: `model` does not record the decisions, or has no such node; the message suggests similar names.

    Example:
        >>> model = "docs/examples/digits.onnxtxt"
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize(model, data)
        >>> explanation = qmlir.explain(quantized, "fc1")
        >>> [decision.key for decision in explanation.decisions]
        ['fc1/matmul', 'fc1/bias_add']
    """
    kernels: dict[str, Any] = {"isa": isa, "threads": threads, "shapes": shapes}
    if isinstance(model, Quantized):
        return explain_node(node, model.source, model.profile, quantized=model.module, **kernels, **model.settings)
    if not isinstance(model, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise text_error(
            f"explain requires the result of quantize or its folder, but got {type(model).__name__}, which does not "
            "record the decisions"
        )
    found = QuantizedFolder.open(model)
    beside = found.settings_beside_recipe()
    settings: QuantizeSettings = {**beside, "granularity": "", "recipe": found.recipe}  # the recipe has all settings
    source, profile = load(found.float_module), Profile.load(found.profile)
    return explain_node(node, source, profile, quantized=load(found.module), **kernels, **settings)
