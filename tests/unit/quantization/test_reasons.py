"""Every type has a reason, and the type follows from what the reason says: by the formulas, in Python's floats."""

import numpy as np
import pytest
from xdsl.ir import SSAValue

from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.interfaces import Slot
from qmlir.quantization.choice import Basis, Reason
from qmlir.quantization.decide import decide
from qmlir.quantization.recipe import TypeOptions, make_recipe
from qmlir.quantization.types import STORAGE
from tests.unit.quantization.random_graphs import calibrate, function_of, network, run_passes, watch

OPTIONS = (
    {},
    {"granularity": "channel"},
    {"granularity": "block:1", "activations": "u8"},
    {"accumulator": "i8", "activations": "i16"},
    {"calibrator": "percentile", "granularity": "channel"},
)


def check_range(reason: Reason, type_: UniformQuantizedType) -> None:
    """ONNX Runtime's asymmetric scale: the range of all, widened to hold 0, over the steps that there are."""
    assert reason.choice is not None
    low = reason.headroom * min(0.0, *(each.low for each in reason.ranges))
    high = reason.headroom * max(0.0, *(each.high for each in reason.ranges))
    assert (type_.storage_min, type_.storage_max) == (reason.choice.storage.minimum, reason.choice.storage.maximum)
    if reason.choice.scheme.is_symmetric or low == high:
        return
    assert type_.scale == float(np.float32((high - low) / (type_.storage_max - type_.storage_min)))
    assert all(each.minimum <= each.low <= each.high <= each.maximum for each in reason.ranges)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("passes", ["canonicalize", "canonicalize,nn-decompose,canonicalize,dce"])
def test_every_type_follows_from_its_reason(seed: int, passes: str) -> None:
    module, inputs = network(seed)
    run_passes(module, passes)
    calibrate(module, watch(module, inputs))
    recipe = make_recipe(TypeOptions(**OPTIONS[seed % len(OPTIONS)]).rules())
    decisions = decide(function_of(module), recipe)
    types: dict[object, UniformQuantizedType] = {**decisions.values, **decisions.constants, **decisions.operands}
    assert types
    assert types.keys() <= decisions.reasons.keys()
    for key, reason in decisions.reasons.items():
        if key not in types:
            continue  # what shares a type with a value that is decided about, and is not quantized itself
        type_ = types[key]
        if reason.basis is Basis.RANGE and reason.ranges:
            check_range(reason, type_)
        if reason.basis in (Basis.SUM, Basis.ADDEND):
            assert (type_.bits, type_.zero_points.any()) == (STORAGE.bits, False)
        if reason.basis is Basis.WEIGHTS:
            assert reason.slot is Slot.WEIGHT
        # What shares a type has it.
        assert all(types[each] == type_ for each in reason.members if each in types)
        assert isinstance(key, SSAValue) or reason.members == () or reason.basis is Basis.SHARED


def test_who_said_so() -> None:
    module, inputs = network(3)
    calibrate(module, watch(module, inputs))
    recipe = make_recipe(TypeOptions(activations="i16", granularity="channel").rules())
    reasons = decide(function_of(module), recipe).reasons.values()
    asked = {(reason.op, reason.slot) for reason in reasons}
    for op, slot in asked:
        told = recipe.sources(op, slot)
        if slot in (Slot.INPUT, Slot.OUTPUT):
            assert told == {"storage": "the option activations=i16"}
        elif slot is Slot.WEIGHT:
            assert told == {"granularity": "the option granularity=channel"}
        else:
            assert told == {}
    assert {Slot.WEIGHT, Slot.OUTPUT} <= {slot for _, slot in asked}
