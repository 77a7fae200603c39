"""Text has no form in loops."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from qmlir.dialects.kernel.lowering.lowering import Lower, Lowering
from qmlir.dialects.nn.ops import text as ops


def _text(op: Operation, at: Lowering) -> Sequence[SSAValue]:
    raise at.error("works on text, which has no form in loops: only tensors of numbers have")


LOWERINGS: dict[type[Operation], Lower] = dict.fromkeys(ops.OPERATIONS, _text)
