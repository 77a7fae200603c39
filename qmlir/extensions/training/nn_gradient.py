"""`nn-gradient`: splits a function into `@forward`, which also returns values for its gradient, and `@backward`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from qmlir.dialects.nn.gradient_rules import is_differentiable
from qmlir.extensions.training.reverse import differentiated
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.control_flow import CONTROL
from qmlir.ir.diagnostics import nearest_name, op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.specialization.inputs import function_of

FORWARD, BACKWARD = "forward", "backward"


def _found(function: FuncOp, kind: str, name: str, ports: Sequence[Port]) -> int:
    names = [port.name for port in ports]
    if name not in names:
        known = ", ".join(names) or "none"
        raise op_error(function, f"has no {kind} '{name}'{nearest_name(name, names)} (available: {known})")
    return names.index(name)


def _variables(function: FuncOp, wrt: Sequence[str]) -> list[BlockArgument]:
    """Returns the arguments that `wrt` names, or all float arguments if it is empty."""
    ports, arguments = inputs_of(function), function.body.block.args
    chosen = [arguments[_found(function, "input", name, ports)] for name in wrt]
    for name, argument in zip(wrt, chosen, strict=True):
        if not is_differentiable(argument):
            raise op_error(
                function,
                f"input '{name}' must be a float to differentiate with respect to it, but got '{argument.type}'",
            )
    chosen = chosen or [argument for argument in arguments if is_differentiable(argument)]
    if not chosen:
        raise op_error(function, "has no float input to differentiate with respect to")
    return list(dict.fromkeys(chosen))


def _targets(function: FuncOp, results: Sequence[SSAValue], loss: str) -> list[int]:
    """Returns the indices of the results whose gradients are given: the loss, or all float results."""
    if not loss:
        return [position for position, value in enumerate(results) if is_differentiable(value)]
    position = _found(function, "output", loss, outputs_of(function))
    value = results[position]
    if not is_differentiable(value) or any(size != 1 for size in shape_of(value)):
        raise op_error(function, f"loss '{loss}' must be a scalar float, but got '{value.type}'")
    return [position]


@dataclass(frozen=True)
class NnGradient(ModulePass):
    """Splits `@main` into `@forward`, which also returns values that the gradient reads, and `@backward`, the gradient.

    `@forward` computes the results of `@main`, and also returns the values that `@backward` reads as `kept0`, `kept1`,
    …. The arguments of `@backward` are the inputs and results of `@forward` that it reads, under the same names,
    followed by the gradient of each result. It returns the gradient with respect to each input that `wrt` names (by
    default all float inputs). The gradient of `x` is named `gradient_x`. If `loss` names a result, which must have one
    element, `@backward` takes no gradients: that of the loss is 1. An input that no result depends on has a gradient of
    zeros.

    Each operation on the path between inputs and results must have a gradient rule (`gradients` of a package's
    contribution), or must be a composite whose parts have rules. For a composite without a rule, `@forward` keeps the
    composite whole, and `@backward` recomputes the parts that it reads. To make `@forward` store results of the parts
    instead, run `nn-decompose` before this pass. Passes that change the gradient must also run before this pass.

    With `recompute`, `@backward` recomputes elementwise arithmetic if that reduces the memory of the stored values.
    Results of convolutions are stored with channels last, as compiled programs compute them.

    Before (run with `wrt=w`):

    ```mlir
    func.func @main(%x: tensor<2x3xf32> {nn.name = "x"}, %w: tensor<2x3xf32> {nn.name = "w"})
        -> (tensor<2x3xf32> {nn.name = "y"}) {
      %0 = nn.mul %x, %w : tensor<2x3xf32> {origin = "scaled"}
      %1 = nn.exp %0 : tensor<2x3xf32> {origin = "raised"}
      %2 = nn.neg %1 : tensor<2x3xf32>
      func.return %2 : tensor<2x3xf32>
    }
    ```

    After:

    ```mlir
    func.func @forward(%x: tensor<2x3xf32> {nn.name = "x"}, %w: tensor<2x3xf32> {nn.name = "w"})
        -> (tensor<2x3xf32> {nn.name = "y"}, tensor<2x3xf32> {nn.name = "kept0"}) {
      %0 = nn.mul %x, %w : tensor<2x3xf32> {origin = "scaled"}
      %1 = nn.exp %0 : tensor<2x3xf32> {origin = "raised"}
      %2 = nn.neg %1 : tensor<2x3xf32>
      func.return %2, %1 : tensor<2x3xf32>, tensor<2x3xf32>
    }
    func.func @backward(%0: tensor<2x3xf32> {nn.name = "kept0"}, %x: tensor<2x3xf32> {nn.name = "x"},
                        %g: tensor<2x3xf32> {nn.name = "gradient_y"})
        -> (tensor<2x3xf32> {nn.name = "gradient_w"}) {
      %1 = nn.neg %g : tensor<2x3xf32>
      %2 = nn.mul %1, %0 : tensor<2x3xf32> {origin = "raised", role = "gradient"}
      %3 = nn.mul %2, %x : tensor<2x3xf32> {origin = "scaled", role = "gradient"}
      func.return %3 : tensor<2x3xf32>
    }
    ```
    """

    name = "nn-gradient"
    preserves: ClassVar[Preservation] = MEANING

    wrt: tuple[str, ...] = ()
    loss: str = ""
    function: str = "main"
    recompute: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = function_of(op, self.function)
        last = function.get_return_op()
        if last is None or len(function.body.blocks) > 1:
            raise op_error(function, "must have one block to be differentiated")
        for other in op.walk():
            if isinstance(other, FuncOp) and other.sym_name.data in {FORWARD, BACKWARD} - {self.function}:
                raise op_error(other, f"has the name of a function that differentiating @{self.function} creates")
            if isinstance(other, CallOp) and other.callee.root_reference.data == self.function:
                raise op_error(other, f"calls @{self.function}, which differentiation splits in two; run inline first")
        for other in function.walk():
            if isinstance(other, CONTROL):
                raise op_error(other, "cannot be differentiated: control flow has no gradient rule")
        variables = _variables(function, self.wrt)
        targets = _targets(function, last.operands, self.loss)
        backward, kept = differentiated(
            function, variables, targets, are_ones=bool(self.loss), recomputes=self.recompute
        )
        function.sym_name, backward.sym_name = StringAttr(FORWARD), StringAttr(BACKWARD)
        op.body.block.insert_op_after(backward, function)
        count("values kept", kept)
