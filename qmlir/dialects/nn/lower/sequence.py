"""Sequences have no form in loops: a model keeps only those whose lengths depend on its data."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.nn.ops import sequence as ops


def _sequence(op: Operation, at: Lowering) -> Sequence[SSAValue]:
    raise at.error("works on a sequence, which has no form in loops: only tensors of numbers have")


LOWERINGS: dict[type[Operation], Lower] = dict.fromkeys(ops.OPERATIONS, _sequence)
