"""The optional packages that this folder wraps: whether they are there, and one line for the user where not."""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from qmlir.ir.diagnostics import text_error, unknown

TITLES: Mapping[str, str] = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
"""What a package is called in a table, by its name. The names are what `--against` takes."""


def is_installed(package: str) -> bool:
    """Returns true if a peer package is installed. Raises `DiagnosticError` for an unknown peer."""
    if package not in TITLES:
        raise text_error(unknown("peer", package, TITLES))
    return find_spec(package) is not None


def installed_version(package: str) -> str:
    """`1.31.1`: for a table that says what was compared with. Raises `DiagnosticError` where it is not installed."""
    check_installed(package)
    return version(package)


def check_installed(package: str) -> None:
    """Raise `DiagnosticError`, which says what to install, where a peer is missing."""
    if not is_installed(package):
        raise text_error(f"{TITLES[package]} is not installed; run pip install 'qmlir[peers]'")


def imported(package: str, part: str = "") -> Any:
    """The module of a peer, or a `part` of it, `quantization`. Raises `DiagnosticError` where it is not installed."""
    check_installed(package)
    return import_module(f"{package}.{part}" if part else package)
