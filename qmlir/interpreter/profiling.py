"""A run for a profile: samples go through a module with observers; statistics of each key come out.

In the interpreter samples go one by one where the batch size is open, since the products of a larger batch are rounded
otherwise. A faster machine may take some at once, as many as the model says. So a profile depends on its samples alone,
not on how they are divided among batches or processes.
"""

import math
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import IO, Protocol

from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.arithmetic.histogram import BINS
from qmlir.arithmetic.statistics import Statistics
from qmlir.environment import default_environment
from qmlir.interpreter.machine import Interpreter
from qmlir.interpreter.progress import bar
from qmlir.interpreter.recording import MOMENTUM, Ranges, Recorder, Totals
from qmlir.interpreter.samples import Data, Run, Samples
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, text_error
from qmlir.quantization.profiles.digest import model_digest
from qmlir.quantization.profiles.file import Profile
from qmlir.quantization.profiles.given import has_parameters
from qmlir.quantization.profiles.keys import keyed_values
from qmlir.text.parsing import load_module
from qmlir.text.printing import PrintOptions, Weights, save_module

BATCH = 32
"""The default number of samples in one work item of a process."""

_AHEAD = 2
"""Work items for each process: one in progress, and one waiting."""


@dataclass(frozen=True)
class RunOptions:
    """How a profile is taken. `momentum` is that of the moving averages, `bins` bounds histograms."""

    function: str = "main"
    bins: int = BINS
    momentum: float = MOMENTUM


class Machine(Protocol):
    """Runs a module with observers, and keeps the statistics of what they observe."""

    @property
    def at_once(self) -> int:
        """How many runs it likes to be given at once, at most."""
        ...

    def run(self, runs: Sequence[Run]) -> Ranges:
        """Run for each. Raises `DiagnosticError` where that fails, and where a value is not a number."""
        ...

    def taken(self) -> dict[str, Statistics]:
        """The statistics of each key that was observed since the last call."""
        ...


class Interpreted:
    """The interpreter as a machine: the reference for all others."""

    at_once = 1

    def __init__(self, module: ModuleOp, options: RunOptions):
        self.recorder = Recorder(module, bins=options.bins)
        self.interpreter = Interpreter(module, [self.recorder])
        self.function = options.function

    def taken(self) -> dict[str, Statistics]:
        """What the observers have observed."""
        return self.recorder.taken()

    def run(self, runs: Sequence[Run]) -> Ranges:
        """Run once for one, and record what is observed."""
        (run,) = runs
        self.recorder.begin([run.first], run.samples)
        self.interpreter.call(self.function, run.arguments)
        return self.recorder.end()


_Part = tuple[list[Ranges], dict[str, Statistics]]
"""The result of a work item: the ranges of each run, in order, and the statistics of all."""

_machine: Interpreted | None = None


def _start_process(path: Path, options: RunOptions, plug_ins: tuple[str, ...]) -> None:
    global _machine
    registry.continue_with(plug_ins)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who starts the run ends it: Ctrl-C reaches all of a terminal's
    module = load_module(default_environment().new_context(), path)
    _machine = Interpreted(module, options)


def _work(runs: list[Run]) -> _Part | str:
    """In a process of its own: what the runs give, or the message of the error that ended them."""
    assert _machine is not None
    try:
        ranges = [_machine.run([run]) for run in runs]
    except DiagnosticError as error:  # its operation cannot be sent
        return error.diagnostic.message
    return ranges, _machine.taken()


def _chunks(runs: Iterable[Run], size: int) -> Iterator[list[Run]]:
    """Runs in lists of about `size` samples."""
    runs = iter(runs)
    for head in runs:
        yield [head, *islice(runs, max(size // head.samples, 1) - 1)]


def _in_order(executor: ProcessPoolExecutor, chunks: Iterator[list[Run]], ahead: int) -> Iterator[tuple[int, _Part]]:
    """The number of samples and the result of each work item, in order; few are read ahead."""
    waiting: deque[tuple[int, Future[_Part | str]]] = deque()
    for chunk in chunks:
        waiting.append((sum(run.samples for run in chunk), executor.submit(_work, chunk)))
        if len(waiting) >= ahead:
            yield _done(*waiting.popleft())
    while waiting:
        yield _done(*waiting.popleft())


def _done(samples: int, future: Future[_Part | str]) -> tuple[int, _Part]:
    part = future.result()
    if isinstance(part, str):
        raise text_error(part)
    return samples, part


def _run_in_processes(
    module: ModuleOp, runs: Iterable[Run], options: RunOptions, processes: int, batch: int, totals: Totals
) -> Iterator[int]:
    with TemporaryDirectory(prefix="qmlir-profile-") as folder:
        path = Path(folder) / "module.mlir"
        save_module(module, path, PrintOptions(weights=Weights.SIDECAR))
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(processes, context, _start_process, (path, options, registry.plug_ins()))
        try:
            for samples, (ranges, statistics) in _in_order(executor, _chunks(runs, batch), _AHEAD * processes):
                for each in ranges:
                    totals.add_runs(each)
                totals.add_statistics(statistics)
                yield samples
        except BrokenProcessPool as error:
            raise text_error(f"a process of the profiling run has ended: {error}") from error
        finally:
            executor.shutdown(cancel_futures=True)


def _pieces(runs: Iterable[Run], size: int) -> Iterator[list[Run]]:
    """Runs in lists of so many; the last one may be shorter."""
    runs = iter(runs)
    while piece := list(islice(runs, size)):
        yield piece


def _samples_of(runs: Sequence[Run]) -> int:
    return sum(run.samples for run in runs)


def _run_here(machine: Machine, runs: Iterable[Run], totals: Totals) -> Iterator[int]:
    for piece in _pieces(runs, machine.at_once):
        totals.add_runs(machine.run(piece))
        yield _samples_of(piece)
    totals.add_statistics(machine.taken())


def _run_in_threads(machines: Sequence[Machine], runs: Iterable[Run], totals: Totals) -> Iterator[int]:
    """Runs divided among machines, each in a thread of its own; few are read ahead."""
    free = SimpleQueue[Machine]()
    for each in machines:
        free.put(each)

    def work(piece: Sequence[Run]) -> Ranges:
        machine = free.get()
        try:
            return machine.run(piece)
        finally:
            free.put(machine)

    with ThreadPoolExecutor(len(machines)) as executor:
        waiting = deque[tuple[int, Future[Ranges]]]()
        try:
            for piece in _pieces(runs, machines[0].at_once):
                waiting.append((_samples_of(piece), executor.submit(work, piece)))
                if len(waiting) >= _AHEAD * len(machines):
                    samples, future = waiting.popleft()
                    totals.add_runs(future.result())
                    yield samples
            for samples, future in waiting:
                totals.add_runs(future.result())
                yield samples
        finally:
            executor.shutdown(cancel_futures=True)
    for each in machines:
        totals.add_statistics(each.taken())


@dataclass(frozen=True)
class Way:
    """How a module may be run, and the seconds that it takes: `once`, and for `each` run."""

    once: float
    each: float
    make: Callable[[], Callable[[], Machine] | None] | None = None
    """What makes machines; `None`, which it tells, where the module has no such form. The interpreter has none."""


class Faster(Protocol):
    """The ways to run a module that may take less time than the interpreter."""

    def ways(self, module: ModuleOp, samples: Samples, options: RunOptions, run: Run) -> Sequence[Way]:
        """All of them, the interpreter first; every run is about as large as `run`."""
        ...


_READ_AHEAD = 1 << 26
"""Bytes of samples that are read before it is decided what runs them, where it is not known how many there are."""

_MANY = 1 << 20
"""Runs that are more than any choice depends on."""


def _changes_at(ways: Sequence[Way]) -> int:
    """The number of runs from which on one of `ways` stays the best."""
    pairs = ((one, other) for one in ways for other in ways if one.once < other.once and one.each > other.each)
    return min(max((math.ceil((b.once - a.once) / (a.each - b.each)) for a, b in pairs), default=1), _MANY)


def _decided(
    runs: Iterable[Run], total: int | None, ways: Callable[[Run], Sequence[Way]]
) -> tuple[Iterable[Run], list[Way]]:
    """All of `runs`, and the ways to run so many, the fastest first."""
    runs = iter(runs)
    head = list(islice(runs, 1))
    if not head:
        return head, []
    found = ways(head[0])
    if total is not None:
        count = total // head[0].samples
    else:
        size = sum(each.nbytes for each in head[0].arguments)
        wanted = min(_changes_at(found), _READ_AHEAD // max(size, 1) + 1)
        head += islice(runs, wanted - 1)
        count = len(head) if len(head) < wanted else _MANY
    return chain(head, runs), sorted(found, key=lambda way: way.once + count * way.each)


def run_profile(
    module: ModuleOp,
    data: Data,
    *,
    options: RunOptions = RunOptions(),
    batch_size: int | None = None,
    processes: int = 1,
    passes: str = "",
    chosen: Callable[[Iterable[Run]], Iterable[Run]] | None = None,
    progress: IO[str] | None = None,
    faster: Faster | None = None,
) -> Profile:
    """The profile of `module`, which has observers, on the samples in `data`, or on those `chosen` (`qmlir.profile`).

    The interpreter runs the module, or what `faster` makes of it, in as many threads as there would be processes.
    Raises `DiagnosticError`: for data that does not fit, for no data, and for values that are not finite, with key and
    sample. Keys that no run reached are warned of.
    """
    for name, number in (("batch size", batch_size), ("number of processes", processes)):
        if number is not None and number < 1:
            raise text_error(f"the {name} is at least 1, found {number}")
    if not 0 < options.momentum <= 1:
        raise text_error(f"momentum is above 0 and at most 1, found {options.momentum}")
    function = Interpreter(module).function(options.function)
    recorder = Recorder(module, bins=options.bins)
    if not recorder.keys and not any(has_parameters(each.value) for each in keyed_values(module)):
        raise text_error("the module has no observers: run calib-insert-observers")
    runs = Samples(function, data)
    taken = runs if chosen is None else chosen(runs)
    totals = Totals(options.momentum)
    machine: Callable[[], Machine] | None = None
    if faster is not None:
        taken, ways = _decided(taken, runs.exact, partial(faster.ways, module, runs, options))
        for way in ways:
            if way.make is None or (machine := way.make()) is not None:
                break
    if processes == 1:
        steps = _run_here(machine() if machine else Interpreted(module, options), taken, totals)
    elif machine is not None:
        steps = _run_in_threads([machine() for _ in range(processes)], taken, totals)
    else:
        steps = _run_in_processes(module, taken, options, processes, batch_size or BATCH, totals)
    samples = 0
    with bar("profiling", runs.total, progress) as advance:
        for done in steps:
            samples += done
            advance(done)
    unseen = [key for key in recorder.keys if key not in totals.statistics]
    if unseen:
        listed = ", ".join(unseen[:5]) + (f" and {len(unseen) - 5} more" if len(unseen) > 5 else "")
        emit(Diagnostic(Severity.WARNING, f"no run reached {len(unseen)} of {len(recorder.keys)} values: {listed}"))
    values = dict(totals.values())
    in_order = {key: values[key] for key in recorder.keys if key in values}
    return Profile(model_digest(module), samples, in_order, passes, extreme_samples=totals.extreme_samples())
