"""The `quant` dialect of upstream MLIR, which expresses quantization in the type of a value."""

from xdsl.ir import Dialect

from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import AnyQuantizedType, CalibratedQuantizedType, UniformQuantizedType

Quant = Dialect(
    "quant",
    [QuantizeCastOp, DequantizeCastOp, StorageCastOp],
    [AnyQuantizedType, CalibratedQuantizedType, UniformQuantizedType],
)
