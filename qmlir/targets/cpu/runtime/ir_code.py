"""LLVM IR as machine code: what the emitter `llvm` wrote is compiled here, by llvmlite alone.

The file of a program, `kernels.ll`, begins with a line of JSON that says what `machine_code.FACTS` does, and which
features of the processor the code needs.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from .errors import DamagedError
from .machine_code import IR, digest_of, header_of, loaded, made
from .processor import feature_text, processor_features, processor_name

HEAD = "; qmlir "
"""What the first line begins with."""

SPEED = 2
"""How far LLVM goes: `-O2`, with vectors made of loops and not of straight lines, as numba has it.

Of the digits CNN, MobileNetV2 and ResNet-50 on AVX2, passes and code take 0.52, 1.5 and 2.0 s at 2, 0.65, 1.6 and 2.4 s
at 3, and 0.49, 1.5 and 1.8 s at 1; their times are the same within 2%. Kernels are written in vectors; at 1 no others
would be made of loops.
"""


def facts_of(text: str) -> dict[str, Any]:
    """What the first line says. Raises `ValueError` where it says nothing."""
    line = text.partition("\n")[0]
    if not line.startswith(HEAD):
        raise ValueError(f"it starts with '{line[:40]}'")
    return json.loads(line.removeprefix(HEAD))


def host_machine() -> Any:
    """LLVM's target machine for the processor that programs of this process are for, as numba has it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    reloc = "static" if triple.startswith(("x86", "i686", "i386")) else "default"
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor_name(), features=feature_text(), opt=3, reloc=reloc, codemodel="jitdefault", jit=True
    )


def compiled(text: str, machine: Any, speed: int = SPEED) -> bytes:
    """The object that LLVM makes of a module. Raises `RuntimeError` where the text is no module."""
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization, options.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def program_module(folder: Path, digest: str) -> Any:
    """What the program in `folder` says of itself, and its `main`: machine code that is there, or LLVM makes it now.

    `digest` is that of the file of LLVM IR. Raises `DamagedError` where it is another one, and where this processor
    lacks what it needs.
    """
    path = folder / IR
    data = path.read_bytes() if path.is_file() else b""
    if digest_of(data) != digest:
        raise DamagedError(
            f"{path} is damaged: it differs from the file written with the program; compile the model again"
        )
    found = loaded(folder)
    if found is not None:
        return found
    text = data.decode()
    facts = facts_of(text)
    missing = [name for name in facts["features"] if not processor_features().get(name, False)]
    if missing:
        raise DamagedError(
            f"{folder} requires a CPU with {', '.join(missing)}, which this one lacks; compile the model here, or "
            "with --isa generic"
        )
    code = compiled(text, host_machine())
    header = header_of(facts, digest, [code])
    return made(header, code, path)
