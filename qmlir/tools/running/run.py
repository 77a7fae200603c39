"""Runs `qmlir run`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.archives import arrays_of, whole
from qmlir.interpreter.interpreter import Interpreter
from qmlir.interpreter.real_values import on_floats, takes_stored
from qmlir.interpreter.samples import left_out
from qmlir.ir.diagnostics import nearest_name, printable, text_error, warn_once
from qmlir.ir.signature import Port, inputs_of
from qmlir.specialization.inputs import function_of, shape_text
from qmlir.targets.compiling import compile, load_program
from qmlir.targets.cpu.runtime.errors import InputError
from qmlir.targets.cpu.saved import is_program
from qmlir.text.writing import write_file
from qmlir.tools.arguments import import_settings
from qmlir.tools.command_runner import Session
from qmlir.tools.models import load_model
from qmlir.tools.stdio import UsageError
from qmlir.workflows.comparing import program_signature
from qmlir.workflows.running import interpret


def read_inputs(entries: Sequence[str]) -> dict[str, Array]:
    """Reads the arrays of `--input`; an unnamed array for the only input has the name "".

    Raises `DiagnosticError` if a file cannot be read.
    """
    inputs: dict[str, Array] = {}
    for entry in entries:
        name, equals, file = entry.partition("=")
        found = {key: whole(rows) for key, rows in arrays_of(Path(file if equals else entry)).items()}
        if equals:
            found = {name: _array_for(name, file, found)}
        elif "" in found and len(entries) > 1:
            raise text_error(f"'{entry}' contains one unnamed array; use --input NAME={entry}")
        for key, array in found.items():
            if key in inputs:
                raise text_error(f"duplicate input '{key}'")
            inputs[key] = array
    return inputs


def _array_for(name: str, file: str, found: Mapping[str, Array]) -> Array:
    """Returns the only array of a file, or the one with the name of the input."""
    if len(found) == 1:
        return next(iter(found.values()))
    if name not in found:
        raise text_error(f"'{file}' has no array '{name}'{nearest_name(name, found)} (available: {', '.join(found)})")
    return found[name]


def _as_arrays(outputs: Mapping[str, Any]) -> Iterator[tuple[str, Array]]:
    """Yields one array for each name.

    The elements of a sequence are named by index; text becomes NumPy strings rather than objects.
    """
    for name, value in outputs.items():
        if isinstance(value, list):
            yield from _as_arrays({f"{name}[{position}]": each for position, each in enumerate(cast(list[Any], value))})
        else:
            array = np.asarray(value)
            yield name, array.astype(np.str_) if array.dtype == np.object_ else array


def _write_outputs(path: Path, outputs: Mapping[str, Array]) -> None:
    buffer = BytesIO()
    named: dict[str, Any] = dict(outputs)
    np.savez(buffer, **named)
    write_file(path, buffer.getvalue())


def _print_outputs(outputs: Mapping[str, Array], stdout: IO[str]) -> None:
    for name, value in outputs.items():
        array = np.asarray(value)  # scalars become arrays
        text = np.array2string(array, threshold=100, separator=", ")
        stdout.write(f"{printable(name)}: {shape_text(array.shape)} {array.dtype}\n{text}\n")


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
        raise text_error("the module has neither '@main' nor a function without arguments; choose one with --function")
    return free


def _ports(module: ModuleOp, function: str) -> Sequence[Port]:
    return inputs_of(Interpreter(module).function(function))


def _inputs_among(arrays: Mapping[str, Array], names: Sequence[str]) -> Mapping[str, Array] | Sequence[Array]:
    """Returns the arrays that are inputs; if no input is missing, ignores others, such as labels, with a warning."""
    if "" in arrays:
        return [arrays[""]]
    if any(name not in arrays for name in names):
        return arrays
    for name in arrays:
        if name not in names:
            warn_once(left_out(name))
    return {name: arrays[name] for name in names}


@contextmanager
def inputs_refused_in_a_line() -> Generator[None]:
    """Inside the `with` block, turns a program's error about its inputs into a `DiagnosticError`."""
    try:
        yield
    except InputError as error:
        raise text_error(str(error)) from error


def _on_given(call: Callable[[Any], Mapping[str, Any]], function: FuncOp, inputs: Any) -> Mapping[str, Any]:
    """Runs `call`, which runs `function`. If an input of stored integers gets floats, outputs are floats, too."""
    named: Mapping[str, Any] = inputs
    if not isinstance(inputs, Mapping):
        named = {port.name: array for port, array in zip(inputs_of(function), inputs, strict=False)}
    return on_floats(call, function)(named) if takes_stored(function, named) else call(inputs)


def _run_module(
    module: ModuleOp, arguments: argparse.Namespace, inputs: Mapping[str, Array] | Sequence[Array], session: Session
) -> Any:
    """Returns the outputs of the chosen functions, by name."""
    outputs: dict[str, Array] = {}
    for name in _chosen_functions(module, arguments.function):
        if (arguments.engine or ("compiled" if arguments.device else "")) == "compiled":
            program = compile(
                module, device=arguments.device, threads=arguments.threads, isa=arguments.isa, function=name,
                progress=session.progress,
            )  # fmt: skip
            outputs |= _on_given(program, function_of(module, name), inputs)
        else:
            outputs |= _on_given(partial(interpret, module, function=name), function_of(module, name), inputs)
    return outputs


def run_run(arguments: argparse.Namespace, session: Session) -> int:
    """Runs a model or program. Raises `DiagnosticError`, also if an expectation fails."""
    if arguments.device and arguments.engine == "interpreter":
        raise UsageError("qmlir run: error: --device requires --engine compiled\n")
    named = read_inputs(arguments.input)
    if is_program(Path(arguments.model)):
        if arguments.engine == "interpreter" or arguments.function:
            what = "--engine interpreter" if arguments.engine == "interpreter" else "--function"
            raise UsageError(
                f"qmlir run: error: {what} requires a model, but '{arguments.model}' is a compiled program\n"
            )
        program: Any = load_program(arguments.model)
        inputs = _inputs_among(named, [port.name for port in program.inputs])
        call: Callable[[], Any] = partial(_on_given, program, program_signature(program), inputs)
    else:
        module = load_model(arguments.model, session, **import_settings(arguments))
        names = [port.name for name in _chosen_functions(module, arguments.function) for port in _ports(module, name)]
        call = partial(_run_module, module, arguments, _inputs_among(named, names), session)
    with inputs_refused_in_a_line():
        outputs = dict(_as_arrays(call()))
    if arguments.output:
        _write_outputs(Path(arguments.output), outputs)
        if session.json:
            session.emit(
                {"output": arguments.output, "outputs": {key: _shown(each) for key, each in outputs.items()}}, str
            )
    elif session.json:
        session.emit({"outputs": {key: {**_shown(each), "values": each} for key, each in outputs.items()}}, str)
    else:
        _print_outputs(outputs, session.stdout)
    return 0


def _shown(array: Array) -> dict[str, Any]:
    return {"shape": array.shape, "dtype": str(array.dtype)}
