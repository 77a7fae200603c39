"""Reads an archive of `torch.export.save`: its graph as plain values, and its weights as arrays.

An archive is a zip file of uncompressed entries: the graph is JSON (`models/model.json`), and the storage of each
weight is a separate entry. Nothing is unpickled: pickled sample inputs are never opened, and pickled weights are
rejected.
"""

import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.pt2.sizes import Size, parsed_size
from qmlir.formats.types import shape_fault
from qmlir.ir.diagnostics import text_error

SCHEMA = 8
"""The major version of the schema (`torch/_export/serde/schema.py`)."""

ELEMENTS: Mapping[int, tuple[Attribute, Any]] = {
    1: (IntegerType(8, Signedness.UNSIGNED), np.uint8),
    2: (IntegerType(8), np.int8),
    3: (IntegerType(16), np.int16),
    4: (IntegerType(32), np.int32),
    5: (IntegerType(64), np.int64),
    6: (f16, np.float16),
    7: (f32, np.float32),
    8: (f64, np.float64),
    12: (i1, np.bool_),
    13: (bf16, ml_dtypes.bfloat16),
    28: (IntegerType(16, Signedness.UNSIGNED), np.uint16),
    29: (Float8E4M3FNType(), ml_dtypes.float8_e4m3fn),
    30: (Float8E5M2Type(), ml_dtypes.float8_e5m2),
}
"""The element type of each number of the schema's `ScalarType`, and its NumPy type."""

_Value = TypeVar("_Value")


class ArchiveError(Exception):
    """The content of an archive is invalid."""


@dataclass(frozen=True)
class TensorMeta:
    """The declared element type and sizes of a tensor."""

    element: Attribute
    dtype: np.dtype[Any]
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Argument:
    """An argument of a node: its kind in the schema, such as `as_tensor`, and its value in JSON."""

    kind: str
    value: Any


@dataclass(frozen=True)
class Call:
    """A node of the graph: an operator, its arguments by name, and the names of its outputs."""

    name: str
    target: str
    """The operator, such as `aten.linear.default`."""

    arguments: Mapping[str, Argument]
    outputs: Sequence[str]
    module: str
    """The path of the module that calls the operator, such as `layers.0.attn`."""


@dataclass(frozen=True, eq=False)
class ExportedProgram:
    """The content of an archive: calls in their order, types of tensors, constants, and ranges of dynamic sizes."""

    name: str
    producer: str
    inputs: Sequence[str]
    """The names of the user's inputs."""

    outputs: Sequence[str]
    constants: Mapping[str, tuple[str, Array]]
    """The parameters, buffers and constants by their names in the graph: each with its name in the module."""

    calls: Sequence[Call]
    tensors: Mapping[str, TensorMeta]
    symbols: Mapping[str, Size]
    """The declared sizes of integers that the graph computes, by name."""

    ranges: Mapping[str, tuple[int | None, int | None]]
    """The limits of each dynamic size."""


# Access to JSON, with checks.


def _is(value: Any, kind: type[_Value], what: str) -> _Value:
    """Returns `value`, which must be of type `kind` (a Boolean is no integer)."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ArchiveError(f"{what} must be of type {kind.__name__}, but is {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _field(value: Any, name: str, kind: type[_Value], what: str) -> _Value:
    """Returns a field of an object."""
    found = cast(dict[str, Any], _is(value, dict, what))
    return _is(found.get(name), kind, f"'{name}' of {what}")


def _object(value: Any, name: str, what: str) -> dict[str, Any]:
    """Returns a field of an object that is an object itself."""
    return cast(dict[str, Any], _field(value, name, dict, what))


def _list(value: Any, name: str, what: str) -> list[Any]:
    """Returns a field of an object that is a list."""
    return cast(list[Any], _field(value, name, list, what))


def _variant(value: Any, what: str) -> tuple[str, Any]:
    """Returns the only entry of an object: its key names the kind of the value."""
    found = cast(dict[str, Any], _is(value, dict, what))
    if len(found) != 1:
        raise ArchiveError(f"{what} must have one entry, but is {_shown(found)}")
    return next(iter(found.items()))


def _size(value: Any, what: str) -> Size:
    kind, held = _variant(value, what)
    if kind == "as_int":
        return _is(held, int, what)
    if kind == "as_expr":
        return _expression(_field(held, "expr_str", str, what))
    raise ArchiveError(f"{what} must be an integer or an expression, but is {_shown(value)}")


def _expression(text: str) -> Size:
    try:
        return parsed_size(text)
    except ValueError as error:
        raise ArchiveError(str(error)) from error


def _meta(value: Any, what: str) -> TensorMeta:
    number = _field(value, "dtype", int, what)
    if number not in ELEMENTS:
        raise ArchiveError(f"{what} has the unsupported element type {number}")
    if (layout := _field(value, "layout", int, what)) != 7:
        raise ArchiveError(f"{what} must be dense (layout 7), but has layout {layout}")
    element, dtype = ELEMENTS[number]
    sizes = tuple(_size(each, f"a size of {what}") for each in _list(value, "sizes", what))
    if (fault := shape_fault([size for size in sizes if isinstance(size, int)])) is not None:
        raise ArchiveError(f"{what} has {fault}")
    return TensorMeta(element, np.dtype(dtype), sizes)


# The zip file.


class _Entries:
    """The entries of a zip file, by their names without the name of the folder that contains them all."""

    def __init__(self, content: bytes):
        self._limit = len(content)
        try:
            self._file = zipfile.ZipFile(io.BytesIO(content))
            infos = self._file.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
            raise ArchiveError(f"it must be a zip file ({error})") from error
        self._infos = {info.filename.partition("/")[2]: info for info in infos}
        if sum(info.file_size for info in infos) > self._limit:
            raise ArchiveError("its entries are larger than the file: they are compressed, or overlap")

    def names(self, folder: str) -> list[str]:
        """Returns the names of the entries in a folder."""
        return [name for name in self._infos if name.startswith(folder)]

    def read(self, name: str) -> bytes:
        """Returns the content of an entry."""
        info = self._infos.get(name)
        if info is None:
            raise ArchiveError(f"it has no entry '{name}'")
        if info.compress_type != zipfile.ZIP_STORED:
            raise ArchiveError(f"entry '{name}' is compressed, but torch.export.save compresses nothing")
        try:
            return self._file.read(info)
        except (
            zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, RuntimeError, zlib.error
        ) as error:  # fmt: skip
            raise ArchiveError(f"cannot read entry '{name}': {error}") from error

    def json(self, name: str) -> Any:
        """Returns the value of an entry that contains JSON."""
        try:
            return json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            raise ArchiveError(f"entry '{name}' is not valid JSON ({error})") from error


# The weights.


def _weights(entries: _Entries, folder: str, config: str) -> dict[str, Array]:
    """Returns the arrays that a configuration lists, by name; names of one storage share its bytes."""
    if config not in entries.names(folder):
        return {}
    found: dict[str, Array] = {}
    stored: dict[str, bytes] = {}
    for name, entry in _object(entries.json(config), "config", f"'{config}'").items():
        what = f"weight '{name}'"
        path = _field(entry, "path_name", str, what)
        if _field(entry, "use_pickle", bool, what):
            raise ArchiveError(
                f"{what} is pickled, and pickles are never opened; "
                "convert it to a plain tensor (torch.nn.Parameter(weight.detach().clone())), and export the model again"
            )
        if entry.get("tensor_meta") is None:
            raise ArchiveError(f"{what} must be a tensor, but is an object")
        if path not in stored:
            stored[path] = entries.read(f"{folder}{path}")
        found[name] = _array(stored[path], entry["tensor_meta"], what)
    return found


def _array(data: bytes, value: Any, what: str) -> Array:
    """Returns a tensor in row-major order from its storage, which strides and an offset describe."""
    meta = _meta(value, what)
    numbers = [_size(each, what) for each in _list(value, "strides", what)]
    offset = _size(value.get("storage_offset"), f"the offset of {what}")
    if not all(isinstance(number, int) and number >= 0 for number in (*meta.sizes, *numbers, offset)):
        raise ArchiveError(f"{what} must have constant sizes, strides and an offset of at least 0")
    shape, strides = cast(tuple[int, ...], meta.sizes), cast(list[int], numbers)
    if len(shape) != len(strides):
        raise ArchiveError(f"{what} must have one stride per axis, but has {strides} for {list(shape)}")
    last = cast(int, offset) + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if 0 in shape:
        return np.zeros(shape, meta.dtype)
    count = len(data) // meta.dtype.itemsize
    if last >= count:
        raise ArchiveError(f"{what} of shape {list(shape)} needs {last + 1} elements, but its storage has {count}")
    if math.prod(shape) > count:
        raise ArchiveError(f"{what} of shape {list(shape)} repeats the {count} elements of its storage")
    storage = np.frombuffer(data, meta.dtype, count)[cast(int, offset) :]
    steps = [stride * meta.dtype.itemsize for stride in strides]
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(storage, shape, steps, writeable=False))


# The graph.


def read_archive(content: bytes, name: str) -> ExportedProgram:
    """Returns the program in an archive. Raises `DiagnosticError` if the archive is invalid; `name` is its name."""
    try:
        return _program(_Entries(content), name)
    except ArchiveError as error:
        raise text_error(f"'{name}' is not a program of torch.export.save: {error}") from error


def _program(entries: _Entries, name: str) -> ExportedProgram:
    models = [each for each in entries.names("models/") if each.endswith(".json")]
    if not models:
        older = "serialized_exported_program.json" in "".join(entries.names(""))
        hint = "; torch < 2.8 wrote it: save the program again with a newer torch" if older else ""
        raise ArchiveError(f"it has no entry 'models/….json'{hint}")
    if len(models) > 1:
        raise ArchiveError(f"it has {len(models)} models; save each in a separate file")
    order = entries.read("byteorder") if "byteorder" in entries.names("byteorder") else b"little"
    if order != b"little":
        raise ArchiveError(f"its byte order must be little, but is {_shown(order)}")
    kind = models[0].removeprefix("models/").removesuffix(".json")
    root = entries.json(models[0])
    version = _field(_object(root, "schema_version", "the program"), "major", int, "the schema version")
    if version != SCHEMA:
        raise ArchiveError(f"its schema must have version {SCHEMA}, but has {version}")
    module = _object(root, "graph_module", "the program")
    graph, signature = _object(module, "graph", "the module"), _object(module, "signature", "the module")
    arrays = {
        each: _weights(entries, f"data/{each}/", f"data/{each}/{kind}_{each}_config.json")
        for each in ("weights", "constants")
    }
    inputs, constants = _inputs(_list(signature, "input_specs", "the signature"), arrays)
    outputs = [_output(each) for each in _list(signature, "output_specs", "the signature")]
    symbols = {
        each: _size(value, f"integer '{each}'") for each, value in _object(graph, "sym_int_values", "it").items()
    }
    ranges = {
        each: (_limit(value, "min_val"), _limit(value, "max_val"))
        for each, value in _object(root, "range_constraints", "the program").items()
    }
    tensors = {each: _meta(value, f"tensor '{each}'") for each, value in _object(graph, "tensor_values", "it").items()}
    calls = [_call(each, index) for index, each in enumerate(_list(graph, "nodes", "the graph"))]
    producer = f"torch {root.get('torch_version') or ''}".strip()
    return ExportedProgram(name, producer, inputs, outputs, constants, calls, tensors, symbols, ranges)


def _limit(value: Any, name: str) -> int | None:
    found = cast(dict[str, Any], _is(value, dict, "a range")).get(name)
    return None if found is None else _is(found, int, "a limit")


def _inputs(
    specs: Sequence[Any], arrays: Mapping[str, Mapping[str, Array]]
) -> tuple[list[str], dict[str, tuple[str, Array]]]:
    """Returns the names of the user's inputs, and the constants by name."""
    inputs: list[str] = []
    constants: dict[str, tuple[str, Array]] = {}
    sources = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
    for spec in specs:
        kind, held = _variant(spec, "an input")
        if kind == "user_input":
            form, argument = _variant(_object(held, "arg", "an input"), "an input")
            if form == "as_none":
                continue
            if form != "as_tensor":
                raise ArchiveError(f"an input must be a tensor, but is {form.removeprefix('as_')}")
            inputs.append(_field(argument, "name", str, "an input"))
        elif kind in sources:
            name = _field(_object(held, "arg", "an input"), "name", str, "an input")
            path = _field(held, sources[kind], str, f"'{name}'")
            array = next((each[path] for each in arrays.values() if path in each), None)
            if array is None:
                raise ArchiveError(f"{kind.replace('_', ' ')} '{path}' has no entry among the weights")
            constants[name] = path, array
        elif kind != "constant_input":
            raise ArchiveError(f"an input of kind {kind} is not supported")
    return inputs, constants


def _output(spec: Any) -> str:
    kind, held = _variant(spec, "an output")
    if kind != "user_output":
        fields = cast(dict[str, Any], held) if isinstance(held, dict) else {}
        target = next((each for each in fields.values() if isinstance(each, str)), "")
        raise ArchiveError(f"an output of kind {kind} ({target}) is not supported; export the model in eval()")
    form, argument = _variant(_object(held, "arg", "an output"), "an output")
    if form != "as_tensor":
        raise ArchiveError(f"an output must be a tensor, but is {form.removeprefix('as_')}")
    return _field(argument, "name", str, "an output")


def _call(value: Any, index: int) -> Call:
    what = f"node {index}"
    target = _field(value, "target", str, what).removeprefix("torch.ops.")
    arguments: dict[str, Argument] = {}
    for each in _list(value, "inputs", what):
        name = _field(each, "name", str, f"an argument of {what}")
        kind, held = _variant(_object(each, "arg", f"argument '{name}' of {what}"), f"argument '{name}' of {what}")
        arguments[name] = Argument(kind, held)
    outputs: list[str] = []
    for each in _list(value, "outputs", what):
        kind, held = _variant(each, f"an output of {what}")
        listed = cast(list[Any], _is(held, list, what)) if kind == "as_tensors" else [held]
        field = "as_name" if kind in ("as_sym_int", "as_sym_bool", "as_sym_float") else "name"
        outputs += ["" if kind == "as_none" else _field(one, field, str, f"an output of {what}") for one in listed]
    stack = _object(value, "metadata", what).get("nn_module_stack", "")
    name = value.get("name")
    if not isinstance(name, str):
        name = next((each for each in outputs if each), target)
    return Call(name, target, arguments, outputs, _module(_is(stack, str, what)))


def _module(stack: str) -> str:
    """Returns the path of the innermost module of a stack: entries `key,path,type`, separated by semicolons."""
    parts = stack.rpartition(";")[2].split(",")
    path = parts[1] if len(parts) > 2 else ""
    return "" if path.startswith(("_empty_nn_module", "torch.")) else path
