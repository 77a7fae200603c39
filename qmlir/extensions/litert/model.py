"""The content of a LiteRT file as plain values: tensors, operators and graphs, with all indices checked.

Tables of the schema (`tensorflow/compiler/mlir/lite/schema/schema.fbs`) are read by the numbers of their fields. The
options of operators are objects of the package `tflite`, which knows their names and defaults.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import tflite

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.litert.flatbuffer import MalformedError, Table, root
from qmlir.formats.types import shape_fault
from qmlir.ir.diagnostics import text_error
from qmlir.text.files import mistaken_for, note_input, read_given, reason_of

IDENTIFIER = b"TFL3"
"""The bytes 4 to 7 of a file."""

VERSION = 3
"""The version of the schema."""


def _names(enumeration: Any) -> dict[int, str]:
    held = cast(dict[str, object], vars(enumeration))
    return {number: name for name, number in held.items() if isinstance(number, int)}


OPERATORS = _names(tflite.BuiltinOperator)
"""The name of each built-in operator."""

ELEMENTS = _names(tflite.TensorType)
"""The name of each element type."""

_OPTIONS = _names(tflite.BuiltinOptions)

DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    **{name.upper(): np.dtype(name) for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64")},
    **{name.upper(): np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
}
"""The NumPy type of each element type that can be constant."""


@dataclass(frozen=True, eq=False)
class LiteTensor:
    """A tensor of a graph: its name, type and quantization parameters, and its elements if it is constant."""

    index: int
    name: str
    shape: tuple[int, ...]
    element: str
    """The name of the element type, such as `INT8`."""

    scales: Sequence[float]
    """One scale, one for each index of `axis`, or none if the tensor isn't quantized."""

    zero_points: Sequence[int]
    axis: int
    is_variable: bool
    data: bytes | None
    """The elements of a constant in row-major order."""

    fault: str = ""
    """The reason why operators can't use the tensor, or an empty string."""

    is_narrow: bool = False
    """Whether the elements have 4 bits in the file; `data` has them as bytes."""

    @property
    def array(self) -> Array:
        """The elements of a constant, read-only."""
        assert self.data is not None
        return np.frombuffer(self.data, DTYPES[self.element]).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class LiteOperator:
    """An operator of a graph: its name, and the indices of its tensors (-1 for an omitted input)."""

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any
    """The object of the options, such as `tflite.Conv2DOptions`, or `None`."""

    table: Table | None
    """The table of the options, to read vectors."""


@dataclass(frozen=True, eq=False)
class LiteGraph:
    """A graph: its tensors, its operators in the order in which they run, and the indices of inputs and outputs."""

    tensors: Sequence[LiteTensor]
    operators: Sequence[LiteOperator]
    inputs: Sequence[int]
    outputs: Sequence[int]


@dataclass(frozen=True, eq=False)
class LiteModel:
    """A model, and its name for messages."""

    name: str
    description: str
    graphs: Sequence[LiteGraph]


def read_model(path: Path) -> LiteModel:
    """Reads a model from a file. Raises `DiagnosticError` if the file doesn't contain a model."""
    try:
        note_input(path)
        content = read_given(path)
    except OSError as error:
        raise text_error(f"cannot read '{path}': {reason_of(error)}") from error
    if content[4:8] != IDENTIFIER and (instead := mistaken_for(content)):
        raise text_error(f"'{path}' is not a LiteRT model but {instead}")
    try:
        return _model(root(content, IDENTIFIER), str(path))
    except MalformedError as error:
        raise text_error(f"'{path}' is not a LiteRT model: {error}") from error


def _model(table: Table, name: str) -> LiteModel:
    if (version := table.number(0, "<I")) != VERSION:
        raise MalformedError(f"its version must be {VERSION}, but is {version}")
    codes = [_code(each) for each in table.tables(1)]
    buffers = [_buffer(each) for each in table.tables(4)]
    graphs = [_graph(each, codes, buffers) for each in table.tables(2)]
    if not graphs:
        raise MalformedError("it has no graph")
    return LiteModel(name, table.text(3), graphs)


def _code(table: Table) -> str:
    """Returns the name of an operator: that of a built-in one, or `CUSTOM name`."""
    # Old files have a field of 8 bits; a number above 127 is only in the new field.
    code = max(table.number(0, "<b"), table.number(3, "<i"))
    name = OPERATORS.get(code, f"operator {code}")
    return f"CUSTOM {table.text(1)}" if name == "CUSTOM" else name


def _buffer(table: Table) -> bytes:
    """Returns the bytes of a buffer, which may be outside the FlatBuffer of a large model."""
    data, offset, size = table.buffer.data, table.number(1, "<Q"), table.number(2, "<Q")
    if offset > 1:
        if offset + size > len(data):
            raise MalformedError(f"a buffer of {size} bytes at {offset} is outside the file")
        return data[offset : offset + size]
    start, length = table.span(0)
    return data[start : start + length]


def _graph(table: Table, codes: Sequence[str], buffers: Sequence[bytes]) -> LiteGraph:
    tensors = [_tensor(each, index, buffers) for index, each in enumerate(table.tables(0))]

    def indices(numbers: Array, lowest: int) -> tuple[int, ...]:
        found = tuple(int(number) for number in numbers)
        if any(not lowest <= number < len(tensors) for number in found):
            raise MalformedError(f"tensors {list(found)[:10]} are not among its {len(tensors)} tensors")
        return found

    operators: list[LiteOperator] = []
    for index, each in enumerate(table.tables(3)):
        code = int(each.number(0, "<I"))
        if code >= len(codes):
            raise MalformedError(f"operator {index} has code {code}, but there are {len(codes)} codes")
        inputs, outputs = indices(each.numbers(1, "i4"), -1), indices(each.numbers(2, "i4"), 0)
        options, details = _options(each)
        operators.append(LiteOperator(index, codes[code], inputs, outputs, options, details))
    ports = (indices(table.numbers(slot, "i4"), 0) for slot in (1, 2))
    return LiteGraph(tensors, operators, *ports)


def _options(table: Table) -> tuple[Any, Table | None]:
    """Returns the object that reads the options of an operator, and their table."""
    details, kind = table.table(4), getattr(tflite, _OPTIONS.get(table.number(3, "<B"), "NONE"), None)
    if details is None or not isinstance(kind, type):
        return None, None
    options: Any = kind()
    options.Init(table.buffer.data, details.position)
    return options, details


def option(options: Any, name: str) -> Any:
    """Returns an option by its name in the schema, such as `stride_w`. Raises `MalformedError`."""
    accessor = "".join(part.capitalize() for part in name.split("_"))
    read = getattr(options, accessor, None)
    if read is None:
        raise MalformedError(f"its options are {type(options).__name__}, which have no '{name}'")
    try:
        return read()
    except struct.error as error:
        raise MalformedError(f"its option '{name}' is outside the file") from error


def _tensor(table: Table, index: int, buffers: Sequence[bytes]) -> LiteTensor:
    name, shape = table.text(3) or f"tensor{index}", tuple(int(size) for size in table.numbers(0, "i4"))
    if (fault := shape_fault(shape)) is not None or any(size < 0 for size in shape):
        raise MalformedError(f"tensor '{name}' has {fault or f'the invalid shape {list(shape)}'}")
    element = ELEMENTS.get(kind := table.number(1, "<b"), f"type {kind}")
    position = int(table.number(2, "<I"))
    if position >= len(buffers):
        raise MalformedError(f"tensor '{name}' has buffer {position}, but there are {len(buffers)} buffers")
    data, reason = buffers[position], ""
    count = int(np.prod(shape, dtype=np.int64))
    if is_narrow := element == "INT4" and bool(data):
        element, data = "INT8", _unpacked(data, count, name)
    dtype = DTYPES.get(element)
    if table.table(6) is not None:
        reason = "sparse tensors are not supported"
    elif dtype is None:
        reason = f"elements of {element} are not supported"
    elif data and len(data) != count * dtype.itemsize:
        raise MalformedError(
            f"tensor '{name}' of shape {list(shape)} must have {count * dtype.itemsize} bytes, but got {len(data)}"
        )
    scales, zero_points, axis = _quantization(table.table(4), name, shape)
    is_constant = (bool(data) or (count == 0 and position > 0)) and not reason
    is_variable, held = bool(table.number(5, "<B")), data if is_constant else None
    return LiteTensor(index, name, shape, element, scales, zero_points, axis, is_variable, held, reason, is_narrow)


def _unpacked(data: bytes, count: int, name: str) -> bytes:
    """Returns constants of 4 bits as bytes; the lower half of a byte is the first element."""
    if len(data) != (count + 1) // 2:
        raise MalformedError(f"tensor '{name}' of {count} elements of 4 bits has {len(data)} bytes")
    packed = np.frombuffer(data, np.int8)
    halves = np.stack([(packed << 4).astype(np.int8) >> 4, packed >> 4], 1)
    return halves.reshape(-1)[:count].tobytes()


def _quantization(table: Table | None, name: str, shape: Sequence[int]) -> tuple[list[float], list[int], int]:
    """Returns the scales, the zero points and the axis of a tensor; no scales if it isn't quantized."""
    if table is None:
        return [], [], 0
    scales, zero_points = table.numbers(2, "f4"), table.numbers(3, "i8")
    axis = table.number(6, "<i")
    if not len(scales):
        return [], [], 0
    if not len(zero_points):
        zero_points = np.zeros(len(scales), np.int64)
    if table.number(4, "<B"):
        raise MalformedError(f"tensor '{name}' has quantization parameters of an unknown kind")
    if len(zero_points) != len(scales):
        raise MalformedError(f"tensor '{name}' has {len(scales)} scales and {len(zero_points)} zero points")
    if len(scales) > 1 and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
        raise MalformedError(f"tensor '{name}' of shape {list(shape)} has {len(scales)} scales along axis {axis}")
    if not (np.isfinite(scales) & (scales >= 0)).all():
        raise MalformedError(f"tensor '{name}' has a scale that is negative or not finite")
    return cast(npt.NDArray[np.float32], scales).tolist(), zero_points.tolist(), axis
