"""A module for any target: lowered by its pipeline, written as what it emits, and run as it is run.

Where a target has no way to run what it computes, the interpreter runs the module as the pipeline has lowered it: so a
device that is not here computes what it would compute.
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
from qmlir.target import Runnable, Running, Target, function_of_target


def lowering_passes(target: Target, **values: str) -> Pipeline:
    """The pipeline of `target`, with `values` for its options. Raises `DiagnosticError` where it has none."""
    if not target.lowering:
        raise text_error(f"target '{target.name}' has no pipeline that lowers a module for it")
    known = {**target.defaults, **values}
    if target.lowering not in PIPELINES:
        return parse_pipeline(target.lowering, default_environment().passes, values=known)
    pipeline = PIPELINES[target.lowering].for_targets([target])
    text = f"{pipeline.name}{{{' '.join(f'{name}=<{name}>' for name in known)}}}"
    return parse_pipeline(text, default_environment().passes, {pipeline.name: pipeline}, known)


def lower_for(target: Target, module: ModuleOp, **values: str) -> ModuleOp:
    """A clone of a module of the quantized level, taken down by the pipeline of `target`; `values` are for it."""
    return run_pipeline(module.clone(), lowering_passes(target, **values))


def emit_for(target: Target, lowered: ModuleOp) -> str | bytes:
    """What `target` makes of a module that its pipeline has lowered. Raises `DiagnosticError` where that is nothing."""
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
    """The module lowered by the pipeline of `target`, as what it emits; `values` are for the pipeline."""
    return emit_for(target, lower_for(target, module, **values))


@contextmanager
def _faults_of(target: Target, row: str) -> Generator[None]:
    """Inside the `with` block what code of a package raises becomes an error that names the target and the place."""
    try:
        yield
    except DiagnosticException:
        raise
    except RAISED as error:
        if not (where := in_package(error)):
            raise
        raise text_error(f"target '{target.name}': '{row}' raises {one_line(error)}{where}") from error


def _checked(target: Target, run: Runnable, outputs: Sequence[Port], where: str) -> Runnable:
    """What a package runs, with outputs that are held to the types of the function."""

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


def execute_for(target: Target, module: ModuleOp, function: str = "main", running: Running | None = None) -> Runnable:
    """What runs `function` of a module of the quantized level on `target`."""
    if target.execute:
        execute = function_of_target(target, target.execute)
        with _faults_of(target, target.execute):
            made: object = execute(module, function, running or Running())
        if not at_code(execute):  # of the tree
            return cast(Runnable, made)
        if not callable(made):
            found = f"but '{target.execute}' returned {type(made).__name__}{at_code(execute)}"
            raise text_error(f"target '{target.name}' must be executed by a function, {found}")
        return _checked(target, cast(Runnable, made), outputs_of(function_of(module, function)), at_code(execute))
    lowered = lower_for(target, module)
    verify(lowered)
    return partial(interpreter.interpret, lowered, function=function)
