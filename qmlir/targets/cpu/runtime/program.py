"""Runs compiled programs on checked NumPy arrays; needs NumPy alone, and is part of saved programs.

The emitted module defines the ports (`INPUTS`, `OUTPUTS`), the inputs whose memory an output may reuse (`IN_PLACE`),
the constants (`CONSTANTS`), the size of the arena (`ARENA_BYTES`), and `main`, which computes on flat arrays.
"""

import hashlib
import importlib
import json
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from .batches import AnyBatch, BatchPlan
from .errors import CorruptProgramError, damaged
from .errors import InputError as InputError
from .ports import Array, ArrayPort, by_name, checked, copy_results, ports_text, result_arrays, target_arrays

ALIGNMENT = 64
"""The alignment of the arena in bytes, for vector loads and cache lines."""


def aligned_empty(size: int) -> npt.NDArray[np.int8]:
    """Allocates `size` uninitialized bytes, aligned to `ALIGNMENT`."""
    buffer = np.empty(size + ALIGNMENT, np.int8)
    start = -buffer.ctypes.data % ALIGNMENT
    return buffer[start : start + size]


def _flat(port: ArrayPort, array: Array) -> Array:
    """Returns the elements as a flat array of the type that kernels use (`port.memory`)."""
    flat = array.reshape(-1)
    memory = port.memory
    return flat if memory is None else flat.view(memory)


def _stored(port: ArrayPort, array: Array) -> Array:
    """Converts an input for kernels, which sign-extend sub-byte integers; the caller's may be unsigned (0 to 15)."""
    flat = _flat(port, array)
    if not port.is_narrow:
        return flat
    if port.bits == 1:
        return flat & 1
    unused = 8 * flat.itemsize - port.bits
    return (flat << unused) >> unused


def _dtype(name: str) -> np.dtype[Any]:
    """Returns a NumPy type by name; without `ml_dtypes`, low-precision floats are represented by their bits."""
    try:
        return np.dtype(name)
    except TypeError:
        with suppress(ImportError):
            return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        return np.dtype(np.uint16 if name == "bfloat16" else np.uint8)


_DTYPES = {
    "BOOL": np.int8, "I8": np.int8, "U8": np.uint8, "I16": np.int16, "U16": np.uint16, "I32": np.int32,
    "U32": np.uint32, "I64": np.int64, "U64": np.uint64, "F16": np.uint16, "BF16": np.uint16, "F32": np.float32,
    "F64": np.float64,
}  # fmt: skip
"""The NumPy type of each type in the file; f16 and bf16 are represented by their bits."""

constants_are_checked = False
"""True if the digest of the constants was already checked, as it is for all files of a cache entry."""


def mapped(path: Path, digest: str, *, is_checked: bool | None = None) -> dict[str, Array]:
    """Returns the arrays of a safetensors file by name, as read-only views of the mapped file.

    The file contains the length of a JSON header (8 bytes), the header with the type, shape and offsets of each tensor,
    and the data. Kernels read constants without checking their sizes, so the digest of the file is checked. Arrays that
    several programs share are in another file (`shared`), which the metadata names with its digest.

    Raises `CorruptProgramError` if the file is missing or empty, or if its SHA-256 is not `digest`.
    """
    if not path.is_file() or path.stat().st_size == 0:
        raise CorruptProgramError(f"{path} is damaged: it is {'empty' if path.is_file() else 'not a file'}")
    file = np.memmap(path, np.uint8, mode="r")
    is_known = constants_are_checked if is_checked is None else is_checked
    if not is_known and hashlib.sha256(file.data).hexdigest() != digest:
        raise damaged(path)
    length = int(file[:8].view("<u8")[0])
    header, data = json.loads(bytes(file[8 : 8 + length])), file[8 + length :]
    arrays: dict[str, Array] = {}
    metadata: dict[str, str] = header.pop("__metadata__", {})
    if "shared" in metadata:
        keys = json.loads(metadata["shared"])
        shared = mapped(path.parent / metadata["file"], metadata["digest"], is_checked=False)
        arrays = {name: shared[key] for name, key in keys.items()}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        flat: Array = data[begin:end].view(np.ndarray)
        array = flat.view(dtype) if flat.ctypes.data % dtype.itemsize == 0 else np.frombuffer(flat.tobytes(), dtype)
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def places_of(arrays: Sequence[Array]) -> npt.NDArray[np.int64]:
    """Returns the addresses of arrays without `ctypes`, whose overhead would slow down every run of a team."""
    return np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)


def _sized(constant: Array, dtype: str, count: int, name: str) -> Array:
    """Returns a constant as a flat array of `dtype`. Raises `CorruptProgramError` if it hasn't `count` elements."""
    if constant.nbytes != count * np.dtype(dtype).itemsize:
        raise CorruptProgramError(
            f"constant '{name}' must hold {count} elements of {dtype}, but got {constant.nbytes} bytes"
        )
    return constant.reshape(-1).view(dtype)


def program_of(package: str) -> Any:
    """Imports the program of a package; used to unpickle programs."""
    return importlib.import_module(package).program


class CompiledModule:
    """An emitted module with its constants. It may be called from several threads at once.

    A pickle contains neither code nor constants, only the name of the package to import.
    """

    def __init__(
        self,
        module: Any,
        constants: Mapping[str, Array],
        emitted: Callable[[], ModuleType] | None = None,
        package: str = "",
        batch: Mapping[str, Any] | None = None,
    ) -> None:
        """Creates the program.

        Args:
            emitted: Imports the emitted module, if `module` is machine code with the same interface.
            package: The package to import to restore the program from a pickle.
            batch: The fields of its `BatchPlan`.
        """
        self.inputs, self.outputs = (
            tuple(
                ArrayPort(name, _dtype(dtype), tuple(shape), nan, True, bits, *scaling)
                for name, dtype, shape, nan, bits, *scaling in rows
            )
            for rows in (module.INPUTS, module.OUTPUTS)
        )
        for ports in (self.inputs, self.outputs):
            if len({port.name for port in ports}) < len(ports):
                raise CorruptProgramError(
                    f"inputs and outputs must have unique names, but got {', '.join(port.name for port in ports)}"
                )
        self._in_place: Sequence[Sequence[int]] = getattr(module, "IN_PLACE", ())
        self.calls = tuple((str(kernel), tuple(nodes)) for kernel, nodes in getattr(module, "CALLS", ()))
        """The kernel and the model's nodes of each call, in order."""
        self.again: tuple[Callable[..., Any], tuple[Any, ...]] = (program_of, (package,))
        """An importable function and its arguments that restore this program when it is unpickled."""
        self._main = module.main
        self._emitted = emitted
        self._constants = tuple(_sized(constants[name], kind, count, name) for name, kind, count in module.CONSTANTS)
        self._positions = places_of(self._constants)  # the tuple keeps the memory alive
        self._has_narrow = any(port.is_narrow for port in self.outputs)
        self._takes_narrow = any(port.is_narrow for port in self.inputs)
        self._takes_flat = not getattr(module, "TAKES_ANY_SHAPE", False)
        self._arena_bytes = int(module.ARENA_BYTES)
        self._arenas: deque[npt.NDArray[np.int8]] = deque()
        self._sizes = [math.prod(port.shape) * port.dtype.itemsize for port in (*self.inputs, *self.outputs)]
        """The size in bytes of every array passed to kernels, which don't check it."""
        self.batches = AnyBatch(BatchPlan(**(batch or {})), self.inputs, self.outputs)
        """Runs other batch sizes in chunks."""

    def __repr__(self) -> str:
        return ports_text(self.inputs, self.outputs)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.again

    def share_constants(self, known: dict[Any, Array]) -> None:
        """Replaces constants by equal ones in `known`, and adds the others to it."""
        keys = ((each.dtype.str, hashlib.sha256(each.data).digest()) for each in self._constants)
        self._constants = tuple(known.setdefault(key, each) for key, each in zip(keys, self._constants, strict=True))
        self._positions = places_of(self._constants)

    @property
    def has_emitted(self) -> bool:
        """True if there is an emitted Python module whose kernels can be called one by one."""
        return self._emitted is not None

    def load_emitted(self) -> Any:
        """Returns `main` of the emitted module; numba may have to compile it if machine code was loaded instead."""
        return self._main if self._emitted is None else self._emitted().main

    def with_steps(self, steps: Callable[[Callable[..., None]], Callable[..., None]]) -> "CompiledModule":
        """Returns a copy of this program that runs `steps(function)` instead of `function`, which calls the kernels."""
        main: Any = self.load_emitted()
        found: dict[str, Any] = main.__globals__
        changed = CompiledModule.__new__(CompiledModule)
        vars(changed).update(vars(self))
        changed._main = FunctionType(main.__code__, {**found, "steps": steps(found["steps"])})
        changed._takes_flat = True
        changed._arenas = deque()
        return changed

    def first(self, inputs: Mapping[str, Any] | Sequence[Any] | Array) -> Mapping[str, Any] | Sequence[Any] | Array:
        """Returns the inputs of the first run: the first chunk if there are more samples than it was compiled for."""
        values = by_name(self.inputs, inputs)
        count = self.batches.count(values)
        return inputs if count is None else self.batches.first(values, count)

    def _run(self, inputs: Iterable[Array], outputs: Collection[Array]) -> None:
        """Computes `outputs` from `inputs`, which were checked and have the layout that kernels need."""
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = aligned_empty(self._arena_bytes)
        # Machine code uses only the address of an array, not its type and shape.
        targets = map(_flat, self.outputs, outputs) if self._takes_flat else outputs
        if self._takes_flat or self._takes_narrow:
            inputs = map(_stored, self.inputs, inputs)
        arrays = [*inputs, *targets]
        if [array.nbytes for array in arrays] != self._sizes:
            raise InputError(f"arrays must have {self._sizes} bytes, but got {[array.nbytes for array in arrays]}")
        self._main(arena, self._positions, *arrays)
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
        """Runs the program; returns the outputs by name. An output with an array in `outputs` is written there.

        Any batch size is accepted if samples are independent. Raises `InputError` if an input doesn't fit.
        """
        values = by_name(self.inputs, inputs)
        try:
            given = list(map(checked, self.inputs, values))
        except InputError:
            count = self.batches.count(values)
            if count is None:
                raise
            return self.batches(values, count, outputs, self._run)
        results = result_arrays(self.outputs, outputs)
        if outputs is None:
            self._run(given, results.values())
            return results
        targets = target_arrays(list(results.values()), given, self._in_place)
        self._run(given, targets)
        copy_results(results, targets)
        return results
