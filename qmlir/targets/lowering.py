"""A module for any target: lowered by its pipeline, written as what it emits, and run as it is run.

Where a target has no way to run what it computes, the interpreter runs the module as the pipeline has lowered it: so a
device that is not here computes what it would compute.
"""

import re
from functools import partial

from xdsl.dialects.builtin import ModuleOp

from qmlir import interpreter
from qmlir.ir.diagnostics import text_error
from qmlir.ir.verification import verify
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import PIPELINES
from qmlir.target import Runnable, Running, Target, function_of_target

_VALUE = re.compile(r"<([a-z_]+)>")


def lowering_text(target: Target, **values: str) -> str:
    """The pipeline of `target` as `-p` takes it. Raises `DiagnosticError` where it has none, or lacks a value."""
    if not target.lowering:
        raise text_error(f"target '{target.name}' has no pipeline that lowers a module for it")
    known = {**target.defaults, **values}
    if target.lowering in PIPELINES:
        text = PIPELINES[target.lowering].for_targets([target]).text(**known)
    else:
        text = _VALUE.sub(lambda found: known.get(found[1], found[0]), target.lowering)
    if lacking := _VALUE.search(text):
        raise text_error(f"the pipeline of target '{target.name}' lacks a value of '{lacking[1]}': {text}")
    return text


def lower_for(target: Target, module: ModuleOp, **values: str) -> ModuleOp:
    """A clone of a module of the quantized level, taken down by the pipeline of `target`; `values` are for it."""
    return run_pipeline(module.clone(), lowering_text(target, **values))


def emit_for(target: Target, lowered: ModuleOp) -> str | bytes:
    """What `target` makes of a module that its pipeline has lowered. Raises `DiagnosticError` where that is nothing."""
    if not target.emit:
        raise text_error(f"target '{target.name}' emits nothing")
    made: object = function_of_target(target, target.emit)(lowered)
    if not isinstance(made, str | bytes):
        raise text_error(f"target '{target.name}' emits text or bytes, '{target.emit}' gave {type(made).__name__}")
    return made


def emitted(target: Target, module: ModuleOp, **values: str) -> str | bytes:
    """The module lowered by the pipeline of `target`, as what it emits; `values` are for the pipeline."""
    return emit_for(target, lower_for(target, module, **values))


def execute_for(target: Target, module: ModuleOp, function: str = "main", running: Running | None = None) -> Runnable:
    """What runs `function` of a module of the quantized level on `target`."""
    if target.execute:
        made: Runnable = function_of_target(target, target.execute)(module, function, running or Running())
        return made
    lowered = lower_for(target, module)
    verify(lowered)
    return partial(interpreter.interpret, lowered, function=function)
