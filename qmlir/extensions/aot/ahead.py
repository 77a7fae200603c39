"""Programs that run without Python: their output formats, the emitted files, and `qmlir.emit`, which emits a model.

Each format is a row of `Contribution.forms`. It converts a module of loops to files. All formats with a C interface
have the same header, so that a caller can replace one with another. All formats have a manifest (`emitters/card.py`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir import registry
from qmlir.extensions.aot.golden import GoldenVectors, golden_files, golden_vectors, with_layers
from qmlir.interpreter.samples import Data
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import nearest_name, op_error, text_error, unknown
from qmlir.ir.equivalence import fingerprint
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import parameter_inputs, specialize
from qmlir.targets import cpu as cpu_target
from qmlir.targets.cpu.compiler import as_main
from qmlir.targets.cpu.emitters.card import Contents, ProgramCard, WrittenFiles, card_of
from qmlir.targets.cpu.emitters.llvm.target import code_target
from qmlir.targets.cpu.emitters.ports import EntryPoint, checked_name, port_text
from qmlir.targets.cpu.emitters.program import program_of
from qmlir.targets.cpu.emitters.writing import Names
from qmlir.targets.cpu.host import AheadMachine, best_isa, resolved_isa
from qmlir.targets.cpu.isa import instruction_set, isas_of_processors
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.loops.simd_unroll import unroll_tiles
from qmlir.text.files import access, note_sources, path_of
from qmlir.text.tables import Readable, bytes_text
from qmlir.text.writing import folder_result
from qmlir.workflows.loading import takes_model

# The header of an ahead-of-time compiled program, with the same functions and macros for every format.


def _macros(entry: EntryPoint) -> Iterator[str]:
    program, names = entry.program, Names()
    yield f"#define {entry.macro('ARENA_BYTES')} {entry.arena_bytes}"
    yield f"#define {entry.macro('WEIGHTS_BYTES')} {program.weights_bytes}"
    for port in (*program.inputs, *program.outputs):
        what = names.new(f"{entry.parameters[port]}_elements".upper())
        yield f"#define {entry.macro(what)} {port.elements} /* {port_text(entry, port)} */"
        if port.scale is not None:  # real = scale * (stored - zero point)
            for suffix, value in (("scale", f"{port.scale:.9g}f"), ("zero_point", port.zero_point)):
                yield f"#define {entry.macro(names.new(f'{entry.parameters[port]}_{suffix}'.upper()))} ({value})"


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
    machine. If the format `takes_tiles`, the loops contain register tiles; otherwise they are unrolled first. If it
    `has_layers`, its programs can print the results of their layers.
    """

    summary: str
    isa: str
    write: Callable[[EntryPoint], WrittenFiles]
    emitter: str = "llvm"
    triple: str = ""
    features: str = ""
    has_header: bool = True
    takes_tiles: bool = True
    has_layers: bool = False

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
    golden: GoldenVectors | None = None,
) -> Emitted:
    """Emits a single-threaded module of loops in the output format `form`: code, header and manifest.

    `name` is the prefix of the files and functions, `model` the fingerprint of the model, `about` holds additional
    entries of the manifest, and `golden` the vectors to write next to the code. Raises `DiagnosticError` if the format
    is unknown, the name is not valid in C, or an operation cannot be emitted in the format.
    """
    row = form_named(form)
    known = loops if row.takes_tiles else unroll_tiles(loops.clone())
    entry = EntryPoint(program_of(known), checked_name(name), machine or row.machine_for())
    found = row.write(entry)
    files = {**found.files, **({f"{name}.h": header_text(entry)} if row.has_header else {})}
    if golden is not None:
        files |= golden_files(entry, golden)
    card = card_of(entry.program, name, form, row.emitter, row.target_text(entry.machine), model)
    card = replace(card, arena_bytes=entry.arena_bytes).sealed(files, found.code_bytes, about)
    return Emitted(card, {**files, f"{name}.json": card.json()})


# A model, compiled and emitted.


def _check_closed(module: ModuleOp, function: FuncOp) -> None:
    """Raises `DiagnosticError` if a dimension is dynamic, or a shape depends on the values of an input."""
    parameters = parameter_inputs(module, function.sym_name.data)
    for port in inputs_of(function):
        type_ = ranked_tensor(port.type)
        if type_ is None or not type_.has_static_shape():
            raise op_error(
                function,
                f"input '{port.name}' must have a static shape, but got {port.type}; fix it with --shape "
                f"{port.name}=… (shapes=)",
            )
        if port.name in parameters:
            raise op_error(function, f"input '{port.name}' determines shapes, so its value must be a constant")


def check_golden(form: str, golden: int, *, has_data: bool, layers: bool = False) -> None:
    """Raises `DiagnosticError` for golden vectors in a format without a C header, and for data without them.

    The same applies to golden `layers`, which require vectors and a format that has them.
    """
    if layers and not golden:
        raise text_error("--golden-layers (golden_layers=) requires golden vectors; help: pass --golden N (golden=N)")
    if layers and not form_named(form).has_layers:
        known = ", ".join(name for name in registry.named("forms") if form_named(name).has_layers)
        raise text_error(f"--golden-layers (golden_layers=) requires format {known}, but got '{form}'")
    if golden and not form_named(form).has_header:
        raise text_error(f"--golden (golden=) requires a format with a C header, but got '{form}'")
    if has_data and not golden:
        raise text_error("data has no effect without golden vectors; help: pass --golden N (golden=N)")


def isa_of_text(form: str, cpu: str, isa: str = "") -> str:
    """Returns the instruction set for a portable source format: that of `cpu`, or else `isa` or the format's default.

    Raises `DiagnosticError` if `cpu` has no instruction set with specific loops, or one that differs from `isa`.
    """
    if not cpu:
        return isa or form_named(form).isa
    known = isas_of_processors()
    if cpu not in known:
        near = nearest_name(cpu, known)
        raise text_error(f"unknown cpu '{cpu}' for --emit {form}{near} (available: {', '.join(known)})")
    if isa and isa != known[cpu]:
        raise text_error(
            f"--emit {form} with cpu {cpu} uses isa {known[cpu]}, but got isa {isa}; pass only one of them"
        )
    return known[cpu]


def isa_of_machine(machine: AheadMachine) -> str:
    """Returns the instruction set for machine code: that of the CPU if the machine has the features that it needs.

    Otherwise it is the best instruction set for the machine's features, so that a CPU without floating-point
    instructions never gets code that uses them.
    """
    features = code_target(machine).processor.features
    own = isas_of_processors().get(machine.cpu)
    return own if own is not None and instruction_set(own).needs <= features else best_isa(features)


@takes_model
def emit(
    module: ModuleOp,
    *,
    format: str = "c",
    name: str = "model",
    isa: str = "",
    function: str = "main",
    triple: str = "",
    cpu: str = "",
    features: str = "",
    about: Mapping[str, Any] | None = None,
    golden: int = 0,
    golden_layers: bool = False,
    data: Data | None = None,
) -> Emitted:
    """Emit a model as files that run without Python.

    The files compute what `interpret` computes, bit for bit, except for contractions of floats, whose order of
    additions differs.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.
        format: Output format: `"c"` for C99 in one file, `"object"`, `"static"`, `"shared"`, or `"wasm"` for an npm
            package of WebAssembly.
        name: Prefix of the files and of the functions in them; a C identifier.
        isa: Instruction set that the loops are written for. Empty uses that of the format or of the machine.
        function: Name of the function to emit.
        triple: LLVM target triple, for the formats in machine code. Empty is that of this computer, or of WebAssembly.
        cpu: CPU to generate code for: a name of LLVM, or `host`. Empty is any CPU of the triple. For `"c"` it is the
            CPU whose instructions the loops suit, such as `cortex-m3`.
        features: LLVM features to enable in addition to those of the CPU.
        about: JSON values to store in the manifest, such as the origin of the model.
        golden: Number of samples to write as golden vectors (`NAME_golden.h`), with a main that checks the program on
            a device (`NAME_golden.c`). 0 writes none.
        golden_layers: Also write the elements of each layer (`NAME_layers.npz`), and let the C program print them if it
            is compiled with the macro `NAME_LAYERS`. `compare_dump` reads the output of a device.
        data: Samples for `golden`, in a form that `qmlir.profile` accepts; floats are quantized for an input that takes
            stored integers. `None` uses random inputs from a fixed seed.

    Returns:
        The files, with a header (except for `"wasm"`) and a manifest.

    Raises:
        DiagnosticError: A format, instruction set, triple, CPU or feature is unknown or does not fit the format, `name`
            is not a C identifier, the model has dynamic dimensions, an operation cannot be emitted in this format, or
            `data` has fewer than `golden` samples.

    Example:
        >>> emitted = qmlir.emit("docs/examples/fully_connected.mlir", name="layer")
        >>> sorted(emitted.files)
        ['layer.c', 'layer.h', 'layer.json']
        >>> emitted.save("layer")
    """
    row = form_named(format)
    checked_name(name)
    check_golden(format, golden, has_data=data is not None, layers=golden_layers)
    if not row.is_for_machine:
        if given := [f"{key} {value}" for key, value in (("triple", triple), ("features", features)) if value]:
            raise text_error(f"{given[0]} requires one of the formats {machine_forms()}, but got '{format}'")
        isa = isa_of_text(format, cpu, isa)
    _check_closed(module, function_of(module, function))
    vectors = golden_vectors(module, function, golden, data) if golden else None
    main = as_main(specialize(module, {}, {}, function=function), function)
    machine = row.machine_for(triple, cpu, features)
    loops = cpu_target.lowered(main, resolved_isa(isa or isa_of_machine(machine)))
    if vectors is not None and golden_layers:
        vectors = with_layers(vectors, main, loops)
    return emit_ahead(loops, format, name, machine, fingerprint(main), about, vectors)
