"""Exports float, quantized and mixed modules as ONNX models, with Q/DQ, QLinear or integer operators."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.onnx.checking import check_exported as check_exported
    from qmlir.onnx.checking import invalid_export as invalid_export
    from qmlir.onnx.export.exporter import export_model as export_model
    from qmlir.onnx.export.writing import check_onnx_file as check_onnx_file
    from qmlir.onnx.export.writing import save_onnx as save_onnx
else:
    __getattr__, __dir__ = attached(__name__)
