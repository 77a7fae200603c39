"""Compiling a model: `qmlir.compile`, which accepts paths as well as modules. A warm start imports nothing more."""

from qmlir.targets import compiling
from qmlir.workflows.loading import takes_model

compile = takes_model(compiling.compile)
