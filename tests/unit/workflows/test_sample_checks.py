"""Samples that cannot stand for the data of the model are told, and others are not."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import qmlir
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler

_RANDOM = np.random.default_rng(5)
_WEIGHTS = _RANDOM.normal(size=(12, 5)).astype(np.float32)
_DATA = _RANDOM.uniform(size=(32, 12)).astype(np.float32)


def _model(*, divides: str = "", ends: str = "") -> ModelProto:
    """A linear classifier, which may divide pixels by 255 and may end in a softmax."""
    divisor = np.array(255 if divides == "Div" else 1 / 255, np.float32)
    nodes = [
        *([helper.make_node(divides, ["x", "d"], ["scaled"], "scale")] if divides else []),
        helper.make_node("MatMul", ["scaled" if divides else "x", "w"], ["logits"], "fc"),
        *([helper.make_node(ends, ["logits"], ["y"], "end")] if ends else []),
    ]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 12])],
        [helper.make_tensor_value_info("y" if ends else "logits", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(_WEIGHTS, "w"), *([numpy_helper.from_array(divisor, "d")] if divides else [])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def _said(model: ModelProto, data: Any, **given: Any) -> list[str]:
    heard: list[Diagnostic] = []
    with diagnostic_handler(heard.append):
        qmlir.quantize(model, {"x": data}, **given)
    return [each.message for each in heard if "answers" not in each.message]


@pytest.mark.parametrize("ends", ["", "Softmax"])
@pytest.mark.parametrize("divides", ["", "Div", "Mul"])
def test_sound_samples_are_not_told(divides: str, ends: str) -> None:
    assert _said(_model(divides=divides, ends=ends), _DATA * (255 if divides else 1)) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_DATA[:1], "calibrating with 1 sample, "),
        (np.repeat(_DATA[:4], 8, axis=0), "28 of 32 calibration samples are duplicates"),
        (_DATA * 0, "input x is 0 in all calibration samples"),
        (np.full_like(_DATA, 0.5), "input x is 0.5 in all calibration samples"),
    ],
    ids=["one", "repeated", "zeros", "constant"],
)
def test_samples_without_variety(data: Any, message: str) -> None:
    (said,) = _said(_model(), data)
    assert said.startswith(message)


def test_one_sample_that_is_not_scaled() -> None:
    data = _DATA.copy()
    data[7] *= 255
    (said,) = [each for each in _said(_model(), data) if "others" in each]
    assert said.startswith("sample 7 reaches 222.108 in input x")
    assert "and all others at most 0.99" in said


def test_a_few_equal_samples_are_not_told() -> None:
    assert _said(_model(), np.concatenate([_DATA, _DATA[:8]])) == []


@pytest.mark.parametrize("ends", ["", "Softmax"])
def test_pixels_that_are_not_scaled(ends: str) -> None:
    (said,) = _said(_model(ends=ends), _DATA * 255)
    assert "scale the samples as in training" in said


@pytest.mark.parametrize("divides", ["Div", "Mul"])
def test_pixels_that_are_scaled_twice(divides: str) -> None:
    (said,) = _said(_model(divides=divides), _DATA)
    assert "the model divides it by 255; pass samples in [0, 255]" in said


def test_validation_samples_of_another_scale() -> None:
    said = _said(_model(), _DATA, validation={"x": _DATA * 255})
    assert sum("scale both as the model expects" in each for each in said) == 1


def test_a_profile_tells_it_too() -> None:
    heard: list[Diagnostic] = []
    with diagnostic_handler(heard.append):
        qmlir.profile(_model(), {"x": _DATA[:1]})
    assert [each.message for each in heard if "calibrating with 1 sample, " in each.message]
