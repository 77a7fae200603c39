"""Lowering of softmax and its logarithm row by row, and of hardmax by the index of the first maximum."""

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, i64
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.kernel.lowering.scalars import Scalar, constant, position
from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.lowering.rows import by_rows
from qmlir.dialects.nn.reduction.ops import ArgMaxOp
from qmlir.dialects.nn.softmax import ops
from qmlir.ir.builtin_types import shape_of


def _hardmax(op: ops.HardmaxOp, at: Lowering) -> Sequence[SSAValue]:
    shape, element = shape_of(op.input), at.result_element()
    assert isinstance(element, AnyFloat)
    axis = op.axis.value.data % len(shape)
    places = at.value(at.insert(build(ArgMaxOp, [op.input], {"axis": axis})))

    def body(place: Scalar) -> Scalar:
        is_it = position(place.builder, axis).to(i64).compare("eq", place)
        one, zero = (constant(place.builder, number, element) for number in (1.0, 0.0))
        return is_it.select(one, zero)

    return (at.compute([at.broadcast(places, shape)], shape, element, body),)


LOWERINGS: dict[type[Operation], Lower] = {
    ops.HardmaxOp: _hardmax,
    ops.LogSoftmaxOp: by_rows,
    ops.SoftmaxOp: by_rows,
}
