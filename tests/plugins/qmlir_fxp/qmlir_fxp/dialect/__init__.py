"""The dialect `fxp`: instructions on tensors of integers whose widths are in their types, and `fxp.conv_block`."""

from xdsl.ir import Dialect

from qmlir.levels import LevelMembership
from qmlir_fxp.dialect.block import ConvBlockOp
from qmlir_fxp.dialect.ops import INSTRUCTIONS

LEVELS = frozenset({"graph", "primitive", "profiled", "quantized", "integer"})
"""The block stands wherever an operation of the model does, the instructions at the integer level."""

Fxp = Dialect("fxp", [ConvBlockOp, *INSTRUCTIONS], [], [LevelMembership(LEVELS)])
