"""Builds LiteRT files of a few operators, with the generated builders of the package `tflite`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt
import tflite


@dataclass
class LiteValue:
    """A tensor: its shape and NumPy type, its scales and zero points, and its elements if it is constant."""

    shape: Sequence[int]
    dtype: str = "int8"
    scale: Any = None
    zero_point: Any = 0
    data: npt.NDArray[Any] | None = None
    axis: int = 0
    variable: bool = False
    name: str = ""


@dataclass
class LiteCall:
    """An operator: its name, the indices of its tensors, and the class and the values of its options."""

    operator: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    options: str = ""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    version: int = 1


def _vector(builder: Any, array: npt.ArrayLike, dtype: str) -> int:
    return builder.CreateNumpyVector(np.asarray(array, dtype).reshape(-1))


def _tables(builder: Any, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def _table(builder: Any, kind: str, fields: Mapping[str, Any]) -> int:
    getattr(tflite, f"{kind}Start")(builder)
    for name, value in fields.items():
        if value is not None:
            getattr(tflite, f"{kind}Add{name}")(builder, value)
    return getattr(tflite, f"{kind}End")(builder)


def _tensor(builder: Any, value: LiteValue, index: int, buffer: int) -> int:
    quantization = None
    if value.scale is not None:
        scales = np.atleast_1d(np.asarray(value.scale, np.float32))
        parts = {
            "Scale": _vector(builder, scales, "float32"),
            "ZeroPoint": _vector(builder, np.broadcast_to(value.zero_point, scales.shape), "int64"),
        }
        quantization = _table(builder, "QuantizationParameters", {**parts, "QuantizedDimension": value.axis})
    name = builder.CreateString(value.name or f"t{index}")
    fields = {
        "Shape": _vector(builder, value.shape, "int32"),
        "Type": getattr(tflite.TensorType, value.dtype.upper()),
        "Buffer": buffer,
        "Name": name,
        "Quantization": quantization,
        "IsVariable": value.variable or None,
        "HasRank": True,
    }
    return _table(builder, "Tensor", fields)


def _stored(data: npt.NDArray[Any], dtype: str) -> bytes:
    if dtype != "int4":
        return np.ascontiguousarray(data, dtype).tobytes()
    halves = np.append(data.reshape(-1).astype(np.uint8) & 15, [0] * (data.size % 2)).astype(np.uint8)
    return (halves[::2] | halves[1::2] << 4).tobytes()


def _options(builder: Any, call: LiteCall) -> int:
    values = {
        name: _vector(builder, each, "int32") if isinstance(each, list) else each for name, each in call.values.items()
    }
    named = {"".join(part.capitalize() for part in name.split("_")): each for name, each in values.items()}
    return _table(builder, call.options, named)


def lite_model(
    values: Sequence[LiteValue], calls: Sequence[LiteCall], inputs: Sequence[int], outputs: Sequence[int]
) -> bytes:
    """Returns the bytes of a file with one graph."""
    builder: Any = flatbuffers.Builder(1024)
    buffers, tensors = [_table(builder, "Buffer", {})], []
    for index, value in enumerate(values):
        if value.data is not None:
            data = _stored(value.data, value.dtype)
            buffers.append(
                _table(builder, "Buffer", {"Data": _vector(builder, np.frombuffer(data, np.uint8), "uint8")})
            )
        tensors.append(_tensor(builder, value, index, len(buffers) - 1 if value.data is not None else 0))
    codes, operators = [], []
    for call in calls:
        code = -1 if call.operator.startswith("CUSTOM") else getattr(tflite.BuiltinOperator, call.operator)
        custom = builder.CreateString(call.operator.partition(" ")[2]) if code < 0 else None
        code = tflite.BuiltinOperator.CUSTOM if code < 0 else code
        fields = {"DeprecatedBuiltinCode": min(code, 127), "CustomCode": custom, "Version": call.version}
        codes.append(_table(builder, "OperatorCode", {**fields, "BuiltinCode": code}))
        options = _options(builder, call) if call.options else None
        fields = {
            "OpcodeIndex": len(codes) - 1,
            "Inputs": _vector(builder, call.inputs, "int32"),
            "Outputs": _vector(builder, call.outputs, "int32"),
            "BuiltinOptionsType": getattr(tflite.BuiltinOptions, call.options) if call.options else None,
            "BuiltinOptions": options,
        }
        operators.append(_table(builder, "Operator", fields))
    graph = {
        "Tensors": _tables(builder, tensors),
        "Inputs": _vector(builder, inputs, "int32"),
        "Outputs": _vector(builder, outputs, "int32"),
        "Operators": _tables(builder, operators),
    }
    subgraphs = _tables(builder, [_table(builder, "SubGraph", graph)])
    parts = {
        "OperatorCodes": _tables(builder, codes),
        "Subgraphs": subgraphs,
        "Description": builder.CreateString("test"),
        "Buffers": _tables(builder, buffers),
    }
    model = _table(builder, "Model", {"Version": 3, **parts})
    builder.Finish(model, b"TFL3")
    return bytes(builder.Output())
