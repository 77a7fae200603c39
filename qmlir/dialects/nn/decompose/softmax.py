"""Softmax and its logarithm, shifted by the largest element so that nothing overflows."""

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.decompose.operands import Decompose, Results
from qmlir.dialects.nn.infer.movement import normalized_axis
from qmlir.dialects.nn.ops.elementwise import DivOp, ExpOp, LogOp, SubOp
from qmlir.dialects.nn.ops.reduction import ReduceMaxOp, ReduceSumOp
from qmlir.dialects.nn.ops.softmax import LogSoftmaxOp, SoftmaxLikeOp, SoftmaxOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import Parts


def _raised(op: SoftmaxLikeOp, parts: Parts) -> tuple[SSAValue, SSAValue, SSAValue]:
    """`x - max`, its exponential, and the sum of that."""
    axes = [normalized_axis(op.axis.value.data, len(shape_of(op.input)))]
    largest = parts.add("max", ReduceMaxOp(op.input, axes)).result
    shifted = parts.add("shifted", SubOp(op.input, largest)).result
    raised = parts.add("exp", ExpOp(shifted)).result
    return shifted, raised, parts.add("sum", ReduceSumOp(raised, axes)).result


def _softmax(op: SoftmaxOp, parts: Parts) -> Results:
    """`e^(x - max)` over its sum."""
    _, raised, total = _raised(op, parts)
    return [parts.add("div", DivOp(raised, total)).result]


def _log_softmax(op: LogSoftmaxOp, parts: Parts) -> Results:
    """`x - max`, less the logarithm of the sum of its exponential."""
    shifted, _, total = _raised(op, parts)
    return [parts.add("sub", SubOp(shifted, parts.add("log", LogOp(total)).result)).result]


COMPOSITES: dict[type[Operation], Decompose] = {SoftmaxOp: _softmax, LogSoftmaxOp: _log_softmax}
