"""How elementwise operators are imported where one operator may become one operation or several."""

import numpy as np
import pytest
from onnx import parser

import qmlir
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import ClipOp
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import DiagnosticError


def _operations(inputs: str, nodes: str, element: str = "float", opset: int = 21, constants: str = "") -> list[NnOp]:
    """The operations, constants left out, of a model with the output `y`."""
    text = f'<ir_version: 10, opset_import: ["" : {opset}]> g ({inputs}) => ({element}[?] y) {constants} {{ {nodes} }}'
    ops = [op for op in qmlir.load(parser.parse_model(text)).walk() if isinstance(op, NnOp)]
    return [op for op in ops if not isinstance(op, ConstantOp)]


def _names(*arguments: str, **options: str) -> list[str]:
    return [op.name for op in _operations(*arguments, **options)]


BOUNDS = "<float low = {0.0}, float[1] high = {6.0}>"


def test_constant_bounds_of_clip_are_properties() -> None:
    (op,) = _operations("float[4] x", "y = Clip(x, low, high)", constants=BOUNDS)
    assert isinstance(op, ClipOp)
    assert op.minimum is not None
    assert op.maximum is not None
    assert (op.minimum.value.data, op.maximum.value.data) == (0.0, 6.0)
    (op,) = _operations("float[4] x", "y = Clip(x, , high)", constants=BOUNDS)
    assert isinstance(op, ClipOp)
    assert op.minimum is None


def test_other_bounds_of_clip() -> None:
    assert _names("float[4] x, float low", "y = Clip(x, low, high)", constants="<float high = {6.0}>") == [
        "nn.max",
        "nn.min",
    ]
    assert _names("int32[4] x", "y = Clip(x, low)", "int32", constants="<int32 low = {2}>") == ["nn.max"]
    assert _names("float[4] x", "z = Clip(x) y = Relu(z)") == ["nn.relu"]


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("y = Sum(x)", []),
        ("y = Max(x, x, x)", ["nn.max", "nn.max"]),
        ("y = Mean(x, x)", ["nn.add", "nn.div"]),
    ],
)
def test_any_number_of_inputs(nodes: str, names: list[str]) -> None:
    assert _names("float[4] x", nodes) == names


def test_powers_of_mixed_types() -> None:
    # A constant exponent that the base's type holds is converted once and for all.
    assert _names("float[4] x", "y = Pow(x, two)", constants="<int64 two = {2}>") == ["nn.pow"]
    ops = _operations("int32[4] x", "y = Pow(x, half)", "int32", constants="<float half = {0.5}>")
    assert [op.name for op in ops] == ["nn.cast", "nn.pow", "nn.cast"]
    assert [str(element_of(op.results[0])) for op in ops] == ["f64", "f64", "i32"]
    ops = _operations("int32[4] x, int64[4] n", "y = Pow(x, n)", "int32")
    assert [str(element_of(op.results[0])) for op in ops] == ["i64", "i64", "i32"]  # the base, the power, the result


def test_a_division_by_zero_is_left_to_the_run() -> None:
    constants = "<int64[1] a = {1}, int64[1] zero = {0}>"
    text = f'<ir_version: 10, opset_import: ["" : 21]> g () => (int64[1] y) {constants} {{ y = Div(a, zero) }}'
    module = qmlir.load(parser.parse_model(text))
    with pytest.raises(DiagnosticError, match="integer division by zero"):
        qmlir.interpret(module)


def test_gelu_of_another_kind() -> None:
    with pytest.raises(DiagnosticError, match="approximate must be none or tanh, but got 'sigmoid'"):
        _operations("float[4] x", 'y = Gelu<approximate = "sigmoid">(x)')


def test_large_integers_survive_a_cast() -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> g (double[3] x) => (uint64[3] y) { y = Cast<to = 13>(x) }'
    module = qmlir.load(parser.parse_model(text))
    x = np.array([2.0**63, 2.0**64 - 2048, 1e300])
    assert qmlir.interpret(module, [x])["y"].tolist() == [2**63, 2**64 - 2048, int(1e300) % 2**64]
