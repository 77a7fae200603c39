"""QONNX: the quantizers of Brevitas, QKeras and FINN as ONNX operators."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    importers=("qmlir.extensions.qonnx.operators:IMPORTERS",),
    exporters=("qmlir.extensions.qonnx.exporting:EXPORTERS",),
    writers={"qonnx": "qmlir.extensions.qonnx.exporting:export_qonnx"},
    api={"export_qonnx": "qmlir.extensions.qonnx.exporting:export_qonnx"},
    built_for=INTERFACE,
)
