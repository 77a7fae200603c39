"""The `check` dialect: what a test expects, so that a `.mlir` file states numbers."""

from xdsl.ir import Dialect

from qmlir.dialects.check.ops import OPERATIONS

Check = Dialect("check", list(OPERATIONS), [])
