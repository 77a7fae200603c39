"""`quant-correct-bias`: corrects biases by the mean error of their layer's output."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.recovery.repairs import LayerImprovement, RepairsWeights, RowStatistics, Runs, nodes_of
from qmlir.extensions.recovery.rounded_weights import RoundedWeight
from qmlir.ir.passes import MEANING, Preservation, count


@dataclass(frozen=True)
class Means(RowStatistics):
    """Sums of layer input rows, `[groups, terms]`, and the number of rows summed."""

    total: Array
    exact: Array
    """The sums of the same rows in the float program."""

    count: int

    @classmethod
    def of(cls, rows: Array, exact: Array) -> Self:
        """Sums `rows` and `exact`, both of shape `[groups, rows, terms]`, over their rows."""
        total = rows.sum(1, dtype=np.float64)
        return cls(total, total if exact is rows else exact.sum(1, dtype=np.float64), rows.shape[1])

    def __add__(self, other: Self) -> Self:
        return type(self)(self.total + other.total, self.exact + other.exact, self.count + other.count)

    @property
    def mean(self) -> Array:
        """The mean row of the quantized program."""
        return self.total / self.count

    @property
    def exact_mean(self) -> Array:
        """The mean row of the float program."""
        return self.exact / self.count


def correct_bias(weight: RoundedWeight, seen: Means) -> list[Operation]:
    """Corrects the bias of the layer of `weight` by the mean error of its products, and returns the changed constants.

    The error is subtracted from the original bias, so earlier corrections do not accumulate.
    """
    bias = weight.bias
    if bias is None:
        return []
    given, wanted = (weight.rows.of_weights(each.astype(np.float64)) for each in (weight.rounded, weight.unrounded))
    errors = given @ seen.mean[:, :, None] - wanted @ seen.exact_mean[:, :, None]
    corrected = (bias.unrounded - errors.reshape(bias.array.shape)).astype(np.float32)
    if np.array_equal(corrected, bias.array):
        return []
    bias.set(corrected)
    count("biases")
    return [bias.op]


def settled_bias(
    weight: RoundedWeight, seen: Means, gained: Callable[[LayerImprovement], None] | None
) -> Sequence[Operation]:
    """Corrects the bias of the layer of `weight`, reports a change to `gained`, and returns the changed constants."""
    changed = correct_bias(weight, seen)
    if changed and gained is not None:
        gained(LayerImprovement(QuantCorrectBias.name, nodes_of(weight)))
    return changed


@dataclass(frozen=True)
class QuantCorrectBias(RepairsWeights):
    """Subtracts from each bias the mean error caused by rounding its layer's weights: `E[(W~ - W) x]`.

    `W` are the float weights and `W~` the rounded ones. `x` is the layer input in the quantized program for the samples
    in `data`, after the earlier layers have been corrected (Nagel et al., Data-Free Quantization, ICCV 2019, 4.2; here
    the mean is measured). A layer without a bias is left unchanged.

    If the caller passes the float program as `floats`, the error is `E[W~ x~] - E[W x]`, where `x~` is the layer input
    in the quantized program and `x` the one in the float program. The bias then also compensates for the shift that
    rounding causes in the layer input.

    Biases must still be float constants (`quant-assign-types{float_constants}`); they keep their original values in
    `quant.unrounded`. If a previous pass, such as `quant-gptq`, has settled all of them with the same samples, the
    samples are not run again. In the example, 0.75 is rounded to 1, and the mean of its input column is 0.5.

    Before (run with `data="tests/filecheck/extensions/recovery/Inputs/alike.npy"`):

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !w = !quant.uniform<i4:f32, 0.5>
    !s = !quant.uniform<i32:f32, 0.125>
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
      %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
      %w = nn.constant dense<[[0.75, 0.5]]> : tensor<1x2xf32> {nn.trainable}
      %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
      %b = nn.constant dense<0.0> : tensor<1xf32> {nn.trainable}
      %3 = quant.qcast %b : tensor<1xf32> to tensor<1x!s>
      %4 = nn.add %2, %3 : (tensor<?x1x!s>, tensor<1x!s>) -> tensor<?x1x!s> {origin = "fc"}
      %5 = quant.dcast %4 : tensor<?x1x!s> to tensor<?x1xf32>
      func.return %5 : tensor<?x1xf32>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !w = !quant.uniform<i4:f32, 0.5>
    !s = !quant.uniform<i32:f32, 0.125>
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
      %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
      %w = nn.constant dense<[[0.75, 0.5]]> : tensor<1x2xf32> {nn.trainable}
      %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
      %b = nn.constant dense<-0.125> : tensor<1xf32> {nn.trainable, quant.unrounded = dense<0.0> : tensor<1xf32>}
      %3 = quant.qcast %b : tensor<1xf32> to tensor<1x!s>
      %4 = nn.add %2, %3 : (tensor<?x1x!s>, tensor<1x!s>) -> tensor<?x1x!s> {origin = "fc"}
      %5 = quant.dcast %4 : tensor<?x1x!s> to tensor<?x1xf32>
      func.return %5 : tensor<?x1xf32>
    }
    ```
    """

    name = "quant-correct-bias"
    preserves: ClassVar[Preservation] = MEANING

    def weights(self, function: FuncOp) -> list[RoundedWeight]:
        """Returns the weights whose biases may change; none if the previous pass has settled all these biases."""
        found, settled = super().weights(function), self.biases or set[Operation]()
        is_left = any(bias.op not in settled for each in found if (bias := each.bias) is not None)
        return found if is_left else []

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs) -> None:
        """Corrects the biases of the layers of `weights`."""
        self.in_turn(module, weights, runs, Means, lambda weight, seen: settled_bias(weight, seen, self.gained))
