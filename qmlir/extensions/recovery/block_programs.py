"""Blocks of layers: their sections, and the output error as a function of quantized weights, with gradients.

The operations of the block become a separate float function that rounds like the quantized one (`quant-simulate`), and
its gradient is derived with `nn-gradient`. The quantized weights ("codes") are arguments of that function and may lie
between two integers. Values inside the block are rounded; their rounding passes gradients through unchanged.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, UnitAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.extensions.recovery.repairs import FloatData
from qmlir.extensions.recovery.rounded_weights import RoundedWeight
from qmlir.extensions.recovery.weight_rounding import F64
from qmlir.extensions.training.differentiating import GradientFunctions, PlaceGradients
from qmlir.extensions.training.fake_quantization import SOFT
from qmlir.extensions.training.nn_gradient import NnGradient
from qmlir.extensions.training.parameters import parameters_of
from qmlir.extensions.training.quant_simulate import QuantSimulate
from qmlir.interpreter.interpreter import Lockstep
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.retyping import TRAINABLE
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize

# Sections of a function between cut points: values through which all data flows.
#
# Operations after a cut depend on the function's inputs only through the cut. A residual block contains no cut, because
# its addition also reads the block's input. A chain of operations has a cut after each operation.


@dataclass(frozen=True)
class Section:
    """The operations from one cut to the next, in order; constants and operations on constants alone are left out."""

    start: SSAValue
    end: SSAValue
    operations: tuple[Operation, ...]

    def __add__(self, other: "Section") -> "Section":
        """Joins this section and the next one."""
        return Section(self.start, other.end, (*self.operations, *other.operations))


def sections(function: FuncOp) -> Iterator[Section]:
    """Yields the shortest sections of a single-block `function`, from its first cut to its last.

    A value is a cut if, at its point in program order, it is the only value computed so far that later operations read.
    The last cut may be the output of the function.
    """
    block = function.body.block
    computed: set[SSAValue] = {*block.args}
    operations = list[Operation]()
    for op in block.ops:
        if not computed.isdisjoint(_read(op)):
            computed.update(op.results)
            operations.append(op)
    last = {value: op for op in operations for value in _read(op) if value in computed}
    live: set[SSAValue] = {value for value in block.args if value in last}
    start, since = next(iter(live)) if len(live) == 1 else None, list[Operation]()
    for op in operations:
        if isinstance(op, ReturnOp):
            return
        live.difference_update(value for value in _read(op) if last.get(value) is op)
        live.update(value for value in op.results if value in last)
        since.append(op)
        if len(live) == 1:
            (end,) = live
            if end.owner is op:
                if start is not None:
                    yield Section(start, end, tuple(since))
                start, since = end, []


def _read(op: Operation) -> set[SSAValue]:
    """Returns the operands of `op` and of the operations in its regions."""
    return {value for each in op.walk() for value in each.operands}


def blocks(function: FuncOp, most: int, layers: Callable[[Sequence[Operation]], int]) -> Iterator[Section]:
    """Yields disjoint sections of at least two and at most `most` layers, in order.

    `layers` counts the layers among the given operations. A section with several layers, such as a residual block,
    forms a separate block; consecutive sections of one layer each (a chain) are joined into one block. A section
    without a layer, such as an activation, is appended to the block before it.
    """
    held: Section | None = None
    count, is_chain = 0, True
    for each in sections(function):
        own = layers(each.operations)
        if held is not None and (own == 0 or (is_chain and own == 1 and count < most)):
            held, count = held + each, count + own
            continue
        if held is not None and 1 < count <= most:
            yield held
        held, count, is_chain = (each, own, own == 1) if own else (None, 0, True)
    if held is not None and 1 < count <= most:
        yield held


@dataclass(frozen=True)
class WeightBlock:
    """A section of the function whose weights are settled together."""

    section: Section
    weights: tuple[RoundedWeight, ...]


@dataclass(frozen=True)
class BlockData:
    """The float input of a block in each run, and the block's output in the float program, if known."""

    given: Sequence[Array]
    exact: Sequence[Array] | None
    exactly: SSAValue | None = None
    """The value of the float program whose contents `exact` holds."""

    @staticmethod
    def of(block: WeightBlock, steps: Lockstep, floats: FloatData | None) -> "BlockData":
        """Returns the data of a block that `steps` has just reached."""
        start, casts = block.section.start, QuantizeCastOp | DequantizeCastOp
        last = next(op for op in reversed(block.section.operations) if not isinstance(op, casts))
        element, stored = quantized_type(start), steps.values(start)
        given = stored if element is None else [dequantize(each, element) for each in stored]
        return BlockData(given, *((None, None) if floats is None else (floats.result(last), floats.value(last))))


# The weight of an error at a value inside a float program: the squared gradient of the output error with respect to it.
#
# Near the float program an error `d` of the value changes the outputs `y` by `J d`. The sum of their squared errors,
# each relative to the mean square of its output, is
#
#     sum_o |J_o d|^2 / E|y_o|^2 = d' (sum_o J_o' J_o / E|y_o|^2) d
#
# The diagonal of that matrix weights each element of `d` (Li et al., BRECQ: Pushing the Limit of Post-Training
# Quantization by Block Reconstruction, ICLR 2021, equations 9 and 10). For random signs `e`, the expected squares of
# `J' e` are the diagonal of `J' J`: one backward pass covers all output elements at once, as in `qmlir search`.

_DRAWS = 4
"""The number of random sign vectors drawn per run."""


def _differentiated(module: ModuleOp, wrt: Sequence[str]) -> ModuleOp:
    NnGradient(wrt=tuple(wrt)).apply(Context(), module)
    return module


def _factors(program: PlaceGradients, given: Sequence[Mapping[str, Array]], outputs: Sequence[str]) -> dict[str, float]:
    """Returns the factor that makes the error of each output relative: 1 / RMS of the output over all batches."""
    if len(outputs) == 1:
        return {outputs[0]: 1.0}  # irrelevant, as the weights are normalized to a mean of 1
    squares = {name: list[float]() for name in outputs}
    for inputs in given:
        values = program.forward(inputs)
        for name, found in squares.items():
            found.append(float(np.square(values[name], dtype=np.float64).mean()))
    means = {name: float(np.mean(each)) for name, each in squares.items()}
    return {name: mean**-0.5 for name, mean in means.items() if mean > 0}


def error_weights(
    module: ModuleOp, name: str, value: SSAValue, batches: Sequence[Sequence[Array]], shape: Sequence[int]
) -> list[Array] | None:
    """Returns the weights of the elements of `value`, one array of the given `shape` for each of `batches`.

    Each batch holds the arguments of the function `name`. The weights have a mean of 1 over all batches. Returns `None`
    if the gradients of the outputs are 0 or not finite. Raises `DiagnosticError`, naming the operation, if an operation
    has no gradient.
    """
    function = function_of(module, name)
    names = [port.name for port in inputs_of(function)]
    given = [dict(zip(names, each, strict=True)) for each in batches]
    sizes = {each: array.shape for each, array in given[0].items()}
    program = PlaceGradients(module, name, {value: shape}, sizes, _differentiated)
    factors = _factors(program, given, [port.name for port in outputs_of(function) if program.reads(port.name)])
    found: list[F64] = []
    for at, inputs in enumerate(given):
        random = np.random.default_rng([0, at])
        values = program.forward(inputs)
        total = np.zeros(tuple(shape))
        for _ in range(_DRAWS):
            signs = {each: random.choice([-1.0, 1.0], values[each].shape) for each in factors}
            seeds = {each: (factor * signs[each]).astype(np.float32) for each, factor in factors.items()}
            total += np.square(program.backward(values, seeds)[value], dtype=np.float64)
        found.append(total)
    mean = float(np.mean([each.mean() for each in found]))
    return [(each / mean).astype(np.float32) for each in found] if 0 < mean < math.inf else None


# The programs of a block.

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
    _functions: GradientFunctions

    @staticmethod
    def of(section: Section, weights: Sequence[RoundedWeight], shape: Sequence[int]) -> "SimulatedBlock":
        """Builds the programs of `section` for inputs of `shape`.

        Raises `DiagnosticError`, naming the operation, if an operation cannot be simulated in float or has no gradient.
        """
        module, learned = _extracted(section, weights)
        names, ordered = zip(*learned, strict=True)
        QuantSimulate().apply(Context(), module)
        module = _differentiated(specialize(module, {_GIVEN: shape}), names)
        multiply_adds = sum(op.multiply_adds() for op in module.walk() if isinstance(op, MultipliesAndAdds))
        return SimulatedBlock(ordered, multiply_adds, names, GradientFunctions(module))

    def values(self, given: Array, codes: Sequence[F64]) -> dict[str, Array]:
        """Runs the block forward with `codes`, one array of shape `[groups, channels, terms]` per weight.

        Returns all computed values by name, in the form that `gradients` expects; the output is `_RESULT`.
        """
        laid = (weight.rows.to_weights(each) for weight, each in zip(self.weights, codes, strict=True))
        named = zip(self._names, laid, strict=True)
        return self._functions.forward({_GIVEN: given, **{name: each.astype(np.float32) for name, each in named}})

    def gradients(self, values: Mapping[str, Array], of_result: Array) -> list[F64]:
        """Returns the gradients with respect to the codes, given the gradient of the output."""
        found = self._functions.backward(values, {_RESULT: of_result})
        pairs = zip(self.weights, self._names, strict=True)
        return [weight.rows.of_weights(found[name]).astype(np.float64) for weight, name in pairs]


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
        return BlockError(simulated, given, [simulated.values(each, codes)[_RESULT] for each in given])

    @property
    def signal(self) -> float:
        """The mean square of the target output."""
        return self._mean(np.square(each, dtype=np.float64) for each in self.wanted)

    def of_codes(self, codes: Sequence[F64]) -> float:
        """Returns the mean squared error over all runs."""
        found = (self.simulated.values(each, codes)[_RESULT] for each in self.given)
        pairs = zip(found, self.wanted, strict=True)
        return self._mean(np.square(one - other, dtype=np.float64) for one, other in pairs)

    def gradients(self, codes: Sequence[F64], step: int) -> list[F64]:
        """Returns the derivatives of the error with respect to the codes, on the batch for `step`."""
        at = step % len(self.given)
        values = self.simulated.values(self.given[at], codes)
        off = values[_RESULT] - self.wanted[at]
        if self.weights is not None:
            off = off * self.weights[at]
        return self.simulated.gradients(values, off * np.float32(2 / off.size))

    def _mean(self, squares: Iterable[F64]) -> float:
        if self.weights is not None:
            squares = (one * weights for one, weights in zip(squares, self.weights, strict=True))
        return float(np.mean([each.mean() for each in squares]))
