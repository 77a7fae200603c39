"""Random inputs lie in the ranges of their types, reach their ends, and depend on the seed alone."""

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from qmlir.environment import default_environment
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.parsing import parse_module


def _function(types: str, body: str = "") -> FuncOp:
    arguments = ", ".join(f"%{position}: {type_}" for position, type_ in enumerate(types.split(" ; ")))
    text = f"func.func @main({arguments}) {{ {body} func.return }}"
    (function,) = parse_module(default_environment().new_context(), text).ops
    assert isinstance(function, FuncOp)
    return function


@pytest.mark.parametrize(
    ("type_", "low", "high"),
    [
        ("!quant.uniform<i8:f32, 0.5:3>", -128, 127),
        ("!quant.uniform<u4:f32, 0.5:3>", 0, 15),
        ("!quant.uniform<i8<-127:127>:f32, 0.5>", -127, 127),
        ("!quant.calibrated<f32<-1.5:2.5>>", -1.5, 2.5),
        ("i1", 0, 1),
        ("ui8", 0, 255),
        ("i16", -32768, 32767),
    ],
)
def test_the_whole_range_and_its_ends(type_: str, low: float, high: float) -> None:
    values = random_inputs(_function(f"tensor<40x40x{type_}>"))["input0"]
    assert (values.min(), values.max()) == (low, high)


def test_zero_points_are_among_the_stored_integers() -> None:
    values = random_inputs(_function("tensor<4000x!quant.uniform<i16:f32, 0.5:1234>>"))["input0"]
    assert (values == 1234).mean() > 0.02


def test_the_seed_and_the_name_decide() -> None:
    function = _function("tensor<9xf32> ; tensor<9xf32>")
    one, same, other = random_inputs(function, 1), random_inputs(function, 1), random_inputs(function, 2)
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["input0"], other["input0"])
    assert not np.array_equal(one["input0"], one["input1"])


def test_sizes_of_one_name_are_one_number() -> None:
    function = _function('tensor<?x?x3xf32> {nn.dims = ["a", "b", ""]} ; tensor<?x?xf32> {nn.dims = ["b", ""]}')
    first, second = random_inputs(function).values()
    assert first.shape == (3, 4, 3)
    assert second.shape == (4, 2)


def test_indices_exist() -> None:
    body = "%r = nn.gather %0, %1 : (tensor<5x3xf32>, tensor<50xi64>) -> tensor<50x3xf32>"
    indices = random_inputs(_function("tensor<5x3xf32> ; tensor<50xi64>", body))["input1"]
    assert set(indices.tolist()) == {0, 1, 2}


def test_what_is_given_is_taken() -> None:
    array = np.zeros(9, np.float32)
    assert random_inputs(_function("tensor<9xf32>"), given={"input0": array})["input0"] is array


def test_a_sequence_is_a_few_tensors() -> None:
    found = random_inputs(_function("!nn.sequence<tensor<9xf32>>"))["input0"]
    assert [(each.dtype, each.shape) for each in found] == [(np.float32, (9,))] * 3
    assert len({each.tobytes() for each in found}) == 3


def test_a_type_that_nothing_holds_is_refused() -> None:
    for type_ in ("tensor<2xcomplex<f32>>", "!nn.sequence<tensor<2xcomplex<f32>>>"):
        with pytest.raises(DiagnosticError, match=r"cannot generate random values for input 'input0(\[0\])?' of type"):
            random_inputs(_function(type_))
