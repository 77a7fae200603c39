"""Quantizing without samples, from the statistics that a model carries: the types that its data would have given."""

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.diagnostics import DiagnosticError, diagnostic_handler
from qmlir.ir.provenance import tensor_names
from qmlir.passmanager.manager import run_pipeline
from qmlir.quantization.profiles.keys import keyed_values
from qmlir.quantization.profiles.statistics import observed, set_ranges_before_biases
from qmlir.tools.qmlir_cli import main
from tests.support.classifiers import classifier, samples, saved_classifier

GENERATOR = np.random.default_rng(0)
WEIGHTS, BIAS = GENERATOR.normal(size=(3, 4)).astype(np.float32), np.array([0.5, -2, 1], np.float32)
RANGES = {"x": (-1.5, 2.25), "h": (-4.0, 6.0), "y": (0.0, 6.0)}


def layer(*, function: str = "Relu", said: bool = True) -> ModelProto:
    """A product with a bias and a function of it; with `said` the ranges of its tensors are in their metadata."""
    infos = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4 if name == "x" else 3]) for name in RANGES
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], "fc", transB=1),
        helper.make_node(function, ["h"], ["y"], "last"),
    ]
    tensors = [numpy_helper.from_array(WEIGHTS, "w"), numpy_helper.from_array(BIAS, "b")]
    graph = helper.make_graph(nodes, "layer", [infos["x"]], [infos["y"]], tensors, value_info=[infos["h"]])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    for info in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        for key, number in zip(("qmlir.min", "qmlir.max"), RANGES[info.name] if said else (), strict=False):
            info.metadata_props.add(key=key, value=str(number))
    return model


def types_of(module: ModuleOp) -> dict[str, UniformQuantizedType]:
    """The quantized types of the tensors of the model."""
    named = [(name, value) for op in module.walk() for name, value in zip(tensor_names(op), op.results, strict=True)]
    found = {name: element_type(value.type) for name, value in named if name in RANGES}
    return {name: type_ for name, type_ in found.items() if isinstance(type_, UniformQuantizedType)}


def test_ranges_of_tensors_in_metadata_of_elsewhere() -> None:
    module = qmlir.quantize(qmlir.load(layer())).module
    assert any(op.name == "nn.fully_connected" for op in module.walk())
    found = types_of(module)
    # The sum saturates where the relu would: both have the 255 steps of 0 to 6.
    assert {name: (type_.scale, type_.zero_point) for name, type_ in found.items()} == {
        name: (float(np.float32(6 / 255)), -128) for name in ("h", "y")
    }


def test_tensors_have_ranges_and_a_folder_is_explained_by_them(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    path.write_bytes(layer().SerializeToString())
    out = tmp_path / "out"
    assert main(["quantize", str(path), "-o", str(out), "--quiet"]) == 0
    assert main(["explain", str(out), "fc", "--quiet"]) == 0  # the folder says all that was known
    module = qmlir.load(layer())
    seen = {each.key: observed(each.value) for each in keyed_values(module)}
    assert {key: (each.minimum, each.maximum) for key, each in seen.items() if each} == {
        "x": RANGES["x"], "fc": RANGES["h"], "last": RANGES["y"],
    }  # fmt: skip


def test_the_sum_before_a_bias_has_the_range_that_follows() -> None:
    module = run_pipeline(qmlir.load(layer()), "nn-decompose")
    set_ranges_before_biases(module)
    (seen,) = (observed(op.results[0]) for op in module.walk() if op.name == "nn.matmul")
    assert seen is not None
    assert (seen.minimum, seen.maximum) == (-4.0 - 1.0, 6.0 + 2.0)  # biases run from -2 to 1


def test_parts_that_nobody_observed_stay_in_float_with_a_warning() -> None:
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(each.message)):
        module = qmlir.quantize(qmlir.load(layer(function="Mish")), keep_composites=()).module
    assert any("has no profile entry for value 'last/softplus'" in each for each in said)
    assert any(op.name == "nn.fully_connected" for op in module.walk())


@pytest.mark.parametrize("suffix", ["onnx", "mlir"])
def test_a_model_written_with_its_statistics_gives_the_text_of_its_data(tmp_path: Path, suffix: str) -> None:
    model, data = saved_classifier(tmp_path), tmp_path / "data.npz"
    np.savez(data, x=samples()[0])
    carrying, alone, ours = (str(tmp_path / name) for name in (f"carrying.{suffix}", "alone.mlir", "data.mlir"))
    assert main(["profile", str(model), "--data", str(data), "-o", carrying, "--quiet"]) == 0
    assert main(["quantize", carrying, "-o", alone, "--quiet", "--calibrator", "entropy"]) == 0
    assert main(["quantize", str(model), "--data", str(data), "-o", ours, "--quiet", "--calibrator", "entropy"]) == 0
    assert Path(alone).read_text() == Path(ours).read_text()


def test_without_data_and_statistics_the_error_says_what_would_do() -> None:
    with pytest.raises(
        DiagnosticError, match=r"no calibration data: pass samples .* the model itself carries no ranges"
    ):
        qmlir.quantize(qmlir.load(layer(said=False)))
    module, data = qmlir.load(classifier()), {"x": samples()[0]}
    profile = qmlir.profile(module, data)
    with pytest.raises(
        DiagnosticError, match=r"pass either samples \(--data, data=\) or a profile \(--profile, profile=\), not both"
    ):
        qmlir.quantize(module, data, profile=profile)


def test_an_exported_part_is_not_called_as_the_tensor_of_its_node() -> None:
    """A reader of the file must not take the sum before a bias for the result of the layer."""
    module = run_pipeline(qmlir.load(layer()), "nn-decompose")
    names = {node.op_type: node.output[0] for node in qmlir.export_onnx(module).graph.node}
    assert names == {"Gemm": "fc/matmul", "Add": "h", "Relu": "y"}
