"""Functions of modules from below as the API has them: `qmlir.compile`, `interpret` and `inspect` take paths, too."""

from qmlir.interpreter import run
from qmlir.targets import compiling
from qmlir.workflows.inspection import inspecting
from qmlir.workflows.loading import takes_model

compile = takes_model(compiling.compile)
interpret = takes_model(run.interpret)
inspect = takes_model(inspecting.inspect)
