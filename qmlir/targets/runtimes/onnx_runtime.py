"""ONNX Runtime sessions: all options that affect results or run times are explicit; arrays are passed by name."""

from collections.abc import Mapping, Sequence
from ctypes import string_at
from dataclasses import dataclass
from functools import cache
from inspect import isclass
from os import PathLike, fspath
from typing import Any, cast

import numpy as np
from onnx import ModelProto, TensorProto, helper

from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import DiagnosticError, text_error, unknown, warn
from qmlir.onnx.protos import nodes_within
from qmlir.targets.runtimes.packages import imported

PACKAGE = "onnxruntime"

OPTIMIZATIONS: Mapping[str, str] = {
    "none": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}
"""ONNX Runtime's name of each graph optimization level, by qmlir's name."""

BY_BYTES: Mapping[str, int] = {
    "tensor(bfloat16)": TensorProto.BFLOAT16,
    "tensor(float8e4m3fn)": TensorProto.FLOAT8E4M3FN,
    "tensor(float8e4m3fnuz)": TensorProto.FLOAT8E4M3FNUZ,
    "tensor(float8e5m2)": TensorProto.FLOAT8E5M2,
    "tensor(float8e5m2fnuz)": TensorProto.FLOAT8E5M2FNUZ,
}
"""ONNX data types that NumPy lacks; tensors of these types are passed to ONNX Runtime as bytes and a type."""

_FATAL = 4


@dataclass(frozen=True)
class OrtOptions:
    """The options of a session."""

    threads: int = 1
    """Number of threads within an operation; operations run one at a time."""

    optimization: str = "all"
    """Graph optimization level. With `none`, the session runs exactly the model's nodes, in float between casts."""

    is_exact: bool = False
    """Whether dot products of u8 and s8 are exact (`session.x64quantprecision`).

    If not, intermediate sums saturate at 16 bits on x86 CPUs without VNNI, which is faster.
    """

    is_deterministic: bool = True
    """Whether every kernel must return bit-identical results in each run."""


def _errors() -> tuple[type[Exception], ...]:
    """Returns the exceptions that ONNX Runtime raises for a model that it can't run; they have no common base class."""
    state: Any = imported(PACKAGE, "capi.onnxruntime_pybind11_state")
    classes = (each for each in cast(dict[str, Any], vars(state)).values() if isclass(each))
    return tuple(each for each in classes if issubclass(each, Exception))


@cache
def newest_versions() -> Mapping[tuple[str, str], int]:
    """Returns the newest version of each operator that ONNX Runtime declares, by domain and name."""
    state: Any = imported(PACKAGE, "capi.onnxruntime_pybind11_state")
    found: dict[tuple[str, str], int] = {}
    for each in state.get_all_operator_schema():
        key = each.domain, each.name
        found[key] = max(found.get(key, 0), each.since_version)
    return found


_THROWN = " : FAIL : Exception during "
"""Part of ONNX Runtime's messages if its own code threw an exception; an invalid graph has another status."""


def invalidity(model: ModelProto, data: bytes) -> str | None:
    """Returns why ONNX Runtime considers `model`, serialized as `data`, to be invalid.

    Returns `None` for a valid model, and for one that this version of ONNX Runtime can't judge because it lacks an
    operator, an opset version or a kernel. If ONNX Runtime can't open a valid model, a warning is emitted: either its
    optimizations fail, or it throws an exception because it lacks a type or a locale.
    """
    known, functions = newest_versions(), {function.name for function in model.functions}
    newest = max(version for (domain, _), version in known.items() if domain == "")
    is_newer = any(each.version > newest for each in model.opset_import if each.domain == "")
    nodes = nodes_within(model.graph.node)
    if is_newer or any(node.op_type not in functions and (node.domain, node.op_type) not in known for node in nodes):
        return None
    if (fault := _fault(data, "all")) is None:
        return None
    if (reason := _fault(data, "none")) is None:
        warn(f"the model is valid, but {fault}; open it without optimizations")
    elif _THROWN in reason:
        warn(f"the model passes ONNX's checker, but {reason}")
        return None
    return reason


def _fault(data: bytes, optimization: str) -> str | None:
    """Returns why a session can't be opened; `None` if it can, or if only a kernel is missing."""
    try:
        OrtSession(data, OrtOptions(optimization=optimization))
    except DiagnosticError as error:
        return None if type(error.__cause__).__name__ == "NotImplemented" else error.diagnostic.message
    return None


class OrtSession:
    """A model in ONNX Runtime, on the CPU."""

    def __init__(self, model: str | PathLike[str] | bytes, options: OrtOptions = OrtOptions()) -> None:
        """Opens `model`, a path or the content of a file. Raises `DiagnosticError` if ONNX Runtime can't run it."""
        runtime = imported(PACKAGE)
        self.options = options
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = options.threads, 1
        settings.log_severity_level = _FATAL
        settings.use_deterministic_compute = options.is_deterministic
        if options.optimization not in OPTIMIZATIONS:
            raise text_error(unknown("optimization level", options.optimization, OPTIMIZATIONS))
        settings.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, OPTIMIZATIONS[options.optimization])
        if options.is_exact:
            settings.add_session_config_entry("session.x64quantprecision", "1")
        source = model if isinstance(model, bytes) else fspath(model)
        try:
            self._session = runtime.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
        except _errors() as error:
            raise text_error(f"ONNX Runtime cannot run the model: {' '.join(str(error).split())}") from error
        self.input_names: tuple[str, ...] = tuple(each.name for each in self._session.get_inputs())
        outputs: Sequence[Any] = self._session.get_outputs()
        self._runtime = runtime
        self._input_types = {each.name: each.type for each in self._session.get_inputs()}
        self.output_names: tuple[str, ...] = tuple(each.name for each in outputs)
        self.output_types: tuple[str, ...] = tuple(each.type for each in outputs)
        self.output_shapes: tuple[tuple[int | None, ...], ...] = tuple(map(_shape, outputs))
        self._by_bytes = any(each in BY_BYTES for each in (*self._input_types.values(), *self.output_types))

    def __call__(self, inputs: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """Runs the model; returns all outputs by name, or only those listed in `outputs`.

        Raises `DiagnosticError` if the inputs don't fit.
        """
        names = list(self.output_names if outputs is None else outputs)
        # An element of an array is no array to it; a sequence is a list.
        given = {name: np.asarray(each) if isinstance(each, np.generic) else each for name, each in inputs.items()}
        try:
            found = self._run_on_values(names, given) if self._by_bytes else self._session.run(names, given)
            return dict(zip(names, found, strict=True))
        except (RuntimeError, ValueError, *_errors()) as error:
            raise text_error(f"ONNX Runtime rejects the inputs: {' '.join(str(error).split())}") from error

    def _run_on_values(self, names: Sequence[str], given: Mapping[str, Array]) -> list[Array]:
        """Runs the session on ONNX Runtime's own values, for types that it doesn't accept as NumPy arrays."""
        values = {name: self._value(name, array) for name, array in given.items()}
        return [_array(value) for value in self._session.run_with_ort_values(names, values)]

    def _value(self, name: str, array: Array) -> Any:
        kind = BY_BYTES.get(self._input_types.get(name, ""))
        plain = np.asarray(array, order="C")
        if kind is None:
            return self._runtime.OrtValue.ortvalue_from_numpy(plain)
        if plain.dtype != helper.tensor_dtype_to_np_dtype(kind):
            raise ValueError(f"input '{name}' must be {self._input_types[name]}, but got {plain.dtype}")
        bits = plain.view(f"u{plain.dtype.itemsize}")
        return self._runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, kind)


def _shape(output: Any) -> tuple[int | None, ...]:
    """Returns the sizes that ONNX Runtime infers, `None` for dynamic ones; also empty for a tensor of unknown rank."""
    return tuple(size if isinstance(size, int) and size >= 0 else None for size in output.shape)


def _array(value: Any) -> Array:
    """Converts an ONNX Runtime value to an array."""
    kind = BY_BYTES.get(value.data_type())
    if kind is None:
        return value.numpy()
    size = value.tensor_size_in_bytes()
    data = string_at(value.data_ptr(), size) if size else b""
    return np.frombuffer(data, helper.tensor_dtype_to_np_dtype(kind)).reshape(value.shape())
