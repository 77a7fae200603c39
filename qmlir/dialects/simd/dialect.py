"""The `simd` dialect: operations on the register tiles of a single core that `arith` on vectors does not provide."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.simd import lanes, memory

Simd = Dialect("simd", operations_in(memory, lanes), [])
