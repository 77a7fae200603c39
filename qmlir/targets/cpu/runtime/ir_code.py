"""Compiles the LLVM IR of a program to machine code, with llvmlite alone.

The file `kernels.ll` begins with a line of JSON that contains the fields of `machine_code.FACTS` and the CPU features
that the code needs.
"""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from .errors import CorruptProgramError
from .machine_code import (
    IR,
    digest_of,
    feature_text,
    header_of,
    loaded,
    made,
    processor_features,
    processor_name,
)

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
        raise CorruptProgramError(
            f"{path} is damaged: it differs from the file written with the program; compile the model again"
        )
    found = loaded(folder)
    if found is not None:
        return found
    text = data.decode()
    facts = facts_of(text)
    missing = [name for name in facts["features"] if not processor_features().get(name, False)]
    if missing:
        raise CorruptProgramError(
            f"{folder} requires a CPU with {', '.join(missing)}, which this one lacks; compile the model here, or "
            "with --isa generic"
        )
    objects = compiled_objects(text, host_machine())
    return made(header_of(facts, digest, objects), b"".join(objects), path)
