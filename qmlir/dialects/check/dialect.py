"""The `check` dialect: what a test expects, so that a `.mlir` file states numbers."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.check import ops

Check = Dialect("check", operations_in(ops), [])
