"""The machine code of a program in one file, which LLVM loads quickly and without numba on the machine that wrote it.

The file begins with the SHA-256 of the rest: the length of a JSON header (8 bytes), the header, and LLVM objects, one
per kernel. It contains the code that numba compiled, and the interface of the emitted module. On another CPU, with
another LLVM or with other kernels, it is ignored, and numba compiles the emitted module.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from .entry import entry, entry_engine, made_engine
from .errors import DamagedError
from .processor import processor_features, processor_name

FILE = "machine_code.bin"

SOURCE = "kernels.py"
"""The emitted module that numba compiles."""

IR = "kernels.ll"
"""The emitted module that LLVM compiles."""

FACTS = ("INPUTS", "OUTPUTS", "IN_PLACE", "CALLS", "CONSTANTS", "ARENA_BYTES")
"""What the emitted module says of itself, and the header says, too."""


_DIGEST = hashlib.sha256().digest_size


def digest_of(data: bytes) -> str:
    """The digest by which objects and their source are known."""
    return hashlib.sha256(data).hexdigest()


def surroundings() -> dict[str, Any]:
    """All that the code of a program depends on but the program itself."""
    return {
        "triple": llvm.get_process_triple(),
        "processor": processor_name(),
        "features": sorted(name for name, is_there in processor_features().items() if is_there),
        "llvmlite": llvmlite.__version__,
        "python": [sys.implementation.cache_tag, object.__basicsize__],
    }


def source_of(folder: Path) -> Path:
    """The emitted module of a program, in whichever language."""
    ir = folder / IR
    return ir if ir.is_file() else folder / SOURCE


def header_of(facts: Mapping[str, Any], source: str, objects: Sequence[bytes]) -> dict[str, Any]:
    """The header of objects that were made of the source of this digest here: `facts` are `FACTS` and symbols."""
    return {**facts, "source": source, "made_for": surroundings(), "sizes": [len(each) for each in objects]}


def written(facts: Mapping[str, Any], source: str, objects: Sequence[bytes]) -> bytes:
    """The content of the file."""
    text = json.dumps(header_of(facts, source, objects)).encode()
    content = b"".join([len(text).to_bytes(8, "little"), text, *objects])
    return hashlib.sha256(content).digest() + content


def read_objects(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header and the objects of a file of machine code. Raises `DamagedError`."""
    data = path.read_bytes()
    content = memoryview(data)[_DIGEST:]
    if hashlib.sha256(content).digest() != data[:_DIGEST]:
        raise DamagedError(
            f"{path} is damaged: it differs from the file written with the program; compile the model again"
        )
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(bytes(content[8:end])), bytes(content[end:])


def _header(folder: Path) -> tuple[dict[str, Any], bytes] | None:
    """The header and the objects of a program whose code can run here."""
    path = folder / FILE
    if not path.is_file():
        return None
    header, objects = read_objects(path)
    if header["made_for"] != surroundings() or header["source"] != digest_of(source_of(folder).read_bytes()):
        return None
    return (header, objects) if _has_all(header) else None


def _has_all(header: Mapping[str, Any]) -> bool:
    """Whether the process has every function that code calls: LLVM ends the process where a symbol is missing."""
    entry_engine()  # before the first engine, LLVM finds no function of the process
    return all(llvm.address_of_symbol(name) is not None for name in header["needs"])


def is_for_here(folder: Path) -> bool:
    """Whether the program in `folder` has code that can run here. Raises `DamagedError`."""
    return _header(folder) is not None


def _engine_with(objects: bytes, sizes: Sequence[int]) -> Any:
    engine = made_engine()
    start = 0
    for size in sizes:
        engine.add_object_file(llvm.ObjectFileRef.from_data(objects[start : start + size]))
        start += size
    engine.finalize_object()
    return engine


def loaded(folder: Path) -> Any:
    """The program in `folder` as its emitted module would be, `main` and `FACTS`; `None` where numba must compile it.

    Raises `DamagedError`.
    """
    found = _header(folder)
    if found is None:
        return None
    return made(*found, folder / FILE)


def made(header: Mapping[str, Any], objects: bytes, path: Path) -> Any:
    """The program of a header and its objects, which came from the file at `path`. Raises `DamagedError`."""
    if not _has_all(header):
        raise DamagedError(f"{path} requires {', '.join(header['needs'])}, some of which this process lacks")
    engine = _engine_with(objects, header["sizes"])
    addresses = [engine.get_function_address(symbol) for symbol in header["kernels"]]
    if not all(addresses):
        raise DamagedError(f"{path} is damaged: a kernel is missing")
    table = np.array(addresses, np.int64)
    if header["team"] is None:
        main = partial(entry(addresses[-1], header["steps"], engine), table)
    else:
        team: Any = import_module(".team", __package__)
        lead, serve = map(engine.get_function_address, header["team"]["symbols"])
        run = team.TeamRunner(header["team"]["threads"], lead, serve, engine)
        main = partial(run, addresses[-1], table)
    return SimpleNamespace(**{name: header[name] for name in FACTS}, main=main, TAKES_ANY_SHAPE=True)
