"""Dividing the functions of a module among its targets: parts as functions, and a report for each function."""

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import count

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.scf import IfOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Operation

from qmlir.analysis.symbols import symbols_of
from qmlir.dialects.target.attributes import PART
from qmlir.dialects.target.description import Description
from qmlir.ir.diagnostics import emit_remark
from qmlir.quantization.report import key_of
from qmlir.target import HOST
from qmlir.targets.partitioning.choices import Division, Preferences
from qmlir.targets.partitioning.graph import CostGraph, graph_of
from qmlir.targets.partitioning.outlining import OutlinedPart, outlined, outlined_whole
from qmlir.targets.partitioning.phases import earliest, preferred
from qmlir.targets.partitioning.problem import HOST as HOST_PLACE
from qmlir.targets.partitioning.report import PartitionReport, Stay, part_report, partition_report


def target_of(function: FuncOp) -> str | None:
    """The target that computes `function`, `None` for one of the host."""
    found = function.attributes.get(PART)
    return found.data if isinstance(found, StringAttr) else None


def _divisible(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of the host, of which each operation has a place in one order."""
    for op in list(module.ops):
        if isinstance(op, FuncOp) and target_of(op) is None and len(op.body.blocks) == 1:
            yield op


def _names(module: ModuleOp, function: FuncOp, targets: Mapping[int, str]) -> dict[int, str]:
    """A name for the part of each phase: `@main_npu_0`, numbered by target."""
    taken = symbols_of(module)
    found: dict[int, str] = {}
    for phase, target in targets.items():
        found[phase] = _name(function, target, taken)
        taken.add(found[phase])
    return found


def _name(function: FuncOp, target: str, taken: Container[str]) -> str:
    base = f"{function.sym_name.data}_{target}"
    return next(name for number in count() if (name := f"{base}_{number}") not in taken)


def _outline(
    module: ModuleOp, function: FuncOp, graph: CostGraph, plan: Sequence[int], targets: Mapping[int, str]
) -> list[OutlinedPart]:
    """Take the phases that `targets` names out of `function`, each as a function of its target before it."""
    parts = outlined(function, graph, plan, _names(module, function, targets))
    for part in parts:
        _add(part, targets[part.phase], function)
    return parts


def _add(part: OutlinedPart, target: str, function: FuncOp) -> None:
    block = function.parent
    assert block is not None
    part.function.attributes[PART] = StringAttr(target)
    block.insert_op_before(part.function, function)


def outline_branches(module: ModuleOp, function: FuncOp, choice: IfOp, targets: Sequence[str]) -> None:
    """Make a part of each branch of a choice, of the target named at its place: the choice itself is the caller's."""
    for region, target in zip(choice.regions, targets, strict=True):
        name = _name(function, target, symbols_of(module))
        part = outlined_whole(function, region.block, name) if region.blocks else None
        if part is not None:
            _add(part, target, function)


def is_of_caller(op: Operation, functions: Mapping[str, FuncOp]) -> bool:
    """Whether what calls parts has `op`: a call of one, a choice between parts, or the condition of such a choice."""
    if isinstance(op, CallOp):
        callee = functions.get(op.callee.root_reference.data)
        return callee is not None and target_of(callee) is not None
    if isinstance(op, IfOp):
        return any(is_of_caller(inner, functions) for inner in op.walk() if inner is not op)
    users = [use.operation for result in op.results for use in result.uses]
    chosen = (isinstance(user, IfOp) and is_of_caller(user, functions) for user in users)
    return isinstance(op, ExtractOp) and bool(users) and all(chosen)


def partition_function(
    module: ModuleOp, function: FuncOp, targets: Sequence[Description], preferences: Preferences
) -> PartitionReport:
    """Take out of `function` what devices compute; what the preferred target has not gets a remark that says why."""
    division = Division(function, targets, preferences)
    stays: list[Stay] = []
    for op, (target, reason) in division.elsewhere().items():
        place = "stays on the host" if target == HOST else f"goes to target '{target}'"
        emit_remark(op, f"{place}: {reason}")
        stays.append(Stay(key_of(op), op.name, target, reason))
    targets_by_phase = {phase: division.name_of(phase) for phase in division.phases()}
    parts = _outline(module, function, division.graph, division.plan, targets_by_phase)
    reports = [part_report(part.function, targets_by_phase[part.phase]) for part in parts]
    return partition_report(function, [target.name for target in targets], reports, stays)


def partition(module: ModuleOp, targets: Sequence[Description], preferences: Preferences) -> list[PartitionReport]:
    """Divide every function of the host among `targets`, the preferred one first; a report for each."""
    return [partition_function(module, function, targets, preferences) for function in _divisible(module)]


def outline_host(module: ModuleOp, function: FuncOp) -> None:
    """Make parts of what the host has of `function` too, as few as can be.

    Only calls are left, choices between calls, and constants.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}

    def place(op: Operation) -> Mapping[int, int]:
        return {HOST_PLACE + 1 if is_of_caller(op, functions) else HOST_PLACE: 0}

    graph = graph_of(function, 2, place, lambda _: 0)
    plan = earliest(graph.problem, preferred(graph.problem))
    phases = sorted({phase for phase in plan if graph.problem.place(phase) == HOST_PLACE})
    _outline(module, function, graph, plan, dict.fromkeys(phases, HOST))
