"""`inline`: replaces calls with the bodies of the called functions."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qmlir.ir.control_flow import reached
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.limits import budget, over
from qmlir.ir.passes import count
from qmlir.ir.provenance import hand_on
from qmlir.ir.rewriting import operations_in

_BUDGET = "inlined-operations"


def _callees(function: FuncOp) -> set[str]:
    return {op.callee.root_reference.data for op in operations_in(function) if isinstance(op, CallOp)}


def _recursive(functions: dict[str, FuncOp]) -> set[str]:
    """Returns the functions that can reach themselves through calls: components in both directions (Sharir, 1981)."""
    callees = {name: _callees(function) & functions.keys() for name, function in functions.items()}
    callers: dict[str, set[str]] = {name: set() for name in callees}
    for name, called in callees.items():
        for callee in called:
            callers[callee].add(name)
    entered: set[str] = set()
    finished: dict[str, None] = {}
    waiting = list(callees)
    while waiting:
        if (name := waiting[-1]) in entered:
            finished.setdefault(waiting.pop())
        else:
            entered.add(name)
            waiting += callees[name] - entered
    done: set[str] = set()
    found: set[str] = set()
    for name in reversed(finished):
        if name not in done:
            component = set(reached([name], lambda each: callers[each] - done))
            done.update(component)
            found |= component if len(component) > 1 or name in callees[name] else set()
    return found


def _inline_call(call: CallOp, function: FuncOp) -> list[Operation]:
    """Replaces `call` by the body of `function`, and returns the operations that this created."""
    block = call.parent
    if block is None:
        raise op_error(call, "must be in a block")
    arguments = function.body.block.args
    if tuple(argument.type for argument in arguments) != tuple(call.operand_types):
        raise op_error(call, f"operand types must match function '@{function.sym_name.data}'")
    values: dict[SSAValue, SSAValue] = dict(zip(arguments, call.operands, strict=True))
    returned: list[SSAValue] = []
    made: list[Operation] = []
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            returned = [values.get(operand, operand) for operand in op.operands]
            continue
        clone: Operation = op.clone(values)
        made += operations_in(clone)
        block.insert_op_before(clone, call)
    for op in made:  # the node of the call follows the node inside the function: both identify the operation
        hand_on((call,), op)
    for old, new in zip(call.results, returned, strict=True):
        old.replace_all_uses_with(new)
    call.detach()
    call.erase()
    return made


@dataclass(frozen=True)
class Inline(ModulePass):
    """Replaces each call of a single-block function with the function's body; the functions stay (see `symbol-dce`).

    The provenance of the call is added to that of the inlined operations. Calls of recursive functions, of functions
    without a body and of functions with several blocks are kept and reported in a remark.

    Before:

    ```mlir
    func.func private @act(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu"}
      func.return %0 : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = func.call @act(%x) {origin = "block1"} : (tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func private @act(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu"}
      func.return %0 : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = ["relu", "block1"]}
      func.return %0 : tensor<2xf32>
    }
    ```
    """

    name = "inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {child.sym_name.data: child for child in op.body.block.ops if isinstance(child, FuncOp)}
        recursive = _recursive(functions)
        pending = [nested for nested in operations_in(op) if isinstance(nested, CallOp)]
        made = 0
        while pending:
            call = pending.pop()
            name = call.callee.root_reference.data
            function = functions.get(name)
            if function is None or function.is_declaration:
                emit_remark(call, f"is not inlined: function '@{name}' has no body")
            elif name in recursive:
                emit_remark(call, f"is not inlined: function '@{name}' is recursive")
            elif len(function.body.blocks) != 1:
                emit_remark(call, f"is not inlined: function '@{name}' has more than one block")
            else:
                created = _inline_call(call, function)
                made += len(created)
                if made > budget(_BUDGET):
                    # A chain of functions that each call the next one twice grows exponentially.
                    reason = f"the number of new operations is {over(_BUDGET)}"
                    raise op_error(function, f"cannot be inlined again: {reason}")
                pending += [each for each in created if isinstance(each, CallOp)]
                count("calls inlined")
