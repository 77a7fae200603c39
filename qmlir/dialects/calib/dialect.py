"""The `calib` dialect: observation of values for quantization, and trainable quantization parameters."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.calib import ops
from qmlir.dialects.calib.types import StatsAttr

Calib = Dialect("calib", operations_in(ops), [StatsAttr])
