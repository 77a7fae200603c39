"""Encodings of AIMET (`.encodings`): quantization parameters of tensors, which QNN and other runtimes read."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    recipes={".encodings": "qmlir.extensions.aimet.reading:rules"},
    writers={".encodings": "qmlir.extensions.aimet.writing:export_encodings"},
    api={"export_encodings": "qmlir.extensions.aimet.writing:export_encodings"},
    built_for=INTERFACE,
)
