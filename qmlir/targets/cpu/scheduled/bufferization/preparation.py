"""Before bufferization: each destination gets an empty or filled tensor of its own.

`cse` makes one of all equal ones, which as memory would have to be copied for each who writes it. Nobody reads an empty
tensor, and filling again costs no more than a copy.
"""

from xdsl.dialects import tensor
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue, Use

from qmlir.dialects.kernel.by_rows import ByRowsOp
from qmlir.targets.cpu.scheduled.bufferization.destinations import results_written
from qmlir.targets.cpu.scheduled.bufferization.row_loops import rows_together


def _is_destination(use: Use) -> bool:
    return any(each.operand == use.index for each in results_written(use.operation))


def _empty_of(value: SSAValue) -> tensor.EmptyOp | None:
    op = value.owner
    return op if isinstance(op, tensor.EmptyOp) and not op.dynamic_sizes else None


def _copy_for(use: Use, op: Operation) -> None:
    """Let one use have a copy of `op`, in front of its user."""
    own = op.clone()
    block = use.operation.parent
    assert block is not None
    block.insert_op_before(own, use.operation)
    use.operation.operands[use.index] = own.results[0]


def dissolve_rows(function: FuncOp) -> None:
    """Let operations by rows be those that are inside, where no few rows go together."""
    for op in list(function.walk()):
        if isinstance(op, ByRowsOp) and not rows_together(op):
            op.dissolve()


def give_each_destination_its_own(function: FuncOp) -> None:
    """Copy fills and empty tensors of `function` to the operations that write over them, and erase unused ones."""
    for op in list(function.walk()):
        if isinstance(op, linalg.FillOp) and op.results and _empty_of(op.outputs[0]) is not None:
            uses = list(op.results[0].uses)
            for use in uses:
                if _is_destination(use) and (len(uses) > 1 or use.operation.parent is not op.parent):
                    _copy_for(use, op)
            if not op.results[0].uses:
                op.detach()
                op.erase()
    for op in list(function.walk()):
        if isinstance(op, tensor.EmptyOp) and not op.dynamic_sizes:
            for use in list(op.tensor.uses):
                _copy_for(use, op)
            op.detach()
            op.erase()
