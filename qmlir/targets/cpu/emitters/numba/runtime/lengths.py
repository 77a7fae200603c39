"""Programs of several capacities as one that takes any size up to the largest; part of saved programs.

A call pads its inputs up to the smallest capacity that holds them, and cuts its outputs to its own sizes. Along a size
whose places have nothing to do with each other, as those of a batch, it runs piece by piece.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import InputError
from .program import OPEN, Array, ArrayPort, CompiledModule, by_name, check_outputs, check_target, checked, program_of

Axes = Sequence[Sequence[int | str]]
"""For each axis its factors, numbers and names of open sizes, the outermost first."""

Sizes = Mapping[str, int]


def _factors(axes: Axes, sizes: Sizes) -> tuple[int, ...]:
    return tuple(sizes[each] if isinstance(each, str) else each for axis in axes for each in axis)


def _shape(axes: Axes, sizes: Sizes) -> tuple[int, ...]:
    return tuple(int(np.prod(_factors([axis], sizes), dtype=np.int64)) for axis in axes)


def _part(axes: Axes, sizes: Sizes, starts: Sizes) -> tuple[slice, ...]:
    """Where a piece lies in an array that has an axis for each factor."""
    flat = [each for axis in axes for each in axis]
    places = [(starts.get(each, 0), sizes[each]) if isinstance(each, str) else (0, each) for each in flat]
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
    """The axes of inputs and outputs, and the sizes that are cut into pieces."""

    inputs: Mapping[str, Axes]
    outputs: Mapping[str, Axes]
    pieces: Sequence[str]


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
        self.again: tuple[Callable[..., Any], tuple[Any, ...]] = (program_of, (package,))
        """What gives this program where it was pickled: a function that can be imported, and its arguments."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.again

    @staticmethod
    def _open(port: ArrayPort, axes: Axes) -> ArrayPort:
        sizes = [None if any(isinstance(each, str) for each in axis) else _shape([axis], {})[0] for axis in axes]
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
                    raise InputError(f"input '{port.name}' has {size} along '{name}': the program takes {accepted}")
                if sizes.setdefault(name, size) != size:
                    raise InputError(f"input '{port.name}' has {size} along '{name}', another input {sizes[name]}")
        return sizes

    def _runs(self, name: str, size: int) -> Iterator[tuple[int, int, int]]:
        """The pieces of a size: where each begins, how many places it has, and the capacity that holds it."""
        start, capacities = 0, self._capacities[name]
        while start < size:
            left = size - start
            whole = [each for each in capacities if each <= left]
            held = next((each for each in capacities if each >= left), 0)
            capacity = whole[-1] if name in self._plan.pieces and whole else held
            yield start, min(capacity, left), capacity
            start += capacity

    def runs(self, arrays: Sequence[Array]) -> Iterator[tuple[Bucket, dict[str, Any], dict[str, int], dict[str, int]]]:
        """For each run of a program: the program, its inputs, and the first places and the sizes of its piece."""
        sizes = self._sizes(arrays)
        for pieces in itertools.product(*(self._runs(name, size) for name, size in sizes.items())):
            starts = {name: piece[0] for name, piece in zip(sizes, pieces, strict=True)}
            counts = {name: piece[1] for name, piece in zip(sizes, pieces, strict=True)}
            held = {name: piece[2] for name, piece in zip(sizes, pieces, strict=True)}
            bucket = self._buckets[tuple(held[name] for name in self._capacities)]
            feeds: dict[str, Any] = {}
            for port, array in zip(self.inputs, arrays, strict=True):
                feeds[port.name] = array[_part(self._plan.inputs[port.name], counts, starts)]
            for name, taken in bucket.takes.items():
                feeds[taken] = np.array(counts[name], np.int64)
            yield bucket, feeds, starts, counts

    def arrays(self, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Array]:
        """The inputs in order. Raises `InputError` for what does not fit."""
        return list(map(checked, self.inputs, by_name(self.inputs, inputs)))

    def first(self, inputs: Mapping[str, Any] | Sequence[Any]) -> tuple[CompiledModule, dict[str, Array]]:
        """The program of the first run on `inputs`, and what it is given."""
        bucket, feeds, _, _ = next(self.runs(self.arrays(inputs)))
        return bucket.call, {name: self._padded(bucket, name, array, {}) for name, array in feeds.items()}

    def __call__(
        self, inputs: Mapping[str, Any] | Sequence[Any], outputs: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """The outputs by name, as `CompiledModule` gives them."""
        arrays = self.arrays(inputs)
        sizes = self._sizes(arrays)
        given: Mapping[str, Array] = {} if outputs is None else outputs
        check_outputs(given, [port.name for port in self.outputs])
        results: dict[str, Array] = {}
        aside: dict[str, Array] = {}
        for port in self.outputs:
            shape, own = _shape(self._plan.outputs[port.name], sizes), given.get(port.name)
            result = np.empty(shape, port.dtype) if own is None else check_target(port.name, own, port.dtype, shape)
            results[port.name] = aside[port.name] = result
            if own is not None and any(np.may_share_memory(result, each) for each in arrays):
                aside[port.name] = np.empty(shape, port.dtype)  # a later piece reads that memory
        for bucket, feeds, starts, counts in self.runs(arrays):
            self._run(bucket, feeds, aside, starts, counts, sizes)
        for name, result in results.items():
            if aside[name] is not result:
                result[...] = aside[name]
        return results

    def _run(
        self, bucket: Bucket, feeds: dict[str, Any], results: Mapping[str, Array], starts: Sizes, counts: Sizes,
        sizes: Sizes,
    ) -> None:  # fmt: skip
        """Run a program on a piece, and put what it gives into its place."""
        buffers = _popped(bucket.buffers)
        padded = {name: self._padded(bucket, name, array, buffers) for name, array in feeds.items()}
        whole = {
            name: result
            for name, result in results.items()
            if sizes == counts and result.shape == _shape(self._plan.outputs[name], bucket.capacities)
        }
        found = bucket.call(padded, whole or None)
        bucket.buffers.append(buffers)
        for name, result in results.items():
            if name not in whole:
                self._place(name, result, found[name], bucket.capacities, starts, counts, sizes)

    def _padded(self, bucket: Bucket, name: str, array: Array, buffers: dict[str, Array]) -> Array:
        axes = self._plan.inputs.get(name)
        shape = array.shape if axes is None else _shape(axes, bucket.capacities)
        if array.shape == shape:
            return array
        if name not in buffers:
            buffers[name] = np.zeros(shape, array.dtype)
        buffers[name][tuple(map(slice, array.shape))] = array
        return buffers[name]

    def _place(
        self, name: str, result: Array, found: Array, capacities: Sizes, starts: Sizes, counts: Sizes, sizes: Sizes
    ) -> None:
        """Write the valid elements of an output into their part of the result."""
        axes = self._plan.outputs[name]
        valid = found.reshape(_factors(axes, capacities))[_part(axes, counts, {})]
        if len(axes) == len([each for axis in axes for each in axis]):
            result[_part(axes, counts, starts)] = valid
            return
        aside = result.reshape(_factors(axes, sizes))  # a copy where the caller's array does not lie in one run
        aside[_part(axes, counts, starts)] = valid
        if not np.may_share_memory(aside, result):
            result[...] = aside.reshape(result.shape)


def described(description: Mapping[str, Any], programs: Sequence[CompiledModule], package: str = "") -> AnyLength:
    """The program that said `description` of itself, of those of its capacities."""
    rows = zip(description["buckets"], programs, strict=True)
    return AnyLength(
        PaddedPorts(**description["plan"]), [Bucket(**row, call=program) for row, program in rows], package
    )


def _popped(buffers: deque[dict[str, Array]]) -> dict[str, Array]:
    """The buffers of a call before, or none yet: another thread may have the others just now."""
    try:
        return buffers.pop()
    except IndexError:
        return {}
