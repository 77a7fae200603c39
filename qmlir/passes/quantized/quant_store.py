"""`quant-store-constants` and `quant-store-states`: store constants, and states that callers carry, as integers."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.ir.diagnostics import op_error
from qmlir.ir.passes import MEANING, Preservation
from qmlir.quantization.casts import QuantizeConstant, rewrite
from qmlir.quantization.retyping import REPAIR, TRAINABLE, UNROUNDED
from qmlir.quantization.shared_scales import StatePair, states_of
from qmlir.specialization.inputs import function_of


@dataclass(frozen=True)
class QuantStoreConstants(ModulePass):
    """Quantizes the constants that `quant-assign-types{float_constants}` kept in float for training or accuracy
    recovery.

    Before:

    ```mlir
    func.func @main() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.constant dense<[1.0, -2.0]> : tensor<2xf32> {nn.trainable, origin = "w"}
      %1 = quant.qcast %0 {origin = "w"} : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5>>
      func.return %1 : tensor<2x!quant.uniform<i8:f32, 0.5>>
    }
    ```

    After:

    ```mlir
    func.func @main() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.constant dense<[2, -4]> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32, 0.5>> {origin = "w"}
      func.return %0 : tensor<2x!quant.uniform<i8:f32, 0.5>>
    }
    ```
    """

    name = "quant-store-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for constant in op.walk():
            if isinstance(constant, ConstantOp):
                for mark in (TRAINABLE, REPAIR, UNROUNDED):
                    constant.attributes.pop(mark, None)
        rewrite(op, (QuantizeConstant(),), ctx)


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


def _store(state: StatePair) -> None:
    stored, returned = _stored(state.returned), state.returned.owner
    state.end.operands[state.position] = stored
    if isinstance(returned, DequantizeCastOp) and returned.result.first_use is None:
        Rewriter.erase_op(returned)
    casts, plain, block = _casts(state.argument), state.argument.type, state.argument.block
    others = [(use.operation, use.index) for use in state.argument.uses if use.operation not in casts]
    argument = Rewriter.replace_value_with_new_type(state.argument, stored.type)
    for cast in casts:
        cast.result.replace_all_uses_with(argument)
        Rewriter.erase_op(cast)
    if casts and others:  # readers in float
        dequantized = DequantizeCastOp(argument, plain)
        Rewriter.insert_op(dequantized, InsertPoint.at_start(block))
        for op, position in others:
            op.operands[position] = dequantized.result


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
            _store(state)
        function.update_function_type()
