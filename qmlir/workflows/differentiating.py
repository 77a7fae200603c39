"""The gradient of a model: a module with a function for the results, and one for their gradients."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.verification import verify
from qmlir.passmanager.running import run_pipeline
from qmlir.pipelines import GRADIENT
from qmlir.workflows.loading import takes_model


@takes_model
def gradient(
    module: ModuleOp, wrt: Sequence[str] = (), loss: str = "", *, function: str = "main", recompute: bool = False
) -> ModuleOp:
    """A module with `@forward` and `@backward` in the place of `function`; `module` stays as it is.

    `wrt` names the inputs to differentiate by, all of floats where it names none. `@forward` returns the results, and
    values that are kept for `@backward`. That takes inputs and results of `@forward` by their names, those that it
    reads, and the gradient of a result `y` as `gradient_y`, and returns that of an input `x` as `gradient_x`. With
    `loss`, a result of one element, it takes no gradient: that of the loss is 1. With `recompute` less is kept: it
    computes arithmetic on elements once more.

    Passes that packages put at points of the pipeline `gradient` run. Raises `DiagnosticError` for a name that is no
    input of floats or no result, and, naming it with its place in the model, for an operation that has no rule.
    """
    passes = GRADIENT.passes(wrt=tuple(wrt), loss=loss, function=function, recompute=recompute)
    found = run_pipeline(module.clone(), passes)
    verify(found)
    return found
