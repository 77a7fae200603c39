"""Element types and containers of a package: arrays of a run, random values, and the integer level."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, Float32Type, ModuleOp, TensorType, i8

from qmlir.dialects.kernel.lowering.lowering import integer_types
from qmlir.environment import default_environment, plugins
from qmlir.interpreter.random_inputs import Draw, random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module
from tests.support.trits import ShadeType, ShareType, TritType, TupleType

PLUGIN = "tests.support.trits"


def _module(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


def _unary(element: str) -> ModuleOp:
    return _module(f"""
      func.func @main(%x: tensor<?x40x!trit.{element}> {{nn.name = "x"}}) -> (tensor<?x40xf32> {{nn.name = "y"}}) {{
        %0 = trit.to %x : tensor<?x40x!trit.{element}> -> tensor<?x40xf32>
        func.return %0 : tensor<?x40xf32>
      }}""")


PACKED = """
func.func @main(%x: !trit.tuple<[tensor<4x!trit.t>, tensor<2xf32>]> {nn.name = "x"})
    -> (!trit.tuple<[tensor<2xf32>, tensor<4x!trit.t>]> {nn.name = "y"}, tensor<4xf32> {nn.name = "z"}) {
  %a, %b = trit.unpack %x : !trit.tuple<[tensor<4x!trit.t>, tensor<2xf32>]> -> tensor<4x!trit.t>, tensor<2xf32>
  %0 = trit.pack %b, %a : tensor<2xf32>, tensor<4x!trit.t> -> !trit.tuple<[tensor<2xf32>, tensor<4x!trit.t>]>
  %1 = trit.to %a : tensor<4x!trit.t> -> tensor<4xf32>
  func.return %0, %1 : !trit.tuple<[tensor<2xf32>, tensor<4x!trit.t>]>, tensor<4xf32>
}
"""


@pytest.mark.parametrize(
    ("element", "dtype", "low", "high"),
    [("t", np.int8, -1, 1), ("shade", np.uint8, 0, 255), ("share", np.float32, 0, 0)],
)
def test_random_values_lie_within_the_limits(element: str, dtype: type, low: int, high: int) -> None:
    with plugins([PLUGIN]):
        module = _unary(element)
        for draw in Draw:
            x = random_inputs(function_of(module, "main"), 3, draw=draw)["x"]
            assert (x.dtype, x.shape) == (dtype, (2, 40))
            if high:
                assert (x.min(), x.max()) == (low, high)
            assert np.array_equal(interpret(module, {"x": x})["y"], x.astype(np.float32))


@pytest.mark.parametrize(
    ("element", "x", "message"),
    [
        ("t", np.zeros((1, 40), np.float32), "input 'x' must be int8, but got float32"),
        ("t", np.full((1, 40), 2, np.int8), "input 'x' must be in [-1, 1], but got 2 at [0, 0]"),
        ("shade", np.zeros((1, 40), np.int8), "input 'x' must be uint8, but got int8"),
        ("t", np.zeros((1, 4), np.int8), "input 'x' must have shape ?x40, but got 1x4"),
    ],
)
def test_a_value_of_another_type_is_refused(element: str, x: Any, message: str) -> None:
    with plugins([PLUGIN]), pytest.raises(DiagnosticError) as error:
        interpret(_unary(element), {"x": x})
    assert message in error.value.diagnostic.message


@pytest.mark.parametrize("element", ["t", "shade", "share"])
def test_the_integer_level_holds_what_a_caller_gives(element: str) -> None:
    with plugins([PLUGIN]):
        text = str(_unary(element)).replace("?", "3")
        module = _module(text)
        lowered = run_pipeline(module.clone(), "convert-nn-to-kernel")
        assert "trit" not in str(lowered)
        x = random_inputs(function_of(module, "main"), 5)
        assert x["x"].dtype == random_inputs(function_of(lowered, "main"), 5)["x"].dtype
        assert np.array_equal(interpret(lowered, x)["y"], x["x"].astype(np.float32))


def test_the_sign_of_floats_down_to_the_integer_level() -> None:
    x = np.array([-2.5, -0.0, 0.0, 0.25, np.inf], np.float32)
    with plugins([PLUGIN]):
        module = _module("""
          func.func @main(%x: tensor<5xf32> {nn.name = "x"}) -> (tensor<5x!trit.t> {nn.name = "y"}) {
            %0 = trit.of %x : tensor<5xf32> -> tensor<5x!trit.t>
            func.return %0 : tensor<5x!trit.t>
          }""")
        for each in (module, run_pipeline(module.clone(), "convert-nn-to-kernel")):
            found = interpret(each, {"x": x})["y"]
            assert found.dtype == np.int8
            assert found.tolist() == [-1, 0, 0, 1, 1]


def test_a_container_is_a_list() -> None:
    trits, floats = np.array([1, -1, 0, 1], np.int8), np.array([0.5, 2], np.float32)
    with plugins([PLUGIN]):
        module = _module(PACKED)
        found = interpret(module, {"x": [trits, floats]})
        assert [each.tolist() for each in found["y"]] == [[0.5, 2], [1, -1, 0, 1]]
        assert found["z"].tolist() == [1, -1, 0, 1]
        drawn = random_inputs(function_of(module, "main"), 1)["x"]
        assert [(each.dtype, each.shape) for each in drawn] == [(np.int8, (4,)), (np.float32, (2,))]
        assert set(drawn[0]) <= {-1, 0, 1}


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (
            [np.zeros(4, np.int8)],
            "a value of type !trit.tuple<[tensor<4x!trit.t>, tensor<2xf32>]> must have 2 parts, but got 1",
        ),
        (3, "input 'x' must be a list of arrays, but got int"),
        ([np.zeros(4, np.int8), np.zeros(2, np.float64)], "input 'x[1]' must be float32, but got float64"),
        ([np.full(4, 3, np.int8), np.zeros(2, np.float32)], "input 'x[0]' must be in [-1, 1], but got 3 at [0]"),
    ],
)
def test_a_wrong_container_is_refused(x: Any, message: str) -> None:
    with plugins([PLUGIN]), pytest.raises(DiagnosticError) as error:
        interpret(_module(PACKED), {"x": x})
    assert message in error.value.diagnostic.message


def test_an_evaluator_that_gives_no_container_is_named() -> None:
    text = PACKED.replace("!trit.tuple<[tensor<2xf32>, tensor<4x!trit.t>]>", "!trit.tuple<[tensor<2xf32>]>")
    with (
        plugins([PLUGIN]),
        pytest.raises(DiagnosticError, match="cannot be computed: its evaluator is faulty: result 0: a value of"),
    ):
        interpret(_module(text), {"x": [np.zeros(4, np.int8), np.zeros(2, np.float32)]})


def test_the_conversion_to_the_integer_level() -> None:
    types = integer_types()
    float_ = TensorType(Float32Type(), [2])
    for element, held in ((TritType(), i8), (ShadeType(), i8), (ShareType(), Float32Type())):
        assert types.converted(TensorType(element, [2])) == TensorType(held, [2])
    inner = TupleType(ArrayAttr([TensorType(ShadeType(), [2]), float_]))
    outer = TupleType(ArrayAttr([inner, TensorType(TritType(), [3])]))
    lowered = TupleType(ArrayAttr([TensorType(i8, [2]), float_]))
    assert types.converted(outer) == TupleType(ArrayAttr([lowered, TensorType(i8, [3])]))
    assert types.is_legal(TupleType(ArrayAttr([float_])))
