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
    Subcommand("quantize", "quantize a float model with calibration samples", lambda: commands.QUANTIZE),
    Subcommand("compile", "compile a model into a program", lambda: commands.COMPILE),
    Subcommand("export", "export a model or module to ONNX", lambda: commands.EXPORT),
    Subcommand("run", "run a model, module or program", lambda: commands.RUN),
    Subcommand("profile", "record the value ranges of a model on samples", lambda: commands.PROFILE),
    Subcommand("compare", "compare two models layer by layer", lambda: commands.COMPARE),
    Subcommand("bench", "benchmark a model against other runtimes", lambda: commands.BENCH),
    Subcommand("search", "find a bit width for each layer (mixed precision)", lambda: commands.SEARCH),
    Subcommand("finetune", "train a quantized model, with or without labels", lambda: commands.FINETUNE),
    Subcommand("tune", "search for faster kernels for this machine", lambda: commands.TUNE),
    Subcommand("inspect", "show the layers, types, multiply-adds and sizes of a model", lambda: commands.INSPECT),
    Subcommand("explain", "explain the types and the kernel of a node", lambda: commands.EXPLAIN),
    Subcommand("partition", "partition a quantized model among devices", lambda: commands.PARTITION),
    Subcommand("report", "write an HTML report on the quantization of a model", lambda: commands.REPORT),
    Subcommand("new-dialect", "create a package for a new dialect, with tests and CI", lambda: commands.NEW_DIALECT),
    Subcommand("lsp", "start a language server for .mlir files", lambda: commands.LSP),
    Subcommand("doctor", "check the installation and the CPU", lambda: commands.DOCTOR),
    Subcommand("completion", "print a shell completion script", lambda: commands.COMPLETION),
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
        near = "".join(f"; did you mean '{name}'?" for name in get_close_matches(words[0], known, 1))
        streams.stderr.write(f"qmlir: error: unknown command '{words[0]}'{near} (see qmlir --help)\n")
        return 2
    code = parse_arguments(parser, words, streams)
    assert isinstance(code, int)  # without a command there is help, a version or an error
    return code


main = main_with(_run)

console_main = partial(console, main)
"""The entry point of the `qmlir` command."""
