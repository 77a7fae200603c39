"""qmlir: a multi-dialect quantizing compiler for neural networks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qmlir.api import InputError as InputError
    from qmlir.api import compare as compare
    from qmlir.api import compile as compile
    from qmlir.api import explain as explain
    from qmlir.api import export_onnx as export_onnx
    from qmlir.api import inspect as inspect
    from qmlir.api import interpret as interpret
    from qmlir.api import load as load
    from qmlir.api import load_program as load_program
    from qmlir.api import partition as partition
    from qmlir.api import profile as profile
    from qmlir.api import quantize as quantize
    from qmlir.api import report as report
    from qmlir.api import search as search
    from qmlir.api import tune as tune
    from qmlir.workflows.reporting.notebook import load_ipython_extension as load_ipython_extension
    from qmlir.workflows.reporting.notebook import unload_ipython_extension as unload_ipython_extension

__all__ = [
    "InputError",
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

_NOTEBOOK = "qmlir.workflows.reporting.notebook"
_EXTENSION = frozenset({"load_ipython_extension", "unload_ipython_extension"})
"""What `%load_ext qmlir` and `%unload_ext qmlir` look for."""


def __getattr__(name: str) -> Any:
    """What `qmlir.api` offers, loaded when first asked for: importing a part of the package stays quick."""
    if name in _EXTENSION:
        return getattr(import_module(_NOTEBOOK), name)
    if name not in __all__:
        raise AttributeError(f"module 'qmlir' has no attribute '{name}'")
    return getattr(import_module("qmlir.api"), name)
