"""`quant-gptq`: chooses quantized weights that compensate for each other's rounding errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.extensions.recovery import weight_rounding as rounding
from qmlir.extensions.recovery.quant_correct_bias import Means, correct_bias, settled_bias
from qmlir.extensions.recovery.repairs import RepairsWeights, RowStatistics, Runs
from qmlir.extensions.recovery.rounded_weights import RoundedWeight
from qmlir.extensions.recovery.weight_rounding import DampedFactors
from qmlir.ir.passes import MEANING, Preservation, count

_ROWS = 256
"""The number of matrix rows that are updated at a time, since the matrix may be too large to copy."""


@dataclass(frozen=True)
class _AboutMean:
    """Rows `[groups, rows, terms]` minus a row near their mean, so that their products are accurate in f32.

    If the mean is a thousand times larger than the deviations from it, products of the rows themselves would have
    rounding errors larger than the centered second moments.
    """

    off: Array
    centre: F64
    rest: F64
    """The sum of `off`, which is not exactly 0."""

    @staticmethod
    def of(rows: Array) -> "_AboutMean":
        """Subtracts from `rows` their mean, rounded to their type."""
        centre = rows.mean(1, dtype=np.float64).astype(rows.dtype)
        off = rows - centre[:, None]
        return _AboutMean(off, centre.astype(np.float64), off.sum(1, dtype=np.float64))

    def products(self, other: "_AboutMean") -> F64:
        """Returns the sum of `x y^T` over corresponding rows `x` of `self` and `y` of `other`.

        The shape of the result is `[groups, terms, terms]`.
        """
        found = (self.off.swapaxes(1, 2) @ other.off).astype(np.float64)
        left = np.stack((self.rest + self.off.shape[1] * self.centre, self.centre), 2)
        found += left @ np.stack((other.centre, other.rest), 1)
        return found

    @property
    def total(self) -> F64:
        """The sum of the rows, `[groups, terms]`."""
        return self.off.shape[1] * self.centre + self.rest


@dataclass(frozen=True)
class SecondMoments(RowStatistics):
    """Second moments of the layer input: sums of outer products over rows, and the number of rows."""

    total: Array
    """The sum of `x~ x~^T`, `[groups, terms, terms]`."""

    cross: Array
    """The sum of `x x~^T`, where `x` are the rows in the float program."""

    means: Means

    @classmethod
    def of(cls, rows: Array, exact: Array) -> Self:
        """Sums the outer products of `rows`, and of `exact` with `rows`; both have shape `[groups, rows, terms]`."""
        about = _AboutMean.of(rows)
        known = about if exact is rows else _AboutMean.of(exact)
        total = about.products(about)
        cross = total if known is about else known.products(about)
        return cls(total, cross, Means(about.total, known.total, rows.shape[1]))

    def __add__(self, other: Self) -> Self:
        total = self.total + other.total
        is_same = self.cross is self.total and other.cross is other.total
        return type(self)(total, total if is_same else self.cross + other.cross, self.means + other.means)

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.means.count

    @staticmethod
    def rows_at_once(terms: int) -> int:
        """Returns the number of f32 rows that occupy as much memory as their f64 second moments."""
        return 2 * terms

    def of_group(self, group: int, *, is_centered: bool) -> tuple[Array, Array]:
        """Returns the means of `x~ x~^T` and `x x~^T` for `group`, minus the products of the means if `is_centered`."""
        own, cross = self.total[group] / self.count, self.cross[group] / self.count
        if is_centered:
            mean, exact = (each[group] / self.means.count for each in (self.means.total, self.means.exact))
            for first in range(0, len(mean), _ROWS):
                rows = slice(first, first + _ROWS)
                own[rows] -= np.outer(mean[rows], mean)
                cross[rows] -= np.outer(exact[rows], mean)
        return own, cross


def aims(
    weight: RoundedWeight, seen: SecondMoments, *, damping: float, share: float
) -> Iterator[tuple[F64, Array, DampedFactors]]:
    """Yields, for each group of channels of `weight`, the weights that the codes should match, `[channels, terms]`.

    With them come the second moments of the layer input, `[terms, terms]`, which weight the error, and their triangular
    factors. The moments are centered if the layer has a bias, because the bias compensates for the means. `damping` is
    passed to `DampedFactors`, `share` to `compensated`.
    """
    unrounded = weight.rows.of_weights(weight.unrounded).astype(np.float64)
    for position, each in enumerate(unrounded):
        own, cross = seen.of_group(position, is_centered=weight.bias is not None)
        factors = DampedFactors.of(own, damping)
        yield rounding.compensated(each, own, cross, share=share, factors=factors), own, factors


@dataclass(frozen=True)
class QuantGptq(RepairsWeights):
    """Rounds weights so as to minimize the error of a layer's products rather than the error of each weight (GPTQ).

    Reduction terms are rounded one at a time, and the later terms compensate for the resulting error on the layer
    inputs of the samples in `data` (Frantar et al., ICLR 2023). Then `sweeps` passes of coordinate descent choose each
    code again given the others; they never increase the error. `damping` is added to the diagonal of the second
    moments, as a fraction of its mean. Layers are processed in program order. The input of each layer comes from the
    quantized program, in which all earlier layers have their final codes. Only weights of at most `bits` bits are
    changed.

    If a layer has a bias, the bias compensates for the mean of the error (as in `quant-correct-bias`, even if no code
    changes), and the codes compensate only for the remaining error. If the caller passes the float program as `floats`,
    the targets move from the products with quantized inputs towards those of the float program, by the fraction
    `floats_share` (GPTAQ, Li et al., ICML 2025).

    Weights must still be float constants (`quant-assign-types{float_constants}`). They become their dequantized codes,
    and keep their original values in `quant.unrounded`. In the example, both input columns are equal, so one weight is
    rounded down and the other up.

    Before (run with `data="tests/filecheck/extensions/recovery/Inputs/alike.npy"`):

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !w = !quant.uniform<i4:f32, 0.5>
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
      %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
      %w = nn.constant dense<[[0.7, 0.7]]> : tensor<1x2xf32> {nn.trainable}
      %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      %2 = nn.matmul %0, %1 {transpose_b = true}
          : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!quant.uniform<i32:f32, 0.125>> {origin = "fc"}
      %3 = quant.dcast %2 : tensor<?x1x!quant.uniform<i32:f32, 0.125>> to tensor<?x1xf32>
      func.return %3 : tensor<?x1xf32>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !w = !quant.uniform<i4:f32, 0.5>
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
      %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
      %w = nn.constant dense<[[0.5, 1.0]]> : tensor<1x2xf32>
          {nn.trainable, quant.unrounded = dense<0.7> : tensor<1x2xf32>}
      %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      %2 = nn.matmul %0, %1 {transpose_b = true}
          : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!quant.uniform<i32:f32, 0.125>> {origin = "fc"}
      %3 = quant.dcast %2 : tensor<?x1x!quant.uniform<i32:f32, 0.125>> to tensor<?x1xf32>
      func.return %3 : tensor<?x1xf32>
    }
    ```
    """

    name = "quant-gptq"
    preserves: ClassVar[Preservation] = MEANING

    bits: int = 8
    damping: float = rounding.DAMPING
    sweeps: int = rounding.SWEEPS
    floats_share: float = rounding.FLOATS_SHARE

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs) -> None:
        """Chooses the codes of `weights`."""
        narrow = [each for each in weights if each.element.bits <= self.bits]
        self.in_turn(module, narrow, runs, SecondMoments, self._settle)
        self.settled_biases(narrow)

    def _settle(self, weight: RoundedWeight, seen: SecondMoments) -> Sequence[Operation]:
        known = weight.rows.of_weights(weight.array)
        chosen, before, after, signal = np.empty(known.shape), 0.0, 0.0, 0.0
        each = aims(weight, seen, damping=self.damping, share=self.floats_share)
        for position, ((wanted, moments, factors), grid) in enumerate(zip(each, weight.grid(), strict=True)):
            found, own, _ = rounding.settled(wanted, grid, moments, sweeps=self.sweeps, factors=factors)
            before += rounding.error(wanted, grid.nearest(known[position]), grid, moments)
            after += own
            signal += rounding.error(wanted, np.zeros_like(wanted), grid, moments)
            chosen[position] = found * grid.steps
        if not after < before:
            return settled_bias(weight, seen.means, self.gained)
        weight.set(weight.rows.to_weights(chosen))
        count("weights")
        self.tell(weight, "weights are rounded to minimize the error of its accumulator", before, after, signal)
        return [weight.op, *correct_bias(weight, seen.means)]
