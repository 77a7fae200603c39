"""Arithmetic around operations that compare numbers, or choose scales by them: it stays in float.

Trees compare elements with thresholds; an ONNX island compares or sorts them by unknown rules, such as scores and boxes
of a detector; dynamic quantization takes its scale from them. Rounding their operands saves no product. A scale that
only a run knows multiplies the integers of a product, and stays as exact as a scale in a type.
"""

from collections.abc import Set

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.ops.dynamic import DynamicQuantizeOp
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, ReadsExactNumbers
from qmlir.quantization.profiles.keys import is_constant

REASON = FloatCause.EXACT_READER.reason()
DYNAMIC = FloatCause.DYNAMIC_SCALE.reason()


def read_exactly(function: FuncOp) -> Set[Operation]:
    """The operations but products whose results nothing but such readers has, through others like them."""
    found = set[Operation]()
    for op in reversed(list(function.walk())):
        if not isinstance(op, Quantizable) or isinstance(op, MultipliesAndAdds) or _is_reader(op):
            continue
        users = [use.operation for result in op.results for use in result.uses]
        if users and all(_is_reader(user) or user in found for user in users):
            found.add(op)
    return found


def scales_dynamically(function: FuncOp) -> Set[Operation]:
    """The operations that compute with scales of dynamic quantizations; a scale times constants is a scale."""
    scales: set[SSAValue] = {op.scale for op in function.walk() if isinstance(op, DynamicQuantizeOp)}
    found = set[Operation]()
    for op in function.walk():
        if not isinstance(op, Quantizable) or scales.isdisjoint(op.operands):
            continue
        found.add(op)
        if all(
            value in scales or (isinstance(value.owner, Operation) and is_constant(value.owner))
            for value in op.operands
        ):
            scales.update(op.results)
    return found


def _is_reader(op: Operation) -> bool:
    return op.has_trait(ReadsExactNumbers, value_if_unregistered=False)
