"""`qmlir compile`: makes a program of a float or quantized model, a folder that needs NumPy and numba or llvmlite.

For other targets the folder has the partitioned module, and the output of each target for its parts.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from qmlir.ir.diagnostics import op_error
from qmlir.specialization.inputs import function_of
from qmlir.specialization.options import parse_sizes
from qmlir.specialization.specialize import specialize
from qmlir.target import HOST, find_targets
from qmlir.targets.compiling import compile
from qmlir.targets.cpu.compiler import EMITTERS
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.emission import has_parts
from qmlir.text.tables import bytes_text, counted
from qmlir.tools.arguments import IMPORT, add_model, add_options, add_output, import_settings, load_model
from qmlir.tools.frame import Command, Session
from qmlir.tools.sizes import shapes_text, with_one_sample
from qmlir.workflows.folder import PROGRAM, check_target, written_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `qmlir compile`."""
    add_model(parser)
    add_output(parser, "the folder to write the program into", required=True, metavar="DIR")
    add_options(parser, *IMPORT, "--keep-casts", "--threads", "--isa", "--target")
    parser.add_argument(
        "--length", action="append", default=[], metavar="SIZE=MAX",
        help="the largest of an open size, sequence=256, or its capacities, sequence=16x64: the program takes any size "
        "up to that",
    )  # fmt: skip
    parser.add_argument("--no-tuned", action="store_true", help="ignore the schedules that qmlir tune found")
    parser.add_argument(
        "--emitter", choices=EMITTERS, default=EMITTERS[0],
        help="what makes the machine code: numba, or llvm, faster, and the program needs no numba",
    )  # fmt: skip
    parser.add_argument("--function", default="main", metavar="NAME", help="the function to compile (default: main)")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Compile a model and save the program. Raises `DiagnosticError`."""
    output = Path(arguments.output)
    check_target(output, PROGRAM)
    find_targets(arguments.target or HOST)  # before the model is read
    started = time.perf_counter()
    module = load_model(arguments.model, session, function=arguments.function, **import_settings(arguments))
    function = function_of(module, arguments.function)
    lengths = {name: sizes if len(sizes) > 1 else max(sizes) for name, sizes in parse_sizes(arguments.length).items()}
    if not lengths:
        if still_open := with_one_sample(function, {}):
            remedy = f"for one sample say {shapes_text(still_open)}, for any size --length"
            raise op_error(function, f"leaves sizes open, and a program is made for known ones: {remedy}")
        module = specialize(module, function=arguments.function)
    program: Any = compile(
        module, target=arguments.target, threads=arguments.threads, isa=arguments.isa, function=arguments.function,
        progress=session.progress, tuned=not arguments.no_tuned, lengths=lengths or None, emitter=arguments.emitter,
    )  # fmt: skip
    with written_whole(output, PROGRAM) as aside:
        program.write(aside)
    isa = host_isa() if arguments.isa == "host" else arguments.isa
    seconds = time.perf_counter() - started
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    threads = counted(arguments.threads, "thread")
    result: dict[str, Any] = {
        "output": output,
        "isa": isa,
        "threads": arguments.threads,
        "seconds": seconds,
        "bytes": size,
    }
    lines = [f"{output}: a program for {isa}, {threads}, {bytes_text(size)}, made in {seconds:.1f} s"]
    if has_parts(output):
        steps = [{"part": step.name, "target": step.target} for step in program.steps]
        result["parts"] = steps
        lines += [f"  {step['part']}: {step['target']}" for step in steps]
    session.emit(result, lambda: "\n".join(lines))
    return 0


COMPILE = Command(add_arguments, run)
