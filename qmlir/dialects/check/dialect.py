"""The `check` dialect: assertions with which a `.mlir` test states the values that it expects."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.check import ops

Check = Dialect("check", operations_in(ops), [])
