"""Outputs of a model on many samples, computed by workers: a compiled program, the interpreter, or ONNX Runtime.

The model goes to a worker once. Samples go in tasks whose size does not depend on the number of workers, and outputs
return in the order of the samples, identical to those of one process. Workers import this module, so they must run in
the folder of the repository.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.jobs import Begun, Job, ShippedModule, Workers
from qmlir.ir.diagnostics import DiagnosticError, text_error, without_remarks
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.text.data import JsonValue, parse_data
from qmlir.workflows.running import interpret

Feeds = Mapping[str, Array]
"""One sample: its arrays by name."""

RunOne = Callable[[Feeds], Mapping[str, Array]]
"""What computes the outputs of a sample, by name."""

_TASK_BYTES, _TASK_SAMPLES = 1 << 22, 16
"""The most that a task has, unless one sample is more: a large model takes seconds for each."""


@dataclass(frozen=True)
class ModuleRun:
    """A module, and whether it is compiled, for one thread, or interpreted."""

    module: ShippedModule
    is_compiled: bool

    def opened(self) -> RunOne:
        """What runs it here. Raises `DiagnosticError`."""
        module = self.module.module()
        if not self.is_compiled:
            return lambda feeds: interpret(module, feeds)
        program = compile_module(module)
        return lambda feeds: program(feeds)


@dataclass(frozen=True)
class PeerRun:
    """The bytes of an ONNX model, which ONNX Runtime runs on one thread."""

    model: bytes
    is_deterministic: bool = True

    def opened(self) -> RunOne:
        """What runs it here. Raises `DiagnosticError`."""
        return OrtSession(self.model, OrtOptions(is_deterministic=self.is_deterministic))


def outputs_by(workers: Workers, run: ModuleRun | PeerRun, samples: Iterable[Feeds]) -> list[Mapping[str, Array]]:
    """The outputs of each sample, in order. Raises `DiagnosticError` where one of them cannot be computed."""
    answers = workers.map(Job(_begin_running, run, fits=_is_answer), _tasks(samples))
    return [outputs for answer in answers for outputs in _unpacked(answer)]


def _tasks(samples: Iterable[Feeds]) -> Iterator[tuple[Feeds, ...]]:
    task: list[Feeds] = []
    size = 0
    for feeds in samples:
        more = sum(array.nbytes for array in feeds.values())
        if task and (len(task) == _TASK_SAMPLES or size + more > _TASK_BYTES):
            yield tuple(task)
            task, size = [], 0
        task.append(feeds)
        size += more
    if task:
        yield tuple(task)


def _begin_running(run: ModuleRun | PeerRun) -> Begun:
    """Answers samples with their outputs."""
    with without_remarks():
        opened = run.opened()

    def answer(task: Sequence[Feeds]) -> bytes:
        with without_remarks():
            return _packed([opened(feeds) for feeds in task])

    return answer


# Arrays as bytes: a line that says which there are, and their elements one after the other.


def _packed(outputs: Sequence[Mapping[str, Array]]) -> bytes:
    ports: list[list[tuple[str, str, tuple[int, ...]]]] = []
    parts: list[bytes] = []
    for each in outputs:
        arrays = {name: _in_own_order(np.asarray(array)) for name, array in each.items()}
        for name, array in arrays.items():
            if array.dtype.hasobject or array.dtype.kind in "SU":
                raise text_error(f"output '{name}' is text, which a cluster cannot transfer; run without --cluster")
        ports.append([(name, array.dtype.name, array.shape) for name, array in arrays.items()])
        parts += [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    return json.dumps(ports).encode() + b"\n" + b"".join(parts)


def _in_own_order(array: Array) -> Array:
    """The array with the bytes of its elements as this processor has them: the name of a type does not say an order."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


_Port = tuple[str, np.dtype[Any], tuple[int, ...]]
_DTYPE = re.compile(r"[a-z]+[0-9]*(?:_[a-z0-9]+)?")


def _ports(content: bytes) -> tuple[list[list[_Port]], bytes]:
    """What `_packed` said of the arrays, and their bytes. Raises `DiagnosticError` for anything else."""
    head, _, data = content.partition(b"\n")
    told = parse_data(head, "the answer of a worker")
    ports = [[_port(row) for row in each] for each in told]
    if sum(math.prod(shape) * dtype.itemsize for each in ports for _, dtype, shape in each) != len(data):
        raise text_error("a worker returned other arrays than it announced")
    return ports, data


def _port(row: JsonValue) -> _Port:
    columns = list(row)
    if len(columns) != 3:
        row.wrong("a list of name, type and shape")
    name, dtype, shape = columns
    if not _DTYPE.fullmatch(dtype.text()):
        dtype.wrong("the name of a type of NumPy")
    try:
        found = np.dtype(dtype.text())
    except TypeError:
        dtype.wrong("the name of a type of NumPy")
    if found.hasobject:
        dtype.wrong("the name of a type of numbers")
    return name.text(), found, tuple(size.integer(0) for size in shape)


def _unpacked(content: bytes) -> Iterator[dict[str, Array]]:
    ports, data = _ports(content)
    start = 0
    for each in ports:
        outputs: dict[str, Array] = {}
        for name, dtype, shape in each:
            count = math.prod(shape)
            outputs[name] = np.frombuffer(data, dtype, count, start).reshape(shape).copy()
            start += count * dtype.itemsize
        yield outputs


def _is_answer(task: Sequence[Feeds], content: bytes) -> bool:
    """Whether bytes may be the outputs of the samples."""
    try:
        ports, _ = _ports(content)
    except DiagnosticError:
        return False
    return len(ports) == len(task)
