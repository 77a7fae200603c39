"""The emitter `llvm`: LLVM IR, which llvmlite compiles at once. Nothing here or below imports numba."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.targets.cpu.emitters.card import ProgramCard
from qmlir.targets.cpu.emitters.constants import constants_of
from qmlir.targets.cpu.emitters.emitter import CodeEmitter
from qmlir.targets.cpu.emitters.llvm.emit import emit_module
from qmlir.targets.cpu.host import host_processor
from qmlir.targets.cpu.package import IR_PROGRAM, write_package
from qmlir.targets.cpu.runtime.ir_code import compiled_objects, facts_of, host_machine
from qmlir.targets.cpu.runtime.machine_code import FILE, digest_of, written


def _write(loops: ModuleOp, folder: Path, batch: Mapping[str, Any] | None, card: ProgramCard | None) -> None:
    text = emit_module(loops, host_processor())
    with ThreadPoolExecutor(1) as beside:  # LLVM runs without Python's lock
        objects = beside.submit(compiled_objects, text, host_machine())
        write_package(folder, text, constants_of(loops), batch, IR_PROGRAM, card)
    (folder / FILE).write_bytes(written(facts_of(text), digest_of(text.encode()), objects.result()))


EMITTER = CodeEmitter(_write, needs=("llvmlite",))
