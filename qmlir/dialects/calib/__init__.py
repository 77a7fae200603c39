"""The `calib` dialect: what quantization needs to know of values, and what it learns."""

from xdsl.ir import Dialect

from qmlir.dialects.calib.ops import OPERATIONS
from qmlir.dialects.calib.types import StatsAttr

Calib = Dialect("calib", list(OPERATIONS), [StatsAttr])
