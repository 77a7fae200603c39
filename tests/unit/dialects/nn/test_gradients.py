"""Every rule against central differences, in f64, on random operands; and every operation of floats has a rule."""

import numpy as np
import pytest

import qmlir
from qmlir import registry
from qmlir.dialects import operations_in
from qmlir.dialects.nn import FAMILIES
from qmlir.dialects.nn.gradient import INTEGRAL, REFUSED
from qmlir.dialects.nn.ops.dynamic import DynamicQuantizeOp
from qmlir.dialects.nn.ops.recurrent import DynamicLstmOp, RecurrentOp
from tests.support.gradients import NAMES, ROWS, Row, gradients_of, module_of

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


def test_every_operation_has_a_rule_or_parts_and_is_tested() -> None:
    """Those of integers that are computed from floats have parts, whose gradients are those of rounding: zeros."""
    operations = set(operations_in(*FAMILIES))
    assert operations <= {*registry.gradients(), *registry.decompositions()}
    untested = operations - {row.operation for row in ROWS}
    assert untested == {*REFUSED, *INTEGRAL, DynamicQuantizeOp, DynamicLstmOp}
