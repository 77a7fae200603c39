"""Which operators an operation becomes in each form, and what they compute by hand."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module


def exported(text: str, **settings: Any) -> ModelProto:
    module = parse_module(default_environment().new_context(), text, "module")
    verify(module)
    return qmlir.export_onnx(module, **settings)


def operators(model: ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def run(model: ModelProto, *inputs: Any) -> np.ndarray:
    names = [each.name for each in model.graph.input]
    return ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))[0]


CONV = """
!x = !quant.uniform<u8:f32, 0.3:128>
!w = !quant.uniform<i8:f32, 0.7>
!y = !quant.uniform<u8:f32, 2.1:3>
func.func @main(%x: tensor<1x1x2x2x!x>) -> tensor<1x1x1x1x!y> {
  %w = nn.constant dense<[[[[1, 2], [3, -4]]]]> : tensor<1x1x2x2xi8> -> tensor<1x1x2x2x!w>
  %0 = nn.conv %x, %w : (tensor<1x1x2x2x!x>, tensor<1x1x2x2x!w>) -> tensor<1x1x1x1x!y>
  func.return %0 : tensor<1x1x1x1x!y>
}
"""


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"format": "qdq"}, "Conv"),
        ({"format": "qdq", "exact": True}, "ConvInteger"),
        ({"format": "qoperator"}, "QLinearConv"),
        ({"format": "integer"}, "ConvInteger"),
    ],
)
def test_a_convolution(settings: dict[str, Any], wanted: str) -> None:
    model = exported(CONV, **settings)
    assert operators(model)[wanted] == 1
    x = np.array([[[[138, 128], [148, 118]]]], np.uint8)
    # (10 * 1 + 0 * 2 + 20 * 3 + -10 * -4) * 0.3 * 0.7 / 2.1 = 11; the zero point is 3.
    assert run(model, x).tolist() == [[[[14]]]]


def test_powers_of_two_are_certain_between_casts() -> None:
    text = CONV.replace("0.3", "0.5").replace("0.7", "0.25").replace("2.1", "2.0")
    assert operators(exported(text, exact=True))["Conv"] == 1


TRANSPOSED = """
!x = !quant.uniform<TYPE:f32, 0.3:128>
!w = !quant.uniform<i8:f32, 0.7>
!y = !quant.uniform<i16:f32, 0.21:3>
func.func @main(%x: tensor<1xCx1x2x!x>) -> tensor<1x1x2x3x!y> {
  %w = nn.constant dense<1> : tensor<Cx1x2x2xi8> -> tensor<Cx1x2x2x!w>
  %0 = nn.conv_transpose %x, %w : (tensor<1xCx1x2x!x>, tensor<Cx1x2x2x!w>) -> tensor<1x1x2x3x!y>
  func.return %0 : tensor<1x1x2x3x!y>
}
"""


@pytest.mark.parametrize("settings", [{"format": "qdq"}, {"format": "qdq", "exact": True}, {"format": "integer"}])
@pytest.mark.parametrize("storage", ["u8", "u16"])
def test_a_transposed_convolution(storage: str, settings: dict[str, Any]) -> None:
    """Sums of bytes are exact in f32, and those of 16 bits byte by byte."""
    model = exported(TRANSPOSED.replace("TYPE", storage).replace("C", "2"), **settings)
    assert operators(model)["ConvTranspose"] == {"u8": 1, "u16": 2}[storage]
    x = np.array([[[[138, 128]], [[148, 118]]]], f"uint{storage[1:]}")
    # 10 + 20 and 0 - 10 at places 0 and 1, each spread over two places of both rows; the zero point is 3.
    assert run(model, x).tolist() == [[[[33, 23, -7], [33, 23, -7]]]]


def test_a_transposed_convolution_of_many_channels_is_not_exact() -> None:
    text = TRANSPOSED.replace("TYPE", "u16").replace("C", "65")
    assert operators(exported(text))["ConvTranspose"] == 1
    with pytest.raises(
        DiagnosticError, match="reduces 260 terms, but a convolution of this width supports at most 258"
    ):
        exported(text, exact=True)


EINSUM = """
!x = !quant.uniform<u8:f32, 0.3:128>
!y = !quant.uniform<i8:f32, 0.9:3>
func.func @main(%x: tensor<2x2x!x>) -> tensor<2x!y> {
  %0 = nn.einsum %x, %x {equation = "ij,ji->i"} : (tensor<2x2x!x>, tensor<2x2x!x>) -> tensor<2x!y>
  func.return %0 : tensor<2x!y>
}
"""


def test_an_einstein_sum_is_one_of_integers() -> None:
    model = exported(EINSUM)
    assert operators(model)["Einsum"] == 1
    # [[10, 0], [20, -10]] times its transpose: 100 and 100, of 0.09 each, in steps of 0.9.
    assert run(model, np.array([[138, 128], [148, 118]], np.uint8)).tolist() == [13, 13]


ADD = """
!a = !quant.uniform<i8:f32, 0.5:ZERO>
!b = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 1.0:ZERO>
func.func @main(%a: tensor<2x!a>, %b: tensor<2x!b>) -> tensor<2x!y> {
  %0 = nn.add %a, %b : (tensor<2x!a>, tensor<2x!b>) -> tensor<2x!y>
  func.return %0 : tensor<2x!y>
}
"""


@pytest.mark.parametrize(("zero", "is_one_operator"), [("2", True), ("3", False)])
def test_qlinear_add_where_it_rounds_alike(zero: str, is_one_operator: bool) -> None:
    """It adds the zero point before rounding, ties to even: the same where the zero point is even."""
    found = operators(exported(ADD.replace("ZERO", zero), format="qoperator"))
    assert (found["QLinearAdd"] == 1) is is_one_operator


def test_a_function_is_a_table() -> None:
    text = """
!x = !quant.uniform<u2:f32, 1.0:1>
!y = !quant.uniform<u8:f32, 0.00390625>
func.func @main(%x: tensor<4x!x>) -> tensor<4x!y> {
  %0 = nn.sigmoid %x : (tensor<4x!x>) -> tensor<4x!y>
  func.return %0 : tensor<4x!y>
}
"""
    model = exported(text, format="integer")
    assert operators(model) == {"Cast": 1, "Gather": 1}
    wanted = np.rint(256 / (1 + np.exp(-np.array([-1.0, 0, 1, 2]))))
    assert run(model, np.arange(4, dtype=np.uint8)).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("ties", "wanted"),
    [("even", [-4, -2, -2, 2, 2, 4]), ("up", [-3, -2, -1, 2, 3, 4]), ("away", [-4, -3, -2, 2, 3, 4])],
)
def test_ties_of_shifts(ties: str, wanted: list[int]) -> None:
    """Halves of -7, -5, -3, 3, 5 and 7, negated before: ONNX has no arithmetic shift."""
    text = f"""
!x = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<i8:f32, 1.0>
func.func @main(%x: tensor<6x!x>) -> tensor<6x!y> {{
  %0 = nn.neg %x {{requantize = #kernel.requantize<shift, {ties}>}} : (tensor<6x!x>) -> tensor<6x!y>
  func.return %0 : tensor<6x!y>
}}
"""
    x = -np.array([-7, -5, -3, 3, 5, 7], np.int8)
    assert run(exported(text), x).tolist() == wanted


def test_weights_of_4_bits_are_packed() -> None:
    text = """
!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i4:f32:{1:2}, {{0.25, 0.5}}>
!y = !quant.uniform<i8:f32, 0.75>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x1x!y> {
  %w = nn.constant dense<[[3, -4, 7, -8]]> : tensor<1x4xi4> -> tensor<1x4x!w>
  %0 = nn.fully_connected %x, %w : (tensor<1x4x!x>, tensor<1x4x!w>) -> tensor<1x1x!y>
  func.return %0 : tensor<1x1x!y>
}
"""
    (weight,) = [each for each in exported(text).graph.initializer if list(each.dims) == [1, 4]]
    assert (weight.data_type, weight.raw_data) == (TensorProto.INT4, bytes([0xC3, 0x87]))
    model = exported(text, format="integer")
    # 0.5 * (0.25 * (4 * 3 + 4 * -4) + 0.5 * (8 * 7 + 4 * -8)) / 0.75 = 7.33
    assert run(model, np.array([[4, 4, 8, 4]], np.int8)).tolist() == [[7]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"format": "qdp"}, r"unknown form 'qdp'; did you mean 'qdq'\? \(available: qdq, qoperator, integer"),
        ({"opset": 20}, r"opset must be in \[21, \d+\], but got 20"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        exported(CONV, **settings)


def test_the_operator_set_is_as_new_as_needed() -> None:
    text = """
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = nn.rms_norm %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
"""
    model = exported(text)
    assert [each.version for each in model.opset_import] == [23]
    assert exported(text, opset=24).opset_import[0].version == 24
    with pytest.raises(DiagnosticError, match="requires operator set 23 for RMSNormalization, but got 21; help: pass"):
        exported(text, opset=21)


def test_a_module_of_two_functions() -> None:
    text = "func.func @f() { func.return }\nfunc.func @g() { func.return }"
    with pytest.raises(DiagnosticError, match=r"ONNX export requires a module with one function, but got 'func.func',"):
        exported(text)


def test_weights_that_are_not_there() -> None:
    text = """
func.func @main() -> tensor<2xf32> {
  %0 = nn.constant #nn.weights<elided> : tensor<2xf32> {origin = "w"}
  func.return %0 : tensor<2xf32>
}
"""
    with pytest.raises(
        DiagnosticError,
        match=r"'nn.constant' op \(w\) has elided weights; read the module " r"together with its weights file",
    ):
        exported(text)


def test_constants_hold_the_bytes_of_the_module() -> None:
    (weight,) = [
        each
        for each in exported(CONV, format="integer", signed=True).graph.initializer
        if list(each.dims) == [1, 1, 2, 2]
    ]
    assert numpy_helper.to_array(weight).tolist() == [[[[1, 2], [3, -4]]]]


DYNAMIC = """
!w = !quant.uniform<i8:f32:1, {0.1, 0.2, 0.3, 0.4, 0.1, 0.2, 0.3, 0.4}>
!v = !quant.uniform<u8:f32:{0:1, 1:1}, {{{0.5:3}, {0.5:3}, {0.5:3}, {0.5:3}}, {{0.25:4}, {0.25:4}, {0.25:4}, {0.25:4}}}>
!r = !quant.uniform<u8:f32, 0.2:128>
func.func @main(%s: tensor<5x1x3xf32>, %w: tensor<1x8x3x!w>, %r: tensor<1x8x2x!r>, %b: tensor<1x16xf32>,
    %v: tensor<2x4x3x!v>, %u: tensor<2x4x1x!r>) -> (tensor<5x1x1x2xf32>, tensor<5x2x1x1xf32>) {
  %h, %last, %cell = nn.dynamic_lstm %s, %w, %r, %b {hidden_size = 2, clip = 3.0}
    : (tensor<5x1x3xf32>, tensor<1x8x3x!w>, tensor<1x8x2x!r>, tensor<1x16xf32>)
    -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  %g, %end, %state = nn.dynamic_lstm %s, %v, %u {hidden_size = 1, direction = "bidirectional"}
    : (tensor<5x1x3xf32>, tensor<2x4x3x!v>, tensor<2x4x1x!r>)
    -> (tensor<5x2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
  func.return %h, %g : tensor<5x1x1x2xf32>, tensor<5x2x1x1xf32>
}
"""


def test_weights_of_a_dynamic_lstm() -> None:
    """One scale and one zero point for each direction, or for each row; one type for both weights."""
    model = exported(DYNAMIC, signed=True)
    tensors = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    first, second = [node for node in model.graph.node if node.op_type == "DynamicQuantizeLSTM"]
    assert [tensors[name].shape for name in first.input[8:]] == [(1, 8), (1, 8), (1,), (1,)]
    assert [tensors[name].tolist() for name in second.input[8:10]] == [[0.5, 0.25], [3, 4]]
    assert [tensors[name].dtype for name in (first.input[9], first.input[11])] == [np.uint8, np.uint8]
    assert tensors[first.input[9]].tolist() == [[128] * 8]


def test_zero_points_that_a_dynamic_lstm_does_not_take() -> None:
    with pytest.raises(
        DiagnosticError, match="DynamicQuantizeLSTM requires one zero point per direction, but got weights of"
    ):
        exported(DYNAMIC.replace("0.25:4", "0.125:4", 1))  # a scale for each row


SIGMOID = """
!x = !quant.uniform<i16:f32, 0.0005>
!y = !quant.uniform<u8:f32, 0.00390625>
func.func @main(%x: tensor<2x!x>, %z: tensor<2x!x>) -> (tensor<2x!y>, tensor<2x!y>) {
  %0 = nn.sigmoid %x : (tensor<2x!x>) -> tensor<2x!y>
  %1 = nn.sigmoid %z : (tensor<2x!x>) -> tensor<2x!y>
  func.return %0, %1 : tensor<2x!y>, tensor<2x!y>
}
"""


def test_functions_share_a_table() -> None:
    model = exported(SIGMOID)
    assert operators(model)["Gather"] == 2
    assert sum(each.dims == [65536] for each in model.graph.initializer) == 1
    between_casts = exported(SIGMOID, exact=False)
    assert operators(between_casts)["Sigmoid"] == 2


def test_a_function_that_is_near_no_tie_stays_between_casts() -> None:
    text = SIGMOID.replace("i16:f32, 0.0005", "i8:f32, 0.05")
    assert operators(exported(text))["Sigmoid"] == 2
    near = text.replace("0.00390625", "0.0625:8")  # a sigmoid of 0 is a half: a step of 1/16 has no tie there
    assert operators(exported(near))["Sigmoid"] == 2
    tie = text.replace("0.00390625", "1.0")  # and of 1 it is one
    assert operators(exported(tie))["Gather"] == 2


ONE_TO_ONE = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<6x5xf32> {
  %0 = nn.pad %x {pads = [3, 1, 1, 1], mode = "reflect"} : (tensor<2x3xf32>) -> tensor<6x5xf32>
  func.return %0 : tensor<6x5xf32>
}
"""


def test_elements_that_are_mirrored_more_than_once() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = exported(ONE_TO_ONE)
    assert operators(model) == {"Gather": 2}
    assert run(model, x).tolist() == np.pad(x, ((3, 1), (1, 1)), mode="reflect").tolist()


@pytest.mark.parametrize("mode", ["f32", "single_round", "double_round"])
@pytest.mark.parametrize(
    ("operation", "formula"),
    [
        ("nn.add %x, %x", lambda x: 2 * x),
        ("nn.neg %x", lambda x: -x),
        ("nn.abs %x", abs),
        ("nn.reduce_sum %x {axes = [1]}", lambda x: x),
    ],
)
def test_accumulators_saturate(operation: str, formula: Callable[[int], int], mode: str) -> None:
    """As results, and, doubled, as the 32 bits that a mode with a multiplier takes."""
    low, high, is_kept = -(2**31), 2**31 - 1, mode == "f32"
    name, _, rest = operation.partition(" {")
    properties = ", ".join([f"requantize = #kernel.requantize<{mode}>", *filter(None, [rest.rstrip("}")])])
    accumulator, result = "!quant.uniform<i32:f32, 0.5>", f"!quant.uniform<i32:f32, {0.5 if is_kept else 0.25}>"
    count = name.count("%")
    text = f"""func.func @main(%x: tensor<6x1x{accumulator}>) -> tensor<6x1x{result}> {{
      %0 = {name} {{{properties}}} : ({", ".join([f"tensor<6x1x{accumulator}>"] * count)}) -> tensor<6x1x{result}>
      func.return %0 : tensor<6x1x{result}>
    }}"""
    x = np.array([low, high, low + 1, 2**30, -5, 7])
    exact = [min(max(formula(each), low), high) for each in x.tolist()]
    wanted = exact if is_kept else [min(max(2 * each, low), high) for each in exact]
    model = exported(text, format="integer")
    assert run(model, x.astype(np.int32).reshape(6, 1)).reshape(-1).tolist() == wanted


def test_a_batch_norm_without_statistics_has_those_that_change_nothing() -> None:
    types = "(tensor<2x2x1xf32>, tensor<2xf32>, tensor<2xf32>)"
    text = f"""func.func @main(%x: tensor<2x2x1xf32>, %s: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2x2x1xf32> {{
      %0 = nn.batch_norm %x, %s, %b : {types} -> tensor<2x2x1xf32>
      func.return %0 : tensor<2x2x1xf32>
    }}"""
    model = exported(text)
    x, s, b = np.float32([[[1], [-2]], [[0.5], [4]]]), np.float32([2, 0.25]), np.float32([3, -1])
    assert operators(model) == {"BatchNormalization": 1}
    assert run(model, x, s, b).tolist() == [[[5], [-1.5]], [[4], [0]]]
    (again,) = (op for op in qmlir.load(model).walk() if op.name == "nn.batch_norm")
    assert len(again.operands) == len("xsb")


ROWS = """
!t = !quant.uniform<i8:f32:0, {0.5, 0.25, 2.0:1}>
!y = !quant.uniform<i16:f32, 0.5:3>
func.func @main(%i: tensor<2x2xi64>) -> tensor<2x2x2x!y> {
  %t = nn.constant dense<[[1, -2], [3, 5], [127, 0]]> : tensor<3x2xi8> -> tensor<3x2x!t>
  %0 = nn.gather %t, %i : (tensor<3x2x!t>, tensor<2x2xi64>) -> tensor<2x2x2x!y>
  func.return %0 : tensor<2x2x2x!y>
}
"""


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"format": "qdq", "exact": False}, {"DequantizeLinear": 1, "Gather": 1, "QuantizeLinear": 1}),
        ({"format": "qdq"}, {"Gather": 3, "Mul": 1}),
        ({"format": "integer", "exact": True}, {"Gather": 3, "Mul": 1}),
    ],
)
def test_rows_that_have_scales_of_their_own(settings: dict[str, Any], wanted: dict[str, int]) -> None:
    """By codes, zero points and multipliers of the rows that are taken, or between casts."""
    model = exported(ROWS, **settings)
    assert {name: operators(model)[name] for name in wanted} == wanted
    # By 1, 0.5 and 4: 1.5 and 2.5 are rounded to 2; -2 is the first row, whose zero point is 0.
    assert run(model, np.array([[-1, 0], [1, -3]])).tolist() == [[[507, -1], [4, 1]], [[5, 5], [4, 1]]]


def test_rows_between_casts_are_read_as_one_operation_on_integers() -> None:
    model = exported(ROWS, format="qdq", exact=False)
    del model.metadata_props[:]
    (again,) = (op for op in qmlir.load(model).walk() if op.name == "nn.gather")
    assert str(again.operands[0].type).startswith("tensor<3x2x!quant.uniform<i8:f32:0, {")
    assert str(again.results[0].type).startswith("tensor<2x2x2x!quant.uniform<i16:f32, ")


FULLY_CONNECTED = """
!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32:0, {0.5, 0.25}>
!b = !quant.uniform<i32:f32:0, {0.25, 0.125}>
!y = !quant.uniform<u8:f32, 0.5:3>
func.func @main(%x: tensor<1x2x3x!x>) -> tensor<1x2x2x!y> {
  %w = nn.constant dense<[[1, 2, 3], [-4, 5, -6]]> : tensor<2x3xi8> -> tensor<2x3x!w>
  %b = nn.constant dense<[2, -8]> : tensor<2xi32> -> tensor<2x!b>
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x2x3x!x>, tensor<2x3x!w>, tensor<2x!b>) -> tensor<1x2x2x!y>
  func.return %0 : tensor<1x2x2x!y>
}
"""


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"format": "qdq", "exact": False}, "MatMul"),
        ({"format": "qdq"}, "MatMul"),
        ({"format": "qoperator"}, "MatMul"),
        ({"format": "integer"}, "MatMulInteger"),
    ],
)
def test_a_fully_connected_layer_of_more_axes(settings: dict[str, Any], wanted: str) -> None:
    """A Gemm has matrices only. Floats hold sums as small as these."""
    model = exported(FULLY_CONNECTED, **settings)
    assert operators(model)[wanted] == 1
    assert operators(model)["Gemm"] == operators(model)["QGemm"] == 0
    x = np.array([[[138, 128, 118], [128, 132, 128]]], np.uint8)
    # (10 - 30 + 2) / 4 = -4.5 and (-40 + 60 - 8) / 8 = 1.5; (8 + 2) / 4 = 2.5 and (20 - 8) / 8 = 1.5; over 0.5, plus 3.
    assert run(model, x).tolist() == [[[0, 6], [8, 6]]]


def test_operations_in_training_by_the_reference_of_onnx() -> None:
    """Which draws the same elements for the seed."""
    five = ", ".join(["tensor<3xf32>"] * 4)
    text = f"""func.func @main(%x: tensor<4x3xf32>, %s: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {{
      %r = nn.constant dense<0.25> : tensor<1xf32>
      %0, %kept = nn.dropout %x, %r {{seed = 5}} : (tensor<4x3xf32>, tensor<1xf32>) -> (tensor<4x3xf32>, tensor<4x3xi1>)
      %1, %m, %v, %bm, %bv = nn.batch_norm_training %0, %s, %s, %s, %s : (tensor<4x3xf32>, {five}) -> (tensor<4x3xf32>, {five})
      func.return %1, %m, %v : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
    }}"""  # noqa: E501
    model = exported(text)
    random = np.random.default_rng(3)
    x, s = random.standard_normal((4, 3)).astype(np.float32), random.random(3).astype(np.float32)
    names = [each.name for each in model.graph.input]
    expected = ReferenceEvaluator(model).run(None, dict(zip(names, (x, s), strict=True)))
    for array, wanted in zip(qmlir.interpret(qmlir.load(model), [x, s]).values(), expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=1e-6)


def test_statistics_of_a_batch_have_no_form() -> None:
    five = ", ".join(["tensor<3xf32>"] * 4)
    text = f"""func.func @main(%x: tensor<4x3xf32>, %s: tensor<3xf32>) -> tensor<3xf32> {{
      %1, %m, %v, %bm, %bv = nn.batch_norm_training %x, %s, %s, %s, %s : (tensor<4x3xf32>, {five}) -> (tensor<4x3xf32>, {five})
      func.return %bm : tensor<3xf32>
    }}"""  # noqa: E501
    with pytest.raises(DiagnosticError, match="returns the batch mean and variance, but ONNX returns the running ones"):
        exported(text)


COMPARISON = """
!x = !quant.uniform<i8:f64, 0.5>
func.func @main(%a: tensor<3x!x>, %b: tensor<3x!x>) -> tensor<3xi1> {
  %0 = nn.greater %a, %b : (tensor<3x!x>, tensor<3x!x>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}
"""


@pytest.mark.parametrize("form", ["qdq", "integer"])
def test_a_comparison_of_doubles_reads_both_operands(form: str) -> None:
    model = exported(COMPARISON, format=form)
    a, b = np.array([1, 2, 3], np.int8), np.array([2, 1, 3], np.int8)
    assert run(model, a, b).tolist() == [False, True, False]


NAMED_LIKE_PARTS = """
!x = !quant.uniform<u8:f32, 0.5:3>
func.func @main(%x: tensor<2x!x>) -> (tensor<2x!x> {nn.name = "y"}) {
  %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> {origin = "y/c0"}
  %0 = quant.dcast %x {origin = "x"} : tensor<2x!x> to tensor<2xf32>
  %1 = nn.mul %0, %c : tensor<2xf32> {origin = "m"}
  %2 = quant.qcast %1 {origin = "y"} : tensor<2xf32> to tensor<2x!x>
  func.return %2 : tensor<2x!x>
}
"""


def test_no_tensor_of_an_operation_has_the_name_of_a_value() -> None:
    """As after two exports, of which the first named a constant after the operation that it belonged to."""
    model = exported(NAMED_LIKE_PARTS, signed=True)
    names = [each.name for each in model.graph.initializer]
    names += [name for node in model.graph.node for name in node.output]
    assert len(set(names)) == len(names)
    # (4 - 3) * 1 + 3 and (5 - 3) * 2 + 3
    assert run(model, np.array([4, 5], np.uint8)).tolist() == [4, 7]
