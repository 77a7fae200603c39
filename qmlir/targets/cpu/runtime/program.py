"""A compiled program at run time: arrays in, arrays out, checked; needs NumPy alone, and is part of saved programs.

The emitted module says what it takes and gives (`INPUTS`, `OUTPUTS`), which inputs' memory an output may be
(`IN_PLACE`), which constants it reads (`CONSTANTS`), how much working memory it needs (`ARENA_BYTES`), and has `main`,
which computes on flat arrays.
"""

import importlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import byte_bounds

from .batches import AnyBatch, BatchPlan
from .errors import DamagedError
from .errors import InputError as InputError
from .ports import Array, ArrayPort, by_name, check_outputs, check_target, checked, ports_text

ALIGNMENT = 64
"""Bytes: working memory begins at a multiple, as vector loads and cache lines like it."""


def aligned_empty(size: int) -> npt.NDArray[np.int8]:
    """`size` uninitialized bytes, aligned."""
    buffer = np.empty(size + ALIGNMENT, np.int8)
    start = -buffer.ctypes.data % ALIGNMENT
    return buffer[start : start + size]


def _flat(port: ArrayPort, array: Array) -> Array:
    """The elements in one axis as kernels see them: in the type `port.memory`."""
    flat = array.reshape(-1)
    memory = port.memory
    return flat if memory is None else flat.view(memory)


def _stored(port: ArrayPort, array: Array) -> Array:
    """An input as kernels see it: they hold integers of few bits as signed ones, the caller has 0 to 15 for 4 bits."""
    flat = _flat(port, array)
    if not port.is_narrow:
        return flat
    if port.bits == 1:
        return flat & 1
    unused = 8 * flat.itemsize - port.bits
    return (flat << unused) >> unused


def _meeting(bounds: Sequence[tuple[int, int]]) -> set[int]:
    """The numbers of the pieces of memory that have a byte in common with another one."""
    found = set[int]()
    last, end = -1, 0  # the piece that reaches furthest so far
    for number in sorted((each for each, (low, high) in enumerate(bounds) if low < high), key=bounds.__getitem__):
        low, high = bounds[number]
        if low < end:
            found |= {last, number}
        if high > end:
            last, end = number, high
    return found


def _targets(arrays: Sequence[Array], inputs: Sequence[Array], in_place: Sequence[Sequence[int]]) -> list[Array]:
    """Where outputs are computed that go to arrays of the caller.

    What can't be written as one run, or lies in the memory of an input or of another output, is written aside first.
    An output may be an input, whole, where `in_place` has that one's number.
    """
    bounds = [byte_bounds(array) for array in (*arrays, *inputs)]
    for place, over in enumerate(in_place):
        own = next((each for each in over if bounds[len(arrays) + each] == bounds[place]), None)
        if own is not None and arrays[place].flags.carray:
            bounds[len(arrays) + own] = 0, 0
    meeting = _meeting(bounds)
    return [
        array if array.flags.carray and place not in meeting else np.empty(array.shape, array.dtype)
        for place, array in enumerate(arrays)
    ]


def _dtype(name: str) -> np.dtype[Any]:
    """A NumPy type by its name; without `ml_dtypes`, short floats are given as their bits."""
    try:
        return np.dtype(name)
    except TypeError:
        with suppress(ImportError):
            return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        return np.dtype(np.uint16 if name == "bfloat16" else np.uint8)


def places_of(arrays: Sequence[Array]) -> npt.NDArray[np.int64]:
    """Where arrays begin: emitted code takes all constants as one array of these addresses."""
    return np.array([array.ctypes.data for array in arrays], np.int64)


def _sized(constant: Array, dtype: str, count: int, name: str) -> Array:
    """A constant as kernels see it, which read so many elements."""
    if constant.nbytes != count * np.dtype(dtype).itemsize:
        raise DamagedError(f"constant '{name}' must hold {count} elements of {dtype}, but got {constant.nbytes} bytes")
    return constant.reshape(-1).view(dtype)


def program_of(package: str) -> Any:
    """The program of a package that can be imported: what a pickled program says of itself."""
    return importlib.import_module(package).program


class CompiledModule:
    """An emitted module with its constants, ready to be called from several threads at once.

    It can be pickled: what is written is how to load it again, and neither code nor constants.
    """

    def __init__(
        self,
        module: Any,
        constants: Mapping[str, Array],
        emitted: Callable[[], ModuleType] | None = None,
        package: str = "",
        batch: Mapping[str, Any] | None = None,
    ) -> None:
        """`emitted` gives the emitted module where `module` is machine code that only says the same of itself;
        `package` is what to import for the program, `batch` what its `BatchPlan` says.
        """
        self.inputs, self.outputs = (
            tuple(
                ArrayPort(name, _dtype(dtype), tuple(shape), nan, bits=bits) for name, dtype, shape, nan, bits in rows
            )
            for rows in (module.INPUTS, module.OUTPUTS)
        )
        for ports in (self.inputs, self.outputs):
            if len({port.name for port in ports}) < len(ports):
                raise DamagedError(
                    f"inputs and outputs must have unique names, but got {', '.join(port.name for port in ports)}"
                )
        self._in_place: Sequence[Sequence[int]] = getattr(module, "IN_PLACE", ())
        self.calls = tuple((str(kernel), tuple(nodes)) for kernel, nodes in getattr(module, "CALLS", ()))
        """The kernel of each call in order, and the nodes of the model that it is for."""
        self.again: tuple[Callable[..., Any], tuple[Any, ...]] = (program_of, (package,))
        """What gives this program where it was pickled: a function that can be imported, and its arguments."""
        self._main = module.main
        self._emitted = emitted
        self._constants = tuple(_sized(constants[name], kind, count, name) for name, kind, count in module.CONSTANTS)
        self._places = places_of(self._constants)  # the tuple keeps their memory
        self._has_narrow = any(port.is_narrow for port in self.outputs)
        self._takes_narrow = any(port.is_narrow for port in self.inputs)
        self._takes_flat = not getattr(module, "TAKES_ANY_SHAPE", False)
        self._arena_bytes = int(module.ARENA_BYTES)
        self._arenas: deque[npt.NDArray[np.int8]] = deque()
        self._sizes = [math.prod(port.shape) * port.dtype.itemsize for port in (*self.inputs, *self.outputs)]
        """The bytes of every array that kernels are handed: they look at none."""
        self.batches = AnyBatch(BatchPlan(**(batch or {})), self.inputs, self.outputs)
        """What runs any number of images."""

    def __repr__(self) -> str:
        return ports_text(self.inputs, self.outputs)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.again

    @property
    def has_emitted(self) -> bool:
        """Whether there is an emitted module in Python, of which each kernel can be called."""
        return self._emitted is not None

    def load_emitted(self) -> Any:
        """`main` of the emitted module, which numba may have to compile where machine code takes its place."""
        return self._main if self._emitted is None else self._emitted().main

    def with_steps(self, steps: Callable[[Callable[..., None]], Callable[..., None]]) -> "CompiledModule":
        """The same program, in which another function calls the kernels: what `steps` makes of the compiled one."""
        main: Any = self.load_emitted()
        found: dict[str, Any] = main.__globals__
        changed = CompiledModule.__new__(CompiledModule)
        vars(changed).update(vars(self))
        changed._main = FunctionType(main.__code__, {**found, "steps": steps(found["steps"])})
        changed._takes_flat = True
        changed._arenas = deque()
        return changed

    def first(self, inputs: Mapping[str, Any] | Sequence[Any] | Array) -> Mapping[str, Any] | Sequence[Any] | Array:
        """What the first run takes of `inputs`, of several if there are more images than it was compiled for."""
        values = by_name(self.inputs, inputs)
        count = self.batches.count(values)
        return inputs if count is None else self.batches.first(values, count)

    def _run(self, inputs: Iterable[Array], outputs: Iterable[Array]) -> None:
        """Compute `outputs` from `inputs`, which fit the ports and lie as kernels have them."""
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = aligned_empty(self._arena_bytes)
        # Machine code asks where an array lies, and not for its type and shape.
        if self._takes_flat:
            outputs = list(outputs)
            targets: Iterable[Array] = map(_flat, self.outputs, outputs)
        else:
            targets = outputs
        if self._takes_flat or self._takes_narrow:
            inputs = map(_stored, self.inputs, inputs)
        arrays = [*inputs, *targets]
        if [array.nbytes for array in arrays] != self._sizes:
            raise InputError(f"arrays must have {self._sizes} bytes, but got {[array.nbytes for array in arrays]}")
        self._main(arena, self._places, *arrays)
        self._arenas.append(arena)
        if self._has_narrow:
            for port, array in zip(self.outputs, outputs, strict=True):
                if port.is_narrow:
                    bits = array if array.dtype.kind == "u" else array.view(np.uint8)
                    np.bitwise_and(bits, (1 << port.bits) - 1, out=bits)
                    if port.dtype.kind == "i":
                        np.negative(array, out=array)

    def __call__(
        self, inputs: Mapping[str, Any] | Sequence[Any] | Array, outputs: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """The outputs by name; those that `outputs` has arrays for are written there.

        Any number of images is taken, where images have nothing to do with each other. Raises `InputError` for what
        does not fit.
        """
        values = by_name(self.inputs, inputs)
        try:
            given = list(map(checked, self.inputs, values))
        except InputError:
            count = self.batches.count(values)
            if count is None:
                raise
            return self.batches(values, count, outputs, self._run)
        results: dict[str, Array] = {}
        if outputs is None:
            for port in self.outputs:
                results[port.name] = np.empty(port.shape, port.dtype)
            self._run(given, results.values())
            return results
        check_outputs(outputs, [port.name for port in self.outputs])
        for name, dtype, shape in ((port.name, port.dtype, port.shape) for port in self.outputs):
            own = outputs.get(name)
            results[name] = np.empty(shape, dtype) if own is None else check_target(name, own, dtype, shape)
        targets = _targets(list(results.values()), given, self._in_place)
        self._run(given, targets)
        for array, target in zip(results.values(), targets, strict=True):
            if target is not array:
                array[...] = target
        return results
