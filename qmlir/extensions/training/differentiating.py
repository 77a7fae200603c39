"""The gradient of a model: a module with one function for the results and one for the gradients, and running both."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.extensions.training.nn_gradient import BACKWARD, FORWARD, NnGradient
from qmlir.extensions.training.reverse import gradient_name
from qmlir.interpreter.interpreter import Interpreter
from qmlir.ir.builtin_types import ranked_tensor, tensor
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import NamedPipeline, Stage, clean_passes
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import retype, specialize
from qmlir.workflows.loading import takes_model

GRADIENT = NamedPipeline(
    "gradient",
    "a float model to the function of its results and the function of their gradients",
    (
        Stage[NnGradient](
            "simplify", "nothing is differentiated that folds away, or that nothing uses", lambda _: clean_passes()
        ),
        Stage("differentiate", "passes that change the gradient run before this stage", lambda options: [options]),
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


CallByName: TypeAlias = Callable[[str, Mapping[str, Array]], Mapping[str, Array]]
"""Runs the named function of a module on arrays by name."""


class GradientFunctions:
    """The functions `@forward` and `@backward` of a module that `nn-gradient` made, with arrays by name."""

    def __init__(self, module: ModuleOp, run: CallByName | None = None) -> None:
        """`run` runs the functions; `None` runs them in the interpreter."""
        self._run = run or _interpreted(module)
        self._reads = inputs_of(function_of(module, BACKWARD))

    def reads(self, output: str) -> bool:
        """Returns true if `backward` reads the gradient of `output`, which it does for float outputs."""
        return any(port.name == gradient_name(output) for port in self._reads)

    def forward(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """Returns `given` and the results, together with all other values that `backward` reads."""
        return {**given, **self._run(FORWARD, given)}

    def backward(self, values: Mapping[str, Array], seeds: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the gradients of inputs by name; `seeds` are the gradients of results, 0 for missing ones."""
        known = {**values, **{gradient_name(name): seed for name, seed in seeds.items()}}
        for port in self._reads:
            if port.name not in known:
                known[port.name] = np.zeros(tensor(port.type).get_shape(), np.float32)
        found = self._run(BACKWARD, {port.name: known[port.name] for port in self._reads})
        return {name.removeprefix(gradient_name("")): array for name, array in found.items()}


def _interpreted(module: ModuleOp) -> CallByName:
    interpreter = Interpreter(module)
    functions = {name: function_of(module, name) for name in (FORWARD, BACKWARD)}
    ports = {name: (inputs_of(function), outputs_of(function)) for name, function in functions.items()}

    def run(name: str, given: Mapping[str, Array]) -> Mapping[str, Array]:
        takes, gives = ports[name]
        found = interpreter.call(name, [given[port.name] for port in takes])
        return {port.name: array for port, array in zip(gives, found, strict=True)}

    return run


# Gradients of the results of a float program with respect to any values inside it.
#
# The function gets a new input of zeros for each such value, which is added to the value, so that the gradient with
# respect to the input equals the gradient with respect to the value. The given module may be profiled, with element
# types that record observations; it is not changed. At inference, the rows of a batch are independent, so one pass
# computes the gradients of all rows.

Place: TypeAlias = SSAValue | tuple[Operation, int]
"""The location of a rounding: a value, for all its users, or the operand with the given index of one operation."""

Sizes: TypeAlias = Sequence[int]

Differentiates: TypeAlias = Callable[[ModuleOp, Sequence[str]], ModuleOp]
"""Differentiates a float module with respect to the named inputs: returns a module with `@forward` and `@backward`
(`nn-gradient`).
"""


def value_at(position: Place) -> SSAValue:
    """Returns the value, or the value of the operand, that `position` denotes."""
    return position if isinstance(position, SSAValue) else position[0].operands[position[1]]


class PlaceGradients:
    """The functions `@forward` and `@backward` with respect to the values at places, for one shape of each input."""

    def __init__(
        self,
        module: ModuleOp,
        function: str,
        positions: Mapping[Place, Sizes],
        inputs: Mapping[str, Sizes],
        differentiate: Differentiates,
    ) -> None:
        """Prepares both functions; `positions` and `inputs` give the sizes of the values at places and of the inputs.

        Raises `DiagnosticError`, naming the operation, if an operation has no gradient.
        """
        signature = function_of(module, function)
        names = {port.name for port in (*inputs_of(signature), *outputs_of(signature))}
        free = (name for name in map("rounding{}".format, count()) if name not in names)
        self._names = dict(zip(positions, free, strict=False))
        self._zeros = {name: np.zeros(positions[position], np.float32) for position, name in self._names.items()}
        added = _with_inputs(module, function, self._names)
        shapes = {**inputs, **{name: zeros.shape for name, zeros in self._zeros.items()}}
        self._functions = GradientFunctions(differentiate(specialize(added, shapes, function=function), [*self._zeros]))

    def reads(self, output: str) -> bool:
        """Returns true if `backward` reads the gradient of `output`, which it does for float outputs."""
        return self._functions.reads(output)

    def forward(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the results by name, together with all other values that `backward` reads."""
        return self._functions.forward({**inputs, **self._zeros})

    def backward(self, values: Mapping[str, Array], seeds: Mapping[str, Array]) -> dict[Place, Array]:
        """Returns the gradient with respect to each place; `seeds` are the gradients of results, 0 for missing ones."""
        gradients = self._functions.backward(values, seeds)
        return {position: gradients[name] for position, name in self._names.items()}


def _plain(module: ModuleOp) -> tuple[ModuleOp, dict[Operation, Operation]]:
    """Returns a float clone of a profiled module, and the clone of each of its operations."""
    clone = module.clone()
    copies = dict(zip(module.walk(), clone.walk(), strict=True))
    for op in list(clone.walk()):
        blocks = (block for region in op.regions for block in region.blocks)
        for value in (*op.results, *(argument for block in blocks for argument in block.args)):
            if (type_ := ranked_tensor(value.type)) is not None:
                retype(value, TensorType(plain_type(type_.get_element_type()), type_.get_shape()))
    for op in clone.walk():
        if isinstance(op, FuncOp):
            op.update_function_type()
    return clone, copies


def _with_inputs(module: ModuleOp, name: str, names: Mapping[Place, str]) -> ModuleOp:
    """Returns a float clone in which a new input is added to each place of the function `name`."""
    clone, copies = _plain(module)
    own, function = function_of(module, name), function_of(clone, name)
    ports = [*inputs_of(function)]
    outputs = outputs_of(function)
    block = function.body.block
    for position, port in names.items():
        value = value_at(position)
        if isinstance(value.owner, Operation):
            copy = copies[value.owner].results[value.owner.results.index(value)]
        else:
            copy = block.args[own.body.block.args.index(value)]
        argument = block.insert_arg(copy.type, len(block.args))
        ports.append(Port(port, copy.type))
        add = AddOp(copy, argument)
        if not isinstance(position, SSAValue):
            user = copies[position[0]]
            Rewriter.insert_op(add, InsertPoint.before(user))
            user.operands[position[1]] = add.result
            continue
        maker = value.owner
        first = InsertPoint.after(copies[maker]) if isinstance(maker, Operation) else InsertPoint.at_start(block)
        Rewriter.insert_op(add, first)
        copy.replace_uses_with_if(add.result, lambda use, add=add: use.operation is not add)
    function.update_function_type()
    set_ports(function, ports, outputs)
    return clone
