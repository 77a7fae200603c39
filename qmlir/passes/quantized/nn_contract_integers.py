"""`nn-contract-integers`: turns contractions of floats into integer contractions if the floats hold small integers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerType, ModuleOp, Signedness, TensorType, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.calib.ops import StraightThroughOp
from qmlir.dialects.nn import accumulators
from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ContractionOp
from qmlir.dialects.nn.elementwise.ops import CastOp, CeilOp, ClipOp, FloorOp, MaxOp, MinOp, RoundOp
from qmlir.dialects.nn.indexing.ops import ScatteringOp
from qmlir.dialects.nn.pooling.ops import GlobalPoolOp, PoolOp
from qmlir.dialects.nn.reduction.ops import ExtremeOp
from qmlir.dialects.nn.result_shapes import covered_elements
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import with_origins_of
from qmlir.quantization.casts import QuantizeConstant, rewrite
from qmlir.quantization.retyping import hypothetical_clone, on_types

# Floats that are known to be integers, with bounds: values that were rounded or clamped, and copies of them.
#
# NaN is ignored: rounding returns an integer, or NaN for NaN.


class IntegralRange(NamedTuple):
    """The range of integers `low <= x <= high`; an infinite limit means that the range is unbounded on that side."""

    low: float
    high: float

    @property
    def largest(self) -> float:
        """The largest absolute value in the range."""
        return max(-self.low, self.high)

    def with_zero(self) -> "IntegralRange":
        """Returns the smallest range that contains this one and 0."""
        return IntegralRange(min(self.low, 0.0), max(self.high, 0.0))


def moved_values(op: Operation) -> list[SSAValue]:
    """Returns the operands whose elements `op` only moves, selects or pads with zeros; an empty list for other
    operations."""
    is_sum = isinstance(op, ScatteringOp) and op.reduction.data in op.ARITHMETIC
    if not isinstance(op, NnOp) or not op.quantization_slots().shares_parameters or is_sum:
        return []
    return [value for value, slot in op.operands_with_slots() if slot is not None]


def whole_numbers(function: FuncOp) -> dict[SSAValue, IntegralRange]:
    """Returns the float values of `function` that hold only integers, each with its range."""
    found: dict[SSAValue, IntegralRange] = {}
    for op in function.walk():
        whole = _of(op, found)
        if whole is not None:
            found.update((value, whole) for value in op.results if isinstance(element_of(value), AnyFloat))
    return found


def _of(op: Operation, found: dict[SSAValue, IntegralRange]) -> IntegralRange | None:
    match op:
        case ConstantOp():
            return _of_constant(op)
        case RoundOp() | FloorOp() | CeilOp():
            return found.get(op.operands[0], IntegralRange(-math.inf, math.inf))
        case StraightThroughOp():
            return found.get(op.hard)
        case CastOp():
            return _of_cast(found.get(op.input), element_of(op.result))
        case ClipOp():
            return _of_clip(op, found.get(op.operands[0]))
        case ReluOp():
            taken = found.get(op.operands[0])
            return None if taken is None else IntegralRange(max(taken.low, 0.0), max(taken.high, 0.0))
        case MaxOp() | MinOp():
            known = [each for value in op.operands if (each := found.get(value)) is not None]
            choose, is_known = max if isinstance(op, MaxOp) else min, len(known) == len(op.operands)
            return IntegralRange(choose(x.low for x in known), choose(x.high for x in known)) if is_known else None
        case _:
            return None if _may_choose_of_nothing(op) else _of_moved([found.get(value) for value in moved_values(op)])


def _may_choose_of_nothing(op: Operation) -> bool:
    """Returns True if `op` may take the maximum or minimum of no elements, which is infinite.

    This happens if a window lies in the padding or an axis has size 0. Dynamic sizes are assumed to allow it.
    """
    match op:
        case ExtremeOp():
            return not _are_positive(shape_of(op.input))
        case GlobalPoolOp():
            return not _are_positive(shape_of(op.data))
        case PoolOp():
            sizes, windows = shape_of(op.data)[2:], op.windows
            if _are_positive(sizes):
                return not covered_elements(windows, op.counts(sizes), sizes, False).all()
            return any(windows.pads) or bool(op.ceil_mode.value.data)
        case _:
            return False


def _are_positive(sizes: Sequence[int]) -> bool:
    return all(size != DYNAMIC_INDEX and size > 0 for size in sizes)


def _of_constant(op: ConstantOp) -> IntegralRange | None:
    array = constant_array(op.result)
    if array is None or not array.size or not isinstance(element_of(op.result), AnyFloat):
        return None
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all() or not np.array_equal(numbers, np.rint(numbers)):
        return None
    return IntegralRange(float(numbers.min()), float(numbers.max()))


def _of_clip(op: ClipOp, taken: IntegralRange | None) -> IntegralRange | None:
    limits = (op.minimum, -math.inf), (op.maximum, math.inf)
    low, high = (none if each is None else float(each.value.data) for each, none in limits)
    if taken is None or not all(math.isinf(each) or each.is_integer() for each in (low, high)):
        return None
    return IntegralRange(min(max(taken.low, low), high), min(max(taken.high, low), high))


def _of_cast(taken: IntegralRange | None, element: Attribute) -> IntegralRange | None:
    """Returns the range after a cast: rounding to a narrower float keeps integers and their order."""
    if taken is None or element not in (f32, f64):
        return None
    return IntegralRange(*(float(np.float32(each)) if element == f32 else each for each in taken))


def _of_moved(taken: list[IntegralRange | None]) -> IntegralRange | None:
    known = [each.with_zero() for each in taken if each is not None]
    if not known or len(known) < len(taken):
        return None
    return IntegralRange(min(each.low for each in known), max(each.high for each in known))


_SUMS = UniformQuantizedType.per_tensor(IntegerType(accumulators.BITS), f32, 1.0)
"""The type of sums of products of integers."""


def integer_type(whole: IntegralRange) -> UniformQuantizedType | None:
    """Returns a type of scale 1 that holds the range and 0 in 8 or 16 bits, or `None` if 16 bits do not suffice."""
    low, high = whole.with_zero()
    for bits in (8, 16):
        half = 1 << (bits - 1)
        if -half <= low and high < half:
            return UniformQuantizedType.per_tensor(IntegerType(bits), f32, 1.0)
        if high - low < 2 * half:
            return UniformQuantizedType.per_tensor(IntegerType(bits, Signedness.UNSIGNED), f32, 1.0, -int(low))
    return None


@dataclass
class _Integers:
    """The integer-valued floats of a function, and the values that store them as integers."""

    limits: dict[SSAValue, IntegralRange]
    casts: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def type_of(self, value: SSAValue) -> UniformQuantizedType | None:
        """Returns the type that holds the elements of `value`, or `None`."""
        whole = self.limits.get(value)
        return None if whole is None else integer_type(whole)

    def of(self, value: SSAValue) -> SSAValue:
        """Returns the elements of `value`, for which `type_of` must return a type, as integers.

        Operations that only move the elements of `value` are rebuilt to move the integers."""
        if value not in self.casts:
            self.casts[value] = self._cast(value)
        return self.casts[value]

    def _cast(self, value: SSAValue) -> SSAValue:
        op, element = value.owner, self.type_of(value)
        assert isinstance(op, Operation)
        assert element is not None
        if isinstance(op, CastOp) and self.type_of(op.input) == element:
            return self.of(op.input)
        moved = moved_values(op)
        if moved and len(op.results) == 1 and all(self.type_of(each) == element for each in moved):
            made = on_types(op, [self.of(each) if each in moved else each for each in op.operands], [element])
            Rewriter.insert_op(made, InsertPoint.after(op))
            return made.results[0]
        casts: list[Operation] = []
        if element_of(value) != f32:
            casts.append(CastOp(operands=[value], result_types=[TensorType(f32, shape_of(value))]))
        source = casts[0].results[0] if casts else value
        casts.append(QuantizeCastOp(source, TensorType(element, shape_of(value))))
        Rewriter.insert_op([with_origins_of(op, each) for each in casts], InsertPoint.after(op))
        return casts[-1].results[0]

    def share(self) -> None:
        """Makes the remaining readers of converted values read the integers as well, so that memory holds only the
        integers."""
        for value, stored in self.casts.items():
            others = [use.operation for use in value.uses if use.operation is not stored.owner]
            if element_of(value) == f32 and others:
                assert isinstance(stored.owner, Operation)
                back = with_origins_of(stored.owner, DequantizeCastOp(stored, value.type))
                Rewriter.insert_op(back, InsertPoint.after(stored.owner))
                value.replace_uses_with_if(back.result, lambda use, others=others: use.operation in others)


@dataclass(frozen=True)
class NnContractIntegers(ModulePass):
    """Computes contractions of floats in integers if the floats hold integers that fit in 8 or 16 bits.

    Floats that were rounded and clamped, such as those from `quant-simulate`, are integers in a known range. If this
    holds for both factors of a contraction, and each sum fits in 32 bits, the factors are stored as integers of scale
    1. The exact sums are converted to floats, and rounded once if f32 cannot represent them. Sums of unknown length
    have no bound, so their contractions are left unchanged. Data movement and max pools between the rounding and the
    contraction move the integers, and all other readers of the factors convert the integers back. Every other operation
    stays in float. The weights need not be constant. No integer represents NaN, so a NaN is an error at the cast to
    integers.

    If the pass runs after `nn-gradient`, the forward pass of training computes exactly as the quantized module will,
    and keeps the values that the backward pass reads.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
      %0 = nn.round %x : tensor<2x3xf32> {origin = "in"}
      %1 = nn.clip %0 {minimum = 0.0, maximum = 255.0} : tensor<2x3xf32> {origin = "in"}
      %2 = nn.round %w : tensor<3x4xf32> {origin = "w"}
      %3 = nn.clip %2 {minimum = -8.0, maximum = 7.0} : tensor<3x4xf32> {origin = "w"}
      %4 = nn.matmul %1, %3 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> {origin = "fc"}
      func.return %4 : tensor<2x4xf32>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<u8:f32, 1.0>
    !w = !quant.uniform<i8:f32, 1.0>
    !sum = !quant.uniform<i32:f32, 1.0>
    func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
      %0 = nn.round %x : tensor<2x3xf32> {origin = "in"}
      %1 = nn.clip %0 {minimum = 0.0, maximum = 255.0} : tensor<2x3xf32> {origin = "in"}
      %2 = quant.qcast %1 {origin = "in"} : tensor<2x3xf32> to tensor<2x3x!x>
      %3 = nn.round %w : tensor<3x4xf32> {origin = "w"}
      %4 = nn.clip %3 {minimum = -8.0, maximum = 7.0} : tensor<3x4xf32> {origin = "w"}
      %5 = quant.qcast %4 {origin = "w"} : tensor<3x4xf32> to tensor<3x4x!w>
      %6 = nn.matmul %2, %5 : (tensor<2x3x!x>, tensor<3x4x!w>) -> tensor<2x4x!sum> {origin = "fc"}
      %7 = quant.scast %6 {origin = "fc"} : tensor<2x4x!sum> to tensor<2x4xi32>
      %8 = nn.cast %7 : (tensor<2x4xi32>) -> tensor<2x4xf32> {origin = "fc"}
      func.return %8 : tensor<2x4xf32>
    }
    ```
    """

    name = "nn-contract-integers"
    # Integers have no signed zero.
    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                integers = _Integers(whole_numbers(function))
                for each in list(function.walk()):
                    if isinstance(each, ContractionOp):
                        _contract(each, integers)
                integers.share()
        rewrite(op, (QuantizeConstant(),), ctx)


def _contract(op: ContractionOp, integers: _Integers) -> None:
    """Replaces a contraction of floats by one of integers, if 32 bits hold each sum."""
    elements = [integers.type_of(value) for value in op.operands]
    if len(elements) != 2 or None in elements:
        return
    try:
        with hypothetical_clone(op, [each for each in elements if each is not None], [_SUMS]) as made:
            limits = accumulators.sum_limits(made)
    except VerifyException:
        return
    if limits is None or not accumulators.are_held(*limits):
        return
    sums = on_types(op, [integers.of(value) for value in op.operands], [_SUMS])
    stored = StorageCastOp(sums.results[0], TensorType(_SUMS.storage, shape_of(op.results[0])))
    result = CastOp(operands=[stored.result], result_types=[op.results[0].type])
    Rewriter.replace_op(op, [sums, with_origins_of(op, stored), with_origins_of(op, result)], [result.result])
    count("contractions")
