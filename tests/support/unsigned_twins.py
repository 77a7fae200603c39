"""The unsigned twin of a quantized model, run by ONNX Runtime without optimizations.

In the twin each int8 tensor is a uint8 one, 128 higher: ONNX Runtime's signed kernels saturate on CPUs without VNNI.
"""

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from qmlir.targets.peers.onnx_runtime import OrtOptions, OrtSession


def as_unsigned(array: np.ndarray) -> np.ndarray:
    """Integers of int8 as those of the twin, others as they are."""
    return np.asarray(array.view(np.uint8) ^ np.uint8(0x80)) if array.dtype == np.int8 else array


def unsigned_twin(model: ModelProto) -> ModelProto:
    """`model` with every int8 tensor as uint8, 128 higher; each operator is given its zero points."""
    twin = ModelProto()
    twin.CopyFrom(model)
    for place, tensor in enumerate(model.graph.initializer):
        if tensor.data_type == TensorProto.INT8:
            array = as_unsigned(numpy_helper.to_array(tensor))
            twin.graph.initializer[place].CopyFrom(numpy_helper.from_array(array, tensor.name))
    for info in (*twin.graph.input, *twin.graph.output):
        if info.type.tensor_type.elem_type == TensorProto.INT8:
            info.type.tensor_type.elem_type = TensorProto.UINT8
    return twin


def run_twin(model: ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of the twin of `model`, where `feeds` are the inputs of `model` itself."""
    twin = OrtSession(unsigned_twin(model).SerializeToString(), OrtOptions(optimization="none"))
    return list(twin({name: as_unsigned(array) for name, array in feeds.items()}).values())


def run_exactly(model: ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of `model` by name, as its twin gives them: int8 is int8 again."""
    session = OrtSession(model.SerializeToString(), OrtOptions(optimization="none"))
    return {
        name: np.asarray((array ^ np.uint8(0x80)).view(np.int8)) if type_ == "tensor(int8)" else array
        for name, type_, array in zip(session.output_names, session.output_types, run_twin(model, feeds), strict=True)
    }
