"""Determines which memrefs the emitted code writes; others can be marked read-only, and loads from them can move."""

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.custom import CustomOp

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
