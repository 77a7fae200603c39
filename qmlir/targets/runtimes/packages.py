"""The optional packages that this folder wraps: checks for them, and one-line errors if they are missing.

Nothing here imports a package that may be broken: `qmlir doctor` reports it.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from qmlir.ir.messages import text_error, unknown

TITLES: Mapping[str, str] = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
"""The display name of each package. `--against` accepts the package names."""


def is_installed(package: str) -> bool:
    """Returns true if a peer package is installed. Raises `DiagnosticError` for an unknown peer."""
    if package not in TITLES:
        raise text_error(unknown("peer", package, TITLES))
    return find_spec(package) is not None


def installed_version(package: str) -> str:
    """Returns the version of a peer package, such as `1.31.1`. Raises `DiagnosticError` if it is not installed."""
    check_installed(package)
    return version(package)


def check_installed(package: str) -> None:
    """Raises `DiagnosticError`, which tells the user how to install it, if a peer package is missing."""
    if not is_installed(package):
        raise text_error(f"{TITLES[package]} is not installed; run pip install 'qmlir[peers]'")


def imported(package: str, part: str = "") -> Any:
    """Imports and returns the module of a peer package, or its submodule `part`, such as `quantization`.

    Raises `DiagnosticError` if the package is not installed.
    """
    check_installed(package)
    return import_module(f"{package}.{part}" if part else package)
