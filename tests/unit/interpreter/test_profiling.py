"""Profiling runs against statistics that NumPy takes of every value at once; and all that must not change a profile."""

import io
import math
import pickle
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.statistics import Statistics
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter, Listener
from qmlir.interpreter.jobs import Job, Workers
from qmlir.interpreter.profiling import ExecutionMode, Interpreted, Machine, RunOptions, run_profile
from qmlir.interpreter.run import interpret
from qmlir.interpreter.samples import Run, Samples
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.passes.primitive.composites import NnDecompose
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import PROFILE
from qmlir.quantization.profiles.keys import keyed_values
from qmlir.quantization.profiles.profile import Profile
from qmlir.targets.cpu.profiling import CompiledProfiling
from qmlir.text.parsing import parse_module
from qmlir.workflows.quantizing import quantize

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
MODELS = Path(__file__).resolve().parents[3].parent / "shared" / "models"
needs_models = pytest.mark.skipif(not MODELS.exists(), reason="the digits models are not there")

LAYOUTS = {"cnn": (1, 8, 8), "mlp": (64,), "lstm": (8, 8), "gru": (8, 8)}
"""Each model's shape of one sample."""

DIVIDED = ("cnn", "lstm")
"""What two processes profile, too: they get samples, along the first axis or the second, whatever the operations."""


def module_of(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


def digits(name: str, count: int) -> tuple[ModuleOp, np.ndarray]:
    with np.load(MODELS / "digits_eval.npz") as data:
        samples = data["x_train"][np.arange(count) % 1257].reshape(-1, *LAYOUTS[name])
    return qmlir.load(MODELS / f"digits_{name}.onnx"), samples


TEXT = """
func.func @main(%x: tensor<?x3xf32> {nn.name = "x"}) -> tensor<?x3xf32> {
  %c = nn.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32> {origin = "c"}
  %d = nn.neg %c : tensor<3xf32> {origin = "d"}
  %0 = nn.mul %x, %d : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32> {origin = "rnn", role = "step/mul"}
  %1 = nn.mul %0, %d : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32> {origin = "rnn", role = "step/mul"}
  %2 = nn.log %1 : tensor<?x3xf32> {origin = "log"}
  func.return %2 : tensor<?x3xf32>
}
"""
X = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, 1]], np.float32)


def test_ranges_by_hand() -> None:
    profile = qmlir.profile(module_of(TEXT), X, axis=1, momentum=0.5)
    assert profile.samples == 4
    assert list(profile.values) == ["x", "d", "rnn/step/mul", "log"]
    step = profile.values["rnn/step/mul"]
    once = X * np.array([-1, 2, -0.5], np.float32)
    twice = once * np.array([-1, 2, -0.5], np.float32)
    # Both steps of one role have one range.
    both = np.concatenate([once, twice])
    assert (step.count, step.minimum, step.maximum) == (24, both.min(), both.max())
    assert (step.axis_minima.tolist(), step.axis_maxima.tolist()) == (both.min(0).tolist(), both.max(0).tolist())
    assert step.mean == both.mean(dtype=np.float64)
    assert step.histogram.total == 24
    # The averages are of what one sample gives, in all steps.
    ends = [(min(*a, *b), max(*a, *b)) for a, b in zip(once.tolist(), twice.tolist(), strict=True)]
    low, high = ends[0]
    for each in ends[1:]:
        low, high = (low + each[0]) / 2, (high + each[1]) / 2
    assert step.batches is not None
    assert step.batches.moving == (low, high)
    assert step.batches.mean == (sum(a for a, _ in ends) / 4, sum(b for _, b in ends) / 4)
    # The first samples that reach the ends; the largest input is that of sample 2, and the smallest that of sample 0,
    # which sample 3 has, too.
    lows, highs = zip(*ends, strict=True)
    assert profile.extreme_samples["rnn/step/mul"] == (int(np.argmin(lows)), int(np.argmax(highs)))
    assert profile.extreme_samples["x"] == (0, 2)
    # What no sample changes is counted once.
    assert profile.values["d"].count == 3
    assert "c" not in profile.values
    assert qmlir.profile(module_of(TEXT), X, constants=True).values["c"].count == 3


class Collect(Listener):
    """Every result of every operation."""

    def __init__(self) -> None:
        self.seen: dict[Any, list[np.ndarray]] = {}

    def on_results(self, op: Any, operands: Sequence[Any], results: Sequence[Any]) -> None:
        for result, value in zip(op.results, results, strict=True):
            self.seen.setdefault(result, []).append(np.array(value))


@needs_models
@pytest.mark.parametrize("name", LAYOUTS)
def test_statistics_are_those_of_all_values(name: str) -> None:
    module, samples = digits(name, 5)
    module = module.clone()
    NnDecompose().apply(default_environment().new_context(), module)
    profile = qmlir.profile(module, samples)
    listener = Collect()
    axis = 1 if name in ("lstm", "gru") else 0
    for sample in samples:
        interpret(module, [np.ascontiguousarray(np.expand_dims(sample, axis))], listeners=[listener])
    values: dict[str, list[np.ndarray]] = {"input": [samples]}
    for each in keyed_values(module):
        if not each.is_constant and each.value in listener.seen:
            values.setdefault(each.key, []).extend(listener.seen[each.value])
    assert set(profile.values) == set(values)
    for key, arrays in values.items():
        flat = np.concatenate([array.reshape(-1) for array in arrays])
        expected, found = Statistics.of(flat), profile.values[key]
        if found.count < expected.count:  # computed from constants alone
            assert found.count * len(samples) == expected.count
            continue
        assert found.histogram.counts.tolist() == expected.histogram.counts.tolist()
        assert (found.moments.count, found.moments.zeros) == (expected.moments.count, expected.moments.zeros)
        # Sums of several samples round once for each of them.
        sums, sizes = (found.moments.total, found.moments.squares), (flat, np.square(flat, dtype=np.float64))
        for total, terms in zip(sums, sizes, strict=True):
            assert abs(total - math.fsum(terms)) <= 1e-13 * math.fsum(np.abs(terms))
        assert (found.minimum, found.maximum) == (flat.min(), flat.max())


@needs_models
@pytest.mark.parametrize("name", LAYOUTS)
def test_division_changes_nothing(name: str, tmp_path: Path) -> None:
    """Batches of 1, 7 and all; one process, and two; from memory and from a file: the same bytes."""
    count = 24 if name in ("cnn", "mlp") else 9
    module, samples = digits(name, count)
    np.savez(tmp_path / "samples.npz", input=samples)
    axis = 1 if name in ("lstm", "gru") else 0
    batches = (np.moveaxis(each, 0, axis) for each in np.split(samples, [1, count // 3, count - 4]))

    def text(data: Any, **options: Any) -> str:
        return qmlir.profile(module, data, passes="nn-decompose", **options).to_text()

    texts = {
        *(text(samples, batch_size=size) for size in (1, 7, len(samples))),
        *(text(samples, batch_size=size, processes=2) for size in (1, 7) if name in DIVIDED),
        text(tmp_path / "samples.npz"),
        text({"input": samples}),
        text(iter(samples)),
        text([{"input": sample} for sample in samples]),
        text(batches),
    }
    assert len(texts) == 1
    assert Profile.from_text(texts.pop()).samples == count


@needs_models
def test_a_model_of_a_batch_of_its_own() -> None:
    _, samples = digits("lstm", 9)
    module = qmlir.load(MODELS / "digits_lstm.onnx", shapes={"input": (8, 4, 8)})
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        profile = qmlir.profile(module, samples)
    assert profile.samples == 8
    assert profile.values["input"] == qmlir.profile(module, list(samples[:8])).values["input"]
    assert [str(each) for each in said] == ["warning: ignoring the last 1 of 9 samples: @main takes 4 at a time"]
    with pytest.raises(
        DiagnosticError,
        match=(
            "takes batches of 4 samples, but got 3 in total; help: pass at least 4 samples, or make the batch dynamic"
        ),
    ):
        qmlir.profile(module, samples[:3])
    # One of its own batches is that of a model of any batch size.
    alone = qmlir.load(MODELS / "digits_lstm.onnx", shapes={"input": (8, 1, 8)})
    free = qmlir.load(MODELS / "digits_lstm.onnx")
    profiles = [qmlir.profile(each, samples) for each in (alone, free)]
    assert profiles[0].model == profiles[1].model
    assert profiles[0].values.keys() <= profiles[1].values.keys()
    assert all(profiles[1].values[key] == seen for key, seen in profiles[0].values.items())


@needs_models
def test_memory_does_not_grow_with_the_samples(tmp_path: Path) -> None:
    module, _ = digits("cnn", 1)
    peaks: list[int] = []
    for count in (2, 300, 900):  # the first loads what is loaded once, the second has more than go together
        np.savez(tmp_path / "samples.npz", input=digits("cnn", count)[1])
        tracemalloc.start()
        qmlir.profile(module, tmp_path / "samples.npz")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]


def test_values_that_are_not_finite_name_key_and_sample() -> None:
    samples = X.copy()
    samples[2, 1] = np.nan
    wanted = r"value 'x' at sample 2: values must not contain NaN, but 1 of 3 are NaN \(the first at index 1\)"
    with pytest.raises(DiagnosticError, match=wanted):
        qmlir.profile(module_of(TEXT), samples)
    own = TEXT.replace("?x3", "2x3")
    with pytest.raises(DiagnosticError, match="value 'x' at samples 2 to 3: "):
        qmlir.profile(module_of(own), samples)


def test_infinities_are_no_part_of_a_range(tmp_path: Path) -> None:
    samples = X.copy()
    samples[2, 1], samples[3] = 0, 0  # the logarithm of 0
    module = module_of(TEXT)
    for axis in (None, 1):
        profile = qmlir.profile(module, samples, **({} if axis is None else {"axis": axis}))
        log = profile.values["log"]
        finite = np.log((np.square([[1.0, -2.0, 0.5]] * 4) * samples.astype(np.float64))[samples > 0])
        assert (log.infinities, log.count) == ((4, 0), 8)
        np.testing.assert_allclose((log.minimum, log.maximum), (finite.min(), finite.max()), rtol=1e-6)
        profile.save(tmp_path / "profile.json")
        assert Profile.load(tmp_path / "profile.json").values == profile.values
    only = qmlir.profile(module, np.zeros((2, 3), np.float32))
    assert (only.values["log"].infinities, only.values["log"].count) == ((6, 0), 0)
    only.save(tmp_path / "profile.json")
    assert Profile.load(tmp_path / "profile.json").values == only.values


def test_what_was_infinite_stays_in_float() -> None:
    """-inf is a legal activation: no quantized type holds it, so who gives and who takes it computes in float."""
    text = TEXT.replace("func.return %2", '%3 = nn.exp %2 : tensor<?x3xf32> {origin = "exp"}\n  func.return %3')
    samples = X.copy()
    samples[2, 1], samples[3] = 0, 0
    for given in (samples, samples[3:]):
        found = quantize(module_of(text), given, validate=False)
        assert {"log", "exp"} <= set(found.float_reasons)
        (result,) = interpret(found.module, {"x": samples}).values()
        assert (result[3] == 0).all()
        assert np.isfinite(result).all()


BAD_ITEMS: list[tuple[Any, str]] = [
    ([], "the data contains no samples"),
    ([{"y": X[0]}], "has no input 'y'"),
    ([{}], "no data for input x"),
    ([(X[0], X[0], X[0])], r"takes 1 input \(x \?x3 float32\), but got 3"),
    (["x"], "expected arrays as data, but got an item of type str"),
    ([3], "expected arrays as data, but got an item of type int"),
    ([X[0], X[0].astype(np.int32)], r"must be float32, but got int32; help: pass array.astype\('float32'\) if"),
    ([X[0], X[0, :2]], r"input 'x' must have shape 3 \(one sample\) or \?x3 \(a batch\), but got 2"),
    (X[:, :, None], r"input 'x' must have shape 3 \(one sample\) or \?x3 \(a batch\), but got 3x1; help: pass"),
]


@pytest.mark.parametrize(("data", "message"), BAD_ITEMS)
def test_items_that_do_not_fit(data: Any, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        qmlir.profile(module_of(TEXT), data)


@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f64", np.float64)])
def test_every_float_type(element: str, dtype: Any, tmp_path: Path) -> None:
    text = TEXT.replace("f32", element).replace("nn.log", "nn.relu")
    np.savez(tmp_path / "samples.npz", x=X.astype(dtype))  # NumPy has no name for bf16, and writes it as raw bytes
    profile = qmlir.profile(module_of(text), tmp_path / "samples.npz")
    # All products are small integers and halves: exact in every type.
    assert (profile.values["rnn/step/mul"].minimum, profile.values["rnn/step/mul"].maximum) == (-7.0, 32.0)
    assert profile.to_text() == qmlir.profile(module_of(text), X.astype(dtype)).to_text()


TWO = """
func.func @main(%ids: tensor<?x2xi64> {nn.name = "ids", nn.dims = ["batch", ""]},
                %x: tensor<2x?xf32> {nn.name = "x", nn.dims = ["", "batch"]},
                %s: tensor<f32> {nn.name = "s"}) -> tensor<2x?xf32> {
  %0 = nn.mul %x, %s : (tensor<2x?xf32>, tensor<f32>) -> tensor<2x?xf32> {origin = "m"}
  func.return %0 : tensor<2x?xf32>
}
"""


def test_several_inputs_each_with_its_axis_or_none() -> None:
    ids, x = np.zeros((5, 2), np.int64), np.arange(10, dtype=np.float32).reshape(5, 2)
    s = np.full(5, 2, np.float32)
    stacked = qmlir.profile(module_of(TWO), {"ids": ids, "x": x, "s": s})
    items = [{"ids": ids[:2], "x": x[:2].T, "s": s[0]}, {"ids": ids[2:], "x": x[2:].T, "s": s[0]}]
    assert stacked.samples == 5
    assert stacked.values["m"].maximum == 18.0
    assert qmlir.profile(module_of(TWO), items).to_text() == stacked.to_text()
    with pytest.raises(DiagnosticError, match="expected the same number of samples for each input, but got 2 and 5"):
        qmlir.profile(module_of(TWO), [{"ids": ids[:2], "x": x.T, "s": s[0]}])
    with pytest.raises(
        DiagnosticError,
        match="expected arrays with the same number of samples along the first axis, but got shapes 5x2, 5x2,",
    ):
        qmlir.profile(module_of(TWO), {"ids": ids, "x": x, "s": s[0]})


@pytest.mark.parametrize(("name", "runs"), [("T", 2), ("seq_len", 2), ("", 6), ("N", 6)])
def test_a_sequence_is_one_sample(name: str, runs: int) -> None:
    """An open leading axis is that of the batch, unless it is called a length."""
    text = TWO.replace('"batch", ""', f'"{name}", ""').replace('"", "batch"', '"", ""').replace("2x?", "2x2")
    items = [{"ids": np.zeros((3, 2), np.int64), "x": np.ones((2, 2), np.float32), "s": np.float32(2)}] * 2
    assert qmlir.profile(module_of(text), items).samples == runs


@pytest.mark.parametrize(
    ("names", "axis", "runs", "largest"),
    [
        (("frames", ""), 0, 2, 15.0),
        (("frames", ""), 1, 2, 22.0),
        (("F", "B"), 1, 2, 22.0),
        (("", ""), 1, 2, 22.0),
        (("batch", ""), 1, 6, 22.0),
        (("N", ""), 1, 6, 22.0),
        (("N", ""), 0, 2, 15.0),
    ],
)
@pytest.mark.parametrize("is_named", [False, True])
def test_the_rank_of_a_row_tells_a_sample(
    names: tuple[str, str], axis: int, runs: int, largest: float, is_named: bool
) -> None:
    """The sums of columns, or of rows, of two arrays of 3 x 4: each is the whole input, unless it is called a batch.

    A letter is no proof: where an operation mixes the rows, it is no batch.
    """
    dims = ", ".join(f'"{name}"' for name in names)
    text = f"""func.func @main(%x: tensor<?x4xf32> {{nn.name = "x", nn.dims = [{dims}]}}) -> tensor<?xf32> {{
      %0 = nn.reduce_sum %x {{axes = [{axis}], keep_dims = false}} : (tensor<?x4xf32>) -> tensor<?xf32> {{origin = "m"}}
      func.return %0 : tensor<?xf32>
    }}"""
    rows = np.array([[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 5]], np.float32)
    given = np.stack([rows, rows])
    samples = Samples(Interpreter(module_of(text)).function("main"), {"x": given} if is_named else given)
    assert (samples.total, sum(run.samples for run in samples)) == (runs, runs)  # what progress counts
    profile = qmlir.profile(module_of(text), {"x": given} if is_named else given)
    assert (profile.samples, profile.values["m"].maximum) == (runs, largest)


def test_what_no_run_reaches_is_said() -> None:
    unused = "func.func @unused(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}"
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        qmlir.profile(module_of(TEXT + unused), X)
    assert [str(each) for each in said] == ["warning: no run reached 1 of 5 values: @unused/input0"]


def test_without_observers_there_is_nothing_to_record() -> None:
    with pytest.raises(DiagnosticError, match="the module has no observers: run calib-insert-observers"):
        run_profile(module_of(TEXT), X)


def test_the_module_stays_as_it_is() -> None:
    module = module_of(TEXT)
    before = str(module)
    qmlir.profile(module, X, passes="canonicalize")
    assert str(module) == before


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal_only() -> None:
    def samples() -> Iterator[np.ndarray]:
        yield from X

    terminal, file = Terminal(), io.StringIO()
    qmlir.profile(module_of(TEXT), samples(), progress=terminal)
    qmlir.profile(module_of(TEXT), X, progress=file)
    assert "profiling" in terminal.getvalue()
    assert file.getvalue() == ""


class _Counted:
    """A way whose machines are the interpreter, which is worth it from so many runs on."""

    def __init__(self, worth: int) -> None:
        self.worth = worth
        self.made = 0

    def ways(self, module: ModuleOp, samples: Samples, options: RunOptions, run: Run) -> list[ExecutionMode]:
        def make() -> Callable[[], Machine]:
            self.made += 1
            return lambda: Interpreted(module, options)

        return [ExecutionMode(0, 1), ExecutionMode(self.worth - 0.5, 0, make)]


@pytest.mark.parametrize(("worth", "made"), [(3, 1), (4, 1), (5, 0)])
def test_as_many_samples_as_it_takes_are_compiled_however_they_come(worth: int, made: int) -> None:
    module = run_pipeline(module_of(TEXT), PROFILE.passes())
    expected = run_profile(module, X)
    forms: list[Any] = [X, {"x": X}, list(X), iter(X), [X[:1], X[1:]]]
    for data in forms:
        faster = _Counted(worth)
        assert run_profile(module, data, faster=faster).to_text() == expected.to_text()
        assert faster.made == made


def test_the_fastest_way_that_there_is_runs() -> None:
    """One has no form of the module, the next would do, and a third one takes longer for three samples."""
    module = run_pipeline(module_of(TEXT), PROFILE.passes())
    tried: list[str] = []

    def made(name: str, machine: Callable[[], Machine] | None) -> Callable[[], Callable[[], Machine] | None]:
        def make() -> Callable[[], Machine] | None:
            tried.append(name)
            return machine

        return make

    class Ways:
        def ways(self, module: ModuleOp, samples: Samples, options: RunOptions, run: Run) -> list[ExecutionMode]:
            machine = lambda: Interpreted(module, options)  # noqa: E731
            return [
                ExecutionMode(0, 100), ExecutionMode(10, 1, made("slow start", machine)),
                ExecutionMode(1, 1, made("none", None)), ExecutionMode(2, 1, made("good", machine)),
            ]  # fmt: skip

    assert run_profile(module, X, faster=Ways()).to_text() == run_profile(module, X).to_text()
    assert tried == ["none", "good"]


class Scattered(Workers):
    """Workers of whom each begins anew for each task, the last task first; all that comes to them was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[int] = []

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        sent = [pickle.dumps((job, task)) for task in tasks]
        self.tasks.append(len(sent))
        answers: list[bytes] = []
        for each in reversed(sent):
            found, task = pickle.loads(each)
            answers.append(found.begin(found.shared)(task))
        yield from reversed(answers)


@pytest.mark.parametrize(
    ("count", "divided"), [(20, {1: 20, 7: 3, 20: 1}), (300, {1: 22, 7: 22, 150: 2, 300: 1})], ids=["single", "groups"]
)
def test_any_division_among_workers_is_the_same(count: int, divided: Mapping[int, int]) -> None:
    """20 samples are interpreted one by one; 300 are recorded in groups of 14, which no task cuts."""
    with np.load(EXAMPLES / "digits_samples.npz") as data:
        samples = data["input"][np.arange(count) % 256]
    module = qmlir.load(EXAMPLES / "digits_cnn.onnx")
    expected = qmlir.profile(module, samples, axis=1, constants=True).to_text()
    for size, tasks in divided.items():
        workers = Scattered()
        observed = run_pipeline(module.clone(), PROFILE.passes(constants=True, axis=1))
        found = run_profile(observed, samples, batch_size=size, faster=CompiledProfiling(), workers=workers)
        assert found.to_text() == expected
        assert workers.tasks == [1, tasks]
