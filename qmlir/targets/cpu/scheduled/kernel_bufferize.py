"""`kernel-bufferize`: converts tensors to memrefs.

First, each operation that overwrites an empty or filled tensor gets a separate one: `cse` has merged equal tensors, and
the memory of a merged tensor would have to be copied for each writer. Filling it again costs no more than a copy.
"""

from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.dialects.kernel.rows import RowFusionOp
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import op_error
from qmlir.levels import check_level
from qmlir.targets.cpu.scheduled.aliases import Aliases, has_tensors, is_tensor_type, place_buffers, results_written
from qmlir.targets.cpu.scheduled.rewriting import BufferRewriter, Globals, rows_together


def _is_destination(use: Use) -> bool:
    return any(each.operand == use.index for each in results_written(use.operation))


def _is_empty(op: object) -> TypeGuard[tensor.EmptyOp]:
    return isinstance(op, tensor.EmptyOp) and not op.dynamic_sizes


def _copy_for(use: Use, op: Operation) -> None:
    """Gives one use a separate copy of `op`, directly before its user."""
    own = op.clone()
    Rewriter.insert_op(own, InsertPoint.before(use.operation))
    use.operation.operands[use.index] = own.results[0]


def dissolve_rows(function: FuncOp) -> None:
    """Replaces row fusions with the operations inside if too few rows would be processed together."""
    for op in list(function.walk()):
        if isinstance(op, RowFusionOp) and not rows_together(op.steps, op.sizes):
            op.dissolve()


def give_each_destination_its_own(function: FuncOp) -> None:
    """Copies fills and empty tensors of `function` to the operations that overwrite them, and erases unused ones."""
    for op in list(function.walk()):
        if isinstance(op, linalg.FillOp) and op.results and _is_empty(op.outputs[0].owner):
            uses = list(op.results[0].uses)
            for use in uses:
                if _is_destination(use) and (len(uses) > 1 or use.operation.parent is not op.parent):
                    _copy_for(use, op)
            if not op.results[0].uses:
                Rewriter.erase_op(op)
    for op in list(function.walk()):
        if _is_empty(op):
            for use in list(op.tensor.uses):
                _copy_for(use, op)
            Rewriter.erase_op(op)


def _check(function: FuncOp) -> None:
    """Raises `DiagnosticError` for a function whose memory can't be planned."""
    name = f"@{function.sym_name.data}"
    for type_ in (*function.function_type.inputs, *function.function_type.outputs):
        if function.is_declaration and is_tensor_type(type_):
            raise op_error(function, f"{name} has no body, so the memory of its results is unknown")
        if not _is_known(type_):
            raise op_error(function, f"{name} must have static shapes, but got {type_}")
    if len(function.body.blocks) > 1:
        raise op_error(
            function, f"{name} branches between blocks, but only scf.for, scf.while and scf.if are supported"
        )
    for op in function.walk():
        for value in op.results:
            if not _is_known(value.type):
                raise op_error(op, f"must have static shapes, but got a value of type {value.type}")


def _is_known(type_: Attribute) -> bool:
    found = ranked_tensor(type_)
    return not is_tensor_type(type_) or (found is not None and DYNAMIC_INDEX not in found.get_shape())


@dataclass(frozen=True)
class KernelBufferize(ModulePass):
    """Bufferizes all tensors, so that each operation writes its result to its final location.

    Tensors are values, memory is mutable. An operation overwrites its destination operand in place if the old elements
    are no longer needed; otherwise it overwrites a copy. A slice or a reshape becomes a view. A tensor that is
    inserted into a larger one (a concatenation, padding) is written directly to its slice. A result of the function is
    written to the memory of that result: an additional last argument, marked `nn.result`. Callers must pass memory
    there that doesn't overlap the inputs, which are never written. Constants become globals; equal constants are
    shared.

    A row fusion becomes loops over rows around all operations inside. The number of rows processed at a time is limited
    by the L1 cache. It is higher if there are matmuls inside, since these read their weights again for each group of
    rows, and at least eight if eight divides the rows, since eight sums run side by side. Intermediate values are
    scratch memory for these rows. If threads divide one of the operations inside, they divide the loops over rows
    instead. If too few rows would be processed together, the operations inside process all rows, one operation at a
    time.

    Before:

    ```mlir
    func.func @main(%x: tensor<4xi8> {nn.name = "x"}) -> (tensor<6xi8> {nn.name = "y"}) {
      %zero = arith.constant 0 : i8
      %0 = tensor.empty() : tensor<6xi8>
      %1 = linalg.fill ins(%zero : i8) outs(%0 : tensor<6xi8>) -> tensor<6xi8>
      %2 = tensor.insert_slice %x into %1[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
      func.return %2 : tensor<6xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: memref<4xi8> {nn.name = "x"}, %y: memref<6xi8> {nn.result, nn.name = "y"}) {
      %zero = arith.constant 0 : i8
      linalg.fill ins(%zero : i8) outs(%y : memref<6xi8>)
      %0 = memref.subview %y[1] [4] [1] : memref<6xi8> to memref<4xi8, strided<[1], offset: 1>>
      linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : memref<4xi8>) outs(%0 : memref<4xi8, strided<[1], offset: 1>>) {
      ^bb0(%new: i8, %old: i8):
        linalg.yield %new : i8
      }
      func.return
    }
    ```
    """

    name = "kernel-bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, FuncOp)]
        constants = Globals(op)
        for function in functions:
            _check(function)
            if function.is_declaration or not any(map(has_tensors, function.walk())):
                continue
            give_each_destination_its_own(function)
            dissolve_rows(function)
            aliases = Aliases(function)
            BufferRewriter(aliases, place_buffers(aliases), constants).run()
        check_level(ctx, op, "scheduled")
