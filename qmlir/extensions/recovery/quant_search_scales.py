"""`quant-search-scales`: chooses weight scales that minimize the error of their layer's products."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import (
    LARGEST_FACTOR,
    TwoLevelScales,
    are_powers_of_two,
    rounded_scales,
    scale_type_of,
)
from qmlir.dialects.quant.infer import spread
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.recovery.quant_gptq import SecondMoments
from qmlir.extensions.recovery.repairs import FloatData, RepairsWeights, Runs, statistics_of
from qmlir.extensions.recovery.rounded_weights import RoundedWeight
from qmlir.extensions.recovery.weight_rounding import CodeGrid, DampedFactors, scale_shares
from qmlir.extensions.training.parameters import scale_groups, set_scales
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.ir.provenance import origins_of
from qmlir.specialization.inputs import function_of

SHARES = np.arange(40, 15, -1) / 40
"""The candidate factors for a scale. With 4 or more bits, no measured layer has its optimum below 0.4."""


def best_scales(
    weight: RoundedWeight,
    grids: Sequence[CodeGrid],
    moments: Sequence[Array],
    shares: Array,
    factors: Sequence[DampedFactors] | None = None,
) -> Array:
    """Returns the scales of `weight`, each times the factor among `shares` that minimizes the products' error.

    The error is that of the nearest codes, or of the codes of GPTQ if `factors` of the moments are given. Power-of-two
    scales stay powers of two, and block-wise scales stay in f16, bf16 or two levels if these hold them. `grids`,
    `moments` and `factors` have one element per group.
    """
    given, shape = weight.element.scales, weight.array.shape
    positions = np.arange(given.size).reshape(given.shape)
    numbers = weight.rows.of_weights(np.broadcast_to(spread(weight.element, shape, positions), shape))
    wanted = weight.rows.of_weights(weight.unrounded).astype(np.float64)
    scales = given.reshape(-1).copy()
    if are_powers_of_two(scales).all():
        shares = shares[are_powers_of_two(shares)]
    for position, (grid, own_moments) in enumerate(zip(grids, moments, strict=True)):
        own, groups = np.unique(numbers[position], return_inverse=True)
        shape, known = wanted[position].shape, None if factors is None else factors[position]
        scales[own] *= scale_shares(wanted[position], grid, own_moments, groups.reshape(shape), shares, factors=known)
    held = scale_type_of(given) if weight.element.granularity is Granularity.BLOCK else "f32"
    steps = _super_steps(weight.element) if held == "f32" else None
    scales = scales.reshape(given.shape)
    if steps is not None:
        return steps * np.clip(np.rint(scales / steps), 1, LARGEST_FACTOR)
    return rounded_scales(scales, held).astype(given.dtype)


def _super_steps(type_: UniformQuantizedType) -> Array | None:
    """Returns the number of the super-block of each block with two-level scales; `None` for other scales."""
    if type_.granularity is not Granularity.BLOCK:
        return None
    axis, terms = max(zip(type_.axes, type_.block_sizes, strict=True), key=lambda each: each[1])
    found = TwoLevelScales.along(type_.scales, axis, terms)
    if found is None:
        return None
    return np.moveaxis(np.repeat(found.steps.astype(np.float64), found.factors.shape[-1], axis=-1), -1, axis)


@dataclass(frozen=True)
class QuantSearchScales(RepairsWeights):
    """Chooses weight scales that minimize the error of the layer's products, clipping the largest weights if useful.

    For each scale (per-tensor, per-channel or block-wise), the pass tries factors from 1 down to 0.4 with the nearest
    codes, on the layer inputs of the samples in `data`; a power-of-two scale may only be halved. The types of
    accumulators and biases are updated to match. A scale shared by several weights is left unchanged. Only weights of
    at most `bits` bits are changed.

    With `compensating`, scales are evaluated with the codes that `quant-gptq`, which must run next, would choose. If
    the layer has a bias, the moments are centered, because the bias compensates for the means. The layer input then
    comes from the float program, if the caller passes it: with few bits, earlier layers that are not repaired yet
    produce an input that differs too much from the one after their repair. Block-wise scales are left unchanged,
    because other blocks compensate for part of the error of a block.

    Before (run with `data="tests/filecheck/extensions/recovery/Inputs/alike.npy"`):

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !w = !quant.uniform<i4<-7:7>:f32, 1.0>
    !s = !quant.uniform<i32:f32, 0.25>
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
      %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
      %w = nn.constant dense<[[2.5, 0.5]]> : tensor<1x2xf32> {nn.trainable}
      %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
      %3 = quant.dcast %2 : tensor<?x1x!s> to tensor<?x1xf32>
      func.return %3 : tensor<?x1xf32>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !w = !quant.uniform<i4<-7:7>:f32, 0.5>
    !s = !quant.uniform<i32:f32, 0.125>
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
      %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
      %w = nn.constant dense<[[2.5, 0.5]]> : tensor<1x2xf32> {nn.trainable}
      %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
      %3 = quant.dcast %2 : tensor<?x1x!s> to tensor<?x1xf32>
      func.return %3 : tensor<?x1xf32>
    }
    ```
    """

    name = "quant-search-scales"
    preserves: ClassVar[Preservation] = MEANING

    bits: int = 8
    compensating: bool = False

    def weights(self, function: FuncOp) -> list[RoundedWeight]:
        """Returns the weights whose scales are not shared; `compensating` excludes those with block-wise scales."""
        alone = {value for value, members in scale_groups(function).items() if len(members) == 1}
        return [
            each
            for each in super().weights(function)
            if each.element.bits <= self.bits
            and each.rows.weight in alone
            and not (self.compensating and each.element.granularity is Granularity.BLOCK)
        ]

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs) -> None:
        """Chooses the scales of `weights`."""
        found: dict[SSAValue, Array] = {}
        for weight, seen in self._seen_alone(module, weights, runs):
            is_centered = self.compensating and weight.bias is not None
            moments = [seen.of_group(position, is_centered=is_centered)[0] for position in range(len(seen.total))]
            factors = [DampedFactors.of(each) for each in moments] if self.compensating else None
            scales = best_scales(weight, weight.grid(), moments, SHARES, factors)
            if not np.array_equal(scales, weight.element.scales):
                found[weight.rows.weight] = scales
        count("weights", len(found))
        set_scales(function_of(module, self.function), found)

    def _seen_alone(
        self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs
    ) -> Iterator[tuple[RoundedWeight, SecondMoments]]:
        """Yields each of `weights` with the moments of its layer input, in the float program if available."""
        left = list(weights)
        if self.compensating and self.floats is not None:
            floats = FloatData(self.floats, self.function, runs)
            for weight in weights:
                (reader, rows), *others = weight.readers
                data = None if others else floats.of(origins_of(reader))
                if data is not None:
                    left.remove(weight)
                    yield weight, statistics_of(SecondMoments, rows, data)
        yield from self.seen(module, left, runs, SecondMoments)
