"""Files of exported models, and the commands that write them."""

import os
import pickle
from copy import deepcopy
from io import StringIO
from pathlib import Path

import ml_dtypes
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


@pytest.mark.parametrize("mapped", [1 << 20, 1])
def test_weights_beside_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapped: int) -> None:
    monkeypatch.setattr("qmlir.text.files.MAPPED", mapped)
    model, weights = wide_module()
    module = qmlir.load(model)
    path = tmp_path / "wide.onnx"
    qmlir.export_onnx(module, path, external_data=True)
    assert (tmp_path / "wide.onnx.data").read_bytes() == weights.tobytes()
    assert path.stat().st_size < 4096
    options = PrintOptions(weights=Weights.INLINE)
    loaded = qmlir.load(path)
    copied, pickled = deepcopy(loaded), pickle.loads(pickle.dumps(loaded))
    assert {module_text(each, options) for each in (loaded, copied, pickled)} == {module_text(module, options)}
    onnx.checker.check_model(path)


def test_mapped_weights_share_a_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of 4 bits are unpacked, and have none."""
    monkeypatch.setattr("qmlir.text.files.MAPPED", 1)
    random, names = np.random.default_rng(0), "abcdefgh"
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": 21]>
    net (float[4] x) => (float[4] y) {{
      q = DequantizeLinear(i, s)
      {"".join(f"{name} = Add({before}, w_{name}) " for name, before in zip(names, "q" + names, strict=False))}
      y = Add(h, x)
    }}""")
    codes = random.integers(-8, 8, 4).astype(ml_dtypes.int4)
    weights = {name: random.normal(size=4).astype(np.float32) for name in names}
    for name, each in {
        "i": codes,
        "s": np.float32(0.5),
        **{f"w_{name}": each for name, each in weights.items()},
    }.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(each), name))
    onnx.save(model, tmp_path / "net.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    before = len(os.listdir("/proc/self/fd"))
    module = qmlir.load(tmp_path / "net.onnx")
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    wanted = codes.astype(np.float32) * np.float32(0.5)
    for each in weights.values():
        wanted = wanted + each
    assert np.array_equal(qmlir.interpret(module, {"x": np.zeros(4, np.float32)})["y"], wanted)


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
