"""Ranges that a model gives its tensors: what annotations and metadata say, by hand, and what is no range."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import qmlir
from qmlir.arithmetic.statistics import Summary
from qmlir.dialects.calib.types import StatsAttr
from qmlir.ir.diagnostics import diagnostic_handler
from qmlir.quantization.profiles.keys import keyed_values
from qmlir.quantization.profiles.statistics import observed


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
