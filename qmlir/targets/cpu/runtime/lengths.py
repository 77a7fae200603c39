"""Combines programs of several bucket sizes into one for any size up to the largest; part of saved programs.

A call pads its inputs to the smallest bucket that holds them, and crops its outputs. Along a dimension whose elements
are independent, such as the batch, the call runs in chunks.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .batches import spread
from .errors import InputError
from .ports import OPEN, Array, ArrayPort, by_name, checked, copy_results, ports_text, result_arrays, target_arrays
from .program import CompiledModule, program_of

Factor = int | str | Mapping[str, Any]
"""A size: a number, the name of a dynamic dimension, or `min((sum of scale * factor + add) // divisor, most)`."""

Axes = Sequence[Sequence[Factor]]
"""The factors of each axis, outermost first."""

Sizes = Mapping[str, int]

Condition = tuple[Sequence[Factor], Sequence[Factor], bool, str]
"""A condition on two sizes: their factors, True if they must be equal, and the text for messages.

If the flag is False, the first size must be at least the second one.
"""


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
    """Returns the slices of a chunk in an array that has one axis per factor."""
    flat = [each for axis in axes for each in axis]
    positions = [(starts.get(each, 0) if isinstance(each, str) else 0, _number(each, sizes)) for each in flat]
    return tuple(slice(start, start + count) for start, count in positions)


@dataclass(frozen=True)
class Bucket:
    """The program for one combination of capacities; `takes` names the inputs that pass the runtime sizes."""

    capacities: Sizes
    takes: Mapping[str, str]
    call: CompiledModule
    buffers: deque[dict[str, Array]] = field(default_factory=deque[dict[str, Array]])
    """Padded inputs for reuse by later calls; stale elements in the padding are harmless."""


@dataclass(frozen=True)
class PaddedPorts:
    """The axes of inputs and outputs, the dimensions that run in chunks, and the conditions on sizes."""

    inputs: Mapping[str, Axes]
    outputs: Mapping[str, Axes]
    pieces: Sequence[str]
    conditions: Sequence[Condition] = ()


@dataclass(frozen=True)
class OutputPiece:
    """Copies the valid elements of an output to the result; slices index arrays with one axis per factor."""

    name: str
    held: tuple[int, ...]
    valid: tuple[slice, ...]
    factors: tuple[int, ...]
    target: tuple[slice, ...]


@dataclass(frozen=True)
class PieceRun:
    """One run of a program on a chunk of the inputs."""

    bucket: Bucket
    numbers: Mapping[str, Array]
    parts: Sequence[tuple[str, tuple[slice, ...], tuple[int, ...], tuple[slice, ...] | None]]
    """For each input: its name, the slices of the chunk, and the shape that the program accepts. For a padded input,
    also the slices of the padded array that the chunk is copied to."""

    whole: Sequence[str]
    """The outputs that the program writes directly to the result."""

    placed: Sequence[OutputPiece]

    def feeds(self, arrays: Sequence[Array], buffers: dict[str, Array]) -> dict[str, Array]:
        """Returns the inputs of the program; padded ones are copied to `buffers`."""
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
        """Runs the chunk and writes its outputs to `results`, contiguous arrays."""
        try:
            buffers = self.bucket.buffers.pop()
        except IndexError:  # none yet, or in use by another thread
            buffers = {}
        whole = {name: results[name] for name in self.whole}
        found = self.bucket.call(self.feeds(arrays, buffers), whole or None)
        self.bucket.buffers.append(buffers)
        for each in self.placed:
            results[each.name].reshape(each.factors)[each.target] = found[each.name].reshape(each.held)[each.valid]


@dataclass(frozen=True)
class PreparedCall:
    """The plan of a call for one combination of input shapes."""

    inputs: Sequence[ArrayPort]
    outputs: Sequence[ArrayPort]
    runs: Sequence[PieceRun]


MOST_PREPARED = 4096
"""The maximum number of shape combinations in the cache of plans."""


class AnyLength:
    """A program for any size up to a maximum. It may be called from several threads at once."""

    def __init__(self, plan: PaddedPorts, buckets: Sequence[Bucket], package: str = "") -> None:
        """`package` is the name of the package to import for this program."""
        self._plan = plan
        names = list(buckets[0].capacities)
        self._buckets = {tuple(bucket.capacities[name] for name in names): bucket for bucket in buckets}
        self.capacities = {name: sorted({bucket.capacities[name] for bucket in buckets}) for name in names}
        """The capacities of each dynamic dimension, in ascending order."""

        ports = {port.name: port for port in buckets[0].call.inputs}
        self.inputs = tuple(self._open(ports[name], axes) for name, axes in plan.inputs.items())
        self.outputs = tuple(self._open(port, plan.outputs[port.name]) for port in buckets[0].call.outputs)
        self._prepared: dict[Any, PreparedCall] = {}
        self.again: tuple[Callable[..., Any], tuple[Any, ...]] = (program_of, (package,))
        """An importable function and its arguments that restore this program when it is unpickled."""

    def __repr__(self) -> str:
        return ports_text(self.inputs, self.outputs)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.again

    @staticmethod
    def _open(port: ArrayPort, axes: Axes) -> ArrayPort:
        sizes = [None if any(not isinstance(each, int) for each in axis) else _shape([axis], {})[0] for axis in axes]
        shape = tuple(OPEN if size is None else size for size in sizes)
        return replace(port, shape=shape)

    def description(self) -> dict[str, Any]:
        """Returns the description from which `described` restores this program, given its compiled programs."""
        rows = [{"capacities": each.capacities, "takes": each.takes} for each in self._buckets.values()]
        return {"plan": vars(self._plan), "buckets": rows}

    def _sizes(self, arrays: Sequence[Array]) -> dict[str, int]:
        """Returns the runtime sizes. Raises `InputError` if a size has no capacity, or if inputs disagree."""
        sizes: dict[str, int] = {}
        for port, array in zip(self.inputs, arrays, strict=True):
            for axis, size in zip(self._plan.inputs[port.name], array.shape, strict=True):
                name = next((each for each in axis if isinstance(each, str)), None)
                if name is None:
                    continue
                largest = self.capacities[name][-1]
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
        """Yields the start, the number of elements, and the capacity of each chunk of a dimension."""
        start, capacities = 0, self.capacities[name]
        while start < size:
            left = size - start
            whole = [each for each in capacities if each <= left]
            held = next((each for each in capacities if each >= left), 0)
            capacity = whole[-1] if name in self._plan.pieces and whole else held
            yield start, min(capacity, left), capacity
            start += capacity

    def _run(self, sizes: Sizes, pieces: Mapping[str, tuple[int, int, int]]) -> PieceRun:
        starts, counts, held = ({name: piece[position] for name, piece in pieces.items()} for position in range(3))
        bucket = self._buckets[tuple(held[name] for name in self.capacities)]
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
        """Returns the plan for inputs of these shapes. Raises `InputError` if they don't fit."""
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
        """Returns the program of the first run on `inputs`, and the inputs that it gets."""
        values = by_name(self.inputs, inputs)
        prepared = self.prepared(values)
        run = prepared.runs[0]
        return run.bucket.call, run.feeds(list(map(checked, prepared.inputs, values)), {})

    def __call__(
        self, inputs: Mapping[str, Any] | Sequence[Any] | Array, outputs: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Runs the program; arguments and result are those of `CompiledModule.__call__`."""
        values = by_name(self.inputs, inputs)
        prepared = self.prepared(values)
        arrays = list(map(checked, prepared.inputs, values))
        results = result_arrays(prepared.outputs, outputs)
        # A later chunk may read memory of the caller that is both an input and an output.
        written = list(results.values()) if outputs is None else target_arrays(list(results.values()), arrays)
        named = dict(zip(results, written, strict=True))
        threads = next(iter(self._buckets.values())).call.batches.plan.threads
        spread(len(prepared.runs), threads, lambda number: prepared.runs[number](arrays, named))
        copy_results(results, written)
        return results


def described(description: Mapping[str, Any], programs: Sequence[CompiledModule], package: str = "") -> AnyLength:
    """Restores a program from its `description` and the compiled programs of its buckets, in the same order."""
    rows = zip(description["buckets"], programs, strict=True)
    return AnyLength(
        PaddedPorts(**description["plan"]), [Bucket(**row, call=program) for row, program in rows], package
    )
