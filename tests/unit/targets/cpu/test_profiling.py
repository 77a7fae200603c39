"""Profiles from compiled code against those of the interpreter."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.interpreter.jobs import Job, Workers
from qmlir.interpreter.observers import Recorder
from qmlir.interpreter.profiling import ExecutionMode, RunOptions, run_profile
from qmlir.interpreter.samples import Run, Samples
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import PROFILE
from qmlir.targets.cpu import profiling
from qmlir.targets.cpu.profiling import CompiledProfiling
from qmlir.text.parsing import parse_module


def _module(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


NET = """
func.func @main(%x: tensor<?x6x4xf32> {nn.name = "x", nn.dims = ["batch", "", ""]}) -> tensor<?x4x6xf32> {
  %w = nn.constant dense<[1.5, -2.0, 0.25, 3.0]> : tensor<4xf32> {origin = "w"}
  %c = nn.neg %w : tensor<4xf32> {origin = "of constants"}
  %0 = nn.mul %x, %c : (tensor<?x6x4xf32>, tensor<4xf32>) -> tensor<?x6x4xf32> {origin = "cell", role = "scaled"}
  %1 = nn.tanh %0 : tensor<?x6x4xf32> {origin = "cell", role = "step"}
  %2 = nn.softmax %1 {axis = -1} : tensor<?x6x4xf32> {origin = "attention"}
  %3 = nn.log %2 : tensor<?x6x4xf32> {origin = "log"}
  %4 = nn.tanh %3 : tensor<?x6x4xf32> {origin = "cell", role = "step"}
  %5 = nn.transpose %4 {permutation = [0, 2, 1]} : (tensor<?x6x4xf32>) -> tensor<?x4x6xf32> {origin = "turned"}
  func.return %5 : tensor<?x4x6xf32>
}
"""
SAMPLES = np.random.default_rng(1).normal(0, 3, (9, 6, 4)).astype(np.float32)


RECORDED, COMPILED = 1, 2
"""The ways beside the interpreter: it records in compiled code, or everything is compiled."""


def _only(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let there be one way, and the interpreter where it has no such form."""
    ways = CompiledProfiling.ways

    def chosen(
        self: CompiledProfiling, module: ModuleOp, samples: Samples, options: RunOptions, run: Run
    ) -> list[ExecutionMode]:
        return [replace(ways(self, module, samples, options, run)[number], once=0.0, each=0.0)]

    monkeypatch.setattr(CompiledProfiling, "ways", chosen)


@pytest.fixture(autouse=True)
def _always_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, COMPILED)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("way", [RECORDED, COMPILED])
def test_a_profile_is_that_of_the_interpreter(monkeypatch: pytest.MonkeyPatch, way: int, processes: int) -> None:
    """Without products to be summed, in every bit: the order of float sums is named. Averages know the order of runs,
    what is computed of constants counts once, and both steps have one key."""
    monkeypatch.undo()
    _only(monkeypatch, way)
    found = qmlir.profile(_module(NET), SAMPLES, axis=1, bins=64, processes=processes)
    expected = qmlir.profile(_module(NET), SAMPLES, axis=1, bins=64, compiled=False)
    assert found.values["of constants"].count == 4
    assert found.values["cell/step"].count == 2 * SAMPLES.size
    assert found.to_text() == expected.to_text()


EMPTY = """<ir_version: 10, opset_import: ["" : 21]>
g (float[N, 6, 4] x) => (float[N, 6, 4] y) <int64[1] first = {0}, int64[1] axis = {1}>
{ none = Slice (x, first, first, axis) e = Relu (none) s = Sigmoid (x) y = Concat <axis = 1> (s, e) }"""


@pytest.mark.parametrize("way", [RECORDED, COMPILED])
def test_values_without_elements(monkeypatch: pytest.MonkeyPatch, way: int) -> None:
    """Runs reach them, so a profile has them, and a model with them can be quantized."""
    monkeypatch.undo()
    _only(monkeypatch, way)
    module = qmlir.load(parser.parse_model(EMPTY))
    found = qmlir.profile(module, SAMPLES)
    assert found.values["e"].is_empty
    assert found.to_text() == qmlir.profile(module, SAMPLES, compiled=False).to_text()
    assert "no run reached" not in qmlir.quantize(module, SAMPLES).text()


PRODUCT = """
func.func @main(%x: tensor<?x6x4xf32> {nn.name = "x", nn.dims = ["batch", "", ""]}) -> tensor<?x6x3xf32> {
  %w = nn.constant dense<[[0.5, 1.1, 0.3], [1.2, 0.4, 0.6], [0.3, 0.1, 0.7], [1.0, 0.9, 0.8]]>
      : tensor<4x3xf32> {origin = "w"}
  %0 = nn.matmul %x, %w : (tensor<?x6x4xf32>, tensor<4x3xf32>) -> tensor<?x6x3xf32> {origin = "product"}
  %1 = nn.sigmoid %0 : tensor<?x6x3xf32> {origin = "sigmoid"}
  func.return %1 : tensor<?x6x3xf32>
}
"""


def test_products_are_rounded_otherwise() -> None:
    found, expected = (qmlir.profile(_module(PRODUCT), SAMPLES, compiled=each) for each in (True, False))
    assert list(found.values) == list(expected.values)
    for key, known in expected.values.items():
        seen = found.values[key]
        assert seen.count == known.count
        ends = [(each.minimum, each.maximum, each.mean, each.deviation) for each in (seen, known)]
        assert np.allclose(*ends, rtol=0, atol=1e-5 * max(map(abs, ends[1])))


def test_what_is_not_a_number_is_named_as_by_the_interpreter() -> None:
    samples = SAMPLES.copy()
    samples[4, 2, 1] = np.nan
    with pytest.raises(
        DiagnosticError, match="value 'x' at sample 4: values must not contain NaN, but 1 of 24 are NaN"
    ):
        qmlir.profile(_module(NET), samples)


def test_what_has_no_compiled_form_is_interpreted() -> None:
    text = """
func.func @main(%x: tensor<?x6x4xf16> {nn.name = "x", nn.dims = ["batch", "", ""]}) -> tensor<?x6x4xf16> {
  %0 = nn.relu %x : tensor<?x6x4xf16> {origin = "relu"}
  func.return %0 : tensor<?x6x4xf16>
}
"""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        found = qmlir.profile(_module(text), SAMPLES.astype(np.float16))
    assert found == qmlir.profile(_module(text), SAMPLES.astype(np.float16), compiled=False)
    assert [each.message for each in said] == [
        "profiling is not compiled: 'calib.observe' op can only record f32, but got 'tensor<?x6x4xf16>'"
    ]


def test_what_has_no_compiled_form_at_open_sizes_is_interpreted() -> None:
    """Code of open sizes is made with the first sample: then it is seen, too."""
    text = """
func.func @main(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["rows", "columns"]}) -> tensor<2x?xi64> {
  %0 = nn.relu %x : tensor<?x?xf32> {origin = "relu"}
  %1 = nn.non_zero %0 : (tensor<?x?xf32>) -> tensor<2x?xi64> {origin = "found"}
  func.return %1 : tensor<2x?xi64>
}
"""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        found = qmlir.profile(_module(text), SAMPLES)
    assert found == qmlir.profile(_module(text), SAMPLES, compiled=False)
    (told,) = (each.message for each in said if "not compiled" in each.message)
    assert "'nn.non_zero' op (found)" in told


PIECES = """
func.func @main(%x: tensor<3x?x4xf32> {nn.name = "x", nn.dims = ["", "N", ""]}) -> (tensor<?x12xf32>, tensor<?x4xf32>) {
  %h = nn.constant dense<0.5> : tensor<f32> {origin = "h"}
  %shape = nn.shape %x : (tensor<3x?x4xf32>) -> tensor<3xi64> {origin = "shape"}
  %0 = nn.expand %h, %shape : (tensor<f32>, tensor<3xi64>) -> tensor<3x?x4xf32> {origin = "start"}
  %1 = nn.mul %x, %0 : tensor<3x?x4xf32> {origin = "cell", role = "step"}
  %2 = nn.transpose %1 {permutation = [1, 0, 2]} : (tensor<3x?x4xf32>) -> tensor<?x3x4xf32> {origin = "turned"}
  %flat = nn.constant dense<[-1, 12]> : tensor<2xi64> {origin = "flat"}
  %3 = nn.reshape %2, %flat : (tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<?x12xf32> {origin = "flat"}
  %4 = nn.tanh %3 : tensor<?x12xf32> {origin = "cell", role = "step"}
  %rows = nn.constant dense<[-1, 4]> : tensor<2xi64> {origin = "rows"}
  %5 = nn.reshape %1, %rows : (tensor<3x?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32> {origin = "rows"}
  %6 = nn.abs %5 : tensor<?x4xf32> {origin = "size"}
  func.return %4, %6 : tensor<?x12xf32>, tensor<?x4xf32>
}
"""


@pytest.mark.parametrize("count", [1, 4, 7])
@pytest.mark.parametrize("processes", [1, 2])
def test_samples_that_go_together_are_told_apart(monkeypatch: pytest.MonkeyPatch, count: int, processes: int) -> None:
    """The batch is the second axis; pieces have four samples, and the last one fewer. Infinities belong to a sample."""
    monkeypatch.undo()
    _only(monkeypatch, RECORDED)
    monkeypatch.setattr(profiling, "_ELEMENTS", 4 * 12)
    together: list[int] = []
    begin = Recorder.begin

    def noted(self: Recorder, firsts: Sequence[int], *more: Any) -> None:
        together.append(len(firsts))
        begin(self, firsts, *more)

    monkeypatch.setattr(Recorder, "begin", noted)
    samples = np.random.default_rng(2).normal(0, 3, (count, 3, 4)).astype(np.float32)
    samples[count // 2, 1, 2] = -np.inf
    found = qmlir.profile(_module(PIECES), list(samples), processes=processes)
    assert together == {1: [1], 4: [4], 7: [4, 3]}[count]
    expected = qmlir.profile(_module(PIECES), list(samples), compiled=False)
    assert found.to_text() == expected.to_text()
    seen = found.values["x"].batches
    assert seen is not None
    assert seen.count == count
    finite = np.where(np.isfinite(samples), samples, np.inf)
    assert seen.mean[0] == float(sum(map(Fraction, finite.min((1, 2)).tolist())) / count)
    assert found.extreme_samples["x"][0] == int(finite.min((1, 2)).argmin())


class _LastFirst(Workers):
    """Workers that begin again for each task, and run the last task first."""

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        yield from reversed([job.begin(job.shared)(task) for task in reversed(list(tasks))])


@pytest.mark.parametrize("seed", range(2))
def test_sums_have_the_same_bits_however_samples_are_divided(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Magnitudes from 2^-40 to 2^40, whose sums in another order are others in their last bits."""
    random = np.random.default_rng(seed)
    count = int(random.integers(5, 40))
    values = np.ldexp(random.normal(size=(count, 3, 4)), random.integers(-40, 40, (count, 3, 4)))
    samples = np.where(random.random(values.shape) < 0.1, random.choice([0.0, -np.inf]), values).astype(np.float32)
    expected = qmlir.profile(_module(PIECES), list(samples), compiled=False).to_text()
    plain = samples.astype(np.float64)[np.isfinite(samples)]
    seen = qmlir.Profile.from_text(expected).values["x"]
    assert np.isclose(seen.mean, plain.mean(), rtol=1e-12)
    assert np.isclose(seen.deviation, plain.std(), rtol=1e-12)
    observed = run_pipeline(_module(PIECES), PROFILE.passes())
    for size in random.integers(1, count + 1, 3).tolist():
        for faster in (None, CompiledProfiling()):
            found = run_profile(observed, list(samples), batch_size=size, faster=faster, workers=_LastFirst())
            assert found.to_text() == expected
    for way, at_once in ((RECORDED, 1), (RECORDED, 3), (COMPILED, 1)):
        monkeypatch.undo()
        _only(monkeypatch, way)
        monkeypatch.setattr(profiling, "_ELEMENTS", at_once * 12)
        for processes in (1, 2):
            assert qmlir.profile(_module(PIECES), list(samples), processes=processes).to_text() == expected


LENGTHS = """
func.func @main(%x: tensor<?x?x4xf32> {nn.name = "x", nn.dims = ["N", "T", ""]}) -> tensor<?x4xf32> {
  %0 = nn.transpose %x {permutation = [1, 0, 2]} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {origin = "turned"}
  %rows = nn.constant dense<[-1, 4]> : tensor<2xi64> {origin = "rows"}
  %1 = nn.reshape %0, %rows : (tensor<?x?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32> {origin = "rows"}
  %2 = nn.abs %1 : tensor<?x4xf32> {origin = "size"}
  func.return %2 : tensor<?x4xf32>
}
"""


def test_samples_of_several_lengths_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often all samples come one after the other depends on the length; 10 * 3 rows divide by 5 samples of 6."""
    monkeypatch.undo()
    _only(monkeypatch, RECORDED)
    random = np.random.default_rng(2)
    samples = [random.normal(0, 3, (length, 4)).astype(np.float32) for length in (10, 7, 6) for _ in range(5)]
    found, expected = (qmlir.profile(_module(LENGTHS), samples, compiled=each) for each in (True, False))
    assert found.to_text() == expected.to_text()
    assert found.extreme_samples["size"][1] == int(np.argmax([np.abs(each).max() for each in samples]))


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        (["nn.reduce_mean %x {axes = [0]} : (tensor<?x4xf32>) -> tensor<1x4xf32>"], "1x4"),
        (["nn.softmax %x {axis = 0} : tensor<?x4xf32>"], "?x4"),
        (
            [
                "nn.transpose %x {permutation = [1, 0]} : (tensor<?x4xf32>) -> tensor<4x?xf32>",
                "nn.matmul %x, %0 : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>",
            ],
            "?x?",
        ),
    ],
)
def test_samples_that_meet_run_one_by_one(monkeypatch: pytest.MonkeyPatch, lines: list[str], result: str) -> None:
    body = ""
    for number, line in enumerate(lines):
        operation, type_ = line.split(" : ")
        body += f'  %{number} = {operation} : {type_} {{origin = "step {number}"}}\n'
    text = f"""
func.func @main(%x: tensor<?x4xf32> {{nn.name = "x", nn.dims = ["batch", ""]}}) -> tensor<{result}xf32> {{
{body}  func.return %{len(lines) - 1} : tensor<{result}xf32>
}}
"""
    monkeypatch.undo()
    _only(monkeypatch, RECORDED)
    samples = SAMPLES[:, 0]
    found, expected = (qmlir.profile(_module(text), list(samples), compiled=each) for each in (True, False))
    assert found.to_text() == expected.to_text()


def test_a_number_of_a_sample_that_goes_with_others_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    _only(monkeypatch, RECORDED)
    samples = SAMPLES.copy()
    samples[4, 2, 1] = np.nan
    with pytest.raises(
        DiagnosticError, match="value 'x' at sample 4: values must not contain NaN, but 1 of 24 are NaN"
    ):
        qmlir.profile(_module(NET), samples)
