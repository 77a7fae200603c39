"""`nn-equalize`: rescales the channels between two contractions so that the weight ranges of both match."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.nn.activations.ops import LeakyReluOp, PReluOp, ReluOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.nn.pooling.ops import AveragePoolOp, GlobalAveragePoolOp, GlobalMaxPoolOp, MaxPoolOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.quantization.outlier_channels import constant_like, exchange, named
from qmlir.quantization.profiles.statistics import observed

_SWEEPS = 32
"""The maximum number of sweeps over all pairs. Chains of pairs, as around a depthwise convolution, need several sweeps,
because equalizing one pair changes its neighbors.
"""

_ALIKE = 0.01
"""Factors that differ from 1 by less than this are not applied."""

Product = ConvOp | FullyConnectedOp | MatMulOp

_WEIGHTS = 1
"""The operand index of the weights of these."""

_POOLS = AveragePoolOp, GlobalAveragePoolOp, GlobalMaxPoolOp, MaxPoolOp


@dataclass(frozen=True)
class _Sides:
    """The layout of the constant weights of a contraction: the axes of its output and input channels."""

    output: int
    """The axis of the weights that holds the output channels."""

    input: int
    groups: int = 1
    """The number of channel groups; the input axis holds the channels of one group."""

    def outputs(self, array: Array) -> F64:
        """Returns the largest absolute weight of each output channel."""
        return np.abs(array).max(tuple(axis for axis in range(array.ndim) if axis != self.output))

    def inputs(self, array: Array) -> F64:
        """Returns the largest absolute weight of each input channel."""
        by_group = np.stack(np.split(np.abs(array), self.groups, self.output))
        return by_group.max(tuple(axis for axis in range(1, by_group.ndim) if axis != self.input + 1)).reshape(-1)

    def beside_outputs(self, factors: F64, rank: int) -> F64:
        """Reshapes one factor per output channel so that it broadcasts to the weights."""
        return np.moveaxis(factors.reshape(-1, *(1,) * (rank - 1)), 0, self.output)

    def beside_inputs(self, factors: F64, array: Array) -> F64:
        """Reshapes one factor per input channel so that it broadcasts to the weights."""
        if self.groups == 1:
            return np.moveaxis(factors.reshape(-1, *(1,) * (array.ndim - 1)), 0, self.input)
        rows = np.repeat(factors.reshape(self.groups, -1), array.shape[0] // self.groups, axis=0)
        return rows.reshape(*rows.shape, *(1,) * (array.ndim - 2))


def _sides(op: Operation) -> _Sides | None:
    """Returns the layout of the constant weights of `op` if nothing else reads them, and otherwise `None`."""
    if isinstance(op, ConvOp):
        found = _Sides(0, 1, op.group_count)
    elif isinstance(op, FullyConnectedOp):
        found = _Sides(0, 1)
    elif isinstance(op, MatMulOp) and len(shape_of(op.rhs)) == 2:
        found = _Sides(0, 1) if op.is_rhs_transposed else _Sides(1, 0)
    else:
        return None
    return found if all(_is_own(value) for value in op.operands[_WEIGHTS:]) else None


def _is_own(value: SSAValue) -> bool:
    """Returns true for a constant of finite f32 with one reader. (Scaling cannot equalize an infinite weight.)"""
    array = constant_array(value)
    if array is None or not isinstance(value.owner, ConstantOp):
        return False
    return array.dtype == np.float32 and len(list(value.uses)) == 1 and bool(np.isfinite(array).all())


@dataclass
class _Pair:
    """Two contractions, and the channel-wise operations between them."""

    first: Operation
    first_sides: _Sides
    biases: Sequence[tuple[Operation, int, int]]
    """Operations between them that add a constant, its operand index, and the channel axis counted from its end."""

    last: Operation
    last_sides: _Sides
    repeats: int
    """The number of inputs of the last contraction for each channel of the first (more than 1 after a flattening
    reshape)."""

    factors: F64

    def largest_bias(self) -> F64:
        """Returns the largest absolute bias of each channel."""
        found = np.zeros(len(self.factors))
        for op, position, _ in self.biases:
            found = np.maximum(found, np.abs(_array(op, position)).reshape(-1))
        return found


def _array(op: Operation, position: int) -> Array:
    array = constant_array(op.operands[position])
    assert array is not None
    return array


@dataclass(frozen=True)
class NnEqualize(ModulePass):
    """Rescales the channels between two contractions so that both have the same weight range in each channel.

    `relu(s x) = s relu(x)` for `s > 0`, so the weights that produce a channel may be divided by a factor if the weights
    that read it are multiplied by it. With `s = sqrt(r1 / r2)`, both have the largest absolute weight `sqrt(r1 r2)`,
    where `r1` is the original maximum of the first contraction (or of its bias, if larger) and `r2` that of the second
    (Nagel et al., Data-Free Quantization, ICCV 2019, 4.1). A per-tensor scale then suits all channels. A depthwise
    convolution is the second contraction of one pair and the first of another, so the pass equalizes the pairs
    repeatedly until the factors converge.

    The contractions may be separated by biases, `nn.relu`, `nn.leaky_relu`, `nn.prelu`, max and average pools, and a
    flattening reshape. No other operation may read the values between them, and the weights must have a single reader.
    Pairs with an activation that clips at a constant, such as ReLU6, are left unchanged. The pass runs before
    calibration, so that the calibrated ranges are those of the rescaled channels; values whose ranges are already
    recorded are left unchanged.

    Before:

    ```mlir
    func.func @main(%x: tensor<?x1xf32>) -> tensor<?x1xf32> {
      %w = nn.constant dense<[[4.0, 1.0]]> : tensor<1x2xf32>
      %v = nn.constant dense<[[1.0], [4.0]]> : tensor<2x1xf32>
      %0 = nn.matmul %x, %w : (tensor<?x1xf32>, tensor<1x2xf32>) -> tensor<?x2xf32> {origin = "up"}
      %1 = nn.relu %0 : tensor<?x2xf32>
      %2 = nn.matmul %1, %v : (tensor<?x2xf32>, tensor<2x1xf32>) -> tensor<?x1xf32> {origin = "down"}
      func.return %2 : tensor<?x1xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<?x1xf32>) -> tensor<?x1xf32> {
      %w = nn.constant dense<[[2.0, 2.0]]> : tensor<1x2xf32>
      %0 = nn.matmul %x, %w : (tensor<?x1xf32>, tensor<1x2xf32>) -> tensor<?x2xf32> {origin = "up"}
      %1 = nn.relu %0 : tensor<?x2xf32>
      %v = nn.constant dense<[[2.0], [2.0]]> : tensor<2x1xf32>
      %2 = nn.matmul %1, %v : (tensor<?x2xf32>, tensor<2x1xf32>) -> tensor<?x1xf32> {origin = "down"}
      func.return %2 : tensor<?x1xf32>
    }
    ```
    """

    name = "nn-equalize"
    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count("pairs equalized", equalize(op))


def equalize(module: ModuleOp, fixed: Set[SSAValue] = frozenset()) -> int:
    """Equalizes the pairs of all functions of `module`, and returns the number of changed pairs.

    A pair is left unchanged if `fixed` contains one of its values or weights.
    """
    return sum(_equalize(list(_pairs(each, fixed))) for each in module.walk() if isinstance(each, FuncOp))


def _pairs(function: FuncOp, fixed: Set[SSAValue]) -> Iterator[_Pair]:
    for op in function.walk():
        sides = _sides(op)
        if sides is not None and (pair := _pair(op, sides, fixed)) is not None:
            yield pair


def _pair(first: Operation, sides: _Sides, fixed: Set[SSAValue]) -> _Pair | None:
    """Returns the pair that begins with `first`, or `None`.

    The channels must stay separate up to the next contraction, and have no other reader.
    """
    if first.operands[_WEIGHTS] in fixed:
        return None
    value = first.results[0]
    axis = 1 if isinstance(first, ConvOp) else len(shape_of(value)) - 1
    channels, repeats = shape_of(value)[axis], 1
    biases = [(first, position, 1) for position in range(_WEIGHTS + 1, len(first.operands))]
    while channels != DYNAMIC_INDEX:
        uses = list(value.uses)
        if len(uses) != 1 or observed(value) is not None or value in fixed:
            return None
        op, position = uses[0].operation, uses[0].index
        last = _sides(op)
        if last is not None and position == 0:
            if op.operands[_WEIGHTS] in fixed:
                return None
            own = 1 if isinstance(op, ConvOp) else len(shape_of(value)) - 1
            return _Pair(first, sides, biases, op, last, repeats, np.ones(channels)) if axis == own else None
        if isinstance(op, AddOp) and repeats == 1:
            if not _is_by_channel(op.operands[1 - position], channels, len(shape_of(value)) - axis):
                return None
            biases.append((op, 1 - position, len(shape_of(value)) - axis))
        elif isinstance(op, ReshapeOp) and repeats == 1 and _flattens(op, axis):
            repeats = shape_of(op.results[0])[1] // channels
        elif not _keeps_channels(op, position, axis):
            return None
        value = op.results[0]
    return None


def _is_by_channel(value: SSAValue, channels: int, from_end: int) -> bool:
    """Returns true if `value` is a constant with one element per channel, along its axis `-from_end`."""
    if not _is_own(value):
        return False
    shape = shape_of(value)
    return len(shape) >= from_end and shape[-from_end] == channels == np.prod(shape)


def _keeps_channels(op: Operation, position: int, axis: int) -> bool:
    if isinstance(op, ReluOp | LeakyReluOp | PReluOp):
        return position == 0
    return isinstance(op, _POOLS) and axis == 1


def _flattens(op: ReshapeOp, axis: int) -> bool:
    given, found = shape_of(op.operands[0]), shape_of(op.results[0])
    sizes = given[1:]
    is_flat = axis == 1 and len(found) == 2 and found[0] == given[0]
    return is_flat and DYNAMIC_INDEX not in sizes and found[1] == int(np.prod(sizes))


def _equalize(pairs: Sequence[_Pair]) -> int:
    """Computes the factors of all pairs, applies them, and returns the number of changed pairs."""
    contractions = dict.fromkeys(op for pair in pairs for op in (pair.first, pair.last))
    arrays = {op: _array(op, _WEIGHTS).astype(np.float64) for op in contractions}
    for _ in range(_SWEEPS):
        largest = 0.0
        for pair in pairs:
            first, last = pair.first_sides, pair.last_sides
            given = np.maximum(first.outputs(arrays[pair.first]), pair.largest_bias() / pair.factors)
            taken = last.inputs(arrays[pair.last]).reshape(-1, pair.repeats).max(1)
            is_used = (given > 0) & (taken > 0)
            factors = np.sqrt(np.where(is_used, given, 1) / np.where(is_used, taken, 1))
            pair.factors *= factors
            by_input = np.repeat(factors, pair.repeats)
            arrays[pair.first] /= first.beside_outputs(factors, arrays[pair.first].ndim)
            arrays[pair.last] *= last.beside_inputs(by_input, arrays[pair.last])
            largest = max(largest, float(np.abs(np.log(factors)).max(initial=0.0)))
        if largest < _ALIKE / 10:
            break
    changed = [pair for pair in pairs if np.abs(pair.factors - 1).max(initial=0.0) > _ALIKE]
    for pair in changed:
        _scale(pair)
        low, high = pair.factors.min(), pair.factors.max()
        text = f"is equalized with {named([pair.last])}: its channels are divided by {low:.3g} to {high:.3g}"
        emit_remark(pair.first, text)
    return len(changed)


def _scale(pair: _Pair) -> None:
    """Applies the factors of a pair to its weights and biases."""
    first, last = pair.first_sides, pair.last_sides
    weights, others = _array(pair.first, _WEIGHTS), _array(pair.last, _WEIGHTS)
    _exchange(pair.first, _WEIGHTS, weights / first.beside_outputs(pair.factors, weights.ndim))
    _exchange(pair.last, _WEIGHTS, others * last.beside_inputs(np.repeat(pair.factors, pair.repeats), others))
    for op, position, from_end in pair.biases:
        known = _array(op, position)
        _exchange(op, position, (known / pair.factors.reshape(-1, *(1,) * (from_end - 1))).reshape(known.shape))


def _exchange(op: Operation, position: int, array: Array) -> None:
    exchange(op, position, constant_like(op.operands[position], array.astype(np.float32)))
