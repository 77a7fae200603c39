"""Annotations that survive, and ranges of tensors: what a model says, by hand, and what is no range."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

import qmlir
from qmlir.arithmetic.statistics import Summary
from qmlir.dialects.calib.types import StatsAttr
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import diagnostic_handler
from qmlir.ir.provenance import hand_on
from qmlir.onnx.metadata import without_module
from qmlir.quantization.profiles.keys import keyed_values
from qmlir.quantization.profiles.statistics import observed
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text


def relu(
    annotations: Mapping[str, str] | None = None,
    metadata: Mapping[str, str] | None = None,
    tensors: Mapping[str, Any] | None = None,
) -> ModelProto:
    """A relu whose input is annotated."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "y")]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], "r")], "g", ports[:1], ports[1:],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in (tensors or {}).items()],
    )  # fmt: skip
    annotation = graph.quantization_annotation.add(tensor_name="x")
    for key, value in (annotations or {}).items():
        annotation.quant_parameter_tensor_names.add(key=key, value=value)
    for key, value in (metadata or {}).items():
        graph.input[0].metadata_props.add(key=key, value=value)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def ranges(model: ModelProto) -> tuple[dict[str, tuple[float, float]], list[str]]:
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(each.message)):
        module = qmlir.load(model)
    known = {each.key: observed(each.value) for each in keyed_values(module)}
    return {key: (each.minimum, each.maximum) for key, each in known.items() if each}, said


BOTH = {"SCALE_TENSOR": "s", "ZERO_POINT_TENSOR": "z"}


@pytest.mark.parametrize(
    ("zero_point", "expected"),
    [(np.int8(-3), (-31.25, 32.5)), (np.uint8(3), (-0.75, 63.0)), (np.int16(0), (-8192.0, 8191.75))],
)
def test_scale_and_zero_point(zero_point: np.generic, expected: tuple[float, float]) -> None:
    tensors = {"s": np.float32(0.25), "z": zero_point}
    assert ranges(relu(BOTH, tensors=tensors)) == ({"x": expected}, [])


def test_the_annotated_parameters_are_those_that_follow() -> None:
    model = relu(BOTH, tensors={"s": np.float32(0.0123), "z": np.int8(17)})
    model.graph.quantization_annotation.add().CopyFrom(model.graph.quantization_annotation[0])
    model.graph.quantization_annotation[1].tensor_name = "y"
    text = str(qmlir.quantize(qmlir.load(model)).module)
    assert text.count("!quant.uniform<i8:f32, 0.012299999594688416:17>") == 3  # f32 of 0.0123


@pytest.mark.parametrize(
    ("name", "expected"),
    [("INT8", (-128, 127)), ("UINT4", (0, 15)), ("BIPOLAR", (-1, 1)), ("TERNARY", (-1, 1)), ("FLOAT32", None)],
)
def test_types_of_qonnx(name: str, expected: tuple[float, float] | None) -> None:
    assert ranges(relu({"finn_datatype": name})) == ({} if expected is None else {"x": expected}, [])


def test_statistics_in_metadata_are_beside_the_value_and_go_before_an_annotation() -> None:
    said = {"qmlir.min": "-1", "qmlir.max": "2", "qmlir.mean": "0.5", "qmlir.std": "0.25", "qmlir.count": "7"}
    model = relu({"finn_datatype": "INT8"}, said)
    assert ranges(model) == ({"x": (-1.0, 2.0)}, [])
    summary = Summary(7, -1.0, 2.0, 0.5, 0.25)
    assert str(StatsAttr.of(summary)) in str(qmlir.load(model))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            relu({"SCALE_TENSOR": "s"}, tensors={"s": np.float32(1)}),
            "ignoring the annotation of 'x': it has no ZERO",
        ),
        (relu(BOTH, tensors={"s": np.ones(2, np.float32), "z": np.int8(0)}), "its scale must be a single number"),
        (relu(metadata={"qmlir.min": "2", "qmlir.max": "1"}), "ignoring the statistics of 'x': [2.0, 1.0] is not"),
        (relu(metadata={"qmlir.min": "nan", "qmlir.max": "1"}), "[nan, 1.0] is not a valid range"),
        (relu(metadata={"qmlir.min": "low", "qmlir.max": "1"}), "could not convert"),
        (relu(metadata={"qmlir.max": "1"}), "it defines only one end of a range"),
        (
            relu(metadata={f"qmlir.{key}": "5" for key in ("min", "max", "std", "count")} | {"qmlir.mean": "9"}),
            "expected min <= mean <= max",
        ),
    ],
)
def test_what_is_no_range_is_a_warning(model: ModelProto, message: str) -> None:
    found, said = ranges(model)
    assert not found
    assert any(message in each for each in said)


# Annotations of other tools

NET = """<ir_version: 10, opset_import: ["" : 21]>
net (float[2, 3] x) => (float[2, 2] y) <float[3, 2] w = {1, -2, 3, 0.5, 0.25, -1}> {
  [node_linear] h = MatMul (x, w)
  [node_relu] r = Relu (h)
  [node_sum] y = Add (r, h)
}"""

SCOPES = {
    "node_linear": ("pkg.torch.onnx.name_scopes", "['', 'layers.0', 'layers.0.fc', 'linear']"),
    "node_relu": ("namespace", ": main.Net/layers.0: main.Block/relu: aten.relu.default"),
    "node_sum": ("pkg.torch.onnx.name_scopes", "['', 'add']"),
}

Said = tuple[str, dict[str, str]]


def annotated() -> ModelProto:
    model = parser.parse_model(NET)
    model.doc_string, model.domain, model.model_version = "the model", "org.example", 7
    model.graph.doc_string = "the graph"
    model.metadata_props.add(key="author", value="who")
    model.graph.metadata_props.add(key="kept", value="of the graph")
    for node in model.graph.node:
        node.doc_string = f'documents\n"{node.name}"'
        for key, value in (SCOPES[node.name], ("pkg.torch.onnx.stack_trace", f"File of {node.name}, ä")):
            node.metadata_props.add(key=key, value=value)
    model.graph.input[0].doc_string = "the input"
    model.graph.output[0].metadata_props.add(key="unit", value="m")
    model.graph.initializer[0].metadata_props.add(key="of", value="weights")
    info = model.graph.value_info.add()
    info.CopyFrom(helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, 2]))
    info.metadata_props.add(key="layout", value="NC")
    return model


def said_by(proto: Any) -> Said:
    return proto.doc_string, {e.key: e.value for e in proto.metadata_props if not e.key.startswith("qmlir.")}


def said_in(model: ModelProto) -> dict[str, Said]:
    """The annotations of the model, the graph and each tensor that has one."""
    graph = model.graph
    tensors = {
        each.name: said_by(each) for each in (*graph.input, *graph.value_info, *graph.output, *graph.initializer)
    }
    shown = {name: said for name, said in tensors.items() if any(said)}
    return {"model": said_by(model), "graph": said_by(graph), **shown}


def of_nodes(model: ModelProto) -> dict[str, Said]:
    return {node.name: said_by(node) for node in model.graph.node}


def test_annotations_survive_the_text_and_an_export() -> None:
    source = annotated()
    module = qmlir.load(source)
    again = parse_module(default_environment().new_context(), module_text(module), "module")
    exported = qmlir.export_onnx(again)
    assert of_nodes(exported) == of_nodes(source)
    assert said_in(exported) == said_in(source)
    assert (exported.domain, exported.model_version) == ("org.example", 7)
    for model in (exported, without_module(exported)):  # from the text, and from the nodes
        assert of_nodes(qmlir.export_onnx(qmlir.load(model))) == of_nodes(source)
        assert said_in(qmlir.export_onnx(qmlir.load(model))) == said_in(source)


@pytest.mark.parametrize("form", ["qdq", "qoperator", "integer"])
def test_every_node_of_an_operation_has_the_annotations_of_its_origin(form: str) -> None:
    source = annotated()
    samples = np.random.default_rng(0).normal(size=(16, 2, 3)).astype(np.float32)
    module = qmlir.quantize(qmlir.load(source), [{"x": x} for x in samples], validate=False, progress=None).module
    exported = qmlir.export_onnx(module, format=form)
    expected, names = of_nodes(source), list[str]()
    for node in exported.graph.node:
        name = node.name.partition("/")[0]
        assert said_by(node) == expected.get(name, ("", {}))
        names.append(name)
    assert set(names) >= expected.keys()
    assert said_in(exported) == said_in(source)


def test_the_path_of_a_module_is_in_the_ir() -> None:
    found = {
        str(op.attributes["origin"]): op.attributes.get("module")
        for op in qmlir.load(annotated()).walk()
        if "origin" in op.attributes
    }
    assert {name: str(path) for name, path in found.items() if path} == {
        '"node_linear"': '"layers.0.fc"',
        '"node_relu"': '"layers.0"',
    }


def test_a_fused_operation_has_the_annotations_of_both_nodes() -> None:
    """And the first decides if both have a key."""
    module = qmlir.load(annotated())
    (relu,) = (op for op in module.walk() if op.name == "nn.relu")
    hand_on([op for op in module.walk() if op.name == "nn.matmul"], relu)
    (node,) = (node for node in qmlir.export_onnx(module).graph.node if node.op_type == "Relu")
    said, own = of_nodes(annotated()), dict([SCOPES["node_linear"]])
    assert said_by(node) == (said["node_relu"][0], own | said["node_relu"][1])


def test_annotations_of_a_part_of_a_model_survive() -> None:
    source = annotated()
    module = qmlir.load(source, cut_inputs=["h"])
    exported = qmlir.export_onnx(module)
    expected = of_nodes(source)
    del expected["node_linear"]
    assert of_nodes(exported) == expected
    assert said_in(exported) == {name: said for name, said in said_in(source).items() if name not in "xw"}
