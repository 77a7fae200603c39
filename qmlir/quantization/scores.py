"""Scores that 8 bits round too coarsely: what a softmax reads, where its values lie far apart.

A softmax makes factors of differences: a score that is rounded by `d` changes its probability by the factor `e^d`. So
what counts is the scale itself, not how it compares with the range. Attention that is sure has scores from -60 to 60,
which 8 bits divide in steps of a half: probabilities change by a quarter, in each row.
"""

from collections.abc import Set

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.dialects.nn.ops.elementwise import DivOp, MulOp
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable
from qmlir.quantization.observed import observed
from qmlir.quantization.residual import computed_operands, is_passed_on

COARSEST = 0.25
"""The largest scale of scores in 8 bits. The first layer of a small GPT has .43: 16 bits there take its perplexity
from 1.0% to 0.3% above float's, and 16 bits for a layer that has .25 change nothing (`python -m
benchmarks.perplexity`). In all layers of a text encoder they take 9% of its time, and give its embeddings nothing."""


def coarse_scores(function: FuncOp) -> Set[Operation]:
    """What computes the operand of a softmax in `function`, from the product on, where 8 bits are too coarse for it."""
    found: set[Operation] = set()
    todo = [op.operands[0] for op in function.walk() if isinstance(op, Quantizable) and _is_coarse(op)]
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Quantizable) or op in found:
            continue
        operands = computed_operands(op)
        if isinstance(op, MultipliesAndAdds) or is_passed_on(op) or _is_scaled(op, len(operands)):
            found.add(op)
            todo += [] if isinstance(op, MultipliesAndAdds) else operands
    return found


def _is_scaled(op: Operation, computed: int) -> bool:
    """Whether `op` multiplies one value by a constant, or divides it."""
    return isinstance(op, MulOp | DivOp) and computed == 1


def _is_coarse(op: Quantizable) -> bool:
    seen = observed(op.operands[0]) if op.quantization_slots().divides_one else None
    return seen is not None and max(seen.maximum, 0.0) - min(seen.minimum, 0.0) > 255 * COARSEST
