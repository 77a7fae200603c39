"""Each formula gives the same bits on arrays, for the interpreter, and as the body that lowerings write."""

import re
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

import qmlir
from qmlir.dialects import operations_in
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.formulas import FORMULAS
from qmlir.dialects.nn.recurrent import evaluate as recurrent
from qmlir.dialects.nn.recurrent.ops import ACTIVATIONS
from qmlir.interpreter.run import interpret
from tests.unit.dialects.nn.lower.driver import lowered, module_of

GENERATOR = np.random.default_rng(5)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 0.5, -0.5, 2.5]
VALUES = np.concatenate([GENERATOR.standard_normal(3000) * size for size in (1e-4, 1, 4, 50)] + [SPECIAL])
NUMBERS = {"alpha": 0.37, "gamma": 1.21, "beta": 0.43}


def _texts() -> dict[str, type[Operation]]:
    """Each operation, with its own numbers, with others, and in its other form."""
    found: dict[str, type[Operation]] = {}
    for operation, formula in FORMULAS.items():
        name = operation.name
        found[name] = operation
        if formula.properties == ("tanh_approximation",):
            found[f"{name} {{tanh_approximation = true}}"] = operation
        elif formula.properties:
            given = ", ".join(f"{each} = {NUMBERS[each]}" for each in formula.properties)
            found[f"{name} {{{given}}}"] = operation
    return found


TEXTS = _texts()


@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_interpreter_and_the_lowering_take_the_same_steps(text: str, element: str) -> None:
    type_ = f"tensor<{VALUES.size}x{element}>"
    count = 2 if TEXTS[text] is activations.PReluOp else 1
    module = module_of(text, [type_] * count, [type_])
    with np.errstate(over="ignore"):
        x = VALUES.astype(np.dtype("f4" if element == "f32" else "f2"))
    inputs = [x, x[::-1].copy()][:count]
    (expected,) = interpret(module, inputs).values()
    (found,) = interpret(lowered(module), inputs).values()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    assert found[known].tobytes() == expected[known].tobytes()


def test_every_activation_is_a_row() -> None:
    assert set(operations_in(activations)) <= set(FORMULAS)
    assert recurrent.FORMULAS.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("operation", operations_in(activations))
def test_a_row_names_all_numbers_of_its_operation(operation: type[IRDLOperation]) -> None:
    properties = operation.get_irdl_definition().properties
    names = {name for name, each in properties.items() if isinstance(each.default_value, FloatAttr | IntegerAttr)}
    assert names == set(FORMULAS[operation].properties)


def test_an_activation_stands_in_one_place_each() -> None:
    """The operation, its formula, its gradient, and its row for ONNX both ways."""
    root = Path(qmlir.__file__).parent
    files = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"\bThresholdedReluOp\b", path.read_text(encoding="utf-8"))
    }
    assert files == {
        "dialects/nn/activations/ops.py",
        "dialects/nn/formulas.py",
        "dialects/nn/activations/gradient.py",
        "onnx/one_to_one.py",
        "onnx/export/qdq.py",  # floats that every runtime rounds alike: a proof that may be left out
    }
