"""Programs without Python as machine code: an object, a static library, and a shared library."""

from qmlir.extensions.aot.ahead import AheadForm
from qmlir.extensions.aot.llvm.archive import archive
from qmlir.extensions.aot.llvm.linkers import shared_library
from qmlir.extensions.aot.llvm.standalone import standalone_text
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.emitters.card import WrittenFiles, code_bytes
from qmlir.targets.cpu.emitters.llvm.target import code_target
from qmlir.targets.cpu.emitters.ports import EntryPoint


def object_of(entry: EntryPoint) -> bytes:
    """Returns the object of a program. Raises `DiagnosticError` if the CPU lacks required features, or LLVM fails."""
    target, isa = code_target(entry.machine), entry.program.isa
    missing = sorted(isa.needs - target.processor.features)
    if missing:
        found = f"{target.triple} {target.cpu or 'generic'}"
        raise op_error(entry.program.main, f"requires {isa.name}, but {found} lacks {', '.join(missing)}")
    return target.compiled(standalone_text(entry, target.processor))


def _write_object(entry: EntryPoint) -> WrittenFiles:
    """Writes `NAME.o`, an object for a linker."""
    data = object_of(entry)
    return WrittenFiles({f"{entry.name}.o": data}, code_bytes(data))


def _write_static(entry: EntryPoint) -> WrittenFiles:
    """Writes `libNAME.a`, a static library."""
    data, symbols = object_of(entry), [f"{entry.name}_run_in", f"{entry.name}_run"]
    return WrittenFiles({f"lib{entry.name}.a": archive(f"{entry.name}.o", data, symbols)}, code_bytes(data))


def _write_shared(entry: EntryPoint) -> WrittenFiles:
    """Writes `libNAME.so`. Raises `DiagnosticError` if no available linker supports the machine."""
    data = object_of(entry)
    library = shared_library(entry.name, data, code_target(entry.machine).triple)
    return WrittenFiles({f"lib{entry.name}.so": library}, code_bytes(data))


OBJECT = AheadForm("an object in machine code", "", _write_object)
STATIC = AheadForm("an archive of the object", "", _write_static)
SHARED = AheadForm("a shared library", "", _write_shared)
