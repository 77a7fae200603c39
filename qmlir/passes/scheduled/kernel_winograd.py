"""`kernel-winograd`: convolutions of 3x3 taps by one of Winograd's algorithms, where that is exact, and faster."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr, UnitAttr, i8, i16, i32
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from qmlir.dialects.kernel.attributes import TUNED
from qmlir.dialects.kernel.lowering.lowering import Lowering
from qmlir.dialects.kernel.lowering.types import integer_types
from qmlir.dialects.kernel.ops import ConvOp, shaped
from qmlir.dialects.kernel.winograd import ALGORITHMS, F2, VARIANTS, Algorithm, WinogradOp, transformed
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.preservation import EVERY_BIT, Preservation
from qmlir.ir.statistics import count
from qmlir.passes.integer.contraction_ranges import Winograd, known_weights, winograd
from qmlir.passes.integer.value_ranges import ValueRanges
from qmlir.passes.scheduled.candidates import has_winograd_form
from qmlir.passes.scheduled.isas import IsaName, resolved_isa
from qmlir.passes.scheduled.tuned_choices import TunedChoices
from qmlir.passes.scheduled.winograd_table import fastest

_CONV_ONLY = ("strides", "dilations", "groups", "weight_zero_point", "weight_unsigned")
"""The properties of a convolution that are the same in each that becomes one of these."""


AlgorithmName = Literal["f2", "f4"]


def _asked(op: ConvOp) -> Algorithm | None:
    """The algorithm that a schedule says already."""
    return None if op.schedule is None else VARIANTS.get(op.schedule.variant)


def _refused(op: ConvOp, bounds: Winograd | None) -> str:
    """Why a convolution of this form cannot be computed so; empty where it can."""
    if bounds is None or shaped(op.x)[1] not in (i8, i16):
        return f"multiplies {shaped(op.x)[1]} by {shaped(op.w)[1]}, accepted are i8 and i16 by integers"
    if op.accumulator_type != i32:
        return f"sums in {op.accumulator_type}, accepted is i32"
    if not bounds.fits:
        return (
            f"{bounds.name} needs inputs in {bounds.input} by weights in {bounds.weights} and sums in {bounds.sums}, "
            "accepted are 16, 16 and 32 bits"
        )
    return ""


def _rewrite(op: ConvOp, form: Algorithm) -> None:
    rewriter = PatternRewriter(op)
    at = Lowering(op, rewriter, integer_types())
    weights = known_weights(op)
    assert weights is not None
    constant = at.constant(transformed(form.weights, weights.astype(np.int64), (1, 2)).astype(np.int16), i16)
    properties = {name: value for name, value in op.properties.items() if name not in _CONV_ONLY}
    properties["algorithm"] = StringAttr(form.name)
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
    """Compute convolutions of 3x3 taps by Winograd's algorithms where they are proven exact, and faster on `isa`.

    Taken are convolutions of two axes with stride 1, dilation 1, one group and constant weights, by F(2x2, 3x3) or
    F(4x4, 3x3). The proof is that of `kernel-analyze-ranges`: 16 bits hold the transformed inputs and weights, 32 four
    times every sum, or 64 times, by the actual weights and what the input may be. Where it fails, a remark says so and
    the convolution stays direct. Where which is faster is measured, in one table; with `always` that is not asked and
    it is `algorithm`, and not where a schedule on the convolution, or the file `tuned` of `qmlir tune` for so many
    `threads`, says what loops it becomes. The weights are transformed here, by matrices of integers.

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
    preserves: ClassVar[Preservation] = EVERY_BIT

    isa: IsaName = "generic"
    always: bool = False
    algorithm: AlgorithmName = "f2"
    threads: int = 1
    tuned: str = ""

    def _chosen(self, op: ConvOp, choices: TunedChoices) -> Algorithm | None:
        """The algorithm that is wanted: a schedule that a search found, and chose, is written on `op`."""
        if op.schedule is not None:
            return _asked(op)
        if self.always:
            return ALGORITHMS[self.algorithm]
        found = choices.schedule(op)
        if found is None:
            return fastest(op, choices.isa)
        if found.variant in VARIANTS:
            op.schedule, op.attributes[TUNED] = found, UnitAttr()
        return VARIANTS.get(found.variant)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        choices = TunedChoices(self.tuned, resolved_isa(op, self.isa), self.threads)
        for function in op.ops:
            if not isinstance(function, FuncOp) or function.is_declaration:
                continue
            chosen = [
                (each, form)
                for each in function.walk()
                if isinstance(each, ConvOp) and has_winograd_form(each, F2)
                if (form := self._chosen(each, choices)) is not None and has_winograd_form(each, form)
            ]
            if not chosen:
                continue
            ranges = ValueRanges(function)
            found = [
                (each, form, winograd(each, ranges[each.x], ranges[each.w], form=form, with_zero_point=True))
                for each, form in chosen
            ]
            for each, form, bounds in found:
                refused = _refused(each, bounds)
                if refused:
                    emit_remark(each, f"stays direct: {refused}")
                    if _asked(each) is not None:
                        each.schedule = None
                        each.attributes.pop(TUNED, None)
                    count("convolutions that Winograd's algorithm does not fit")
                    continue
                emit_remark(each, f"is computed by {bounds}")
                _rewrite(each, form)
                count("convolutions by Winograd's algorithm")
