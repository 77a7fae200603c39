"""From a static module to the package of its program by LLVM: lowered to loops, emitted as LLVM IR, compiled.

`compiler` imports this when a program is not in the cache. Nothing here or below imports numba.
"""

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.fingerprint import fingerprint
from qmlir.ir.signature import MAIN
from qmlir.targets.cpu.any_batch import batch_plan
from qmlir.targets.cpu.emitters.card import PROGRAM_FORM, card_of
from qmlir.targets.cpu.emitters.llvm.emit import emit_module
from qmlir.targets.cpu.emitters.program import program_of
from qmlir.targets.cpu.host import host_processor, host_text
from qmlir.targets.cpu.lowered import constants_of, lowered
from qmlir.targets.cpu.package import IR_PROGRAM, write_package
from qmlir.targets.cpu.runtime.ir_code import compiled, facts_of, host_machine
from qmlir.targets.cpu.runtime.machine_code import FILE, digest_of, written
from qmlir.targets.cpu.tuned import UNTUNED, Tuned


def write_ir_program(module: ModuleOp, isa: str, threads: int, folder: Path, tuned: Tuned = UNTUNED) -> None:
    """Lower a static module, and write its package with its machine code into `folder`."""
    loops = lowered(module, isa, threads, tuned)
    text = emit_module(loops, host_processor())
    card = card_of(program_of(loops), MAIN, PROGRAM_FORM, "llvm", host_text(), fingerprint(module), threads)
    write_package(folder, text, constants_of(loops), vars(batch_plan(module, threads)), IR_PROGRAM, card)
    code = compiled(text, host_machine())
    (folder / FILE).write_bytes(written(facts_of(text), digest_of(text.encode()), [code]))
