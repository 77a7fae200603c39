"""`qmlir-translate`: between modules and what is no module: ONNX models in.

The result goes to standard output or `-o`, everything else to standard error. Exit codes as of every tool.
"""

import argparse
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from qmlir.ir.diagnostics import text_error
from qmlir.onnx.importer import import_model
from qmlir.onnx.reading import read_model
from qmlir.text.printing import PrintOptions, Weights, module_text, save_module
from qmlir.tools.command import Streams, console, main_of


def build_argument_parser() -> argparse.ArgumentParser:
    """The command line of `qmlir-translate`."""
    parser = argparse.ArgumentParser(
        prog="qmlir-translate", description="Translates models into modules.", allow_abbrev=False
    )
    add = parser.add_argument
    add("input", help="the file to read")
    add("-o", dest="output", metavar="FILE", help="the file to write; large weights go beside it")
    add("--version", "-v", action="version", version=f"qmlir-translate {version('qmlir')}")
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--import-onnx", action="store_true", help="an ONNX model to a module of the graph level")
    add(
        "--shape", action="append", default=[], metavar="NAME=1x3x224x224",
        help="fix the shape of an input",
    )  # fmt: skip
    add("--inline-weights", action="store_true", help="print all weights in full, as upstream tools read them")
    return parser


def parse_shapes(entries: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """`name=1x3` as a shape by name; `name=scalar` has no sizes. Raises `DiagnosticError`."""
    shapes: dict[str, tuple[int, ...]] = {}
    for entry in entries:
        # Names of tensors may hold any character, an equals sign too.
        name, equals, text = entry.rpartition("=")
        sizes = [] if text == "scalar" else text.split("x")
        if not equals or not all(size.isdecimal() for size in sizes):
            raise text_error(f"'{entry}' is no shape of an input: name=1x3x224x224 is accepted")
        if name in shapes:
            raise text_error(f"the shape of '{name}' is given twice")
        shapes[name] = tuple(map(int, sizes))
    return shapes


def _translate(arguments: argparse.Namespace, streams: Streams) -> int:
    module = import_model(read_model(Path(arguments.input)), shapes=parse_shapes(arguments.shape))
    if arguments.output:
        weights = Weights.INLINE if arguments.inline_weights else Weights.SIDECAR
        save_module(module, Path(arguments.output), PrintOptions(weights=weights))
    else:
        weights = Weights.INLINE if arguments.inline_weights else Weights.ELIDE
        streams.stdout.write(module_text(module, PrintOptions(weights=weights)))
    return 0


main = main_of(build_argument_parser, _translate)


def console_main() -> NoReturn:
    """The entry point of the `qmlir-translate` command."""
    console(main)
