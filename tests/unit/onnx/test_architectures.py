"""The architectures that ONNX ships: imported, printed and read back, run, and held against the outputs beside them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import qmlir
from benchmarks.architectures import ARCHITECTURES, FOLDER, filled, random_inputs, with_random_weights
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Listener
from qmlir.interpreter.run import interpret
from qmlir.ir.verification import verify
from qmlir.text.parsing import load_module, parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text, save_module

STANDARD = {Path(each.url).stem.removeprefix("light_"): each for each in load_model_tests(kind="real") if each.url}
SMALL = "squeezenet"
SIDECAR = PrintOptions(weights=Weights.SIDECAR)


def _read_back(module: ModuleOp, directory: Path) -> ModuleOp:
    """`module` by way of a file and its weights beside it; its text is the same."""
    path = directory / "model.mlir"
    save_module(module, path, SIDECAR)
    again = load_module(default_environment().new_context(), path)
    verify(again)
    save_module(again, directory / "again.mlir", SIDECAR)
    text = path.read_text()
    assert (directory / "again.mlir").read_text().replace("again.safetensors", "model.safetensors") == text
    return again


def test_there_are_nine() -> None:
    assert len(ARCHITECTURES) == 9
    assert set(ARCHITECTURES) <= set(STANDARD)


class _Logits(Listener):
    """What softmax is taken of."""

    def __init__(self) -> None:
        self.values: list[np.ndarray] = []

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        if isinstance(op, SoftmaxOp):
            self.values.extend(operands)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_output(name: str, tmp_path: Path) -> None:
    """The standard's own input and output; the tolerance is its own too.

    Its weights make logits of ten thousand million, all of them equal. There the last bit is 1024, and which one BLAS
    gives depends on the processor: the logits are compared where a softmax of them says nothing.
    """
    model = filled(name)
    module = qmlir.load(model)
    verify(module)
    given = {each.name for each in model.graph.initializer}
    inputs = {each.name: Runner.generate_dummy_data(each) for each in model.graph.input if each.name not in given}
    expected = numpy_helper.to_array(onnx.load_tensor(FOLDER / f"light_{name}_output_0.pb"))
    seen = _Logits()
    found = list(interpret(_read_back(module, tmp_path), inputs, listeners=[seen]).values())
    for logits in seen.values:
        if np.spacing(np.abs(logits).max()) > 1 and np.ptp(expected) == 0:
            np.testing.assert_allclose(logits, np.full_like(logits, logits.flat[0]), rtol=1e-6)
            return
    Runner.assert_similar_outputs([expected], found, STANDARD[name].rtol, STANDARD[name].atol)


def test_weights_beside_and_inside_the_text(tmp_path: Path) -> None:
    """With weights of its own, a module is the same by way of a file and by way of a text that holds them."""
    model = with_random_weights(SMALL)
    module = qmlir.load(model)
    inputs = random_inputs(model)
    (expected,) = qmlir.interpret(module, inputs).values()
    text = module_text(module, PrintOptions(weights=Weights.INLINE))
    inside = parse_module(default_environment().new_context(), text)
    for again in (_read_back(module, tmp_path), inside):
        (found,) = qmlir.interpret(again, inputs).values()
        assert np.array_equal(found, expected)
    assert (tmp_path / "model.safetensors").stat().st_size > (tmp_path / "model.mlir").stat().st_size
