"""`nn-contract-integers`: computes contractions of floats that hold small integers as integer contractions."""

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.analysis.integral_floats import Whole, moved_values, whole_numbers
from qmlir.dialects.nn import accumulators
from qmlir.dialects.nn.contraction.ops import ContractionOp
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import with_origins_of
from qmlir.quantization.casts import QuantizeConstant, rewrite
from qmlir.quantization.retyping import imagined, on_types

_SUMS = UniformQuantizedType.per_tensor(IntegerType(accumulators.BITS), f32, 1.0)
"""The type of sums of products of integers."""


def integer_type(whole: Whole) -> UniformQuantizedType | None:
    """Returns a type of scale 1 that holds the integers and 0 in 8 or 16 bits; `None` if these do not suffice."""
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

    limits: dict[SSAValue, Whole]
    casts: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def type_of(self, value: SSAValue) -> UniformQuantizedType | None:
        """Returns the type that holds the elements of `value`, or `None`."""
        whole = self.limits.get(value)
        return None if whole is None else integer_type(whole)

    def of(self, value: SSAValue) -> SSAValue:
        """Returns the elements of `value`, which has such a type, as integers; operations that move it move the
        integers."""
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
        source = value
        if element_of(value) != f32:
            casts.append(CastOp(operands=[value], result_types=[TensorType(f32, shape_of(value))]))
            source = casts[-1].results[0]
        casts.append(QuantizeCastOp(source, TensorType(element, shape_of(value))))
        Rewriter.insert_op([with_origins_of(op, each) for each in casts], InsertPoint.after(op))
        return casts[-1].results[0]

    def share(self) -> None:
        """Makes all other readers read these integers as well, so that only the integers are kept in memory."""
        for value, stored in self.casts.items():
            others = [use.operation for use in value.uses if use.operation is not stored.owner]
            if element_of(value) == f32 and others:
                assert isinstance(stored.owner, Operation)
                back = with_origins_of(stored.owner, DequantizeCastOp(stored, value.type))
                Rewriter.insert_op(back, InsertPoint.after(stored.owner))
                value.replace_uses_with_if(back.result, lambda use, others=others: use.operation in others)


@dataclass(frozen=True)
class NnContractIntegers(ModulePass):
    """Computes contractions of floats in integers if the floats hold integers of 8 or 16 bits.

    Floats that were rounded and clamped, such as those of `quant-simulate`, are integers inside limits. If this holds
    for both factors of a contraction, and 32 bits hold each sum, the factors are stored as integers of scale 1, and the
    exact sums are converted to floats, rounded once if f32 does not hold them. Sums of unknown length have no bound and
    are left. Operations that move the numbers in between, and max pools, move the integers; all other readers also read
    the integers. Every other operation stays on floats. The weights need not be constant. NaN, which no integer
    represents, is rejected where it enters.

    After `nn-gradient`, the forward pass of training computes like the quantized module that it becomes, and keeps the
    values that the backward pass reads.

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
        with imagined(op, [each for each in elements if each is not None], [_SUMS]) as made:
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
