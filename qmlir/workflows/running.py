"""Running a model: `qmlir.interpret`, which accepts paths as well as modules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter import run
from qmlir.interpreter.interpreter import Listener
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.batch_tiling import batch_plan
from qmlir.targets.cpu.compiler import open_port
from qmlir.targets.cpu.runtime.batches import AnyBatch
from qmlir.targets.cpu.runtime.errors import InputError
from qmlir.targets.cpu.runtime.ports import ArrayPort, by_name, checked
from qmlir.targets.heterogeneous import without_calls
from qmlir.workflows.loading import takes_model

Inputs = Mapping[str, Any] | Sequence[Any]


@takes_model
def interpret(
    module: ModuleOp, inputs: Inputs = (), *, function: str = "main", listeners: Sequence[Listener] = ()
) -> dict[str, Array]:
    """Runs a function of a model in the reference interpreter.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.
        inputs: Arrays by input name, a sequence of arrays in input order, or a single array. NumPy types and shapes
            must match. A quantized input is an array of stored integers, a text input a `str`, and a sequence input a
            list of arrays. If samples are independent, any batch size is accepted.
        function: Name of the function to run.
        listeners: Observers of the run, subclasses of `qmlir.interpreter.interpreter.Listener`, which receive each
            operation with its operands and results.

    Returns:
        The outputs by name: arrays, or a list of arrays for a sequence. A quantized output is an array of stored
        integers.

    Raises:
        DiagnosticError: An input is missing or has a wrong type or shape, or an operation cannot be computed.

    Example:
        >>> qmlir.interpret("docs/examples/fully_connected.mlir", np.ones((1, 4), np.float32))["output0"]
        array([[0., 3.]], dtype=float32)
    """
    inputs = [inputs] if hasattr(inputs, "__array__") else inputs
    try:
        return run.interpret(module, inputs, function=function, listeners=listeners)
    except DiagnosticError:
        found = _in_pieces(module, inputs, function, listeners)
        if found is None:
            raise
        return found


def _in_pieces(
    module: ModuleOp, inputs: Inputs, function: str, listeners: Sequence[Listener]
) -> dict[str, Array] | None:
    """Runs `function` on another number of samples than its batch.

    Returns `None` if the inputs fail for another reason.

    Raises `DiagnosticError`, with help, if the inputs do not fit.
    """
    called = function_of(module, function)
    try:
        # Only the interpreter reports elements outside of a type, and where the input stands in the module.
        takes, gives = (
            [replace(open_port(called, port), bits=0) for port in side]
            for side in (inputs_of(called), outputs_of(called))
        )
        batch = AnyBatch(batch_plan(without_calls(module), 1, function), takes, gives)
    except DiagnosticError:  # inputs that only the interpreter accepts
        return None

    def run_piece(arrays: Sequence[Array], targets: Sequence[Array]) -> None:
        results = run.interpret(module, arrays, function=function, listeners=listeners)
        for target, result in zip(targets, results.values(), strict=True):
            target[...] = result

    try:
        values = by_name(takes, inputs)
        misfit = _misfit(takes, values)
        if misfit is None:
            return None
        count = batch.count(values)
        if count is None:
            raise misfit
        return batch(values, count, None, run_piece)
    except InputError as error:
        raise text_error(str(error).replace("the program ", "the model ", 1)) from error


def _misfit(ports: Sequence[ArrayPort], values: Sequence[Any]) -> InputError | None:
    """Returns the error of the first port whose value does not fit; `None` if all fit."""
    for port, value in zip(ports, values, strict=True):
        try:
            checked(port, value)
        except InputError as error:
            return error
    return None
