"""Conversion between ONNX data types and element types of `nn`."""

from onnx import TensorProto
from xdsl.dialects import builtin
from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, bf16, f16, f32, f64, i1
from xdsl.ir import Attribute

from qmlir.dialects.nn.types import StringType

_BITS = (2, 4, 8, 16, 32, 64)

ELEMENT_TYPES: dict[int, Attribute] = {
    TensorProto.FLOAT16: f16, TensorProto.BFLOAT16: bf16, TensorProto.FLOAT: f32, TensorProto.DOUBLE: f64,
    TensorProto.BOOL: i1, TensorProto.STRING: StringType(),
    **{TensorProto.DataType.Value(f"INT{bits}"): IntegerType(bits) for bits in _BITS},
    **{TensorProto.DataType.Value(f"UINT{bits}"): IntegerType(bits, Signedness.UNSIGNED) for bits in _BITS},
    TensorProto.FLOAT4E2M1: builtin.Float4E2M1FNType(), TensorProto.FLOAT6E2M3: builtin.Float6E2M3FNType(),
    TensorProto.FLOAT6E3M2: builtin.Float6E3M2FNType(), TensorProto.FLOAT8E4M3FN: builtin.Float8E4M3FNType(),
    TensorProto.FLOAT8E4M3FNUZ: builtin.Float8E4M3FNUZType(), TensorProto.FLOAT8E5M2: builtin.Float8E5M2Type(),
    TensorProto.FLOAT8E5M2FNUZ: builtin.Float8E5M2FNUZType(), TensorProto.FLOAT8E8M0: builtin.Float8E8M0FNUType(),
}  # fmt: skip
"""The element type of each ONNX data type that `nn` supports."""

DATA_TYPES: dict[Attribute, int] = {element: data_type for data_type, element in ELEMENT_TYPES.items()}
"""The ONNX data type of each element type."""

SUB_BYTE: dict[int, int] = {
    data_type: element.bitwidth
    for data_type, element in ELEMENT_TYPES.items()
    if isinstance(element, IntegerType | AnyFloat) and 1 < element.bitwidth < 8
}
"""ONNX data types that are packed, starting at the lowest bit, and the bits per element."""

SINCE: dict[int, int] = {
    TensorProto.FLOAT4E2M1: 23, TensorProto.FLOAT8E8M0: 24, TensorProto.INT2: 25, TensorProto.UINT2: 25,
    TensorProto.FLOAT6E2M3: 28, TensorProto.FLOAT6E3M2: 28,
}  # fmt: skip
"""The first operator set that supports a data type, for data types that were added later."""

_NAMES = {value: key for key, value in TensorProto.DataType.items()}


def data_type_name(data_type: int) -> str:
    """Returns ONNX's name of a data type, such as `FLOAT8E4M3FN`."""
    return _NAMES.get(data_type, f"data type {data_type}")
