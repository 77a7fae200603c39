"""Compiling a model: `qmlir.compile` takes paths, too."""

from qmlir.targets import compiling
from qmlir.workflows.loading import takes_model

compile = takes_model(compiling.compile)
