"""Compiles a function for the CPU target, to be called from Python."""

from xdsl.dialects.builtin import ModuleOp

from qmlir.target import ExecutionOptions
from qmlir.targets.cpu.compiler import Program, compile_module


def execute(module: ModuleOp, function: str, running: ExecutionOptions) -> Program:
    """Compiles `function` to a program. Raises `DiagnosticError` if an operation can't be compiled."""
    return compile_module(
        module, threads=running.threads, isa=running.isa, function=function, progress=running.progress,
        tuned=running.tuned, emitter=running.emitter,
    )  # fmt: skip
