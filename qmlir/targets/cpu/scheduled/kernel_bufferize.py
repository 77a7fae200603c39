"""`kernel-bufferize`: tensors become memory."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import op_error
from qmlir.levels import check_level
from qmlir.targets.cpu.scheduled.bufferization.aliases import Aliases
from qmlir.targets.cpu.scheduled.bufferization.destinations import has_tensors, is_tensor_type
from qmlir.targets.cpu.scheduled.bufferization.globals import Globals
from qmlir.targets.cpu.scheduled.bufferization.placement import place_buffers
from qmlir.targets.cpu.scheduled.bufferization.preparation import dissolve_rows, give_each_destination_its_own
from qmlir.targets.cpu.scheduled.bufferization.rewriting import Rewriter


def _check(function: FuncOp) -> None:
    """Raise `DiagnosticError` for what no memory can be planned for."""
    name = f"@{function.sym_name.data}"
    for type_ in (*function.function_type.inputs, *function.function_type.outputs):
        if function.is_declaration and is_tensor_type(type_):
            raise op_error(function, f"{name} has no body: nobody can say where it would write its results")
        if not _is_known(type_):
            raise op_error(function, f"{name} takes or gives {type_}: memory is planned for known shapes")
    if len(function.body.blocks) > 1:
        raise op_error(function, f"{name} branches between blocks: accepted are scf.for and scf.if")
    for op in function.walk():
        for value in op.results:
            if not _is_known(value.type):
                raise op_error(op, f"has a value of type {value.type}: memory is planned for known shapes")


def _is_known(type_: Attribute) -> bool:
    found = ranked_tensor(type_)
    return not is_tensor_type(type_) or (found is not None and DYNAMIC_INDEX not in found.get_shape())


@dataclass(frozen=True)
class KernelBufferize(ModulePass):
    """Give every tensor memory, so that each operation writes where its result is to lie.

    Tensors are values, memory is not: an operation writes over the tensor that its result begins with where nobody
    wants the old elements any more, and over a copy otherwise. A slice or a reshape is a view. What is put into a
    larger tensor (a concatenation, a border) is written straight into its slice, what the function returns into the
    memory of that result: an argument behind all others, marked `nn.result`. Callers must keep that apart from the
    inputs, which are never written. Constants are globals, equal ones the same.

    An operation by rows becomes loops over the rows around all that is inside: so many rows at a time as the nearest
    cache holds, at least eight where that divides them, since sums of so many run side by side. What is between is
    scratch memory of these rows. Where threads divide one of the operations inside, they divide the loops instead.
    Where too few rows would go together, the operations inside go over all rows, one after the other.

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
            Rewriter(aliases, place_buffers(aliases), constants).run()
        check_level(ctx, op, "scheduled")
