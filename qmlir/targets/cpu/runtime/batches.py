"""Runs any batch size with a program for one sample or a fixed chunk, on several threads; part of saved programs.

Whether samples are independent was decided at compile time: a plan lists the batch axes, or the reason why there are
none.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .errors import InputError
from .ports import Array, ArrayPort, checked, copy_results, result_arrays, shape_text, target_arrays

_ALONE = "qmlir_runs_alone"
"""The attribute that marks a thread. All copies of this file use the same name: each saved program has a copy."""


def available_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def runs_alone() -> bool:
    """Returns True if programs that this thread calls must run on this thread alone."""
    return _ALONE in vars(threading.current_thread())


@contextmanager
def _alone() -> Generator[None]:
    """Marks this thread, which has no mark yet, inside the `with` block."""
    marks = vars(threading.current_thread())
    marks[_ALONE] = True
    try:
        yield
    finally:
        del marks[_ALONE]


def spread(count: int, threads: int, work: Callable[[int], None]) -> None:
    """Calls `work` with each number below `count` on up to `threads` threads, at most one per core.

    The caller's thread is one of them. An exception in `work` is raised here after all threads have stopped; numbers
    that no thread has begun by then are skipped.
    """
    threads = 1 if runs_alone() else min(threads, count, available_cores())
    if threads < 2:
        for number in range(count):
            work(number)
        return
    waiting, raised = deque(range(count)), deque[BaseException]()

    def take() -> None:
        with _alone():
            while True:
                try:
                    number = waiting.popleft()
                except IndexError:
                    return
                try:
                    work(number)
                except BaseException as error:
                    waiting.clear()
                    raised.append(error)

    others = [threading.Thread(target=take, name=f"qmlir-piece-{number}", daemon=True) for number in range(1, threads)]
    for each in others:
        each.start()
    try:
        take()
    finally:  # an interrupt between two numbers ends all of them
        waiting.clear()
        for each in others:
            each.join()
    if raised:
        raise raised[0]


@dataclass(frozen=True)
class BatchPlan:
    """The batch axis of each input and output that has one; all samples share other inputs and outputs."""

    inputs: Mapping[str, int] = field(default_factory=dict[str, int])
    outputs: Mapping[str, int] = field(default_factory=dict[str, int])
    reason: str = ""
    """The reason why there are no batch axes."""

    threads: int = 1
    """The maximum number of chunks that run concurrently."""

    follows: bool = False
    """True if loops along padded dimensions end at the runtime sizes."""


RunPiece = Callable[[Sequence[Array], Sequence[Array]], None]
"""Computes outputs from inputs; both are contiguous and fit the ports."""


def _piece(array: Array, axis: int, start: int, stop: int) -> Array:
    return array[(slice(None),) * axis + (slice(start, stop),)]


def _resized(port: ArrayPort, axis: int | None, size: int) -> ArrayPort:
    shape = port.shape
    return port if axis is None else replace(port, shape=(*shape[:axis], size, *shape[axis + 1 :]))


class AnyBatch:
    """Runs a program with a fixed batch size on any number of samples."""

    def __init__(self, plan: BatchPlan, inputs: Sequence[ArrayPort], outputs: Sequence[ArrayPort]) -> None:
        self.plan = plan
        self._inputs = [(port, plan.inputs.get(port.name)) for port in inputs]
        self._outputs = [(port, plan.outputs.get(port.name)) for port in outputs]
        """The ports with their batch axes."""

        self._held = next((port.shape[axis] for port, axis in self._inputs if axis is not None), 0)

    def count(self, values: Sequence[Any]) -> int | None:
        """Returns the number of samples in `values`; `None` if no batch size would make them fit.

        Raises `InputError` if inputs have different numbers of samples, or if only the compiled batch size can run.
        """
        if not self.plan.inputs and not self.plan.reason:
            return None
        found: dict[int, str] = {}
        shapes: dict[str, tuple[int, ...]] = {}
        for (port, known), value in zip(self._inputs, values, strict=True):
            try:
                shape = shapes[port.name] = np.shape(value)
            except Exception:  # a user's class may raise anything; it is no array
                return None
            axis = known if self.plan.inputs or not port.shape else 0
            if axis is not None and len(shape) == len(port.shape):
                found.setdefault(shape[axis], port.name)
                shape = (*shape[:axis], port.shape[axis], *shape[axis + 1 :])
            if shape != port.shape:
                return None
        port = next((port for port, _ in self._inputs if shapes[port.name] != port.shape), None)
        if port is not None and self.plan.reason:
            raise InputError(
                f"input '{port.name}' must have shape {shape_text(port.shape)}, but got "
                f"{shape_text(shapes[port.name])}, "
                f"and the batch cannot be split: {self.plan.reason}; help: load the model with shapes={shapes}"
            )
        if port is None or len(found) < 2:
            return None if port is None else next(iter(found))
        (one, its), (other, others) = list(found.items())[:2]
        raise InputError(
            f"inputs must have the same number of samples, but got {one} for '{its}' and {other} for '{others}'"
        )

    def __call__(
        self, values: Sequence[Any], count: int, outputs: Mapping[str, Array] | None, run: RunPiece
    ) -> dict[str, Array]:
        """Runs `count` samples; returns the outputs by name. An output with an array in `outputs` is written there."""
        if not count and len(self.plan.outputs) < len(self._outputs):
            raise InputError("an empty batch has no outputs of this model; pass at least one sample")
        arrays = self._checked(values, count)
        wholes = [
            _resized(port, axis, 0 if axis is None else port.shape[axis] * count // self._held)
            for port, axis in self._outputs
        ]
        results = result_arrays(wholes, outputs)
        written = target_arrays(list(results.values()), arrays)
        self._run_all(arrays, written, count, run)
        copy_results(results, written)
        return results

    def first(self, values: Sequence[Any], count: int) -> list[Array]:
        """Returns the inputs of the first chunk of `count` samples."""
        return self._chunk(self._checked(values, count), 0, min(self._held, count))

    def _checked(self, values: Sequence[Any], count: int) -> list[Array]:
        rows = zip(self._inputs, values, strict=True)
        return [checked(_resized(port, axis, count), value) for (port, axis), value in rows]

    def _chunk(self, arrays: Sequence[Array], start: int, stop: int) -> list[Array]:
        """Returns the inputs of a chunk of samples."""
        rows = zip(self._inputs, arrays, strict=True)
        return [self._taken(port, axis, array, start, stop) for (port, axis), array in rows]

    def _taken(self, port: ArrayPort, axis: int | None, array: Array, start: int, stop: int) -> Array:
        """Returns the samples of a chunk, padded with zeros to the batch size of the port."""
        if axis is None:
            return array
        piece = _piece(array, axis, start, stop)
        if stop - start == self._held:
            return np.ascontiguousarray(piece) if axis else piece
        filled = np.zeros(port.shape, port.dtype)
        _piece(filled, axis, 0, stop - start)[...] = piece
        return filled

    def _run_all(self, arrays: Sequence[Array], results: Sequence[Array], count: int, run: RunPiece) -> None:
        held = self._held

        def work(number: int) -> None:
            start, stop = held * number, min(held * (number + 1), count)
            made: list[Array] = []
            targets: list[Array] = []
            for (port, axis), array in zip(self._outputs, results, strict=True):
                each = 1 if axis is None else port.shape[axis] // held
                target = array if axis is None else _piece(array, axis, start * each, stop * each)
                is_own = axis == 0 and stop - start == held
                made.append(target if is_own else np.empty(port.shape, port.dtype))
                targets.append(target)
            run(self._chunk(arrays, start, stop), made)
            for (_, axis), found, target in zip(self._outputs, made, targets, strict=True):
                if found is not target and (axis is not None or not number):
                    target[...] = found if axis is None else _piece(found, axis, 0, target.shape[axis])

        spread(-(-count // held), self.plan.threads, work)
