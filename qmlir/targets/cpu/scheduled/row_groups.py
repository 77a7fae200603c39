"""Which structured operations on tensors become one by rows: a reduction of rows, and what reads its rows behind it."""

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Operation

from qmlir.dialects.kernel.by_rows import RowFusionOp, RowStep, fault_among, takes_no_time
from qmlir.dialects.kernel.ops import shaped

SHORTEST = 16
"""Elements of the shortest row that is worth a loop."""

Steps = list[Operation]


def reduced_rows(op: Operation) -> tuple[int, ...]:
    """The rows that `op` reduces, neighbours in memory and worth a loop; none where it does something else."""
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
    """One operation by rows of all of `steps`; `None` where they are not by rows, or one alone goes along the rows."""
    is_worth_it = sum(_goes_along_rows(op, rows) for op in steps) > 1 and fault_among(steps, rows) is None
    return RowFusionOp.around(steps, rows) if is_worth_it else None


def _needed(op: Operation, place: Operation, known: Steps) -> list[Operation] | None:
    """`op` behind what it needs right behind `place`: constants, empty tensors, and what fills a tensor for it alone.

    `None` where it needs anything else that is computed behind `place`.
    """
    found = list[Operation]()
    operands = (value.owner for each in op.walk() for value in each.operands)
    for owner in dict.fromkeys(each for each in operands if isinstance(each, Operation)):
        if owner.parent is not place.parent or owner in known:
            continue
        is_fill = isinstance(owner, FillOp) and len(owner.results) == 1 and owner.results[0].has_one_use()
        if not is_fill and (owner is place or owner.is_before_in_block(place)):
            continue
        more = _needed(owner, place, known) if is_fill or takes_no_time(owner) else None
        if more is None:
            return None
        found += more
    return [*found, op]


def _structured(ops: Sequence[Operation]) -> Steps:
    return [op for op in ops if isinstance(op, LinalgStructuredOperation)]


def _with_readers(steps: Steps, rows: Sequence[int]) -> Steps:
    """`steps`, and what reads nothing but their rows of what they write, moved right behind them."""
    place = steps[-1]
    block = place.parent
    assert block is not None
    uses = [use for step in steps for result in step.results for use in result.uses]
    for use in uses:
        user = block.find_ancestor_op_in_block(use.operation)
        if user is None or user in steps or not isinstance(user, LinalgStructuredOperation):
            continue
        needed = _needed(user, place, steps)
        if needed is None or fault_among([*steps, *_structured(needed)], rows) is not None:
            continue
        for op in reversed(needed):
            op.detach()
            block.insert_op_after(op, place)
        return _with_readers([*steps, *_structured(needed)], rows)
    return steps


def group_rows(module: ModuleOp) -> None:
    """Let what reads an operation by rows, row by row, join it; so does what reads any other reduction of rows."""
    for op in list(module.walk()):
        if isinstance(op, RowFusionOp):
            rows = op.sizes
            steps = op.dissolve()
        elif not isinstance(op.parent_op(), RowFusionOp) and (rows := reduced_rows(op)):
            steps = _structured(_needed(op, op, []) or ())
        else:
            continue
        grouped(_with_readers(steps, rows), rows)
