"""The gradient of dropout; batch normalization in training has the gradient of its parts, including the statistics."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.dialects.nn.gradient_rules import Backward, Rule, first_only
from qmlir.dialects.nn.terms import Expr
from qmlir.dialects.nn.training.ops import DropoutOp
from qmlir.ir.builtin_types import element_of


def _dropout(at: Backward, op: DropoutOp, gradient: SSAValue, of_mask: SSAValue | None = None) -> SSAValue:
    """The gradient is `g / (1 - ratio)` for kept elements, and `g` itself if no element is dropped."""
    ratio, element = at.reshaped(op.ratio, ()), plain_type(element_of(gradient))
    if element_of(ratio) != element:
        ratio = at.add(CastOp, ratio, result_types=[TensorType(element, ())]).result
    g = Expr(at, gradient)
    kept = (g / (1.0 - Expr(at, ratio))).where(Expr(at, op.mask))
    return (kept if op.training is None else kept.where(Expr(at, at.reshaped(op.training, ())), g)).value


RULES: dict[type[Operation], Rule] = {DropoutOp: first_only(_dropout)}
