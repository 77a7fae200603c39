"""The façade for users: a model in, a module or an ONNX model out; a module and inputs in, outputs out; its profile."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qmlir.ir.collection import paused_collection

if TYPE_CHECKING:
    from qmlir.interpreter.run import interpret as interpret
    from qmlir.quantization.profiles.file import Profile as Profile
    from qmlir.targets.compiling import compile_for as compile
    from qmlir.targets.compiling import load_saved as load_program
    from qmlir.targets.cpu.compiler import Program as Program
    from qmlir.targets.cpu.emitters.numba.runtime.errors import InputError as InputError
    from qmlir.workflows.comparing import compare as compare
    from qmlir.workflows.explaining import explain as explain
    from qmlir.workflows.exporting import export_onnx as export_onnx
    from qmlir.workflows.inspection.inspecting import inspect as inspect
    from qmlir.workflows.loading import load as load
    from qmlir.workflows.partitioning import partition as partition
    from qmlir.workflows.profiling import profile as profile
    from qmlir.workflows.quantizing import quantize as quantize
    from qmlir.workflows.reporting.making import report as report
    from qmlir.workflows.searching import search as search
    from qmlir.workflows.tuning import tune as tune

_COMPILING = "qmlir.targets.compiling"
_LATE = {
    "InputError": ("qmlir.targets.cpu.emitters.numba.runtime.errors", "InputError"),
    "Profile": ("qmlir.quantization.profiles.file", "Profile"),
    "Program": ("qmlir.targets.cpu.compiler", "Program"),
    "compile": (_COMPILING, "compile_for"),
    "load_program": (_COMPILING, "load_saved"),
    "compare": ("qmlir.workflows.comparing", "compare"),
    "explain": ("qmlir.workflows.explaining", "explain"),
    "export_onnx": ("qmlir.workflows.exporting", "export_onnx"),
    "inspect": ("qmlir.workflows.inspection.inspecting", "inspect"),
    "interpret": ("qmlir.interpreter.run", "interpret"),
    "load": ("qmlir.workflows.loading", "load"),
    "partition": ("qmlir.workflows.partitioning", "partition"),
    "profile": ("qmlir.workflows.profiling", "profile"),
    "quantize": ("qmlir.workflows.quantizing", "quantize"),
    "report": ("qmlir.workflows.reporting.making", "report"),
    "search": ("qmlir.workflows.searching", "search"),
    "tune": ("qmlir.workflows.tuning", "tune"),
}
"""By module and name there: each is imported when it is first asked for, and with it what it needs, no more."""

__all__ = [
    "InputError",
    "Profile",
    "Program",
    "compare",
    "compile",
    "explain",
    "export_onnx",
    "inspect",
    "interpret",
    "load",
    "load_program",
    "partition",
    "profile",
    "quantize",
    "report",
    "search",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'qmlir.api' has no attribute '{name}'")
    module, own = _LATE[name]
    with paused_collection():
        return getattr(import_module(module), own)
