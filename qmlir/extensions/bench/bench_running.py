"""Runs `qmlir bench`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from qmlir.extensions.bench.baselines import BenchRequest, rivals
from qmlir.extensions.report.timing import Times, interleaved
from qmlir.ir.diagnostics import printable
from qmlir.specialization.inputs import parse_shapes, shape_text
from qmlir.targets.runtimes.packages import installed_version
from qmlir.text.tables import aligned, counted
from qmlir.tools.arguments import cuts_in
from qmlir.tools.command_runner import Session
from qmlir.tools.models import data_in, load_model
from qmlir.tools.stdio import UsageError


@dataclass(frozen=True)
class Line:
    """A line of the table: one run and its times."""

    name: str
    median_seconds: float
    low_seconds: float
    high_seconds: float
    ratio: float
    """The ratio of the median to that of the first line."""

    multiply_adds_per_second: float | None


def _lines(timings: Mapping[str, Times], multiply_adds: int | None) -> list[Line]:
    first = next(iter(timings.values())).median
    return [
        Line(
            name, each.median, each.low, each.high, each.median / first,
            None if multiply_adds is None else multiply_adds / each.median,
        )
        for name, each in timings.items()
    ]  # fmt: skip


def run_bench(arguments: argparse.Namespace, session: Session) -> int:
    """Times a model and prints a table. Raises `DiagnosticError`."""
    if arguments.rounds < 1 or not 0 < arguments.seconds < inf:
        raise UsageError("qmlir bench: error: --rounds must be at least 1 and --seconds greater than 0\n")
    against = [each for each in arguments.against.split(",") if each]
    clock = time.process_time if arguments.processor_time else time.perf_counter
    model = load_model("-", session) if arguments.model == "-" else arguments.model
    with TemporaryDirectory(prefix="qmlir-bench-") as folder:
        request = BenchRequest(
            Path(folder), against=against, data=data_in(arguments), shapes=parse_shapes(arguments.shape),
            threads=arguments.threads, isa=arguments.isa, say=session.say, **cuts_in(arguments),
        )  # fmt: skip
        found = rivals(model, request)
        session.say(f"timing {len(found.runs)} in {counted(arguments.rounds, 'round')}")
        timings = interleaved(found.runs, arguments.rounds, arguments.seconds, clock)
    lines = _lines(timings, found.multiply_adds)
    value = {
        "model": arguments.model,
        "shapes": found.shapes,
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "clock": "processor" if arguments.processor_time else "wall",
        "multiply_adds": found.multiply_adds,
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "versions": {"qmlir": version("qmlir"), **{package: installed_version(package) for package in against}},
        "lines": lines,
    }
    session.emit(value, lambda: _table(lines, arguments.threads, found.shapes))
    return 0


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}" if seconds >= 1e-4 else f"{seconds * 1e3:.3f}"


def _table(lines: list[Line], threads: int, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Formats the table of times, with ratios to the first line: above 1 is slower."""
    sizes = ", ".join(f"{name} {shape_text(shape)}" for name, shape in shapes.items())
    head = ("", "ms", "range", "ratio", "GMAC/s")
    rows = [
        (
            line.name, _time(line.median_seconds), f"{_time(line.low_seconds)} – {_time(line.high_seconds)}",
            f"{line.ratio:.2f}",
            "" if line.multiply_adds_per_second is None else f"{line.multiply_adds_per_second / 1e9:.3g}",
        )
        for line in lines
    ]  # fmt: skip
    title = f"{printable(sizes)}; {counted(threads, 'thread')}"
    return "\n".join([title, "", *aligned([head, *rows], head[1:])])
