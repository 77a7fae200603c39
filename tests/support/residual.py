"""Small networks on stored integers, as microcontrollers run them: a residual sum, and tiles of dot products."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir

TILED_SHAPE = (1, 1, 9, 7)
"""The shape of the input of `tiled_network`."""


def residual_network(accumulator: str) -> ModuleOp:
    """Two convolutions, a sum with their input, an average and a layer, on stored integers."""
    rng = np.random.default_rng(0)
    arrays = {
        "w1": rng.normal(0, 0.3, (4, 4, 3, 3)), "b1": rng.normal(0, 0.1, 4), "w2": rng.normal(0, 0.3, (4, 4, 3, 3)),
        "b2": rng.normal(0, 0.1, 4), "w3": rng.normal(0, 0.3, (3, 4)), "b3": rng.normal(0, 0.1, 3),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1] * 4),
        helper.make_node("Conv", ["x", "w2", "b1"], ["c3"], pads=[1] * 4),
        helper.make_node("Add", ["c2", "c3"], ["s"]),
        helper.make_node("Relu", ["s"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], transB=1),
    ]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 8, 8)),
             helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 3))]  # fmt: skip
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "residual", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    samples = [{"x": rng.normal(0, 1, (1, 4, 8, 8)).astype(np.float32)} for _ in range(4)]
    settings = {"accumulator": accumulator} if accumulator else {}
    return qmlir.quantize(qmlir.load(model), samples, inputs_as="i8", outputs_as="i8", **settings).module


def tiled_network() -> ModuleOp:
    """Convolutions of one and of six channels, a depthwise one, and a layer: tiles of all shapes."""
    rng = np.random.default_rng(0)
    arrays = {
        "w1": rng.normal(0, 0.4, (6, 1, 3, 3)), "b1": rng.normal(0, 0.1, 6), "w2": rng.normal(0, 0.3, (6, 1, 3, 3)),
        "b2": rng.normal(0, 0.1, 6), "w3": rng.normal(0, 0.3, (9, 6, 3, 3)), "b3": rng.normal(0, 0.1, 9),
        "w4": rng.normal(0, 0.3, (10, 9, 1, 1)), "b4": rng.normal(0, 0.1, 10), "w5": rng.normal(0, 0.3, (7, 10)),
        "b5": rng.normal(0, 0.1, 7),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1] * 4, group=6),
        helper.make_node("Conv", ["c2", "w3", "b3"], ["c3"], pads=[1] * 4, strides=[2, 1]),
        helper.make_node("Relu", ["c3"], ["r3"]),
        helper.make_node("Conv", ["r3", "w4", "b4"], ["c4"]),
        helper.make_node("GlobalAveragePool", ["c4"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w5", "b5"], ["y"], transB=1),
    ]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, TILED_SHAPE),
             helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 7))]  # fmt: skip
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "tiled", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    samples = [{"x": rng.normal(0, 1, TILED_SHAPE).astype(np.float32)} for _ in range(4)]
    return qmlir.quantize(qmlir.load(model), samples, accumulator="i8", inputs_as="i8", outputs_as="i8").module
