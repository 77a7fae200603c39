"""Signed integers that an exported model holds unsigned: types, what is held so, and models that somebody edited."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto
from xdsl.parser import Parser

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler
from qmlir.onnx.export.signed_as_unsigned import twin_element
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text


@pytest.mark.parametrize(
    ("signed", "unsigned"),
    [
        ("!quant.uniform<i8:f32, 0.5:-3>", "!quant.uniform<u8:f32, 0.5:125>"),
        ("!quant.uniform<i8<-127:127>:f32:1, {0.5:1, 2.0}>", "!quant.uniform<u8<1:255>:f32:1, {0.5:129, 2.0:128}>"),
        ("!quant.uniform<i4:f32, 0.5:-3>", "!quant.uniform<u4:f32, 0.5:5>"),
        ("!quant.any<i8<-127:127>:f32>", "!quant.any<u8<1:255>:f32>"),
        ("!quant.uniform<u8:f32, 0.5:3>", "!quant.uniform<u8:f32, 0.5:3>"),
        ("!quant.uniform<i16:f32, 0.5:3>", "!quant.uniform<i16:f32, 0.5:3>"),
        ("f32", "f32"),
    ],
)
def test_the_unsigned_type(signed: str, unsigned: str) -> None:
    first, second = (Parser(default_environment().new_context(), text).parse_type() for text in (signed, unsigned))
    assert twin_element(first) == second


MODULE = """
!x = !quant.uniform<i8:f32, 0.5:1>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
func.func @main(%x: tensor<4x2x!x> {nn.name = "x"}) -> (tensor<4x2x!x> {nn.name = "y"}) {
  %w = nn.constant dense<[[1, -100], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w> {origin = "w"}
  %c = nn.constant dense<[-5, 7]> : tensor<2xi8> -> tensor<2x!x> {origin = "c"}
  %0 = nn.fully_connected %x, %w : (tensor<4x2x!x>, tensor<2x2x!w>) -> tensor<4x2x!x> {origin = "fc1"}
  %1 = nn.add %0, %c : (tensor<4x2x!x>, tensor<2x!x>) -> tensor<4x2x!x> {origin = "sum"}
  %2 = nn.leaky_relu %1 {alpha = 0.25 : f32} : tensor<4x2x!x> {origin = "leaky"}
  %3 = nn.fully_connected %2, %w : (tensor<4x2x!x>, tensor<2x2x!w>) -> tensor<4x2x!x> {origin = "fc2"}
  func.return %3 : tensor<4x2x!x>
}
"""

X = np.array([[-120, -3], [5, 100], [127, -128], [0, 1]], np.int8)


def exported(**settings: Any) -> ModelProto:
    return qmlir.export_onnx(parse_module(default_environment().new_context(), MODULE, "module"), **settings)


def read(model: ModelProto) -> tuple[str, list[str], list[list[int]]]:
    """The text of the module, what was warned of, and what it computes."""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        module = qmlir.load(model)
    return module_text(module), list(map(str, said)), qmlir.interpret(module, [X])["y"].tolist()


def stripped(model: ModelProto) -> ModelProto:
    """The model without what the export says of it."""
    found = ModelProto()
    found.CopyFrom(model)
    del found.metadata_props[:]
    return found


def kinds(model: ModelProto) -> dict[str, int]:
    graph = model.graph
    held = {each.name: each.type.tensor_type.elem_type for each in (*graph.value_info, *graph.input, *graph.output)}
    return {name: held[name] for name in ("x", "w", "fc1", "leaky", "y")}


def test_what_comes_in_and_goes_out_stays_signed() -> None:
    assert kinds(exported()) == {
        "x": TensorProto.INT8, "w": TensorProto.UINT8, "fc1": TensorProto.UINT8, "leaky": TensorProto.UINT8,
        "y": TensorProto.INT8,
    }  # fmt: skip
    assert set(kinds(exported(signed=True)).values()) == {TensorProto.INT8}


ONE_PRODUCT = """
!x = !quant.uniform<i8:f32, 0.5:1>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!s = !quant.uniform<i32:f32, 0.125>
func.func @main(%x: tensor<4x2x!x> {nn.name = "x"}) -> (tensor<4x2xf32> {nn.name = "y"}) {
  %w = nn.constant dense<[[127, -127], [127, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w> {origin = "w"}
  %0 = nn.matmul %x, %w : (tensor<4x2x!x>, tensor<2x2x!w>) -> tensor<4x2x!s> {origin = "sums"}
  %1 = quant.dcast %0 : tensor<4x2x!s> to tensor<4x2xf32>
  func.return %1 : tensor<4x2xf32>
}
"""


@pytest.mark.parametrize("form", ["qdq", "qoperator", "integer"])
def test_weights_of_one_product_are_unsigned(form: str) -> None:
    """Without VNNI, ONNX Runtime adds pairs of u8 times s8 in 16 saturating bits: 255 * 127 twice is too much."""
    module = parse_module(default_environment().new_context(), ONE_PRODUCT, "module")

    def held(**settings: Any) -> list[int]:
        graph = qmlir.export_onnx(module, format=form, **settings).graph
        return [each.data_type for each in graph.initializer if each.name == "w"]

    assert held() == held(exact=True) == [TensorProto.UINT8]
    assert held(exact=False) == held(signed=True) == [TensorProto.INT8]


@pytest.mark.parametrize("form", ["qdq", "qoperator", "integer"])
def test_both_ways_to_read_it_compute_the_same(form: str) -> None:
    model = exported(format=form)
    text, said, found = read(model)
    assert text == module_text(parse_module(default_environment().new_context(), MODULE, "module"))
    assert not said
    assert read(stripped(model))[2] == found
