"""Running and inspecting a model: `qmlir.interpret` and `qmlir.inspect` take paths, too."""

from qmlir.interpreter import run
from qmlir.workflows.inspection import inspecting
from qmlir.workflows.loading import takes_model

interpret = takes_model(run.interpret)
inspect = takes_model(inspecting.inspect)
