"""The `check` dialect: assertions, so that a `.mlir` test states its expected numbers."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.check import ops

Check = Dialect("check", operations_in(ops), [])
