"""Passes, run on a module with the dialects of the default environment."""

from collections.abc import Sequence
from typing import Any, LiteralString

from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.passmanager.instrumentation import Instrumentation
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import Pipeline, parse_pipeline


def run_pipeline(
    module: ModuleOp, passes: LiteralString | Pipeline, instrumentations: Sequence[Instrumentation] = (), **given: Any
) -> ModuleOp:
    """Run `passes` on `module`, in place, and return it. `given` are the values of `Pipeline.given`.

    Text is parsed, so it must be written in the source: values go into options of a `Pipeline`. The type checker
    rejects any other text. Text that a person or a package wrote is parsed by `parse_pipeline`.

    Raises `DiagnosticError` for a text that is not a pipeline, and where a pass fails.
    """
    environment = default_environment()
    pipeline = passes if isinstance(passes, Pipeline) else parse_pipeline(passes, environment.passes)
    PassManager(environment.new_context(), pipeline.given(**given), instrumentations).run(module)
    return module
