"""Statistics beside values, in attributes that lose nothing."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from xdsl.dialects.builtin import AnyFloat, ModuleOp, bf16, f16, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.schemes import Grid, Scheme, Storage, parameters
from qmlir.arithmetic.statistics import BatchRanges, Statistics
from qmlir.dialects.calib.types import StatsAttr
from qmlir.environment import default_environment
from qmlir.quantization.profiles.attributes import attach, calibrated_type, statistics_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text

TEXT = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32> {nn.name = "y"}) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = nn.add %x, %y : tensor<4xf32>
  %1, %2 = nn.split %0 {axis = 0} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %1, %2 : tensor<2xf32>, tensor<2xf32>
}
"""

VALUES = arrays(np.float64, st.tuples(st.integers(1, 20), st.just(2)), elements=st.floats(-1e300, 1e300))


def one_batch(values: np.ndarray, momentum: float) -> BatchRanges:
    ends = float(values.min()), float(values.max())
    return BatchRanges(momentum, 1, (Fraction(ends[0]), Fraction(ends[1])), ends, ends)


@given(VALUES, st.sampled_from([None, 0, 1]), st.sampled_from([None, 0.25]), st.sampled_from([2, 16, 2048]))
def test_the_attribute_loses_nothing(values: np.ndarray, axis: int | None, momentum: float | None, bins: int) -> None:
    seen = Statistics.of(values, bins=bins)
    if axis is not None:
        seen = replace(seen, axis=axis, axis_minima=values.min(1 - axis), axis_maxima=values.max(1 - axis))
    if momentum is not None:
        seen = replace(seen, batches=one_batch(values, momentum))
    attribute = StatsAttr.of_statistics(seen)
    assert attribute.statistics == seen
    ctx = default_environment().new_context()
    module = parse_module(ctx, f"func.func private @f() attributes {{s = {attribute}}}")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    assert function.attributes["s"] == attribute


def test_a_summary_is_no_statistics() -> None:
    seen = Statistics.of(np.arange(3.0))
    with pytest.raises(ValueError, match="the statistics of these values were not stored"):
        _ = StatsAttr.of(seen.summary).statistics


def test_bytes_that_are_cut_off_or_of_other_values() -> None:
    values = np.arange(300.0)
    seen = replace(Statistics.of(values), batches=one_batch(values, 0.5))
    whole = StatsAttr.of_statistics(seen).exact.data
    for end in range(1, len(whole)):
        with pytest.raises(VerifyException, match="cannot decode the exact statistics"):
            StatsAttr.of(seen.summary, exact=whole[:end])
    with pytest.raises(VerifyException, match=r"expected format 01, but got 02"):
        StatsAttr.of(seen.summary, exact=b"\x02" + whole[1:])
    with pytest.raises(VerifyException, match="1 trailing bytes"):
        StatsAttr.of(seen.summary, exact=whole + b"\x00")
    with pytest.raises(VerifyException, match="the exact statistics contradict the summary"):
        StatsAttr.of(Statistics.of(np.arange(301.0)).summary, exact=whole)


def test_beside_arguments_and_results() -> None:
    ctx = default_environment().new_context()
    module = parse_module(ctx, TEXT)

    def values(module: ModuleOp) -> list:
        (function,) = (op for op in module.ops if isinstance(op, FuncOp))
        add, split, _ = function.body.blocks[0].ops
        return [*function.args, *add.results, *split.results]

    seen = [Statistics.of(np.arange(3.0) + place) for place in range(5)]
    for place, value in enumerate(values(module)):
        assert statistics_of(value) is None
        if place != 3:
            attach(value, seen[place])
    read = parse_module(ctx, module_text(module))
    for each in (module, read):
        found = [statistics_of(value) for value in values(each)]
        assert found == [*seen[:3], None, seen[4]]
    assert 'nn.name = "y", calib.stats = ' in module_text(module)


@pytest.mark.parametrize("expressed", [f16, bf16, f32, f64])
@pytest.mark.parametrize("number", [0.0, 3.0, -3.0])
def test_a_range_of_one_number_is_a_type(expressed: AnyFloat, number: float) -> None:
    type_ = calibrated_type(number, number, expressed)
    type_.verify()
    # The parameters are those of the range as it was seen.
    grid = Grid(Storage(8), Scheme.ASYMMETRIC)
    seen, typed = parameters(number, number, grid), parameters(type_.minimum, type_.maximum, grid)
    if expressed not in (f16, bf16) or number:
        assert (seen.scales, seen.zero_points) == (typed.scales, typed.zero_points)
    assert math.isfinite(type_.maximum)
    assert calibrated_type(-1.0, 2.5, expressed).minimum == -1.0
