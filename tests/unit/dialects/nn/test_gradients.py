"""Every rule against central differences, in f64, on random operands; and every operation of floats has a rule."""

import math
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir import registry
from qmlir.dialects import operations_in
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.dialect import FAMILIES
from qmlir.dialects.nn.dynamic.ops import DynamicQuantizeOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.gradients import INTEGRAL, REFUSED
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp, RecurrentOp
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.resizing.ops import ResizeOp
from tests.support.gradient_rows import NAMES, ROWS
from tests.support.gradients import Drawn, Row, gradients_of, module_of

STEP = 1e-5
"""Central differences of f64 are wrong by about `STEP^2` of the third derivative and `2^-53 / STEP` of the value."""


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_against_differences(row: Row) -> None:
    random = np.random.default_rng(0)
    for _ in range(1 if issubclass(row.operation, RecurrentOp) else 3):
        drawn = row.draw(random)
        module, inputs = module_of(row, drawn)
        module.verify()
        seeds = {name: random.uniform(-1, 1, y.shape) for name, y in qmlir.interpret(module, inputs).items()}
        found = gradients_of(module, inputs, seeds, drawn.wrt)
        for name, x in inputs.items():
            if name not in found:
                continue
            direction = random.uniform(-1, 1, x.shape)
            ends = [
                sum((y * seeds[each]).sum() for each, y in qmlir.interpret(module, inputs | {name: moved}).items())
                for moved in (x + STEP * direction, x - STEP * direction)
            ]
            assert found[name].shape == x.shape
            expected = (ends[0] - ends[1]) / (2 * STEP)
            np.testing.assert_allclose((found[name] * direction).sum(), expected, rtol=2e-7, atol=2e-8)


def test_every_mode_of_resizing() -> None:
    """Those that torch does not have, too: what is linear in `x` has `<f(x), g> = <x, f'(g)>`, exactly."""
    (row,) = [each for each in ROWS if each.operation is ResizeOp and each.torch is None]
    random = np.random.default_rng(1)
    for _ in range(40):
        module, inputs = module_of(row, row.draw(random))
        ((name, x),) = inputs.items()
        ((result, y),) = qmlir.interpret(module, inputs).items()
        seed = random.uniform(-1, 1, y.shape)
        gradient = gradients_of(module, inputs, {result: seed})[name]
        np.testing.assert_allclose((x * gradient).sum(), (y * seed).sum(), rtol=1e-10, atol=1e-12)


def test_every_operation_has_a_rule_or_parts_and_is_tested() -> None:
    """Those of integers that are computed from floats have parts, whose gradients are those of rounding: zeros."""
    operations = set(operations_in(*FAMILIES))
    assert operations <= {*registry.gradients(), *registry.decompositions()}
    untested = operations - {row.operation for row in ROWS}
    assert untested == {*REFUSED, *INTEGRAL, DynamicQuantizeOp, DynamicLstmOp}


TIES: dict[str, tuple[type[NnOp], list[list[float]], dict[str, Any], list[list[float]]]] = {
    "relu": (activations.ReluOp, [[-1.0, 0.0, 1.0]], {}, [[0, 0, 1]]),
    "abs": (elementwise.AbsOp, [[-1.0, 0.0, 1.0]], {}, [[-1, 0, 1]]),
    "leaky_relu": (activations.LeakyReluOp, [[0.0]], {"alpha": 0.25}, [[0.25]]),
    "prelu": (activations.PReluOp, [[0.0, -2.0], [0.5, 0.5]], {}, [[0.5, 0.5], [0, -2]]),
    "elu": (activations.EluOp, [[0.0]], {"alpha": 0.5}, [[0.5]]),
    "clip": (elementwise.ClipOp, [[-2.0, -1.0, 1.0, 2.0]], {"minimum": -1.0, "maximum": 1.0}, [[0, 1, 1, 0]]),
    "max": (elementwise.MaxOp, [[1.0, 2.0], [1.0, 3.0]], {}, [[0.5, 0], [0.5, 1]]),
    "min": (elementwise.MinOp, [[1.0, 2.0], [1.0, 3.0]], {}, [[0.5, 1], [0.5, 0]]),
    "reduce_max": (reduction.ReduceMaxOp, [[3.0, 1.0, 3.0]], {"axes": [0]}, [[0.5, 0, 0.5]]),
    "reduce_min": (reduction.ReduceMinOp, [[3.0, 1.0, 3.0]], {"axes": [0]}, [[0, 1, 0]]),
    "reduce_l2": (reduction.ReduceL2Op, [[0.0, 0.0]], {"axes": [0]}, [[0, 0]]),
    "reduce_prod": (reduction.ReduceProdOp, [[0.0, 2.0, 3.0]], {"axes": [0]}, [[6, 0, 0]]),
    "pow": (elementwise.PowOp, [[0.0, 0.0, 2.0], [0.0, 2.0, 0.0]], {}, [[0, 0, 0], [0, 0, math.log(2)]]),
    "round": (elementwise.RoundOp, [[0.5, 1.2]], {}, [[0, 0]]),
}


@pytest.mark.parametrize("name", TIES)
def test_where_there_is_no_derivative(name: str) -> None:
    """What `docs/training.md` states: what torch gives, but for the limits of a clip."""
    operation, operands, properties, expected = TIES[name]
    drawn = Drawn([np.array(each) for each in operands], properties)
    module, inputs = module_of(Row(operation, lambda _: drawn), drawn)
    seeds = {each: np.ones_like(y) for each, y in qmlir.interpret(module, inputs).items()}
    found = gradients_of(module, inputs, seeds)
    for position, wanted in enumerate(expected):
        np.testing.assert_allclose(found[f"x{position}"], wanted, rtol=1e-15)


def test_a_max_pool_gives_to_the_first() -> None:
    drawn = Drawn([np.array([[[1.0, 2.0, 2.0, 0.0]]])], {"kernel": [3]})
    module, inputs = module_of(Row(pooling.MaxPoolOp, lambda _: drawn), drawn)
    found = gradients_of(module, inputs, {"y0": np.array([[[1.0, 3.0]]])})
    np.testing.assert_array_equal(found["x0"], [[[0, 4, 0, 0]]])
