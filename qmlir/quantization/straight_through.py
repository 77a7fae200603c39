"""What rounds and passes gradients on, in operations of `nn`: the nearest integers, and the signs of binary weights."""

import numpy as np

from qmlir.arithmetic.requantization import Ties
from qmlir.dialects.calib.ops import StraightThroughOp
from qmlir.dialects.nn.ops.elementwise import FloorOp, MaxOp, MinOp, RoundOp, SignOp
from qmlir.dialects.nn.terms import Term
from qmlir.ir.builtin_types import shape_of


def straight_through(hard: Term, soft: Term) -> Term:
    """`hard`, with the gradient of `soft`."""
    op = StraightThroughOp.create(operands=[hard.value, soft.value], result_types=[hard.value.type])
    return Term(hard.at, hard.at.append(op).result)


def rounded(term: Term, ties: Ties = Ties.EVEN) -> Term:
    """The nearest integers; gradients pass."""
    return straight_through(term.apply(RoundOp) if ties is Ties.EVEN else (term + 0.5).apply(FloorOp), term)


def signs_of(real: Term, scale: Term) -> Term:
    """The codes -1 and 1 of binary weights `scale * sign(real)`, 1 of 0.

    The gradient of each weight passes to `real` as it is (Courbariaux et al., BinaryConnect, 2015), and that of the
    scale is the sum of those beside their signs.
    """
    at = real.at
    hard = (real.apply(SignOp) * 2.0 + 1.0).apply(MinOp, 1.0).apply(MaxOp, -1.0)
    fixed = straight_through(scale, Term(at, at.constant(np.ones(shape_of(scale.value)), real.value)))
    return straight_through(hard, real / fixed)
