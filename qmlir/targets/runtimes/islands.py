"""Runs fallback subgraphs (islands): nodes without an `nn` operation, in ONNX Runtime or ONNX's reference evaluator.

An island comes from a model or the text of a module, and is not trusted: it must not refer to files, and no code is
loaded for it. Some operators of ONNX Runtime crash on inputs without elements, such as a batch of 0 samples, so an
island is first run in a subprocess on such inputs.
"""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, TensorProto, TypeProto, defs, helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.dialects.nn.types import SequenceType
from qmlir.interpreter.values import check_value, value_dtype
from qmlir.ir.builtin_types import ranked_tensor, tensor, unranked_tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.onnx.types import DATA_TYPES
from qmlir.targets.runtimes.onnx_runtime import BY_BYTES, PACKAGE, OrtOptions, OrtSession, newest_versions
from qmlir.targets.runtimes.packages import TITLES, is_installed

REFERENCE = "ONNX's reference implementation"

KEPT = 64
"""The maximum number of islands that stay open in a process."""


@dataclass(frozen=True)
class OpenIsland:
    """An island that is ready to run."""

    runtime: str
    """The name of the runtime, for messages."""

    run: Callable[[Sequence[Any]], Sequence[Any]]
    """Computes the outputs from the inputs, both in order, as arrays and lists of arrays."""

    types: tuple[TypeProto, ...]
    """The output types that the runtime infers, possibly incomplete; empty if it infers none."""


def _messages(message: Message) -> Iterator[Message]:
    waiting = [message]
    while waiting:
        each = waiting.pop()
        yield each
        for field, value in each.ListFields():
            if field.message_type is not None:
                waiting.extend([value] if isinstance(value, Message) else value)


def _checked_model(data: bytes) -> ModelProto:
    """Parses the model of an island. Raises `InterpretationError` if it is invalid or refers to files."""
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise InterpretationError("the fallback subgraph contains no ONNX model") from error
    if not model.graph.node:
        raise InterpretationError("the fallback subgraph contains no nodes")
    for each in _messages(model):
        if isinstance(each, TensorProto) and (each.data_location == TensorProto.EXTERNAL or each.external_data):
            raise InterpretationError(
                f"tensor '{each.name}' of the fallback subgraph is stored in a file, which is not allowed"
            )
    return model


def _session(model: ModelProto) -> OrtSession:
    """Creates a session of an island; if ONNX Runtime rejects it, of a copy with dynamic input sizes.

    ONNX Runtime infers types even in branches that are never taken for the given sizes, and rejects a mismatch there.
    """
    try:
        return OrtSession(model.SerializeToString(), OrtOptions())
    except DiagnosticError:
        opened = ModelProto()
        opened.CopyFrom(model)
        for info in opened.graph.input:
            for dim in info.type.tensor_type.shape.dim:
                dim.Clear()
        return OrtSession(opened.SerializeToString(), OrtOptions())


_PROGRAM = """
import json, pickle, sys
sys.path = json.loads(sys.argv[1])
from qmlir.targets.runtimes.islands import run_once
run_once(*pickle.load(sys.stdin.buffer))
"""


def run_once(model: bytes, values: Mapping[str, Any]) -> None:
    """Runs an island on `values` in ONNX Runtime; ignores errors, since the caller runs it again and gets them."""
    with suppress(DiagnosticError):
        _session(_checked_model(model))(values)


def _ends_process(model: ModelProto, values: Mapping[str, Any]) -> bool:
    """Returns true if ONNX Runtime crashes on `values`, for example by a division by zero or a failed assertion."""
    command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)]
    sent = pickle.dumps((model.SerializeToString(), dict(values)))
    return subprocess.run(command, input=sent, capture_output=True, check=False).returncode < 0


def _empty_axes(value: Any) -> Any:
    """Returns, for each axis of a value, True if it is empty; `None` if the value has elements."""
    sizes = np.shape(value)
    return tuple(size == 0 for size in sizes) if 0 in sizes else None


def _in_onnx_runtime(model: ModelProto) -> OpenIsland:
    session = _session(model)
    names = [each.name for each in model.graph.input]
    tried: set[tuple[Any, ...]] = set()

    def run(values: Sequence[Any]) -> Sequence[Any]:
        empty = tuple(None if isinstance(each, list | tuple) else _empty_axes(each) for each in values)
        if any(each is not None for each in empty) and empty not in tried:
            given = dict(zip(names, values, strict=True))
            if _ends_process(model, given):
                shapes = (f"'{name}' {list(np.shape(each))}" for name, each in given.items() if _empty_axes(each))
                listed = ", ".join(shapes)
                raise InterpretationError(f"{TITLES[PACKAGE]} crashes on inputs without elements: {listed}")
            tried.add(empty)
        found = session(dict(zip(names, values, strict=True)))
        return [found[name] for name in session.output_names]

    return OpenIsland(TITLES[PACKAGE], run, tuple(map(_inferred, session.output_types, session.output_shapes)))


_ELEMENT_TYPES: Mapping[str, int] = {f"tensor({name.lower()})": kind for name, kind in TensorProto.DataType.items()}
"""The ONNX data types by ONNX Runtime's names of tensor types."""


def _inferred(name: str, shape: Sequence[int | None]) -> TypeProto:
    """Returns the type of an output; an empty `shape` means a scalar or an unknown rank."""
    kind = _ELEMENT_TYPES.get(name)
    if kind is None:
        return TypeProto()
    return helper.make_tensor_type_proto(kind, list(shape) or None)


def _in_reference(model: ModelProto) -> OpenIsland:
    names = [each.name for each in model.graph.input]
    try:
        evaluator: Any = ReferenceEvaluator(model)
    except Exception as error:  # its errors have no common base class; most say that an implementation is missing
        raise InterpretationError(f"{REFERENCE} has no {_line(error)}") from error

    def run(values: Sequence[Any]) -> Sequence[Any]:
        try:
            with np.errstate(all="ignore"):
                return evaluator.run(None, dict(zip(names, values, strict=True)))
        except Exception as error:  # errors of NumPy for inputs that don't fit, and its own errors
            raise InterpretationError(f"{REFERENCE} fails: {_line(error)}") from error

    return OpenIsland(REFERENCE, run, ())


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


@lru_cache(KEPT)
def open_island(model: bytes) -> OpenIsland:
    """Opens an island in ONNX Runtime if it is installed and supports it, otherwise in ONNX's reference evaluator.

    Raises `InterpretationError` if neither supports it.
    """
    proto = _checked_model(model)
    reasons: list[str] = []
    if is_installed(PACKAGE) and not _has_narrow_types(proto):
        try:
            return _in_onnx_runtime(proto)
        except DiagnosticError as error:
            reasons.append(error.diagnostic.message)
    elif not is_installed(PACKAGE):
        reasons.append(f"{TITLES[PACKAGE]} is not installed")
    try:
        return _in_reference(proto)
    except InterpretationError as error:
        raise InterpretationError("; ".join([*reasons, str(error)])) from error


def _has_narrow_types(model: ModelProto) -> bool:
    """Returns true if an input or output has a type, such as int4, that ONNX Runtime can't exchange with Python."""
    types = {each.type.tensor_type.elem_type for each in (*model.graph.input, *model.graph.output)}
    known = {TensorProto.UNDEFINED, TensorProto.STRING, *BY_BYTES.values()}
    return any(helper.tensor_dtype_to_np_dtype(type_).kind == "V" for type_ in types - known)


def _element(type_: Attribute) -> Attribute:
    found = unranked_tensor(type_) or tensor(type_)
    return found.get_element_type()


def _taken(value: Any, type_: Attribute) -> Any:
    """Converts an output of a runtime for the interpreter. Raises `InterpretationError` if its type isn't `type_`."""
    if isinstance(type_, SequenceType):
        if not isinstance(value, list | tuple):
            raise InterpretationError(f"the fallback subgraph must return {type_}, but returned {type(value).__name__}")
        found: Any = tuple(_taken(each, type_.tensors) for each in cast(Sequence[Any], value))
    else:
        array, dtype = np.asarray(value), value_dtype(_element(type_))
        is_bool = array.dtype == np.bool_
        found = array.astype(dtype) if array.dtype.kind in "OUSV" or is_bool else array
    check_value(found, type_)
    return found


def evaluate(op: OnnxIslandOp, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Computes the results of an island. Raises `InterpretationError` or `DiagnosticError`."""
    return prepare(op)(inputs)


def prepare(op: OnnxIslandOp) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Returns a function that computes the results of an island; lookups that depend only on `op` are done once.

    `op` must not change afterwards. Raises `InterpretationError` or `DiagnosticError`, as each run does.
    """
    run = open_island(op.model_bytes).run
    givers = [_giver(each.type) for each in op.operands]
    takers = [_taker(each.type) for each in op.results]

    def results(inputs: Sequence[Any]) -> tuple[Any, ...]:
        found = run([give(value) for give, value in zip(givers, inputs, strict=True)])
        if len(found) != len(takers):
            raise InterpretationError(
                f"the fallback subgraph must return {len(takers)} values, but returned {len(found)}"
            )
        return tuple([take(value) for take, value in zip(takers, found, strict=True)])

    return results


def _giver(type_: Attribute) -> Callable[[Any], Any]:
    """Returns a function that converts values of the interpreter for a runtime; they rarely need a conversion."""
    if isinstance(type_, SequenceType):
        give = _giver(type_.tensors)
        return lambda values: list(map(give, values))
    kind = DATA_TYPES[_element(type_)]
    if kind == TensorProto.STRING:
        return np.asarray
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    return lambda value: value if value.dtype == dtype else value.astype(dtype)


def _taker(type_: Attribute) -> Callable[[Any], Any]:
    """Returns a faster `_taken` for a type: outputs nearly always match it."""
    ranked = ranked_tensor(type_)
    dtype = None if ranked is None else value_dtype(ranked.get_element_type())
    if ranked is None or dtype is None or dtype == np.object_ or ranked.get_element_type() == i1:
        return lambda value: _taken(value, type_)
    sizes, is_static = ranked.get_shape(), ranked.has_static_shape()

    def take(value: Any) -> Any:
        if type(value) is np.ndarray and value.dtype == dtype and (
            value.shape == sizes if is_static else shapes_agree(sizes, value.shape)
        ):  # fmt: skip
            return value
        return _taken(value, type_)

    return take


def knows(domain: str, op_type: str) -> bool:
    """Returns true if a runtime may support an operator: ONNX or ONNX Runtime declares it."""
    return bool(defs.has(op_type, domain)) or (is_installed(PACKAGE) and (domain, op_type) in newest_versions())


RUNNING: Mapping[str, Callable[..., Any]] = {
    "evaluate": evaluate,
    "prepare": prepare,
    "open": open_island,
    "knows": knows,
}
"""The rows of the table `nn.onnx_island`."""
