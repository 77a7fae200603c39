"""The trained classifiers without a float operation between the casts, on quantized values, integers and loops.

Scales that are powers of two need shifts alone, others an integer multiplier.
"""

from functools import cache

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.accuracy import MODELS, Digits
from qmlir.environment import default_environment
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import COMPILE

pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")

ENVIRONMENT = default_environment()


def _through(module: ModuleOp, *passes: str) -> ModuleOp:
    clone = module.clone()
    PassManager(ENVIRONMENT.new_context(), parse_pipeline(",".join(passes), ENVIRONMENT.passes)).run(clone)
    return clone


@cache
def _digits(name: str) -> Digits:
    return Digits.of(name, samples=32)  # what counts are the operations


CASES = [
    ("symmetric_pow2", "symmetric_pow2", "shift"),
    ("asymmetric_pow2", "symmetric_pow2", "shift"),
    ("asymmetric", "symmetric", "single_round"),
    ("asymmetric", "symmetric", "double_round"),
]


@pytest.mark.parametrize(("scheme", "weight_scheme", "mode"), CASES, ids=str)
@pytest.mark.parametrize("name", ["digits_mlp", "digits_cnn"])
def test_no_float_operation_is_left_at_any_level(name: str, scheme: str, weight_scheme: str, mode: str) -> None:
    digits = _digits(name)
    module = digits.quantized(scheme=scheme, weight_scheme=weight_scheme)
    shape = "x".join(map(str, digits.test[:1].shape))
    steps = (f"quant-set-requantize{{mode={mode}}}", f'fix-shapes{{shapes="input={shape}"}}', "verify-integer-only")
    quantized = _through(module, *steps)
    integer = _through(quantized, COMPILE.text("lower", "fuse"), "verify-integer-only")
    loops = _through(integer, COMPILE.text("schedule", "bufferize", "loops", isa="generic", threads=1))
    _through(loops, "verify-integer-only")
    inputs = [digits.test[:1]]
    (expected,) = qmlir.interpret(quantized, inputs).values()
    (found,) = qmlir.interpret(integer, inputs).values()
    np.testing.assert_array_equal(found, expected)
    (exact,) = digits.logits[:1]
    assert expected[0].argmax() == exact.argmax()
