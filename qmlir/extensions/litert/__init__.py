"""The importer and the exporter of LiteRT models (`.tflite`), formerly TensorFlow Lite; requires `qmlir[litert]`."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.litert.export.exporter import exported as exported
    from qmlir.extensions.litert.importer import import_model as import_model
    from qmlir.extensions.litert.model import read_model as read_model
else:
    __getattr__, __dir__ = attached(__name__)

CONTRIBUTION = Contribution(
    readers={".tflite": "qmlir.extensions.litert.files:read"},
    writers={".tflite": "qmlir.extensions.litert.files:export_litert"},
    api={"export_litert": "qmlir.extensions.litert.files:export_litert"},
    targets={"litert": "qmlir.extensions.litert.target:LITERT"},
    built_for=INTERFACE,
)
