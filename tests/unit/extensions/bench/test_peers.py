"""Sessions give what NumPy gives, in arrays of their own, and say in one line what they cannot run."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from qmlir.extensions.bench import peers
from qmlir.extensions.bench.peers import FORMS, peer_of
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import is_installed

WEIGHT = np.array([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.25]], np.float32)
needs_onnxruntime = pytest.mark.skipif(not is_installed("onnxruntime"), reason="onnxruntime is not installed")
needs_openvino = pytest.mark.skipif(not is_installed("openvino"), reason="openvino is not installed")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = x @ WEIGHT for any number of rows."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    path = tmp_path / "product.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@needs_onnxruntime
@pytest.mark.parametrize("optimization", ["none", "all"])
def test_onnx_runtime(model: Path, optimization: str) -> None:
    session = onnx_runtime.OrtSession(model, onnx_runtime.OrtOptions(optimization=optimization))
    assert (session.input_names, session.output_names) == (("x",), ("y",))
    x = np.eye(3, dtype=np.float32)
    np.testing.assert_array_equal(session({"x": x})["y"], WEIGHT)
    assert set(session({"x": x}, ["y"])) == {"y"}
    with pytest.raises(DiagnosticError, match="ONNX Runtime rejects the inputs: "):
        session({"x": np.eye(4, dtype=np.float32)})


@needs_onnxruntime
def test_onnx_runtime_says_what_it_cannot_run(model: Path) -> None:
    with pytest.raises(DiagnosticError, match="unknown optimization level 'al'; did you mean 'all'"):
        onnx_runtime.OrtSession(model, onnx_runtime.OrtOptions(optimization="al"))
    with pytest.raises(DiagnosticError, match="ONNX Runtime cannot run the model: ") as error:
        onnx_runtime.OrtSession(b"no model")
    assert "\n" not in str(error.value)


@needs_openvino
def test_openvino(model: Path) -> None:
    session = peers.OvSession(model, shapes={"x": (3, 3)})
    assert (session.input_names, session.output_names) == (("x",), ("y",))
    first = session({"x": np.eye(3, dtype=np.float32)})["y"]
    second = session({"x": 2 * np.eye(3, dtype=np.float32)})["y"]
    np.testing.assert_allclose(first, WEIGHT, rtol=1e-6)
    np.testing.assert_allclose(second, 2 * WEIGHT, rtol=1e-6)


@needs_openvino
def test_openvino_says_what_it_cannot_run(tmp_path: Path) -> None:
    path = tmp_path / "none.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(DiagnosticError, match="OpenVINO cannot run the model: ") as error:
        peers.OvSession(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "package",
    [pytest.param("onnxruntime", marks=needs_onnxruntime), pytest.param("openvino", marks=needs_openvino)],
)
def test_a_run_computes(package: str, model: Path) -> None:
    run = peer_of(package).open(model, {"x": np.eye(3, dtype=np.float32)}, 1, FORMS["f32"])
    run()
