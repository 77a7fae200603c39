"""The trained classifiers run before and after each pass of the compile pipeline: none changes a number."""

from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp

from benchmarks.accuracy import MODELS, Digits
from qmlir.environment import default_environment
from qmlir.interpreter.differences import Execution
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.passmanager.verification import VerifyExecution
from qmlir.pipelines import COMPILE

pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")


@cache
def _digits(name: str) -> tuple[Digits, ModuleOp]:
    digits = Digits.of(name, samples=32)  # what counts are the bits before and after
    return digits, digits.quantized()


@pytest.mark.parametrize(
    ("name", "isa"), [("digits_mlp", "generic"), ("digits_mlp", "neon"), ("digits_cnn", "avx512-vnni")]
)
def test_every_pass_down_to_the_loops_keeps_its_promise(name: str, isa: str) -> None:
    (digits, module), environment = _digits(name), default_environment()
    image = digits.test[:1]
    shape = "x".join(map(str, image.shape))
    text = f'fix-shapes{{shapes="input={shape}"}},{COMPILE.text(isa=isa, threads=1)}'
    context, pipeline = environment.new_context(), parse_pipeline(text, environment.passes)
    verified = VerifyExecution(Execution({"input": image}))
    PassManager(context, pipeline, [verified]).run(module.clone())
