"""The contest of models: ours in int8 and in float beside ONNX Runtime and OpenVINO, in turns in one process.

What the peers run in int8 was quantized by ONNX Runtime's quantizers. Our outputs are held against the interpreter's
before anything is timed: integers equal, floats as near as sums in another order are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import qmlir
from benchmarks.peak import Peak, measure_peak
from benchmarks.rows import BenchRow, Section, ratio_row, readable, row_of, with_rate
from benchmarks.subjects import DYNAMIC, FLOAT, INT8, PEER_FORMS, STATIC, Say, Subject
from qmlir.extensions.bench import peers
from qmlir.extensions.bench.peers import FORMS, peer_of
from qmlir.extensions.report.timing import Times, interleaved
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import TITLES, is_installed

Array = npt.NDArray[Any]
Run = Callable[[], object]
Measure = Callable[[Mapping[str, Run]], Mapping[str, Times]]
"""Times runs in turns."""

_RUNTIME = TITLES[onnx_runtime.PACKAGE]
_RUNTIME_FLOAT, _RUNTIME_DYNAMIC = f"{_RUNTIME} f32", f"{_RUNTIME} {DYNAMIC}"

_INT8_TO_FLOAT = "int8 over ONNX Runtime f32"
_INT8_TO_U8S8 = "int8 over the faster u8s8"
_INT8_TO_DYNAMIC = "int8 over ONNX Runtime dynamic int8"
_FLOAT_TO_FLOAT = "f32 over ONNX Runtime f32"
_GAIN = "int8 over itself on one thread"

BARS: Mapping[tuple[str, str, int], float] = {
    ("resnet50", _INT8_TO_U8S8, 1): 0.85,
    ("resnet50", _INT8_TO_U8S8, 2): 0.9,
    ("resnet50", _FLOAT_TO_FLOAT, 1): 1.2,
    ("mobilenetv2", _INT8_TO_U8S8, 1): 0.85,
    ("mobilenetv2", _INT8_TO_U8S8, 2): 0.85,
    ("squeezenet", _INT8_TO_U8S8, 1): 0.85,
    ("squeezenet", _INT8_TO_U8S8, 2): 0.85,
    ("mlp", _INT8_TO_U8S8, 1): 0.6,
    ("lstm", _INT8_TO_DYNAMIC, 1): 0.8,
    ("encoder", _INT8_TO_DYNAMIC, 1): 0.9,
    ("digits_cnn", _INT8_TO_U8S8, 1): 0.6,
    ("digits_lstm", _INT8_TO_FLOAT, 1): 1.0,
}
"""What ratios of times are held against, by model, ratio and threads."""

GAIN_BARS: Mapping[tuple[str, int], float] = {("resnet50", 2): 1 / 1.8}
"""What the time on several threads over that on one is held against, by model and threads."""

LIMITS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    peers.OPENVINO: ("ONEDNN_MAX_CPU_ISA", {"avx2": "AVX2", "avx2-vnni": "AVX2_VNNI"}),
}
"""The variable by which a peer is limited to an instruction set, and what it calls these."""

_FLOAT_BOUND = 1e-4
"""How far our floats may be from the interpreter's, relative to the largest: they are summed up in other orders."""

_RATIOS: Sequence[tuple[str, str, Sequence[str]]] = (
    (_INT8_TO_FLOAT, INT8, (_RUNTIME_FLOAT,)),
    (_INT8_TO_U8S8, INT8, (f"{_RUNTIME} {STATIC}", f"{TITLES[peers.OPENVINO]} {STATIC}")),
    (_INT8_TO_DYNAMIC, INT8, (_RUNTIME_DYNAMIC,)),
    (_FLOAT_TO_FLOAT, FLOAT, (_RUNTIME_FLOAT,)),
)
"""What is divided by the fastest of which rivals, where these are there."""


@dataclass
class Contest:
    """How everything is measured: turns, their clock, the instruction sets of ours, and the peak of the machine."""

    rounds: int
    seconds: float
    """How long a turn takes about."""

    clock: Callable[[], float]
    folder: Path
    """Where what is prepared is kept."""

    isas: Sequence[str] = ()
    """Those that ours is also made for, besides the host's."""

    say: Say = print
    limit: str = ""
    """The instruction set that ours and OpenVINO are limited to; ONNX Runtime takes what the processor has, and is left
    out."""

    peaks: dict[int, Peak] = field(default_factory=dict[int, Peak])

    def peak(self, threads: int) -> Peak:
        """The peak on so many threads, measured once."""
        if threads not in self.peaks:
            self.say("measuring the peak of the machine")
            self.peaks[threads] = measure_peak(threads, self.limit or None)
        return self.peaks[threads]

    def times(self, runs: Mapping[str, Run]) -> Mapping[str, Times]:
        """The times of some runs, in turns."""
        return interleaved(runs, self.rounds, self.seconds, self.clock)

    def peak_section(self) -> Iterator[Section]:
        """What was measured of the machine."""
        for threads, peak in self.peaks.items():
            rates = (("integers, 8 bits", peak.int8), ("f32", peak.f32))
            rows = [BenchRow(what, rate / 1e9, None, "GMAC/s") for what, rate in rates]
            yield Section("Peak of the machine, multiply-adds on registers and L1", rows, threads)


def check_close(found: Mapping[str, Array], expected: Mapping[str, Array], bound: float) -> None:
    """Raise `AssertionError` where outputs are further apart than `bound`, relative to the largest."""
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=bound * float(np.abs(array).max()))


def _our_runs(subject: Subject, threads: int, contest: Contest) -> Iterator[tuple[str, Run]]:
    for name, bound in ((INT8, 0.0), (FLOAT, _FLOAT_BOUND)):
        module, expected = subject.module(name), subject.expected(name)
        first = contest.limit or "host"
        for isa in (first, *contest.isas):
            title = name if isa == first else f"{name}, {isa}"
            contest.say(f"{subject.name}: {title}, {threads} threads: compiling")
            program = qmlir.compile(module, threads=threads, isa=isa)
            check_close(program(subject.inputs), expected, bound)
            yield title, partial(program, subject.inputs)


def _peer_runs(subject: Subject, threads: int, contest: Contest) -> Iterator[tuple[str, Run]]:
    for package, names in PEER_FORMS[subject.peer_form].items():
        if not is_installed(package) or (contest.limit and package not in LIMITS):
            continue
        for form in (FORMS[name] for name in names):
            path = subject.peer_file(form)
            if path.exists():
                yield f"{TITLES[package]} {form.name}", peer_of(package).open(path, subject.inputs, threads, form)
            else:
                contest.say(f"{subject.name}: {TITLES[package]} {form.name} is left out: {path} was not made")


def ratio_rows(name: str, timings: Mapping[str, Times], threads: int = 1) -> Iterator[BenchRow]:
    """Our times of a model over those of the fastest rival of each kind that is among the timings."""
    for what, ours, rivals in _RATIOS:
        if there := [timings[rival] for rival in rivals if rival in timings]:
            yield ratio_row(name, what, timings[ours], there, BARS.get((name, what, threads)))


def compile_only(subject: Subject, threads: int, contest: Contest) -> None:
    """Have every program of ours in the cache."""
    dict(_our_runs(subject, threads, contest))


def model_times(subject: Subject, threads: int, contest: Contest) -> tuple[list[BenchRow], Mapping[str, Times]]:
    """The times of one run of a model, ours and those of the peers; with rates, shares of the peak and ratios."""
    peak = contest.peak(threads)
    runs: dict[str, Run] = dict(_our_runs(subject, threads, contest))
    runs.update(_peer_runs(subject, threads, contest))
    contest.say(f"{subject.name}, {threads} threads: timing")
    found = contest.times(runs)
    scale, unit = readable(found[INT8].median)
    products = subject.multiply_adds
    rows = [
        with_rate(
            row_of(timing, name, scale, unit, subject.name),
            timing.median,
            products,
            peak.f32 if "f32" in name else peak.int8,
        )
        for name, timing in found.items()
    ]
    return [*rows, *ratio_rows(subject.name, found, threads)], found


def model_sections(subjects: Sequence[Subject], threads: Sequence[int], contest: Contest) -> Iterator[Section]:
    """The contest on one thread and on several: one section for each."""
    ones: dict[str, Times] = {}
    for count in threads:
        rows: list[BenchRow] = []
        for subject in subjects:
            found, timings = model_times(subject, count, contest)
            rows += found
            if count == 1:
                ones[subject.name] = timings[INT8]
            elif subject.name in ones:
                bar = GAIN_BARS.get((subject.name, count))
                rows.append(ratio_row(subject.name, _GAIN, timings[INT8], [ones[subject.name]], bar))
        yield Section("Models, batch 1", rows, count)
