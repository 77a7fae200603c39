"""Measures compiled programs beside other runtimes: `make bench-compiled`.

The models of `bench_models`, which have random weights, and four digit classifiers, in int8 and in float, batch 1, one
thread. ONNX Runtime and OpenVINO, where they are installed, run the same models in the same process, in turns; what
they run in int8 was quantized by ONNX Runtime's quantizers. Compiling, starting and memory are measured in processes of
their own.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.inspection.inspecting import inspect
from qmlir.peers import onnx_runtime
from qmlir.peers.packages import TITLES, is_installed
from qmlir.peers.quantizers import FORMS, modern
from qmlir.peers.quantizers import quantize as quantize_by_peer
from qmlir.peers.sessions import PEERS, peer_of, peer_runs
from qmlir.targets.cpu.cache import DIRECTORY_VARIABLE
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.tools.architectures import random_inputs
from qmlir.tools.bench_accuracy import MODELS, NAMES, Digits
from qmlir.tools.bench_models import BENCH_MODELS
from qmlir.tools.benchmark import Clock, Row, Timing, add_json_option, interleaved, print_rows

Array = npt.NDArray[Any]
Run = Callable[[], object]

ROUNDS = 5
SAMPLES = 2
"""Random inputs that calibrate a model of random weights, in ours and in ONNX Runtime: they only give some ranges."""

INT8, FLOAT = "qmlir int8, exact", "qmlir f32"
_STATIC, _DYNAMIC = "u8s8", "dynamic"
_RUNTIME = TITLES[onnx_runtime.PACKAGE]
_RUNTIME_FLOAT, _RUNTIME_DYNAMIC = f"{_RUNTIME} f32", f"{_RUNTIME} {_DYNAMIC}"

_INT8_TO_FLOAT = "int8 over ONNX Runtime f32"
_INT8_TO_U8S8 = "int8 over the faster u8s8"
_INT8_TO_DYNAMIC = "int8 over ONNX Runtime dynamic int8"
_FLOAT_TO_FLOAT = "f32 over ONNX Runtime f32"

BARS: Mapping[tuple[str, str], float] = {
    ("resnet50", _INT8_TO_U8S8): 1.3,
    ("resnet50", _FLOAT_TO_FLOAT): 1.2,
    ("mobilenetv2", _INT8_TO_U8S8): 0.85,
    ("squeezenet", _INT8_TO_U8S8): 0.85,
    ("mlp", _INT8_TO_U8S8): 0.6,
    ("lstm", _INT8_TO_DYNAMIC): 0.8,
    ("encoder", _INT8_TO_DYNAMIC): 0.9,
    ("digits_cnn", _INT8_TO_U8S8): 0.6,
    ("digits_lstm", _INT8_TO_FLOAT): 1.0,
}
"""What ratios of times are held against, by model and ratio."""

STARTED: Mapping[str, tuple[float, float]] = {"resnet50": (60, 2), "mobilenetv2": (45, 1.5)}
"""The models whose compiling, starting and memory are measured, with the bars of a cold compile and a warm start in
seconds."""

_FLOAT_BOUND = 1e-4
"""How far our floats may be from the interpreter's, relative to the largest: they are summed up in other orders."""


@dataclass(frozen=True)
class Subject:
    """A model that is timed: in ONNX for the peers, in float and quantized for us, and one input."""

    name: str
    path: Path
    module: ModuleOp
    quantized: ModuleOp
    samples: Sequence[Mapping[str, Array]]
    """Those that calibrate."""

    inputs: Mapping[str, Array]
    peer_form: str
    """What the peers run in int8, by name in `peers.quantizers.FORMS`; empty where that leaves the model in float."""


def _random(name: str, folder: Path) -> Subject:
    row = BENCH_MODELS[name]
    model = row.build()
    path = folder / f"{name}.onnx"
    path.write_bytes(modern(model).SerializeToString())
    samples = [random_inputs(model, seed) for seed in range(SAMPLES)]
    module = qmlir.load(model)
    quantized = qmlir.quantize(module, samples)
    return Subject(name, path, module, quantized, samples, random_inputs(model, SAMPLES), row.peer_form)


def _digits(name: str, models: Path) -> Subject:
    digits = Digits.of(name, models)
    axis = 0 if name.endswith(("cnn", "mlp")) else 1
    samples = [{"input": digits.calibration.take([place], axis)} for place in range(64)]
    module = qmlir.load(digits.path, shapes={"input": samples[0]["input"].shape})
    inputs = {"input": np.ascontiguousarray(digits.test.take([0], axis))}
    form = "" if axis else _STATIC  # LSTM and GRU stay in float
    return Subject(name, digits.path, module, qmlir.quantize(module, samples), samples, inputs, form)


# Runs


def _peer_runs(subject: Subject, folder: Path, threads: int, say: Callable[[str], object]) -> Iterator[tuple[str, Run]]:
    for package in PEERS:
        if not is_installed(package):
            say(f"{TITLES[package]} is left out: the package {package} is not installed")
    can_quantize = is_installed(onnx_runtime.PACKAGE)
    yield from peer_runs(
        [package for package in PEERS if is_installed(package)], subject.path, subject.inputs, threads=threads,
        folder=folder, samples=subject.samples if can_quantize and subject.peer_form == _STATIC else (),
    )  # fmt: skip
    if can_quantize and subject.peer_form == _DYNAMIC:
        form, target = FORMS[_DYNAMIC], folder / f"{subject.name}.{_DYNAMIC}.onnx"
        quantize_by_peer(subject.path, target, form)
        yield _RUNTIME_DYNAMIC, peer_of(onnx_runtime.PACKAGE).open(target, subject.inputs, threads, form)


def _check(found: Mapping[str, Array], expected: Mapping[str, Array], bound: float) -> None:
    """Raise `AssertionError` where outputs are further apart than `bound`, relative to the largest."""
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=bound * float(np.abs(array).max()))


def _our_runs(subject: Subject, threads: int, say: Callable[[str], object]) -> Iterator[tuple[str, Run]]:
    for name, module, bound in ((INT8, subject.quantized, 0), (FLOAT, subject.module, _FLOAT_BOUND)):
        say(f"{subject.name}: {name}: compiling")
        program = qmlir.compile(module, threads=threads)
        _check(program(subject.inputs), qmlir.interpret(module, subject.inputs), bound)
        yield name, partial(program, subject.inputs)


# Times


_RATIOS: Sequence[tuple[str, str, Sequence[str]]] = (
    (_INT8_TO_FLOAT, INT8, (_RUNTIME_FLOAT,)),
    (_INT8_TO_U8S8, INT8, tuple(f"{title} {_STATIC}" for title in TITLES.values())),
    (_INT8_TO_DYNAMIC, INT8, (_RUNTIME_DYNAMIC,)),
    (_FLOAT_TO_FLOAT, FLOAT, (_RUNTIME_FLOAT,)),
)
"""What is divided by the fastest of which rivals, where these are there."""


def ratio_rows(name: str, timings: Mapping[str, Timing]) -> Iterator[Row]:
    """Our times of a model over those of the fastest rival of each kind that is among the timings."""
    for what, ours, rivals in _RATIOS:
        if there := [timings[rival].median for rival in rivals if rival in timings]:
            yield Row(f"{name}: {what}", timings[ours].median / min(there), BARS.get((name, what)), "x")


def times(subject: Subject, folder: Path, threads: int, clock: Clock, say: Callable[[str], object]) -> list[Row]:
    """The times of one run of a model, ours and those of the peers, in turns; multiply-adds a second; ratios."""
    runs: dict[str, Run] = dict(_our_runs(subject, threads, say))
    runs.update(_peer_runs(subject, folder, threads, say))
    say(f"{subject.name}: timing")
    found = interleaved(runs, ROUNDS, clock=clock)
    scale, unit = (1e3, "ms") if found[INT8].median > 1e-3 else (1e6, "us")
    products = inspect(subject.module).multiply_adds
    rates = () if products is None else ((name, products / timing.median) for name, timing in found.items())
    return [
        *(timing.row(f"{subject.name}: {name}", scale, unit) for name, timing in found.items()),
        *(Row(f"{subject.name}: {name}, multiply-adds", rate / 1e9, None, "G/s") for name, rate in rates),
        *ratio_rows(subject.name, found),
    ]


# Processes


@dataclass(frozen=True)
class Process:
    """What a task took from the start of its process to its end."""

    seconds: float
    processor_seconds: float
    """Of all threads together: on a shared machine, the more telling figure."""

    peak_bytes: int


def _in_process(cache: Path, *task: str | Path) -> Process:
    """Run a task of `bench_process`."""
    command = [sys.executable, "-m", "qmlir.tools.bench_process", *map(str, task)]
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        command, env={**os.environ, DIRECTORY_VARIABLE: str(cache)}, capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - start, os.times()
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Process(seconds, used, int(json.loads(done.stdout.splitlines()[-1])["peak_bytes"]))


def starts(subject: Subject, folder: Path, say: Callable[[str], object]) -> list[Row]:
    """Compiling, starting and memory of one model, in fresh processes with a fresh cache."""
    module, inputs, saved = folder / f"{subject.name}.mlir", folder / f"{subject.name}.npz", folder / "saved_program"
    save_module(subject.quantized, module, PrintOptions(weights=Weights.SIDECAR))
    np.savez(inputs, allow_pickle=False, **subject.inputs)
    cache = folder / "cache"
    run = partial(_in_process, cache)
    say(f"{subject.name}: compiling in a fresh process")
    cold = [run("compile", module, inputs)]
    warm = [run("compile", module, inputs) for _ in range(3)]
    with _cache_at(cache):
        qmlir.compile(qmlir.load(module)).save(saved)
    run("saved", saved, inputs)
    imported = [run("saved", saved, inputs) for _ in range(3)]
    base, mega = run("imports").peak_bytes, 1e6
    cold_bar, warm_bar = STARTED[subject.name]

    def row(what: str, figures: Sequence[float], bar: float | None, unit: str) -> Row:
        middle, low_high = statistics.median(figures), (min(figures), max(figures))
        return Row(f"{subject.name} int8: {what}", middle, bar, unit, *(low_high if len(figures) > 1 else ()))

    def rows_of(what: str, processes: Sequence[Process], bar: float) -> list[Row]:
        return [
            row(what, [each.seconds for each in processes], bar, "s"),
            row(f"{what}, processor time", [each.processor_seconds for each in processes], None, "s"),
        ]

    return [
        *rows_of("cold compile to the first result", cold, cold_bar),
        *rows_of("warm start from the cache to the first result", warm, warm_bar),
        *rows_of("import of the saved program to the first result", imported, 2),
        row("peak memory of the compile", [each.peak_bytes / mega for each in cold], 1500, "MB"),
        row("peak memory of a warm start and run", [each.peak_bytes / mega for each in warm], None, "MB"),
        row("saved program, over NumPy and numba", [(each.peak_bytes - base) / mega for each in imported], 250, "MB"),
    ]


@contextlib.contextmanager
def _cache_at(folder: Path) -> Generator[None]:
    before = os.environ.get(DIRECTORY_VARIABLE)
    os.environ[DIRECTORY_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[DIRECTORY_VARIABLE]
        else:
            os.environ[DIRECTORY_VARIABLE] = before


def measure(
    names: Sequence[str],
    models: Path,
    *,
    threads: int,
    clock: Clock,
    kinds: Sequence[str],
    say: Callable[[str], object],
) -> list[Row]:
    """All rows of some models."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="qmlir-bench-") as temporary:
        for name in names:
            folder = Path(temporary) / name
            folder.mkdir()
            say(f"{name}: quantizing")
            subject = _random(name, folder) if name in BENCH_MODELS else _digits(name, models)
            if "times" in kinds:
                rows += times(subject, folder, threads, clock, say)
            if "starts" in kinds and name in STARTED:
                rows += starts(subject, folder, say)
    return rows


KINDS = ("times", "starts")


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="bench-compiled", description="Measures compiled programs beside peers.")
    every = (*BENCH_MODELS, *NAMES)
    parser.add_argument("--model", action="append", choices=every, help="only this model; may be repeated")
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR", help="where the digit classifiers are")
    parser.add_argument("--threads", type=int, default=1, help="of ours and of the peers")
    parser.add_argument("--only", choices=KINDS, help="times of runs beside peers, or compiling, starting and memory")
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="count processor time: for one thread on a busy machine",
    )
    add_json_option(parser)
    arguments = parser.parse_args()
    names: Sequence[str] = arguments.model or every
    progress = Console(stderr=True)
    if not set(names) <= set(BENCH_MODELS) and not arguments.models.is_dir():
        progress.print(f"no digit classifiers in {arguments.models}: say where they are with --models")
        if arguments.model:
            return 1
        names = tuple(BENCH_MODELS)
    kinds = (arguments.only,) if arguments.only else KINDS
    clock = time.process_time if arguments.processor_time else time.perf_counter
    rows = measure(names, arguments.models, threads=arguments.threads, clock=clock, kinds=kinds, say=progress.print)
    print_rows(rows, as_json=arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
