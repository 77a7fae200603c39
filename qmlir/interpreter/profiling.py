"""Profiling: runs a module with observers on samples, and collects statistics for each key.

The interpreter runs samples one by one if the batch size is dynamic, since rounding in matmuls depends on the batch; in
lockstep, a group of samples takes each step together with the bits of each sample alone. A faster machine may run a
group of samples at once. The size of a group depends on the model, and tasks for workers never
split a group. A profile therefore depends only on its samples, not on their distribution over processes or workers.
"""

import json
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice
from queue import SimpleQueue
from typing import IO, Any, Protocol, cast

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.statistics import BINS, SMALLEST_EXPONENT, Statistics
from qmlir.interpreter.interpreter import Interpreter, Lockstep, runs_together
from qmlir.interpreter.jobs import Begun, Job, ShippedModule, Workers, in_order, process_workers
from qmlir.interpreter.observers import MOMENTUM, Recorder, RunFigures, Totals
from qmlir.interpreter.progress import bar
from qmlir.interpreter.samples import Data, Run, Samples
from qmlir.ir.diagnostics import DiagnosticError, text_error, warn
from qmlir.quantization.profiles.keys import has_parameters, keyed_values
from qmlir.quantization.profiles.profile import Profile, model_digest
from qmlir.text.data import parse_data

# Serialization of a part of a profile: ranges and sums of each run, and merged statistics of all runs.
#
# Counts and histograms merge in any order. Sums and averages depend on the order of the runs, so ranges and sums are
# kept for each run. The format is safetensors, which contains only numbers and text: the figures of runs and the counts
# of histograms are arrays, and the rest is JSON. Bytes may come from an untrusted folder, so types, shapes and bounds
# are checked.


@dataclass(frozen=True)
class ProfilePart:
    """The ranges and sums of each of several runs, in order, and the merged statistics (without sums) of these runs."""

    runs: Sequence[RunFigures]
    statistics: Mapping[str, Statistics]

    def to_bytes(self) -> bytes:
        """Serializes the part without loss."""
        arrays: dict[str, Array] = {}
        keys: list[list[str]] = []
        for number, (names, group) in enumerate(groupby(self.runs, lambda each: tuple(each.keys))):
            parts = list(group)
            keys.append(list(names))
            arrays[f"firsts{number}"] = np.array([first for part in parts for first in part.firsts], np.int64)
            arrays[f"seen{number}"] = np.concatenate([part.seen for part in parts], axis=1)
        told = [(key, each.to_dict()) for key, each in self.statistics.items()]
        for number, (_, fields) in enumerate(told):
            arrays[f"counts{number}"] = np.array(fields["histogram"].pop("counts"), np.int64)
        text = json.dumps({"keys": keys, "statistics": told})
        return save({**arrays, "told": np.frombuffer(text.encode(), np.uint8)})

    @staticmethod
    def from_bytes(content: bytes) -> "ProfilePart":
        """Deserializes the result of `to_bytes`. Raises `DiagnosticError` for any other bytes."""
        try:
            arrays = load(content)
            told = parse_data(arrays["told"].tobytes(), "it", allow_nonfinite=True).value
            runs = [_runs(keys, arrays, number) for number, keys in enumerate(told["keys"])]
            rows = enumerate(told["statistics"])
            statistics = {key: _statistics(each, arrays[f"counts{number}"]) for number, (key, each) in rows}
        except (
            SafetensorError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
            OverflowError,
            DiagnosticError,
        ) as error:
            raise text_error("it is not part of a profile; remove it and run again") from error
        return ProfilePart(runs, statistics)

    def is_of(self, keys: Collection[str], firsts: Sequence[int], bins: int) -> bool:
        """Returns True if this part has the given keys, first samples of runs, and number of bins."""
        pairs = [pair for each in self.runs for pair in zip(each.keys, each.seen, strict=True)]
        seen = {key for key, runs in pairs if (runs[:, 0] <= runs[:, 1]).any()}
        return (
            [first for each in self.runs for first in each.firsts] == list(firsts)
            and all(key in keys for each in self.runs for key in each.keys)
            and all(key in keys for key in self.statistics)
            and all(key in seen or not each.count for key, each in self.statistics.items())
            and all(each.histogram.bins == bins or not each.count for each in self.statistics.values())
        )


def _expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise ValueError(what)


def _runs(told: Any, arrays: Mapping[str, Array], number: int) -> RunFigures:
    firsts, seen = arrays[f"firsts{number}"], arrays[f"seen{number}"]
    _expect(type(told) is list, "keys")
    keys = cast(list[str], told)
    _expect(all(type(each) is str for each in keys), "keys")
    _expect(firsts.dtype == np.int64 and firsts.ndim == 1 and firsts.size > 0, "first samples")
    _expect(seen.dtype == np.float64 and seen.shape == (len(keys), firsts.size, 4), "ranges and sums")
    lows, highs, totals, squares = np.moveaxis(seen, -1, 0)
    is_empty = (lows == np.inf) & (highs == -np.inf) & (totals == 0) & (squares == 0)
    is_some = np.isfinite(lows) & np.isfinite(highs) & (lows <= highs) & ~np.isnan(totals) & (squares >= 0)
    _expect(bool((is_empty | is_some).all()), "ranges and sums of numbers")
    return RunFigures(keys, firsts.tolist(), seen)


def _statistics(told: dict[str, Any], counts: Array) -> Statistics:
    _expect(counts.dtype == np.int64 and counts.ndim == 1, "counts")
    told["histogram"]["counts"] = listed = counts.tolist()
    found = Statistics.from_dict(told)
    _expect(found.to_dict() == told, "the numbers of statistics")
    of = found.histogram
    _expect(counts.min(initial=0) >= 0 and sum(listed) == found.count, "counts of all values")
    _expect(SMALLEST_EXPONENT <= of.exponent <= 1024 and abs(of.first) <= 1 << 16, "a histogram")
    _expect(not listed or max(of.first + len(listed) - 1, 0) - min(of.first, 0) < of.bins, "a range that fits the bins")
    is_range = -math.inf < found.minimum <= found.maximum < math.inf
    _expect((is_range or not found.count) and min(found.infinities) >= 0 and found.batches is None, "a range")
    _expect(found.axis_minima.ndim == 1 and found.axis_minima.shape == found.axis_maxima.shape, "ranges of an axis")
    return found


BATCH = 32
"""The default number of samples in one work item for a process."""

_TASK_BYTES, _TASK_SAMPLES = 1 << 22, 256
"""The maximum size of a worker's task, in bytes and in samples, unless a single run is larger."""

_AHEAD = 2
"""The number of chunks of runs per thread: one in progress and one waiting."""


@dataclass(frozen=True)
class RunOptions:
    """Options of a profile: the `momentum` of moving averages, and the maximum number of histogram `bins`."""

    function: str = "main"
    bins: int = BINS
    momentum: float = MOMENTUM


class Machine(Protocol):
    """Runs a module with observers and keeps the statistics of observed values."""

    @property
    def at_once(self) -> int:
        """The maximum number of runs that should be passed to `run` at once."""
        ...

    def run(self, runs: Sequence[Run]) -> RunFigures:
        """Executes the runs. Raises `DiagnosticError` if one fails or a value is NaN."""
        ...

    def taken(self) -> dict[str, Statistics]:
        """Returns and resets the statistics of each key observed since the last call."""
        ...


class Interpreted:
    """The interpreter as a machine, which is the reference for all other machines."""

    def __init__(self, module: ModuleOp, options: RunOptions):
        self.recorder = Recorder(module, bins=options.bins)
        self.interpreter = Interpreter(module, [self.recorder])
        self.function = options.function
        self.at_once = runs_together(module)

    def taken(self) -> dict[str, Statistics]:
        """Returns and resets the statistics of the observers."""
        return self.recorder.taken()

    def run(self, runs: Sequence[Run]) -> RunFigures:
        """Executes runs in lockstep and records their observed values, with the figures of each run alone."""
        self.recorder.begin([run.first for run in runs], [run.samples for run in runs])
        if len(runs) == 1:
            self.interpreter.call(self.function, runs[0].arguments)
        else:
            arguments = [run.arguments for run in runs]
            Lockstep(self.interpreter.module, self.function, arguments, [self.recorder]).results()
        return self.recorder.end()


def _pieces(runs: Iterable[Run], size: int) -> Iterator[list[Run]]:
    """Splits runs into lists of `size`; the last one may be shorter."""
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
    """Distributes runs over machines, each in its own thread, reading only a few runs ahead."""
    free = SimpleQueue[Machine]()
    for each in machines:
        free.put(each)

    def work(piece: Sequence[Run]) -> tuple[int, RunFigures]:
        machine = free.get()
        try:
            return _samples_of(piece), machine.run(piece)
        finally:
            free.put(machine)

    with ThreadPoolExecutor(len(machines)) as executor:
        started = (executor.submit(work, piece).result for piece in _pieces(runs, machines[0].at_once))
        try:
            for samples, figures in in_order(started, lambda: _AHEAD * len(machines)):
                totals.add_runs(figures)
                yield samples
        finally:
            executor.shutdown(cancel_futures=True)
    for each in machines:
        totals.add_statistics(each.taken())


@dataclass(frozen=True)
class ExecutionMode:
    """An execution mode of a module with its estimated cost: seconds to prepare it (`once`) and for `each` run."""

    once: float
    each: float
    make: Callable[[], Callable[[], Machine] | None] | None = None
    """Prepares the mode: returns a factory of machines, or `None` (with a message) if the module doesn't support it.

    It is `None` for the interpreter.
    """


class Faster(Protocol):
    """Provides execution modes of a module that may be faster than the interpreter."""

    def ways(self, module: ModuleOp, samples: Samples, options: RunOptions, run: Run) -> Sequence[ExecutionMode]:
        """Returns all execution modes, with the interpreter first. Every run is about as large as `run`."""
        ...


@dataclass(frozen=True)
class _Shared:
    """The data from which other processes create machines."""

    module: ShippedModule
    options: RunOptions
    faster: Faster | None = None
    like: Run | None = None
    """A representative run, on which the execution modes of `faster` depend."""

    def maker(self, way: int) -> Callable[[], Machine] | None:
        """Returns the factory of machines for an execution mode, or `None` if the module doesn't support it."""
        module = self.module.module()
        if self.faster is None or self.like is None:
            return partial(Interpreted, module, self.options)
        samples = Samples(Interpreter(module).function(self.options.function), [])
        make = self.faster.ways(module, samples, self.options, self.like)[way].make
        return partial(Interpreted, module, self.options) if make is None else make()


_SharedMode = tuple[_Shared, int]
"""The data from which other processes create machines of one execution mode, and the number of this mode."""


def _begin_choosing(shared: _Shared) -> Begun:
    """A job that answers execution modes, fastest first, with the first supported one and its group size."""

    def choose(ways: Sequence[int]) -> bytes:
        found = ((way, make) for way in ways if (make := shared.maker(way)) is not None)
        way, make = next(found)
        return f"{way} {make().at_once}".encode()

    return choose


def _begin_profiling(made: _SharedMode) -> Begun:
    """A job that answers runs with their part of the profile."""
    shared, way = made
    make = shared.maker(way)
    if make is None:
        raise text_error("a worker compiled the model differently from another one")
    machine = make()

    def profile(runs: Sequence[Run]) -> bytes:
        figures = [machine.run(piece) for piece in _pieces(runs, machine.at_once)]
        return ProfilePart(figures, machine.taken()).to_bytes()

    return profile


def _tasks(runs: Iterable[Run], at_once: int, samples: int | None) -> Iterator[list[Run]]:
    """Splits runs into lists of about `samples` samples, each a multiple of `at_once` runs: groups stay whole."""
    runs = iter(runs)
    for head in runs:
        size = sum(each.nbytes for each in head.arguments)
        most = samples or min(_TASK_SAMPLES, _TASK_BYTES * head.samples // max(size, 1))
        count = max(math.ceil(most / head.samples / at_once), 1) * at_once
        yield [head, *islice(runs, count - 1)]


def _is_profile(keys: frozenset[str], bins: int, runs: Sequence[Run], content: bytes) -> bool:
    """Returns True if bytes are a valid part of a profile for these runs."""
    try:
        part = ProfilePart.from_bytes(content)
    except DiagnosticError:
        return False
    return part.is_of(keys, [run.first for run in runs], bins)


def _is_choice(ways: Sequence[int], content: bytes) -> bool:
    """Returns True if bytes are a valid choice of one of these execution modes."""
    found = content.split()
    if len(found) != 2 or not all(len(each) < 9 and each.isdigit() for each in found):
        return False
    return int(found[0]) in ways and int(found[1]) > 0


def _run_by(
    workers: Workers, made: _SharedMode, keys: Iterable[str], tasks: Iterable[list[Run]], totals: Totals
) -> Iterator[int]:
    """Distributes tasks over workers and adds their parts of the profile in the order of the tasks."""
    counts = deque[int]()
    fits = partial(_is_profile, frozenset(keys), made[0].options.bins)

    def counted() -> Iterator[list[Run]]:
        for task in tasks:
            counts.append(_samples_of(task))
            yield task

    for content in workers.map(Job(_begin_profiling, made, fits=fits), counted()):
        part = ProfilePart.from_bytes(content)
        for each in part.runs:
            totals.add_runs(each)
        try:
            totals.add_statistics(part.statistics)
        except ValueError as error:
            raise text_error(
                f"the parts of the profile are inconsistent (check the --resume folder): {error}"
            ) from error
        yield counts.popleft()


_READ_AHEAD = 1 << 26
"""The bytes of samples that are read before an execution mode is selected, if the number of samples is unknown."""

_MANY = 1 << 20
"""An upper bound on the number of runs that the selection of an execution mode takes into account."""


def _changes_at(ways: Sequence[ExecutionMode]) -> int:
    """Returns the number of runs above which the fastest of `ways` no longer changes."""
    pairs = ((one, other) for one in ways for other in ways if one.once < other.once and one.each > other.each)
    return min(max((math.ceil((b.once - a.once) / (a.each - b.each)) for a, b in pairs), default=1), _MANY)


def _decided(
    runs: Iterable[Run], total: int | None, ways: Callable[[Run], Sequence[ExecutionMode]]
) -> tuple[Iterable[Run], list[tuple[int, ExecutionMode]]]:
    """Returns all of `runs`, and the numbered execution modes sorted by their estimated time for these runs."""
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
    return chain(head, runs), sorted(enumerate(found), key=lambda each: each[1].once + count * each[1].each)


def _run_on_this_machine(
    module: ModuleOp, runs: Iterable[Run], options: RunOptions, ways: Sequence[ExecutionMode], processes: int,
    batch: int | None, totals: Totals,
) -> Iterator[int]:  # fmt: skip
    """Runs in this process (in threads if machines are compiled) or in other processes on this machine."""
    machine: Callable[[], Machine] | None = None
    for way in ways:
        if way.make is None or (machine := way.make()) is not None:
            break
    if processes == 1:
        return _run_here(machine() if machine else Interpreted(module, options), runs, totals)
    if machine is not None:
        return _run_in_threads([machine() for _ in range(processes)], runs, totals)
    return _run_in_processes(module, runs, options, processes, batch or BATCH, totals)


def _run_in_processes(
    module: ModuleOp, runs: Iterable[Run], options: RunOptions, processes: int, batch: int, totals: Totals
) -> Iterator[int]:
    made = _Shared(ShippedModule.of(module), options), 0
    with process_workers(processes) as pool:
        yield from _run_by(pool, made, Recorder(module).keys, _tasks(runs, 1, batch), totals)


def _run_elsewhere(
    workers: Workers, module: ModuleOp, runs: Iterable[Run], options: RunOptions, faster: Faster | None,
    ways: Sequence[int], batch: int | None, totals: Totals,
) -> Iterator[int]:  # fmt: skip
    """Runs on workers; one of them chooses the execution mode for all."""
    runs = iter(runs)
    head = list(islice(runs, 1))
    if not head:
        return iter(())
    shared = _Shared(ShippedModule.of(module), options, faster, head[0] if ways else None)
    (found,) = workers.map(Job(_begin_choosing, shared, fits=_is_choice), [list(ways) or [0]])
    way, at_once = map(int, found.split())
    tasks = _tasks(chain(head, runs), at_once, batch)
    return _run_by(workers, (shared, way), Recorder(module).keys, tasks, totals)


def _noting(
    runs: Iterable[Run], chosen: Callable[[Iterable[Run]], Iterable[Run]], left: dict[int, Run]
) -> Iterator[Run]:
    """Yields the runs that are `chosen`; stores the others in `left` by their first sample."""

    def all_runs() -> Iterator[Run]:
        for run in runs:
            left[run.first] = run
            yield run

    for run in chosen(all_runs()):
        left.pop(run.first, None)
        yield run


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")


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
    workers: Workers | None = None,
    given: Collection[str] = (),
) -> Profile:
    """Profiles `module`, which has observers, on the samples in `data`, or on the `chosen` runs (`qmlir.profile`).

    The module runs in the interpreter in `processes` processes, in an execution mode of `faster` in the same number of
    threads, or on `workers`, which also receive `faster`. Runs that aren't chosen, such as runs for evaluating accuracy
    recovery, are executed only to detect errors.

    Raises `DiagnosticError` if the data is empty or doesn't match the inputs and, with key and sample, if a value isn't
    finite. A warning names the keys that no run reached, and the keys that have no elements in any sample, except for
    the keys in `given`.
    """
    for name, number in (("batch size", batch_size), ("number of processes", processes)):
        if number is not None and number < 1:
            raise text_error(f"{name} must be at least 1, but got {number}")
    if not 0 < options.momentum <= 1:
        raise text_error(f"--momentum (momentum) must be in (0, 1], but got {options.momentum}")
    function = Interpreter(module).function(options.function)
    recorder = Recorder(module, bins=options.bins)
    if not recorder.keys and not any(has_parameters(each.value) for each in keyed_values(module)):
        raise text_error("the module has no observers: run calib-insert-observers")
    runs = Samples(function, data)
    held_out: dict[int, Run] = {}
    taken: Iterable[Run] = runs if chosen is None else _noting(runs, chosen, held_out)
    totals = Totals(options.momentum)
    ways: list[tuple[int, ExecutionMode]] = []
    if faster is not None:
        taken, ways = _decided(taken, runs.exact, partial(faster.ways, module, runs, options))
    if workers is None:
        in_order = [way for _, way in ways]
        steps = _run_on_this_machine(module, taken, options, in_order, processes, batch_size, totals)
    else:
        numbers = [number for number, _ in ways]
        steps = _run_elsewhere(workers, module, taken, options, faster, numbers, batch_size, totals)
    samples = 0
    with bar("profiling", runs.total, progress) as advance:
        for done in steps:
            samples += done
            advance(done)
    if held_out:
        checking = Interpreted(module, options)
        for piece in _pieces(held_out.values(), checking.at_once):
            checking.run(piece)
    unseen = [key for key in recorder.keys if key not in totals.statistics and key not in given]
    if unseen:
        warn(f"no run reached {len(unseen)} of {len(recorder.keys)} values: {_listed(unseen)}")
    values = dict(totals.values())
    if empty := [key for key in recorder.keys if key in values and values[key].is_empty and key not in given]:
        warn(f"no sample has elements of {len(empty)} of {len(recorder.keys)} values: {_listed(empty)}")
    recorded = {key: values[key] for key in recorder.keys if key in values}
    return Profile(model_digest(module), samples, recorded, passes, extreme_samples=totals.extreme_samples())
