"""Runs `qmlir compile`. It is separate from the arguments, so that the help of the command is fast."""

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
from qmlir.targets.cpu.emitters.card import PARTS_FORM, ProgramCard, read_card
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.package import CARD, CONSTANTS
from qmlir.targets.cpu.saved import PROGRAM_FIRST, saved_parts
from qmlir.targets.heterogeneous import HybridProgram
from qmlir.text.data import JsonValue
from qmlir.text.tables import bytes_text, counted
from qmlir.text.writing import folder_result
from qmlir.tools.arguments import LIMITS, emission_service, import_settings, value_of
from qmlir.tools.command_runner import Session
from qmlir.tools.models import has_open_batch_only, load_model, shapes_text, with_one_sample
from qmlir.workflows.folder import QuantizedFolder, check_new_folder


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
    limits = {option: most for option in LIMITS if (most := value_of(arguments, option)) is not None}
    if limits and card.form == PARTS_FORM:
        _check_known(card)
    for option, most in limits.items():
        size = getattr(card, f"{option[6:]}_bytes")
        if size is None:
            raise text_error(f"{option} requires machine code: the size of C code is not known before it is compiled")
        if size > most:
            raise text_error(f"{LIMITS[option]} must be at most {most} bytes ({option}), but got {size}")


def _check_known(card: ProgramCard) -> None:
    """Raises `DiagnosticError` if the sizes of a program with several targets are not those of its CPU parts."""
    own = [part for part, target in card.parts.items() if target == HOST]
    if not own:
        raise text_error(f"runtime sizes are supported only for target '{HOST}', but this program has no part for it")
    if unknown := [part for part in own if part not in saved_parts(card)]:
        raise text_error(f"the shapes of part '{unknown[0]}' are not known at compile time")


def run_compile(arguments: argparse.Namespace, session: Session) -> int:
    """Compiles a model and saves the program. Raises `DiagnosticError`."""
    output = Path(arguments.output)
    if (emission := emission_service()) is not None and emission.is_asked_for(arguments):
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
