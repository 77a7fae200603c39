"""`quant-shorten-sums`: codes of weights whose products by bytes are added in 16 bits and never saturate."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.analysis.contraction_ranges import REACH
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.recovery.quant_gptq import SecondMoments, SeesMoments
from qmlir.extensions.recovery.quant_search_scales import best_scales
from qmlir.extensions.recovery.rounded_weights import STEPS, RoundedWeight, may_be_short, rounded_weights, sums_of_terms
from qmlir.extensions.recovery.weight_rounding import DAMPING, CodeGrid, ShortGrid, error, settled
from qmlir.extensions.training.parameters import scale_groups, set_scales
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.specialization.inputs import function_of

_SHARES = np.array([1.0, 1.125, 1.25, 1.375, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0])
"""The shares of a scale that are tried: with 2 for a step every code fits."""


@dataclass(frozen=True)
class QuantShortenSums(SeesMoments):
    """Round weights so that 16 bits hold the sums of `steps` pairs of products by bytes: 1, 2 or 4.

    Processors without dot products of bytes (AVX2 without VNNI) multiply bytes and add neighbours in 16 bits, and would
    saturate. They never do if in each sum the positive weights add up to at most 128, and the negative ones to at least
    -128: then loops take them that are faster than exact ones for any weights (`u8s8_short`), and more so with more
    steps. Where rounding breaks that, codes become the nearest ones that fit; a channel whose error is smaller with
    larger scales gets these, unless it shares them. With samples in `data` the errors are those of the products, as
    `quant-gptq` has them, otherwise those of the weights.

    Weights of 8 bits or fewer by data of 8 bits are changed. Depthwise convolutions stay, and those by windows of 3
    with stride 1, which Winograd's algorithms compute in other integers, unless `windows` says so.

    The weights are constants of floats (`quant-assign-types{float_constants}`), and keep beside them what they were. In
    this example 66 and 64 are 2 too much.

    Before:

    ```mlir
    !x = !quant.uniform<u8:f32, 0.25>
    !w = !quant.uniform<i8:f32, 1.0>
    !s = !quant.uniform<i32:f32, 0.25>
    func.func @main(%x: tensor<?x4x!x> {nn.name = "x"}) -> tensor<?x1x!s> {
      %w = nn.constant dense<[[66.0, 64.0, 3.0, 71.0]]> : tensor<1x4xf32> {nn.trainable}
      %0 = quant.qcast %w : tensor<1x4xf32> to tensor<1x4x!w>
      %1 = nn.matmul %x, %0 {transpose_b = true} : (tensor<?x4x!x>, tensor<1x4x!w>) -> tensor<?x1x!s> {origin = "fc"}
      func.return %1 : tensor<?x1x!s>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<u8:f32, 0.25>
    !w = !quant.uniform<i8:f32, 1.0>
    !s = !quant.uniform<i32:f32, 0.25>
    func.func @main(%x: tensor<?x4x!x> {nn.name = "x"}) -> tensor<?x1x!s> {
      %w = nn.constant dense<[[65.0, 63.0, 3.0, 71.0]]> : tensor<1x4xf32>
          {nn.trainable, quant.unrounded = dense<[[66.0, 64.0, 3.0, 71.0]]> : tensor<1x4xf32>}
      %0 = quant.qcast %w : tensor<1x4xf32> to tensor<1x4x!w>
      %1 = nn.matmul %x, %0 {transpose_b = true} : (tensor<?x4x!x>, tensor<1x4x!w>) -> tensor<?x1x!s> {origin = "fc"}
      func.return %1 : tensor<?x1x!s>
    }
    ```
    """

    name = "quant-shorten-sums"
    preserves: ClassVar[Preservation] = MEANING

    steps: int = 1
    windows: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.steps not in STEPS:
            known = ", ".join(map(str, STEPS))
            raise op_error(function_of(op, self.function), f"steps must be one of {known}, but got {self.steps}")
        if self.samples is not None or self.data:
            super().apply(ctx, op)
            return
        function = function_of(op, self.function)
        given = self._scale(op, [(each, _alike(each)) for each in self.weights(function)])
        for weight in self.weights(function):
            self._settle(weight, _alike(weight), given[weight.op])

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Sequence[Sequence[Any]]) -> None:
        """Choose the scales and the codes of those of `weights` that may be short."""
        seen = self.seen(module, weights, runs)
        given = self._scale(module, [(weight, _damped(each)) for weight, each in seen])
        short = [each for each in self.weights(function_of(module, self.function)) if each.op in given]
        self.in_turn(module, short, runs, lambda weight, each: self._settle(weight, _damped(each), given[weight.op]))

    def weights(self, function: FuncOp) -> list[RoundedWeight]:
        """Those that may be short, and are not so whatever their codes are. No repair, it asks no recipe."""
        return [
            each
            for each in rounded_weights(function)
            if may_be_short(each, windows=self.windows) and not self._always_fit(each)
        ]

    def _always_fit(self, weight: RoundedWeight) -> bool:
        """Whether no codes of its type are too large: those of 4 bits and fewer have loops of their own."""
        largest = max(max(float(-grid.low.min()), float(grid.high.max())) for grid in weight.grid())
        return largest * 2 * self.steps <= REACH

    def _grids(self, weight: RoundedWeight) -> list[ShortGrid]:
        """The codes of each group of channels, those of a sum together."""
        sums = sums_of_terms(weight.readers[0][0], self.steps)
        return [ShortGrid(grid.steps, grid.low, grid.high, sums, REACH) for grid in weight.grid()]

    def _scale(
        self, module: ModuleOp, weights: Sequence[tuple[RoundedWeight, Sequence[Array]]]
    ) -> Mapping[Operation, Sequence[CodeGrid]]:
        """Give weights the scales of the smallest errors, where they have some that are theirs alone; the codes that
        each could have before."""
        function = function_of(module, self.function)
        alone = {value for value, members in scale_groups(function).items() if len(members) == 1}
        given: dict[Operation, Sequence[CodeGrid]] = {weight.op: weight.grid() for weight, _ in weights}
        found: dict[SSAValue, Array] = {}
        for weight, moments in weights:
            if weight.rows.weight in alone:
                shares = _SHARES[: np.searchsorted(_SHARES, 2 * self.steps, side="right")]
                scales = best_scales(weight, self._grids(weight), moments, shares)
                if not np.array_equal(scales, weight.element.scales):
                    found[weight.rows.weight] = scales
        set_scales(function, found)
        return given

    def _settle(
        self, weight: RoundedWeight, moments: Sequence[Array], given: Sequence[CodeGrid]
    ) -> Sequence[Operation]:
        wanted = weight.rows.of_weights(weight.unrounded).astype(np.float64)
        chosen, before, after = np.empty_like(wanted), 0.0, 0.0
        is_short, is_settled = True, np.array_equal(weight.array, weight.unrounded)
        for place, (each, grid, plain) in enumerate(zip(wanted, self._grids(weight), given, strict=True)):
            codes, own, _ = settled(each, grid, moments[place])
            nearest = plain.nearest(each)
            is_short = is_short and grid.accepts(nearest)
            is_settled = is_settled and np.array_equal(codes, nearest) and np.array_equal(grid.steps, plain.steps)
            before += error(each, nearest, plain, moments[place])
            after += own
            chosen[place] = codes * grid.steps
        if is_settled:
            return ()
        weight.set(weight.rows.to_weights(chosen))
        count("weights")
        fit = "fitted before" if is_short else "fit now"
        change = f"changes by {10 * math.log10(after / before):+.1f} dB" if before and after else "was 0"
        emit_remark(weight.readers[0][0], f"the sums of its weights {fit}: the error of its result {change}")
        return [weight.op]


def _alike(weight: RoundedWeight) -> list[Array]:
    """Second moments of terms that are all alike, and have nothing to do with each other."""
    return [np.ones(grid.steps.shape[1]) for grid in weight.grid()]


def _damped(seen: SecondMoments) -> list[Array]:
    """The second moments of each group of channels, none of which is 0 along any direction."""
    found: list[Array] = []
    for total in seen.total:
        moments = total / seen.count
        extra = DAMPING * float(np.diagonal(moments).mean())
        found.append(moments + (extra if extra > 0 else 1.0) * np.eye(len(moments)))
    return found
