"""A run for a profile: samples go through a module with observers; statistics of each key come out.

Samples go one by one where the batch size is open, since the products of a larger batch are rounded otherwise: so a
profile depends on its samples alone, not on how they are divided among batches or processes.
"""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

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


class _Machine:
    """A module that is ready to run, and what records it."""

    def __init__(self, module: ModuleOp, options: RunOptions):
        self.recorder = Recorder(module, bins=options.bins)
        self.interpreter = Interpreter(module, [self.recorder])
        self.function = options.function

    def run(self, run: Run) -> Ranges:
        self.recorder.begin(run.first, run.samples)
        self.interpreter.call(self.function, run.arguments)
        return self.recorder.end()


_Part = tuple[list[Ranges], dict[str, Statistics]]
"""The result of a work item: the ranges of each run, in order, and the statistics of all."""

_machine: _Machine | None = None


def _start_process(path: Path, options: RunOptions, plug_ins: tuple[str, ...]) -> None:
    global _machine
    registry.continue_with(plug_ins)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who starts the run ends it: Ctrl-C reaches all of a terminal's
    module = load_module(default_environment().new_context(), path)
    _machine = _Machine(module, options)


def _work(runs: list[Run]) -> _Part | str:
    """In a process of its own: what the runs give, or the message of the error that ended them."""
    assert _machine is not None
    try:
        ranges = [_machine.run(run) for run in runs]
    except DiagnosticError as error:  # its operation cannot be sent
        return error.diagnostic.message
    return ranges, _machine.recorder.taken()


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
                    totals.add_run(each)
                totals.add_statistics(statistics)
                yield samples
        except BrokenProcessPool as error:
            raise text_error(f"a process of the profiling run has ended: {error}") from error
        finally:
            executor.shutdown(cancel_futures=True)


def _run_here(module: ModuleOp, runs: Iterable[Run], options: RunOptions, totals: Totals) -> Iterator[int]:
    machine = _Machine(module, options)
    for run in runs:
        totals.add_run(machine.run(run))
        yield run.samples
    totals.add_statistics(machine.recorder.taken())


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
) -> Profile:
    """The profile of `module`, which has observers, on the samples in `data`, or on those `chosen` (`qmlir.profile`).

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
    if processes == 1:
        steps = _run_here(module, taken, options, totals)
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
    return Profile(
        model_digest(module), samples, dict(totals.values()), passes, extreme_samples=totals.extreme_samples()
    )
