"""The machine code of a program: its file, which is loaded without numba, and its compilation from LLVM IR.

The file begins with the SHA-256 of the rest: the length of a JSON header (8 bytes), the header with the interface of
the emitted module, and the object files of the compiled kernels. If the CPU, LLVM or the kernels differ, the file is
ignored, and the emitted module is compiled again.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from .entry import entry, entry_engine, made_engine
from .errors import CorruptProgramError, damaged

# --- The CPU ----------------------------------------------------------------------------------------------------------
#
# Code is compiled for this machine's CPU, or for the one that the environment names. `NUMBA_CPU_NAME` and
# `NUMBA_CPU_FEATURES` (such as `+avx2,-avx512f`) are numba's variables, read as numba reads them, so that emitted code,
# cache keys and saved machine code are consistent with it.

NAME, FEATURES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"


def processor_name() -> str:
    """Returns LLVM's name of the CPU, such as `znver4`."""
    return os.environ.get(NAME) or str(llvm.get_host_cpu_name())


def feature_text() -> str:
    """Returns the CPU features in LLVM's syntax; empty for numba's CPU `generic`, unless the environment names some."""
    nothing = "" if processor_name().lower() == "generic" else None
    given = os.environ.get(FEATURES, nothing)
    return str(llvm.get_host_cpu_features().flatten()) if given is None else given


def processor_features() -> Mapping[str, bool]:
    """Returns CPU features by LLVM's names: True if the CPU has the feature, False if it lacks it."""
    return {each[1:]: each[0] == "+" for each in feature_text().split(",") if each[:1] in ("+", "-")}


@cache
def host_features() -> frozenset[str]:
    """Returns the features of this CPU, by LLVM's names."""
    return frozenset(name for name, is_there in processor_features().items() if is_there)


def check_features(what: object, features: Iterable[str]) -> None:
    """Raises `CorruptProgramError` if the CPU lacks a feature that `what` needs.

    Otherwise, LLVM would end the process at an unsupported instruction.
    """
    there = processor_features()
    missing = [name for name in features if not there.get(name, False)]
    if missing:
        raise CorruptProgramError(
            f"{what} requires a CPU with {', '.join(missing)}, which this one lacks; compile the model here, or "
            "with --isa generic"
        )


# --- The file of machine code -----------------------------------------------------------------------------------------

FILE = "machine_code.bin"

SOURCE = "kernels.py"
"""The emitted module that numba compiles."""

IR = "kernels.ll"
"""The emitted module that LLVM compiles."""

FACTS = ("INPUTS", "OUTPUTS", "IN_PLACE", "CALLS", "CONSTANTS", "ARENA_BYTES")
"""The interface of the emitted module: names that it defines and that the header of the file repeats."""


_DIGEST = hashlib.sha256().digest_size


def digest_of(data: bytes) -> str:
    """Returns the SHA-256 that identifies objects and their source."""
    return hashlib.sha256(data).hexdigest()


def surroundings() -> dict[str, Any]:
    """Returns the properties of this machine and process that the machine code of any program depends on."""
    return {
        "triple": llvm.get_process_triple(),
        "processor": processor_name(),
        "features": sorted(name for name, is_there in processor_features().items() if is_there),
        "llvmlite": llvmlite.__version__,
        "python": [sys.implementation.cache_tag, object.__basicsize__],
    }


def source_of(folder: Path) -> Path:
    """Returns the path of the emitted module in `folder`: LLVM IR if there is such a file, else Python source."""
    ir = folder / IR
    return ir if ir.is_file() else folder / SOURCE


def header_of(facts: Mapping[str, Any], source: str, objects: Sequence[bytes]) -> dict[str, Any]:
    """Returns the header for objects compiled on this machine from the emitted module with digest `source`.

    `facts` contains the values of `FACTS`, and the symbols of the kernels.
    """
    return {**facts, "source": source, "made_for": surroundings(), "sizes": [len(each) for each in objects]}


def written(facts: Mapping[str, Any], source: str, objects: Sequence[bytes]) -> bytes:
    """Returns the content of the machine code file; arguments are those of `header_of`."""
    text = json.dumps(header_of(facts, source, objects)).encode()
    content = b"".join([len(text).to_bytes(8, "little"), text, *objects])
    return hashlib.sha256(content).digest() + content


def read_objects(path: Path) -> tuple[dict[str, Any], bytes]:
    """Returns the header and objects of a machine code file. Raises `CorruptProgramError` if its digest is wrong."""
    data = path.read_bytes()
    content = memoryview(data)[_DIGEST:]
    if hashlib.sha256(content).digest() != data[:_DIGEST]:
        raise damaged(path)
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(bytes(content[8:end])), bytes(content[end:])


def _header(folder: Path) -> tuple[dict[str, Any], bytes] | None:
    """Returns the header and the objects of a program; `None` if no machine code fits this machine."""
    path = folder / FILE
    if not path.is_file():
        return None
    header, objects = read_objects(path)
    if header["made_for"] != surroundings() or header["source"] != digest_of(source_of(folder).read_bytes()):
        return None
    return (header, objects) if _has_all(header) else None


def _has_all(header: Mapping[str, Any]) -> bool:
    """Returns True if the process has every function that the code calls; LLVM ends the process if one is missing."""
    entry_engine()  # before the first engine, LLVM finds no function of the process
    return all(llvm.address_of_symbol(name) is not None for name in header["needs"])


def is_for_here(folder: Path) -> bool:
    """Returns True if `folder` has machine code for this machine. Raises `CorruptProgramError` if it is damaged."""
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
    """Returns an object with the interface of the emitted module in `folder`: `main` and the names in `FACTS`.

    Returns `None` if no machine code fits this machine, so that the module must be compiled. Raises
    `CorruptProgramError` if the machine code file is damaged.
    """
    found = _header(folder)
    if found is None:
        return None
    return made(*found, folder / FILE)


def made(header: Mapping[str, Any], objects: bytes, path: Path) -> Any:
    """Loads `objects` and returns an object with the interface of the emitted module, which `header` describes.

    Raises `CorruptProgramError`, which names the file `path`, if a kernel or a function that the code calls is missing.
    """
    if not _has_all(header):
        raise CorruptProgramError(f"{path} requires {', '.join(header['needs'])}, some of which this process lacks")
    engine = _engine_with(objects, header["sizes"])
    addresses = [engine.get_function_address(symbol) for symbol in header["kernels"]]
    if not all(addresses):
        raise CorruptProgramError(f"{path} is damaged: a kernel is missing")
    table = np.array(addresses, np.int64)
    if header["team"] is None:
        main = partial(entry(addresses[-1], header["steps"], engine), table)
    else:
        team: Any = import_module(".team", __package__)
        lead, serve = map(engine.get_function_address, header["team"]["symbols"])
        run = team.TeamRunner(header["team"]["threads"], lead, serve, engine)
        main = partial(run, addresses[-1], table)
    return SimpleNamespace(**{name: header[name] for name in FACTS}, main=main, TAKES_ANY_SHAPE=True)


# --- LLVM IR ----------------------------------------------------------------------------------------------------------
#
# The file `kernels.ll` begins with a line of JSON that contains the fields of `FACTS` and the CPU features that the
# code needs.

HEAD = "; qmlir "
"""The start of the first line."""

SPEED = 2
"""LLVM's optimization level: `-O2`, with loop vectorization but without SLP vectorization, as in numba.

For the digits CNN, MobileNetV2 and ResNet-50 on AVX2, compilation takes 0.52, 1.5 and 2.0 s at level 2; 0.65, 1.6 and
2.4 s at level 3; and 0.49, 1.5 and 1.8 s at level 1. Run times agree within 2%. Kernels already use vectors; at level
1, LLVM would not vectorize the remaining loops.
"""


TILED = '"tiled"'
"""The attribute of functions that LLVM's passes can't improve: all of their innermost loops compute on vectors."""

_FUNCTION = re.compile(
    r"^define (?:internal )?(?P<head>[^\n]*?@(?P<name>[\w.]+)\([^\n]*) \{$.*?^\}$", re.MULTILINE | re.DOTALL
)
"""Matches a function of an emitted module."""


def facts_of(text: str) -> dict[str, Any]:
    """Returns the facts in the first line. Raises `ValueError` if it has none."""
    line = text.partition("\n")[0]
    if not line.startswith(HEAD):
        raise ValueError(f"it starts with '{line[:40]}'")
    return json.loads(line.removeprefix(HEAD))


def host_machine() -> Any:
    """Returns LLVM's target machine for the CPU of this process, with the settings that numba uses."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    reloc = "static" if triple.startswith(("x86", "i686", "i386")) else "default"
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor_name(), features=feature_text(), opt=3, reloc=reloc, codemodel="jitdefault", jit=True
    )


def compiled(text: str, machine: Any, speed: int | None = SPEED) -> bytes:
    """Compiles a module to an object file, without LLVM's passes if `speed` is `None`.

    Raises `RuntimeError` if the text is not valid LLVM IR.
    """
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if speed is not None:
        options = llvm.create_pipeline_tuning_options(speed_level=speed)
        options.loop_vectorization, options.slp_vectorization = True, False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def _module_of(own: Sequence[re.Match[str]], others: Sequence[re.Match[str]], declarations: str) -> str:
    """Returns a module with the functions `own`, which may call each other and the functions `others`."""
    texts = [each[0].replace("define internal ", "define ", 1) for each in own]
    called = {name for text in texts for name in re.findall(r"@([\w.]+)", text)}
    heads = [f"declare {each['head']}" for each in others if each["name"] in called]
    return "\n".join([declarations, *heads, *texts])


def compiled_objects(text: str, machine: Any) -> list[bytes]:
    """Compiles an emitted module to object files: functions marked `TILED` without LLVM's passes, then all others.

    For ResNet-50 on AVX2, this halves the time that LLVM takes; programs run equally fast. Raises `RuntimeError` if the
    text is not valid LLVM IR.
    """
    functions = list(_FUNCTION.finditer(text))
    tiled = [each for each in functions if TILED in each["head"]]
    if not tiled:
        return [compiled(text, machine)]
    others, declarations = [each for each in functions if TILED not in each["head"]], _FUNCTION.sub("", text)
    return [
        compiled(_module_of(tiled, others, declarations), machine, None),
        compiled(_module_of(others, tiled, declarations), machine),
    ]


def program_module(folder: Path, digest: str) -> Any:
    """Returns the facts of the program in `folder` and its `main`; compiles it if no machine code fits this machine.

    `digest` is the expected digest of the LLVM IR file. Raises `CorruptProgramError` if it differs, or if this CPU
    lacks a feature that the code needs.
    """
    path = folder / IR
    data = path.read_bytes() if path.is_file() else b""
    if digest_of(data) != digest:
        raise damaged(path)
    found = loaded(folder)
    if found is not None:
        return found
    text = data.decode()
    facts = facts_of(text)
    check_features(folder, facts["features"])
    objects = compiled_objects(text, host_machine())
    return made(header_of(facts, digest, objects), b"".join(objects), path)
