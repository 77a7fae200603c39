"""`quant-gptq`: codes of weights that make up for each other's errors."""

from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.recovery.quant_correct_bias import Means, correct_bias, settled_bias
from qmlir.extensions.recovery.repairs import RepairsWeights
from qmlir.extensions.recovery.rounded_weights import RoundedWeight
from qmlir.extensions.recovery.weight_rounding import (
    DAMPING,
    FLOATS_SHARE,
    SWEEPS,
    DampedFactors,
    compensated,
    error,
    settled,
)
from qmlir.ir.passes import MEANING, Preservation, count

_ROWS = 256
"""Rows of a matrix that are changed at a time, where it is too large to be made twice."""


@dataclass(frozen=True)
class _AboutMean:
    """Rows `[groups, rows, terms]` less a row near their mean: products of what is left lose nothing in f32.

    Of values that lie about a mean a thousand times as large, those of the rows themselves would round by more than
    what is left when they are centred.
    """

    off: Array
    centre: npt.NDArray[np.float64]
    rest: npt.NDArray[np.float64]
    """The sum of `off`, which is not quite 0."""

    @staticmethod
    def of(rows: Array) -> "_AboutMean":
        """The rows."""
        centre = rows.mean(1, dtype=np.float64).astype(rows.dtype)
        off = rows - centre[:, None]
        return _AboutMean(off, centre.astype(np.float64), off.sum(1, dtype=np.float64))

    def products(self, other: "_AboutMean") -> npt.NDArray[np.float64]:
        """The sum of `x y^T` over the rows `x` of this and `y` of the other, `[groups, terms, terms]`."""
        found = (self.off.swapaxes(1, 2) @ other.off).astype(np.float64)
        count = self.off.shape[1]
        left = np.stack((self.rest + count * self.centre, self.centre), 2)
        found += left @ np.stack((other.centre, other.rest), 1)
        return found

    @property
    def total(self) -> npt.NDArray[np.float64]:
        """The sum of the rows, `[groups, terms]`."""
        return self.off.shape[1] * self.centre + self.rest


@dataclass(frozen=True)
class SecondMoments:
    """Sums over rows, and how many they are."""

    total: Array
    """That of `x~ x~^T`, `[groups, terms, terms]`."""

    cross: Array
    """That of `x x~^T`, with the rows `x` of the float program."""

    means: Means

    @classmethod
    def of(cls, rows: Array, exact: Array) -> "SecondMoments":
        """Those of `[groups, rows, terms]`."""
        about = _AboutMean.of(rows)
        known = about if exact is rows else _AboutMean.of(exact)
        total = about.products(about)
        cross = total if known is about else known.products(about)
        return cls(total, cross, Means(about.total, known.total, rows.shape[1]))

    def __add__(self, other: "SecondMoments") -> "SecondMoments":
        total = self.total + other.total
        is_same = self.cross is self.total and other.cross is other.total
        return SecondMoments(total, total if is_same else self.cross + other.cross, self.means + other.means)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.means.count

    @staticmethod
    def rows_at_once(terms: int) -> int:
        """As many of f32 as take the memory of the matrix of f64 that is kept of them."""
        return 2 * terms

    def of_group(self, group: int, *, is_centred: bool) -> tuple[Array, Array]:
        """The means of `x~ x~^T` and `x x~^T`, less the products of the means where they are centred."""
        own, cross = self.total[group] / self.count, self.cross[group] / self.count
        if is_centred:
            mean, exact = (each[group] / self.means.count for each in (self.means.total, self.means.exact))
            for first in range(0, len(mean), _ROWS):
                rows = slice(first, first + _ROWS)
                own[rows] -= np.outer(mean[rows], mean)
                cross[rows] -= np.outer(exact[rows], mean)
        return own, cross


@dataclass(frozen=True)
class Aim:
    """The floats that the codes of a group of channels are to be near, `[channels, terms]`, and what says how near."""

    wanted: npt.NDArray[np.float64]
    moments: Array
    """The second moments of what they are multiplied by, `[terms, terms]`: centred where a bias stands beside the
    weights, as it makes up for the means."""

    factors: DampedFactors
    """Those of the moments."""


def aims(weight: RoundedWeight, seen: SecondMoments, *, damping: float, share: float) -> Iterator[Aim]:
    """What codes of each group of channels of `weight` are to be near; `damping` is that of `DampedFactors`, `share`
    that of `compensated`."""
    unrounded = weight.rows.of_weights(weight.unrounded).astype(np.float64)
    for place, each in enumerate(unrounded):
        own, cross = seen.of_group(place, is_centred=weight.bias is not None)
        factors = DampedFactors.of(own, damping)
        yield Aim(compensated(each, own, cross, share=share, factors=factors), own, factors)


@dataclass(frozen=True)
class SeesMoments(RepairsWeights[SecondMoments], ABC):
    """A pass that settles weights by the second moments of what they are multiplied by."""

    def see(self, rows: Array, exact: Array) -> SecondMoments:
        """The sums over rows."""
        return SecondMoments.of(rows, exact)

    def rows_at_once(self, terms: int) -> int:
        """As many as second moments are worth."""
        return SecondMoments.rows_at_once(terms)

    def add(self, one: SecondMoments, other: SecondMoments) -> SecondMoments:
        """The sums over both."""
        return one + other


@dataclass(frozen=True)
class QuantGptq(SeesMoments):
    """Round weights so that the errors of a layer's products are small, not those of each weight (GPTQ).

    One term of the sums after the other is rounded, and those to come make up for its error in what the samples in
    `data` multiply the weights by (Frantar et al., ICLR 2023); then each code is chosen anew beside the others, for
    `sweeps` times (coordinate descent, which makes no error larger). `damping` is the share of their mean that is added
    to the second moments of the data. Layers are settled in the order of the program, each behind those that are
    settled; the data is that of the quantized program. Only weights of at most `bits` bits are changed.

    Where a bias stands beside the weights, it makes up for the mean of the error at once (`quant-correct-bias`), also
    where the codes stay, and the codes for what is left. A caller that has the float program gives it as `floats`: then
    the products come nearer to those of the float program with its own data, `floats_share` of the way (GPTAQ, Li et
    al., ICML 2025).

    The weights are constants of floats (`quant-assign-types{float_constants}`). They become the floats of their codes,
    and keep beside them what they were. In this example both columns of the data are alike, so that one weight is
    rounded down and the other one up.

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
    damping: float = DAMPING
    sweeps: int = SWEEPS
    floats_share: float = FLOATS_SHARE

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Sequence[Sequence[Any]]) -> None:
        """Choose the codes of `weights`."""
        narrow = [each for each in weights if each.element.bits <= self.bits]
        self.in_turn(module, narrow, runs, self._settle)
        self.settled_biases(narrow)

    def _settle(self, weight: RoundedWeight, seen: SecondMoments) -> Sequence[Operation]:
        known = weight.rows.of_weights(weight.array)
        chosen, before, after, signal = np.empty(known.shape), 0.0, 0.0, 0.0
        each = aims(weight, seen, damping=self.damping, share=self.floats_share)
        for place, (aim, grid) in enumerate(zip(each, weight.grid(), strict=True)):
            wanted, moments = aim.wanted, aim.moments
            found, own, _ = settled(wanted, grid, moments, sweeps=self.sweeps, factors=aim.factors)
            before += error(wanted, grid.nearest(known[place]), grid, moments)
            after += own
            signal += error(wanted, np.zeros_like(wanted), grid, moments)
            chosen[place] = found * grid.steps
        if not after < before:
            return settled_bias(weight, seen.means, self.gained)
        weight.set(weight.rows.to_weights(chosen))
        count("weights")
        self.tell(weight, "weights are rounded to minimize the error of its accumulator", before, after, signal)
        return [weight.op, *correct_bias(weight, seen.means.mean, seen.means.exact_mean)]
