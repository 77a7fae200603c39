"""A model as a module: an ONNX file or the text of a module in, the verified module out."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.onnx.suffixes import ONNX_SUFFIXES
from qmlir.text.parsing import load_module

if TYPE_CHECKING:
    from onnx import ModelProto

_ONNX = ("qmlir.onnx.reading", "qmlir.onnx.importer")
"""Imported for the first ONNX model: the text of a module is read without."""


def load(source: "str | PathLike[str] | ModelProto", *, shapes: Mapping[str, Sequence[int]] | None = None) -> ModuleOp:
    """The verified module of a model: a `.onnx` file or an ONNX `ModelProto`, or the text of a module.

    `shapes` fixes the shapes of inputs by name, for ONNX models whose inputs have sizes that are not known. Raises
    `DiagnosticError` where the model cannot be read or holds what cannot be imported.
    """
    if not isinstance(source, str | PathLike):
        return _imported(source, shapes)
    path = Path(source)
    if path.suffix in ONNX_SUFFIXES:
        return _imported(path, shapes)
    module = load_module(default_environment().new_context(), path)
    verify(module)
    return module


def _imported(source: "Path | ModelProto", shapes: Mapping[str, Sequence[int]] | None) -> ModuleOp:
    reading, importer = (import_module(name) for name in _ONNX)
    module: Any = importer.import_model(reading.read_model(source), shapes=shapes)
    assert isinstance(module, ModuleOp)
    return module
