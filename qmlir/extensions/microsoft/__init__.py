"""Importers of `com.microsoft` operators, which ONNX Runtime's tools emit."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    importers=(
        "qmlir.extensions.microsoft.operators:IMPORTERS",
        "qmlir.extensions.microsoft.attention:IMPORTERS",
        "qmlir.extensions.microsoft.layers:IMPORTERS",
    ),
    built_for=INTERFACE,
)
