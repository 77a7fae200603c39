"""What a module says of the repairs of its layers: written, read back, and no part of the program."""

import math
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.extensions.recovery.repairs import mark_repaired, repairs_of
from qmlir.extensions.recovery.rounded_weights import rounded_weights
from qmlir.extensions.training.parameters import float_constants
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE
from qmlir.quantization.report import LayerImprovement
from qmlir.quantization.retyping import REPAIRED
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text
from qmlir.workflows.quantized import Quantized
from qmlir.workflows.quantizing import quantize
from tests.support.repairs import data_of, decided_by, samples_of_four, two_layers


@pytest.fixture(scope="module")
def repaired() -> Quantized:
    """A model with codes that GPTQ has chosen."""
    return quantize(two_layers("c"), {"x": samples_of_four()}, validate=False, effort=2, weights="i2")


def _marked(module: ModuleOp) -> dict[str, tuple[LayerImprovement, ...]]:
    return {name: told for op in module.walk() if (told := repairs_of(op)) for name in told[0].nodes}


def test_a_saved_module_says_what_repairs_did(repaired: Quantized, tmp_path: Path) -> None:
    assert repaired.repair is not None
    assert repaired.repair.is_kept
    path = tmp_path / "repaired.mlir"
    repaired.save(path)
    found = _marked(qmlir.load(path))
    assert set(found) == {"first", "last"}
    for name, told in found.items():
        wanted = [each for each in repaired.repair.layers if each.layer == name]
        assert [each.repair for each in told] == [each.repair for each in wanted]
        for one, other in zip(told, wanted, strict=True):
            assert (one.before_db, one.after_db) == pytest.approx((other.before_db, other.after_db), abs=0.005)
    gains = [each.gain_db for told in found.values() for each in told if each.repair == "quant-gptq"]
    assert gains
    assert all(each is not None and each > 0 for each in gains)


# The error of the sums without their mean, which the bias makes up for, by the rows that the layer read.
def test_decibels_of_a_layer_are_those_of_its_sums() -> None:
    model = two_layers("c")
    decided = decided_by(model)
    weight = next(rounded_weights(function_of(decided, "main")))
    data = data_of(samples_of_four(), weight)
    before = weight.rows.of_weights(weight.rounded)[0]
    told: list[LayerImprovement] = []
    run_pipeline(decided, "quant-gptq{floats_share=0}", samples={"x": samples_of_four()}, gained=told.append)
    after = weight.rows.of_weights(weight.rounded)[0]
    exact = weight.rows.of_weights(weight.unrounded)[0]
    (signal, *noises) = (np.var(data @ each.T, axis=0).sum() for each in (exact, before - exact, after - exact))
    expected = [10 * np.log10(signal / noise) for noise in noises]
    assert [told[0].before_db, told[0].after_db] == pytest.approx(expected, rel=1e-3)


def test_an_error_of_which_nothing_is_left_reads_back() -> None:
    module = decided_by(two_layers("c"))
    mark_repaired(function_of(module, "main"), [LayerImprovement("quant-gptq", ("last",), 12.5, math.inf)])
    again = parse_module(default_environment().new_context(), module_text(module), "again")
    assert _marked(again) == {"last": (LayerImprovement("quant-gptq", ("last",), 12.5, math.inf),)}


def test_what_repairs_did_is_no_part_of_the_program(repaired: Quantized) -> None:
    bare = repaired.module.clone()
    for op in bare.walk():
        op.attributes.pop(REPAIRED, None)
    assert "quant.repaired" in module_text(repaired.module)
    programs: list[str] = []
    for each in (repaired.module, bare):
        lowered = each.clone()
        run_pipeline(lowered, COMPILE.text(isa="generic", threads=1))
        programs.append(module_text(lowered))
    assert "quant.repaired" not in programs[0]
    assert programs[0] == programs[1]


def test_what_repairs_did_is_not_said_of_codes_that_are_floats_again(repaired: Quantized) -> None:
    module = repaired.module.clone()
    float_constants(function_of(module, "main"))
    assert not _marked(module)
