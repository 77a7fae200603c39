"""The explanation of a node's quantization, as data and as text."""

from collections.abc import Iterator
from dataclasses import dataclass

from qmlir.extensions.report.deciding import DEFAULT, Observation, OperationDecision, SlotDecision
from qmlir.extensions.report.layers import NodeKernel
from qmlir.extensions.report.naming import ValueInfo
from qmlir.ir.diagnostics import printable
from qmlir.passmanager.instrumentation import PassChange
from qmlir.quantization.choice import Basis
from qmlir.text.tables import Readable, counted


@dataclass(frozen=True)
class ImplementingOperation:
    """An operation of the quantized module that implements the node."""

    key: str
    operation: str
    operands: tuple[ValueInfo, ...]
    results: tuple[ValueInfo, ...]


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


def _standing(op: ImplementingOperation) -> str:
    operands = ", ".join(each.text for each in op.operands)
    return f"{op.operation} ({operands}) -> {', '.join(each.text for each in op.results)}"


def _seen(seen: Observation) -> str:
    numbers = f"{seen.count} numbers of {counted(seen.samples, 'sample')}"
    spread = f"mean {seen.mean:.4g}, standard deviation {seen.deviation:.4g}"
    return f"observed: {_interval(seen.minimum, seen.maximum)} in {numbers}, {spread}{_rulers(seen)}"


def _rulers(seen: Observation) -> str:
    if seen.lowest_sample is None or seen.highest_sample is None:
        return ""
    return f"; sample {seen.lowest_sample} has the smallest of them, sample {seen.highest_sample} the largest"


def _because(slot: SlotDecision) -> Iterator[str]:
    match slot.basis:
        case Basis.FIXED:
            yield f"the result of {slot.decided_by} is in a fixed range, whatever the input"
        case Basis.WEIGHTS:
            yield "from the weights themselves"
        case Basis.SUM:
            yield "an exact sum of products: its scale is that of the data times that of the weights, its zero point 0"
        case Basis.ADDEND:
            yield "it is added to an exact sum as integers, and has the scale of that sum"
        case Basis.GIVEN:
            yield "the model came with it"
        case Basis.SHARED:
            yield f"it has the type of what {slot.decided_by} gives"
        case _:
            yield from _ranges(slot)
    if slot.basis == Basis.SHARED:
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


def _passes(title: str, changes: tuple[PassChange, ...]) -> Iterator[str]:
    if changes:
        yield title
        width = max(len(change.pass_name) for change in changes)
        yield from (f"  {change.pass_name.ljust(width)}  {change.text}" for change in changes)


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
        yield f"  {op.key}: {_standing(op)}"
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
            yield ""
            yield from _passes(title, changes)
    if not found.operations and not found.compile_changes and not found.not_compiled:
        return
    yield ""
    yield from _kernels(found)
