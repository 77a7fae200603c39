"""Writes the tensors and operators of a graph as a FlatBuffer in the schema of LiteRT."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import flatbuffers
import numpy as np
import numpy.typing as npt
import tflite

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.litert.model import DTYPES, IDENTIFIER, VERSION

_ELEMENTS = {dtype: name for name, dtype in DTYPES.items()}
"""The name of the element type of each NumPy type."""

_ALIGNMENT = 16
"""The alignment of the elements of a constant in the file, which LiteRT requires."""


@dataclass(frozen=True)
class TensorParameters:
    """The quantization parameters of a tensor: one scale and zero point, or one for each index of `axis`."""

    scales: npt.NDArray[np.float32]
    zero_points: npt.NDArray[np.int64]
    axis: int = 0


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: its name, shape, element type (a NumPy type) and parameters, and its elements if it is constant."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    parameters: TensorParameters | None = None
    data: Array | None = None


@dataclass(frozen=True)
class Operator:
    """An operator: its name and version in the schema, its tensors (-1 for an omitted input), and its options."""

    name: str
    version: int
    inputs: Sequence[int]
    outputs: Sequence[int]
    kind: str = ""
    """The type of the options, such as `Conv2DOptions`; empty for an operator without options."""

    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The options by their names in the schema, such as `stride_w`: numbers, flags and lists of integers."""


@dataclass
class Graph:
    """A graph under construction."""

    tensors: list[Tensor] = field(default_factory=list[Tensor])
    operators: list[Operator] = field(default_factory=list[Operator])
    inputs: list[int] = field(default_factory=list[int])
    outputs: list[int] = field(default_factory=list[int])
    names: set[str] = field(default_factory=set[str])

    def add(self, tensor: Tensor) -> int:
        """Adds a tensor and returns its index; a name that exists gets a number."""
        name, number = tensor.name, 1
        while name in self.names:
            name, number = f"{tensor.name}_{number}", number + 1
        self.names.add(name)
        self.tensors.append(replace(tensor, name=name))
        return len(self.tensors) - 1


def serialized(graph: Graph, description: str) -> bytes:
    """Returns the file of a graph."""
    builder: Any = flatbuffers.Builder(1 << 16)
    buffers = [
        _buffer(builder, None),
        *(_buffer(builder, each.data) for each in graph.tensors if each.data is not None),
    ]
    codes = sorted({(each.name, each.version) for each in graph.operators})
    places = iter(range(1, len(buffers)))
    tensors = [_tensor(builder, each, 0 if each.data is None else next(places)) for each in graph.tensors]
    operators = [_operator(builder, each, codes.index((each.name, each.version))) for each in graph.operators]
    subgraph = _table(
        builder, "SubGraph", tensors=_tables(builder, tensors), inputs=_numbers(builder, graph.inputs, np.int32),
        outputs=_numbers(builder, graph.outputs, np.int32), operators=_tables(builder, operators),
        name=builder.CreateString("main"),
    )  # fmt: skip
    model = _table(
        builder, "Model", version=VERSION, operator_codes=_tables(builder, [_code(builder, *each) for each in codes]),
        subgraphs=_tables(builder, [subgraph]), description=builder.CreateString(description),
        buffers=_tables(builder, buffers),
    )  # fmt: skip
    builder.Finish(model, IDENTIFIER)
    return bytes(builder.Output())


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _table(builder: Any, kind: str, **fields: Any) -> int:
    """Adds a table of the schema; its strings, vectors and tables must have been added."""
    getattr(tflite, f"{kind}Start")(builder)
    for name, value in fields.items():
        if value is not None:
            getattr(tflite, f"{kind}Add{_camel(name)}")(builder, value)
    return getattr(tflite, f"{kind}End")(builder)


def _tables(builder: Any, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def _numbers(builder: Any, numbers: npt.ArrayLike, dtype: npt.DTypeLike) -> int:
    return builder.CreateNumpyVector(np.asarray(numbers, dtype).reshape(-1))


def _buffer(builder: Any, data: Array | None) -> int:
    if data is None:
        return _table(builder, "Buffer")
    held = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
    builder.StartVector(1, len(held), _ALIGNMENT)
    builder.head = builder.Head() - len(held)
    builder.Bytes[builder.Head() : builder.Head() + len(held)] = held.tobytes()
    return _table(builder, "Buffer", data=builder.EndVector())


def _code(builder: Any, name: str, version: int) -> int:
    number = getattr(tflite.BuiltinOperator, name)
    old = min(number, 127)  # the field of 8 bits in files before version 3a
    return _table(builder, "OperatorCode", deprecated_builtin_code=old, version=version, builtin_code=number)


def _tensor(builder: Any, tensor: Tensor, buffer: int) -> int:
    parameters, quantization = tensor.parameters, None
    if parameters is not None:
        scales = _numbers(builder, parameters.scales, np.float32)
        zero_points = _numbers(builder, parameters.zero_points, np.int64)
        quantization = _table(
            builder, "QuantizationParameters", scale=scales, zero_point=zero_points,
            quantized_dimension=parameters.axis,
        )  # fmt: skip
    shape, name = _numbers(builder, tensor.shape, np.int32), builder.CreateString(tensor.name)
    kind = getattr(tflite.TensorType, _ELEMENTS[tensor.dtype])
    return _table(builder, "Tensor", shape=shape, type=kind, buffer=buffer, name=name, quantization=quantization)


def _operator(builder: Any, operator: Operator, code: int) -> int:
    options: int | None = None
    if operator.kind:
        held = {
            name: _numbers(builder, cast(Sequence[int], value), np.int32) if isinstance(value, list | tuple) else value
            for name, value in operator.options.items()
        }
        options = _table(builder, operator.kind, **held)
    inputs, outputs = (_numbers(builder, each, np.int32) for each in (operator.inputs, operator.outputs))
    return _table(
        builder, "Operator", opcode_index=code, inputs=inputs, outputs=outputs,
        builtin_options_type=getattr(tflite.BuiltinOptions, operator.kind) if operator.kind else None,
        builtin_options=options,
    )  # fmt: skip
