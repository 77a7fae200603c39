"""Lowering of elementwise logic: on booleans, on the bits of integers, and predicates on floats."""

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation

from qmlir.dialects.kernel.lowering.lowering import Lower
from qmlir.dialects.kernel.lowering.scalars import Scalar, constant
from qmlir.dialects.nn.logic import ops
from qmlir.dialects.nn.lowering import elementwise, of_scalars


def _bitwise_not(op: Operation, x: Scalar) -> Scalar:
    return x ^ -1


def _bit_shift(op: ops.BitShiftOp, x: Scalar, amount: Scalar) -> Scalar:
    """Shifts by less than the width; for any other amount, all bits are shifted out."""
    is_left = op.direction.data == "left"
    is_inside = amount.compare("le", x.bits - 1)
    if not amount.unsigned:
        is_inside = is_inside & amount.compare("ge", 0)
    inside = is_inside.select(amount, 0)
    emptied = x.constant(0) if is_left or x.unsigned else x.compare("lt", 0).select(x.constant(-1), 0)
    return is_inside.select(x << inside if is_left else x >> inside, emptied)


def _is_nan(op: Operation, x: Scalar) -> Scalar:
    return x.compare("ne", x)


def _is_inf(op: ops.IsInfOp, x: Scalar) -> Scalar:
    wanted = (op.detect_negative, -float("inf")), (op.detect_positive, float("inf"))
    answers = [x.compare("eq", infinity) for flag, infinity in wanted if flag.value.data]
    if not answers:
        return constant(x.builder, 0, i1, unsigned=True)
    return answers[0] if len(answers) == 1 else answers[0] | answers[1]


LOWERINGS: dict[type[Operation], Lower] = {
    ops.AndOp: elementwise(of_scalars(Scalar.__and__)),
    ops.OrOp: elementwise(of_scalars(Scalar.__or__)),
    ops.XorOp: elementwise(of_scalars(Scalar.__xor__)),
    ops.NotOp: elementwise(of_scalars(Scalar.logical_not)),
    ops.BitwiseAndOp: elementwise(of_scalars(Scalar.__and__)),
    ops.BitwiseOrOp: elementwise(of_scalars(Scalar.__or__)),
    ops.BitwiseXorOp: elementwise(of_scalars(Scalar.__xor__)),
    ops.BitwiseNotOp: elementwise(_bitwise_not),
    ops.BitShiftOp: elementwise(_bit_shift),
    ops.IsNaNOp: elementwise(_is_nan),
    ops.IsInfOp: elementwise(_is_inf),
}
