"""`qmlir compile`: makes a program of a float or quantized model, a folder that needs NumPy and numba or llvmlite.

For other targets the folder has the partitioned module, and the output of each target for its parts. With `--emit` it
has a program that runs without Python: C, say.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qmlir.ir.diagnostics import op_error, text_error
from qmlir.specialization.inputs import function_of, parse_sizes
from qmlir.specialization.specialize import specialize
from qmlir.target import HOST, find_targets
from qmlir.targets.compiling import compile
from qmlir.targets.cpu.emitters.ahead import form_named, form_names, machine_forms
from qmlir.targets.cpu.emitters.card import PARTS_FORM, ProgramCard, read_card, with_digest
from qmlir.targets.cpu.emitters.card import PROGRAM_FORM as EMIT_PROGRAM
from qmlir.targets.cpu.emitters.emitter import NUMBA, emitter_names
from qmlir.targets.cpu.emitters.ports import checked_name
from qmlir.targets.cpu.emitting import emit, isa_of_text
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.package import CARD, CONSTANTS
from qmlir.targets.cpu.saved import PROGRAM_FIRST, saved_parts
from qmlir.targets.heterogeneous import HybridProgram
from qmlir.text.data import JsonValue
from qmlir.text.tables import bytes_text, counted
from qmlir.text.writing import folder_result
from qmlir.tools.arguments import (
    IMPORT,
    add_model,
    add_options,
    add_output,
    import_settings,
    load_model,
    parse_bytes,
    value_of,
)
from qmlir.tools.command_runner import Command, Session
from qmlir.tools.models import has_open_batch_only, shapes_text, with_one_sample
from qmlir.workflows.folder import QuantizedFolder, check_new_folder

_LIMITS: Mapping[str, str] = {
    "--max-code": "machine code",
    "--max-weights": "weight memory",
    "--max-arena": "scratch memory",
}
"""What sizes of a program may be limited, by option."""


def _about(model: str) -> Mapping[str, Any]:
    """What the card says of the model: where it comes from, and what `qmlir quantize` found, if that made it."""
    if QuantizedFolder.holds(model):
        folder = QuantizedFolder.open(model)
        summary = JsonValue(f"'{folder.summary}'", folder.read_summary())
        said = {key: each.value for key, each in summary.entries().items() if key not in ("format", "version")}
        return {**said, **{key: Path(path.text()).name for key in ("model", "data") if (path := summary.get(key))}}
    return {"model": Path(model).name}


def _check_sizes(arguments: argparse.Namespace, card: ProgramCard) -> None:
    """Raise `DiagnosticError` where a program is larger than is allowed, or its size is not known."""
    limits = {option: most for option in _LIMITS if (most := value_of(arguments, option)) is not None}
    if limits and card.form == PARTS_FORM:
        _check_known(card)
    for option, most in limits.items():
        size = getattr(card, f"{option[6:]}_bytes")
        if size is None:
            raise text_error(f"{option} requires machine code: the size of C code is not known before it is compiled")
        if size > most:
            raise text_error(f"{_LIMITS[option]} must be at most {most} bytes ({option}), but got {size}")


def _check_known(card: ProgramCard) -> None:
    """Raise `DiagnosticError` where sizes of a program of several targets are not those of its parts for the CPU."""
    own = [part for part, target in card.parts.items() if target == HOST]
    if not own:
        raise text_error(f"runtime sizes are supported only for target '{HOST}', but this program has no part for it")
    if unknown := [part for part in own if part not in saved_parts(card)]:
        raise text_error(f"the shapes of part '{unknown[0]}' are not known at compile time")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `qmlir compile`."""
    add_model(parser)
    add_output(parser, "output folder of the program", required=True, metavar="DIR")
    add_options(parser, *IMPORT, "--keep-casts", "--threads", "--isa", "--device")
    parser.add_argument(
        "--max-size", action="append", default=[], metavar="SIZE=MAX",
        help="maximum size of a dynamic dimension, as in sequence=256, or its buckets, sequence=16x64 (repeatable)",
    )  # fmt: skip
    parser.add_argument("--no-tuned", action="store_true", help="ignore schedules found by qmlir tune")
    parser.add_argument(
        "--codegen", choices=emitter_names(), default=NUMBA,
        help="code generator: numba, or llvm, which compiles faster and needs no numba at run time",
    )  # fmt: skip
    parser.add_argument(
        "--emit", default=EMIT_PROGRAM, metavar="FORM",
        help=f"output format: {EMIT_PROGRAM} (a Python package), {', '.join(form_names())} "
        f"(default: {EMIT_PROGRAM})",
    )  # fmt: skip
    parser.add_argument(
        "--name", default="model", metavar="NAME",
        help="prefix of emitted files and functions (default: model)",
    )  # fmt: skip
    parser.add_argument(
        "--triple", default="", metavar="TRIPLE",
        help="LLVM target triple, such as aarch64-linux-gnu (default: this machine)",
    )  # fmt: skip
    parser.add_argument(
        "--cpu",
        default="",
        help="CPU to generate code for, such as cortex-a76, or host (default: any CPU of the triple)",
    )
    parser.add_argument("--features", default="", help="additional CPU features, such as +dotprod,-fullfp16")
    parser.add_argument("--function", default="main", metavar="NAME", help="function to compile (default: main)")
    for option, what in _LIMITS.items():
        parser.add_argument(
            option, type=parse_bytes, metavar="BYTES", help=f"fail if {what} exceeds BYTES: 65536, 256K, 4M"
        )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Compile a model and save the program. Raises `DiagnosticError`."""
    output = Path(arguments.output)
    _check_machine(arguments)
    if arguments.emit != EMIT_PROGRAM:
        return _emit(arguments, session, output)
    check_new_folder(output, "compile", (*PROGRAM_FIRST, CONSTANTS))
    find_targets(arguments.device or HOST)  # before the model is read
    started = time.perf_counter()
    module = load_model(arguments.model, session, function=arguments.function, **import_settings(arguments))
    function = function_of(module, arguments.function)
    lengths = {name: sizes if len(sizes) > 1 else max(sizes) for name, sizes in parse_sizes(arguments.max_size).items()}
    if not lengths:
        if one := with_one_sample(function, {}):
            if not has_open_batch_only(function):
                remedy = f"fix them with {shapes_text(one)}, or use --max-size NAME=MAX for any size"
                raise op_error(function, f"has dynamic dimensions; {remedy}")
            session.say(f"compiling for {shapes_text(one)}; the program also runs batches of independent samples")
        module = specialize(module, one, function=arguments.function)
    program: Any = compile(
        module, device=arguments.device, threads=arguments.threads, isa=arguments.isa, function=arguments.function,
        progress=session.progress, tuned=not arguments.no_tuned, max_sizes=lengths or None, codegen=arguments.codegen,
    )  # fmt: skip
    with folder_result(output, PROGRAM_FIRST) as aside:
        program.write(aside, _about(arguments.model))
        _check_sizes(arguments, read_card(aside / CARD))
        size = sum(path.stat().st_size for path in aside.rglob("*") if path.is_file())
    isa = host_isa() if arguments.isa == "host" else arguments.isa
    seconds = time.perf_counter() - started
    threads = counted(arguments.threads, "thread")
    result: dict[str, Any] = {
        "output": output,
        "isa": isa,
        "threads": arguments.threads,
        "seconds": seconds,
        "bytes": size,
    }
    lines = [f"{output}: a program for {isa}, {threads}, {bytes_text(size)}, made in {seconds:.1f} s"]
    if isinstance(program, HybridProgram):
        steps = [{"part": step.name, "target": step.target} for step in program.steps]
        result["parts"] = steps
        lines += [f"  {step['part']}: {step['target']}" for step in steps]
        result["needs"] = needs = program.needs()
        lines.append(
            f"it needs {' and '.join(needs)} where it runs: qmlir.load_program('{output}'), or qmlir run {output}"
        )
    session.emit(result, lambda: "\n".join(lines))
    return 0


def _isa_asked_for(arguments: argparse.Namespace) -> str:
    """The instruction set of a program without Python; empty where the form or the machine says it."""
    return "" if arguments.isa == "host" else str(arguments.isa)


def _check_machine(arguments: argparse.Namespace) -> None:
    """Raise `DiagnosticError` for a machine where none is chosen: by a program in Python, or in C, but for a processor
    whose loops differ."""
    if arguments.emit != EMIT_PROGRAM and form_named(arguments.emit).is_for_machine:
        return
    given = {"--triple": arguments.triple, "--features": arguments.features}
    if arguments.emit == EMIT_PROGRAM:  # C knows some processors
        given["--cpu"] = arguments.cpu
    for option, value in given.items():
        if value:
            raise text_error(f"{option} requires --emit {machine_forms()}, but got --emit {arguments.emit}")
    if arguments.emit != EMIT_PROGRAM:
        isa_of_text(arguments.emit, arguments.cpu, _isa_asked_for(arguments))


def _check_emission(arguments: argparse.Namespace) -> None:
    """Raise `DiagnosticError` for options that mean nothing without Python, and for an unknown form or name."""
    form_named(arguments.emit)
    checked_name(arguments.name)
    given = {
        "--max-size": arguments.max_size,
        "--device": arguments.device,
        "--threads": arguments.threads != 1,
        "--codegen": arguments.codegen != NUMBA,
        "--no-tuned": arguments.no_tuned,
    }
    for option, is_given in given.items():
        if is_given:
            raise text_error(f"{option} requires --emit {EMIT_PROGRAM}, but got --emit {arguments.emit}")


def _emit(arguments: argparse.Namespace, session: Session, output: Path) -> int:
    """Write a program that runs without Python."""
    _check_emission(arguments)
    check_new_folder(output, "compile", (f"{arguments.name}.json",))
    started = time.perf_counter()
    module = load_model(arguments.model, session, function=arguments.function, **import_settings(arguments))
    function = function_of(module, arguments.function)
    if still_open := with_one_sample(function, {}):
        remedy = f"fix them with {shapes_text(still_open)}"
        raise op_error(
            function, f"has dynamic dimensions, but --emit {arguments.emit} requires static shapes; {remedy}"
        )
    isa = _isa_asked_for(arguments)
    emitted = emit(module, format=arguments.emit, name=arguments.name, isa=isa, function=arguments.function,
        triple=arguments.triple, cpu=arguments.cpu, features=arguments.features, about=_about(arguments.model),
    )  # fmt: skip
    _check_sizes(arguments, emitted.card)
    with folder_result(output, emitted.first) as aside:
        emitted.write(aside)
    seconds = time.perf_counter() - started
    result: dict[str, Any] = {
        "output": output,
        "format": arguments.emit,
        "files": list(emitted.files),
        "card": with_digest(emitted.card),
        "seconds": seconds,
    }
    session.emit(result, lambda: f"{output}: {emitted.text()}, made in {seconds:.1f} s")
    return 0


COMPILE = Command(
    add_arguments,
    run,
    examples=(
        "compile out/ -o program/",
        "compile out/ --emit c --name net -o net/",
    ),
)
