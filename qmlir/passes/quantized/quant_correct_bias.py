"""`quant-correct-bias`: a bias makes up for the mean error of its layer's products."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.interpret import dequantize, quantize
from qmlir.ir.preservation import MEANING, Preservation
from qmlir.ir.provenance import Origin, origins_of
from qmlir.ir.statistics import count
from qmlir.passes.quantized.repairs import RepairsWeights
from qmlir.quantization.rounded_weights import RoundedWeight, bias_beside


@dataclass(frozen=True)
class Means:
    """The sum of rows, `[groups, terms]`, and how many they are."""

    total: Array
    count: int


@dataclass(frozen=True)
class QuantCorrectBias(RepairsWeights[Means]):
    """Take from each bias the mean error that the rounding of its layer's weights makes: `E[(W~ - W) x]`.

    `x` is what the samples in `data` give in the quantized program, behind layers that are corrected already (Nagel et
    al., Data-Free Quantization, ICCV 2019, 4.2; here the mean is measured). A layer without a bias stays as it is.

    A caller that knows the means of the float model gives them as `means`. Then it is `E[W~ x~] - E[W x]`: the bias
    makes up for what rounding has shifted in the data, too.

    The biases are constants of floats (`quant-assign-types{float_constants}`), and keep beside them what they were. In
    this example 0.75 is rounded to 1, and the mean of its column is 0.5.

    Before (run with `data="tests/filecheck/passes/quantized/Inputs/alike.npy"`):

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
    VALUES: ClassVar[tuple[str, ...]] = ("samples", "means")
    means: ClassVar[Mapping[tuple[Origin, ...], Array] | None] = None
    """The mean row of the float data of products, `[groups, terms]`, by their origins."""

    preserves: ClassVar[Preservation] = MEANING

    def see(self, rows: Array) -> Means:
        """The mean of rows."""
        return Means(rows.sum(1, dtype=np.float64), rows.shape[1])

    def add(self, one: Means, other: Means) -> Means:
        """The mean of both."""
        return Means(one.total + other.total, one.count + other.count)

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Sequence[Sequence[Any]]) -> None:
        """Correct the biases beside `weights`."""
        self.in_turn(module, weights, runs, self._settle)

    def _settle(self, weight: RoundedWeight, seen: Means) -> Sequence[Operation]:
        first, *others = (bias_beside(reader) for reader, _ in weight.readers)
        if first is None or any(each is None or each.op is not first.op for each in others):
            return ()
        rounded = dequantize(quantize(weight.array, weight.element), weight.element)
        given, wanted = (weight.rows.of_weights(each.astype(np.float64)) for each in (rounded, weight.unrounded))
        mean = seen.total / seen.count
        exact = self._exact_mean(weight, mean)
        errors = (given @ mean[:, :, None] - wanted @ exact[:, :, None]).reshape(-1)
        if errors.size != first.array.size or not errors.any():  # one number for all channels
            return ()
        first.set(first.array - errors.reshape(first.array.shape))
        count("biases")
        return [first.op]

    def _exact_mean(self, weight: RoundedWeight, mean: Array) -> Array:
        """The mean row in the float model, `mean` where it is not known."""
        if self.means is None or len(weight.readers) != 1:
            return mean
        found = self.means.get(origins_of(weight.readers[0][0]))
        return mean if found is None or found.shape != mean.shape else found
