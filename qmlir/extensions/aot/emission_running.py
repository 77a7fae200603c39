"""Runs `qmlir compile --emit`. It is separate from the options, so that the help of the command is fast."""

import argparse
import time
from pathlib import Path
from typing import Any

from qmlir.extensions.aot.ahead import check_golden, emit, form_named, isa_of_text, machine_forms
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.emitters.card import PROGRAM_FORM as EMIT_PROGRAM
from qmlir.targets.cpu.emitters.card import with_digest
from qmlir.targets.cpu.emitters.emitter import NUMBA
from qmlir.targets.cpu.emitters.ports import checked_name
from qmlir.text.writing import folder_result
from qmlir.tools.arguments import import_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import data_in, load_model, shapes_text, with_one_sample
from qmlir.tools.running.compile import about, check_sizes
from qmlir.workflows.folder import check_new_folder


def _isa_asked_for(arguments: argparse.Namespace) -> str:
    """Returns the requested instruction set; empty if the format or the machine determines it."""
    return "" if arguments.isa == "host" else str(arguments.isa)


def check_machine(arguments: argparse.Namespace) -> None:
    """Raises `DiagnosticError` for options that choose a machine, if the format is not machine code.

    C accepts `--cpu` for CPUs with their own loops.
    """
    if arguments.emit != EMIT_PROGRAM and form_named(arguments.emit).is_for_machine:
        return
    given = {"--triple": arguments.triple, "--features": arguments.features}
    if arguments.emit == EMIT_PROGRAM and (arguments.golden or arguments.golden_layers):
        raise text_error(f"--golden requires --emit with a C header, such as c, but got --emit {EMIT_PROGRAM}")
    if arguments.emit == EMIT_PROGRAM:  # C supports some CPUs
        given["--cpu"] = arguments.cpu
    for option, value in given.items():
        if value:
            raise text_error(f"{option} requires --emit {machine_forms()}, but got --emit {arguments.emit}")
    if arguments.emit != EMIT_PROGRAM:
        isa_of_text(arguments.emit, arguments.cpu, _isa_asked_for(arguments))


def _check_emission(arguments: argparse.Namespace) -> None:
    """Raises `DiagnosticError` for options that don't apply without Python, and for an unknown format or name."""
    form_named(arguments.emit)
    checked_name(arguments.name)
    check_golden(
        arguments.emit, arguments.golden, has_data=False, layers=arguments.golden_layers
    )  # a configuration may set data for all commands
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


def run_emission(arguments: argparse.Namespace, session: Session) -> int:
    """Writes the files of a program that runs without Python."""
    output = Path(arguments.output)
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
        triple=arguments.triple, cpu=arguments.cpu, features=arguments.features, about=about(arguments.model),
        golden=arguments.golden, golden_layers=arguments.golden_layers,
        data=data_in(arguments) if arguments.golden else None,
    )  # fmt: skip
    check_sizes(arguments, emitted.card)
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
