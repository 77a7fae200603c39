"""Float chains: the float operations in a body between integer inputs and an integer result, viewed as one function.

A chain ends in a conversion to integer or a requantization in floats. Its inputs are integers that are converted to
floats (the leaves), and constants, which are scalars or tensors with one element per channel along one iterator. The
result depends only on the leaves, so NumPy can evaluate the chain for every value of a leaf.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qmlir.analysis.contraction_ranges import elements_of_constant
from qmlir.analysis.operand_accesses import OperandAccess, Structured, integer_bits, is_inside, readings_of
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode, requantize_by, requantize_f32, requantize_qlinear, saturate, to_f32
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.ir.builtin_types import as_integer
from qmlir.ir.evaluation import evaluate_if_defined, evaluate_in_order

_STEPS = (
    arith.SIToFPOp, arith.MulfOp, arith.AddfOp, arith.SubfOp, arith.DivfOp, arith.NegfOp, arith.MaximumfOp,
    arith.MinimumfOp, arith.ExtFOp, arith.TruncFOp, math.RoundEvenOp, math.FmaOp,
)  # fmt: skip
"""Operations that a chain may contain."""

_RISING = (arith.SIToFPOp, arith.ExtFOp, arith.TruncFOp, math.RoundEvenOp, arith.FPToSIOp)
"""Unary operations that are monotonically nondecreasing."""

Ends = arith.FPToSIOp | RequantizeOp
Direction = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FloatChain:
    """A function from integers to an integer, computed in floats by `operations`; the last of these is `end`."""

    end: Ends
    operations: Sequence[Operation]
    leaves: Sequence[SSAValue]
    parameters: Mapping[SSAValue, Array]
    """Constants that the chain reads, of shape `[channels]` or scalar."""

    axis: int | None
    """The iterator along which parameters differ; `None` if all of them are scalars."""

    @property
    def channels(self) -> int:
        """The number of channels along the axis; 1 if all parameters are scalars."""
        return max((each.size for each in self.parameters.values()), default=1)

    def constant(self, value: SSAValue) -> Array | None:
        """Evaluates `value`, as `[channels]` or a scalar, if it depends only on constants; `None` if it depends on a
        leaf.
        """
        if value in self.parameters:
            return self.parameters[value]
        op = value.owner
        if value in self.leaves or not isinstance(op, _STEPS):
            return None
        operands = [self.constant(each) for each in op.operands]
        known = [each for each in operands if each is not None]
        if len(known) < len(operands):
            return None
        found = evaluate_if_defined(op, np.broadcast_arrays(*known))
        return None if found is None else np.asarray(found[0])

    def is_finite(self) -> bool:
        """Returns True if the constants and all values computed from constants alone are finite (`0 * inf` is NaN)."""
        results = (self.constant(op.results[0]) for op in self.operations if op is not self.end)
        known = [*self.parameters.values(), *(each for each in results if each is not None)]
        return all(bool(np.isfinite(each).all()) for each in known)

    def values(self, *leaves: Array) -> npt.NDArray[np.int64] | None:
        """Evaluates the chain on arrays of leaf values that broadcast to `[channels, points]`.

        Returns `None` if an operation cannot be evaluated for one of these values, or if a leaf is wider than 64 bits.
        """
        known = self._steps(leaves)
        return None if known is None else self._ended([known[operand] for operand in self.end.operands])

    def stays_finite(self, *leaves: Array) -> bool:
        """Returns True if no float in the chain is infinite or NaN for these values of the leaves.

        A monotone chain that is finite at both ends of a range is also finite in between: each float is a monotone
        function of the leaf as long as its operands are finite, so it stays between its values at the two ends. All
        floats are checked rather than only the result, to rule out that `inf - inf` occurs between two ends with finite
        results.
        """
        known = self._steps(leaves)
        floats = [] if known is None else [array for value, array in known.items() if value not in self.leaves]
        return known is not None and all(bool(np.isfinite(each).all()) for each in floats)

    def _steps(self, leaves: Sequence[Array]) -> dict[SSAValue, Array] | None:
        """Returns leaves, parameters and the results of all operations except the end, each `[channels, points]`."""
        shape = np.broadcast_shapes((self.channels, 1), *(each.shape for each in leaves))
        known: dict[SSAValue, Array] = {
            value: np.broadcast_to(array.reshape(-1, 1), shape) for value, array in self.parameters.items()
        }
        for value, array in zip(self.leaves, leaves, strict=True):
            dtype = _dtype_of(value)
            if dtype is None:
                return None
            known[value] = np.broadcast_to(array, shape).astype(dtype)
        return known if evaluate_in_order(self.operations[:-1], known) else None

    def _ended(self, operands: Sequence[Array]) -> npt.NDArray[np.int64] | None:
        if isinstance(self.end, RequantizeOp):
            with np.errstate(all="ignore"):
                return requantized(self.end, *operands)
        found = evaluate_if_defined(self.end, operands)
        return None if found is None else np.asarray(found[0]).astype(np.int64)

    def direction(self) -> Direction | None:
        """Returns, for each channel, whether the result is nondecreasing (1) or nonincreasing (-1) in the only leaf.

        Returns `None` if the operations do not determine a direction. Rounding preserves monotonicity, so the direction
        follows from the exact functions that the operations approximate.
        """
        found: dict[SSAValue, Direction] = dict.fromkeys(self.leaves, np.ones(1, np.int64))
        for op in self.operations:
            direction = self._of_step(op, found)
            if direction is None:
                return None
            found[op.results[0]] = direction
        return np.broadcast_to(found[self.end.results[0]], (self.channels,))

    def _of_step(self, op: Operation, found: Mapping[SSAValue, Direction]) -> Direction | None:
        constants = [self.constant(operand) for operand in op.operands]
        pairs = list(zip(op.operands, constants, strict=True))
        known = [found.get(operand) if constant is None else None for operand, constant in pairs]
        if all(constant is not None for constant in constants):
            return np.zeros(1, np.int64)
        if any(operand not in found for operand, constant in pairs if constant is None):
            return None
        match op:
            case arith.NegfOp():
                return None if known[0] is None else -known[0]
            case RequantizeOp():
                is_scaled = constants[0] is None and all(each is not None for each in constants[1:])
                return _times(known[0], constants[1]) if is_scaled else None
            case arith.MulfOp():
                varying = [position for position, each in enumerate(constants) if each is None]
                return _times(known[varying[0]], constants[1 - varying[0]]) if len(varying) == 1 else None
            case arith.DivfOp():
                if constants[0] is not None or constants[1] is None or not constants[1].all():
                    return None  # division by the leaf changes direction at 0
                return _times(known[0], constants[1])
            case arith.AddfOp() | arith.MaximumfOp() | arith.MinimumfOp():
                return _joined(*known)
            case arith.SubfOp():
                return _joined(known[0], None if known[1] is None else -known[1])
            case _ if isinstance(op, _RISING):
                return known[0]
            case _:
                return None


def _times(direction: Direction | None, factor: Array | None) -> Direction | None:
    if direction is None or factor is None:
        return None
    return direction * np.sign(factor.reshape(-1)).astype(np.int64)


def _joined(one: Direction | None, other: Direction | None) -> Direction | None:
    """Returns the common direction of two operands, or `None` if they disagree; 0 is one that doesn't depend on it."""
    if one is None or other is None:
        return other if one is None else one
    pair = np.broadcast_arrays(one, other)
    return np.where(pair[0] == 0, pair[1], pair[0]) if (pair[0] * pair[1] >= 0).all() else None


def requantized(op: RequantizeOp, accumulator: Array, *parameters: Array) -> npt.NDArray[np.int64]:
    """Requantizes without wrapping to the signless result type: unsigned bytes may exceed 127."""
    if not op.mode.mode.uses_floats:
        return requantize_by(op.mode.mode, accumulator, parameters, op.zero_point.value.data, op.limits)
    (multiplier,) = parameters
    if op.mode.mode is Mode.QLINEAR:
        return requantize_qlinear(accumulator, multiplier, op.zero_point.value.data, op.limits)
    if not (np.asarray(multiplier) == 1).any():
        return requantize_f32(accumulator, multiplier, op.zero_point.value.data, op.limits)
    rounded = np.rint(to_f32(accumulator) * np.asarray(multiplier, np.float32))  # 1 is no exception here
    return saturate(rounded.astype(np.float64), op.zero_point.value.data, op.limits)


def _dtype_of(leaf: SSAValue) -> np.dtype[np.int64] | np.dtype[np.int32] | None:
    """Returns the NumPy type that holds the integers of a leaf, or `None` if they are wider than 64 bits."""
    bits = integer_bits(leaf)
    return None if bits > 64 else np.dtype(np.int64) if bits > 32 else np.dtype(np.int32)


def ends_in(operations: Iterable[Operation]) -> list[Ends]:
    """Returns the operations that can end a chain: conversions to integer, and requantizations by a multiplier."""
    ends = [op for op in operations if isinstance(op, arith.FPToSIOp | RequantizeOp) and as_integer(op.result.type)]
    return [op for op in ends if isinstance(op, arith.FPToSIOp) or op.mode.mode.uses_floats or is_fixed_point(op)]


def is_fixed_point(op: Operation) -> bool:
    """Returns true for a requantization by a multiplier and a shift."""
    return isinstance(op, RequantizeOp) and op.mode.mode in (Mode.SINGLE_ROUND, Mode.DOUBLE_ROUND)


def _parameter(reading: OperandAccess) -> tuple[Array, int | None] | None:
    """Returns the elements of a constant reading along the only iterator of its map, and that iterator."""
    known = elements_of_constant(reading.value)
    if known is None:
        return None
    dims = [(at, each.position) for at, each in enumerate(reading.map_.results) if isinstance(each, AffineDimExpr)]
    others = [each for each in reading.map_.results if not isinstance(each, AffineDimExpr)]
    if len(dims) > 1 or not all(isinstance(each, AffineConstantExpr) and each.value == 0 for each in others):
        return None
    if not dims:
        return known.reshape(-1)[:1].reshape(()), None
    ((at, iterator),) = dims
    return np.moveaxis(known, at, 0).reshape(known.shape[at], -1)[:, 0], iterator


def _constant_number(value: SSAValue) -> Array | None:
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, FloatAttr | IntegerAttr):
        return None
    found = evaluate_if_defined(op, ())
    return None if found is None else np.asarray(found[0])


def chain_to(end: Ends, parent: Structured | None) -> FloatChain | None:
    """Returns the chain that ends in `end`, or `None` if a float in it has an unsupported source, such as an i1."""
    accesses = [] if parent is None else readings_of(parent)
    readings: dict[SSAValue, OperandAccess] = {each.argument: each for each in accesses if each.argument is not None}
    block = end.parent
    assert isinstance(block, Block)
    parameters: dict[SSAValue, Array] = {}
    axes: set[int] = set()
    wanted: list[SSAValue] = list(end.operands)
    operations: set[Operation] = {end}
    leaves: list[SSAValue] = []
    while wanted:
        value = wanted.pop()
        if value in parameters or value in leaves:
            continue
        number = _constant_number(value)
        reading = _parameter(readings[value]) if value in readings else None
        if number is not None:
            parameters[value] = number
        elif reading is not None:
            parameters[value] = reading[0]
            axes |= set() if reading[1] is None else {reading[1]}
        elif isinstance(value.type, AnyFloat):
            op = value.owner
            if not isinstance(op, _STEPS) or not is_inside(value, block):
                return None
            operations.add(op)
            wanted += op.operands
        elif (integer := as_integer(value.type)) is not None and integer.width.data > 1:
            # An i1 is excluded: signed operations read it as 0 or -1, unsigned ones as 0 or 1.
            leaves.append(value)
        else:
            return None
    if not leaves or len(axes) > 1:
        return None
    ordered = [op for op in block.ops if op in operations]
    values: list[SSAValue] = [*block.args, *(result for op in block.ops for result in op.results)]
    position = {value: number for number, value in enumerate(values)}
    leaves.sort(key=lambda value: position.get(value, -1))
    return FloatChain(end, ordered, leaves, parameters, next(iter(axes), None))
