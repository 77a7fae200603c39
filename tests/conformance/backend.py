"""ONNX's own interface for its tests: a model is imported once, and run by the interpreter."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of

SUB_BYTE = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}
"""NumPy has no such types: `ml_dtypes` has, and the tests use them. We hold each value in a byte."""


def given(value: Any) -> Any:
    """A value of a test as our interpreter takes it."""
    if isinstance(value, list):
        return [given(each) for each in value]
    array = np.asarray(value)
    return array.astype(SUB_BYTE[array.dtype.name]) if array.dtype.name in SUB_BYTE else array


class QmlirRep(BackendRep):
    """An imported model."""

    def __init__(self, model: ModelProto, module: ModuleOp):
        self.module = module
        self.inputs = [port.name for port in inputs_of(function_of(module, "main"))]
        self.defaults = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        """The tests leave out inputs that have one; a call here gives them."""

        self.outputs = [(each.name, each.type.tensor_type.elem_type) for each in model.graph.output]

    def run(self, inputs: Any, **_: Any) -> tuple[np.ndarray, ...]:
        values = [given(value) for value in inputs]
        if len(values) < len(self.inputs):
            without = [name for name in self.inputs if name not in self.defaults]
            named = self.defaults | dict(zip(without, values, strict=True))
            values = [named[name] for name in self.inputs]
        results = qmlir.interpret(self.module, values)
        return tuple(self.as_declared(results[name], element) for name, element in self.outputs)

    @staticmethod
    def as_declared(value: Any, element: int) -> Any:
        """A result in the NumPy type that the tests have for an ONNX element type."""
        if isinstance(value, list):
            return value
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(element))
        return value.astype(dtype) if dtype.name in SUB_BYTE else value


class QmlirBackend(Backend):
    """The backend that `onnx.backend.test` asks for."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", *, fallback: bool = False, **_: Any) -> QmlirRep:
        """The imported model, without islands unless there is a `fallback`: another program would be tested."""
        return QmlirRep(model, qmlir.load(model, fallback=fallback))

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Sequence[Any], device: str = "CPU", **kwargs: Any) -> Any:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"
