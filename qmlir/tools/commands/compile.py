"""`qmlir compile`: compiles a model into a program, a folder that needs NumPy and numba or llvmlite to run.

For other targets, the folder contains the partitioned module, and the output of each target for its parts. With
`--emit`, it contains a program that runs without Python, such as C code.
"""

import argparse

from qmlir.targets.cpu.choices import NUMBA, emitter_names
from qmlir.tools import running
from qmlir.tools.arguments import (
    IMPORT,
    LIMITS,
    add_model,
    add_options,
    add_output,
    emission_service,
    parse_bytes,
)
from qmlir.tools.command_runner import Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir compile`."""
    add_model(parser)
    add_output(parser, "output folder of the program", required=True, metavar="DIR")
    add_options(parser, *IMPORT, "--keep-casts", "--requantize", "--threads", "--isa", "--device")
    parser.add_argument(
        "--max-size", action="append", default=[], metavar="SIZE=MAX",
        help="maximum size of a dynamic dimension, as in sequence=256, or its buckets, sequence=16x64 (repeatable)",
    )  # fmt: skip
    parser.add_argument("--no-tuned", action="store_true", help="ignore schedules found by qmlir tune")
    parser.add_argument(
        "--codegen", choices=emitter_names(), default=NUMBA,
        help="code generator: numba, or llvm, which compiles faster and needs no numba at run time",
    )  # fmt: skip
    if (emission := emission_service()) is not None:
        emission.add_arguments(parser)
    parser.add_argument("--function", default="main", metavar="NAME", help="function to compile (default: main)")
    for option, what in LIMITS.items():
        parser.add_argument(
            option, type=parse_bytes, metavar="BYTES", help=f"fail if {what} exceeds BYTES: 65536, 256K, 4M"
        )


COMPILE = Command(
    add_arguments,
    lambda arguments, session: running.run_compile(arguments, session),
    examples=("compile out/ -o program/", "compile out/ --emit c --name net -o net/"),
)
