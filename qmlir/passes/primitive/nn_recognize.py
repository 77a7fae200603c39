"""`nn-recognize` and `nn-recognize-masks`: recognize composites and masks that a float model spells as primitives."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import unfolded_reason
from qmlir.dialects.nn.normalization.ops import BatchNormOp, SoftmaxOp
from qmlir.dialects.nn.raising.recognition import RECOGNIZERS, recognized
from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.quantization.assignment import kept
from qmlir.quantization.masked_softmax import MaskedSoftmax
from qmlir.quantization.masked_softmax import recognized as recognized_masks


@dataclass(frozen=True)
class NnRecognize(ModulePass):
    """Replaces operations that compute a composite with the composite, if `keep` or the module's targets keep it whole.

    Exporters write norms, softmax and activation functions as sums, products and reductions. In float, both forms are
    equivalent. But if the parts of a softmax are quantized to 8 bits one by one, it may divide by a value that was
    rounded to 0. This pass therefore runs before values are profiled. `keep` has the same meaning as in `nn-decompose`:
    a composite that would be decomposed again is not formed.

    Operations are recognized by the function that they compute, regardless of the spelling: a square may be a product
    or a power, a quotient may be a product with a reciprocal, and reductions may keep their axes or not. Every constant
    and axis must match the composite. The composite gets the provenance of its parts, except for parts whose results
    have other users; these parts are kept. `canonicalize` folds a batch norm after a convolution or a fully connected
    layer into the weights; if it cannot, a remark gives the reason.

    Before (run with `keep=softmax`):

    ```mlir
    func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %0 = nn.exp %x : tensor<2x4xf32> {origin = "exp"}
      %1 = nn.reduce_sum %0 {axes = [-1]} : (tensor<2x4xf32>) -> tensor<2x1xf32> {origin = "sum"}
      %2 = nn.div %0, %1 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32> {origin = "div"}
      func.return %2 : tensor<2x4xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %0 = nn.softmax %x : tensor<2x4xf32> {origin = ["exp", "sum", "div"], tensor = "div"}
      func.return %0 : tensor<2x4xf32>
    }
    ```
    """

    name = "nn-recognize"
    preserves: ClassVar[Preservation] = ROUNDED

    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        targets = targets_of(op)
        keep = kept(self.keep, targets)

        def is_wanted(composite: NnOp) -> bool:
            if type(composite) in registry.decompositions():
                return composite in keep
            return not targets or any(target.why_not(composite) is None for target in targets)

        for recognize in RECOGNIZERS:
            for root in list(op.walk())[::-1]:
                found = recognized(root, recognize) if root.parent is not None else None
                if found is None:
                    continue
                if is_wanted(found.composite):
                    found.replace()
                    count("composites recognized")
                else:
                    found.discard()
        for norm in op.walk():
            if isinstance(norm, BatchNormOp) and (reason := unfolded_reason(norm)) is not None:
                emit_remark(norm, f"is not folded into the layer before it: {reason}")


@dataclass(frozen=True)
class NnRecognizeMasks(ModulePass):
    """Turns a mask in the scores of a softmax into its mask operand, so that the mask does not widen the range of the
    scores.

    A mask is recognized by its effect, in each form that exporters write: the addition of 0 to unmasked elements and of
    a large negative number to masked ones, a `where` between the scores and such a number, `(1 - m) * fill`, and
    constant triangles. A mask that the caller passes as an input is recognized by its statistics: each observed element
    is either 0 or far below 0. The pass runs both before profiling, for masks that are certain from the graph alone,
    and after profiling, for masks that follow from ranges and statistics.

    A finite number counts as a mask if, given the range of the scores, the masked elements have a total probability of
    at most 2^-24, which is 0 in f32. If the range is unknown, numbers of -10000 and below count as a mask. In a fully
    masked row, each probability is `1 / n` if the mask is a finite number. If it is minus infinity, each probability is
    0, although the float model computes NaN. Operations that become unused are left to `dce`.

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
            found = recognized_masks(softmax)
            if isinstance(found, MaskedSoftmax):
                found.replace()
                emit_remark(found.composite, found.text())
                count("masks recognized")
            elif found is not None:
                emit_remark(softmax, found.reason)
