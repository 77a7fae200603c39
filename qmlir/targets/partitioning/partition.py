"""Dividing the functions of a module among its targets: parts as functions, and a report for each function."""

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from qmlir.analysis.symbols import symbols_of
from qmlir.dialects.target.attributes import PART
from qmlir.dialects.target.description import Description
from qmlir.ir.diagnostics import emit_remark
from qmlir.quantization.report import key_of
from qmlir.target import HOST
from qmlir.targets.partitioning.choices import Division, Preferences
from qmlir.targets.partitioning.graph import CostGraph, graph_of
from qmlir.targets.partitioning.outlining import OutlinedPart, outlined
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
        base, number = f"{function.sym_name.data}_{target}", 0
        while f"{base}_{number}" in taken:
            number += 1
        found[phase] = f"{base}_{number}"
        taken.add(found[phase])
    return found


def _outline(
    module: ModuleOp, function: FuncOp, graph: CostGraph, plan: Sequence[int], targets: Mapping[int, str]
) -> list[OutlinedPart]:
    """Take the phases that `targets` names out of `function`, each as a function of its target before it."""
    parts = outlined(function, graph, plan, _names(module, function, targets))
    block = function.parent
    assert block is not None
    for part in parts:
        part.function.attributes[PART] = StringAttr(targets[part.phase])
        block.insert_op_before(part.function, function)
    return parts


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
    """Make parts of what the host has of `function` too, as few as can be: only calls are left, and constants."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}

    def place(op: Operation) -> Mapping[int, int]:
        callee = functions.get(op.callee.root_reference.data) if isinstance(op, CallOp) else None
        return {HOST_PLACE if callee is None or target_of(callee) is None else HOST_PLACE + 1: 0}

    graph = graph_of(function, 2, place, lambda _: 0)
    plan = earliest(graph.problem, preferred(graph.problem))
    phases = sorted({phase for phase in plan if graph.problem.place(phase) == HOST_PLACE})
    _outline(module, function, graph, plan, dict.fromkeys(phases, HOST))
