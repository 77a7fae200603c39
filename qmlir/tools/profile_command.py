"""`qmlir profile`: samples go through a model, and what its values were is written to a file."""

import argparse
from typing import IO, Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.api import profile


def add_profile_parser(commands: Any) -> None:
    """Add the command line of `qmlir profile`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "profile", help="run a model on samples and write the ranges of its values", allow_abbrev=False
    )
    add = parser.add_argument
    add("model", help="a .onnx model or a .mlir module, - for a module from standard input")
    add(
        "--data", required=True, metavar="PATH",
        help="samples: a .npz file of arrays with a leading axis of samples, a .npy file, or a folder of either",
    )  # fmt: skip
    add("-o", dest="output", required=True, metavar="FILE", help="the profile to write (JSON)")
    add("--passes", default="", metavar="PIPELINE", help="the passes to run first, such as nn-decompose")
    add("--function", default="main", help="the function to run (default: main)")
    add("--constants", action="store_true", help="profile constants too")
    add("--axis", type=int, help="keep a range for each index of this axis too")
    add("--batch-size", type=int, metavar="N", help="samples that a process is given at a time")
    add("--processes", type=int, default=1, metavar="N", help="run in so many processes; the profile is the same")


def run_profile_command(arguments: argparse.Namespace, module: ModuleOp, stderr: IO[str]) -> None:
    """Profile `module` as the arguments say. Raises `DiagnosticError`."""
    found = profile(
        module,
        arguments.data,
        passes=arguments.passes,
        function=arguments.function,
        batch_size=arguments.batch_size,
        processes=arguments.processes,
        constants=arguments.constants,
        axis=arguments.axis,
        progress=stderr,
    )
    found.save(arguments.output)
