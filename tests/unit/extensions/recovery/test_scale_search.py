"""Scales of weights that are chosen for codes of GPTQ, on the data of the float program."""

import numpy as np

from qmlir.extensions.recovery.quant_search_scales import SHARES
from qmlir.extensions.recovery.rounded_weights import RoundedWeight, rounded_weights
from qmlir.extensions.recovery.weight_rounding import CodeGrid, DampedFactors, error, gptq
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of
from qmlir.workflows.calibrated import stages_of
from tests.support.repairs import decided_by, samples_of_four, two_layers

_PASS = "quant-search-scales{compensating}"


def _scales(weight: RoundedWeight) -> list[float]:
    return weight.element.scales.reshape(-1).tolist()


# The second layer reads what the first one gives: sums of the floats, computed here, not those of 3-bit weights.
def test_scales_are_the_best_for_gptq_on_the_data_of_the_float_program() -> None:
    model, samples = two_layers("c"), samples_of_four()
    floats = model.clone()
    stages_of({"weights": "i3"}, model)(floats, "target", "lower")
    decided = decided_by(model)
    first, last = rounded_weights(function_of(decided, "main"))
    bias = first.bias
    assert bias is not None
    given = samples.astype(np.float64)
    between = given @ first.unrounded.T.astype(np.float64) + bias.unrounded.reshape(-1)
    wanted = [_best(weight, np.cov(data.T, bias=True)) for weight, data in ((first, given), (last, between))]
    run_pipeline(decided, _PASS, samples={"x": samples}, floats=floats)
    for weight, expected in zip(rounded_weights(function_of(decided, "main")), wanted, strict=True):
        np.testing.assert_allclose(_scales(weight), expected, rtol=1e-6)


def _best(weight: RoundedWeight, moments: np.ndarray) -> list[float]:
    (grid,) = weight.grid()
    floats = weight.unrounded.astype(np.float64)
    found: list[float] = []
    for channel, scale in enumerate(_scales(weight)):
        one = CodeGrid(*(each[channel : channel + 1] for each in (grid.steps, grid.low, grid.high)))
        own, factors = floats[channel : channel + 1], DampedFactors.of(moments)
        tried = [(share, one.scaled(share)) for share in SHARES]
        errors = [error(own, gptq(own, each, moments, factors=factors), each, moments) for _, each in tried]
        found.append(scale * tried[int(np.argmin(errors))][0])
    return found


def test_weights_of_more_bits_keep_their_scales() -> None:
    decided = decided_by(two_layers("c"))
    before = [_scales(each) for each in rounded_weights(function_of(decided, "main"))]
    run_pipeline(decided, "quant-search-scales{compensating bits=2}", samples={"x": samples_of_four()})
    assert [_scales(each) for each in rounded_weights(function_of(decided, "main"))] == before


def test_scales_keep_two_levels() -> None:
    """Before and after, the scales of a super-block are multiples of one f16 number."""
    decided = decided_by(two_layers("c"), [{"slot": "weight", "granularity": "block:2:k6"}])
    found = list[np.ndarray]()
    for passes in ("", "quant-search-scales"):
        run_pipeline(decided, passes, samples={"x": samples_of_four()})
        found.append(np.array([each.element.scales for each in rounded_weights(function_of(decided, "main"))]))
        largest, smallest = found[-1].max(-1), found[-1].min(-1)
        steps = largest[..., None] / np.arange(1, 64)
        is_whole = np.rint(smallest[..., None] / steps) * steps == smallest[..., None]
        assert ((steps.astype(np.float16) == steps) & is_whole).any(-1).all()
    assert not np.array_equal(*found)
