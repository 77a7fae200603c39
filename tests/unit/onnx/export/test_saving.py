"""Files of exported models, and the commands that write them."""

from io import StringIO
from pathlib import Path

import numpy as np
import onnx
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.printing import PrintOptions, Weights, module_text, save_module
from qmlir.tools import qmlir_cli, qmlir_translate
from tests.support.classifiers import samples, saved_classifier

WIDE = """
<ir_version: 10, opset_import: ["" : 21]>
net (float[1, 64] x) => (float[1, 64] y)
<float[64, 64] w>
{
  y = MatMul (x, w)
}
"""


def wide_module() -> tuple[onnx.ModelProto, np.ndarray]:
    """A model of 16 KB of weights."""
    model = onnx.parser.parse_model(WIDE)
    weights = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    del model.graph.initializer[:]
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    return model, weights


def test_weights_beside_the_model(tmp_path: Path) -> None:
    model, weights = wide_module()
    module = qmlir.load(model)
    path = tmp_path / "wide.onnx"
    qmlir.export_onnx(module, path, external_data=True)
    assert (tmp_path / "wide.onnx.data").read_bytes() == weights.tobytes()
    assert path.stat().st_size < 4096
    options = PrintOptions(weights=Weights.INLINE)
    assert module_text(qmlir.load(path), options) == module_text(module, options)
    onnx.checker.check_model(path)


def test_above_what_protobuf_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = wide_module()
    monkeypatch.setattr("qmlir.onnx.export.writing.MOST_BYTES", 10_000)
    qmlir.export_onnx(qmlir.load(model), tmp_path / "wide.onnx")
    assert (tmp_path / "wide.onnx.data").exists()


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "model.onnxtxt"
    module = qmlir.load(saved_classifier(tmp_path))
    qmlir.export_onnx(module, path)
    x = samples()[0][:2]
    (ours,), (again,) = (list(qmlir.interpret(each, [x]).values()) for each in (module, qmlir.load(path)))
    assert np.array_equal(ours, again)


def test_a_name_that_is_no_model(tmp_path: Path) -> None:
    module = qmlir.load(saved_classifier(tmp_path))
    with pytest.raises(DiagnosticError, match=r"the file name must end in .onnx, .onnxtext, .onnxtxt"):
        qmlir.export_onnx(module, tmp_path / "model.pb")


def _run(tool: object, *words: str | Path) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    code = tool.main([str(word) for word in words], stdin=StringIO(), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def test_quantize_to_onnx(tmp_path: Path) -> None:
    model, output = saved_classifier(tmp_path), tmp_path / "quantized.onnx"
    np.savez(tmp_path / "x.npz", x=samples()[0])
    words = ["quantize", model, "--data", tmp_path / "x.npz", "-o", output, "--format", "qoperator"]
    code, _, said = _run(qmlir_cli, *words)
    assert code == 0, said
    assert "QGemm" in {node.op_type for node in onnx.load(output).graph.node}


def test_export_command(tmp_path: Path) -> None:
    model, output = saved_classifier(tmp_path), tmp_path / "again.onnx"
    code, said, wrong = _run(qmlir_cli, "export", model, "-o", output, "--opset", "22")
    assert (code, wrong) == (0, "")
    assert said == f"{output}: form qdq, operator set 22, 2 nodes: 2 Gemm\n"
    assert onnx.load(output).opset_import[0].version == 22


def test_translate(tmp_path: Path) -> None:
    module = tmp_path / "model.mlir"
    save_module(qmlir.load(saved_classifier(tmp_path)), module, PrintOptions(weights=Weights.INLINE))
    code, said, wrong = _run(qmlir_translate, "--export-onnx", module)
    assert (code, wrong) == (0, "")
    assert "Gemm <transB: int = 1> (x, fine_w)" in said
    code, said, wrong = _run(qmlir_translate, "--export-onnx", module, "-o", tmp_path / "model.onnx")
    assert (code, said, wrong) == (0, "", "")
    assert len(onnx.load(tmp_path / "model.onnx").graph.node) == 2
