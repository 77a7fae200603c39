"""Lowers, emits and runs a module for any target.

If a target can't run its code on this machine, the interpreter runs the module that the target's pipeline has lowered.
This simulates the results of a device that is not available.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, InterpretationError

from qmlir import interpreter
from qmlir.environment import default_environment
from qmlir.interpreter.values import check_value
from qmlir.ir.builtin_types import is_truth
from qmlir.ir.diagnostics import text_error
from qmlir.ir.signature import Port, outputs_of
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import Pipeline, parse_pipeline
from qmlir.pipelines import PIPELINES
from qmlir.registry import at_code, in_package
from qmlir.registry.faults import RAISED, one_line
from qmlir.specialization.inputs import function_of
from qmlir.target import ExecutionOptions, Runnable, Target, function_of_target


def lowering_passes(target: Target, **values: str) -> Pipeline:
    """Returns the pipeline of `target`, with option `values`. Raises `DiagnosticError` if it has none."""
    if not target.lowering:
        raise text_error(f"target '{target.name}' has no pipeline that lowers a module for it")
    known = {**target.defaults, **values}
    if target.lowering not in PIPELINES:
        return parse_pipeline(target.lowering, default_environment().passes, values=known)
    pipeline = PIPELINES[target.lowering].for_targets([target])
    text = f"{pipeline.name}{{{' '.join(f'{name}=<{name}>' for name in known)}}}"
    return parse_pipeline(text, default_environment().passes, {pipeline.name: pipeline}, known)


def lower_for(target: Target, module: ModuleOp, **values: str) -> ModuleOp:
    """Lowers a clone of a module of the quantized level by the pipeline of `target`, with option `values`."""
    return run_pipeline(module.clone(), lowering_passes(target, **values))


def emit_for(target: Target, lowered: ModuleOp) -> str | bytes:
    """Emits code for a module that the pipeline of `target` has lowered. Raises `DiagnosticError` if it emits none."""
    if not target.emit:
        raise text_error(f"target '{target.name}' emits nothing")
    emit = function_of_target(target, target.emit)
    with _faults_of(target, target.emit):
        made: object = emit(lowered)
    if not isinstance(made, str | bytes):
        found = f"but '{target.emit}' returned {type(made).__name__}{at_code(emit)}"
        raise text_error(f"target '{target.name}' must emit text or bytes, {found}")
    return made


def emitted(target: Target, module: ModuleOp, **values: str) -> str | bytes:
    """Lowers a module for `target`, with pipeline option `values`, and returns the emitted code."""
    return emit_for(target, lower_for(target, module, **values))


@contextmanager
def _faults_of(target: Target, row: str) -> Generator[None]:
    """Converts exceptions of a package's code in the `with` block to errors that name the target and the location."""
    try:
        yield
    except DiagnosticException:
        raise
    except RAISED as error:
        if not (where := in_package(error)):
            raise
        raise text_error(f"target '{target.name}': '{row}' raises {one_line(error)}{where}") from error


def _checked(target: Target, run: Runnable, outputs: Sequence[Port], where: str) -> Runnable:
    """Wraps a package's function so that its outputs are checked against the types of the function."""

    def checked(inputs: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
        with _faults_of(target, target.execute):
            found = cast(object, run(inputs))
        if not isinstance(found, Mapping):
            what = f"must return its outputs by name, but returns a value of type {type(found).__name__}"
            raise text_error(f"target '{target.name}': '{target.execute}' {what}{where}")
        values = cast(Mapping[str, Any], found)
        for port in outputs:
            try:
                if port.name not in values:
                    raise InterpretationError(f"is missing (there are: {', '.join(map(str, values)) or 'none'})")
                if not (is_truth(port.type) and np.asarray(values[port.name]).dtype == np.bool_):
                    check_value(values[port.name], port.type)
            except InterpretationError as error:
                what = f"output '{port.name}' of '{target.execute}': {error}{where}"
                raise text_error(f"target '{target.name}': {what}") from error
        return values

    return checked


def execute_for(
    target: Target, module: ModuleOp, function: str = "main", running: ExecutionOptions | None = None
) -> Runnable:
    """Returns a callable that runs `function` of a quantized-level module on `target`."""
    if target.execute:
        execute = function_of_target(target, target.execute)
        with _faults_of(target, target.execute):
            made: object = execute(module, function, running or ExecutionOptions())
        if not at_code(execute):  # part of qmlir
            return cast(Runnable, made)
        if not callable(made):
            found = f"but '{target.execute}' returned {type(made).__name__}{at_code(execute)}"
            raise text_error(f"target '{target.name}' must be executed by a function, {found}")
        return _checked(target, cast(Runnable, made), outputs_of(function_of(module, function)), at_code(execute))
    lowered = lower_for(target, module)
    verify(lowered)
    return partial(interpreter.interpret, lowered, function=function)
