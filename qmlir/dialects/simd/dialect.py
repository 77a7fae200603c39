"""The `simd` dialect: operations on register tiles of a single core that `arith` on vectors lacks."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.simd import lanes, memory

Simd = Dialect("simd", operations_in(memory, lanes), [])
