"""Named pipelines: packages insert passes at every point, and what they say wrongly is an error with their name."""

from collections.abc import Mapping

import numpy as np
import pytest

from qmlir import registry
from qmlir.environment import default_environment, plugins
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.pipelines import COMPILE, IMPORT, PIPELINES, PROFILE, QUANTIZE, NamedPipeline
from qmlir.registry import Contribution, Package
from qmlir.text.parsing import parse_module
from qmlir.workflows.profiling import profile

PLUGIN = "tests.support.contributing"
MODEL = """
func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
  %0 = extra.double %x : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.tanh %0 : tensor<4xf32> {origin = "tanh"}
  func.return %1 : tensor<4xf32>
}
"""


def _package(stages: Mapping[str, str]) -> Package:
    return Package("extra", "1.0", contributions=(Contribution(stages=stages),))


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_passes_run_at_every_point(pipeline: NamedPipeline) -> None:
    points = [point for point, _ in pipeline.points()]
    assert len(points) == 2 * len(pipeline.stages)
    inserted = {point: f"canonicalize{{budget={place}}}" for place, point in enumerate(points)}
    with registry.plugged([_package(inserted)]):
        text = pipeline.text()
        last = pipeline.text(pipeline.stages[-1].name)
    own = [pipeline.own_text(stage.name) for stage in pipeline.stages]
    around = zip(points[::2], own, points[1::2], strict=True)
    parts = [part for before, passes, after in around for part in (inserted[before], passes, inserted[after])]
    assert text == ",".join(part for part in parts if part)
    assert last.startswith(inserted[points[-2]])
    assert last.endswith(inserted[points[-1]])
    assert pipeline.text() == pipeline.own_text()


def test_a_profiling_run_has_points() -> None:
    with plugins([PLUGIN]), registry.plugged([_package({"profile.observe.before": "no-tanh"})]):
        module = parse_module(default_environment().new_context(), MODEL)
        with pytest.raises(DiagnosticError, match=r"pass 'no-tanh' failed: ValueError: a tanh \(in package"):
            profile(module, {"x": np.zeros((1, 4), np.float32)})


def test_processes_of_a_run_have_its_plug_ins() -> None:
    with plugins([PLUGIN]):
        module = parse_module(default_environment().new_context(), MODEL)
        samples = {"x": np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)}
        one, two = (profile(module, samples, processes=each) for each in (1, 2))
    assert one.to_text() == two.to_text()


@pytest.mark.parametrize(
    ("stages", "pipeline", "message"),
    [
        (
            {"quantize.decid.after": "cse"},
            QUANTIZE,
            "'quantize.decid.after' is not a point of a pipeline, did you mean 'quantize.decide.after'?",
        ),
        (
            {"quantise.decide.after": "cse"},
            COMPILE,
            "'quantise.decide.after' is not a point of a pipeline, did you mean 'quantize.decide.after'?",
        ),
        (
            {"import.raise.before": "no-pass"},
            IMPORT,
            "'no-pass' at 'import.raise.before': in the pass pipeline: column 1: no pass 'no-pass'",
        ),
        ({"profile.observe.after": "cse{"}, PROFILE, "'cse{' at 'profile.observe.after': "),
    ],
)
def test_what_is_wrong_is_said_of_the_package(stages: dict[str, str], pipeline: NamedPipeline, message: str) -> None:
    with registry.plugged([_package(stages)]):
        with pytest.raises(DiagnosticError) as error:
            pipeline.text()
        assert error.value.diagnostic.message.startswith(f"package 'extra 1.0': {message}")
        assert error.value.diagnostic.message.endswith(" (QMLIR_WITHOUT=extra leaves it out)")


def test_a_wrong_point_of_one_pipeline_stops_no_other() -> None:
    with registry.plugged([_package({"quantize.decid.after": "cse"})]):
        assert COMPILE.text() == COMPILE.own_text()
