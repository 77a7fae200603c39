"""Statistics beside values, in attributes that lose nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, bf16, f16, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.schemes import Grid, Scheme, Storage, parameters
from qmlir.arithmetic.statistics import BatchRanges, Statistics
from qmlir.dialects.calib.types import StatsAttr
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.profiles.statistics import attach, calibrated_type, statistics_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text

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
    return BatchRanges(momentum, 1, ends, ends, ends)


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


def test_fields_of_other_values() -> None:
    values = np.arange(300.0)
    seen = replace(Statistics.of(values), batches=one_batch(values, 0.5), infinities=(2, 0))
    whole = StatsAttr.of_statistics(seen).recorded.data
    wrong = ArrayAttr([StringAttr("1")])
    for name in whole:
        changes = [{**whole, name: wrong}]
        if name not in ("batches", "infinities"):
            changes.append({other: each for other, each in whole.items() if other != name})
        for fields in changes:
            with pytest.raises(VerifyException, match=f"cannot decode the recorded statistics: field '{name}' must"):
                StatsAttr.of(seen.summary, recorded=DictionaryAttr(fields))
    with pytest.raises(VerifyException, match="cannot decode the recorded statistics: unknown field 'other'"):
        StatsAttr.of(seen.summary, recorded=DictionaryAttr({**whole, "other": wrong}))
    with pytest.raises(VerifyException, match="the recorded statistics contradict the summary"):
        StatsAttr.of(replace(seen.summary, mean=150.5), recorded=DictionaryAttr(whole))
    with pytest.raises(VerifyException, match="the histogram must count all 301 values, but counts 300"):
        StatsAttr.of(replace(seen.summary, count=301), recorded=DictionaryAttr(whole))


OLD = '#calib.stats<min = -1.0, max = 2.0, mean = 0.4375, std = 0.9499177595981665, count = 8, exact = "{}">'
OLD_EXACT = (
    "0x01020E011A014602080103070101020101010103000000000000E03F0205010E01000000000000F0BF0000000000000040000000000000"
    "E8BF000000000000FC3F0300"
)


def test_what_version_0_1_wrote_is_read() -> None:
    """The statistics of -1, -0.5, 0, 0, 0.5, 1, 1.5 and 2 as 0.1 printed them, with averages over batches."""
    ctx = default_environment().new_context()
    known = replace(Statistics.of(np.array([-1, -0.5, 0, 0, 0.5, 1, 1.5, 2]), bins=8), infinities=(3, 0))
    known = replace(known, batches=BatchRanges(0.5, 2, (-1.5, 3.5), (-1.0, 2.0), (-0.75, 1.75)))
    module = parse_module(ctx, f"func.func private @f() attributes {{s = {OLD.format(OLD_EXACT)}}}")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    found = function.attributes["s"]
    assert isinstance(found, StatsAttr)
    assert found.statistics == known
    assert "recorded = {zeros = 2 : i64" in module_text(module)
    digits = len(OLD_EXACT) // 2 - 1
    for end in range(2, digits):
        with pytest.raises(DiagnosticError, match="cannot decode the exact statistics"):
            parse_module(ctx, f"func.func private @f() attributes {{s = {OLD.format(OLD_EXACT[: 2 * end])}}}")


def test_beside_arguments_and_results() -> None:
    ctx = default_environment().new_context()
    module = parse_module(ctx, TEXT)

    def values(module: ModuleOp) -> list:
        (function,) = (op for op in module.ops if isinstance(op, FuncOp))
        add, split, _ = function.body.blocks[0].ops
        return [*function.args, *add.results, *split.results]

    seen = [Statistics.of(np.arange(3.0) + position) for position in range(5)]
    for position, value in enumerate(values(module)):
        assert statistics_of(value) is None
        if position != 3:
            attach(value, seen[position])
    read = parse_module(ctx, module_text(module, PrintOptions(weights=Weights.INLINE)))
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
