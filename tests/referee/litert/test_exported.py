"""Models quantized for LiteRT and exported: its reference kernels compute every bit of the interpreter's results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, numpy_helper, parser

import qmlir
from benchmarks.models import mlp, residual
from qmlir.onnx.reading import read_model
from qmlir.passmanager.manager import run_pipeline

pytestmark = pytest.mark.referee

quantization: Any = pytest.importorskip("onnxruntime.quantization")
litert: Any = pytest.importorskip("ai_edge_litert.interpreter")

REFERENCE = "quant-set-requantize{mode=litert_reference}"
RNG = np.random.default_rng(0)
EXAMPLE = "docs/examples/digits_cnn.onnx"


def _pixels(*shape: int) -> npt.NDArray[np.float32]:
    return RNG.normal(0, 1, (12, *shape)).astype(np.float32)


MODELS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "digits": (lambda: EXAMPLE, (1, 8, 8)),
    "mlp": (lambda: mlp((64, 32, 10)), (64,)),
    "residual": (residual, (3, 32, 32)),
}
"""Models, and the shapes of their samples."""


def _check_every_bit(content: bytes, module: Any, samples: npt.NDArray[Any]) -> None:
    interpreter = litert.Interpreter(
        model_content=content, num_threads=1, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    for sample in samples:
        interpreter.set_tensor(source["index"], sample[None])
        interpreter.invoke()
        (wanted,) = qmlir.interpret(module, [sample[None]]).values()
        np.testing.assert_array_equal(interpreter.get_tensor(result["index"]), wanted)


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_computes_every_bit(name: str, tmp_path: Path) -> None:
    make, shape = MODELS[name]
    data = _pixels(*shape)
    quantized = qmlir.quantize(make(), data, device="litert", validate=False)
    _check_every_bit(qmlir.export_litert(quantized, tmp_path / "model.tflite"), quantized, data)


_HEAD = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4, 12, 12] x) => (float[1, 5] y) {
  a = Conv<pads = [1, 1, 1, 1]> (x, weight)
"""
_TAIL = """
  f = Reshape (h, shape)
  y = Gemm<transB = 1> (f, matrix, offset)
}"""
BODIES = {
    "table": "s = Sigmoid (a) b = Mul (a, s) h = AveragePool<kernel_shape = [2, 2], strides = [2, 2]> (b)",
    "counted padding": "t = Tanh (a) b = Sub (t, a) h = AveragePool<kernel_shape = [3, 3], strides = [2, 2], "
    "pads = [1, 1, 1, 1], count_include_pad = 1> (b)",
    "concatenation": "s = LeakyRelu (a) c = Concat<axis = 1> (s, a) h = MaxPool<kernel_shape = [3, 3], "
    "strides = [2, 2], pads = [1, 1, 1, 1]> (c)",
    "hard swish": "h = HardSwish (a)",
    "clips": "lo = Constant<value = float {0.0}> () hi = Constant<value = float {6.0}> () s = Clip (a, lo, hi) "
    "p = PRelu (a, slope) h = Add (s, p)",
    "resizing": 'k = Constant<value = float[4] {1.0, 1.0, 2.0, 2.0}> () s = Resize<mode = "nearest", '
    'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (a, , k) '
    "h = MaxPool<kernel_shape = [4, 4], strides = [4, 4]> (s)",
    "transposes": "s = Transpose<perm = [0, 2, 3, 1]> (a) r = Relu (s) h = Transpose<perm = [0, 3, 1, 2]> (r)",
}
"""The middle of models, between a convolution and a fully connected layer."""


def _model(body: str) -> ModelProto:
    model = parser.parse_model(_HEAD + body + _TAIL)
    columns = (16 if "Concat" in body else 8) * (36 if "Pool" in body else 144)
    weights = {"weight": (8, 4, 3, 3), "matrix": (5, columns), "offset": (5,), "slope": (8, 1, 1)}
    arrays: dict[str, Any] = {name: RNG.normal(0, 0.3, size).astype(np.float32) for name, size in weights.items()}
    arrays["shape"] = np.array([1, -1])
    used = {name for node in model.graph.node for name in node.input}
    model.graph.initializer.extend(numpy_helper.from_array(arrays[name], name) for name in arrays if name in used)
    return model


class _Reader(quantization.CalibrationDataReader):
    def __init__(self, name: str, data: npt.NDArray[Any]) -> None:
        self._rows = iter([{name: row[None]} for row in data])

    def get_next(self) -> Any:
        return next(self._rows, None)


STATIC: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    **{name: (lambda body=body: _model(body), (4, 12, 12)) for name, body in BODIES.items()},
    "digits": (lambda: read_model(Path(EXAMPLE)).proto, (1, 8, 8)),
    "residual": MODELS["residual"],
}


@pytest.mark.parametrize("activations", ["QInt8", "QUInt8"])
@pytest.mark.parametrize("name", STATIC)
def test_a_model_that_onnx_runtime_quantized_computes_every_bit(name: str, activations: str, tmp_path: Path) -> None:
    make, shape = STATIC[name]
    model, data, path = make(), _pixels(*shape), tmp_path / "quantized.onnx"
    quantization.quantize_static(
        model, path, _Reader(model.graph.input[0].name, data), quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType[activations], weight_type=quantization.QuantType.QInt8,
        per_channel=activations == "QInt8",
    )  # fmt: skip
    module = qmlir.load(path)
    content = qmlir.export_litert(module, tmp_path / "model.tflite")
    _check_every_bit(content, run_pipeline(module.clone(), REFERENCE), data)
