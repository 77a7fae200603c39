"""One model through all of the product: imported, quantized, compiled, compared, exported, judged, timed beside peers.

A stage that fails ends the way of the model there; its cause is kept, and goes onto the page. The quantized module
stays in the folder of results, so that times may be taken again alone.

Workers of a cluster run the samples that calibrate, and those that are judged, for ours and for ONNX Runtime. Where a
state goes from one sample to the next, and for OpenVINO, whose version workers need not share, they are judged here.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import onnx
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.zoo.made import Feeds, ZooModel
from benchmarks.zoo.metrics import decibels, score
from benchmarks.zoo.outputs import ModuleRun, PeerRun, outputs_by
from qmlir.extensions.bench import peers
from qmlir.extensions.bench.peers import FORMS, OvSession, modern
from qmlir.extensions.bench.peers import quantize as quantize_by_peer
from qmlir.extensions.report.timing import interleaved
from qmlir.interpreter.jobs import ShippedModule, Workers
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.onnx.reading import read_model
from qmlir.quantization.report import coverage
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.targets.runtimes.packages import TITLES, is_installed
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.workflows.quantized import Quantized
from qmlir.workflows.quantizing import quantize
from qmlir.workflows.workers import Cluster, workers_of

Array = npt.NDArray[Any]
_T = TypeVar("_T")
Run = Callable[[Feeds], Mapping[str, Array]]

OURS, FLOAT = "qmlir", f"{TITLES[onnx_runtime.PACKAGE]} f32"
STATIC, DYNAMIC = (f"{TITLES[onnx_runtime.PACKAGE]} {form}" for form in ("static", "dynamic"))
OPENVINO = f"{TITLES[peers.OPENVINO]} static"
PEERS = (STATIC, DYNAMIC, OPENVINO)
"""What runs in int8 beside; OpenVINO what ONNX Runtime quantized, as its own quantizer is a package of its own."""

_COMPARED = 2
"""Judged samples on which the interpreter runs, too."""

_REASONS = 3
"""So many places that were left in float are told, the slowest first."""


@dataclass
class Result:
    """What is known of one model: written as JSON."""

    name: str
    source: str
    metric: str
    nodes: int = 0
    stage: str = ""
    """Where its way ended; empty where it came through."""

    cause: str = ""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Of stages."""

    integer_share: float | None = None
    """Of the multiply-adds."""

    cost_share: float | None = None
    """Of the estimated time, that on quantized values."""

    in_float: list[str] = field(default_factory=list[str])
    scores: dict[str, float | None] = field(default_factory=dict[str, float | None])
    """The figure of the task by who ran it."""

    noise: dict[str, float | None] = field(default_factory=dict[str, float | None])
    """Decibels of signal over noise, by who ran it."""

    causes: dict[str, str] = field(default_factory=dict[str, str])
    """Why a peer did not run it."""

    exported: float | None = None
    """Decibels of what the exported model gives in ONNX Runtime against the interpreter: infinite where it is equal."""

    times: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Milliseconds of one run by who ran it: the median and the range of rounds."""

    def save(self, folder: Path) -> None:
        """Write it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "result.json").write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def load(folder: Path) -> "Result | None":
        """What `save` wrote, if anything."""
        path = folder / "result.json"
        return Result(**json.loads(path.read_text())) if path.exists() else None


def _all(run: Run, samples: Sequence[Feeds], states: Mapping[str, str]) -> list[Mapping[str, Array]]:
    """The outputs of samples in order; states go from one to the next."""
    found: list[Mapping[str, Array]] = []
    carried: dict[str, Array] = {}
    for feeds in samples:
        found.append(run({**feeds, **carried}))
        carried = {name: found[-1][output] for name, output in states.items()}
    return found


def _read(path: Path) -> onnx.ModelProto:
    return read_model(path).proto


def _feeds_of(feeds: Feeds, model: onnx.ModelProto) -> Feeds:
    """Those that the model takes: an optimizer may have found that an input has no part."""
    names = {each.name for each in model.graph.input}
    return {name: array for name, array in feeds.items() if name in names}


@dataclass
class _Way:
    """The way of one model."""

    model: ZooModel
    folder: Path
    result: Result
    cluster: "Cluster | None" = None
    """Whose workers run samples."""

    @property
    def parts(self) -> Path | None:
        """The folder that keeps what workers answer, till the model came through; none without them."""
        return None if self.cluster is None else self.folder / "parts"

    @property
    def module_file(self) -> Path:
        return self.folder / "int8.mlir"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: array.shape for name, array in self.model.judged[0].items()}

    def loaded(self) -> ModuleOp:
        """The float model, with the shapes of the samples."""
        return qmlir.load(self.model.path, shapes=self.shapes())

    def quantized(self) -> ModuleOp:
        """Import and quantize; kept as text."""
        stage, result = partial(_timed, self.result), self.result
        module = stage("import", self.loaded)
        made = stage("quantize", lambda: self._quantized(module))
        found = coverage(made.module, made.float_reasons)
        result.integer_share = found.integer_share if found.multiply_adds else None
        result.cost_share = found.integer_cost_share
        result.in_float = [f"{_first(row.key)} ({row.name}): {row.reason}" for row in found.left_in_float[:_REASONS]]
        save_module(made.module, self.module_file, PrintOptions(weights=Weights.SIDECAR))
        return made.module

    def _quantized(self, module: ModuleOp) -> Quantized:
        given = self.model.calibrating
        return quantize(module, given, validate=False, cluster=self.cluster, resume=self.parts)

    def take(self) -> None:
        """All stages but times."""
        stage, result, samples = partial(_timed, self.result), self.result, self.model.judged[:_COMPARED]
        module = self.quantized()
        program = stage("compile", lambda: qmlir.compile(module))
        expected = stage("compare", lambda: self._compared(module, program, samples))
        result.exported = stage("export", lambda: self._exported(module, samples, expected))
        stage("judge", lambda: self.judge(program, module))
        if self.parts is not None:
            shutil.rmtree(self.parts, ignore_errors=True)

    @staticmethod
    def _compared(module: ModuleOp, program: Run, samples: Sequence[Feeds]) -> list[Mapping[str, Array]]:
        expected: list[Mapping[str, Array]] = [qmlir.interpret(module, dict(feeds)) for feeds in samples]
        for feeds, wanted in zip(samples, expected, strict=True):
            for (name, array), found in zip(wanted.items(), program(feeds).values(), strict=True):
                is_same = (found == array) | ((found != found) & (array != array))
                if not np.all(is_same):
                    figure = decibels([{name: found}], [{name: array}])
                    raise AssertionError(
                        f"{np.size(is_same) - np.count_nonzero(is_same)} of {np.size(is_same)} elements of {name} "
                        f"differ between interpreter and program, {figure:.0f} dB"
                    )
        return expected

    def _exported(
        self, module: ModuleOp, samples: Sequence[Feeds], expected: Sequence[Mapping[str, Array]]
    ) -> float | None:
        model = qmlir.export_onnx(module, self.folder / "exported.onnx")
        session = OrtSession(self.folder / "exported.onnx", OrtOptions(is_deterministic=False))
        return decibels([session(_feeds_of(feeds, model)) for feeds in samples], expected)

    def _peer_file(self, name: str) -> Path:
        if name == FLOAT:
            return self.model.path
        form = FORMS["dynamic" if name == DYNAMIC else "u8s8"]
        path, source = self.folder / f"{form.name}.onnx", self.folder / "modern.onnx"
        if not source.exists():
            source.write_bytes(modern(_read(self.model.path)).SerializeToString())
        if not path.exists():
            quantize_by_peer(source, path, form, self.model.calibrating)
        return path

    def open_peers(self) -> Iterator[tuple[str, Run]]:
        """Sessions of the peers, the float one first; what they cannot do is noted."""
        for name in (FLOAT, *PEERS):
            package = peers.OPENVINO if name == OPENVINO else onnx_runtime.PACKAGE
            if not is_installed(package):
                continue
            try:
                path = self._peer_file(name)
                if name == OPENVINO:
                    names = {each.name for each in _read(path).graph.input}
                    shapes = {key: shape for key, shape in self.shapes().items() if key in names}
                    yield name, OvSession(path, shapes=shapes)
                else:
                    yield name, OrtSession(path, OrtOptions(is_deterministic=False))
            except DiagnosticError as error:
                self.result.causes[name] = _cause(error, self.folder, self.model.folder)

    def judge(self, program: Run, module: ModuleOp) -> None:
        """Ours and the peers on the judged samples; the interpreter stands for a float model that no peer runs."""
        with workers_of(self.cluster, self.parts) as workers:
            self._judge(program, module, workers)

    def _shipped(self, name: str, module: ModuleOp) -> ModuleRun | PeerRun | None:
        """What workers run in place of a run here, where they do."""
        if name == OURS:
            return ModuleRun(ShippedModule.of(module), is_compiled=True)
        return None if name == OPENVINO else PeerRun(self._peer_file(name).read_bytes(), is_deterministic=False)

    def _judge(self, program: Run, module: ModuleOp, workers: Workers | None) -> None:
        model, result, states = self.model, self.result, self.model.about.states

        def judged(run: Run, shipped: Callable[[], ModuleRun | PeerRun | None]) -> list[Mapping[str, Array]]:
            sent = None if workers is None or states else shipped()
            if workers is None or sent is None:
                return _all(run, model.judged, states)
            return outputs_by(workers, sent, model.judged)

        exact: list[Mapping[str, Array]] = []
        for name, run in (*self.open_peers(), (OURS, program)):
            try:
                if not exact and name != FLOAT:
                    floats = self.loaded()
                    exact = judged(partial(qmlir.interpret, floats), partial(_interpreted, floats))
                found = judged(run, partial(self._shipped, name, module))
            except DiagnosticError as error:
                result.causes[name] = _cause(error, self.folder, self.model.folder)
                continue
            exact = exact or found
            result.scores[name] = score(model.about.metric, found, model.labels)
            result.noise[name] = decibels(found, exact)

    def take_times(self, rounds: int, seconds: float) -> None:
        """Times in turns, batch 1, one thread."""
        feeds = self.model.judged[0]
        runs = {OURS: qmlir.compile(qmlir.load(self.module_file)), **dict(self.open_peers())}
        usable = {name: run for name, run in runs.items() if name == OURS or name in self.result.noise}
        actions = {
            name: partial(run.infer if isinstance(run, OvSession) else run, feeds) for name, run in usable.items()
        }
        for name, found in interleaved(actions, rounds, seconds).items():
            self.result.times[name] = [round(1e3 * each, 4) for each in (found.median, found.low, found.high)]


def _timed(result: Result, stage: str, action: Callable[[], _T]) -> _T:
    result.stage = stage
    start = time.perf_counter()
    found = action()
    result.seconds[stage] = round(time.perf_counter() - start, 2)
    result.stage = ""
    return found


def _interpreted(module: ModuleOp) -> ModuleRun:
    return ModuleRun(ShippedModule.of(module), is_compiled=False)


def _first(key: str) -> str:
    """The first node that an operation stands for."""
    first, _, others = key.partition("+")
    return f"{first} and {others.count('+') + 1} more" if others else first


def _cause(error: Exception, *folders: Path) -> str:
    """One line: what the product says of a fault, or the kind of an error that it should have caught.

    Files are told by their names, without the folders where they lie here.
    """
    text = " ".join(str(error).split()).removeprefix("error: ")
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    return text if isinstance(error, DiagnosticError | AssertionError) else f"{type(error).__name__}: {text}"


def run_model(model: ZooModel, folder: Path, cluster: "Cluster | None" = None) -> Result:
    """Take a model through, and write what came out; the workers of a `cluster` calibrate it, and judge it."""
    about = model.about
    nodes = len(_read(model.path).graph.node)
    result = Result(model.name, about.source, about.metric, nodes)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _Way(model, folder, result, cluster).take()
    except Exception as error:  # whatever it is, it belongs on the page
        result.cause = _cause(error, folder, model.folder)
    result.save(folder)
    return result


def time_model(model: ZooModel, folder: Path, rounds: int, seconds: float) -> None:
    """Take the times of a model that came through, and add them to what is written."""
    result = Result.load(folder)
    if result is not None and not result.stage:
        _Way(model, folder, result).take_times(rounds, seconds)
        result.save(folder)
