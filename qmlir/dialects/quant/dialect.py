"""The `quant` dialect of upstream MLIR, which expresses quantization in the type of a value."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.quant import ops
from qmlir.dialects.quant.types import AnyQuantizedType, CalibratedQuantizedType, UniformQuantizedType

Quant = Dialect("quant", operations_in(ops), [AnyQuantizedType, CalibratedQuantizedType, UniformQuantizedType])
