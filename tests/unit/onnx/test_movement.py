"""How movement, constants and reductions are imported where an operator is more than one operation, or is refused."""

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.reduction.ops import ReduceSumOp
from qmlir.dialects.nn.shapes.ops import PadOp
from qmlir.ir.builtin_types import tensor
from qmlir.ir.diagnostics import DiagnosticError


def load(text: str, opset: int = 21, *, fallback: bool = True, strip_training: bool = False) -> ModuleOp:
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> g {text}')
    return qmlir.load(model, fallback=fallback, strip_training=strip_training)


def operations(module: ModuleOp) -> list[NnOp]:
    return [op for op in module.walk() if isinstance(op, NnOp)]


QUANTIZE = "q = QuantizeLinear (x, scale, zero)"
PARAMETERS = "float scale = {0.5}, uint8 zero = {3}"


def test_padding_of_quantized_integers() -> None:
    """To ONNX they are integers: without a value 0 is added, which is not the zero point."""
    module = load(
        f"(float[3] x) => (uint8[5] y) <{PARAMETERS}, int64[2] pads = {{1, 1}}> {{ {QUANTIZE} y = Pad (q, pads) }}"
    )
    (pad,) = [op for op in operations(module) if isinstance(op, PadOp)]
    assert "quant.uniform" in str(pad.result.type)
    results = qmlir.interpret(module, [np.array([0.0, 0.5, 1.0], np.float32)])
    assert results["y"].tolist() == [0, 3, 4, 5, 0]


def test_padding_of_quantized_integers_with_a_value() -> None:
    """The value is a number of the type's own: the padding stays quantized."""
    module = load(
        f"(float[1] x) => (uint8[3] y) <{PARAMETERS}, int64[2] pads = {{1, 1}}, uint8 fill = {{7}}>"
        f" {{ {QUANTIZE} y = Pad (q, pads, fill) }}"
    )
    (pad,) = [op for op in operations(module) if isinstance(op, PadOp)]
    assert "quant.uniform" in str(pad.result.type)
    assert qmlir.interpret(module, [np.array([0.5], np.float32)])["y"].tolist() == [7, 4, 7]


def test_triangle_of_quantized_integers() -> None:
    """What goes becomes the integer 0."""
    module = load(f"(float[2, 2] x) => (uint8[2, 2] y) <{PARAMETERS}> {{ {QUANTIZE} y = Trilu (q) }}")
    assert qmlir.interpret(module, [np.zeros((2, 2), np.float32)])["y"].tolist() == [[3, 3], [0, 3]]


def test_movement_of_quantized_values_keeps_their_type() -> None:
    module = load(
        f"(float[1, 4, 2, 2] x) => (y) <{PARAMETERS}, int64[2] sizes = {{1, 2}}> {{"
        f"{QUANTIZE} d = DepthToSpace <blocksize = 2> (q) a, b = Split <axis = 2, num_outputs = 2> (d)"
        "c = Concat <axis = 1> (a, b) m = ReduceMax (c) y = DequantizeLinear (m, scale, zero) }"
    )
    moved = [op for op in operations(module) if op.name in ("nn.depth_to_space", "nn.split", "nn.concat")]
    assert len(moved) == 3
    assert all("quant.uniform" in str(result.type) for op in moved for result in op.results)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("value = float[2] {1.0, 2.0}", [1.0, 2.0]),
        ("value_float = 1.5", 1.5),
        ("value_floats = [1.5, 2.0]", [1.5, 2.0]),
        ("value_int = 3", 3),
        ("value_ints = [3, 4]", [3, 4]),
    ],
)
def test_constant(attribute: str, expected: object) -> None:
    module = load(f"(float[2] x) => (y) {{ y = Constant <{attribute}> () }}")
    (result,) = qmlir.interpret(module, [np.zeros(2, np.float32)]).values()
    assert result.tolist() == expected
    assert result.dtype == (np.int64 if "int" in attribute else np.float32)


def test_constant_of_text() -> None:
    with pytest.raises(
        DiagnosticError, match="value must be a dense tensor, floats or integers, but got 'value_string'"
    ):
        load('(float[2] x) => (y) { y = Constant <value_string = "a"> () }', fallback=False)


def test_dropout_keeps_every_element() -> None:
    module = load("(float[N] x) => (y, mask) <float ratio = {0.5}> { y, mask = Dropout (x, ratio) }")
    x = np.array([1.0, -2.0], np.float32)
    results = qmlir.interpret(module, [x])
    assert results["y"].tolist() == x.tolist()
    assert results["mask"].tolist() == [True, True]


def test_dropout_with_ratio_0_may_train() -> None:
    module = load("(float[2] x) => (y) <float ratio = {0.0}, bool train = {1}> { y = Dropout (x, ratio, train) }")
    assert operations(module) == []


def test_dropout_in_training(caplog: pytest.LogCaptureFixture) -> None:
    """Half of many elements are kept, twice as large, and others in each run."""
    text = (
        "(float[4096] x) => (y, mask) <float ratio = {0.5}, bool train = {1}> { y, mask = Dropout (x, ratio, train) }"
    )
    module = load(text)
    assert "drops elements at random" in caplog.text
    x = np.ones(4096, np.float32)
    first, second = (qmlir.interpret(module, [x]) for _ in range(2))
    assert set(first["y"].tolist()) == {0.0, 2.0}
    assert np.array_equal(first["y"] == 2, first["mask"])
    assert 1800 < first["mask"].sum() < 2300  # seven standard deviations
    assert not np.array_equal(first["mask"], second["mask"])
    assert qmlir.interpret(load(text, strip_training=True), [x])["y"].tolist() == x.tolist()


def test_dropout_at_no_ratio() -> None:
    module = load("(float[2] x, float ratio) => (y) <bool train = {1}> { y = Dropout (x, ratio, train) }")
    with pytest.raises(DiagnosticError, match=r"dropout ratio must be in \[0, 1\), but got 1"):
        qmlir.interpret(module, [np.ones(2, np.float32), np.float32(1)])


def test_dropout_in_training_is_not_compiled() -> None:
    text = "(float[2] x) => (y) <float ratio = {0.5}, bool train = {1}> { y = Dropout (x, ratio, train) }"
    with pytest.raises(
        DiagnosticError, match="cannot be compiled: it drops elements at random; remove it with --strip-training"
    ):
        qmlir.compile(load(text))


@pytest.mark.parametrize(
    ("opset", "text", "shape"),
    [
        (11, "y = ReduceSum <axes = [-1], keepdims = 0> (x)", (2, 3)),
        (13, "y = ReduceSum <keepdims = 0> (x, last)", (2, 3)),
        (13, "y = ReduceSum (x, none)", (1, 1, 1)),
        (13, "y = ReduceSum <noop_with_empty_axes = 1> (x, none)", (2, 3, 4)),
        (13, "y = ReduceSum <noop_with_empty_axes = 1> (x)", (2, 3, 4)),
    ],
)
def test_axes_of_a_reduction(opset: int, text: str, shape: tuple[int, ...]) -> None:
    constants = "<int64[1] last = {-1}, int64[0] none = {}>"
    module = load(f"(float[2, 3, 4] x) => (y) {constants} {{ {text} }}", opset)
    (reduction,) = [op for op in operations(module) if isinstance(op, ReduceSumOp)]
    assert tensor(reduction.result.type).get_shape() == shape


def test_split_that_does_not_divide() -> None:
    with pytest.raises(DiagnosticError, match="Split node 'a': cannot split 5 elements into 2 equal parts"):
        load("(float[5] x) => (a, b) { a, b = Split (x) }", 13)
    load("(float[5] x) => (a, b) { a, b = Split <num_outputs = 2> (x) }", 18)


def test_reshape_to_a_list_of_unknown_length() -> None:
    with pytest.raises(DiagnosticError, match="the number of sizes must be static"):
        load("(float[5] x, int64[N] sizes) => (y) { y = Reshape (x, sizes) }", fallback=False)
