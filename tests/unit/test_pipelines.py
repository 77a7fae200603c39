"""Named pipelines: packages insert passes at every point, and what they say wrongly is an error with their name."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from qmlir import registry
from qmlir.environment import default_environment, plugins
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import COMPILE, IMPORT, PIPELINES, PROFILE, QUANTIZE, NamedPipeline
from qmlir.registry import Contribution, Package
from qmlir.target import Target
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
def test_passes_run_at_every_point(pipeline: NamedPipeline[Any]) -> None:
    """Each point is one place of the text: without what is inserted the text is the pipeline's own."""
    points = list(pipeline.points())
    assert len(set(points)) == len(points)
    inserted = {point: f"canonicalize{{budget={1000 + position}}}" for position, point in enumerate(points)}
    with registry.plugged([_package(inserted)]):
        text = pipeline.text()
        last = pipeline.text(pipeline.stages[-1].name)
    positions = [text.index(each) for each in inserted.values()]
    assert positions == sorted(positions)
    for each in inserted.values():
        assert text.count(each) == 1
        text = text.replace(each, "")
    assert re.sub(",+", ",", text).strip(",") == pipeline.own_text() == pipeline.text()
    first = next(point for point in points if point.startswith(f"{pipeline.name}.{pipeline.stages[-1].name}."))
    assert last.startswith(inserted[first])
    assert last.endswith(inserted[points[-1]])


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_every_pass_of_every_pipeline_has_its_points(pipeline: NamedPipeline[Any]) -> None:
    """One pass at a time: what is inserted stands next to it, and next to no other."""
    steps = re.findall(r"[\w-]+(?:\{[^}]*\})?", pipeline.own_text())
    afters = [each for each in pipeline.points() if each.count(".") == 3 and each.endswith(".after")]
    assert len(afters) == len(steps)
    for position, after in enumerate(afters):
        for point, cut in ((after.removesuffix("after") + "before", position), (after, position + 1)):
            with registry.plugged([_package({point: "symbol-dce"})]):
                found = pipeline.text()
            assert found == ",".join([*steps[:cut], "symbol-dce", *steps[cut:]])


def test_passes_of_a_target_stand_next_to_the_pipelines_own() -> None:
    target = Target("npu", stages={"compile.lower.before": "symbol-dce", "compile.lower.dce#2.after": "inline"})
    inserted = {"compile.lower.before": "fix-shapes", "compile.lower.dce#2.after": "strip-debuginfo"}
    with registry.plugged([_package(inserted)]):
        text = COMPILE.for_targets([target]).text("lower")
    assert text == f"fix-shapes,symbol-dce,{COMPILE.own_text('lower')},inline,strip-debuginfo"


ENVIRONMENT = default_environment()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("compile", COMPILE.own_text()),
        (
            "cse,compile{isa=avx2 threads=2 stages=schedule},dce",
            f"cse,{COMPILE.own_text('schedule', isa='avx2', threads=2)},dce",
        ),
        ("builtin.module(compile{stages=fuse,bufferize})", COMPILE.own_text("fuse", "bufferize")),
        (
            'compile{tuned="t.json" stages=schedule}',
            COMPILE.own_text("schedule", tuned="t.json"),
        ),
        ("import", IMPORT.own_text()),
        ("profile", "calib-insert-observers"),
        ("profile{axis=1}", "calib-insert-observers{axis=1}"),
        ("profile{constants=false observers=a,b}", 'calib-insert-observers{observers="a","b"}'),
        ("gradient{recompute=false loss=l stages=differentiate}", 'nn-gradient{loss="l"}'),
        (
            'quantize{states="past=present","h=h_out" stages=store}',
            'quant-store-states{states="past=present","h=h_out"}',
        ),
        ("quantize{requantize=shift:up stages=rescale}", "quant-set-requantize{mode=shift ties=up}"),
        (
            "quantize{accumulator-bits=16 accumulator-pairs=2 stages=repair}",
            "quant-fit-i16-accumulators{steps=2},quant-store-constants",
        ),
        ("quantize{accumulator-bits=24 stages=repair}", "quant-fit-accumulators{bits=24},quant-store-constants"),
        (
            "quantize{profile=p.json keep_composites=relu,gelu activations=i16 assert-all-quantized}",
            QUANTIZE.own_text(
                keep_composites=("relu", "gelu"),
                profile="p.json",
                granularity="channel",
                activations="i16",
                assert_all_quantized=True,
            ),
        ),
        ("quantize{stages=raise}", QUANTIZE.own_text("raise")),
        ("quantize{keep_composites=gelu stages=profile,propagate}", QUANTIZE.own_text("propagate")),
    ],
)
def test_a_pipeline_is_an_element_of_a_text(text: str, same: str) -> None:
    read = parse_pipeline(text, ENVIRONMENT.passes, PIPELINES)
    assert read == parse_pipeline(same, ENVIRONMENT.passes)


def test_an_element_has_what_packages_insert() -> None:
    with registry.plugged([_package({"import.raise.dce.before": "symbol-dce"})]):
        read = parse_pipeline("import", ENVIRONMENT.passes, PIPELINES)
    assert str(read) == "builtin.module(quant-raise-integers,quant-propagate-types,symbol-dce,dce)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cse,compile{ias=avx2}",
            "column 13: pipeline 'compile' has no option 'ias'; did you mean 'isa'? (available: isa: str",
        ),
        (
            "compile{stages=lower,fues}",
            "column 1: pipeline 'compile': unknown stage 'fues'; did you mean 'fuse'? (available: ",
        ),
        (
            "compile{threads=many}",
            "column 9: option 'threads' of pipeline 'compile' must be int, but got many",
        ),
        (
            "gradient{recompute=maybe}",
            "column 10: option 'recompute' of pipeline 'gradient' must be bool, but got maybe",
        ),
        ("quantize{device=nothing}", "column 1: pipeline 'quantize': "),
        ("quantize{keep=gelu}", "column 10: pipeline 'quantize': option 'keep' is now 'keep_composites'"),
        ("quantize{is_trained}", "column 10: pipeline 'quantize' has no option 'is_trained'"),
        ("dce,kernel-share", "column 5: pass 'kernel-share' is now 'kernel-merge-functions'"),
        ("compil", "column 1: unknown pass 'compil'; did you mean 'compile'?"),
    ],
)
def test_a_wrong_element_is_an_error_at_its_column(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        parse_pipeline(text, ENVIRONMENT.passes, PIPELINES)
    assert error.value.diagnostic.message.startswith(f"in the pass pipeline: {message}")


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
            "unknown pipeline point 'quantize.decid.after'; did you mean 'quantize.decide.after'?",
        ),
        (
            {"quantise.decide.after": "cse"},
            COMPILE,
            "unknown pipeline point 'quantise.decide.after'; did you mean 'quantize.decide.after'?",
        ),
        (
            {"import.raise.before": "no-pass"},
            IMPORT,
            "'no-pass' at 'import.raise.before': in the pass pipeline: column 1: unknown pass 'no-pass'",
        ),
        ({"profile.observe.after": "cse{"}, PROFILE, "'cse{' at 'profile.observe.after': "),
    ],
)
def test_what_is_wrong_is_said_of_the_package(
    stages: dict[str, str], pipeline: NamedPipeline[Any], message: str
) -> None:
    with registry.plugged([_package(stages)]):
        with pytest.raises(DiagnosticError) as error:
            pipeline.text()
        assert error.value.diagnostic.message.startswith(f"package 'extra 1.0': {message}")
        assert error.value.diagnostic.message.endswith(" (QMLIR_WITHOUT=extra leaves it out)")


def test_a_wrong_point_of_one_pipeline_stops_no_other() -> None:
    with registry.plugged([_package({"quantize.decid.after": "cse"})]):
        assert COMPILE.text() == COMPILE.own_text()
