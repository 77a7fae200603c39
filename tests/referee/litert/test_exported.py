"""Models quantized for LiteRT and exported: its reference kernels compute every bit of the interpreter's results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import qmlir
from benchmarks.models import mlp, residual

pytestmark = pytest.mark.referee

litert: Any = pytest.importorskip("ai_edge_litert.interpreter")

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


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_model_computes_every_bit(name: str, tmp_path: Path) -> None:
    make, shape = MODELS[name]
    data = _pixels(*shape)
    quantized = qmlir.quantize(make(), data, device="litert", validate=False)
    content = qmlir.export_litert(quantized, tmp_path / "model.tflite")
    interpreter = litert.Interpreter(
        model_content=content, num_threads=1, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    for sample in data:
        interpreter.set_tensor(source["index"], sample[None])
        interpreter.invoke()
        (wanted,) = qmlir.interpret(quantized, [sample[None]]).values()
        np.testing.assert_array_equal(interpreter.get_tensor(result["index"]), wanted)
