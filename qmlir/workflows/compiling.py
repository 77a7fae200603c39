"""Compiling a model: `qmlir.compile`, which accepts paths and modules. A warm start needs no further imports."""

from qmlir.targets import compiling
from qmlir.workflows.loading import takes_model

compile = takes_model(compiling.compile)
