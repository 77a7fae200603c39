"""Emitting a program that runs without Python: `qmlir.emit` takes paths, too."""

from qmlir.extensions.aot import emitting
from qmlir.workflows.loading import takes_model

emit = takes_model(emitting.emit)
