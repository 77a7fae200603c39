"""QONNX: the quantizers of Brevitas, QKeras and FINN as ONNX operators of domains of their own."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    importers=("qmlir.extensions.qonnx.operators:IMPORTERS",),
    built_for=INTERFACE,
)
