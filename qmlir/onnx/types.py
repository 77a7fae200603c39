"""Element types of ONNX and of `nn`: one table."""

from onnx import TensorProto
from xdsl.dialects.builtin import IntegerType, Signedness, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from qmlir.dialects.nn.types import StringType


def _unsigned(bits: int) -> IntegerType:
    return IntegerType(bits, Signedness.UNSIGNED)


ELEMENT_TYPES: dict[int, Attribute] = {
    TensorProto.FLOAT16: f16,
    TensorProto.BFLOAT16: bf16,
    TensorProto.FLOAT: f32,
    TensorProto.DOUBLE: f64,
    TensorProto.BOOL: i1,
    TensorProto.INT2: IntegerType(2),
    TensorProto.INT4: IntegerType(4),
    TensorProto.INT8: i8,
    TensorProto.INT16: i16,
    TensorProto.INT32: i32,
    TensorProto.INT64: i64,
    TensorProto.UINT2: _unsigned(2),
    TensorProto.UINT4: _unsigned(4),
    TensorProto.UINT8: _unsigned(8),
    TensorProto.UINT16: _unsigned(16),
    TensorProto.UINT32: _unsigned(32),
    TensorProto.UINT64: _unsigned(64),
    TensorProto.STRING: StringType(),
}
"""ONNX's data types that an `nn` value can have."""

DATA_TYPES: dict[Attribute, int] = {element: data_type for data_type, element in ELEMENT_TYPES.items()}
"""The other way round."""

SUB_BYTE = frozenset({TensorProto.INT2, TensorProto.INT4, TensorProto.UINT2, TensorProto.UINT4})
"""ONNX's data types that are packed, several values in a byte."""

_NAMES = {value: key for key, value in TensorProto.DataType.items()}


def data_type_name(data_type: int) -> str:
    """ONNX's name of a data type: `FLOAT8E4M3FN`."""
    return _NAMES.get(data_type, f"data type {data_type}")
