"""Imports ONNX models as graph-level modules, and exports modules as ONNX models."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.onnx.cuts import cut as cut
    from qmlir.onnx.importer import import_model as import_model
    from qmlir.onnx.importer import restored_module as restored_module
    from qmlir.onnx.reading import read_model as read_model
else:
    __getattr__, __dir__ = attached(__name__)
