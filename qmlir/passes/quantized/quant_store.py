"""Passes that let callers pass values as stored integers, so that no casts run at the boundary of a function.

- `quant-store-states`: states, which one call returns and the next one takes.
- `quant-store-ports`: inputs and outputs of a chosen type.
"""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.ir.diagnostics import op_error
from qmlir.ir.passes import MEANING, Preservation
from qmlir.ir.signature import MAIN
from qmlir.quantization.shared_scales import StatePair, states_of
from qmlir.quantization.stored_ports import StoredPort, storage_fault, stored_ports
from qmlir.specialization.inputs import function_of


def _casts(argument: BlockArgument) -> list[QuantizeCastOp]:
    return [use.operation for use in argument.uses if isinstance(use.operation, QuantizeCastOp)]


def _stored(value: SSAValue) -> SSAValue:
    """Returns the value that is dequantized to `value`, or `value` itself."""
    return value.owner.input if isinstance(value.owner, DequantizeCastOp) else value


def _fault(state: StatePair) -> str | None:
    """Returns why a state cannot have one type at its input and its output, or `None`."""
    taken: set[Attribute] = {cast.result.type for cast in _casts(state.argument)}
    given = _stored(state.returned).type
    if (taken or {state.argument.type}) == {given}:
        return None
    found = " and ".join(sorted(str(each) for each in taken)) or str(state.argument.type)
    return f"state must have one type, but input '{state.enters}' is '{found}' and output '{state.leaves}' is '{given}'"


def _store_input(argument: BlockArgument, type_: Attribute) -> None:
    """Makes `argument` enter as integers of `type_`: readers of its cast read them, all others dequantize them."""
    casts, plain, block = _casts(argument), argument.type, argument.block
    others = [(use.operation, use.index) for use in argument.uses if use.operation not in casts]
    stored = Rewriter.replace_value_with_new_type(argument, type_)
    for cast in casts:
        cast.result.replace_all_uses_with(stored)
        Rewriter.erase_op(cast)
    if casts and others:  # readers in float
        dequantized = DequantizeCastOp(stored, plain)
        Rewriter.insert_op(dequantized, InsertPoint.at_start(block))
        for op, position in others:
            op.operands[position] = dequantized.result


def _store_output(end: ReturnOp, position: int) -> None:
    """Makes `end` return the integers from which operand `position` is dequantized."""
    returned = end.operands[position]
    end.operands[position] = _stored(returned)
    if isinstance(returned.owner, DequantizeCastOp) and returned.first_use is None:
        Rewriter.erase_op(returned.owner)


@dataclass(frozen=True)
class QuantStoreStates(ModulePass):
    """Passes the states of a function in and out as stored integers, so that no casts run between successive calls.

    `states` pairs an input with the output that is passed to it in the next call, as in `state=next_state`; a star
    matches the same text on both sides, as in `past_*=present_*`. The casts at these inputs and outputs are removed. It
    is an error if the input and the output have different types; `quant-assign-types` with the same `states` makes the
    types equal.

    Before (run with `states="h=h_next"`):

    ```mlir
    !h = !quant.uniform<i8:f32, 0.5>
    func.func @main(%h: tensor<2xf32> {nn.name = "h"}) -> (tensor<2xf32> {nn.name = "h_next"}) {
      %0 = quant.qcast %h : tensor<2xf32> to tensor<2x!h>
      %1 = nn.relu %0 : (tensor<2x!h>) -> tensor<2x!h>
      %2 = quant.dcast %1 : tensor<2x!h> to tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    !h = !quant.uniform<i8:f32, 0.5>
    func.func @main(%h: tensor<2x!h> {nn.name = "h"}) -> (tensor<2x!h> {nn.name = "h_next"}) {
      %0 = nn.relu %h : (tensor<2x!h>) -> tensor<2x!h>
      func.return %0 : tensor<2x!h>
    }
    ```
    """

    name = "quant-store-states"
    # The values stay, but the function has other inputs: no input is valid for both modules.
    preserves: ClassVar[Preservation] = MEANING

    states: tuple[str, ...] = ()
    function: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.states:
            return
        function = function_of(op, self.function)
        for state in states_of(function, self.states):
            if (fault := _fault(state)) is not None:
                raise op_error(function, fault)
            stored = _stored(state.returned)
            _store_output(state.end, state.position)
            _store_input(state.argument, stored.type)
        function.update_function_type()


def _taken(port: StoredPort) -> Attribute:
    """Returns the type in which all readers of an input take it, or its own type if they differ or read floats."""
    types = {
        use.operation.result.type if isinstance(use.operation, QuantizeCastOp) else None for use in port.value.uses
    }
    type_ = types.pop() if len(types) == 1 else None
    return port.value.type if type_ is None else type_


@dataclass(frozen=True)
class QuantStorePorts(ModulePass):
    """Passes inputs and outputs of a function in and out as stored integers, without casts at its boundary.

    `inputs_as` and `outputs_as` name the storage: `i8` for all float inputs or outputs, `image=u8` for one of them, and
    `f32` to leave one in float. The type of the argument or result then states scale and zero point. It is an error if
    a value is not quantized in that storage; `quant-assign-types` with the same options chooses it.

    Before (run with `inputs_as=i8 outputs_as=i8`):

    ```mlir
    !x = !quant.uniform<i8:f32, 0.5:3>
    func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}) {
      %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!x>
      %1 = nn.relu %0 : (tensor<2x!x>) -> tensor<2x!x>
      %2 = quant.dcast %1 : tensor<2x!x> to tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.5:3>
    func.func @main(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "y"}) {
      %0 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!x>
      func.return %0 : tensor<2x!x>
    }
    ```
    """

    name = "quant-store-ports"
    preserves: ClassVar[Preservation] = MEANING  # as for states: the function has other inputs

    inputs_as: tuple[str, ...] = ()
    outputs_as: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    """The states, to which an entry without a name does not apply."""

    function: str = MAIN

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.inputs_as and not self.outputs_as:
            return
        function = function_of(op, self.function)
        end = function.body.block.last_op
        assert isinstance(end, ReturnOp)
        states = states_of(function, self.states)
        own = {value for state in states for value in (state.argument, state.returned)}
        for port in stored_ports(function, self.inputs_as, self.outputs_as, states):
            if port.value in own:
                continue  # `quant-store-states` stores it
            is_input = port.what == "input"
            type_ = _taken(port) if is_input else _stored(end.operands[port.position]).type  # an argument may have gone
            if (found := storage_fault(port.storage, element_type(type_))) is not None:
                raise op_error(function, port.fault(found))
            if is_input and isinstance(port.value, BlockArgument):
                _store_input(port.value, type_)
            else:
                _store_output(end, port.position)
        function.update_function_type()
