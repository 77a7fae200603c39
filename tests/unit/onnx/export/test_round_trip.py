"""An exported model imports as the module that it was made of: text, provenance and statistics."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp, UnknownLoc

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.workflows.quantizing import quantize
from tests.conformance.cases import node_cases
from tests.levels.generator import case_of
from tests.support.classifiers import classifier, samples
from tests.support.sampled import seeds

FORMS: tuple[dict[str, Any], ...] = (
    {"format": "qdq"},
    {"format": "qdq", "exact": True},
    {"format": "qdq", "exact": False, "signed": True},
    {"format": "qoperator"},
    {"format": "integer"},
    {"format": "qdq", "functions": True},
    {"format": "integer", "functions": True},
)

STRIDE = 12
"""Every so many of the standard's node tests is taken."""


def full_text(module: ModuleOp) -> str:
    return module_text(module, PrintOptions(weights=Weights.INLINE))


def again(module: ModuleOp, **settings: Any) -> ModuleOp:
    """The module that an import makes of the exported bytes, which gives no warning."""
    said: list[Diagnostic] = []
    model = onnx.load_model_from_string(qmlir.export_onnx(module, **settings).SerializeToString())
    onnx.checker.check_model(model)
    with diagnostic_handler(said.append):
        found = qmlir.load(model)
    assert not said, [str(each) for each in said]
    assert {each.location for each in found.walk()} == {UnknownLoc()}
    return found


@pytest.mark.parametrize("settings", FORMS, ids=str)
@pytest.mark.parametrize("seed", seeds(4, 8))
def test_random_graphs(seed: int, settings: dict[str, Any]) -> None:
    module = case_of(seed).module
    assert full_text(again(module, **settings)) == full_text(module)


@cache
def stages() -> dict[str, ModuleOp]:
    """One model at the levels that are exported."""
    module = qmlir.load(classifier())
    x, _ = samples()
    found = quantize(module, x[:16], validate=False)
    return {"graph": module, "profiled": found.profiled, "quantized": found.module}


@pytest.mark.parametrize("settings", FORMS, ids=str)
@pytest.mark.parametrize("stage", ["graph", "profiled", "quantized"])
def test_levels(stage: str, settings: dict[str, Any]) -> None:
    module = stages()[stage]
    assert full_text(again(module, **settings)) == full_text(module)


def test_statistics_can_be_read_by_anybody() -> None:
    model = qmlir.export_onnx(stages()["profiled"])
    said = {entry.key: entry.value for entry in model.graph.input[0].metadata_props}
    x = samples()[0][:16]
    assert float(said["qmlir.min"]) == x.min()
    assert float(said["qmlir.max"]) == x.max()
    assert float(said["qmlir.mean"]) == pytest.approx(x.mean(dtype=np.float64))
    assert float(said["qmlir.std"]) == pytest.approx(x.std(dtype=np.float64))
    assert said["qmlir.count"] == str(x.size)
    everything = [*model.graph.value_info, *model.graph.output]
    computed = {name for node in model.graph.node for name in node.output}
    seen = {each.name for each in everything if any(entry.key == "qmlir.min" for entry in each.metadata_props)}
    assert seen >= computed & {each.name for each in everything}


def test_a_model_of_properties_and_a_producer(tmp_path: Path) -> None:
    model = classifier()
    model.producer_name, model.producer_version = "somebody", "1.2"
    model.metadata_props.add(key="author", value="who")
    module = qmlir.load(model)
    exported = qmlir.export_onnx(module, tmp_path / "model.onnx")
    assert (exported.producer_name, exported.producer_version) == ("somebody", "1.2")
    assert {"author": "who"}.items() <= {each.key: each.value for each in exported.metadata_props}.items()
    assert full_text(qmlir.load(tmp_path / "model.onnx")) == full_text(module)


@pytest.mark.parametrize("settings", [{}, {"format": "integer"}, {"external_data": True}], ids=str)
def test_weights_are_stored_once(tmp_path: Path, settings: dict[str, Any]) -> None:
    weights = np.random.default_rng(0).integers(-128, 128, (96, 96), np.int8)
    element = "!quant.uniform<i8:f32, 0.5>"
    module = parse_module(
        default_environment().new_context(),
        f"""
        func.func @main(%x: tensor<2x96x{element}> {{nn.name = "x"}}) -> (tensor<2x96x{element}> {{nn.name = "y"}}) {{
          %w = nn.constant dense<"0x{weights.tobytes().hex()}"> : tensor<96x96xi8> -> tensor<96x96x{element}>
          %0 = nn.matmul %x, %w : (tensor<2x96x{element}>, tensor<96x96x{element}>) -> tensor<2x96x{element}>
          func.return %0 : tensor<2x96x{element}>
        }}
        """,
    )
    path = tmp_path / "model.onnx"
    qmlir.export_onnx(module, path, **settings)
    size = sum(each.stat().st_size for each in tmp_path.iterdir())
    assert weights.nbytes < size < 1.5 * weights.nbytes
    assert full_text(qmlir.load(path)) == full_text(module)


def test_shapes_of_an_exported_model() -> None:
    exported = qmlir.export_onnx(stages()["quantized"])
    module = qmlir.load(exported, shapes={"x": [3, 4]})
    assert "tensor<3x2x!q" in module_text(module)


def test_outputs_that_are_inputs_constants_or_twice_the_same() -> None:
    with warnings.catch_warnings():
        module = again(qmlir.load(onnx.parser.parse_model(SHARED)))
    assert full_text(again(module)) == full_text(module)
    found = qmlir.interpret(module, [np.ones(2, np.float32)])
    assert [array.tolist() for array in found.values()] == [[-1, -1], [-1, -1], [3, 4], [1, 1]]


SHARED = """
<ir_version: 10, opset_import: ["" : 21]>
net (float[2] x) => (float[2] y, float[2] z, float[2] c, float[2] same)
<float[2] c = {3, 4}>
{
  y = Neg (x)
  z = Identity (y)
  same = Identity (x)
}
"""


def _imported(name: str) -> ModuleOp | None:
    try:
        with diagnostic_handler(lambda _: None):
            return qmlir.load(node_cases()[name].model, fallback=False)
    except DiagnosticError:
        return None


@pytest.mark.parametrize("name", sorted(node_cases())[::STRIDE])
def test_standard_operators(name: str) -> None:
    module = _imported(name)
    if module is None:
        pytest.skip("not imported")
    assert full_text(again(module)) == full_text(module)


def _without_metadata(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as a tool gives it on that keeps no metadata."""
    found = onnx.load_model_from_string(model.SerializeToString())
    graph = found.graph
    for proto in (found, graph, *graph.node, *graph.initializer, *graph.input, *graph.output, *graph.value_info):
        del proto.metadata_props[:]
    return found


@pytest.mark.parametrize("settings", [{"format": "qdq", "exact": True}, {"format": "integer"}], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_without_metadata_the_numbers_are_the_same(seed: int, settings: dict[str, Any]) -> None:
    case = case_of(seed)
    with diagnostic_handler(lambda _: None):
        plain = qmlir.load(_without_metadata(qmlir.export_onnx(case.module, **settings)))
    ours, theirs = (qmlir.interpret(each, case.inputs) for each in (case.module, plain))
    for name, array in ours.items():
        if np.asarray(array).dtype.kind == "f":
            np.testing.assert_allclose(array, theirs[name], rtol=1e-5)
        else:
            np.testing.assert_array_equal(np.asarray(array).astype(np.int64), np.asarray(theirs[name]).astype(np.int64))
