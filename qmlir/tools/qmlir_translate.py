"""`qmlir-translate`: translates between modules and other formats: ONNX models, and the output formats of targets.

The result goes to standard output or `-o`, everything else to standard error. The exit codes are the same as for
all other tools.
"""

import argparse
import os
from functools import partial
from importlib.metadata import version
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import LINES, printable, text_error
from qmlir.ir.limits import budgets
from qmlir.ir.verification import verify
from qmlir.onnx.cuts import cut
from qmlir.onnx.export.writing import model_text
from qmlir.onnx.reading import read_model
from qmlir.specialization.inputs import parse_shapes
from qmlir.target import HOST, find_target
from qmlir.targets.lowering import emit_for
from qmlir.text.files import access, note_input, plan_output
from qmlir.text.parsing import load_module, parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text, save_module
from qmlir.text.sources import STDIN
from qmlir.text.writing import write_file
from qmlir.tools.arguments import IMPORT, add_export, add_options, export_settings, import_settings
from qmlir.tools.command import Streams, add_budgets, add_plugins, console, main_of
from qmlir.tools.stdio import ArgumentParser, add_force
from qmlir.workflows.exporting import export_onnx
from qmlir.workflows.loading import imported


def build_argument_parser() -> ArgumentParser:
    """Returns the parser of `qmlir-translate`."""
    parser = ArgumentParser(
        prog="qmlir-translate",
        description="Translate models into modules, and modules into models or code.",
        epilog="examples:\n"
        "  qmlir-translate --import-onnx model.onnx -o model.mlir\n"
        "  qmlir-translate --export-onnx quantized.mlir --format qoperator -o quantized.onnx",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="input file, or - for standard input (default)")
    add("-o", dest="output", metavar="FILE", help="output file; large weights go to a .safetensors file next to it")
    add("--version", "-v", action="version", version=f"qmlir-translate {version('qmlir')}")
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--import-onnx", action="store_true", help="translate an ONNX model to a graph-level module")
    kinds.add_argument(
        "--export-onnx", action="store_true", help="translate a module above the integer level to an ONNX model"
    )
    kinds.add_argument("--emit-numba", action="store_true", help="translate loop-level IR to Python code for numba")
    kinds.add_argument("--emit", metavar="TARGET", help="translate a lowered module to the output format of a target")
    add_options(parser, *IMPORT)
    add("--inline-weights", action="store_true", help="print all weights inline, for upstream tools")
    add_force(add)
    add_plugins(add)
    add_budgets(add)
    add_export(parser)
    return parser


def _module(arguments: argparse.Namespace, streams: Streams) -> ModuleOp:
    ctx = default_environment().new_context()
    if arguments.input == "-":
        module = parse_module(ctx, streams.stdin.read(), STDIN)
    else:
        module = load_module(ctx, Path(arguments.input))
    verify(module)
    return module


def _export(arguments: argparse.Namespace, streams: Streams) -> int:
    """Writes the ONNX model of a module; to standard output in ONNX's textual syntax."""
    model = export_onnx(_module(arguments, streams), arguments.output, **export_settings(arguments))
    if not arguments.output:
        text = model_text(model)
        streams.stdout.write(f"{printable(text, LINES) if streams.stdout.isatty() else text}\n")
    return 0


def _emit(arguments: argparse.Namespace, streams: Streams) -> int:
    """Writes the output of a target; binary data only to a file."""
    target = find_target(arguments.emit or HOST)
    made = emit_for(target, _module(arguments, streams))
    if arguments.output:
        write_file(Path(arguments.output), made.encode() if isinstance(made, str) else made)
    elif isinstance(made, str):
        streams.stdout.write(made)
    else:
        raise text_error(f"target '{target.name}' emits binary data; use -o FILE{target.suffix}")
    return 0


def _translate(arguments: argparse.Namespace, streams: Streams) -> int:
    if arguments.emit_numba or arguments.emit:
        return _emit(arguments, streams)
    if arguments.export_onnx:
        return _export(arguments, streams)
    settings = import_settings(arguments)
    model = cut(read_model(Path(arguments.input)), settings["cut_inputs"], settings["cut_outputs"])
    options = {"fallback": settings["fallback"], "strip_training": settings["strip_training"]}
    module = imported(model, parse_shapes(arguments.shape), keep_casts=True, **options)
    if arguments.output:
        weights = Weights.INLINE if arguments.inline_weights else Weights.SIDECAR
        save_module(module, Path(arguments.output), PrintOptions(weights=weights))
    else:
        weights = Weights.INLINE if arguments.inline_weights else Weights.ELIDE
        streams.stdout.write(module_text(module, PrintOptions(weights=weights)))
    return 0


def _run(arguments: argparse.Namespace, streams: Streams) -> int:
    with (
        registry.plugged(map(registry.plugin, arguments.load_plugin)),
        budgets(dict(arguments.limit)),
        access(force=arguments.force),
    ):
        if os.path.isfile(arguments.input):
            note_input(arguments.input)
        if arguments.output:
            plan_output(arguments.output)
        return _translate(arguments, streams)


main = main_of(build_argument_parser, _run)

console_main = partial(console, main)
"""The entry point of the `qmlir-translate` command."""
