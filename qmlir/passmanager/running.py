"""The text of a pipeline, run on a module with the dialects and passes of the default environment."""

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.passmanager.instrumentation import Instrumentation
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import Expansions, parse_pipeline


def run_pipeline(
    module: ModuleOp,
    text: str,
    instrumentations: Sequence[Instrumentation] = (),
    *,
    named: Expansions | None = None,
    **given: Any,
) -> ModuleOp:
    """Run the passes of `text` on `module`, in place, and return it. `given` are the values of `Pipeline.given`.

    `text` may have the names of pipelines in `named`.

    Raises `DiagnosticError` for a text that is not a pipeline, and where a pass fails.
    """
    environment = default_environment()
    pipeline = parse_pipeline(text, environment.passes, named).given(**given)
    PassManager(environment.new_context(), pipeline, instrumentations).run(module)
    return module
