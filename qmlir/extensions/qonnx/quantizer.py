"""The steps that QONNX's quantizers share: to integers in the order of its specification, and from them to types.

A quantizer divides by a scale, adds a zero point, clamps, and then rounds, each step in f32. `quant.qcast` rounds
before it adds the zero point, so it replaces these steps only if the zero point is 0 and ties go to even. Otherwise the
steps remain float operations, whose integers are stored in the quantized type of the result. The result is dequantized
in both cases, so operations after it compute on integers. Parameters that no type can represent, such
as a fractional zero point, are applied in float arithmetic.

Specification: docs/qonnx-custom-ops/ of the project qonnx.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array, folded_constants
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.quant.infer import verify_quantized_tensor
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType, UniformType
from qmlir.extensions.qonnx.formats import MAX_BITS, Limits
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.onnx.node import Node


@dataclass(frozen=True)
class Quantizer:
    """The node of a quantizer, and its parameters: values that broadcast against the data."""

    node: Node
    scale: SSAValue
    zero_point: SSAValue | None = None
    """`None` for 0."""

    # Operations

    def add(self, operation: type[NnOp], *operands: SSAValue, **properties: Any) -> SSAValue:
        """Adds an operation of one result and folds it if its operands are constant, whatever their size is."""
        op = self.node.add(operation, *operands, **properties)
        (result,) = op.results
        folded = folded_constants(op, limit=int(np.prod(shape_of(result), dtype=np.int64)))
        if folded is None:
            return result
        Rewriter.erase_op(op)
        return self.node.insert(folded[0]).result

    def constant(self, number: float) -> SSAValue:
        """Adds an f32 scalar."""
        return self.node.add_constant(np.array(number, np.float32), f32)

    def to_quotient(self, value: SSAValue) -> SSAValue:
        """Adds `value / scale + zero_point`."""
        quotient = self.add(elementwise.DivOp, value, self.scale)
        return quotient if self.zero_point is None else self.add(elementwise.AddOp, quotient, self.zero_point)

    def clamped(self, value: SSAValue, limits: Limits) -> SSAValue:
        """Adds a clamp to `limits`."""
        return self.add(elementwise.ClipOp, value, minimum=limits[0], maximum=limits[1])

    def rounded(self, value: SSAValue, mode: str) -> SSAValue:
        """Adds the rounding that QONNX names `mode`."""
        rounding = _ROUNDINGS.get(mode.upper())
        if rounding is None:
            names = ", ".join(_ROUNDINGS)
            raise self.node.error(f"attribute 'rounding_mode' must be one of {names}, but got '{mode}'")
        return rounding(self, value)

    def signs(self, value: SSAValue) -> SSAValue:
        """Adds `1` for elements of at least 0 and `-1` for others."""
        is_positive = self.add(elementwise.GreaterOrEqualOp, value, self.constant(0))
        return self.add(elementwise.WhereOp, is_positive, self.constant(1), self.constant(-1))

    # Results

    def cast(self, value: SSAValue, element: UniformType) -> SSAValue:
        """Quantizes and dequantizes `value` by the casts of the `quant` dialect."""
        quantized = self.node.insert(QuantizeCastOp(value, TensorType(element, shape_of(value))))
        return self._dequantized(quantized.result)

    def dequantized(self, integers: SSAValue, element: UniformQuantizedType | None, data: SSAValue) -> SSAValue:
        """Adds `(integers - zero_point) * scale` by a cast from `element`, or in float arithmetic without one.

        Integers that are constant take the provenance of `data`, the weights that they replace.
        """
        if element is None:
            if self.zero_point is not None:
                integers = self.add(elementwise.SubOp, integers, self.zero_point)
            return _provenance_of(data, self.add(elementwise.MulOp, integers, self.scale))
        result_types = [TensorType(element.storage, shape_of(integers))]
        integers = _provenance_of(data, self.add(elementwise.CastOp, integers, result_types=result_types))
        return self._dequantized(self.node.graph.stored(integers, element, [self.node.origin]))

    def _dequantized(self, quantized: SSAValue) -> SSAValue:
        return self.node.insert(DequantizeCastOp(quantized, TensorType(f32, shape_of(quantized)))).result

    def type_of(
        self, shape: Sequence[int], limits: Limits, bits: float, *, is_signed: bool, most_bits: int = MAX_BITS
    ) -> UniformQuantizedType | None:
        """Returns the type of a tensor of `shape` with integers in `limits`, stored in `bits` bits.

        Returns `None` if no type can represent it: a parameter is known only at run time or varies along several axes,
        a zero point is fractional or exceeds the limits, a scale is not positive, or there are more than `most_bits`
        bits, a fractional number of bits, or a single integer.
        """
        scales, offsets = constant_array(self.scale), np.zeros((), np.float32)
        if self.zero_point is not None:
            known = constant_array(self.zero_point)
            if known is None:
                return None
            offsets = known
        if scales is None or bits != int(bits) or bits > most_bits:
            return None
        low, high = (int(limit) for limit in limits)
        is_held = bool(((offsets == np.rint(offsets)) & (offsets >= low) & (offsets <= high)).all())
        if not is_held:
            return None
        storage = IntegerType(int(bits)) if is_signed else IntegerType(int(bits), Signedness.UNSIGNED)
        try:
            element = _uniform(storage, len(shape), scales, offsets, (low, high))
            if element is not None:
                verify_quantized_tensor(TensorType(element, shape))
        except VerifyException:
            return None
        return element


def is_computed_quantized(value: SSAValue) -> bool:
    """Returns True if `value` is computed from dequantized values and constants only.

    Operations between quantizers become operations on integers, which round once. So the order in which the quantizer
    rounds and adds its zero point is that of `quant.qcast`.
    """
    waiting, seen, is_quantized = [value], set[SSAValue](), False
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, DequantizeCastOp):
            is_quantized = True
        elif not isinstance(owner, NnOp):
            return False
        else:
            waiting += [operand for operand in owner.operands if operand not in seen]
            seen.update(owner.operands)
    return is_quantized


def parameters(node: Node, scale: int, zero_point: int | None) -> Quantizer:
    """Returns the quantizer of a node, with its parameters in the inputs `scale` and `zero_point`."""
    known = None if zero_point is None else node.constant(zero_point)
    is_zero = zero_point is None or (known is not None and not known.any())
    for index in (0, scale, zero_point):
        if index is not None and element_of(node.input(index)) != f32:
            raise node.unsupported(f"input {index} must be f32, but got {element_of(node.input(index))}")
    return Quantizer(node, node.input(scale), None if is_zero or zero_point is None else node.input(zero_point))


def axis_of(array: Array, rank: int) -> int | None:
    """Returns the axis of a tensor of `rank` along which parameters that broadcast against it vary, 0 if none does.

    Returns `None` if they vary along several axes, or have a higher rank, which would also be that of the result.
    """
    first = rank - array.ndim
    axes = [first + axis for axis, count in enumerate(array.shape) if count != 1]
    return None if len(axes) > 1 or first < 0 else next(iter(axes), 0)


def _uniform(
    storage: IntegerType, rank: int, scales: Array, zero_points: Array, limits: tuple[int, int]
) -> UniformQuantizedType | None:
    """Returns the type of parameters that broadcast against a tensor of `rank`; `None` if several axes have some."""
    scales, zero_points = np.broadcast_arrays(scales, zero_points)
    axis = axis_of(scales, rank)
    if axis is None:
        return None
    if scales.size == 1:
        return UniformQuantizedType.per_tensor(storage, f32, float(scales.item()), int(zero_points.item()), limits)
    flat = scales.reshape(-1), zero_points.reshape(-1).astype(np.int64)
    return UniformQuantizedType.per_axis(storage, f32, axis, *flat, limits)


def _provenance_of(data: SSAValue, result: SSAValue) -> SSAValue:
    """Gives a constant the name and the provenance of the constant that it was computed from."""
    if constant_array(data) is not None and isinstance(data.owner, Operation) and isinstance(result.owner, Operation):
        set_origins(result.owner, origins_of(data.owner))
        result.name_hint = data.name_hint
    return result


# The roundings by NumPy's names and formulas, which the specification gives.

Rounding = Callable[[Quantizer, SSAValue], SSAValue]


def _by(operation: type[NnOp]) -> Rounding:
    return lambda out, value: out.add(operation, value)


def _of_magnitude(operation: type[NnOp], offset: float = 0.0) -> Rounding:
    """Rounds `|value| + offset` by `operation`, and restores the sign."""

    def rounding(out: Quantizer, value: SSAValue) -> SSAValue:
        magnitude = out.add(elementwise.AbsOp, value)
        if offset:
            magnitude = out.add(elementwise.AddOp, magnitude, out.constant(offset))
        return out.add(elementwise.MulOp, out.add(elementwise.SignOp, value), out.add(operation, magnitude))

    return rounding


HALF_EVEN = ("ROUND", "HALF_EVEN")
"""The names of rounding to the nearest integer, with ties to even."""

_ROUNDINGS: Mapping[str, Rounding] = {
    **dict.fromkeys(HALF_EVEN, _by(elementwise.RoundOp)),
    "CEIL": _by(elementwise.CeilOp),
    "FLOOR": _by(elementwise.FloorOp),
    "UP": _of_magnitude(elementwise.CeilOp),
    **dict.fromkeys(("DOWN", "ROUND_TO_ZERO"), _of_magnitude(elementwise.FloorOp)),
    "HALF_UP": _of_magnitude(elementwise.FloorOp, 0.5),
    "HALF_DOWN": _of_magnitude(elementwise.CeilOp, -0.5),
}
