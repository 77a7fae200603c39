"""The `simd` dialect: what one core does with a register tile, and `arith` on vectors has no word for."""

from xdsl.ir import Dialect

from qmlir.dialects.simd.ops import OPERATIONS

Simd = Dialect("simd", list(OPERATIONS), [])
