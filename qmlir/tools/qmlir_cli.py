"""`qmlir`: the command for users of models. The file of a subcommand is imported when the subcommand is called.

Results go to standard output (or into a file), everything else to standard error.
"""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial

from qmlir import tools
from qmlir.tools import commands
from qmlir.tools.streams import Streams, console, main_with, parse_arguments
from qmlir.tools.subcommands import Subcommand, build_argument_parser

ROWS: tuple[Subcommand, ...] = (
    Subcommand("quantize", "quantize a float model, calibrated on samples", lambda: commands.QUANTIZE),
    Subcommand("compile", "compile a model into a program that needs NumPy and numba only", lambda: commands.COMPILE),
    Subcommand("export", "write a model or a module as an ONNX model", lambda: commands.EXPORT),
    Subcommand("run", "run a model, a module or a saved program", lambda: commands.RUN),
    Subcommand("profile", "run a model on samples and write the ranges of its values", lambda: commands.PROFILE),
    Subcommand("compare", "compare two models layer by layer", lambda: commands.COMPARE),
    Subcommand("bench", "time a model in qmlir and in other runtimes", lambda: commands.BENCH),
    Subcommand("search", "mixed precision: find layers that need 16 bits, or do with 4", lambda: commands.SEARCH),
    Subcommand("finetune", "train a quantized model, by its float model or by labels", lambda: commands.FINETUNE),
    Subcommand("tune", "find faster schedules of a model's kernels on this machine", lambda: commands.TUNE),
    Subcommand("inspect", "describe a model: layers, types, ranges, multiply-adds, bytes", lambda: commands.INSPECT),
    Subcommand("explain", "explain the types of a node, and which kernel runs it", lambda: commands.EXPLAIN),
    Subcommand("partition", "divide a quantized model among targets, with a report", lambda: commands.PARTITION),
    Subcommand("report", "write the effects of quantization on a model as a page of HTML", lambda: commands.REPORT),
    Subcommand(
        "new-dialect", "create a package for a dialect of your own, with tests and CI", lambda: commands.NEW_DIALECT
    ),
    Subcommand("lsp", "serve diagnostics, types and definitions of .mlir files to an editor", lambda: commands.LSP),
    Subcommand("doctor", "check the installation and the processor", lambda: commands.DOCTOR),
    Subcommand("completion", "print a shell script that completes commands and options", lambda: commands.COMPLETION),
)
"""Every subcommand, in the order of the help."""


def _run(argv: Sequence[str] | None, streams: Streams) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    row = next((row for row in ROWS if words[:1] == [row.name]), None)
    if row is not None:
        return tools.run_command(row, words[1:], streams, ROWS)
    parser, known = build_argument_parser(ROWS)
    if not words:
        streams.stderr.write(parser.format_help())
        return 2
    if not words[0].startswith("-"):
        near = "".join(f", did you mean '{name}'?" for name in get_close_matches(words[0], known, 1))
        streams.stderr.write(f"qmlir: error: there is no command '{words[0]}'{near} (see qmlir --help)\n")
        return 2
    code = parse_arguments(parser, words, streams)
    assert isinstance(code, int)  # without a command there is help, a version or an error
    return code


main = main_with(_run)

console_main = partial(console, main)
"""The entry point of the `qmlir` command."""
