"""`kernel-mark-read-only`: marks arguments that a function only reads, so that an emitter can declare them constant."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qmlir.dialects.kernel.attributes import READ_ONLY
from qmlir.dialects.kernel.custom import CustomOp
from qmlir.ir.builtin_types import memref_type

# Which memrefs the emitted code writes; others can be marked read-only, and loads from them can move.

_VIEWS: tuple[type[Operation], ...] = (
    memref.SubviewOp,
    memref.CastOp,
    memref.ExpandShapeOp,
    memref.CollapseShapeOp,
    memref.ReinterpretCastOp,
    memref.AssumeAlignmentOp,
    memref.MemorySpaceCastOp,
    memref.ViewOp,
)

_READERS = frozenset(
    {"simd.load", "simd.load_partial", "simd.load_group_splat", "simd.prefetch", "simd.gather", "vector.load",
     "vector.maskedload", "memref.dim", "memref.rank"}
)  # fmt: skip


def _is_view(op: Operation) -> bool:
    return isinstance(op, _VIEWS) or op.name == "kernel.reshape"


def root_of(value: SSAValue) -> SSAValue:
    """Returns the memref that `value` is a view of, or `value` itself if it isn't a view."""
    while isinstance(op := value.owner, Operation) and _is_view(op):
        value = op.operands[0]
    return value


def is_written(value: SSAValue) -> bool:
    """Returns true if an operation may write to `value` or to a view of it."""
    for use in value.uses:
        op = use.operation
        match op:
            case memref.LoadOp():
                continue
            case memref.CopyOp() if use.index == 0:
                continue
            case CustomOp() if use.index < len(op.inputs):
                continue
            case _ if op.name in _READERS:
                continue
            case _ if _is_view(op):
                if is_written(op.results[0]):
                    return True
            case _:
                return True
    return False


def overwritten(function: FuncOp, calls: Sequence[CallOp]) -> frozenset[SSAValue]:
    """Returns the arguments of a function whose memory it writes.

    These are the arguments that it writes directly, and those that share memory with one of them in one of `calls`.
    """
    arguments = function.body.block.args
    written = {argument: is_written(argument) for argument in arguments}
    found = {argument for argument, is_one in written.items() if is_one}
    for call in calls:
        roots = [root_of(value) for value in call.arguments]
        targets = {root for argument, root in zip(arguments, roots, strict=True) if written[argument]}
        found.update(argument for argument, root in zip(arguments, roots, strict=True) if root in targets)
    return frozenset(found)


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
