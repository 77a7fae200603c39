"""The `kernel` dialect: the structured integer and float computations of the CPU target, everything in the open."""

from xdsl.ir import Dialect

from qmlir.dialects.kernel import by_rows, hand_made, packed_ops, rows, winograd
from qmlir.dialects.kernel.attributes import ATTRIBUTES
from qmlir.dialects.kernel.ops import OPERATIONS

Kernel = Dialect(
    "kernel",
    [
        *OPERATIONS,
        *winograd.OPERATIONS,
        *packed_ops.OPERATIONS,
        *hand_made.OPERATIONS,
        *rows.OPERATIONS,
        *by_rows.OPERATIONS,
    ],
    list(ATTRIBUTES),
)
