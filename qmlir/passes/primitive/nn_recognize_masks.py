"""`nn-recognize-masks`: what only selects the elements of a softmax becomes its mask."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.dialects.nn.softmax.ops import SoftmaxOp
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.quantization.masked_softmax import MaskedSoftmax, recognized


@dataclass(frozen=True)
class NnRecognizeMasks(ModulePass):
    """Make what masks the scores of a softmax the mask of the softmax, so that it is no part of a range.

    MaskedSoftmax is what a value does, in each form that exporters write: a sum with 0 where an element takes part and
    with something hugely negative elsewhere; a choice between scores and such a number; `(1 - m) * fill`; constant
    triangles. A mask that comes from the caller is known by its statistics: all observed values are 0, or below a gap.
    It comes before values are profiled, for what is certain, and after it, for what ranges and statistics tell.

    A finite number masks where elements that it masks have the probability 0 to f32: together at most 2^-24, by the
    range of the scores. Without a range, -10000 and below mask. A row that is masked as a whole is 0 where minus
    infinity masks (in floats: NaN), and `1 / n` where a finite number does. What nothing uses then is left to `dce`.

    Before:

    ```mlir
    func.func @main(%scores: tensor<2x4xf32>, %keep: tensor<4xi1>) -> tensor<2x4xf32> {
      %zero = nn.constant dense<0.0> : tensor<f32>
      %fill = nn.constant dense<-3.40282347e+38> : tensor<f32>
      %0 = nn.where %keep, %zero, %fill : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32> {origin = "mask"}
      %1 = nn.add %scores, %0 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "masked"}
      %2 = nn.softmax %1 : tensor<2x4xf32> {origin = "softmax"}
      func.return %2 : tensor<2x4xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%scores: tensor<2x4xf32>, %keep: tensor<4xi1>) -> tensor<2x4xf32> {
      %zero = nn.constant dense<0.0> : tensor<f32>
      %fill = nn.constant dense<-3.40282347e+38> : tensor<f32>
      %0 = nn.where %keep, %zero, %fill : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32> {origin = "mask"}
      %1 = nn.add %scores, %0 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "masked"}
      %2 = nn.softmax %scores, %keep {empty_rows = "uniform"}
          : (tensor<2x4xf32>, tensor<4xi1>) -> tensor<2x4xf32> {origin = "softmax"}
      func.return %2 : tensor<2x4xf32>
    }
    ```
    """

    name = "nn-recognize-masks"
    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for softmax in [each for each in op.walk() if isinstance(each, SoftmaxOp)]:
            found = recognized(softmax)
            if isinstance(found, MaskedSoftmax):
                found.replace()
                emit_remark(found.composite, found.text())
                count("masks recognized")
            elif found is not None:
                emit_remark(softmax, found.reason)
