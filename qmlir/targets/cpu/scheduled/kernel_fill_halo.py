"""`kernel-fill-halo`: avoids filling memory that a slice overwrites, and reuses filled borders.

A padded tensor is a fill into which a slice is inserted. Only the border around the slice needs the fill; for an image,
that is a small part of the memory. If all other readers of a tensor that is padded for one reader can also read it
inside the padded memory, `kernel-bufferize` writes it directly to that memory. If one of them reads it elementwise to
compute the next tensor with the same border, it overwrites the padded tensor. A block of a residual network then keeps
two images in memory instead of three.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, i64
from xdsl.dialects.linalg.ops import FillOp
from xdsl.dialects.tensor import EmptyOp, ExtractSliceOp, InsertSliceOp
from xdsl.ir import Attribute, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.dialects.kernel.attributes import OVERWRITTEN
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedConvOp, PackedOp
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.passes import count
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.targets.cpu.scheduled.aliases import destination_style, is_same_slice, is_static


def _is_image(op: InsertSliceOp) -> bool:
    """Whether `op` puts all channels of an image, or of several, into a larger one, at a place that is known."""
    if not is_static(op) or len(shaped(op.source)[0]) != len(shaped(op.dest)[0]):
        return False
    offsets, sizes = integer_list(op.static_offsets), integer_list(op.static_sizes)
    return set(integer_list(op.static_strides)) == {1} and offsets[-1] == 0 and sizes[-1] == shaped(op.dest)[0][-1]


def _border(op: InsertSliceOp) -> Attribute | None:
    """The constant that lies around what `op` inserts, `None` where it isn't a constant."""
    below = op.dest.owner
    if isinstance(below, InsertSliceOp):
        return _border(below) if is_same_slice(below, op) else None
    value = below.inputs[0].owner if isinstance(below, FillOp) else None
    return value.value if isinstance(value, ConstantOp) else None


def _reads_rows(use: Use) -> bool:
    """Whether it is a convolution by a window: its loops go row by row, and gaps between rows are nothing to them."""
    op = use.operation
    if not isinstance(op, PackedConvOp) or use.index == 1:
        return False
    return any(each != 1 for each in (*op.window(), *integer_list(op.strides)))


def _read_there(op: InsertSliceOp) -> None:
    """Let whatever else reads what `op` inserts read it where it lies then."""
    others = [use for use in op.source.uses if use.operation is not op]
    if not others or not isinstance(op.source.owner, PackedOp) or not op.dest.has_one_use() or _border(op) is None:
        return
    if not all(use.operation.parent is op.parent and op.is_before_in_block(use.operation) for use in others):
        return
    if not all(map(_reads_rows, others)):
        return
    offsets, sizes, strides = map(integer_list, (op.static_offsets, op.static_sizes, op.static_strides))
    for use in others:
        view = ExtractSliceOp.from_static_parameters(op.result, offsets, sizes, strides)
        Rewriter.insert_op(view, InsertPoint.after(op))
        use.operation.operands[use.index] = view.result
    count("tensors read where they have a border", len(others))


def _users(value: SSAValue) -> Iterator[Operation]:
    """What uses a tensor or slices of it; not the slices."""
    for use in value.uses:
        if isinstance(use.operation, ExtractSliceOp):
            yield from _users(use.operation.result)
        else:
            yield use.operation


def _bordered_before(op: InsertSliceOp, writer: Operation) -> InsertSliceOp | None:
    """What put the tensor into the same border that `writer` reads last, each element before it writes one."""
    style = destination_style(writer)
    for position, operand in enumerate(writer.operands):
        view = operand.owner
        if not isinstance(view, ExtractSliceOp) or not isinstance(before := view.source.owner, InsertSliceOp):
            continue
        if style is None or not style.may_overwrite(position, 0) or before.result.type != op.result.type:
            continue
        if before.parent is not op.parent or not (is_same_slice(view, op) and is_same_slice(before, op)):
            continue
        ends = all(each is writer or each.is_before_in_block(writer) for each in _users(before.result))
        if ends and view.result.has_one_use() and _border(before) == _border(op):
            return before
    return None


def _use_border_again(op: InsertSliceOp) -> None:
    """Insert into the tensor with the same border whose place this one takes."""
    writer, fill = op.source.owner, op.dest.owner
    if not isinstance(writer, Operation) or not isinstance(fill, FillOp) or not op.source.has_one_use():
        return
    if _border(op) is None or writer.parent is not op.parent or len(writer.results) != 1:
        return
    # Other operations might move the memory out of the arena; only inside the arena may loops read past its end.
    if not all(isinstance(each, PackedOp) for each in _users(op.result)):
        return
    before = _bordered_before(op, writer)
    if before is not None:
        op.operands[1] = before.result
        if not fill.results[0].uses:
            empty = fill.outputs[0].owner
            Rewriter.erase_op(fill)
            if isinstance(empty, EmptyOp) and not empty.tensor.uses:
                Rewriter.erase_op(empty)
        count("borders used again")


class FillHalo(RewritePattern):
    """Marks a fill with the slice of its result that is overwritten before anything reads it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: InsertSliceOp, rewriter: PatternRewriter, /) -> None:
        fill = op.dest.owner
        if not isinstance(fill, FillOp):
            return
        if OVERWRITTEN in fill.attributes or not op.dest.has_one_use():
            return
        if not is_static(op) or set(integer_list(op.static_strides)) != {1}:
            return
        region = integer_list(op.static_offsets), integer_list(op.static_sizes)
        if len(region[0]) != len(shaped(op.dest)[0]) or 0 in region[1]:
            return
        fill.attributes[OVERWRITTEN] = ArrayAttr([DenseArrayBase.from_list(i64, each) for each in region])
        rewriter.notify_op_modified(fill)
        count("fills of borders alone")


@dataclass(frozen=True)
class KernelFillHalo(ModulePass):
    """Marks each fill of which a slice is overwritten later, so that loops fill only the border around the slice.

    The attribute `kernel.overwritten` holds the offsets and sizes of the slice. Its contents after the fill don't
    matter, since the only user of the fill overwrites them.

    Before that, if a constant border is added around a tensor, convolutions with windows that also read the tensor, as
    their input or in their epilogue, read it inside the border instead. If the last of them reads it elementwise, and
    its result gets the same border, that result overwrites the tensor inside the existing border, which saves a fill.

    MobileNetV2 profits most: it takes 1.04 times as long without this pass.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3xi8>, %v: i8) -> tensor<4x5xi8> {
      %0 = tensor.empty() : tensor<4x5xi8>
      %1 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
      %2 = tensor.insert_slice %x into %1[1, 1] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
      func.return %2 : tensor<4x5xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xi8>, %v: i8) -> tensor<4x5xi8> {
      %0 = tensor.empty() : tensor<4x5xi8>
      %1 = linalg.fill {kernel.overwritten = [array<i64: 1, 1>, array<i64: 2, 3>]} ins(%v : i8)
          outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
      %2 = tensor.insert_slice %x into %1[1, 1] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
      func.return %2 : tensor<4x5xi8>
    }
    ```
    """

    name = "kernel-fill-halo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        padded = [each for each in op.walk() if isinstance(each, InsertSliceOp) and _is_image(each)]
        for each in padded:
            _read_there(each)
        for each in padded:
            _use_border_again(each)
        apply_patterns_greedily(op, [FillHalo()], ctx)
