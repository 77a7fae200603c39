"""Programs of several capacities as one that takes any size up to the largest; part of saved programs.

A call pads its inputs up to the smallest capacity that holds them, and cuts its outputs to its own sizes. Along a size
whose places have nothing to do with each other, as those of a batch, it runs piece by piece.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .errors import InputError
from .ports import OPEN, Array, ArrayPort, by_name, check_outputs, check_target, checked, ports_text
from .program import CompiledModule, program_of
from .spreading import spread

Factor = int | str | Mapping[str, Any]
"""A number, the name of an open size, or a quotient: `min((sum of scale * factor + add) // divisor, most)`."""

Axes = Sequence[Sequence[Factor]]
"""For each axis its factors, the outermost first."""

Sizes = Mapping[str, int]

Condition = tuple[Sequence[Factor], Sequence[Factor], bool, str]
"""Factors of two sizes of which the first is the second, or at least the second, and the text that says so."""


def _number(factor: Factor, sizes: Sizes) -> int:
    match factor:
        case int():
            return factor
        case str():
            return sizes[factor]
        case _:
            total = sum(scale * _number(each, sizes) for each, scale in factor["terms"])
            found = (total + factor["add"]) // factor["divisor"]
            return found if factor["most"] is None else min(found, factor["most"])


def _factors(axes: Axes, sizes: Sizes) -> tuple[int, ...]:
    return tuple(_number(each, sizes) for axis in axes for each in axis)


def _shape(axes: Axes, sizes: Sizes) -> tuple[int, ...]:
    return tuple(int(np.prod(_factors([axis], sizes), dtype=np.int64)) for axis in axes)


def _part(axes: Axes, sizes: Sizes, starts: Sizes) -> tuple[slice, ...]:
    """Where a piece lies in an array that has an axis for each factor."""
    flat = [each for axis in axes for each in axis]
    places = [(starts.get(each, 0) if isinstance(each, str) else 0, _number(each, sizes)) for each in flat]
    return tuple(slice(start, start + count) for start, count in places)


@dataclass(frozen=True)
class Bucket:
    """The program of one capacity for each open size; `takes` names the input for each size that it takes."""

    capacities: Sizes
    takes: Mapping[str, str]
    call: CompiledModule
    buffers: deque[dict[str, Array]] = field(default_factory=deque[dict[str, Array]])
    """Padded inputs of earlier calls: what is left there is a value as good as any other."""


@dataclass(frozen=True)
class PaddedPorts:
    """The axes of inputs and outputs, the sizes that are cut into pieces, and what all sizes fulfil."""

    inputs: Mapping[str, Axes]
    outputs: Mapping[str, Axes]
    pieces: Sequence[str]
    conditions: Sequence[Condition] = ()


@dataclass(frozen=True)
class OutputPiece:
    """Where the valid elements of an output lie, and where they go: in arrays that have an axis for each factor."""

    name: str
    held: tuple[int, ...]
    valid: tuple[slice, ...]
    factors: tuple[int, ...]
    target: tuple[slice, ...]


@dataclass(frozen=True)
class PieceRun:
    """One run of a program on a piece of the inputs."""

    bucket: Bucket
    numbers: Mapping[str, Array]
    parts: Sequence[tuple[str, tuple[slice, ...], tuple[int, ...], tuple[slice, ...] | None]]
    """For each input its piece, the shape that the program takes, and where the piece goes if it is padded."""

    whole: Sequence[str]
    """The outputs that the program writes as they are."""

    placed: Sequence[OutputPiece]

    def feeds(self, arrays: Sequence[Array], buffers: dict[str, Array]) -> dict[str, Array]:
        """The inputs of the program; padded ones lie in `buffers`."""
        feeds = dict(self.numbers)
        for array, (name, part, shape, target) in zip(arrays, self.parts, strict=True):
            if target is None:
                feeds[name] = array[part]
                continue
            if name not in buffers:
                buffers[name] = np.zeros(shape, array.dtype)
            feeds[name] = buffers[name]
            buffers[name][target] = array[part]
        return feeds

    def __call__(self, arrays: Sequence[Array], results: Mapping[str, Array]) -> None:
        """Write the outputs of this piece into `results`, contiguous arrays."""
        try:
            buffers = self.bucket.buffers.pop()
        except IndexError:  # none yet, or another thread has them
            buffers = {}
        whole = {name: results[name] for name in self.whole}
        found = self.bucket.call(self.feeds(arrays, buffers), whole or None)
        self.bucket.buffers.append(buffers)
        for each in self.placed:
            results[each.name].reshape(each.factors)[each.target] = found[each.name].reshape(each.held)[each.valid]


@dataclass(frozen=True)
class PreparedCall:
    """What a call does on inputs of some shapes."""

    inputs: Sequence[ArrayPort]
    outputs: Sequence[ArrayPort]
    runs: Sequence[PieceRun]


MOST_PREPARED = 4096
"""How many combinations of shapes are remembered."""


class AnyLength:
    """A program for every size up to a maximum. It may be called from several threads at once."""

    def __init__(self, plan: PaddedPorts, buckets: Sequence[Bucket], package: str = "") -> None:
        """`package` is what to import for the program."""
        self._plan = plan
        names = list(buckets[0].capacities)
        self._buckets = {tuple(bucket.capacities[name] for name in names): bucket for bucket in buckets}
        self._capacities = {name: sorted({bucket.capacities[name] for bucket in buckets}) for name in names}
        ports = {port.name: port for port in buckets[0].call.inputs}
        self.inputs = tuple(self._open(ports[name], axes) for name, axes in plan.inputs.items())
        self.outputs = tuple(self._open(port, plan.outputs[port.name]) for port in buckets[0].call.outputs)
        self._prepared: dict[Any, PreparedCall] = {}
        self.again: tuple[Callable[..., Any], tuple[Any, ...]] = (program_of, (package,))
        """What gives this program where it was pickled: a function that can be imported, and its arguments."""

    def __repr__(self) -> str:
        return ports_text(self.inputs, self.outputs)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.again

    @staticmethod
    def _open(port: ArrayPort, axes: Axes) -> ArrayPort:
        sizes = [None if any(not isinstance(each, int) for each in axis) else _shape([axis], {})[0] for axis in axes]
        shape = tuple(OPEN if size is None else size for size in sizes)
        return ArrayPort(port.name, port.dtype, shape, port.is_quantized, bits=port.bits)

    def description(self) -> dict[str, Any]:
        """What `described` makes it of again, beside the programs."""
        rows = [{"capacities": each.capacities, "takes": each.takes} for each in self._buckets.values()]
        return {"plan": vars(self._plan), "buckets": rows}

    @property
    def capacities(self) -> Mapping[str, Sequence[int]]:
        """The capacities of each open size, in order."""
        return self._capacities

    def _sizes(self, arrays: Sequence[Array]) -> dict[str, int]:
        """The sizes of a run. Raises `InputError` for one that has no capacity, or that inputs do not agree on."""
        sizes: dict[str, int] = {}
        for port, array in zip(self.inputs, arrays, strict=True):
            for axis, size in zip(self._plan.inputs[port.name], array.shape, strict=True):
                name = next((each for each in axis if isinstance(each, str)), None)
                if name is None:
                    continue
                largest = self._capacities[name][-1]
                if size < 1 or (size > largest and name not in self._plan.pieces):
                    accepted = "1 or more" if name in self._plan.pieces else f"1 to {largest}"
                    raise InputError(f"dimension '{name}' of input '{port.name}' must be {accepted}, but got {size}")
                if sizes.setdefault(name, size) != size:
                    raise InputError(
                        f"dimension '{name}' must have one size, but got {size} for input '{port.name}' and "
                        f"{sizes[name]} for another input"
                    )
        for left, right, is_equal, says in self._plan.conditions:
            (found,), (wanted,) = _shape([left], sizes), _shape([right], sizes)
            if found < wanted or (is_equal and found != wanted):
                given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
                raise InputError(f"the sizes {given} are inconsistent: {says}, but got {found} and {wanted}")
        return sizes

    def _pieces(self, name: str, size: int) -> Iterator[tuple[int, int, int]]:
        """The pieces of a size: where each begins, how many places it has, and the capacity that holds it."""
        start, capacities = 0, self._capacities[name]
        while start < size:
            left = size - start
            whole = [each for each in capacities if each <= left]
            held = next((each for each in capacities if each >= left), 0)
            capacity = whole[-1] if name in self._plan.pieces and whole else held
            yield start, min(capacity, left), capacity
            start += capacity

    def _run(self, sizes: Sizes, pieces: Mapping[str, tuple[int, int, int]]) -> PieceRun:
        starts, counts, held = ({name: piece[place] for name, piece in pieces.items()} for place in range(3))
        bucket = self._buckets[tuple(held[name] for name in self._capacities)]
        parts: list[tuple[str, tuple[slice, ...], tuple[int, ...], tuple[slice, ...] | None]] = []
        for name, axes in self._plan.inputs.items():
            shape = _shape(axes, held)
            target = None if shape == _shape(axes, counts) else _part(axes, counts, {})
            parts.append((name, _part(axes, counts, starts), shape, target))
        whole: list[str] = []
        placed: list[OutputPiece] = []
        for name, axes in self._plan.outputs.items():
            if sizes == counts and _shape(axes, sizes) == _shape(axes, held):
                whole.append(name)
                continue
            factors = _factors(axes, held), _factors(axes, sizes)
            valid, target = _part(axes, counts, {}), _part(axes, counts, starts)
            placed.append(OutputPiece(name, factors[0], valid, factors[1], target))
        numbers = {taken: np.array(counts[name], np.int64) for name, taken in bucket.takes.items()}
        return PieceRun(bucket, numbers, parts, whole, placed)

    def prepared(self, values: Sequence[Any]) -> PreparedCall:
        """What is done on inputs of such shapes. Raises `InputError` for what does not fit."""
        key = tuple(getattr(value, "shape", None) for value in values)
        found = self._prepared.get(key)
        if found is None:
            arrays = list(map(checked, self.inputs, values))
            sizes = self._sizes(arrays)
            pieces = itertools.product(*(self._pieces(name, size) for name, size in sizes.items()))
            runs = [self._run(sizes, dict(zip(sizes, each, strict=True))) for each in pieces]
            inputs = [replace(port, shape=array.shape) for port, array in zip(self.inputs, arrays, strict=True)]
            shapes = [_shape(self._plan.outputs[port.name], sizes) for port in self.outputs]
            outputs = [replace(port, shape=shape) for port, shape in zip(self.outputs, shapes, strict=True)]
            found = PreparedCall(inputs, outputs, runs)
            if None not in key:
                if len(self._prepared) >= MOST_PREPARED:
                    self._prepared.clear()
                self._prepared[key] = found
        return found

    def first(self, inputs: Mapping[str, Any] | Sequence[Any] | Array) -> tuple[CompiledModule, dict[str, Array]]:
        """The program of the first run on `inputs`, and what it is given."""
        values = by_name(self.inputs, inputs)
        prepared = self.prepared(values)
        run = prepared.runs[0]
        return run.bucket.call, run.feeds(list(map(checked, prepared.inputs, values)), {})

    def __call__(
        self, inputs: Mapping[str, Any] | Sequence[Any] | Array, outputs: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """The outputs by name, as `CompiledModule` gives them."""
        values = by_name(self.inputs, inputs)
        prepared = self.prepared(values)
        arrays = list(map(checked, prepared.inputs, values))
        if outputs is None:
            results = {port.name: np.empty(port.shape, port.dtype) for port in prepared.outputs}
            self._run_all(prepared.runs, arrays, results)
            return results
        check_outputs(outputs, [port.name for port in self.outputs])
        targets: dict[str, Array] = {}
        aside: dict[str, Array] = {}
        for name, dtype, shape in ((port.name, port.dtype, port.shape) for port in prepared.outputs):
            own = outputs.get(name)
            targets[name] = np.empty(shape, dtype) if own is None else check_target(name, own, dtype, shape)
            is_read = own is not None and any(np.may_share_memory(targets[name], each) for each in arrays)
            is_ready = targets[name].flags.carray and not is_read  # a later piece reads that memory
            aside[name] = targets[name] if is_ready else np.empty(shape, dtype)
        self._run_all(prepared.runs, arrays, aside)
        for name, target in targets.items():
            if aside[name] is not target:
                target[...] = aside[name]
        return targets

    def _run_all(self, runs: Sequence[PieceRun], arrays: Sequence[Array], results: Mapping[str, Array]) -> None:
        threads = next(iter(self._buckets.values())).call.batches.plan.threads
        spread(len(runs), threads, lambda number: runs[number](arrays, results))


def described(description: Mapping[str, Any], programs: Sequence[CompiledModule], package: str = "") -> AnyLength:
    """The program that said `description` of itself, of those of its capacities."""
    rows = zip(description["buckets"], programs, strict=True)
    return AnyLength(
        PaddedPorts(**description["plan"]), [Bucket(**row, call=program) for row, program in rows], package
    )
