"""Groups of operations on rows in one loop, and `kernel-fuse-attention`, which adds matmuls to such a group.

Attention is a matmul of queries by keys, a softmax of the rows of the result, and a matmul of these rows by values.
Each row of the softmax and of the second matmul depends only on the same row of the previous result. The matmuls also
read the matrix of keys or values of their head.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qmlir.analysis.operand_accesses import is_constant
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedMatMulOp
from qmlir.dialects.kernel.rows import RowFusionOp, RowStep, fault_among, takes_no_time
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import count
from qmlir.targets.cpu.scheduled.rewriting import fitting_rows, rows_together

# Grouping: a structured op that reduces rows is fused with the ops that read its result row by row.

SHORTEST = 16
"""The fewest elements in a row for which fusion pays."""

Steps = list[Operation]


def reduced_rows(op: Operation) -> tuple[int, ...]:
    """Returns the sizes of the row dimensions if `op` reduces long enough contiguous rows, else an empty tuple."""
    if not isinstance(op, LinalgStructuredOperation) or len(op.outputs) != 1:
        return ()
    rows = tuple(size for size in shaped(op.outputs[0])[0] if size != 1)
    step = RowStep.of(op, rows)
    if not rows or step is None or IteratorType.REDUCTION not in [kind.data for kind in op.get_iterator_types()]:
        return ()
    dense = [math.prod(shaped(value)[0]) for value, map_ in step.operands if step.goes_along(value, map_)]
    return rows if max(dense, default=0) >= SHORTEST * math.prod(rows) else ()


def _goes_along_rows(op: Operation, rows: Sequence[int]) -> bool:
    step = RowStep.of(op, rows)
    return step is not None and any(step.goes_along(value, map_) for value, map_ in step.operands)


def grouped(steps: Sequence[Operation], rows: Sequence[int]) -> RowFusionOp | None:
    """Fuses `steps` into one row fusion; returns `None` if that isn't possible or fewer than two process rows."""
    is_worth_it = sum(_goes_along_rows(op, rows) for op in steps) > 1 and fault_among(steps, rows) is None
    return RowFusionOp.around(steps, rows) if is_worth_it else None


def _needed(op: Operation, anchor: Operation, known: Steps, rows: Sequence[int]) -> list[Operation] | None:
    """Returns the operations to move directly after `anchor` so that `op` can follow it; `op` is the last one.

    These are constants, empty tensors, fills used only once, and other reductions of the same rows. Returns `None` if
    `op` depends on any other operation after `anchor`.
    """
    found = list[Operation]()
    operands = (value.owner for each in op.walk() for value in each.operands)
    for owner in dict.fromkeys(each for each in operands if isinstance(each, Operation)):
        if owner.parent is not anchor.parent or owner in known:
            continue
        is_fill = isinstance(owner, FillOp) and len(owner.results) == 1 and owner.results[0].has_one_use()
        if not is_fill and (owner is anchor or owner.is_before_in_block(anchor)):
            continue
        may_move = is_fill or takes_no_time(owner) or reduced_rows(owner) == tuple(rows)
        more = _needed(owner, anchor, known, rows) if may_move else None
        if more is None:
            return None
        found += more
    return [*found, op]


def _structured(ops: Sequence[Operation]) -> Steps:
    return [op for op in ops if isinstance(op, LinalgStructuredOperation)]


def _with_readers(steps: Steps, rows: Sequence[int]) -> Steps:
    """Adds the operations that read results of `steps` row by row, and moves them directly after the last step."""
    anchor = steps[-1]
    block = anchor.parent
    assert block is not None
    uses = [use for step in steps for result in step.results for use in result.uses]
    for use in uses:
        user = block.find_ancestor_op_in_block(use.operation)
        if user is None or user in steps or not isinstance(user, LinalgStructuredOperation):
            continue
        needed = _needed(user, anchor, steps, rows)
        if needed is None or fault_among([*steps, *_structured(needed)], rows) is not None:
            continue
        for op in reversed(needed):
            op.detach()
            block.insert_op_after(op, anchor)
        return _with_readers([*steps, *_structured(needed)], rows)
    return steps


def group_rows(module: ModuleOp) -> None:
    """Fuses each row reduction or row fusion with the operations that read its results row by row."""
    for op in list(module.walk()):
        if isinstance(op, RowFusionOp):
            rows = op.sizes
            steps = op.dissolve()
        elif not isinstance(op.parent_op(), RowFusionOp) and (rows := reduced_rows(op)):
            steps = _structured(_needed(op, op, [], rows) or ())
        else:
            continue
        grouped(_with_readers(steps, rows), rows)


# Attention: matmuls are fused with the operations on rows between them.

FEWEST_ROWS = 8
"""The fewest rows per group for which a matmul is fused: it reads its second matrix again for each group of rows.

Fewer are accepted if no more fit in scratch memory, since the tensors between the matmuls are then even larger.
"""


def _users(op: Operation) -> set[Operation | None]:
    """The operations of the block of `op` that read its results, or in which something reads them."""
    block = op.parent
    assert block is not None
    return {block.find_ancestor_op_in_block(use.operation) for value in op.results for use in value.uses}


def _has_computed_matrices(op: Operation) -> bool:
    """Returns true if `op` is a matmul by computed matrices, such as the keys or values of each attention head.

    Constant matrices are shared by all rows and are often larger than the cache, so each group of rows would reread
    them from memory.
    """
    return isinstance(op, PackedMatMulOp) and not is_constant(op.w)


def _writers(op: RowFusionOp) -> list[Operation]:
    """The products whose results nothing but `op` reads."""
    read = dict.fromkeys(value.owner for each in op.steps for value in each.operands)
    ops = (each for each in read if isinstance(each, Operation) and each.parent is op.parent)
    return [each for each in ops if _has_computed_matrices(each) and _users(each) == {op}]


def _readers(op: RowFusionOp) -> list[Operation]:
    """The product that reads the results of `op`, where nothing else does."""
    users = _users(op)
    return [each for each in users if each is not None and len(users) == 1 and _has_computed_matrices(each)]


def _fault(steps: Sequence[Operation], rows: Sequence[int], given: Sequence[SSAValue]) -> str | None:
    """Why `steps` can't go a few rows at a time, or are no better so; `None` where they are."""
    fault = fault_among(steps, rows, given)
    if fault is not None:
        return fault
    written = {value for step in steps for value in step.results}
    for step in steps:
        if isinstance(step, PackedMatMulOp) and step.x in written and step.weights().reads_past:
            return f"{step.terms()} terms do not fill whole groups, so it would read past the end of the last row"
    together = rows_together(steps, rows)
    if together < min(FEWEST_ROWS, max(1, fitting_rows(steps, rows))):
        sizes = "x".join(map(str, rows))
        return (
            f"would fuse {together} of {sizes} rows, but fusing requires at least {FEWEST_ROWS} rows and fewer than all"
        )
    return None


def _join(op: RowFusionOp) -> None:
    writers, readers = _writers(op), _readers(op)
    products = [*writers, *readers]
    if not products:
        return
    rows, given = op.sizes, list(op.outs)
    steps = op.dissolve()
    fault = _fault([*writers, *steps, *readers], rows, given)
    if fault is None:
        RowFusionOp.around([*writers, *steps, *readers], rows)
        count("products that joined rows", len(products))
        return
    RowFusionOp.around(steps, rows)
    for each in products:
        emit_remark(each, f"is not fused with the adjacent row-wise operation: {fault}")


@dataclass(frozen=True)
class KernelFuseAttention(ModulePass):
    """Fuses matmuls with the row fusion between them, so that attention becomes one operation.

    A matmul is fused if nothing else reads the tensor between it and the row fusion, if each row of its result depends
    only on the same row of its input, and if its second matrix is computed. There may be one such matrix for all rows,
    or one for each index of their leading axes. If several heads share their keys, the queries of these heads are an
    additional axis after the leading ones. The scores and probabilities of attention are then scratch memory for a few
    rows of one head (see `kernel-bufferize`), regardless of the sequence length, and threads divide heads and rows.

    If a matmul is not fused, a remark gives the reason:

    - All rows would be processed together, as in a decoder step with one query, in which each head is one row.
    - The number of terms is not a multiple of the group size of the matmul's variant, so the loops would read past the
      end of a row.
    - No divisor of the number of rows is at least 8 and small enough, and an operation other than a matmul writes the
      result, so that rows cannot be repeated.

    Before:

    ```mlir
    func.func @main(%q: tensor<2x8x2xi8>, %k: tensor<2x1x2x4xi32>, %v: tensor<2x1x4x2xi32>) -> tensor<2x8x2xi32> {
      %0 = tensor.empty() : tensor<2x8x4xi8>
      %1 = kernel.packed_matmul ins(%q, %k : tensor<2x8x2xi8>, tensor<2x1x2x4xi32>) -> tensor<2x8x4xi8> attributes {
          layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 4>} {
      ^bb0(%sum: i32):
        %2 = arith.trunci %sum : i32 to i8
        kernel.yield %2 : i8
      }
      %3 = kernel.row_fusion outs(%0 : tensor<2x8x4xi8>) -> tensor<2x8x4xi8> attributes {rows = array<i64: 2, 8>} {
      ^bb0(%4: tensor<2x8x4xi8>):
        %5 = linalg.generic {
            indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
            iterator_types = ["parallel", "parallel", "parallel"]
        } ins(%1 : tensor<2x8x4xi8>) outs(%4 : tensor<2x8x4xi8>) {
        ^bb0(%a: i8, %o: i8):
          %6 = arith.muli %a, %a : i8
          linalg.yield %6 : i8
        } -> tensor<2x8x4xi8>
        kernel.yield %5 : tensor<2x8x4xi8>
      }
      %7 = kernel.packed_matmul ins(%3, %v : tensor<2x8x4xi8>, tensor<2x1x4x2xi32>) -> tensor<2x8x2xi32> attributes {
          layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 2>} {
      ^bb0(%sum: i32):
        kernel.yield %sum : i32
      }
      func.return %7 : tensor<2x8x2xi32>
    }
    ```

    After:

    ```mlir
    func.func @main(%q: tensor<2x8x2xi8>, %k: tensor<2x1x2x4xi32>, %v: tensor<2x1x4x2xi32>) -> tensor<2x8x2xi32> {
      %0 = tensor.empty() : tensor<2x8x4xi8>
      %1 = tensor.empty() : tensor<2x8x2xi32>
      %2 = kernel.row_fusion outs(%1 : tensor<2x8x2xi32>) -> tensor<2x8x2xi32> attributes {rows = array<i64: 2, 8>} {
      ^bb0(%3: tensor<2x8x2xi32>):
        %4 = kernel.packed_matmul ins(%q, %k : tensor<2x8x2xi8>, tensor<2x1x2x4xi32>) -> tensor<2x8x4xi8> attributes {
            layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 4>} {
        ^bb0(%sum: i32):
          %5 = arith.trunci %sum : i32 to i8
          kernel.yield %5 : i8
        }
        %6 = linalg.generic {
            indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
            iterator_types = ["parallel", "parallel", "parallel"]
        } ins(%4 : tensor<2x8x4xi8>) outs(%0 : tensor<2x8x4xi8>) {
        ^bb0(%a: i8, %o: i8):
          %7 = arith.muli %a, %a : i8
          linalg.yield %7 : i8
        } -> tensor<2x8x4xi8>
        %8 = kernel.packed_matmul ins(%6, %v : tensor<2x8x4xi8>, tensor<2x1x4x2xi32>) -> tensor<2x8x2xi32> attributes {
            layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 2>} {
        ^bb0(%sum: i32):
          kernel.yield %sum : i32
        }
        kernel.yield %8 : tensor<2x8x2xi32>
      }
      func.return %2 : tensor<2x8x2xi32>
    }
    ```
    """

    name = "kernel-fuse-attention"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, RowFusionOp):
                _join(each)
