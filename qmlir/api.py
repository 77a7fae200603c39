"""The façade for users: a model in, a module out; a module and inputs in, outputs out; with samples, its profile."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qmlir.interpreter.run import interpret
from qmlir.profiles.file import Profile
from qmlir.workflows.loading import load
from qmlir.workflows.profiling import profile
from qmlir.workflows.quantizing import quantize

if TYPE_CHECKING:
    from qmlir.inspection.inspecting import inspect as inspect
    from qmlir.reporting.making import report as report
    from qmlir.targets.cpu.compiler import Program as Program
    from qmlir.targets.cpu.compiler import compile_module as compile
    from qmlir.targets.cpu.compiler import load_program as load_program
    from qmlir.workflows.comparing import compare as compare
    from qmlir.workflows.explaining import explain as explain
    from qmlir.workflows.searching import search as search

_COMPILER = "qmlir.targets.cpu.compiler"
_LATE = {
    "Program": (_COMPILER, "Program"),
    "compile": (_COMPILER, "compile_module"),
    "load_program": (_COMPILER, "load_program"),
    "compare": ("qmlir.workflows.comparing", "compare"),
    "explain": ("qmlir.workflows.explaining", "explain"),
    "inspect": ("qmlir.inspection.inspecting", "inspect"),
    "report": ("qmlir.reporting.making", "report"),
    "search": ("qmlir.workflows.searching", "search"),
}
"""What is imported when it is first asked for, by module and name there: numba comes with the compiler."""

__all__ = [
    "Profile",
    "Program",
    "compare",
    "compile",
    "explain",
    "inspect",
    "interpret",
    "load",
    "load_program",
    "profile",
    "quantize",
    "report",
    "search",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'qmlir.api' has no attribute '{name}'")
    module, own = _LATE[name]
    return getattr(import_module(module), own)
