"""Recording of observers: statistics by key, in memory that does not grow with the number of samples.

Values of successive runs come in, exact statistics come out. Small arrays are gathered before they are counted, which
changes only the time: statistics of parts merge into those of the whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.histogram import BINS
from qmlir.arithmetic.observers import kept_of, merged_kept, observer_names
from qmlir.arithmetic.statistics import BatchRanges, NotANumberError, Statistics, finite_values
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.interpret.components import of_parts
from qmlir.interpreter.machine import Listener
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.evaluation import arguments_by, operand_layout
from qmlir.quantization.profiles.keys import functions_of, keyed_parts, open_composites
from qmlir.registry import PackageError

F64 = npt.NDArray[np.float64]

GATHERED = 1 << 14
"""Elements of a value that are gathered before they are counted: 64 KiB of f32. Counting costs some 200 us a time."""

_RANGES = 1 << 6
"""Runs whose ranges are gathered before they are counted: a key at a time, which is several times as fast."""

MOMENTUM = 0.01
"""How far the moving average of ranges moves: ONNX Runtime's and PyTorch's averaging constant."""


def _exact_sum(values: Iterable[float]) -> Fraction:
    """The sum of finite floats, whose denominators are powers of two."""
    ratios = [(top, bottom.bit_length() - 1) for top, bottom in map(float.as_integer_ratio, values)]
    unit = max(place for _, place in ratios)
    return Fraction(sum(top << (unit - place) for top, place in ratios), 1 << unit)


@dataclass
class RunRanges:
    """The averages of the range of a value over runs, in their order; `BatchRanges`, a run at a time but quickly."""

    momentum: float
    count: int = 0
    first: tuple[float, float] = (0.0, 0.0)
    moving: tuple[float, float] = (0.0, 0.0)
    _totals: list[Fraction] = field(default_factory=lambda: [Fraction(), Fraction()])

    def add(self, low: float, high: float) -> None:
        """One run more."""
        self.add_all([(low, high)])

    def add_all(self, ends: Sequence[tuple[float, float]]) -> None:
        """Some runs more, at least one."""
        if self.count == 0:
            self.first = self.moving = ends[0]
        momentum, (low, high) = self.momentum, self.moving
        for each in ends if self.count else ends[1:]:
            low += momentum * (each[0] - low)
            high += momentum * (each[1] - high)
        self.moving = low, high
        self.count += len(ends)
        for place, column in enumerate(zip(*ends, strict=True)):
            self._totals[place] += _exact_sum(column)

    @property
    def batches(self) -> BatchRanges:
        """The averages so far."""
        low, high = self._totals
        return BatchRanges(self.momentum, self.count, (low, high), self.first, self.moving)


def _extremes(array: Array, axis: int) -> tuple[F64, F64]:
    others = tuple(each for each in range(array.ndim) if each != axis)
    finite = np.isfinite(array)
    lows, highs = array.min(others, initial=inf, where=finite), array.max(others, initial=-inf, where=finite)
    return lows.astype(np.float64) + 0.0, highs.astype(np.float64) + 0.0


@dataclass
class _Value:
    """What is known of the values of one key."""

    key: str
    axis: int | None
    bins: int
    observers: Sequence[str] = ()
    statistics: Statistics = field(default_factory=Statistics)
    axis_ranges: tuple[F64, F64] | None = None
    run: tuple[float, float] = (inf, -inf)
    """The range in the run that goes on."""

    gathered: Array | None = None
    filled: int = 0
    kept: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def add(self, values: Array) -> None:
        """Raises `NotANumberError`, and `ValueError` where ranges along the axis do not go together."""
        if values.size == 0:
            return
        exact = values if values.itemsize >= 4 else values.astype(np.float32)  # f16 and bf16, exactly
        finite, infinities = finite_values(exact)
        if any(infinities):
            self.statistics = self.statistics.merged(Statistics(infinities=infinities))
        if finite.size == 0:
            return
        low, high = float(finite.min()) + 0.0, float(finite.max()) + 0.0
        self.run = min(self.run[0], low), max(self.run[1], high)
        if self.observers:
            seen = finite if any(infinities) else values
            self.kept = merged_kept(self.kept, {name: kept_of(name, seen) for name in self.observers})
        if self.axis is not None:
            self._add_along(exact, self.axis)
        flat = np.ascontiguousarray(finite).reshape(-1)
        if self.filled + flat.size > GATHERED:
            self.count()
        if flat.size >= GATHERED:
            self.statistics = self.statistics.merged(Statistics.of(flat, bins=self.bins))
            return
        if self.gathered is None or self.gathered.dtype != flat.dtype:
            self.count()
            self.gathered = np.empty(GATHERED, flat.dtype)
        self.gathered[self.filled : self.filled + flat.size] = flat
        self.filled += flat.size

    def _add_along(self, exact: Array, axis: int) -> None:
        lows, highs = _extremes(exact, axis)
        if self.axis_ranges is not None:
            known = self.axis_ranges
            if known[0].shape != lows.shape:
                raise ValueError(f"has {known[0].size} and {lows.size} indices along axis {axis}")
            lows, highs = np.minimum(known[0], lows), np.maximum(known[1], highs)
        self.axis_ranges = lows, highs

    def count(self) -> None:
        """Count what was gathered."""
        if self.filled and self.gathered is not None:
            seen = Statistics.of(self.gathered[: self.filled], bins=self.bins)
            self.statistics = self.statistics.merged(seen)
            self.filled = 0

    def taken(self) -> Statistics:
        """What is known; and start anew. An index with infinities alone has an empty range, `inf` to `-inf`."""
        self.count()
        known = self.statistics
        if self.axis_ranges is not None:
            lows, highs = self.axis_ranges
            known = replace(known, axis=self.axis, axis_minima=lows, axis_maxima=highs)
        known = replace(known, kept=self.kept)
        self.statistics, self.axis_ranges, self.kept = Statistics(), None, {}
        return known


@dataclass(frozen=True)
class Ranges:
    """The range of each key in one run."""

    first: int
    """The first of the run's samples."""

    values: dict[str, tuple[float, float]]


@dataclass
class Extremes:
    """The range of a value over runs, and where it comes from: the first runs that reached its ends."""

    low: float = inf
    high: float = -inf
    lowest: int = 0
    """The first sample of the first run that had the smallest number."""

    highest: int = 0

    def add_all(self, ends: Sequence[tuple[float, float]], samples: Sequence[int]) -> None:
        """Some more runs, at least one, after all others, and the first sample of each."""
        lows, highs = zip(*ends, strict=True)
        low, high = min(lows), max(highs)
        if low < self.low:
            self.low, self.lowest = low, samples[lows.index(low)]
        if high > self.high:
            self.high, self.highest = high, samples[highs.index(high)]


def depends_on_data(module: ModuleOp) -> set[Operation]:
    """The observers of values that differ from run to run: not those of what is computed from constants alone."""
    varying: set[SSAValue] = set()
    found: set[Operation] = set()
    for function in functions_of(module):
        varying.update(function.body.blocks[0].args)
        for op in function.body.walk():
            # What stands in a region may be computed in one turn and not in another.
            is_nested = op.parent_op() is not function
            if is_nested or op.regions or any(operand in varying for operand in op.operands):
                varying.update(op.results)
                found.add(op)
    return found


class Recorder(Listener):
    """Collects the statistics of the observers of `module` by their keys, and those of the parts of `open_composites`.

    Of the parts of such a composite there are as many as a run's sequence has steps: it computes them once more.
    """

    def __init__(self, module: ModuleOp, *, bins: int = BINS):
        self._varying = depends_on_data(module)
        self._values: dict[str, _Value] = {}
        self._slots: dict[Operation, _Value] = {}
        for op in module.walk():
            if isinstance(op, ObserveOp):
                axis = None if op.axis is None else op.axis.value.data
                value = self._values.setdefault(op.key.data, _Value(op.key.data, axis, bins, op.names))
                if value.axis != axis:
                    raise op_error(op, f"and another observer of '{op.key.data}' keep ranges of different axes")
                if unknown := sorted({*op.names} - {*observer_names()}):
                    raise op_error(op, f"has the observer '{unknown[0]}', which no package has")
                self._slots[op] = value
        self._parts: dict[Operation, dict[str, _Value]] = {
            op: {role: self._values.setdefault(key, _Value(key, None, bins)) for role, key in keyed_parts(op).items()}
            for op in open_composites(module)
        }
        self._touched: dict[str, _Value] = {}
        self._samples = (0, 0)

    @property
    def keys(self) -> list[str]:
        """The keys that there are observers for."""
        return list(self._values)

    def begin(self, first: int, samples: int) -> None:
        """A run on so many samples, counted from `first`, is about to begin."""
        self._samples = first, samples

    def end(self) -> Ranges:
        """The run has ended: the range of each key that it observed."""
        ranges = {key: value.run for key, value in self._touched.items() if value.run[0] <= value.run[1]}
        for value in self._touched.values():
            value.run = (inf, -inf)
        self._touched.clear()
        return Ranges(self._samples[0], ranges)

    def taken(self) -> dict[str, Statistics]:
        """The statistics of each key that was observed since the last call."""
        found = ((key, value.taken()) for key, value in self._values.items())
        return {key: statistics for key, statistics in found if statistics.count or any(statistics.infinities)}

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """Raises `DiagnosticError`, with key and sample, where a value is not a number."""
        if op in self._parts:
            self._add_parts(op, operands)
            return
        value = self._slots.get(op)
        # What no sample changes is counted once, or its weight would be that of the number of runs.
        if value is None or (self._samples[0] and op not in self._varying):
            return
        self._add(op.operands[0].owner, value, results[0])

    def _add_parts(self, op: Operation, operands: Sequence[Any]) -> None:
        def watch(role: str, part: Operation, results: Sequence[Any]) -> None:
            if (value := self._parts[op].get(role)) is not None:
                self._add(op, value, results[0])

        assert isinstance(op, NnOp)
        with np.errstate(all="ignore"):
            of_parts(op, *arguments_by(operand_layout(op), operands), watch=watch)

    def _add(self, owner: Operation | Block, value: _Value, values: Array) -> None:
        self._touched[value.key] = value
        try:
            value.add(values)
        except (NotANumberError, PackageError) as error:
            raise self._error(owner, value.key, str(error)) from error
        except ValueError as error:
            raise self._error(owner, value.key, f"it {error}") from error

    def _error(self, owner: Operation | Block, key: str, what: str) -> DiagnosticError:
        first, samples = self._samples
        where = f"sample {first}" if samples == 1 else f"samples {first} to {first + samples - 1}"
        named = owner if isinstance(owner, Operation) else owner.parent_op()
        assert named is not None
        return op_error(named, f"value '{key}' at {where}: {what}")


@dataclass
class Totals:
    """Statistics of parts, merged; and averages of ranges over the runs, in their order."""

    momentum: float
    statistics: dict[str, Statistics] = field(default_factory=dict[str, Statistics])
    ranges: dict[str, RunRanges] = field(default_factory=dict[str, RunRanges])
    extremes: dict[str, Extremes] = field(default_factory=dict[str, Extremes])
    _gathered: list[Ranges] = field(default_factory=list[Ranges])

    def add_run(self, ranges: Ranges) -> None:
        """The ranges of the next run."""
        self._gathered.append(ranges)
        if len(self._gathered) >= _RANGES:
            self._count()

    def _count(self) -> None:
        """Count the runs that were gathered."""
        for key in dict.fromkeys(chain.from_iterable(run.values for run in self._gathered)):
            runs = [run for run in self._gathered if key in run.values]
            ends = [run.values[key] for run in runs]
            self.extremes.setdefault(key, Extremes()).add_all(ends, [run.first for run in runs])
            if key not in self.ranges:
                self.ranges[key] = RunRanges(self.momentum)
            self.ranges[key].add_all(ends)
        self._gathered.clear()

    def add_statistics(self, statistics: Mapping[str, Statistics]) -> None:
        """Add the statistics of a part of the runs."""
        for key, seen in statistics.items():
            self.statistics[key] = self.statistics[key].merged(seen) if key in self.statistics else seen

    def extreme_samples(self) -> dict[str, tuple[int, int]]:
        """For each key the samples that decide its range: the first with the smallest and with the largest number."""
        self._count()
        return {key: (each.lowest, each.highest) for key, each in self.extremes.items()}

    def values(self) -> Iterator[tuple[str, Statistics]]:
        """All that is known of each key."""
        self._count()
        for key, known in self.statistics.items():
            is_seen = known.axis_minima <= known.axis_maxima  # an index with infinities alone has the range of all
            lows = np.where(is_seen, known.axis_minima, known.minimum)
            highs = np.where(is_seen, known.axis_maxima, known.maximum)
            batches = self.ranges[key].batches if known.count else None
            yield key, replace(known, axis_minima=lows, axis_maxima=highs, batches=batches)
