"""What compiling, starting and memory of a program take: tasks of `bench_process`, each in a fresh process.

The first finds an empty cache.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import qmlir
from benchmarks.contest import Contest
from benchmarks.rows import BenchRow
from benchmarks.subjects import INT8, Say, Subject
from qmlir.targets.cpu.cache import DIRECTORY_VARIABLE

STARTED: Mapping[str, tuple[float, float]] = {"resnet50": (45, 1.5), "mobilenetv2": (45, 1.5)}
"""The models whose compiling, starting and memory are measured, with the bars of a cold compile and a warm start in
seconds."""


EMITTED: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "resnet50": {"numba": (7, 0.5), "llvm": (4, 0.4)},
    "mobilenetv2": {"numba": (6, 0.5), "llvm": (3, 0.4)},
    "digits_cnn": {"numba": (1, 0.5), "llvm": (0.6, 0.4)},
}
"""The models that are compiled by each emitter, with the bars of a cold compile and a warm start in seconds."""


@dataclass(frozen=True)
class Process:
    """What a task took from the start of its process to its end."""

    seconds: float
    processor_seconds: float
    """Of all threads together: on a shared machine, the more telling figure."""

    peak_bytes: int


def in_process(cache: Path, *task: str | Path) -> Process:
    """Run a task of `bench_process`."""
    command = [sys.executable, "-m", "benchmarks.process", *map(str, task)]
    # An installed package has its bytecode: a checkout keeps it unless somebody forbids it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        command, env={**environment, DIRECTORY_VARIABLE: str(cache)}, capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - start, os.times()
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Process(seconds, used, int(json.loads(done.stdout.splitlines()[-1])["peak_bytes"]))


def starts(subject: Subject, say: Say) -> list[BenchRow]:
    """Compiling, starting and memory of one model."""
    with TemporaryDirectory(prefix="qmlir-bench-") as folder:
        return _starts(subject, Path(folder), say)


def _starts(subject: Subject, folder: Path, say: Say) -> list[BenchRow]:
    module, inputs, saved = subject.module_file(INT8), subject.inputs_file, folder / "saved_program"
    cache = folder / "cache"
    run = partial(in_process, cache)
    say(f"{subject.name}: compiling in a fresh process")
    cold = [run("compile", module, inputs)]
    warm = [run("compile", module, inputs) for _ in range(3)]
    with _cache_at(cache):
        qmlir.compile(qmlir.load(module)).save(saved)
    run("saved", saved, inputs)
    imported = [run("saved", saved, inputs) for _ in range(3)]
    base, mebi = run("imports").peak_bytes, 1 << 20
    cold_bar, warm_bar = STARTED[subject.name]

    def row(what: str, figures: Sequence[float], bar: float | None, unit: str) -> BenchRow:
        low, high = (min(figures), max(figures)) if len(figures) > 1 else (None, None)
        return BenchRow(what, statistics.median(figures), bar, unit, low, high, subject=subject.name)

    def rows_of(what: str, processes: Sequence[Process], bar: float) -> list[BenchRow]:
        return [
            row(what, [each.seconds for each in processes], bar, "s"),
            row(f"{what}, processor time", [each.processor_seconds for each in processes], None, "s"),
        ]

    return [
        *rows_of("cold compile to the first result", cold, cold_bar),
        *rows_of("warm start from the cache to the first result", warm, warm_bar),
        *rows_of("import of the saved program to the first result", imported, 2),
        row("peak memory of the compile", [each.peak_bytes / mebi for each in cold], 1430, "MiB"),
        row("peak memory of a warm start and run", [each.peak_bytes / mebi for each in warm], None, "MiB"),
        row("saved program, over NumPy and numba", [(each.peak_bytes - base) / mebi for each in imported], 238, "MiB"),
    ]


def emitters(subject: Subject, contest: Contest) -> list[BenchRow]:
    """Compiling and starting one model by each emitter, and the time of a run of the second over one of the first."""
    rows: list[BenchRow] = []
    module, inputs, programs = subject.module_file(INT8), subject.inputs_file, dict[str, Any]()
    with TemporaryDirectory(prefix="qmlir-bench-") as folder, _cache_at(Path(folder)):
        for emitter, bars in EMITTED[subject.name].items():
            contest.say(f"{subject.name}: compiling by {emitter}")
            run = partial(in_process, Path(folder), "compile", module, inputs, emitter)
            runs = {"cold compile": [run()], "warm start": [run() for _ in range(3)]}
            for (what, processes), bar in zip(runs.items(), bars, strict=True):
                for kind, bound in (("seconds", bar), ("processor_seconds", None)):
                    figures = [getattr(each, kind) for each in processes]
                    name = f"{what} by {emitter}{', processor time' * (bound is None)}"
                    spread = min(figures), max(figures)
                    rows.append(BenchRow(name, statistics.median(figures), bound, "s", *spread, subject=subject.name))
            programs[emitter] = qmlir.compile(qmlir.load(module), codegen=emitter)
        times = contest.times({name: partial(program, subject.inputs) for name, program in programs.items()})
    ratio = times["llvm"].median / times["numba"].median
    return [*rows, BenchRow("a run by llvm over one by numba", ratio, 1.0, "x", subject=subject.name)]


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
