"""`quant-partition`: divides the functions of a module among its targets; the host computes the rest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.scf import IfOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.dialects.target.attributes import PART, TARGETS, targets_of
from qmlir.dialects.target.description import Description
from qmlir.ir.diagnostics import emit_remark, op_error, text_error, without_remarks
from qmlir.ir.passes import count
from qmlir.passmanager.manager import run_pipeline
from qmlir.quantization.report import key_of
from qmlir.quantization.supports import why_not
from qmlir.specialization.specialize import depends_on_data
from qmlir.target import HOST, INTERPRETER, find_target, find_targets, set_targets
from qmlir.targets.partitioning.choices import Division
from qmlir.targets.partitioning.outlining import Outliner
from qmlir.targets.partitioning.phases import earliest, preferred
from qmlir.targets.partitioning.preferences import Preferences
from qmlir.targets.partitioning.problem import HOST as HOST_PLACE
from qmlir.targets.partitioning.problem import CostGraph, computing, graph_of
from qmlir.targets.partitioning.report import PartitionReport, RejectedOperation, part_report, partition_report
from qmlir.targets.parts import parts_of

# Outlining the parts of each target as functions, with a report per function.


def target_of(function: FuncOp) -> str | None:
    """Returns the target that computes `function`; `None` for a function of the host."""
    found = function.attributes.get(PART)
    return found.data if isinstance(found, StringAttr) else None


def _divisible(module: ModuleOp) -> Iterator[FuncOp]:
    """Yields the functions of the host that consist of a single block."""
    for op in list(module.ops):
        if isinstance(op, FuncOp) and target_of(op) is None and len(op.body.blocks) == 1:
            yield op


def _outline(
    module: ModuleOp, function: FuncOp, graph: CostGraph, plan: Sequence[int], targets: Mapping[int, str]
) -> list[FuncOp]:
    """Outlines the phases that `targets` names from `function`; returns the new functions in order."""
    return Outliner(module, function, function.body.block, graph.operations, plan).outline(targets)


def outline_branches(module: ModuleOp, function: FuncOp, choice: IfOp, targets: Sequence[str]) -> None:
    """Outlines each branch of an `scf.if` for the target at the same index; the `scf.if` itself stays in the caller."""
    for region, target in zip(choice.regions, targets, strict=True):
        operations = computing(region.block) if region.blocks else ()
        if operations:
            Outliner(module, function, region.block, operations, [0] * len(operations)).outline({0: target})


def is_of_caller(op: Operation, functions: Mapping[str, FuncOp]) -> bool:
    """Returns true if `op` must stay in the caller.

    That is the case for a call of a part, an `scf.if` that contains one, and a `tensor.extract` that only reads the
    condition of such an `scf.if`.
    """
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
    """Outlines the parts of `function` that devices compute.

    An operation that isn't assigned to the preferred target gets a remark with the reason.
    """
    division = Division(function, targets, preferences)
    stays: list[RejectedOperation] = []
    for op, (target, reason) in division.elsewhere().items():
        destination = "stays on the host" if target == HOST else f"goes to target '{target}'"
        emit_remark(op, f"{destination}: {reason}")
        stays.append(RejectedOperation(key_of(op), op.name, target, reason))
    targets_by_phase = {phase: division.name_of(phase) for phase in division.phases()}
    parts = _outline(module, function, division.graph, division.plan, targets_by_phase)
    reports = [part_report(part, target) for part, target in zip(parts, targets_by_phase.values(), strict=True)]
    return partition_report(function, [target.name for target in targets], reports, stays)


def partition(module: ModuleOp, targets: Sequence[Description], preferences: Preferences) -> list[PartitionReport]:
    """Divides every function of the host among `targets`, the preferred one first; returns one report per function."""
    return [partition_function(module, function, targets, preferences) for function in _divisible(module)]


def outline_host(module: ModuleOp, function: FuncOp) -> None:
    """Outlines the operations of `function` that the host computes, in as few parts as possible.

    Only constants, calls, and branches between calls remain in `function`.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}

    def costs(op: Operation) -> Mapping[int, int]:
        return {HOST_PLACE + 1 if is_of_caller(op, functions) else HOST_PLACE: 0}

    graph = graph_of(function, 2, costs, lambda _: 0)
    plan = earliest(graph.problem, preferred(graph.problem))
    phases = sorted({phase for phase in plan if graph.problem.position(phase) == HOST_PLACE})
    _outline(module, function, graph, plan, dict.fromkeys(phases, HOST))


@dataclass(frozen=True)
class QuantPartition(ModulePass):
    """Assigns each operation to the first target of the module that supports it, and outlines its parts as functions.

    The targets are those that `quant-set-target` attached to the module. The target `cpu` stands for the host, which
    computes all operations that no other target gets. A part is a private function with the attribute `target.part`;
    its arguments and results keep their names from the model. Parts never depend on each other in a cycle. Constants
    are copied to their uses. An operation that isn't assigned to the first target gets a remark with the reason.

    **Crossings** are the arguments and results of parts. The pass minimizes their cost: the bytes of each crossing plus
    `transfer_bytes` per transfer. Operations that only move or select values (movement, max pooling, casts) are
    assigned such that the fewest bytes cross. All other operations go to the first target that supports them. With an
    `intensity`, a device gets an operation only if it then performs at least `intensity` computations for each
    additional byte that crosses. Parts with fewer than `min_ops` operations stay on the host.

    Before (run with `transfer_bytes=64`):

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
      func.func @main(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "y"}) {
        %0 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "twice"}
        %1 = nn.relu %0 : tensor<2x!x> {origin = "relu1"}
        %2 = nn.sigmoid %1 : tensor<2x!x> {origin = "y"}
        func.return %2 : tensor<2x!x>
      }
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
      func.func private @main_dsp_0(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "relu1"})
          attributes {target.part = "dsp"} {
        %0 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "twice"}
        %1 = nn.relu %0 : tensor<2x!x> {origin = "relu1"}
        func.return %1 : tensor<2x!x>
      }
      func.func @main(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "y"}) {
        %0 = func.call @main_dsp_0(%x) {tensor = "relu1"} : (tensor<2x!x>) -> tensor<2x!x>
        %1 = nn.sigmoid %0 : tensor<2x!x> {origin = "y"}
        func.return %1 : tensor<2x!x>
      }
    }
    ```
    """

    name = "quant-partition"

    transfer_bytes: int = Preferences.transfer_bytes
    intensity: float = Preferences.intensity
    min_ops: int = Preferences.min_ops

    def __post_init__(self) -> None:
        self.preferences()

    def preferences(self) -> Preferences:
        """Returns the weights of the cost function. Raises `ValueError` if an option is out of range."""
        return Preferences(self.transfer_bytes, self.intensity, self.min_ops)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        targets = targets_of(op)
        if not targets:
            raise op_error(op, f"requires {TARGETS}; run quant-set-target first")
        for report in partition(op, targets, self.preferences()):
            count("parts", len(report.parts))
            count("crossings", report.crossings)
            count("bytes over borders", report.bytes)


# Partitioning before compilation: for the given targets, or for the interpreter.

PARTITION = "quant-partition"
"""The pass that assigns each operation to a target."""


def partitioned(module: ModuleOp, target: str | Sequence[str]) -> ModuleOp:
    """Returns a clone of a quantized module partitioned for `target`; the CPU computes the rest.

    A module that already has parts is not partitioned again. Raises `DiagnosticError` for an unknown target, or if the
    module was partitioned for other targets.
    """
    targets = find_targets(target)
    clone = with_islands_apart(module).clone()
    given = {name: owner for name, owner in parts_of(clone).items() if owner not in (INTERPRETER, HOST)}
    if given:
        known = {each.name for each in targets}
        for name, owner in given.items():
            if owner not in known:
                raise text_error(
                    f"the module has part '{name}' of target '{owner}', which is not one of the given targets"
                )
        return clone
    set_targets(clone, (each.description for each in targets))
    return run_pipeline(clone, PARTITION)


def with_islands_apart(module: ModuleOp) -> ModuleOp:
    """Returns `module`, or a clone in which the interpreter runs the operations that can't be compiled, as parts.

    The module may already have parts of other targets, or get them later. If a branch of an `scf.if` contains such an
    operation, both branches become parts.
    """
    target = find_target(INTERPRETER)

    def functions(module: ModuleOp) -> list[FuncOp]:
        return [op for op in module.ops if isinstance(op, FuncOp) and target_of(op) is None]

    def is_apart(function: FuncOp, op: Operation) -> bool:
        # Result sizes that follow from shapes are known when a program is compiled for fixed shapes.
        return why_not(target, op) is None and (isinstance(op, OnnxIslandOp) or depends_on_data(function, op))

    if not any(is_apart(function, op) for function in functions(module) for op in function.walk()):
        return module
    clone = module.clone()
    for function in functions(clone):
        for choice in [op for op in function.body.block.ops if isinstance(op, IfOp)]:
            apart = [any(is_apart(function, op) for op in region.walk()) for region in choice.regions]
            if any(apart):
                outline_branches(clone, function, choice, [INTERPRETER if each else HOST for each in apart])
    before = clone.attributes.pop(TARGETS, None)
    set_targets(clone, (target.description, find_target(HOST).description))
    with without_remarks():  # why the rest is elsewhere is no question
        run_pipeline(clone, PARTITION)
    del clone.attributes[TARGETS]
    clone.attributes |= {} if before is None else {TARGETS: before}
    return clone
