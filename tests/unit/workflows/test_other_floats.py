"""Models in f16, bf16 and f64 are quantized as the same model in f32 is."""

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.quantization.report import coverage


def _model(dtype: npt.DTypeLike) -> ModelProto:
    """A product, a rectifier and a second product, with exact weights in every type."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    generator = np.random.default_rng(0)
    shapes = {"w": (8, 16), "b": (16,), "v": (16, 4)}
    weights = [
        numpy_helper.from_array((generator.integers(-16, 17, shape) / 32).astype(dtype), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["r"], "relu"),
        helper.make_node("MatMul", ["r", "v"], ["y"], "second"),
    ]
    ports = (helper.make_tensor_value_info(name, element, [1, size]) for name, size in (("x", 8), ("y", 4)))
    graph = helper.make_graph(nodes, "g", [next(ports)], [next(ports)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def _samples(dtype: npt.DTypeLike) -> list[dict[str, npt.NDArray[np.generic]]]:
    generator = np.random.default_rng(1)
    return [{"x": (generator.integers(-64, 65, (1, 8)) / 64).astype(dtype)} for _ in range(4)]


def _quantized(dtype: npt.DTypeLike) -> ModuleOp:
    return qmlir.quantize(qmlir.load(_model(dtype)), _samples(dtype)).module


@pytest.mark.parametrize(
    ("dtype", "element"),
    [(np.float16, TensorProto.FLOAT16), (ml_dtypes.bfloat16, TensorProto.BFLOAT16), (np.float64, TensorProto.DOUBLE)],
)
def test_quantized_like_f32(dtype: npt.DTypeLike, element: int) -> None:
    module, single = _quantized(dtype), _quantized(np.float32)
    assert coverage(module).integer_share == 1
    assert [each.type.tensor_type.elem_type for each in qmlir.export_onnx(module).graph.input] == [element]
    for mine, wanted in zip(_samples(dtype), _samples(np.float32), strict=True):
        (found,), (exact,) = qmlir.interpret(module, mine).values(), qmlir.interpret(single, wanted).values()
        np.testing.assert_array_equal(found, exact.astype(dtype), strict=True)


def test_compiled_like_interpreted() -> None:
    module = _quantized(np.float16)
    (sample, *_) = _samples(np.float16)
    (found,), (exact,) = (
        qmlir.compile(module, codegen="llvm")(sample).values(),
        qmlir.interpret(module, sample).values(),
    )
    np.testing.assert_array_equal(found, exact, strict=True)
