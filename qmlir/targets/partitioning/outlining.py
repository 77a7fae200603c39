"""Applies a plan to the IR: outlines the operations of each device phase as a private function, and calls it.

Operations only move; they are not changed. Arguments and results of these functions keep their names from the model, in
the attribute `nn.name`; the call has the names of its results in the attribute `tensor`.
"""

from collections.abc import Mapping, Sequence
from itertools import count

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from qmlir.analysis.symbols import symbols_of, unique_name
from qmlir.dialects.target.attributes import PART
from qmlir.ir.control_flow import captured, has_uses
from qmlir.ir.provenance import origins_of, set_tensor_names, tensor_name
from qmlir.ir.signature import NAME, Port, inputs_of, set_ports
from qmlir.targets.partitioning.problem import is_constant


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
        self._terminator = block.last_op
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
        return next(name for number in count() if (name := f"{base}_{number}") not in taken)

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
        function.attributes[PART] = StringAttr(target)
        caller = self._function.parent
        assert caller is not None
        caller.insert_op_before(function, self._function)
        self._calls[call] = phase
        return function

    def _is_given(self, value: SSAValue, inside: set[Operation]) -> bool:
        return any(_ancestor(self._block, use.operation) not in inside for use in value.uses)

    def _sort(self) -> None:
        """Sorts the remaining operations and the calls of parts into a valid order; constants move to their uses.

        The remaining operations keep their order as far as possible.
        """
        block = self._block
        phases = dict(zip(self._operations, self._plan, strict=True)) | self._calls
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
