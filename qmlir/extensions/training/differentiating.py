"""The gradient of a model: a module with one function for the results and one for the gradients."""

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from qmlir.extensions.training.nn_gradient import NnGradient
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import NamedPipeline, Stage, clean_passes
from qmlir.workflows.loading import takes_model

GRADIENT = NamedPipeline(
    "gradient",
    "a float model to the function of its results and the function of their gradients",
    (
        Stage[NnGradient](
            "simplify", "nothing is differentiated that folds away, or that nothing uses", lambda _: clean_passes()
        ),
        Stage(
            "differentiate",
            "passes that change the gradient run before this stage",
            lambda options: [options],
        ),
        Stage("clean", "constants and products that several rules need are computed once", lambda _: clean_passes()),
    ),
    NnGradient(),
)


@takes_model
def gradient(
    module: ModuleOp, wrt: Sequence[str] = (), loss: str = "", *, function: str = "main", recompute: bool = False
) -> ModuleOp:
    """Differentiate a model: return a module with the functions `forward` and `backward`.

    `forward` computes the outputs, and returns also the values that `backward` needs. `backward` takes values of
    `forward` by name, and the gradient of each output `y` as `gradient_y`. It returns the gradient of each input `x` as
    `gradient_x`. With `loss` it takes no gradient: that of the loss is 1.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts. It is not changed.
        wrt: Names of the inputs to differentiate by. Empty uses all inputs of floats.
        loss: Name of an output with one element, whose gradient is computed. Empty differentiates all outputs of
            floats.
        function: Name of the function to differentiate.
        recompute: Recompute elementwise operations in `backward`, so that `forward` keeps fewer values.

    Returns:
        A copy of the model with both functions instead of `function`.

    Raises:
        DiagnosticError: A name is not an input or output of floats, or an operation has no gradient rule.

    Example:
        >>> module = qmlir.gradient("docs/examples/fully_connected.mlir")
        >>> x = np.ones((1, 4), np.float32)
        >>> values = qmlir.interpret(module, {"input0": x}, function="forward")
        >>> values["gradient_output0"] = np.ones((1, 2), np.float32)
        >>> qmlir.interpret(module, values, function="backward")["gradient_input0"]
        array([[ 0. ,  3. , -1.5,  2. ]], dtype=float32)
    """
    passes = GRADIENT.passes(wrt=tuple(wrt), loss=loss, function=function, recompute=recompute)
    found = run_pipeline(module.clone(), passes)
    verify(found)
    return found
