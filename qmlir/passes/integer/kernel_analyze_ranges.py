"""`kernel-analyze-ranges`: proves that accumulators cannot overflow, and reports the bounds on each contraction."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from qmlir.analysis.contraction_ranges import Winograd, centered_input, centered_weights, winograd
from qmlir.analysis.intervals import EMPTY, EXACT_F32, Interval, bits_of, signed_range
from qmlir.analysis.value_ranges import ValueRanges, may_wrap
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.passes import count

_PAIR_BITS = 16


@dataclass(frozen=True)
class ContractionBounds:
    """The proven bounds on one integer contraction."""

    sums: Interval
    """The range of `sum (x - z_x)(w - z_w)`, computed per channel if the weights are constant."""

    added: Interval
    """The range of the sums after the first additions and subtractions of the epilogue."""

    wraps: bool
    """True if an addition, subtraction or multiplication of the epilogue may overflow its type."""

    requantized: Interval
    """The range of the integers that a requantization or a conversion converts to f32; empty if there are none."""

    input: Interval
    """The range of `x - z_x`."""

    weights: Interval
    """The range of `w - z_w`."""

    winograd: Winograd | None
    """The bounds on the computation with Winograd's F(2, 3), if it applies."""

    @property
    def is_f32_exact(self) -> bool:
        """True if f32 represents all requantized integers, so that only the product is rounded."""
        return self.requantized.within(-EXACT_F32, EXACT_F32)

    @property
    def fits_pairs(self) -> bool:
        """True if both operands fit in 16 bits, and the sum of two products fits in 32 bits."""
        own = signed_range(_PAIR_BITS)
        if not all(each.within(own.low, own.high) for each in (self.input, self.weights)):
            return False
        largest = [max(map(abs, each.values)) for each in (self.input, self.weights)]
        return 2 * largest[0] * largest[1] < 1 << 31

    def __str__(self) -> str:
        parts = [f"sums are in {self.sums}"]
        if str(self.added) != str(self.sums):
            parts.append(f"with addends in {self.added}")
        if self.wraps:
            parts.append("the epilogue may wrap")
        if not self.requantized.is_empty:
            parts.append("the epilogue is exact in f32" if self.is_f32_exact else "the epilogue rounds in f32")
        pairs = "fit" if self.fits_pairs else "don't fit"
        parts.append(f"operands in {self.input} and {self.weights} {pairs} pairs of i16")
        if self.winograd is not None:
            fits = "fit" if self.winograd.fits else "don't fit"
            parts.append(f"{self.winograd} {fits}")
        return "; ".join(parts)


def bounds_of(op: ContractionOp, ranges: ValueRanges) -> ContractionBounds | None:
    """Returns the bounds on a contraction whose operands are not packed; `None` for floats."""
    sums, x, w = ranges.sums(op), centered_input(op, ranges[op.x]), centered_weights(op, ranges[op.w])
    if sums is None or x is None or w is None:
        return None
    block = op.body.block
    accumulator = block.args[0]
    added: SSAValue = accumulator
    while (last := _next_addition(added)) is not None:
        added = last.result
    requantized = EMPTY
    for each in block.walk():
        if isinstance(each, RequantizeOp) and each.mode.mode.uses_floats:
            requantized = requantized.joined(ranges[each.accumulator])
        elif isinstance(each, arith.SIToFPOp) and each.result.type == f32:
            requantized = requantized.joined(ranges[each.input])
    return ContractionBounds(
        sums,
        sums if added is accumulator else ranges[added],
        any(may_wrap(ranges, each) for each in block.walk()),
        requantized,
        x,
        w,
        winograd(op, ranges[op.x], ranges[op.w]),
    )


def _next_addition(value: SSAValue) -> arith.AddiOp | arith.SubiOp | None:
    op = value.get_user_of_unique_use()
    return op if isinstance(op, (arith.AddiOp, arith.SubiOp)) else None


@dataclass(frozen=True)
class KernelAnalyzeRanges(ModulePass):
    """Proves that no accumulator of a contraction can overflow, or fails and names the contraction; changes nothing.

    Intervals propagate forward from argument types, constants and clamps through bodies, loops and data movement. If
    weights are constant, sums are bounded separately for each channel. For each integer contraction, remarks report:

    - the range of the sums, before and after the additions of the epilogue;
    - whether the epilogue may wrap;
    - whether f32 represents every integer converted to it, so that a requantization rounds the real product once;
    - whether pairs of operands fit in 16 bits each;
    - if the operands of Winograd's F(2, 3) also fit, with the input grown 2 times and the weights 3 times along each
      axis, and the scaled sums fit 32 bits.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
      %w = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
      // remark: sums are in [-892, 893]; operands in [-128, 127] and [-4, 3] fit pairs of i16
      %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32> {
      ^bb0(%acc: i32):
        kernel.yield %acc : i32
      }
      func.return %0 : tensor<1x2xi32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
      %w = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
      %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32> {
      ^bb0(%acc: i32):
        kernel.yield %acc : i32
      }
      func.return %0 : tensor<1x2xi32>
    }
    ```
    """

    name = "kernel-analyze-ranges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                _analyze(function)


def _analyze(function: FuncOp) -> None:
    contractions = [op for op in function.walk() if isinstance(op, ContractionOp) and op.outs is None]
    if not contractions:
        return
    ranges = ValueRanges(function)
    for op in contractions:
        bounds = bounds_of(op, ranges)
        if bounds is None:
            continue
        bits = bits_of(op.accumulator_type)
        assert bits is not None
        own = signed_range(bits)
        if not bounds.sums.within(own.low, own.high):
            raise op_error(
                op,
                f"sums in {bounds.sums} overflow {op.accumulator_type}: operands are in {bounds.input} and "
                f"{bounds.weights}, with {op.terms()} terms",
            )
        emit_remark(op, str(bounds))
        count("accumulators proven")
        if not bounds.requantized.is_empty and bounds.is_f32_exact:
            count("epilogues whose integers f32 holds")
