"""Making a failing graph small: the operation that is wrong alone, or else with what it is computed from.

Candidates are tried from the smallest: one operation whose operands are inputs; then two; then everything that the
value which differs depends on. The first that fails at the same stage is the reduced module.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.interpreter.interpreter import Listener
from qmlir.interpreter.run import interpret
from qmlir.ir.control_flow import captured
from qmlir.ir.signature import Port, inputs_of, set_ports
from tests.levels.stages import Failure, Stage, failure_of


class _Values(Listener):
    """Every value of a run."""

    def __init__(self) -> None:
        self.found: dict[SSAValue, Any] = {}

    def on_arguments(self, function: FuncOp, values: Sequence[Any]) -> None:
        self.found.update(zip(function.args, values, strict=True))

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        self.found.update(zip(op.results, results, strict=True))


def _operands(op: Operation) -> Iterator[SSAValue]:
    """What an operation takes, and what its regions use from around it."""
    yield from dict.fromkeys((*op.operands, *captured(op)))


def _ancestors(op: Operation, depth: int) -> set[Operation]:
    """`op`, and what it is computed from in so many steps. Scalars are no inputs: what makes one comes along."""
    found, edge = {op}, {op}
    while edge:
        before = [value for each in edge for value in _operands(each) if isinstance(value.owner, Operation)]
        edge = {value.owner for value in before if depth > 0 or not isinstance(value.type, TensorType)} - found
        found |= edge
        depth -= 1
    return found


def _cut(
    function: FuncOp, op: Operation, depth: int, values: Mapping[SSAValue, Any]
) -> tuple[ModuleOp, dict[str, Any]]:
    """A module that computes `op` from values of `depth` steps before it, and the inputs that it takes."""
    kept = _ancestors(op, depth)
    block, mapping, ports, inputs = Block(), dict[SSAValue, SSAValue](), list[Port](), dict[str, Any]()
    for each in function.body.block.ops:
        if each not in kept:
            continue
        for operand in _operands(each):
            owner = operand.owner
            if operand in mapping:
                continue
            if isinstance(owner, ConstantOp):
                copy = owner.clone()
                block.add_op(copy)
                mapping[operand] = copy.result
            else:
                name = f"x{len(ports)}"
                mapping[operand] = block.insert_arg(operand.type, len(ports))
                ports.append(Port(name, operand.type))
                inputs[name] = values[operand]
        if isinstance(each, ConstantOp) and each is not op and each.result in mapping:
            continue
        block.add_op(each.clone(mapping))
    results = [mapping[result] for result in op.results]
    block.add_op(ReturnOp(*results))
    types = FunctionType.from_lists([port.type for port in ports], [result.type for result in results])
    cut = FuncOp("main", types, Region(block))
    set_ports(cut, ports, [Port(f"y{position}", result.type) for position, result in enumerate(results)])
    return ModuleOp([cut]), inputs


def _candidates(module: ModuleOp, inputs: Mapping[str, Any]) -> Iterator[tuple[ModuleOp, dict[str, Any]]]:
    """Parts of `module` with their inputs, the smallest first."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    watcher = _Values()
    interpret(module, inputs, listeners=[watcher])
    operations = [op for op in function.body.block.ops if op.results and not isinstance(op, ConstantOp)]
    for depth in (0, 1, 2, len(operations)):
        for op in operations:
            yield _cut(function, op, depth, watcher.found)


def reduced(
    module: ModuleOp, inputs: Mapping[str, Any], stages: Sequence[Stage], failure: Failure
) -> tuple[ModuleOp, dict[str, Any], Failure]:
    """The smallest part of `module` that fails at the stage of `failure`, its inputs, and how it fails."""
    for part, values in _candidates(module, inputs):
        found = failure_of(part, values, stages)
        if found is not None and found.stage == failure.stage:
            return part, values, found
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return module, {port.name: inputs[port.name] for port in inputs_of(function)}, failure
