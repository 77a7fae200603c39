"""`quant-search-scales`: scales of weights by the error of their products."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import are_powers_of_two
from qmlir.arithmetic.weight_rounding import CodeGrid, scale_shares
from qmlir.dialects.quant.infer import spread
from qmlir.ir.preservation import MEANING, Preservation
from qmlir.ir.statistics import count
from qmlir.passes.quantized.quant_gptq import SeesMoments
from qmlir.quantization.learned import scale_groups, set_scales
from qmlir.quantization.rounded_weights import RoundedWeight
from qmlir.specialization.inputs import function_of

SHARES = np.arange(40, 15, -1) / 40
"""The shares of a scale that are tried: with 4 bits or more no layer that was measured is best below .4."""


def best_scales(weight: RoundedWeight, grids: Sequence[CodeGrid], moments: Sequence[Array], shares: Array) -> Array:
    """The scales of `weight` times the shares that give the smallest errors of the nearest codes.

    Scales that are powers of two stay such: they get shares that are. `grids` and `moments` are those of each group.
    """
    known, shape = weight.element.scales, weight.array.shape
    places = np.arange(known.size).reshape(known.shape)
    numbers = weight.rows.of_weights(np.broadcast_to(spread(weight.element, shape, places), shape))
    wanted = weight.rows.of_weights(weight.unrounded).astype(np.float64)
    scales = known.reshape(-1).copy()
    if are_powers_of_two(scales).all():
        shares = shares[are_powers_of_two(shares)]
    for place, (grid, own_moments) in enumerate(zip(grids, moments, strict=True)):
        own, groups = np.unique(numbers[place], return_inverse=True)
        scales[own] *= scale_shares(wanted[place], grid, own_moments, groups.reshape(wanted[place].shape), shares)
    return scales.astype(np.float32).astype(known.dtype).reshape(known.shape)


@dataclass(frozen=True)
class QuantSearchScales(SeesMoments):
    """Give weights scales with a small error of their layer's products: the largest weights may be clipped.

    For each scale, of a tensor, a channel or a block, shares of it from 1 down to 0.4 are tried with the nearest codes,
    on what the samples in `data` multiply the weights by; of powers of two the next one. Sums and biases follow. A
    scale that several weights share stays.

    Before (run with `data="tests/filecheck/passes/quantized/Inputs/alike.npy"`):

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

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Sequence[Sequence[Any]]) -> None:
        """Choose the scales of `weights`."""
        function = function_of(module, self.function)
        alone = {value for value, members in scale_groups(function).items() if len(members) == 1}
        found: dict[SSAValue, Array] = {}
        for weight, seen in self.seen(module, weights, runs):
            if weight.rows.weight in alone:
                scales = best_scales(weight, weight.grid(), [each / seen.count for each in seen.total], SHARES)
                if not np.array_equal(scales, weight.element.scales):
                    found[weight.rows.weight] = scales
        count("weights", len(found))
        set_scales(function, found)
