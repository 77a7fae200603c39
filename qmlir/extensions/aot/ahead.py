"""Output formats of programs that run without Python, and the emitted files.

Each format is a row of `Contribution.forms`. It converts a module of loops to files. All formats with a C interface
have the same header, so that a caller can replace one with another. All formats have a manifest (`emitters/card.py`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.targets.cpu.emitters.card import Contents, ProgramCard, WrittenFiles, card_of
from qmlir.targets.cpu.emitters.llvm.target import code_target
from qmlir.targets.cpu.emitters.ports import EntryPoint, checked_name, port_text
from qmlir.targets.cpu.emitters.program import program_of
from qmlir.targets.cpu.emitters.writing import Names
from qmlir.targets.cpu.host import AheadMachine
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.loops.simd_unroll import unroll_tiles
from qmlir.text.files import access, note_sources, path_of
from qmlir.text.tables import Readable, bytes_text
from qmlir.text.writing import folder_result

# The header of an ahead-of-time compiled program, with the same functions and macros for every format.


def _macros(entry: EntryPoint) -> Iterator[str]:
    program, names = entry.program, Names()
    yield f"#define {entry.macro('ARENA_BYTES')} {entry.arena_bytes}"
    yield f"#define {entry.macro('WEIGHTS_BYTES')} {program.weights_bytes}"
    for port in (*program.inputs, *program.outputs):
        what = names.new(f"{entry.parameters[port]}_elements".upper())
        yield f"#define {entry.macro(what)} {port.elements} /* {port_text(entry, port)} */"


def header_text(entry: EntryPoint) -> str:
    """Returns the header of the program, `NAME.h`."""
    guard, name = entry.macro("H"), entry.name
    return "\n".join(
        [
            f"/* {name}: a neural network, emitted by qmlir. */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stdint.h>",
            "",
            "/* Bytes of working memory and of all constants; elements of each array. */",
            *_macros(entry),
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            "/* Compute the outputs. Gives 0, or k > 0 where input k (from 1) holds NaN or what is not a value of its",
            "   type: then nothing is computed. Arrays share no memory but where that is said of an output above.",
            "   Working memory is static: one call at a time. */",
            f"{entry.signature(entry.parameters, in_arena=False)};",
            "",
            f"/* The same in {entry.macro('ARENA_BYTES')} bytes of the caller, aligned to {ALIGNMENT}:",
            "   calls in different memory may run at once. */",
            f"{entry.signature(entry.parameters, in_arena=True)};",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            f"#endif /* {guard} */",
            "",
        ]
    )


@dataclass(frozen=True)
class AheadForm:
    """An output format: `write` returns the files except the header, and `isa` is the instruction set of the loops.

    An empty `isa` stands for the best instruction set of the machine. `triple` and `features` are the defaults for the
    machine. If the format `takes_tiles`, the loops contain register tiles; otherwise they are unrolled first.
    """

    summary: str
    isa: str
    write: Callable[[EntryPoint], WrittenFiles]
    emitter: str = "llvm"
    triple: str = ""
    features: str = ""
    has_header: bool = True
    takes_tiles: bool = True

    @property
    def is_for_machine(self) -> bool:
        """True for machine code, which targets one machine; false for source code that suits all machines."""
        return not self.isa

    def target_text(self, machine: AheadMachine) -> str:
        """Returns the description of the machine for the manifest."""
        if not self.is_for_machine:
            return f"any machine, made for {machine.cpu}" if machine.cpu else "any machine"
        target = code_target(machine)
        return " ".join(each for each in (target.triple, target.cpu, target.features) if each)

    def machine_for(self, triple: str = "", cpu: str = "", features: str = "") -> AheadMachine:
        """Returns the requested machine, with the format's triple by default; adds `features` to the format's."""
        return AheadMachine(triple or self.triple, cpu, ",".join(each for each in (self.features, features) if each))


def form_named(name: str) -> AheadForm:
    """Returns the output format `name`. Raises `DiagnosticError` if it is unknown or cannot be loaded."""
    forms = registry.named("forms")
    if name not in forms:
        raise text_error(unknown("output format", name, forms))
    return forms[name].load(AheadForm)


def machine_forms() -> str:
    """Returns, as text, the names of the output formats that consist of machine code."""
    return ", ".join(name for name in registry.named("forms") if form_named(name).is_for_machine)


class Emitted(Readable):
    """The files of an emitted program.

    `files` maps the name of each file to its contents, text or bytes. `card` is the manifest, which is also one of the
    files.
    """

    def __init__(self, card: ProgramCard, files: Mapping[str, Contents]) -> None:
        self.card = card
        self.files = files

    @property
    def form(self) -> str:
        """The output format, such as `c`."""
        return self.card.form

    @property
    def name(self) -> str:
        """The prefix of the files and functions."""
        return self.card.name

    def text(self) -> str:
        """List the files.

        Returns:
            The name and the size of each file.
        """
        rows = (f"  {name}: {bytes_text(len(contents))}" for name, contents in self.files.items())
        return "\n".join([f"{self.name} as {self.form}", *rows])

    def write(self, folder: Path) -> None:
        """Write the files into a folder without the checks of `save`.

        Args:
            folder: The folder to write; created if missing.

        Raises:
            OSError: A file cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name, contents in self.files.items():
            (folder / name).write_bytes(contents.encode() if isinstance(contents, str) else contents)

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write all files into a folder, or none of them.

        Files of these names that qmlir wrote there before are replaced, others are kept: a folder can hold several
        programs.

        Args:
            folder: The folder to write.
            force: Replace files of these names that qmlir did not write.

        Raises:
            DiagnosticError: A file is in the way, or the folder cannot be written.
        """
        with access(force=force):
            note_sources(self)
            with folder_result(path_of(folder), self.first, removes=False) as made:
                self.write(made)

    @property
    def first(self) -> Sequence[str]:
        """The names of the files that others depend on: the manifest and the header."""
        return [name for name in self.files if name.endswith((".json", ".h"))]


def emit_ahead(
    loops: ModuleOp,
    form: str = "c",
    name: str = "model",
    machine: AheadMachine | None = None,
    model: str = "",
    about: Mapping[str, Any] | None = None,
) -> Emitted:
    """Emits a single-threaded module of loops in the output format `form`: code, header and manifest.

    `name` is the prefix of the files and functions, `model` the fingerprint of the model, and `about` holds additional
    entries of the manifest. Raises `DiagnosticError` if the format is unknown, the name is not valid in C, or an
    operation cannot be emitted in the format.
    """
    row = form_named(form)
    known = loops if row.takes_tiles else unroll_tiles(loops.clone())
    entry = EntryPoint(program_of(known), checked_name(name), machine or row.machine_for())
    found = row.write(entry)
    files = {**found.files, **({f"{name}.h": header_text(entry)} if row.has_header else {})}
    card = card_of(entry.program, name, form, row.emitter, row.target_text(entry.machine), model)
    card = replace(card, arena_bytes=entry.arena_bytes).sealed(files, found.code_bytes, about)
    return Emitted(card, {**files, f"{name}.json": card.json()})
