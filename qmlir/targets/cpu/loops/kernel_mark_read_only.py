"""`kernel-mark-read-only`: marks arguments that a function only reads, so that an emitter can declare them constant."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from qmlir.dialects.kernel.attributes import READ_ONLY
from qmlir.ir.builtin_types import memref_type
from qmlir.targets.cpu.loops.memory_use import is_written


@dataclass(frozen=True)
class KernelMarkReadOnly(ModulePass):
    """Adds `kernel.read_only` to each memref argument that a private function never writes.

    Before:

    ```mlir
    func.func private @copy(%x: memref<4xi8>, %y: memref<4xi8>) {
      "memref.copy"(%x, %y) : (memref<4xi8>, memref<4xi8>) -> ()
      func.return
    }
    ```

    After:

    ```mlir
    func.func private @copy(%x: memref<4xi8> {kernel.read_only}, %y: memref<4xi8>) {
      "memref.copy"(%x, %y) : (memref<4xi8>, memref<4xi8>) -> ()
      func.return
    }
    ```
    """

    name = "kernel-mark-read-only"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and function.sym_visibility is not None and not function.is_declaration:
                _mark(function)


def _mark(function: FuncOp) -> None:
    arguments = function.body.block.args
    entries = function.arg_attrs.data if function.arg_attrs is not None else [DictionaryAttr({})] * len(arguments)
    marked = [
        DictionaryAttr({**entry.data, READ_ONLY: UnitAttr()})
        if memref_type(argument) is not None and not is_written(argument)
        else entry
        for argument, entry in zip(arguments, entries, strict=True)
    ]
    if marked != list(entries):
        function.arg_attrs = ArrayAttr(marked)
