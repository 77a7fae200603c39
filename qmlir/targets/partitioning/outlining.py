"""Applies a plan to the IR: outlines the operations of each device phase as a private function, and calls it.

Operations only move; they are not changed. Arguments and results of these functions keep their names from the model, in
the attribute `nn.name`; the call has the names of its results in the attribute `tensor`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from qmlir.analysis.symbols import unique_name
from qmlir.ir.control_flow import captured, has_uses
from qmlir.ir.provenance import origins_of, set_tensor_names, tensor_name
from qmlir.ir.signature import NAME, Port, inputs_of, set_ports
from qmlir.targets.partitioning.problem import CostGraph, computing, is_constant


@dataclass(frozen=True)
class OutlinedPart:
    """A function that contains the operations of one phase, and the call of this function."""

    phase: int
    function: FuncOp
    call: CallOp


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

    def __init__(self, function: FuncOp, block: Block, operations: Sequence[Operation], plan: Sequence[int]):
        self._block, self._operations, self._plan = block, operations, plan
        self._inputs = _input_names(function)
        self._terminator = block.last_op

    def part(self, phase: int, name: str) -> OutlinedPart:
        """Moves the operations of `phase` into a new function `name`, which the caller must add to the module."""
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
            old.replace_uses_with_if(new, lambda use: _ancestor(block, use.operation) not in inside)
        for op in operations:
            op.detach()
            body.add_op(op)
        for old, new in copies.items():
            old.replace_uses_with_if(new, lambda use: _ancestor(body, use.operation) is not None)
        body.add_op(ReturnOp(*results))
        types = ([value.type for value in arguments], [value.type for value in results])
        function = FuncOp(name, types, Region(body), visibility="private")
        set_ports(function, ins, outs)
        set_tensor_names(call, [port.name for port in outs])
        return OutlinedPart(phase, function, call)

    def _is_given(self, value: SSAValue, inside: set[Operation]) -> bool:
        return any(_ancestor(self._block, use.operation) not in inside for use in value.uses)

    def sort(self, parts: Sequence[OutlinedPart]) -> None:
        """Sorts the remaining operations and the calls of `parts` into a valid order; constants move to their uses.

        The remaining operations keep their order as far as possible.
        """
        block = self._block
        phases = dict(zip(self._operations, self._plan, strict=True)) | {part.call: part.phase for part in parts}
        left = sorted((op for op in block.ops if op in phases), key=phases.__getitem__)
        placed: set[SSAValue] = set()
        terminator = self._terminator
        assert terminator is not None
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
                op.detach()
                op.erase()


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


def _ancestor(block: Block, op: Operation) -> Operation | None:
    return block.find_ancestor_op_in_block(op)


def _move_before(op: Operation, following: Operation) -> None:
    block = following.parent
    assert block is not None
    op.detach()
    block.insert_op_before(op, following)


def outlined(function: FuncOp, graph: CostGraph, plan: Sequence[int], names: Mapping[int, str]) -> list[OutlinedPart]:
    """Outlines each phase in `names` from `function`; returns the parts in order.

    The caller must add the functions of the parts to the module.
    """
    outliner = Outliner(function, function.body.block, graph.operations, plan)
    parts = [outliner.part(phase, names[phase]) for phase in sorted(names)]
    if parts:
        outliner.sort(parts)
    return parts


def outlined_whole(function: FuncOp, block: Block, name: str) -> OutlinedPart | None:
    """Outlines all operations of a block of `function`; returns `None` if the block computes nothing.

    The caller must add the function of the part to the module.
    """
    operations = computing(block)
    if not operations:
        return None
    outliner = Outliner(function, block, operations, [0] * len(operations))
    part = outliner.part(0, name)
    outliner.sort([part])
    return part
