"""Times each kernel of a compiled program: runs the program's steps in Python, with a timer around each kernel call.

Kernels are called one by one, on the same memory as in a normal run. A call from Python takes about 2 µs longer than
one inside the program, so the times of very small kernels are too large.
"""

import ctypes
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.ir.messages import text_error

ROUNDS = 5
"""The default number of runs; each kernel's shortest time counts."""


@dataclass(frozen=True)
class KernelTime:
    """The time of one kernel call in a run of a program."""

    name: str
    """Name of the kernel; several calls may share it."""

    nodes: tuple[str, ...]
    """The nodes of the model that the call computes, such as `fc1` or `fc1/bias_add`; may be empty."""

    seconds: float
    """The shortest time of all rounds, in seconds."""


def _view(array: Array, start: int, count: int, dtype: str) -> Array:
    """Returns a buffer of the arena; replaces the runtime operation `view` of emitted code."""
    return array[start : start + count * np.dtype(dtype).itemsize].view(dtype)


def _array_at(addresses: Array, number: int, count: int, dtype: str) -> Array:
    """Returns a constant; replaces the runtime operation `array_at` of emitted code."""
    size = count * np.dtype(dtype).itemsize
    memory: Any = (ctypes.c_char * size).from_address(int(addresses[number]))
    return np.frombuffer(memory, dtype) if count else np.empty(0, dtype)


def _tail(array: Array, offset: int) -> Array:
    """Returns the part of a buffer that starts at `offset`; replaces the runtime operation `tail` of emitted code."""
    return array[offset:]


_IN_PYTHON: Mapping[str, Callable[..., Any]] = {
    "view": _view,
    "array_at": _array_at,
    "tail": _tail,
    "alone": lambda *_: True,  # the only thread does all work
    "finished": lambda *_: None,  # and waits for no others
}
"""The Python functions that replace runtime operations of emitted steps."""


def _timed(names: Sequence[str], shortest: list[float], compiled: Any) -> Callable[..., None]:
    """Returns a Python function that replaces the compiled steps, and records the shortest time of each call."""
    function: FunctionType = compiled.py_func
    known: dict[str, Any] = function.__globals__
    kernels = [known[name] for name in names]

    def run(*arguments: Any) -> None:
        numbers = iter(range(len(kernels)))

        def call(table: Array, address: int, *arrays: Any) -> None:
            number = next(numbers)
            kernel = kernels[number]
            start = time.perf_counter()
            kernel(*arrays)
            shortest[number] = min(shortest[number], time.perf_counter() - start)

        FunctionType(function.__code__, {**known, **_IN_PYTHON, "call": call})(*arguments)

    return run


def time_steps(
    program: Any,
    inputs: Mapping[str, Any] | Sequence[Any] | Array,
    rounds: int = ROUNDS,
    outputs: Mapping[str, Array] | None = None,
) -> tuple[KernelTime, ...]:
    """Returns the time of each kernel call of `program`, a compiled module, in execution order.

    A warm-up run precedes the `rounds` timed runs. Outputs are written to the arrays in `outputs`, since allocating
    memory in each round would distort the times. Raises `DiagnosticError` if `rounds` is less than 1.
    """
    if rounds < 1:
        raise text_error(f"rounds must be at least 1, but got {rounds}")
    shortest = [math.inf] * len(program.calls)
    timed = program.with_steps(partial(_timed, [name for name, _ in program.calls], shortest))
    timed(inputs, outputs)
    shortest[:] = [math.inf] * len(shortest)
    for _ in range(rounds):
        timed(inputs, outputs)
    rows = zip(program.calls, shortest, strict=True)
    return tuple(KernelTime(name, nodes, seconds) for (name, nodes), seconds in rows)
