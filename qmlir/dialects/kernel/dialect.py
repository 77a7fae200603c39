"""The `kernel` dialect: structured integer and float computations of the CPU target, with explicit parameters."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.kernel import contraction, custom, ops, packed_ops, record, rows, winograd
from qmlir.dialects.kernel.attributes import ATTRIBUTES

Kernel = Dialect(
    "kernel", operations_in(ops, contraction, winograd, packed_ops, custom, record, rows), list(ATTRIBUTES)
)
