"""`qmlir`: the door for users. `qmlir run` runs a model, or the functions of a module that state what they compute.
`qmlir profile` runs a model on samples, and writes what its values were; `qmlir quantize` decides by it.

Outputs go to standard output (or into a file), everything else to standard error. Exit codes: 0, done; 1, something is
wrong with the model or the inputs, or an expectation fails; 2, wrong usage.
"""

import argparse
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.api import interpret, load
from qmlir.environment import default_environment
from qmlir.interpreter.machine import Interpreter
from qmlir.interpreter.run import Array
from qmlir.ir.diagnostics import text_error
from qmlir.ir.verification import verify
from qmlir.text.parsing import STDIN, parse_module
from qmlir.text.weights import write_atomically
from qmlir.tools.command import Streams, console, main_of
from qmlir.tools.profile_command import add_profile_parser, run_profile_command
from qmlir.tools.quantize_command import add_quantize_parser, run_quantize_command

ENGINES = ("interpreter",)
"""What can run a module."""


def build_argument_parser() -> argparse.ArgumentParser:
    """The command line of `qmlir`."""
    parser = argparse.ArgumentParser(
        prog="qmlir", description="A quantizing compiler for neural networks.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"qmlir {version('qmlir')}")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a model or a module", allow_abbrev=False)
    run.add_argument("model", help="a .onnx model or a .mlir module, - for a module from standard input")
    run.add_argument(
        "--input", action="append", default=[], metavar="[NAME=]FILE",
        help="arrays by name from a .npz file, or one array from a .npy file: name=x.npy",
    )  # fmt: skip
    run.add_argument(
        "--function",
        help="the function to run; otherwise @main, or every public one without arguments where there is no @main",
    )
    run.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="what runs it")
    run.add_argument(
        "-o", dest="output", metavar="FILE", help="the .npz file to write outputs to; otherwise they are printed"
    )
    add_profile_parser(commands)
    add_quantize_parser(commands)
    return parser


def _read_arrays(path: Path) -> Iterator[tuple[str, Array]]:
    """The arrays of a .npz file by name, or the one of a .npy file under an empty name."""
    try:
        loaded: Any = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            yield "", loaded
            return
        with loaded:
            for name in loaded.files:
                yield name, loaded[name]
    except OSError as error:
        raise text_error(f"cannot read '{path}': {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise text_error(f"cannot read '{path}': it is no .npy or .npz file of plain arrays") from error


def read_inputs(entries: Sequence[str]) -> dict[str, Array]:
    """The arrays that `--input` names. Raises `DiagnosticError` for a file that cannot be read."""
    inputs: dict[str, Array] = {}
    for entry in entries:
        name, equals, file = entry.partition("=")
        for key, array in _read_arrays(Path(file if equals else entry)):
            if equals and key:
                raise text_error(f"'{entry}' names one input, but the file holds several: give the file alone")
            if not equals and not key:
                raise text_error(f"'{entry}' holds one array: say which input it is, as name={entry}")
            if (name if equals else key) in inputs:
                raise text_error(f"input '{name if equals else key}' is given twice")
            inputs[name if equals else key] = array
    return inputs


def _as_arrays(outputs: Mapping[str, Any]) -> Iterator[tuple[str, Array]]:
    """One array for each name: those of a sequence by their places, text as NumPy's strings, which are no objects."""
    for name, value in outputs.items():
        if isinstance(value, list):
            yield from _as_arrays({f"{name}[{place}]": each for place, each in enumerate(cast(list[Any], value))})
        else:
            array = np.asarray(value)
            yield name, array.astype(np.str_) if array.dtype == np.object_ else array


def _write_outputs(path: Path, outputs: Mapping[str, Array]) -> None:
    buffer = BytesIO()
    named: dict[str, Any] = dict(outputs)
    np.savez(buffer, **named)
    write_atomically(path, buffer.getvalue())


def _print_outputs(outputs: Mapping[str, Array], stdout: IO[str]) -> None:
    for name, value in outputs.items():
        array = np.asarray(value)  # a scalar is one, too
        shape = "x".join(map(str, array.shape)) or "scalar"
        text = np.array2string(array, threshold=100, separator=", ")
        stdout.write(f"{name}: {shape} {array.dtype}\n{text}\n")


def _load(model: str, stdin: IO[str]) -> ModuleOp:
    if model != "-":
        return load(model)
    module = parse_module(default_environment().new_context(), stdin.read(), STDIN)
    verify(module)
    return module


def _is_private(function: FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _chosen_functions(module: ModuleOp, chosen: str | None) -> list[str]:
    if chosen is not None:
        return [chosen]
    functions = list(Interpreter(module).functions())
    names = [function.sym_name.data for function in functions]
    if "main" in names:
        return ["main"]
    free = [
        function.sym_name.data
        for function in functions
        if not function.function_type.inputs.data and not function.is_declaration and not _is_private(function)
    ]
    if not free:
        raise text_error("no function '@main' and none without arguments: say which with --function")
    return free


def _run(arguments: argparse.Namespace, stdin: IO[str], stdout: IO[str]) -> None:
    module = _load(arguments.model, stdin)
    inputs = read_inputs(arguments.input)
    outputs: dict[str, Array] = {}
    for name in _chosen_functions(module, arguments.function):
        outputs |= _as_arrays(interpret(module, inputs, function=name))
    if arguments.output:
        _write_outputs(Path(arguments.output), outputs)
    else:
        _print_outputs(outputs, stdout)


def _run_subcommand(arguments: argparse.Namespace, streams: Streams) -> int:
    if arguments.command == "profile":
        run_profile_command(arguments, _load(arguments.model, streams.stdin), streams.stderr)
    elif arguments.command == "quantize":
        run_quantize_command(arguments, _load(arguments.model, streams.stdin), streams.stderr)
    else:
        _run(arguments, streams.stdin, streams.stdout)
    return 0


main = main_of(build_argument_parser, _run_subcommand)


def console_main() -> NoReturn:
    """The entry point of the `qmlir` command."""
    console(main)
