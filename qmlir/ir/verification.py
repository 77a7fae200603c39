"""The verifier: structure, each operation's own rules, dominance.

xDSL's `Operation.verify` prints the whole module into its exception, which takes seconds and hundreds of megabytes on
a real model; this one walks the module, asks each operation, and names the one at fault.
"""

from xdsl.ir import Block, ErasedSSAValue, Operation
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.dominance import verify_dominance


def _verify_place(op: Operation, block: Block) -> None:
    region = block.parent
    is_last = block.last_op is op
    if op.successors:
        if not is_last:
            raise VerifyException("has successors and must be the last operation of its block")
        if any(successor.parent is not region for successor in op.successors):
            raise VerifyException("branches to a block of another region")
    if not is_last or region is None:
        return
    needs_terminator = (
        block.next_block is not None
        or region.first_block is not block
        or (region.parent is not None and not region.parent.has_trait(NoTerminator))
    )
    if needs_terminator and not op.has_trait(IsTerminator):
        raise VerifyException("is the last operation of its block and must be a terminator")


def _verify_op(op: Operation) -> None:
    if any(isinstance(operand, ErasedSSAValue) for operand in op.operands):
        raise VerifyException("uses a value that was erased")
    if op.parent is not None:
        _verify_place(op, op.parent)
    op.verify_()


def verify(root: Operation) -> None:
    """Verify `root` and all that is nested in it. Raises `DiagnosticError` at the first fault."""
    for op in root.walk():
        try:
            _verify_op(op)
        except DiagnosticError:
            raise
        except VerifyException as error:
            raise op_error(op, " ".join(str(error).split())) from error
    verify_dominance(root)
