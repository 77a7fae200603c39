"""Running islands: the nodes of a model that `nn` has no operation for, in ONNX Runtime or ONNX's own evaluator.

An island comes out of a model or the text of a module, and is not trusted: it may name no files, and nothing is loaded
for it. Some operators of ONNX Runtime end the process on inputs without elements, as a batch of 0 samples. Such inputs
first run in a process of their own.
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
"""How many islands stay open in a process."""


@dataclass(frozen=True)
class OpenIsland:
    """An island that is ready to run."""

    runtime: str
    """What runs it, for messages."""

    run: Callable[[Sequence[Any]], Sequence[Any]]
    """The outputs for inputs in order, as arrays and lists of arrays."""

    types: tuple[TypeProto, ...]
    """The types of the outputs that the runtime infers, as far as it knows them; none if it infers nothing."""


def _messages(message: Message) -> Iterator[Message]:
    waiting = [message]
    while waiting:
        each = waiting.pop()
        yield each
        for field, value in each.ListFields():
            if field.message_type is not None:
                waiting.extend([value] if isinstance(value, Message) else value)


def _checked_model(data: bytes) -> ModelProto:
    """The model of an island. Raises `InterpretationError` for what is none, or one that names files."""
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
    """A session of an island. Where ONNX Runtime refuses it, of the same one with open sizes.

    It infers the types in branches that are never taken with the sizes at hand, and refuses what these do not fit.
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
    """Run an island on `values` in ONNX Runtime. An error is none here: the caller gets it from a run of its own."""
    with suppress(DiagnosticError):
        _session(_checked_model(model))(values)


def _ends_process(model: ModelProto, values: Mapping[str, Any]) -> bool:
    """Whether ONNX Runtime ends a process that runs an island on `values`: a division by zero, a failed assertion."""
    command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)]
    sent = pickle.dumps((model.SerializeToString(), dict(values)))
    return subprocess.run(command, input=sent, capture_output=True, check=False).returncode < 0


def _empty_axes(value: Any) -> Any:
    """Which axes of a value have no elements, `None` for a value with elements."""
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
"""Data types by the names that ONNX Runtime has for tensors of them."""


def _inferred(name: str, shape: Sequence[int | None]) -> TypeProto:
    """The type of an output; its rank is unknown if `shape` is empty, which stands for a scalar, too."""
    kind = _ELEMENT_TYPES.get(name)
    if kind is None:
        return TypeProto()
    return helper.make_tensor_type_proto(kind, list(shape) or None)


def _in_reference(model: ModelProto) -> OpenIsland:
    names = [each.name for each in model.graph.input]
    try:
        evaluator: Any = ReferenceEvaluator(model)
    except Exception as error:  # its errors have no class in common but this: most say that there is no implementation
        raise InterpretationError(f"{REFERENCE} has no {_line(error)}") from error

    def run(values: Sequence[Any]) -> Sequence[Any]:
        try:
            with np.errstate(all="ignore"):
                return evaluator.run(None, dict(zip(names, values, strict=True)))
        except Exception as error:  # what NumPy raises for inputs that do not fit, and its own
            raise InterpretationError(f"{REFERENCE} fails: {_line(error)}") from error

    return OpenIsland(REFERENCE, run, ())


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


@lru_cache(KEPT)
def open_island(model: bytes) -> OpenIsland:
    """What runs an island: ONNX Runtime where it is installed and can, otherwise ONNX's reference implementation.

    Raises `InterpretationError` where neither can.
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
    """Whether values have types of less than 8 bits and the like, which ONNX Runtime takes from Python in no form."""
    types = {each.type.tensor_type.elem_type for each in (*model.graph.input, *model.graph.output)}
    known = {TensorProto.UNDEFINED, TensorProto.STRING, *BY_BYTES.values()}
    return any(helper.tensor_dtype_to_np_dtype(type_).kind == "V" for type_ in types - known)


def _element(type_: Attribute) -> Attribute:
    found = unranked_tensor(type_) or tensor(type_)
    return found.get_element_type()


def _given(value: Any, type_: Attribute) -> Any:
    """A value of the interpreter as runtimes take it."""
    if isinstance(type_, SequenceType):
        return [_given(each, type_.tensors) for each in value]
    kind = DATA_TYPES[_element(type_)]
    if kind == TensorProto.STRING:
        return np.asarray(value)
    return value.astype(helper.tensor_dtype_to_np_dtype(kind), copy=False)


def _taken(value: Any, type_: Attribute) -> Any:
    """What a runtime gives as the interpreter has it. Raises `InterpretationError` for another type than `type_`."""
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
    """The results of an island. Raises `InterpretationError` or `DiagnosticError`."""
    return prepare(op)(inputs)


def prepare(op: OnnxIslandOp) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What gives the results of an island, which must not change: what its types and its model say is looked up once.

    Raises `InterpretationError` or `DiagnosticError`, as each run does.
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
    """`_given` of a type; nearly always a value is as runtimes take it."""
    kind = None if isinstance(type_, SequenceType) else DATA_TYPES.get(_element(type_))
    if kind in (None, TensorProto.STRING):
        return lambda value: _given(value, type_)
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    return lambda value: value if value.dtype == dtype else value.astype(dtype)


def _taker(type_: Attribute) -> Callable[[Any], Any]:
    """`_taken` of a type; nearly always a runtime gives what fits it."""
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
    """Whether a runtime may compute an operator: ONNX or ONNX Runtime declares it."""
    return bool(defs.has(op_type, domain)) or (is_installed(PACKAGE) and (domain, op_type) in newest_versions())


RUNNING: Mapping[str, Callable[..., Any]] = {
    "evaluate": evaluate,
    "prepare": prepare,
    "open": open_island,
    "knows": knows,
}
"""Rows of the table `nn.onnx_island`."""
