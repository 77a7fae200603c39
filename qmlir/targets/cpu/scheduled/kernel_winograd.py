"""`kernel-winograd`: computes 3x3 convolutions by one of Winograd's algorithms if that is exact and faster."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr, UnitAttr, i8, i16, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from qmlir.analysis.contraction_ranges import Winograd, centered_weights, known_weights, winograd
from qmlir.analysis.value_ranges import ValueRanges
from qmlir.dialects.kernel.attributes import TUNED
from qmlir.dialects.kernel.contraction import ConvOp
from qmlir.dialects.kernel.lowering.lowering import Lowering, integer_types
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.winograd import ALGORITHMS, F2, VARIANTS, Algorithm, WinogradOp, part_counts
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import count
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.scheduled.schedule import Choices, faster, has_winograd_form, tuned_choices

_CONV_ONLY = ("strides", "dilations", "groups", "weight_zero_point", "weight_unsigned")
"""The properties of a convolution that are the same in each that becomes one of these."""


AlgorithmName = Literal["f2", "f4", "f4_bytes"]


def _asked(op: ConvOp) -> Sequence[Algorithm]:
    """The algorithm that a schedule says already."""
    form = None if op.schedule is None else VARIANTS.get(op.schedule.variant)
    return () if form is None else (form,)


# By the proof in the comments of `Algorithm`, an algorithm is exact if transformed inputs (`input`) and transformed
# weights (`weights`) fit in 16 bits, and if 2^(2 * shift) times every sum of a part (`sums`) fits in 32 bits. The
# bounds follow from the ranges of values. An element computed by a row of B^T is at most the sum of the row's absolute
# entries times the largest |x - z|. The bound on a sum uses the actual weights: it is the sum of |w| * max |x - z| over
# taps and channels. Interval arithmetic may overestimate but never underestimates, so a convolution may be rejected
# without need, but it is never wrong.
def _refused(op: ConvOp, bounds: Winograd | None) -> str:
    """Why a convolution of this form cannot be computed so; empty where it can."""
    if bounds is None or shaped(op.x)[1] not in (i8, i16):
        return f"requires i8 or i16 inputs and integer weights, but got {shaped(op.x)[1]} and {shaped(op.w)[1]}"
    if op.accumulator_type != i32:
        return f"requires i32 accumulators, but got {op.accumulator_type}"
    if bounds.form.takes_bytes:
        taps = centered_weights(op)
        if taps is None or not taps.within(-128, 127):
            return f"requires 8-bit weights, but got {taps}"
    if not bounds.fits:
        return (
            f"{bounds.name} needs inputs in {bounds.input}, weights in {bounds.weights} and sums in {bounds.sums}, "
            "which exceed 16, 16 and 32 bits"
        )
    return ""


# The table orders the algorithms by measured speed; the first exact one is used.
def _first_exact(op: ConvOp, forms: Sequence[Algorithm], ranges: ValueRanges) -> tuple[Algorithm, Winograd | None]:
    """The first algorithm that is exact, with its bounds; the last where none is."""
    *others, last = forms
    for form in others:
        bounds = _proven(op, form, ranges)
        if not _refused(op, bounds):
            return form, bounds
    return last, _proven(op, last, ranges)


# Sums over fewer channels are smaller: splitting the channels into p parts divides the bound by about p, but requires
# p output transforms.
def _proven(op: ConvOp, form: Algorithm, ranges: ValueRanges) -> Winograd | None:
    """The bounds of the fewest parts of the channels that fit; those of one where none do."""
    first: Winograd | None = None
    for parts in part_counts(shaped(op.x)[0][-1], form):
        found = winograd(op, ranges[op.x], ranges[op.w], form=form, with_zero_point=True, parts=parts)
        if found is None or found.fits:
            return found
        first = first or found
    return first


def _rewrite(op: ConvOp, form: Algorithm, parts: int) -> None:
    rewriter = PatternRewriter(op)
    at = Lowering(op, rewriter, integer_types())
    weights = known_weights(op)
    assert weights is not None
    constant = at.constant(form.taken(weights), form.weight_element)
    properties = {name: value for name, value in op.properties.items() if name not in _CONV_ONLY}
    properties["algorithm"], properties["parts"] = StringAttr(form.name), IntegerAttr(parts, i64)
    properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, 1, 0, len(op.epilogue), 0])
    new = WinogradOp.create(
        operands=[op.x, constant, *op.epilogue],
        result_types=list(op.result_types),
        properties=properties,
        attributes=dict(op.attributes),
        regions=[op.detach_region(op.body)],
    )
    before = [op.w] if op.weight_zero_points is None else [op.w, op.weight_zero_points]
    rewriter.replace(op, new)
    for value in before:
        if isinstance(value.owner, ConstantOp) and not value.uses:
            rewriter.erase(value.owner)


@dataclass(frozen=True)
class KernelWinograd(ModulePass):
    """Computes 3x3 convolutions by Winograd's algorithms if they are proven exact and are faster on `isa`.

    This applies to 2-D convolutions with stride 1, dilation 1, one group and constant weights, with F(2x2, 3x3) or
    F(4x4, 3x3). The proof uses the ranges of `kernel-analyze-ranges`: given the actual weights and the range of the
    input, transformed inputs and weights must fit in 16 bits, and 4 or 64 times every sum must fit in 32 bits. If they
    don't, the channels are split into the smallest number of `parts` for which they do, and the sums of the parts are
    added. A measured table lists which algorithms are faster, and the fastest exact one is used. If there is none, a
    remark says so and the convolution stays direct. With `always`, `algorithm` is used regardless of that table, unless
    the convolution has a schedule, or the file `tuned` of `qmlir tune` contains one for `threads` threads. This pass
    transforms the weights with integer matrices, except for `f4_bytes`, where the loops transform them.

    Without this pass, the digits CNN takes 1.24 times as long on `avx2`.

    Before (run with `always=true`):

    ```mlir
    func.func @main(%x: tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi32> {
      %w = arith.constant dense<[[[[1], [2], [1]], [[0], [0], [0]], [[0], [0], [-1]]]]> : tensor<1x3x3x1xi8>
      %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x2x2x1xi32> attributes {
          strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
      ^bb0(%sum: i32):
        kernel.yield %sum : i32
      }
      func.return %0 : tensor<1x2x2x1xi32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi32> {
      %w = arith.constant dense<[[[[4], [8], [0], [4]], [[2], [3], [-1], [0]], [[2], [3], [-1], [0]],
                                  [[0], [-2], [-2], [-4]]]]> : tensor<1x4x4x1xi16>
      %0 = kernel.winograd ins(%x, %w : tensor<1x4x4x1xi8>, tensor<1x4x4x1xi16>) -> tensor<1x2x2x1xi32> {
      ^bb0(%sum: i32):
        kernel.yield %sum : i32
      }
      func.return %0 : tensor<1x2x2x1xi32>
    }
    ```
    """

    name = "kernel-winograd"

    isa: str = "generic"
    always: bool = False
    algorithm: AlgorithmName = "f2"
    threads: int = 1
    tuned: str = ""

    def _wanted(self, op: ConvOp, isa: str, choices: Choices) -> Sequence[Algorithm]:
        """The algorithms that are wanted, the best first: a schedule that a search found, and chose, is put on `op`."""
        if op.schedule is not None:
            return _asked(op)
        if self.always:
            return (ALGORITHMS[self.algorithm],)
        found = choices(op)
        if found is None:
            return faster(op, isa)
        if found.variant in VARIANTS:
            op.schedule, op.attributes[TUNED] = found, UnitAttr()
        return _asked(op)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        isa = resolved_isa(self.isa)
        choices = tuned_choices(self.tuned, isa, self.threads)
        for function in op.ops:
            if not isinstance(function, FuncOp) or function.is_declaration:
                continue
            wanted = [
                (each, forms)
                for each in function.walk()
                if isinstance(each, ConvOp) and has_winograd_form(each, F2)
                if (forms := [form for form in self._wanted(each, isa, choices) if has_winograd_form(each, form)])
            ]
            if not wanted:
                continue
            ranges = ValueRanges(function)
            chosen = [(each, *_first_exact(each, forms, ranges)) for each, forms in wanted]
            for each, form, bounds in chosen:
                refused = _refused(each, bounds)
                if refused:
                    emit_remark(each, f"uses direct convolution: {refused}")
                    if _asked(each):
                        each.schedule = None
                        each.attributes.pop(TUNED, None)
                    count("convolutions that Winograd's algorithm does not fit")
                    continue
                emit_remark(each, f"uses Winograd convolution {bounds}")
                assert bounds is not None
                _rewrite(each, form, bounds.parts)
                count("convolutions by Winograd's algorithm")
