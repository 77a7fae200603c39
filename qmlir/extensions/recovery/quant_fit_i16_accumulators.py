"""`quant-fit-i16-accumulators`: chooses quantized weights whose byte products never saturate 16-bit sums."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.analysis.contraction_ranges import REACH
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.recovery.quant_gptq import SecondMoments
from qmlir.extensions.recovery.quant_search_scales import best_scales
from qmlir.extensions.recovery.repairs import RepairsWeights, Runs
from qmlir.extensions.recovery.rounded_weights import STEPS, RoundedWeight, may_be_short, rounded_weights, sums_of_terms
from qmlir.extensions.recovery.weight_rounding import DAMPING, CodeGrid, ShortGrid, error, settled
from qmlir.extensions.training.parameters import scale_groups, set_scales
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.quantization.choice import RESCALING_REPAIR
from qmlir.specialization.inputs import function_of

_SHARES = np.array([1.0, 1.125, 1.25, 1.375, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0])
"""The candidate factors for a scale. With a factor of 2 per step, all codes fit."""


@dataclass(frozen=True)
class QuantFitI16Accumulators(RepairsWeights):
    """Rounds weights so that sums of `steps` pairs of byte products (1, 2 or 4) fit in 16 bits.

    CPUs without byte dot products (AVX2 without VNNI) multiply bytes and add adjacent products in 16 bits, with
    saturation. A sum never saturates if its positive weights add up to at most 128, and its negative weights to at
    least -128. Such weights can use loops that are faster than those for arbitrary weights (`u8s8_short`), and even
    faster with more steps. Rounded weights that exceed these limits are replaced with the nearest codes within them. A
    channel whose scales are not shared gets larger scales if these reduce its error. The error is that of the products
    on the samples in `data`, as in `quant-gptq`, or that of the weights if there are no samples.

    The pass changes weights of at most 8 bits that multiply 8-bit data. It does not change depthwise convolutions.
    Unless `windows` is set, it also leaves stride-1 convolutions with 3-wide windows unchanged, because Winograd's
    algorithms compute these with transformed integers.

    Weights must still be float constants (`quant-assign-types{float_constants}`); they keep their original values in
    `quant.unrounded`. In the example, 66 and 64 exceed the limit by 2.

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

    name = "quant-fit-i16-accumulators"
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

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs) -> None:
        """Chooses the scales and the codes of the `weights` that can use 16-bit sums."""
        seen = self.seen(module, weights, runs, SecondMoments)
        given = self._scale(module, [(weight, _damped(each)) for weight, each in seen])
        short = [each for each in self.weights(function_of(module, self.function)) if each.op in given]

        def settle(weight: RoundedWeight, seen: SecondMoments) -> Sequence[Operation]:
            return self._settle(weight, _damped(seen), given[weight.op])

        self.in_turn(module, short, runs, SecondMoments, settle)

    def weights(self, function: FuncOp) -> list[RoundedWeight]:
        """Returns the weights that can use 16-bit sums but may exceed them.

        This pass is not a repair, so a recipe cannot exclude weights from it.
        """
        return [
            each
            for each in rounded_weights(function)
            if may_be_short(each, windows=self.windows) and not self._always_fit(each)
        ]

    def _always_fit(self, weight: RoundedWeight) -> bool:
        """Returns true if all codes of the type fit: weights of at most 4 bits have their own loops."""
        largest = max(max(float(-grid.low.min()), float(grid.high.max())) for grid in weight.grid())
        return largest * 2 * self.steps <= REACH

    def _grids(self, weight: RoundedWeight) -> list[ShortGrid]:
        """Returns the allowed codes of each group of channels, limited by the sums."""
        sums = sums_of_terms(weight.readers[0][0], self.steps)
        return [ShortGrid(grid.steps, grid.low, grid.high, sums, REACH) for grid in weight.grid()]

    def _scale(
        self, module: ModuleOp, weights: Sequence[tuple[RoundedWeight, Sequence[Array]]]
    ) -> Mapping[Operation, Sequence[CodeGrid]]:
        """Gives weights with unshared scales those with the smallest errors, unless a recipe fixes the scales.

        Returns the codes that each weight was allowed before.
        """
        function = function_of(module, self.function)
        alone = {value for value, members in scale_groups(function).items() if len(members) == 1}
        given: dict[Operation, Sequence[CodeGrid]] = {weight.op: weight.grid() for weight, _ in weights}
        found: dict[SSAValue, Array] = {}
        for weight, moments in weights:
            if weight.rows.weight in alone and weight.may_be_repaired(RESCALING_REPAIR):
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
        for position, (each, grid, plain) in enumerate(zip(wanted, self._grids(weight), given, strict=True)):
            codes, own, _ = settled(each, grid, moments[position])
            nearest = plain.nearest(each)
            is_short = is_short and grid.accepts(nearest)
            is_settled = is_settled and np.array_equal(codes, nearest) and np.array_equal(grid.steps, plain.steps)
            before += error(each, nearest, plain, moments[position])
            after += own
            chosen[position] = codes * grid.steps
        if is_settled:
            return ()
        weight.set(weight.rows.to_weights(chosen))
        count("weights")
        fit = "fitted before" if is_short else "fit now"
        change = f"changes by {10 * math.log10(after / before):+.1f} dB" if before and after else "was 0"
        emit_remark(weight.readers[0][0], f"the sums of its weights {fit}: the error of its result {change}")
        return [weight.op]


def _alike(weight: RoundedWeight) -> list[Array]:
    """Returns second moments of uncorrelated terms of equal weight."""
    return [np.ones(grid.steps.shape[1]) for grid in weight.grid()]


def _damped(seen: SecondMoments) -> list[Array]:
    """Returns the damped second moments of each group of channels, which are positive definite."""
    found: list[Array] = []
    for total in seen.total:
        moments = total / seen.count
        extra = DAMPING * float(np.diagonal(moments).mean())
        found.append(moments + (extra if extra > 0 else 1.0) * np.eye(len(moments)))
    return found
