"""Settings of quantize: one list of them, and no other is taken in silence."""

from functools import partial

import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.pipelines import kept_composites, pipeline_values
from tests.support.classifiers import classifier, samples


@pytest.mark.parametrize("call", [qmlir.quantize, partial(qmlir.search, bound=0.5)])
def test_a_setting_that_is_none_is_an_error(call: object) -> None:
    assert callable(call)
    with pytest.raises(TypeError, match="no setting 'activation', did you mean 'activations'"):
        call(qmlir.load(classifier()), {"x": samples()[0]}, activation="i4")


def test_the_text_of_settings() -> None:
    assert pipeline_values({}) == {
        "keep": f"{{keep={','.join(kept_composites())}}}",
        "options": '{granularity="channel"}',
    }
    values = pipeline_values({"keep": (), "weights": "i4", "granularity": "", "assert_all_quantized": True})
    assert values == {"keep": "", "options": '{weights="i4" assert_all_quantized}'}


def _modes(**settings: object) -> set[str]:
    module = qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, **settings)  # type: ignore[arg-type]
    found = (op.properties.get("requantize") for op in module.walk() if op.name == "nn.fully_connected")
    return {str(each) for each in found}


def test_scales_of_powers_of_two_are_shifted_unless_a_mode_is_named() -> None:
    powers = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"}
    assert _modes() == {"None"}
    assert _modes(**powers) == {"#kernel.requantize<shift, up>"}
    assert _modes(**powers, requantize="f32") == {"None"}
    assert _modes(requantize="double_round") == {"#kernel.requantize<double_round>"}
    with pytest.raises(DiagnosticError, match="no mode of requantization 'shif', did you mean 'shift'"):
        pipeline_values({"requantize": "shif:up"})
