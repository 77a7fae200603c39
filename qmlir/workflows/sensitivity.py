"""What rounding the values of each layer costs, for all layers and widths from one backward pass.

The loss is the divergence of the quantized model's classes from those of the float model, which needs no labels. At the
float model it is 0, and so is its gradient: the first term of its Taylor series is the quadratic one, which is the
Fisher information (LeCun et al., Optimal Brain Damage, 1990; Li et al., BRECQ, 2021). With `p` the classes of the
softmax of the scores, `d` what rounding adds to a value, and `g_k` the gradient of `log p_k` by that value,

    KL(p || p') = 1/2 E[sum_k p_k (g_k . d)^2] + O(|d|^3)

which is a sum over the values where their roundings are independent. The true class would give the gradient of a loss
that a trained model has nearly none of; the expectation over the model's own classes is the Fisher information itself.

A profiled module and the widths in question come in; a figure for each goes out. Every value that is rounded, and every
constant, gets an input of zeros that is added to it: the gradient by that input is the gradient by the value.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.losses import softmax
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.gradient.functions import gradient_name
from qmlir.dialects.nn.ops.elementwise import AddOp
from qmlir.dialects.quant.interpret import dequantize, quantize
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.machine import Listener
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import ranked_tensor, tensor
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.inputs import function_of
from qmlir.specialization.retyping import retype
from qmlir.specialization.specialize import specialize
from qmlir.workflows.differentiating import gradient
from qmlir.workflows.evaluating import Batch, Batches, rows_of_scores

Place: TypeAlias = SSAValue | tuple[Operation, int]
"""What is rounded: a value, for all that use it; or an operand, for the operation that takes it."""

Rounded: TypeAlias = Mapping[Place, UniformQuantizedType]
"""The places of a function that are rounded, each with its type."""

SHARE = 0.99
"""The part of a sample's Fisher information, by the trace over its scores, that gradients are taken of."""

MOST_DIRECTIONS = 16
"""Gradients of one sample at most."""

_SUM = 1e-4
"""How far the sum of a row may be from 1 for a softmax in f32."""


def rounded(decisions: Decisions) -> dict[Place, UniformQuantizedType]:
    """Where types round: not where an operation moves or clamps what has its type already."""
    found: dict[Place, UniformQuantizedType] = {**decisions.constants, **decisions.operands}
    for value, type_ in decisions.values.items():
        if not _is_on_grid(value, type_, decisions):
            found[value] = type_
    return found


def _is_on_grid(value: SSAValue, type_: UniformQuantizedType, decisions: Decisions) -> bool:
    op = value.owner
    if not isinstance(op, Quantizable) or op not in decisions.quantized:
        return False
    slots = op.quantization_slots()
    return (slots.shares_parameters or slots.limits_operand) and decisions.operand_type(op, 0) == type_


def _difference(array: Array, type_: UniformQuantizedType) -> Array:
    """What rounding adds to each element, f64."""
    return dequantize(quantize(array, type_), type_).astype(np.float64) - array


@dataclass
class Sensitivity:
    """The gradients of a function by all that is rounded in it."""

    module: ModuleOp
    """A profiled module, whose places are given."""

    output: str
    """The name of the scores."""

    samples: int = 0
    """How many were gone over."""

    passes: int = 0
    """How many backward passes were made, each of one direction of one sample."""

    def losses(self, batches: Batches, wanted: Sequence[Rounded]) -> list[float]:
        """The divergence that each of `wanted` adds, `1/2 E[sum_u (g_u . d)^2]` summed over its places, in nats.

        Raises `DiagnosticError` for an operation that has no gradient, or where the output has no scores.
        """
        types: dict[Place, dict[UniformQuantizedType, float]] = {}
        for each in wanted:
            for place, type_ in each.items():
                types.setdefault(place, {}).setdefault(type_, 0.0)
        program: _Program | None = None
        for batch in batches:
            if program is None or not program.takes(batch):
                program = _Program(self.module, tuple(types), batch, self.output)
            known, passes = program.run(batch)
            errors = [
                (place, type_, _difference(known[place], type_)) for place, found in types.items() for type_ in found
            ]
            for gradients in passes:
                self.passes += 1
                for place, type_, error in errors:
                    change = float(np.vdot(gradients[place].astype(np.float64), error))
                    types[place][type_] += change * change / 2
            self.samples += batch.samples
        return [sum(types[place][type_] for place, type_ in each.items()) / max(self.samples, 1) for each in wanted]


def _plain(module: ModuleOp) -> tuple[ModuleOp, dict[Operation, Operation]]:
    """A clone of a profiled module on floats, and the operation there for each of its own."""
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


@dataclass
class _Seen(Listener):
    """Keeps what some values are in a run."""

    wanted: Collection[SSAValue]
    values: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])

    def on_arguments(self, function: FuncOp, values: Sequence[Any]) -> None:
        self._keep(function.body.block.args, values)

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        self._keep(op.results, results)

    def _keep(self, values: Sequence[SSAValue], found: Sequence[Any]) -> None:
        self.values.update((value, array) for value, array in zip(values, found, strict=True) if value in self.wanted)


def _value(place: Place) -> SSAValue:
    return place if isinstance(place, SSAValue) else place[0].operands[place[1]]


def _shapes(batch: Batch) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in batch.inputs.items()}


class _Program:
    """`@forward` and `@backward` by places, for one shape of each input."""

    def __init__(self, module: ModuleOp, places: Sequence[Place], batch: Batch, output: str) -> None:
        self._shapes = _shapes(batch)
        self._module = module
        self._output = output
        ports = (*inputs_of(function_of(module, ENTRY)), *outputs_of(function_of(module, ENTRY)))
        names = {port.name for port in ports}
        free = (name for name in map("rounding{}".format, count()) if name not in names)
        self._names = dict(zip(places, free, strict=False))
        self._zeros = {
            self._names[place]: np.zeros(array.shape, np.float32) for place, array in self._known(batch).items()
        }
        added = _with_inputs(module, self._names)
        shapes = {**self._shapes, **{name: array.shape for name, array in self._zeros.items()}}
        self._split = gradient(specialize(added, shapes), [*self._zeros])
        self._reads = inputs_of(function_of(self._split, "backward"))

    def takes(self, batch: Batch) -> bool:
        """Whether a batch has the shapes of this program."""
        return self._shapes == _shapes(batch)

    def run(self, batch: Batch) -> tuple[dict[Place, Array], Iterator[dict[Place, Array]]]:
        """What each place is, and the gradients of each sample, one for each of its directions."""
        return self._known(batch), self._passes(batch)

    def _known(self, batch: Batch) -> dict[Place, Array]:
        seen = _Seen({_value(place) for place in self._names})
        interpret(self._module, batch.inputs, function=ENTRY, listeners=[seen])
        return {place: seen.values[_value(place)] for place in self._names}

    def _passes(self, batch: Batch) -> Iterator[dict[Place, Array]]:
        inputs = {**batch.inputs, **self._zeros}
        values = {**inputs, **interpret(self._split, inputs, function="forward")}
        output = values[self._output]
        scores = rows_of_scores(output, batch)
        for row in range(batch.samples):
            for each in directions(scores[row]):
                seed = np.zeros_like(scores, np.float32)
                seed[row] = each
                found = self._backward({**values, gradient_name(self._output): seed.reshape(output.shape)})
                yield {place: found[gradient_name(name)] for place, name in self._names.items()}

    def _backward(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Other results than the scores have the gradient 0."""
        given = {port.name: values.get(port.name) for port in self._reads}
        zeros = {
            port.name: np.zeros(tensor(port.type).get_shape(), np.float32)
            for port in self._reads
            if port.name not in values
        }
        return interpret(self._split, {**given, **zeros}, function="backward")


def _with_inputs(module: ModuleOp, names: Mapping[Place, str]) -> ModuleOp:
    """A clone on floats in which an input of its name is added to each place."""
    clone, copies = _plain(module)
    own, function = function_of(module, ENTRY), function_of(clone, ENTRY)
    ports = [*inputs_of(function)]
    outputs = outputs_of(function)
    block = function.body.block
    for place, name in names.items():
        value = _value(place)
        if isinstance(value.owner, Operation):
            copy = copies[value.owner].results[value.owner.results.index(value)]
        else:
            copy = block.args[own.body.block.args.index(value)]
        argument = block.insert_arg(copy.type, len(block.args))
        ports.append(Port(name, copy.type))
        add = AddOp(copy, argument)
        if not isinstance(place, SSAValue):
            user = copies[place[0]]
            Rewriter.insert_op(add, InsertPoint.before(user))
            user.operands[place[1]] = add.result
            continue
        maker = value.owner
        first = InsertPoint.after(copies[maker]) if isinstance(maker, Operation) else InsertPoint.at_start(block)
        Rewriter.insert_op(add, first)
        copy.replace_uses_with_if(add.result, lambda use, add=add: use.operation is not add)
    function.update_function_type()
    set_ports(function, ports, outputs)
    return clone


def directions(scores: Array) -> list[Array]:
    """Gradients `u` by the scores of one sample: `sum_u (u . z)^2 = sum_k p_k (d log p_k . z)^2` for each change `z`.

    The matrix of that form is `F = diag(p) - p p^T`, and `u` its eigenvectors times the roots of their eigenvalues,
    the largest first, as many as make up `SHARE` of its trace: of a sure sample few do. Scores that add up to 1 and are
    not negative are taken for `p` itself; as `dp = F dz`, the eigenvectors are divided by the roots then.
    """
    values: F64 = scores.astype(np.float64)
    is_softmax = bool((values >= 0).all()) and abs(float(values.sum()) - 1) < _SUM
    chances: F64 = values if is_softmax else softmax(values)
    found, vectors = np.linalg.eigh(np.diag(chances) - np.outer(chances, chances))
    found, vectors = found[::-1], vectors[:, ::-1]
    parts = np.cumsum(found)
    count = min(int(np.searchsorted(parts, SHARE * parts[-1])) + 1, MOST_DIRECTIONS)
    kept = [(value, vectors[:, place]) for place, value in enumerate(found[:count].tolist()) if value > 0]
    return [(vector / np.sqrt(value) if is_softmax else vector * np.sqrt(value)) for value, vector in kept]
