"""Recording of observed values: statistics by key, in memory that doesn't grow with the number of samples.

The recorder computes counts, ranges and histograms over all runs, and ranges and sums for each run. `Totals` adds the
ranges and sums in the order of the runs, so a profile doesn't depend on how runs are distributed. Small arrays are
collected before their elements are counted. This affects only the speed, since counts can be merged in any order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.statistics import (
    BINS,
    BatchRanges,
    Histogram,
    Moments,
    NotANumberError,
    Statistics,
    finite_values,
    kept_of,
    merged_kept,
    observer_names,
    run_sums,
)
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.components import of_parts_together
from qmlir.interpreter.interpreter import Listener
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.evaluation import arguments_by, operand_layout
from qmlir.quantization.profiles.keys import functions_of, keyed_parts, open_composites
from qmlir.registry import PackageError
from qmlir.specialization.batch import ImagePlace

F64 = npt.NDArray[np.float64]

Images = Mapping[Operation, ImagePlace | None]
"""The position of a batch's samples in the value of each observer; `None` if all samples share the value."""

GATHERED = 1 << 14
"""The number of elements collected before they are counted: 64 KiB of f32. Each counting takes about 200 us."""

_KEPT_PARTS = 1 << 23
"""The number of elements of the parts of composites that are held at once: 32 MiB of f32."""

_RANGES = 1 << 6
"""The number of runs whose ranges are collected before they are added key by key, which is several times faster."""

MOMENTUM = 0.01
"""The default momentum of the moving average of ranges: the averaging constant of ONNX Runtime and PyTorch."""


def sum_in_order(start: float, terms: F64) -> float:
    """Returns `start` plus all terms, added in order; `np.sum` uses another order."""
    return float(np.add.accumulate([start, *terms.tolist()])[-1])


@dataclass
class RunRanges:
    """A fast accumulator of `BatchRanges`: the averages of the range of a value over runs, in order."""

    momentum: float
    count: int = 0
    first: tuple[float, float] = (0.0, 0.0)
    moving: tuple[float, float] = (0.0, 0.0)
    totals: tuple[float, float] = (0.0, 0.0)

    def add(self, low: float, high: float) -> None:
        """Adds the range of the value in the next run."""
        self.add_all(np.array([[low, high]]))

    def add_all(self, ends: F64) -> None:
        """Adds the ranges of the next runs (at least one), an array of shape `[runs, 2]`."""
        listed: list[tuple[float, float]] = ends.tolist()
        if self.count == 0:
            self.first = self.moving = (listed[0][0], listed[0][1])
        momentum, (low, high) = self.momentum, self.moving
        for least, most in listed if self.count else listed[1:]:
            low += momentum * (least - low)
            high += momentum * (most - high)
        self.moving = low, high
        self.count += len(listed)
        self.totals = sum_in_order(self.totals[0], ends[:, 0]), sum_in_order(self.totals[1], ends[:, 1])

    @property
    def batches(self) -> BatchRanges:
        """Returns the averages over the runs so far."""
        return BatchRanges(self.momentum, self.count, self.totals, self.first, self.moving)


def _extremes(array: Array, axis: int) -> tuple[F64, F64]:
    others = tuple(each for each in range(array.ndim) if each != axis)
    finite = np.isfinite(array)
    lows, highs = array.min(others, initial=inf, where=finite), array.max(others, initial=-inf, where=finite)
    return lows.astype(np.float64) + 0.0, highs.astype(np.float64) + 0.0


def _add_runs(values: Array, seen: F64, *, has_infinities: bool) -> None:
    """Adds the ranges of `values`, `[repeats, runs, elements]`, and the sums of the finite ones, to `seen`."""
    if has_infinities:
        lows, highs = _extremes(values, 1)
        values = np.where(np.isfinite(values), values, values.dtype.type(0))
    elif len(seen) == 1:
        lows, highs = np.array([values.min() + 0.0]), np.array([values.max() + 0.0])
    else:
        lows, highs = (each.astype(np.float64) + 0.0 for each in (values.min((0, 2)), values.max((0, 2))))
    seen[:, 0], seen[:, 1] = np.minimum(seen[:, 0], lows), np.maximum(seen[:, 1], highs)
    seen[:, 2:] += run_sums(values, np.maximum(np.maximum(-lows, highs), 0.0))


@dataclass
class ObservedValue:
    """Collects the counts, range and histogram of the values of one key."""

    key: str
    axis: int | None
    bins: int
    observers: Sequence[str] = ()
    statistics: Statistics = field(default_factory=Statistics)
    axis_ranges: tuple[F64, F64] | None = None
    gathered: Array | None = None
    filled: int = 0
    is_reached: bool = False
    """Whether any run reached the observer, with or without elements."""

    kept: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def add(self, values: Array, seen: F64, repeats: int = 1) -> None:
        """Adds the values of one or more runs, and updates `seen`, the ranges and sums of these runs (`[runs, 4]`).

        The values of each run are contiguous, in the order of the runs, and this pattern repeats `repeats` times.
        Raises `NotANumberError` for NaN, and `ValueError` if the size along the axis differs from that of earlier
        values.
        """
        self.is_reached = True
        if values.size == 0:
            return
        exact = values if values.itemsize >= 4 else values.astype(np.float32)  # f16 and bf16, exactly
        finite, infinities = finite_values(exact)
        if any(infinities):
            self.statistics = self.statistics.merged(Statistics(infinities=infinities))
        if finite.size == 0:
            return
        _add_runs(exact.reshape(repeats, len(seen), -1), seen, has_infinities=any(infinities))
        if self.observers:
            given = finite if any(infinities) else values
            self.kept = merged_kept(self.kept, {name: kept_of(name, given) for name in self.observers})
        if self.axis is not None:
            self.add_along(exact, self.axis)
        flat = np.ascontiguousarray(finite).reshape(-1)
        if self.filled + flat.size > GATHERED:
            self.count()
        if flat.size >= GATHERED:
            self._count(flat)
            return
        if self.gathered is None or self.gathered.dtype != flat.dtype:
            self.count()
            self.gathered = np.empty(GATHERED, flat.dtype)
        self.gathered[self.filled : self.filled + flat.size] = flat
        self.filled += flat.size

    def add_along(self, exact: Array, axis: int) -> None:
        """Widens the range for each index along `axis`. Raises `ValueError` if the size of the axis has changed."""
        lows, highs = _extremes(exact, axis)
        if self.axis_ranges is not None:
            known = self.axis_ranges
            if known[0].shape != lows.shape:
                raise ValueError(f"must have one size along axis {axis}, but got {known[0].size} and {lows.size}")
            lows, highs = np.minimum(known[0], lows), np.maximum(known[1], highs)
        self.axis_ranges = lows, highs

    def count(self) -> None:
        """Adds the collected elements to the histogram."""
        if self.filled and self.gathered is not None:
            self._count(self.gathered[: self.filled])
            self.filled = 0

    def _count(self, values: Array) -> None:
        low, high = float(values.min()) + 0.0, float(values.max()) + 0.0
        moments = Moments(values.size, int(np.count_nonzero(values == 0)))
        counted = Statistics(low, high, moments, Histogram.of(values, low, high, self.bins))
        self.statistics = self.statistics.merged(counted)

    def taken(self) -> Statistics:
        """Returns and resets the statistics. An index with only infinities has an empty range, `inf` to `-inf`."""
        self.count()
        known = self.statistics
        if self.axis_ranges is not None:
            lows, highs = self.axis_ranges
            known = replace(known, axis=self.axis, axis_minima=lows, axis_maxima=highs)
        known = replace(known, kept=self.kept)
        self.statistics, self.axis_ranges, self.kept = Statistics(), None, {}
        self.is_reached = False
        return known


@dataclass(frozen=True)
class RunFigures:
    """The ranges and sums of each key in each of several successive runs."""

    keys: Sequence[str]
    firsts: Sequence[int]
    """The index of the first sample of each run."""

    seen: F64
    """`[keys, runs, 4]`: minimum, maximum (`inf` and `-inf` if the run has no numbers), sum, and sum of squares."""


@dataclass
class Extremes:
    """The range of a value over all runs, and the first runs that reached its minimum and maximum."""

    low: float = inf
    high: float = -inf
    lowest: int = 0
    """The index of the first sample in the first run that reached the minimum."""

    highest: int = 0

    def add_all(self, ends: F64, samples: Sequence[int]) -> None:
        """Adds the ranges of the next runs (at least one); `samples` contains the index of each run's first sample."""
        lowest, highest = int(ends[:, 0].argmin()), int(ends[:, 1].argmax())
        low, high = float(ends[lowest, 0]), float(ends[highest, 1])
        if low < self.low:
            self.low, self.lowest = low, samples[lowest]
        if high > self.high:
            self.high, self.highest = high, samples[highest]


def depends_on_data(module: ModuleOp) -> set[Operation]:
    """Returns the observers whose values depend on the inputs, not only on constants."""
    varying: set[SSAValue] = set()
    found: set[Operation] = set()
    for function in functions_of(module):
        varying.update(function.body.blocks[0].args)
        for op in function.body.walk():
            # An operation inside a region may run in one iteration and not in another.
            is_nested = op.parent_op() is not function
            if is_nested or op.regions or any(operand in varying for operand in op.operands):
                varying.update(op.results)
                found.add(op)
    return found


class Recorder(Listener):
    """Collects the statistics of the observers in `module`, and of the components of `open_composites`, by key.

    An open composite has one instance of each component per sequence step, so it is also evaluated component by
    component.
    """

    def __init__(
        self,
        module: ModuleOp,
        *,
        bins: int = BINS,
        kind: Callable[[str, int | None, int, Sequence[str]], ObservedValue] = ObservedValue,
    ):
        """Creates a recorder. `kind` creates the collector of the statistics of a key."""
        self._varying = depends_on_data(module)
        self._values: dict[str, ObservedValue] = {}
        self._slots: dict[Operation, ObservedValue] = {}
        self._images: Images = {}
        for op in module.walk():
            if isinstance(op, ObserveOp):
                axis = None if op.axis is None else op.axis.value.data
                value = self._values.setdefault(op.key.data, kind(op.key.data, axis, bins, op.names))
                if value.axis != axis:
                    raise op_error(op, f"and another observer of '{op.key.data}' keep ranges of different axes")
                if unknown := sorted({*op.names} - {*observer_names()}):
                    raise op_error(op, f"uses the observer '{unknown[0]}', which no installed package provides")
                self._slots[op] = value
        self._parts: dict[Operation, dict[str, ObservedValue]] = {
            op: {role: self._values.setdefault(key, kind(key, None, bins, ())) for role, key in keyed_parts(op).items()}
            for op in open_composites(module)
        }
        self.keys = list(self._values)
        """The keys of all observers."""
        self._positions = {key: position for position, key in enumerate(self.keys)}
        self._firsts: Sequence[int] = (0,)
        self._samples: Sequence[int] = (1,)
        self._rows = slice(None)
        self._infinite_inputs: set[tuple[str, int | None]] = set()
        self._seen, self._constant_sums = self._nothing_seen(), np.zeros((len(self.keys), 2))

    def _nothing_seen(self) -> F64:
        seen = np.empty((len(self.keys), len(self._firsts), 4))
        seen[:] = inf, -inf, 0.0, 0.0
        return seen

    def begin(self, firsts: Sequence[int], samples: Sequence[int], images: Images | None = None) -> None:
        """Starts recording one run, or several runs that are executed together or in lockstep.

        `firsts` contains the index of each run's first sample, `samples` the number of its samples, and `images` the
        positions of the runs in observed values.
        """
        self._images = images or {}
        self._firsts, self._samples, self._rows = firsts, samples, slice(None)
        self._infinite_inputs.clear()
        self._seen, self._constant_sums = self._nothing_seen(), np.zeros((len(self.keys), 2))

    def end(self) -> RunFigures:
        """Ends recording and returns the ranges and sums of each key.

        The sums of constants are added last, in the same order as for compiled code, which leaves constants to the
        interpreter.
        """
        self._seen[:, 0, 2:] += self._constant_sums
        return RunFigures(self.keys, self._firsts, self._seen)

    def taken(self) -> dict[str, Statistics]:
        """Returns and resets the statistics of each key observed since the last call, even if it had no elements."""
        found = ((key, value.is_reached, value.taken()) for key, value in self._values.items())
        return {key: statistics for key, is_reached, statistics in found if is_reached or statistics.count}

    def on_run(self, number: int) -> None:
        """Records the next values as those of the run `number`."""
        self._rows = slice(number, number + 1)

    def on_runs(self, op: Operation, operands: Sequence[Sequence[Any]], results: Sequence[Sequence[Any]]) -> None:
        """Records the parts of a composite in all runs, in order."""
        if (parts := self._parts.get(op)) is None:
            return
        largest = max(found[0].size for found in results)
        step = max(_KEPT_PARTS // max(len(parts) * largest, 1), 1)
        for start in range(0, len(operands), step):
            self._add_parts(op, operands[start : start + step], start)

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """Records the operand of an observer. Raises `DiagnosticError`, with key and sample, if a value is NaN."""
        if op in self._parts:
            self._add_parts(op, [operands])
            return
        value = self._slots.get(op)
        if value is None:
            return
        position = self._positions[value.key]
        owner, array, seen = op.operands[0].owner, results[0], self._seen[position, self._rows]
        if op not in self._varying:
            # Values that don't depend on the samples are counted once, not once per run.
            if self._firsts[0] == 0:
                constant = np.array([[*seen[0, :2], *self._constant_sums[position]]])
                self._add(owner, value, array, constant)
                seen[0, :2], self._constant_sums[position] = constant[0, :2], constant[0, 2:]
        elif len(seen) == 1 or not array.size:
            self._add(owner, value, array, seen)
        elif (images := self._images[op]) is not None:
            repeats = images.repeats(array.shape)
            assert array.size % (repeats * len(seen)) == 0, f"{array.shape} are no {repeats} times {len(seen)} runs"
            self._add(owner, value, array, seen, repeats)
        else:  # shared by all runs
            for run in range(len(seen)):
                self._add(owner, value, array, seen[run : run + 1])

    def _add_parts(self, op: Operation, operands: Sequence[Sequence[Any]], start: int | None = None) -> None:
        """Records the parts of a composite in the current run, or in the runs from `start` on."""
        computed: list[dict[str, list[Array]]] = [{role: [] for role in self._parts[op]} for _ in operands]

        def keep(own: dict[str, list[Array]], role: str, part: Operation, results: Sequence[Any]) -> None:
            if role in own:
                own[role].append(results[0])

        assert isinstance(op, NnOp)
        layout, watches = operand_layout(op), [partial(keep, own) for own in computed]
        with np.errstate(all="ignore"):
            of_parts_together(op, [arguments_by(layout, each) for each in operands], watches)
        for number, own in enumerate(computed):
            if start is not None:
                self.on_run(start + number)
            for role, value in self._parts[op].items():  # all steps of a role at once: each counting is expensive
                if arrays := own[role]:
                    whole = arrays[0] if len(arrays) == 1 else np.concatenate([each.reshape(-1) for each in arrays])
                    self._add(op, value, whole, self._seen[self._positions[value.key], self._rows])

    def _add(self, owner: Operation | Block, value: ObservedValue, values: Array, seen: F64, repeats: int = 1) -> None:
        if isinstance(owner, Block) and np.isinf(values).any():
            self._infinite_inputs.add((value.key, self._rows.start))
        try:
            value.add(values, seen, repeats)
        except NotANumberError as error:
            listed = ", ".join(f"'{key}'" for key, run in sorted(self._infinite_inputs) if run == self._rows.start)
            cause = f"; the input {listed} has infinities there" if listed else ""
            raise self._error(owner, value.key, f"{error}{cause}") from error
        except PackageError as error:
            raise self._error(owner, value.key, str(error)) from error
        except ValueError as error:
            raise self._error(owner, value.key, f"it {error}") from error

    def _error(self, owner: Operation | Block, key: str, what: str) -> DiagnosticError:
        first, samples = self._firsts[self._rows][0], sum(self._samples[self._rows])
        where = f"sample {first}" if samples == 1 else f"samples {first} to {first + samples - 1}"
        named = owner if isinstance(owner, Operation) else owner.parent_op()
        assert named is not None
        return op_error(named, f"value '{key}' at {where}: {what}")


@dataclass
class Totals:
    """Merges the statistics of the parts of a profile, and adds up sums and averages in the order of the runs."""

    momentum: float
    statistics: dict[str, Statistics] = field(default_factory=dict[str, Statistics])
    ranges: dict[str, RunRanges] = field(default_factory=dict[str, RunRanges])
    sums: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    extremes: dict[str, Extremes] = field(default_factory=dict[str, Extremes])
    _gathered: list[RunFigures] = field(default_factory=list[RunFigures])
    _waiting: int = 0

    def add_runs(self, runs: RunFigures) -> None:
        """Adds the ranges and sums of the next runs."""
        if self._gathered and list(self._gathered[0].keys) != list(runs.keys):
            self._count()
        self._gathered.append(runs)
        self._waiting += len(runs.firsts)
        if self._waiting >= _RANGES:
            self._count()

    def _count(self) -> None:
        """Adds the collected runs to the totals."""
        if not self._gathered:
            return
        firsts = [first for each in self._gathered for first in each.firsts]
        seen = np.concatenate([each.seen for each in self._gathered], axis=1)
        is_seen = seen[:, :, 0] <= seen[:, :, 1]
        for position, key in enumerate(self._gathered[0].keys):
            runs = np.flatnonzero(is_seen[position])
            if not runs.size:
                continue
            whole = runs.size == len(firsts)
            figures = seen[position] if whole else seen[position, runs]
            found, (total, squares) = figures[:, :2], self.sums.get(key, (0.0, 0.0))
            self.sums[key] = sum_in_order(total, figures[:, 2]), sum_in_order(squares, figures[:, 3])
            self.extremes.setdefault(key, Extremes()).add_all(found, firsts if whole else [firsts[run] for run in runs])
            if key not in self.ranges:
                self.ranges[key] = RunRanges(self.momentum)
            self.ranges[key].add_all(found)
        self._gathered.clear()
        self._waiting = 0

    def add_statistics(self, statistics: Mapping[str, Statistics]) -> None:
        """Merges the statistics of a part of the runs."""
        for key, seen in statistics.items():
            self.statistics[key] = self.statistics[key].merged(seen) if key in self.statistics else seen

    def extreme_samples(self) -> dict[str, tuple[int, int]]:
        """Returns the first samples of the runs with the smallest and with the largest element, for each key."""
        self._count()
        return {key: (each.lowest, each.highest) for key, each in self.extremes.items()}

    def values(self) -> Iterator[tuple[str, Statistics]]:
        """Yields the statistics of each key."""
        self._count()
        for key, known in self.statistics.items():
            is_seen = known.axis_minima <= known.axis_maxima  # an index with only infinities gets the whole range
            lows = np.where(is_seen, known.axis_minima, known.minimum)
            highs = np.where(is_seen, known.axis_maxima, known.maximum)
            batches = self.ranges[key].batches if known.count else None
            total, squares = self.sums.get(key, (0.0, 0.0))
            moments = replace(known.moments, total=total, squares=squares)
            yield key, replace(known, moments=moments, axis_minima=lows, axis_maxima=highs, batches=batches)
