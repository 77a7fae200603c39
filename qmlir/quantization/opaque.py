"""What only operations read that compare its numbers: arithmetic that prepares their data stays in float.

Trees compare elements with thresholds; an ONNX island compares or sorts them by rules that are not known here, such as
scores and boxes of a detector. To round what goes in saves no product.
"""

from collections.abc import Set

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable, ReadsExactNumbers

REASON = "is read only by what takes exact floats: trees, ONNX islands"


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


def _is_reader(op: Operation) -> bool:
    return op.has_trait(ReadsExactNumbers, value_if_unregistered=False)
