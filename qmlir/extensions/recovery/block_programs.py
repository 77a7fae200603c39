"""The output error of a block of layers as a function of its quantized weights, with gradients.

The operations of the block become a separate float function that rounds like the quantized one (`quant-simulate`), and
its gradient is derived with `nn-gradient`. The quantized weights ("codes") are arguments of that function and may lie
between two integers. Values inside the block are rounded; their rounding passes gradients through unchanged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, UnitAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.extensions.recovery.cut_points import Section
from qmlir.extensions.recovery.repairs import BlockData, WeightBlock
from qmlir.extensions.recovery.rounded_weights import RoundedWeight
from qmlir.extensions.recovery.weight_rounding import F64
from qmlir.extensions.training.fake_quantization import SOFT
from qmlir.extensions.training.nn_gradient import BACKWARD, FORWARD, NnGradient
from qmlir.extensions.training.parameters import parameters_of
from qmlir.extensions.training.quant_simulate import QuantSimulate
from qmlir.extensions.training.reverse import gradient_name
from qmlir.interpreter.interpreter import Interpreter
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.retyping import TRAINABLE
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize

_GIVEN, _RESULT = "given", "result"

_BATCH = 16
"""The minimum number of elements in a block's input per step: runs are batched until they reach it. Measured with 4-bit
weights, dB on held-out samples and on test images: 28.1, 26.3 with one image a step and 27.8, 26.3 with four on a
ResNet-8, in 15 and 24 s; on a digits CNN 22.6, 21.7 with one, 22.6, 22.1 with four and 23.2, 21.7 with 16.
"""


def batch_axis(value: SSAValue) -> int | None:
    """Returns the axis along which runs can be batched: the only dynamic axis; `None` if there is not exactly one."""
    axes = [axis for axis, size in enumerate(shape_of(value)) if size == DYNAMIC_INDEX]
    return axes[0] if len(axes) == 1 else None


def _extracted(section: Section, weights: Sequence[RoundedWeight]) -> tuple[ModuleOp, list[tuple[str, RoundedWeight]]]:
    """Returns the section as a float function with the codes of `weights` as arguments, and the weights by name."""
    start, end = section.start, section.end
    body = Block(arg_types=[TensorType(f32, shape_of(start))])
    made: dict[SSAValue, SSAValue] = {start: body.args[0]}
    by_constant = {weight.op: weight for weight in weights}
    learned: dict[SSAValue, RoundedWeight] = {}
    if quantized_type(start) is not None:
        cast = QuantizeCastOp(body.args[0], start.type)
        body.add_op(cast)
        made[start] = cast.result

    def add(op: Operation) -> None:
        for value in op.operands:
            if value not in made:  # a constant, or computed from constants
                assert isinstance(value.owner, Operation)
                add(value.owner)
        clone = op.clone(made)
        body.add_op(clone)
        if TRAINABLE in clone.attributes and op not in by_constant:
            del clone.attributes[TRAINABLE]
        if isinstance(op, ConstantOp) and (weight := by_constant.get(op)) is not None:
            learned[clone.results[0]] = weight
        if isinstance(op, QuantizeCastOp) and op.input.owner in by_constant:
            clone.attributes[SOFT] = UnitAttr()

    for op in section.operations:
        add(op)
    result = made[end]
    if quantized_type(end) is not None:
        cast = DequantizeCastOp(result, TensorType(f32, shape_of(end)))
        body.add_op(cast)
        result = cast.result
    body.add_op(ReturnOp(result))
    function = FuncOp(ENTRY, ([body.args[0].type], [result.type]), Region(body))
    set_ports(function, [Port(_GIVEN, body.args[0].type)], [Port(_RESULT, result.type)])
    return ModuleOp([function]), [(each.name, learned[each.values[0]]) for each in parameters_of(function)]


@dataclass(frozen=True)
class SimulatedBlock:
    """The forward and backward programs of a block for one input shape."""

    weights: tuple[RoundedWeight, ...]
    """The weights, in the order of the code arguments."""

    multiply_adds: int
    """The total number of multiply-adds of both programs."""

    _names: tuple[str, ...]
    _interpreter: Interpreter
    _reads: tuple[str, ...]
    _gives: tuple[str, ...]

    @staticmethod
    def of(section: Section, weights: Sequence[RoundedWeight], shape: Sequence[int]) -> "SimulatedBlock":
        """Builds the programs of `section` for inputs of `shape`.

        Raises `DiagnosticError`, naming the operation, if an operation cannot be simulated in float or has no gradient.
        """
        module, learned = _extracted(section, weights)
        names, ordered = zip(*learned, strict=True)
        QuantSimulate().apply(Context(), module)
        module = specialize(module, {_GIVEN: shape})
        NnGradient(wrt=names).apply(Context(), module)
        forward, backward = (function_of(module, name) for name in (FORWARD, BACKWARD))
        assert tuple(port.name for port in inputs_of(forward)) == (_GIVEN, *names)
        multiply_adds = sum(op.multiply_adds() for op in module.walk() if isinstance(op, MultipliesAndAdds))
        reads, gives = ([port.name for port in ports] for ports in (inputs_of(backward), outputs_of(forward)))
        return SimulatedBlock(ordered, multiply_adds, names, Interpreter(module), tuple(reads), tuple(gives))

    def values(self, given: Array, codes: Sequence[F64]) -> dict[str, Array]:
        """Runs the block forward with `codes`, one array of shape `[groups, channels, terms]` per weight.

        Returns all computed values by name, in the form that `result` and `gradients` expect.
        """
        laid = (weight.rows.to_weights(each) for weight, each in zip(self.weights, codes, strict=True))
        taken = (given, *(each.astype(np.float32) for each in laid))
        found = self._interpreter.call(FORWARD, taken)
        return dict(zip((_GIVEN, *self._names, *self._gives), (*taken, *found), strict=True))

    @staticmethod
    def result(values: Mapping[str, Array]) -> Array:
        """Returns the block's output from among `values`."""
        return values[_RESULT]

    def gradients(self, values: Mapping[str, Array], of_result: Array) -> list[F64]:
        """Returns the gradients with respect to the codes, given the gradient of the output."""
        known = {**values, gradient_name(_RESULT): of_result}
        found = self._interpreter.call(BACKWARD, [known[name] for name in self._reads])
        pairs = zip(self.weights, found, strict=True)
        return [weight.rows.of_weights(each).astype(np.float64) for weight, each in pairs]


@dataclass(frozen=True)
class RunGroups:
    """The grouping of runs into batches: each batch holds `size` runs whose indices are `distance` apart."""

    size: int
    distance: int

    @staticmethod
    def of(block: WeightBlock, data: BlockData) -> "RunGroups":
        """Chooses the batches for a block; a batch holds more than one run only if the block has a batch axis."""
        is_open = all(batch_axis(each) is not None for each in (block.section.start, block.section.end))
        size = min(-(-_BATCH // data.given[0].size), len(data.given)) if is_open else 1
        return RunGroups(size, len(data.given) // size)

    def joined(self, runs: Sequence[Array], axis: int | None) -> list[Array]:
        """Returns one array per batch: the arrays of its runs, concatenated along `axis`."""
        return [
            np.concatenate(runs[at :: self.distance][: self.size], axis or 0) if self.size > 1 else runs[at]
            for at in range(self.distance)
        ]


@dataclass(frozen=True)
class BlockError:
    """The squared error of a block's output over some runs, as a function of its codes."""

    simulated: SimulatedBlock
    given: Sequence[Array]
    """The input of the block, one array per batch."""

    wanted: Sequence[Array]

    weights: Sequence[Array] | None = None
    """The weights of the output elements, one array per batch, with mean 1; `None` weights all elements equally."""

    @staticmethod
    def of(
        block: WeightBlock,
        data: BlockData,
        unrounded: Callable[[Sequence[RoundedWeight]], Sequence[F64]],
        weights: Callable[[RunGroups, Sequence[int]], Sequence[Array] | None] | None = None,
    ) -> "BlockError | None":
        """Returns the error against the float program if known, otherwise against the block with unrounded codes.

        Runs are batched if the block has a batch axis. `weights`, called with the batches and the shape of the output
        in each batch, returns the weight of each output element. The result is `None` if the runs have different
        shapes.
        """
        if len({each.shape for each in data.given}) > 1:
            return None
        groups = RunGroups.of(block, data)
        given = groups.joined(data.given, batch_axis(block.section.start))
        simulated = SimulatedBlock.of(block.section, block.weights, given[0].shape)
        if data.exact is not None:
            wanted = groups.joined(data.exact, batch_axis(block.section.end))
            return BlockError(simulated, given, wanted, None if weights is None else weights(groups, wanted[0].shape))
        codes = unrounded(simulated.weights)
        return BlockError(simulated, given, [simulated.result(simulated.values(each, codes)) for each in given])

    @property
    def signal(self) -> float:
        """The mean square of the target output."""
        return self._mean(np.square(each, dtype=np.float64) for each in self.wanted)

    def of_codes(self, codes: Sequence[F64]) -> float:
        """Returns the mean squared error over all runs."""
        found = (self.simulated.result(self.simulated.values(each, codes)) for each in self.given)
        pairs = zip(found, self.wanted, strict=True)
        return self._mean(np.square(one - other, dtype=np.float64) for one, other in pairs)

    def gradients(self, codes: Sequence[F64], step: int) -> list[F64]:
        """Returns the derivatives of the error with respect to the codes, on the batch for `step`."""
        at = step % len(self.given)
        values = self.simulated.values(self.given[at], codes)
        off = self.simulated.result(values) - self.wanted[at]
        if self.weights is not None:
            off = off * self.weights[at]
        return self.simulated.gradients(values, off * np.float32(2 / off.size))

    def _mean(self, squares: Iterable[F64]) -> float:
        if self.weights is not None:
            squares = (one * weights for one, weights in zip(squares, self.weights, strict=True))
        return float(np.mean([each.mean() for each in squares]))
