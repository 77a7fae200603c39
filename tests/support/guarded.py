"""Compiled modules on guarded memory: beside each array lie pages that may not be touched, and what is read only is.

A read or a write outside of its array ends the process, so whoever asks runs `python -m tests.support.guarded` as one
of its own. Its arguments name cases, such as `convolution:7:avx2`; each is printed before it runs.
"""

import ctypes
import mmap
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import COMPILE
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.emitters.program import constants_of
from qmlir.targets.cpu.lowering import lowered
from qmlir.targets.cpu.package import load_package, write_package
from qmlir.targets.cpu.runtime.program import CompiledModule, places_of
from qmlir.text.parsing import parse_module
from tests.levels.generator import case_of
from tests.support import contractions, winograd

_PAGE = mmap.PAGESIZE
_READ, _WRITE = mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
_LIBC = ctypes.CDLL(None, use_errno=True)
_numbers = count()


def _protect(address: int, size: int, protection: int) -> None:
    if size and _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(protection)):
        raise OSError(ctypes.get_errno(), "mprotect")


class Guards:
    """Copies of flat arrays between pages that may not be touched: each ends at one, or begins at one."""

    def __init__(self, *, at_end: bool) -> None:
        self._at_end = at_end
        self._memories: list[Any] = []

    def array(self, source: Any, protection: int) -> Any:
        """A copy of a flat array; what `protection` (of `mprotect`) forbids ends the process."""
        inner = -(-source.nbytes // _PAGE) * _PAGE
        memory = mmap.mmap(-1, inner + 2 * _PAGE)
        self._memories.append(memory)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        offset = _PAGE + (inner - source.nbytes if self._at_end else 0)
        array = np.frombuffer(memory, np.int8)[offset : offset + source.nbytes].view(source.dtype)
        array[...] = source
        _protect(start, _PAGE, 0)
        _protect(start + _PAGE, inner, protection)
        _protect(start + _PAGE + inner, _PAGE, 0)
        return array


def guarded(kernels: Any, constants: Mapping[str, Any], *, at_end: bool, filling: int) -> CompiledModule:
    """An emitted module as a program whose arrays are guarded; what nobody has written yet is bytes of `filling`."""
    readable = len(kernels.INPUTS)
    weights = [np.asarray(constants[name]).reshape(-1).view(dtype) for name, dtype, _ in kernels.CONSTANTS]

    def main(arena: Any, addresses: Any, *arrays: Any) -> None:
        guards = Guards(at_end=at_end)
        arena.view(np.uint8)[...] = filling
        read = [guards.array(each, _READ) for each in arrays[:readable]]
        for each in arrays[readable:]:
            each.view(np.uint8)[...] = filling
        written = [guards.array(each, _WRITE) for each in arrays[readable:]]
        positions = places_of([guards.array(each, _READ) for each in weights])
        kernels.main(guards.array(arena, _WRITE), positions, *read, *written)
        for target, found in zip(arrays[readable:], written, strict=True):
            target[...] = found

    return CompiledModule(cast(Any, SimpleNamespace(**{**vars(kernels), "main": main})), constants)


def compiled_guarded(loops: ModuleOp, inputs: Any) -> dict[str, Any]:
    """The outputs of a module of loops on guarded memory: the same, wherever arrays lie and whatever they held."""
    with TemporaryDirectory() as folder:
        path, constants = Path(folder), constants_of(loops)
        write_package(path, emit_module(loops), constants)
        kernels = cast(Any, load_package(path, f"guarded_{next(_numbers)}")).kernels
        found, again = (
            guarded(kernels, constants, at_end=at_end, filling=filling)(inputs)
            for at_end, filling in ((True, 0x5A), (False, 0xFF))
        )
    for name, array in found.items():
        np.testing.assert_array_equal(array, again[name], f"'{name}' depends on memory that nobody has written")
    return found


def _assert_close(found: Any, wanted: Any) -> None:
    if np.asarray(found).dtype.kind in "iub":
        np.testing.assert_array_equal(found, wanted)
    else:
        bound = 1e-5 * float(np.max(np.abs(np.nan_to_num(wanted)), initial=1))
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=bound)


def _text_case(make: Callable[[int], contractions.Case], seed: int, isa: str, threads: int) -> None:
    environment, case = default_environment(), make(seed)
    ctx = environment.new_context()
    module = parse_module(ctx, case.text)
    text = COMPILE.text("schedule", "bufferize", "loops", isa=isa, threads=threads)
    PassManager(ctx, parse_pipeline(text, environment.passes)).run(module)
    found = next(iter(compiled_guarded(module, case.inputs).values()))
    _assert_close(found, case.expected)


def _graph_case(seed: int, isa: str, threads: int) -> None:
    case = case_of(seed)
    found = compiled_guarded(lowered(case.module, isa, threads), case.inputs)
    for name, wanted in interpret(case.module, case.inputs).items():
        _assert_close(found[name], wanted)


def run_case(name: str) -> None:
    """Run the case of a name: what it is, its seed, its instruction set, and how many threads."""
    kind, seed, isa, threads = (*name.split(":"), "1")[:4]
    if kind == "graph":
        _graph_case(int(seed), isa, int(threads))
    else:
        make = getattr(contractions, kind, None) or getattr(winograd, kind)
        _text_case(make, int(seed), isa, int(threads))


def main(names: Sequence[str]) -> None:
    """Run cases, each after its name is printed."""
    for name in names:
        print(name, flush=True)
        run_case(name)


if __name__ == "__main__":
    main(sys.argv[1:])
