"""Emits a program that runs without Python: `qmlir.emit`, which accepts paths as well as modules."""

from qmlir.extensions.aot import emitting
from qmlir.workflows.loading import takes_model

emit = takes_model(emitting.emit)
