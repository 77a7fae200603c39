"""The `simd` dialect: what one core does with a register tile, and `arith` on vectors has no word for."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.simd import lanes, memory

Simd = Dialect("simd", operations_in(memory, lanes), [])
