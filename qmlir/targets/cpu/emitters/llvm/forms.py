"""Programs without Python as machine code: an object, an archive of it, and a shared library."""

from collections.abc import Mapping

from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.llvm.archive import archive
from qmlir.targets.cpu.emitters.llvm.linkers import shared_library
from qmlir.targets.cpu.emitters.llvm.standalone import standalone_text
from qmlir.targets.cpu.emitters.llvm.target import code_target
from qmlir.targets.cpu.emitters.numba.runtime.ir_code import compiled
from qmlir.targets.cpu.emitters.ports import EntryPoint


def object_of(entry: EntryPoint) -> bytes:
    """The object of a program. Raises `DiagnosticError` where the processor lacks what its loops use."""
    target, isa = code_target(entry.machine), entry.program.isa
    missing = sorted(isa.needs - target.processor.features)
    if missing:
        found = f"{target.triple} {target.cpu or 'generic'}"
        raise op_error(entry.program.main, f"is made for {isa.name}, and {found} lacks {', '.join(missing)}")
    return compiled(standalone_text(entry, target.processor), target.machine())


def write_object(entry: EntryPoint) -> Mapping[str, bytes]:
    """`NAME.o`, which a linker takes."""
    return {f"{entry.name}.o": object_of(entry)}


def write_static(entry: EntryPoint) -> Mapping[str, bytes]:
    """`libNAME.a`."""
    symbols = [f"{entry.name}_run_in", f"{entry.name}_run"]
    return {f"lib{entry.name}.a": archive(f"{entry.name}.o", object_of(entry), symbols)}


def write_shared(entry: EntryPoint) -> Mapping[str, bytes]:
    """`libNAME.so`, linked by what there is. Raises `DiagnosticError` where nothing links for the machine."""
    return {f"lib{entry.name}.so": shared_library(entry.name, object_of(entry), code_target(entry.machine).triple)}
