"""The unsigned twin of a quantized model, run by ONNX Runtime without optimizations.

In the twin each int8 tensor is a uint8 one, 128 higher: ONNX Runtime's signed kernels saturate on CPUs without VNNI.
"""

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper, shape_inference

from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession


def as_unsigned(array: np.ndarray) -> np.ndarray:
    """Integers of int8 as those of the twin, others as they are."""
    return np.asarray(array.view(np.uint8) ^ np.uint8(0x80)) if array.dtype == np.int8 else array


ZERO_POINTS: Mapping[str, Mapping[int, int]] = {
    "ConvInteger": {0: 2, 1: 3},
    "MatMulInteger": {0: 2, 1: 3},
    "DequantizeLinear": {0: 2},
    "MatMulIntegerToFloat": {0: 4, 1: 5},
    "DynamicQuantizeMatMul": {1: 3},
    "DynamicQuantizeLSTM": {1: 9, 2: 11},
}
"""The operators whose zero points may be left out: which input is that of which integers."""


def _add_zero_points(model: ModelProto, twin: ModelProto) -> None:
    """Give the operators of `twin` the zero points that those of `model` have by default: 128 in place of 0."""
    known = shape_inference.infer_shapes(model).graph
    signed = {each.name for each in known.initializer if each.data_type == TensorProto.INT8}
    signed |= {
        each.name for each in (*known.value_info, *known.input) if each.type.tensor_type.elem_type == TensorProto.INT8
    }
    missing = "unsigned twin's zero point"
    for node in twin.graph.node:
        for position, zero in ZERO_POINTS.get(node.op_type, {}).items():
            if node.input[position] in signed and (len(node.input) <= zero or not node.input[zero]):
                node.input.extend([""] * (zero + 1 - len(node.input)))
                node.input[zero] = missing
    twin.graph.initializer.append(numpy_helper.from_array(np.uint8(128), missing))


def unsigned_twin(model: ModelProto) -> ModelProto:
    """`model` with every int8 tensor as uint8, 128 higher."""
    twin = ModelProto()
    twin.CopyFrom(model)
    for position, tensor in enumerate(model.graph.initializer):
        if tensor.data_type == TensorProto.INT8:
            array = as_unsigned(numpy_helper.to_array(tensor))
            twin.graph.initializer[position].CopyFrom(numpy_helper.from_array(array, tensor.name))
    for info in (*twin.graph.input, *twin.graph.output):
        if info.type.tensor_type.elem_type == TensorProto.INT8:
            info.type.tensor_type.elem_type = TensorProto.UINT8
    _add_zero_points(model, twin)
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
