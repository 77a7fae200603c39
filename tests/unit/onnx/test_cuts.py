"""Cuts of models: what ONNX's own `Extractor` takes out, computed by its reference implementation."""

import io
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from onnx.utils import Extractor

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.tools import qmlir_cli

NET = parser.parse_model("""
    <ir_version: 10, opset_import: ["" : 21]>
    net (float[2, 3] x, float[2, 3] z) => (float[2, 3] y, float[2, 1] s)
    <float[3] w = {1, -2, 3}, int64[1] axes = {1}>
    {
      a = Sigmoid (x)
      b = Mul (a, w)
      c = Sub (b, z)
      d = Neg (b)
      y = Add (c, d)
      s = ReduceSum (d, axes)
    }
    """)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [(["b", "z"], ["y"]), (["b"], ["s"]), (["a"], ["d", "b"]), (["c", "d"], ["s", "y"]), (["x", "z"], ["c"]),
     (["x", "w"], ["b"])],
)  # fmt: skip
def test_the_part_that_onnx_extracts(inputs: list[str], outputs: list[str]) -> None:
    inferred = onnx.shape_inference.infer_shapes(NET)
    if "w" in inputs:  # the extractor has no weight as an input
        inferred.graph.value_info.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    expected = Extractor(inferred).extract_model(inputs, outputs)
    module = qmlir.load(NET, cut_inputs=inputs, cut_outputs=outputs)
    arrays = {name: RNG.standard_normal(3 if name == "w" else (2, 3)).astype(np.float32) for name in inputs}
    found = qmlir.interpret(module, arrays)
    assert list(found) == outputs
    for name, array in zip(outputs, ReferenceEvaluator(expected).run(None, arrays), strict=True):
        np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-6)


def test_inputs_that_outputs_do_not_need_are_left_out() -> None:
    assert list(qmlir.interpret(qmlir.load(NET, cut_outputs=["s"]), {"x": np.zeros((2, 3), np.float32)})) == ["s"]


def test_what_a_subgraph_uses_belongs_to_the_part() -> None:
    """The branches of an If take tensors of the graph without naming them as inputs."""
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[2] x) => (float[2] y)
        {
          a = Neg (x)
          k = Constant <value_int = 1> ()
          c = Cast <to = 9> (k)
          y = If (c) <then_branch = one () => (float[2] t) { t = Abs (a) },
                      else_branch = two () => (float[2] e) { e = Relu (a) }>
        }
        """)
    part = qmlir.onnx.cut(qmlir.onnx.read_model(model), ["a"], ["y"]).proto
    assert [each.op_type for each in part.graph.node] == ["Constant", "Cast", "If"]
    with pytest.raises(DiagnosticError, match="also depend on the model input 'x', which is used by Neg node"):
        qmlir.load(model, cut_inputs=["c"])


def test_annotations_keep_their_parameters() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(NET)
    annotation = model.graph.quantization_annotation.add(tensor_name="a")
    for key, name, value in (("SCALE_TENSOR", "a_s", np.float32(0.5)), ("ZERO_POINT_TENSOR", "a_z", np.uint8(0))):
        annotation.quant_parameter_tensor_names.add(key=key, value=name)
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    text = str(qmlir.load(model, cut_outputs=["b"]))
    assert "!quant.calibrated" in text
    assert "a_s" not in text


def _qmlir(*words: str | Path) -> tuple[int, str]:
    err = io.StringIO()
    code = qmlir_cli.main([*map(str, words)], stdin=io.StringIO(), stdout=io.StringIO(), stderr=err)
    return code, err.getvalue()


def test_commands_take_the_ends(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(NET, path)
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    np.savez(tmp_path / "in.npz", a=x)
    assert _qmlir("run", path, "--cut-inputs", "a", "--cut-outputs", "b", "--input", tmp_path / "in.npz",
                  "-o", tmp_path / "out.npz") == (0, "")  # fmt: skip
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_allclose(found["b"], x * np.float32([1, -2, 3]))
    code, err = _qmlir("compile", path, "--cut-outputs", "bb", "-o", tmp_path / "program")
    assert (code, err) == (1, "error: outputs: the model has no tensor 'bb'; did you mean 'b'? (outputs of the model: "
                              "'y', 's')\n")  # fmt: skip
    assert not (tmp_path / "program").exists()
    (tmp_path / "net.mlir").write_text(str(qmlir.load(NET)))
    code, err = _qmlir("inspect", tmp_path / "net.mlir", "--cut-outputs", "b")
    assert code == 1
    assert err.startswith("error: --cut-inputs and --cut-outputs require an ONNX model, but got '")
    assert err.count("\n") == 1
