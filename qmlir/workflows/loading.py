"""A model as a module: an ONNX file or the text of a module in, the verified module out."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.onnx.importer import import_model
from qmlir.onnx.reading import TEXT_SUFFIXES, read_model
from qmlir.text.parsing import load_module

if TYPE_CHECKING:
    from onnx import ModelProto

ONNX_SUFFIXES = frozenset({".onnx", *TEXT_SUFFIXES})


def load(source: "str | PathLike[str] | ModelProto", *, shapes: Mapping[str, Sequence[int]] | None = None) -> ModuleOp:
    """The verified module of a model: a `.onnx` file or an ONNX `ModelProto`, or the text of a module.

    `shapes` fixes the shapes of inputs by name, for ONNX models whose inputs have sizes that are not known. Raises
    `DiagnosticError` where the model cannot be read or holds what cannot be imported.
    """
    if not isinstance(source, str | PathLike):
        return import_model(read_model(source), shapes=shapes)
    path = Path(source)
    if path.suffix in ONNX_SUFFIXES:
        return import_model(read_model(path), shapes=shapes)
    module = load_module(default_environment().new_context(), path)
    verify(module)
    return module
