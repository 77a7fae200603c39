"""`qmlir compile`: compiles a model into a program, a folder that needs NumPy and numba or llvmlite to run.

For other targets, the folder contains the partitioned module, and the output of each target for its parts. With
`--emit`, it contains a program that runs without Python, such as C code.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from qmlir import registry
from qmlir.ir.diagnostics import op_error, text_error
from qmlir.specialization.inputs import function_of, parse_sizes
from qmlir.specialization.specialize import specialize
from qmlir.target import HOST, find_targets
from qmlir.targets.compiling import compile
from qmlir.targets.cpu.emitters.card import PARTS_FORM, ProgramCard, read_card
from qmlir.targets.cpu.emitters.emitter import NUMBA, emitter_names
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
"""The sizes of a program that can be limited, by option."""


def about(model: str) -> Mapping[str, Any]:
    """Returns the manifest entries about the model: its origin, and the results of `qmlir quantize` if that made it."""
    if QuantizedFolder.holds(model):
        folder = QuantizedFolder.open(model)
        summary = JsonValue(f"'{folder.summary}'", folder.read_summary())
        said = {key: each.value for key, each in summary.entries().items() if key not in ("format", "version")}
        return {**said, **{key: Path(path.text()).name for key in ("model", "data") if (path := summary.get(key))}}
    return {"model": Path(model).name}


def check_sizes(arguments: argparse.Namespace, card: ProgramCard) -> None:
    """Raises `DiagnosticError` if a program exceeds a size limit, or its size is unknown."""
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
    """Raises `DiagnosticError` if the sizes of a program with several targets are not those of its CPU parts."""
    own = [part for part, target in card.parts.items() if target == HOST]
    if not own:
        raise text_error(f"runtime sizes are supported only for target '{HOST}', but this program has no part for it")
    if unknown := [part for part in own if part not in saved_parts(card)]:
        raise text_error(f"the shapes of part '{unknown[0]}' are not known at compile time")


class EmissionService(Protocol):
    """The service `emission`, which writes programs without Python for `--emit`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds `--emit` and the options of its formats."""
        ...

    def is_asked_for(self, arguments: argparse.Namespace) -> bool:
        """Returns true if `--emit` names a format. Raises `DiagnosticError` for options of another format."""
        ...

    def run(self, arguments: argparse.Namespace, session: Session) -> int:
        """Writes the program, and returns the exit code. Raises `DiagnosticError`."""
        ...


def _emission() -> EmissionService | None:
    return registry.service("emission")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir compile`."""
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
    if (emission := _emission()) is not None:
        emission.add_arguments(parser)
    parser.add_argument("--function", default="main", metavar="NAME", help="function to compile (default: main)")
    for option, what in _LIMITS.items():
        parser.add_argument(
            option, type=parse_bytes, metavar="BYTES", help=f"fail if {what} exceeds BYTES: 65536, 256K, 4M"
        )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Compiles a model and saves the program. Raises `DiagnosticError`."""
    output = Path(arguments.output)
    if (emission := _emission()) is not None and emission.is_asked_for(arguments):
        return emission.run(arguments, session)
    check_new_folder(output, "compile", (*PROGRAM_FIRST, CONSTANTS))
    find_targets(arguments.device or HOST)  # checked before the model is read
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
        program.write(aside, about(arguments.model))
        check_sizes(arguments, read_card(aside / CARD))
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


COMPILE = Command(
    add_arguments,
    run,
    examples=(
        "compile out/ -o program/",
        "compile out/ --emit c --name net -o net/",
    ),
)
