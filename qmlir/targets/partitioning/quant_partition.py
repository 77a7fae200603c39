"""`quant-partition`: divides the functions of a module among its targets; the host computes the rest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.scf import IfOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.analysis.operand_accesses import is_constant
from qmlir.analysis.symbols import first_free, symbols_of, unique_name
from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.dialects.target.attributes import PART, TARGETS, targets_of
from qmlir.dialects.target.description import Description
from qmlir.ir.control_flow import captured, has_uses, terminator_of
from qmlir.ir.diagnostics import emit_remark, op_error, text_error, without_remarks
from qmlir.ir.passes import count
from qmlir.ir.provenance import origins_of, set_tensor_names, tensor_name
from qmlir.ir.signature import NAME, Port, inputs_of, set_ports
from qmlir.passmanager.manager import run_pipeline
from qmlir.quantization.report import key_of
from qmlir.quantization.supports import why_not
from qmlir.specialization.specialize import depends_on_data
from qmlir.target import HOST, INTERPRETER, find_target, find_targets, set_targets
from qmlir.targets.partitioning.choices import Division
from qmlir.targets.partitioning.phases import earliest, preferred
from qmlir.targets.partitioning.preferences import Preferences
from qmlir.targets.partitioning.problem import HOST as HOST_PLACE
from qmlir.targets.partitioning.problem import computing, graph_of
from qmlir.targets.partitioning.report import PartitionReport, RejectedOperation, part_report, partition_report
from qmlir.targets.parts import parts_of

# A plan as IR: the operations of each device phase become a private function, and a call of it.
#
# Operations only move; they are not changed. Arguments and results of these functions keep their names from the model,
# in the attribute `nn.name`; the call has the names of its results in the attribute `tensor`.


def _name(value: SSAValue, inputs: Mapping[SSAValue, str]) -> str:
    """Returns the model's name of a value, or else the origin of the operation that defines it; empty if unknown."""
    if not isinstance(value, OpResult):
        return inputs.get(value, "")
    origins = origins_of(value.op)
    return tensor_name(value) or (str(origins[-1]) if origins and len(value.op.results) == 1 else "")


def _ports(values: Sequence[SSAValue], inputs: Mapping[SSAValue, str], default: str) -> list[Port]:
    """Returns unique names for arguments or results; `default` and the index stand for a missing name."""
    found: list[Port] = []
    names = [_name(value, inputs) for value in values]
    taken = {f"{default}{position}" for position, name in enumerate(names) if not name}
    for value, wanted in zip(values, names, strict=True):
        found.append(Port(unique_name(wanted, taken, "#") if wanted else "", value.type))
    return found


def _input_names(function: FuncOp) -> dict[SSAValue, str]:
    """Returns the explicit names of the arguments of a function."""
    given = [NAME in each.data for each in function.arg_attrs or ()]
    named = zip(function.body.block.args, inputs_of(function), given, strict=False)
    return {value: port.name for value, port, is_given in named if is_given}


class Outliner:
    """Outlines phases of a block of a function; `plan` contains the phase of each operation in `operations`."""

    def __init__(
        self, module: ModuleOp, function: FuncOp, block: Block, operations: Sequence[Operation], plan: Sequence[int]
    ):
        self._module, self._function = module, function
        self._block, self._operations, self._plan = block, operations, plan
        self._inputs = _input_names(function)
        self._terminator = terminator_of(block)
        self._calls: dict[Operation, int] = {}

    def outline(self, targets: Mapping[int, str]) -> list[FuncOp]:
        """Outlines each phase in `targets`, for its target; returns the new functions, in the order of the phases."""
        parts = [self._part(phase, targets[phase]) for phase in sorted(targets)]
        if parts:
            self._sort()
        return parts

    def _new_name(self, target: str) -> str:
        """Returns an unused name for a part, such as `main_npu_0`, numbered by target."""
        base, taken = f"{self._function.sym_name.data}_{target}", symbols_of(self._module)
        return f"{base}_{first_free(lambda number: f'{base}_{number}' in taken, 0)}"

    def _part(self, phase: int, target: str) -> FuncOp:
        """Moves the operations of `phase` into a new function, which is inserted before the caller."""
        name = self._new_name(target)
        pairs = zip(self._operations, self._plan, strict=True)
        operations = [op for op, each in pairs if each == phase]
        inside = set(operations)
        made = {result for op in operations for result in op.results}
        taken = dict.fromkeys(value for op in operations for value in captured(op) if value not in made)
        constants = [value for value in taken if is_constant(value)]
        arguments = [value for value in taken if not is_constant(value)]
        results = [result for op in operations for result in op.results if self._is_given(result, inside)]
        ins, outs = _ports(arguments, self._inputs, "input"), _ports(results, self._inputs, "output")
        call = CallOp(name, arguments, [result.type for result in results])
        block = self._block
        block.insert_op_before(call, operations[0])
        body = Block(arg_types=[value.type for value in arguments])
        copies = _copies(constants, body)
        for value, argument in zip(arguments, body.args, strict=True):
            argument.name_hint = value.name_hint
            copies[value] = argument
        for old, new in zip(results, call.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_uses_with_if(new, lambda use: block.find_ancestor_op_in_block(use.operation) not in inside)
        for op in operations:
            op.detach()
            body.add_op(op)
        for old, new in copies.items():
            old.replace_uses_with_if(new, lambda use: body.find_ancestor_op_in_block(use.operation) is not None)
        body.add_op(ReturnOp(*results))
        types = ([value.type for value in arguments], [value.type for value in results])
        function = FuncOp(name, types, Region(body), visibility="private")
        set_ports(function, ins, outs)
        set_tensor_names(call, [port.name for port in outs])
        function.attributes[PART] = StringAttr(target)
        Rewriter.insert_op(function, InsertPoint.before(self._function))
        self._calls[call] = phase
        return function

    def _is_given(self, value: SSAValue, inside: set[Operation]) -> bool:
        return any(self._block.find_ancestor_op_in_block(use.operation) not in inside for use in value.uses)

    def _sort(self) -> None:
        """Sorts the remaining operations and the calls of parts into a valid order; constants move to their uses.

        The remaining operations keep their order as far as possible.
        """
        block = self._block
        phases = dict(zip(self._operations, self._plan, strict=True)) | self._calls
        left = sorted((op for op in block.ops if op in phases), key=phases.__getitem__)
        placed: set[SSAValue] = set()
        terminator = self._terminator
        for op in (*left, terminator):
            for constant in [value for value in captured(op) if is_constant(value) and value not in placed]:
                assert isinstance(constant.owner, Operation)
                if constant.owner.parent is not block:
                    continue
                placed.update(constant.owner.results)
                _move_before(constant.owner, terminator)
            if op is not terminator:
                _move_before(op, terminator)
        for op in list(block.ops):
            if op not in phases and op is not terminator and not has_uses(op):
                Rewriter.erase_op(op)


def _copies(constants: Sequence[SSAValue], body: Block) -> dict[SSAValue, SSAValue]:
    """Copies constants into the body of a part; returns the copy of each value."""
    found: dict[SSAValue, SSAValue] = {}
    for value in constants:
        if value in found:
            continue
        assert isinstance(value.owner, Operation)
        copy = value.owner.clone()
        body.add_op(copy)
        found |= dict(zip(value.owner.results, copy.results, strict=True))
    return found


def _move_before(op: Operation, following: Operation) -> None:
    op.detach()
    Rewriter.insert_op(op, InsertPoint.before(following))


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
    outliner = Outliner(module, function, function.body.block, division.graph.operations, division.plan)
    parts = outliner.outline(targets_by_phase)
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
    Outliner(module, function, function.body.block, graph.operations, plan).outline(dict.fromkeys(phases, HOST))


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
