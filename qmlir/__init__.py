"""qmlir: a multi-dialect quantizing compiler for neural networks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qmlir.api import compile as compile
    from qmlir.api import interpret as interpret
    from qmlir.api import load as load
    from qmlir.api import load_program as load_program
    from qmlir.api import profile as profile
    from qmlir.api import quantize as quantize

__all__ = ["compile", "interpret", "load", "load_program", "profile", "quantize"]


def __getattr__(name: str) -> Any:
    """What `qmlir.api` offers, loaded when first asked for: importing a part of the package stays quick."""
    if name not in __all__:
        raise AttributeError(f"module 'qmlir' has no attribute '{name}'")
    return getattr(import_module("qmlir.api"), name)
