"""What an ONNX island alone reads: arithmetic that prepares its data stays in float.

An island takes floats, and compares or sorts them by rules that are not known here: thresholds of trees, scores and
boxes of a detector. To round what goes in saves no product.
"""

from collections.abc import Set

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.dialects.nn.ops.island import OnnxIslandOp
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable

REASON = "is read by an ONNX island alone, which takes floats"


def read_by_islands(function: FuncOp) -> Set[Operation]:
    """The operations of `function` but products whose results nothing but islands reads, through others like them."""
    found = set[Operation]()
    for op in reversed(list(function.walk())):
        if not isinstance(op, Quantizable) or isinstance(op, OnnxIslandOp | MultipliesAndAdds):
            continue
        users = [use.operation for result in op.results for use in result.uses]
        if users and all(isinstance(user, OnnxIslandOp) or user in found for user in users):
            found.add(op)
    return found
