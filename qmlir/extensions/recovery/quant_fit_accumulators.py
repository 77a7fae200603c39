"""`quant-fit-accumulators`: chooses quantized weights whose sums, with the bias, fit in a given number of bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.nn.accumulators import KnownOperands, is_integer_contraction, partial_sum_limits
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.evaluate import quantize
from qmlir.dialects.quant.infer import spread
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import Granularity
from qmlir.extensions.recovery.quant_gptq import SecondMoments
from qmlir.extensions.recovery.quant_search_scales import best_scales
from qmlir.extensions.recovery.repairs import RepairsWeights, Runs
from qmlir.extensions.recovery.rounded_weights import RoundedWeight, bias_beside, rounded_weights
from qmlir.extensions.recovery.weight_rounding import AccumulatorGrid
from qmlir.extensions.training.parameters import scale_groups, set_scales
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.quantization.retyping import FITTED, UNROUNDED
from qmlir.specialization.inputs import function_of

_SHARES = 2.0 ** (np.arange(21) / 2)
"""The candidate factors for a scale: a factor of 2 saves one bit."""

_WIDTHS = 2, 32


@dataclass(frozen=True)
class QuantFitAccumulators(RepairsWeights):
    """Changes weights so that every sum of a layer fits in `bits` bits, for any data and in any order of additions.

    The terms of a sum are the products `(q_x - z_x) (q_w - z_w)` and the bias. Each partial sum lies between the sum of
    all negative terms and that of all positive ones, for the data that makes these largest. If they exceed `bits` bits,
    the weights of the channel are replaced with the nearest ones that fit. Its scale becomes larger if this reduces the
    error of the products on the samples in `data`, or that of the weights without samples. A scale of several weight
    tensors is kept, and so are all channels whose scale and sums do not need to change.

    The result is proven for each contraction, including those of two inputs; a layer that cannot fit is an error. The
    function gets the attribute `quant.fitted` with the width and the numbers of layers.

    Weights must still be float constants (`quant-assign-types{float_constants}`); they keep their original values in
    `quant.unrounded`. In the example, sums reach `255 * 129`.

    Before (run with `bits=16`):

    ```mlir
    !x = !quant.uniform<u8:f32, 0.25>
    !w = !quant.uniform<i8:f32, 1.0>
    !s = !quant.uniform<i32:f32, 0.25>
    func.func @main(%x: tensor<?x4x!x> {nn.name = "x"}) -> tensor<?x1x!s> {
      %w = nn.constant dense<[[70.0, 55.0, -1.0, 3.5]]> : tensor<1x4xf32> {nn.trainable}
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
    func.func @main(%x: tensor<?x4x!x> {nn.name = "x"}) -> tensor<?x1x!s>
        attributes {quant.fitted = {bits = 16 : i64, layers = 1 : i64, changed = 1 : i64}} {
      %w = nn.constant dense<[[70.0, 55.0, -1.0, 3.0]]> : tensor<1x4xf32>
          {nn.trainable, quant.unrounded = dense<[[70.0, 55.0, -1.0, 3.5]]> : tensor<1x4xf32>}
      %0 = quant.qcast %w : tensor<1x4xf32> to tensor<1x4x!w>
      %1 = nn.matmul %x, %0 {transpose_b = true} : (tensor<?x4x!x>, tensor<1x4x!w>) -> tensor<?x1x!s> {origin = "fc"}
      func.return %1 : tensor<?x1x!s>
    }
    ```
    """

    name = "quant-fit-accumulators"
    preserves: ClassVar[Preservation] = MEANING

    bits: int = 24

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = function_of(op, self.function)
        if not _WIDTHS[0] <= self.bits <= _WIDTHS[1]:
            raise op_error(function, f"bits must be {_WIDTHS[0]} to {_WIDTHS[1]}, but got {self.bits}")
        if self.samples is not None or self.data:
            super().apply(ctx, op)
        else:
            alike = ((each, [np.ones(grid.steps.shape[1]) for grid in each.grid()]) for each in self.weights(function))
            self._fit(op, list(alike))
        for each in function.walk():
            if is_integer_contraction(each):
                self._check(each)
        weights = list(rounded_weights(function))
        changed = sum(UNROUNDED in each.op.attributes for each in weights)
        found = {"bits": self.bits, "layers": len(weights), "changed": changed}
        function.attributes[FITTED] = DictionaryAttr({name: IntegerAttr(each, i64) for name, each in found.items()})

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs) -> None:
        """Changes the weights that do not fit."""
        seen = self.seen(module, weights, runs, SecondMoments)
        self._fit(module, [(each, [np.diagonal(total) / own.count for total in own.total]) for each, own in seen])

    def weights(self, function: FuncOp) -> list[RoundedWeight]:
        """Returns the weights of one scale a channel with sums that do not fit.

        This pass is not a repair, so a recipe cannot exclude weights from it.
        """
        found = (each for each in rounded_weights(function) if self._may_fit(each))
        return [each for each in found if any(not self._fits(reader) for reader, _ in each.readers)]

    def _may_fit(self, weight: RoundedWeight) -> bool:
        data = quantized_type(weight.rows.data)
        is_plain = data is not None and data.granularity is Granularity.TENSOR
        return is_plain and all((grid.steps == grid.steps[:, :1]).all() for grid in weight.grid())

    def _fits(self, op: Operation) -> bool:
        found, limits = _limits(op), integer_limits(self.bits)
        return found is not None and limits[0] <= found[0] and found[1] <= limits[1]

    def _check(self, op: Operation) -> None:
        """Raises `DiagnosticError` unless all partial sums of `op` provably fit."""
        if self._fits(op):
            return
        found, width = _limits(op), f"a {self.bits}-bit accumulator"
        help_ = "; help: use more bits, or exclude the layer"
        if found is None:
            raise op_error(op, f"has sums without a bound for {width}: scales or the number of terms vary{help_}")
        raise op_error(op, f"has sums in [{found[0]}, {found[1]}], which overflow {width} with any weights{help_}")

    def _grids(self, weight: RoundedWeight) -> list[AccumulatorGrid]:
        data = quantized_type(weight.rows.data)
        assert data is not None
        zero = int(data.zero_point)
        limits = min(data.storage_min - zero, 0), max(data.storage_max - zero, 0)
        grids = weight.grid()
        addends = np.zeros((1, sum(len(grid.steps) for grid in grids)))
        for reader, _ in weight.readers:
            if (bias := bias_beside(reader)) is not None:
                own = np.broadcast_to(bias.array.reshape(-1) / data.scale, addends.shape[1:])
                addends = np.concatenate([addends, own[None]])
        parts = np.split(addends, len(grids), axis=1)
        return [
            AccumulatorGrid(
                grid.steps, grid.low, grid.high, limits, part.min(axis=0), part.max(axis=0), self.bits,
                is_signed=grid.is_signed,
            )
            for grid, part in zip(grids, parts, strict=True)
        ]  # fmt: skip

    def _fit(self, module: ModuleOp, weights: Sequence[tuple[RoundedWeight, Sequence[Array]]]) -> None:
        """Chooses scales and codes for `weights`, given the second moments of uncorrelated terms."""
        function = function_of(module, self.function)
        alone = {value for value, members in scale_groups(function).items() if len(members) == 1}
        found: dict[SSAValue, Array] = {}
        for weight, moments in weights:
            if weight.rows.weight in alone:
                scales = self._scales(weight, moments)
                if not np.array_equal(scales, weight.element.scales):
                    found[weight.rows.weight] = scales
        set_scales(function, found)
        changed = {weight.op for weight, _ in weights}
        for weight in rounded_weights(function):
            if weight.op in changed:
                wanted = weight.rows.of_weights(weight.unrounded).astype(np.float64)
                codes = [
                    grid.nearest(each) * grid.steps for each, grid in zip(wanted, self._grids(weight), strict=True)
                ]
                weight.set(weight.rows.to_weights(np.stack(codes)))
                count("weights")
                emit_remark(weight.readers[0][0], f"its weights are changed to fit sums in {self.bits} bits")

    def _scales(self, weight: RoundedWeight, moments: Sequence[Array]) -> Array:
        """Returns the scales with the smallest errors, unchanged if they belong to no channel that must change."""
        given, shape, grids = weight.element.scales, weight.array.shape, self._grids(weight)
        scales, positions = best_scales(weight, grids, moments, _SHARES), np.arange(given.size).reshape(given.shape)
        numbers = weight.rows.of_weights(np.broadcast_to(spread(weight.element, shape, positions), shape))
        wanted = weight.rows.of_weights(weight.unrounded).astype(np.float64)
        plain = zip(grids, weight.grid(), wanted, strict=True)
        is_long = np.stack([(own.nearest(each) != other.nearest(each)).any(axis=1) for own, other, each in plain])
        return np.where(np.isin(positions, numbers[is_long]), scales, given)


def _limits(op: Operation) -> tuple[int, int] | None:
    bias = bias_beside(op)
    return partial_sum_limits(
        op, None if bias is None else quantize(bias.array, bias.element), KnownOperands(known=_known)
    )


def _known(_: Operation, value: SSAValue) -> Array | None:
    """Returns the codes of a constant that is still in float before its cast."""
    cast, element = value.owner, quantized_type(value)
    array = constant_array(cast.input) if isinstance(cast, QuantizeCastOp) else None
    return constant_array(value) if array is None or element is None else quantize(array, element)
