"""Gradients of the results of a float program with respect to any values inside it.

The function gets a new input of zeros for each such value, which is added to the value, so that the gradient with
respect to the input equals the gradient with respect to the value. The given module may be profiled, with element types
that record observations; it is not changed. At inference, the rows of a batch are independent, so one pass computes the
gradients of all rows.
"""

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
from qmlir.extensions.training.nn_gradient import BACKWARD, FORWARD
from qmlir.extensions.training.reverse import gradient_name
from qmlir.interpreter.interpreter import Interpreter
from qmlir.ir.builtin_types import ranked_tensor, tensor
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import retype, specialize

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
        split = differentiate(specialize(added, shapes, function=function), [*self._zeros])
        self._interpreter = Interpreter(split)
        forward, backward = (function_of(split, name) for name in (FORWARD, BACKWARD))
        self._takes, self._gives = inputs_of(forward), outputs_of(forward)
        self._reads, self._finds = inputs_of(backward), outputs_of(backward)

    def reads(self, output: str) -> bool:
        """Returns true if `backward` reads the gradient of `output`, which it does for float outputs."""
        return any(port.name == gradient_name(output) for port in self._reads)

    def forward(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the results by name, together with all other values that `backward` reads."""
        given = {**inputs, **self._zeros}
        found = self._interpreter.call(FORWARD, [given[port.name] for port in self._takes])
        return {**given, **{port.name: array for port, array in zip(self._gives, found, strict=True)}}

    def backward(self, values: Mapping[str, Array], seeds: Mapping[str, Array]) -> dict[Place, Array]:
        """Returns the gradient with respect to each place; `seeds` are the gradients of results, 0 for missing ones."""
        known = {**values, **{gradient_name(name): seed for name, seed in seeds.items()}}
        zeros = (np.zeros(tensor(port.type).get_shape(), np.float32) for port in self._reads if port.name not in known)
        given = [known[port.name] if port.name in known else next(zeros) for port in self._reads]
        found = self._interpreter.call(BACKWARD, given)
        gradients = {port.name: array for port, array in zip(self._finds, found, strict=True)}
        return {position: gradients[gradient_name(name)] for position, name in self._names.items()}


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
