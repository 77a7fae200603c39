"""Measures compiled programs beside other runtimes: `make bench-compiled`.

ResNet-50 with random weights and four digit classifiers, int8, batch 1, one thread. ONNX Runtime and OpenVINO, where
they are installed, run the same models in the same process, in turns; what they run in int8 was quantized by ONNX
Runtime's static quantizer. Compiling, starting and memory are measured in processes of their own.
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
from qmlir.peers import onnx_runtime
from qmlir.peers.packages import TITLES, is_installed
from qmlir.peers.quantizers import modern
from qmlir.peers.sessions import PEERS, peer_runs
from qmlir.targets.cpu.cache import DIRECTORY_VARIABLE
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.tools.architectures import random_inputs, with_random_weights
from qmlir.tools.bench_accuracy import MODELS, NAMES, Digits
from qmlir.tools.benchmark import Clock, Row, Timing, add_json_option, interleaved, print_rows

Array = npt.NDArray[Any]
Run = Callable[[], object]

LARGE = "resnet50"
ROUNDS = 5
SAMPLES = 2
"""Random inputs that calibrate ResNet-50, in ours and in ONNX Runtime: they only have to give some ranges."""

OURS = "qmlir int8, exact"


@dataclass(frozen=True)
class Subject:
    """A model that is timed: in ONNX for the peers, quantized for us, and one input."""

    name: str
    path: Path
    quantized: ModuleOp
    samples: Sequence[Mapping[str, Array]]
    inputs: Mapping[str, Array]
    peers_in_int8: bool
    """Whether ONNX Runtime's quantizer makes integers of it: it leaves LSTM and GRU in float."""


def _large(folder: Path) -> Subject:
    model = with_random_weights(LARGE)
    path = folder / f"{LARGE}.onnx"
    path.write_bytes(modern(model).SerializeToString())
    samples = [random_inputs(model, seed) for seed in range(SAMPLES)]
    quantized = qmlir.quantize(qmlir.load(model), samples)
    return Subject(LARGE, path, quantized, samples, random_inputs(model, SAMPLES), peers_in_int8=True)


def _digits(name: str, models: Path) -> Subject:
    digits = Digits.of(name, models)
    axis = 0 if name.endswith(("cnn", "mlp")) else 1
    samples = [{"input": digits.calibration.take([place], axis)} for place in range(64)]
    shape = samples[0]["input"].shape
    quantized = qmlir.quantize(qmlir.load(digits.path, shapes={"input": shape}), samples)
    inputs = {"input": np.ascontiguousarray(digits.test.take([0], axis))}
    return Subject(name, digits.path, quantized, samples, inputs, peers_in_int8=axis == 0)


# Peers


def _peer_runs(subject: Subject, folder: Path, threads: int, say: Callable[[str], object]) -> Iterator[tuple[str, Run]]:
    for package in PEERS:
        if not is_installed(package):
            say(f"{TITLES[package]} is left out: the package {package} is not installed")
    can_quantize = is_installed(onnx_runtime.PACKAGE) and subject.peers_in_int8
    yield from peer_runs(
        [package for package in PEERS if is_installed(package)], subject.path, subject.inputs, threads=threads,
        folder=folder, samples=subject.samples if can_quantize else (),
    )  # fmt: skip


# Times


def _ratio_rows(subject: Subject, timings: Mapping[str, Timing]) -> list[Row]:
    """Our time over that of the rival that the bar names."""

    def ratio(what: str, rivals: Sequence[str], bar: float | None) -> list[Row]:
        there = [timings[name].median for name in rivals if name in timings]
        return [Row(f"{subject.name}: {what}", timings[OURS].median / min(there), bar, "x")] if there else []

    in_float = ratio("ours over ONNX Runtime f32", ["ONNX Runtime f32"], 1.0 if subject.name == "digits_lstm" else None)
    if not subject.peers_in_int8:
        return in_float
    rivals = [f"{title} u8s8" for title in TITLES.values()]
    return [*in_float, *ratio("ours over the faster u8s8", rivals, 1.3 if subject.name == LARGE else None)]


def times(subject: Subject, folder: Path, threads: int, clock: Clock, say: Callable[[str], object]) -> list[Row]:
    """The times of one run of a model, ours and those of the peers, in turns."""
    say(f"{subject.name}: compiling")
    program = qmlir.compile(subject.quantized, threads=threads)
    expected = qmlir.interpret(subject.quantized, subject.inputs)
    for name, array in program(subject.inputs).items():
        np.testing.assert_array_equal(array, expected[name])
    runs: dict[str, Run] = {OURS: partial(program, subject.inputs)}
    runs.update(_peer_runs(subject, folder, threads, say))
    say(f"{subject.name}: timing")
    found = interleaved(runs, ROUNDS, clock=clock)
    scale, unit = (1e3, "ms") if found[OURS].median > 1e-3 else (1e6, "us")
    return [
        *(timing.row(f"{subject.name}: {name}", scale, unit) for name, timing in found.items()),
        *_ratio_rows(subject, found),
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

    def row(what: str, figures: Sequence[float], bar: float | None, unit: str) -> Row:
        middle, low_high = statistics.median(figures), (min(figures), max(figures))
        return Row(f"{subject.name} int8: {what}", middle, bar, unit, *(low_high if len(figures) > 1 else ()))

    def rows_of(what: str, processes: Sequence[Process], bar: float) -> list[Row]:
        return [
            row(what, [each.seconds for each in processes], bar, "s"),
            row(f"{what}, processor time", [each.processor_seconds for each in processes], None, "s"),
        ]

    return [
        *rows_of("cold compile to the first result", cold, 60),
        *rows_of("warm start from the cache to the first result", warm, 2),
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
            subject = _large(folder) if name == LARGE else _digits(name, models)
            if "times" in kinds:
                rows += times(subject, folder, threads, clock, say)
            if "starts" in kinds and name == LARGE:
                rows += starts(subject, folder, say)
    return rows


KINDS = ("times", "starts")


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="bench-compiled", description="Measures compiled programs beside peers.")
    parser.add_argument("--model", action="append", choices=(LARGE, *NAMES), help="only this model; may be repeated")
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
    names = arguments.model or (LARGE, *NAMES)
    progress = Console(stderr=True)
    if any(name != LARGE for name in names) and not arguments.models.is_dir():
        progress.print(f"no models in {arguments.models}: say where they are with --models")
        return 1
    kinds = (arguments.only,) if arguments.only else KINDS
    clock = time.process_time if arguments.processor_time else time.perf_counter
    rows = measure(names, arguments.models, threads=arguments.threads, clock=clock, kinds=kinds, say=progress.print)
    print_rows(rows, as_json=arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
