"""Two modules against each other: errors by hand, order, bounds, steps, samples that stream."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import outputs_of
from qmlir.workflows.comparison.compare import Comparison, ValueComparison, compare
from qmlir.workflows.comparison.names import Name, output_name
from qmlir.workflows.comparison.subjects import ModuleSubject, ProgramSubject
from tests.unit.workflows.comparison.models import FLOAT, QUANTIZED, parsed


def subjects() -> tuple[ModuleSubject, ModuleSubject]:
    return ModuleSubject(parsed(FLOAT), "float"), ModuleSubject(parsed(QUANTIZED), "quantized")


def x(*values: float) -> dict[str, np.ndarray]:
    return {"x": np.array(values, np.float32).reshape(-1, 1)}


def test_errors_by_hand() -> None:
    found = compare(*subjects(), iter([x(0.75, 1.5), x(-1.0)]))
    first, product, relu = found.values
    assert (found.reference, found.candidate, found.samples, found.unmatched) == ("float", "quantized", 3, ())
    # .75 is 1.5 steps, to the even 2: 1.0 instead of .75; the others are on the grid.
    assert (first.key, first.operation, first.reference_type, first.type) == ("x", "quant.qcast", "f32", "i8")
    assert (first.elements, first.samples, first.max_error) == (3, 3, 0.25)
    assert first.mean_squared_error == pytest.approx(0.0625 / 3)
    assert first.sqnr_db == pytest.approx(10 * math.log10((0.5625 + 2.25 + 1) / 0.0625))
    # 2 and 3 times the input: 1.5 2.25 | 3 4.5 | -2 -3 becomes 2 3 | 3 4 (4.5 to even) | 0 0 (below the range).
    assert (product.key, product.elements, product.max_error) == ("fc1", 6, 3.0)
    assert product.mean_squared_error == pytest.approx((0.25 + 0.5625 + 0.25 + 4 + 9) / 6)
    assert product.mean_error == pytest.approx((0.5 + 0.75 + 0.5 + 2 + 3) / 6)
    assert product.largest == 4.5
    assert product.is_limited
    # Behind the relu the negative values are gone.
    assert (relu.key, relu.max_error, relu.is_limited) == ("act", 0.75, False)
    assert relu.sqnr_db == pytest.approx(10 * math.log10((1.5**2 + 2.25**2 + 9 + 4.5**2) / 1.0625))
    (output,) = found.outputs
    assert (output.key, output.sqnr_db, output.type) == ("y", relu.sqnr_db, "f32")
    # The larger of each pair: 2.25 of 1.5 2.25, 4.5 of 3 4.5, and the first of 0 0, in both.
    assert output.top1_agreement == 1.0


def test_a_module_against_itself() -> None:
    found = compare(subjects()[0], subjects()[0], x(1.0, -2.0))
    # The input is as it was given in both: nothing computes it.
    assert [(each.key, each.sqnr_db, each.max_error) for each in found.values] == [
        (key, math.inf, 0.0) for key in ("fc1", "act")
    ]
    assert found.first_below(200) is None


def test_what_saturates_on_purpose_is_below_no_bound() -> None:
    found = compare(*subjects(), x(0.75, 1.5, -1.0))
    product = next(each for each in found.values if each.key == "fc1")
    assert product.sqnr_db < 6
    first = found.first_below(16)
    assert first is not None
    assert first.key == "act"
    assert [each.key for each in found.below(18)] == ["x", "act", "y"]
    assert [each.key for each in found.worst(1)] == ["act"]


def test_a_limit_of_samples() -> None:
    found = compare(*subjects(), x(0.5, 1.0, 0.75, 0.75), samples=2)
    assert (found.samples, found.values[0].elements, found.values[0].sqnr_db) == (2, 2, math.inf)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing(limit: int) -> None:
    with pytest.raises(DiagnosticError, match=f"samples must be >= 1, but got {limit}"):
        compare(*subjects(), x(1.0), samples=limit)


def test_samples_are_read_one_after_the_other() -> None:
    read: list[int] = []

    def data() -> Iterator[Mapping[str, np.ndarray]]:
        for number in range(10):
            read.append(number)
            yield x(float(number))

    compare(*subjects(), data(), samples=3)
    assert len(read) <= 4


def test_steps_of_one_role_are_compared_step_by_step() -> None:
    body = """
  %0 = nn.{} %x : tensor<2xf32> {{origin = "n", role = "step"}}
  %1 = nn.neg %0 : tensor<2xf32> {{origin = "n", role = "between"}}
  %2 = nn.{} %1 : tensor<2xf32> {{origin = "n", role = "step"}}
  func.return %2 : tensor<2xf32>"""
    modules = [parsed(body.format(kind, kind), "tensor<2xf32>", "tensor<2xf32>") for kind in ("abs", "abs")]
    found = compare(*map(ModuleSubject, modules), iter([[np.array([1.0, -3.0], np.float32)]]))
    assert {each.key: each.elements for each in found.values} == {"n/step": 4, "n/between": 2}
    assert next(iter(found.values)).largest == 3.0


def test_values_of_other_shapes_are_not_compared() -> None:
    flat = parsed(
        '%0 = nn.squeeze %x {axes = [0]} : (tensor<1x2xf32>) -> tensor<2xf32> {origin = "n"}\n'
        "func.return %0 : tensor<2xf32>",
        "tensor<1x2xf32>",
        "tensor<2xf32>",
    )
    same = parsed(
        '%0 = nn.abs %x : tensor<1x2xf32> {origin = "n"}\nfunc.return %0 : tensor<1x2xf32>',
        "tensor<1x2xf32>",
        "tensor<1x2xf32>",
    )
    found = compare(ModuleSubject(flat), ModuleSubject(same), iter([[np.ones((1, 2), np.float32)]]))
    assert (found.values, found.outputs, found.unmatched) == ((), (), ("n", "output:y"))


class Nothing:
    """A subject with an output of its own."""

    name = "nothing"
    signature = None
    names: tuple[Name, ...] = (output_name("z"),)

    def values(self, inputs: Any) -> Mapping[str, tuple[np.ndarray, ...]]:
        return {}


def test_subjects_with_nothing_in_common() -> None:
    with pytest.raises(DiagnosticError, match="float and nothing have no common value, not even an output"):
        compare(subjects()[0], Nothing(), x(1.0))


def test_programs_say_nothing_of_their_inputs() -> None:
    program = ProgramSubject(lambda inputs: inputs, outputs=[])
    with pytest.raises(DiagnosticError, match="cannot compare two programs; compare a program with a model"):
        compare(program, program, x(1.0))


def test_a_program_that_refuses_its_inputs() -> None:
    def program(inputs: Any) -> Any:
        raise ValueError("input 'x' is NaN at [0]")

    module = subjects()[0]
    outputs = outputs_of(module.module.body.block.first_op)
    with pytest.raises(DiagnosticError, match=r"^error: saved: input 'x' is NaN at \[0\]$"):
        compare(module, ProgramSubject(program, "saved", outputs=outputs), x(1.0))


def value(key: str, decibels: float) -> ValueComparison:
    return ValueComparison(key, "nn.relu", "f32", "i8", 1, 1, decibels, 0.0, 0.0, 0.0, 1.0)


def test_a_ratio_that_is_no_number_is_below_every_bound() -> None:
    found = Comparison("a", "b", (value("one", math.inf), value("two", math.nan), value("three", 3.0)))
    first = found.first_below(-1000)
    assert first is not None
    assert first.key == "two"
