"""`nn-recognize` and `nn-recognize-masks`: composites and masks that a float model expresses as several operations."""

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

# `nn-recognize`: replaces operations of a float model by the composite that they compute.


@dataclass(frozen=True)
class NnRecognize(ModulePass):
    """Replaces operations that compute a composite by the composite, if it stays whole: by `keep`, or the module's
    targets.

    Exporters write norms, softmax and activation functions as sums, products and reductions. In float these are
    equivalent; but if a softmax is quantized to 8 bits part by part, it may divide by a value that was rounded to 0. So
    this pass runs before values are profiled. `keep` is the option of `nn-decompose`: a composite that would be
    decomposed again is not formed.

    Groups are recognized by the function that they compute, not by their form: a square as a product or a power, a
    quotient as a product with a reciprocal, reductions with or without kept axes. Every constant and axis must match
    the composite. The composite gets the provenance of its parts, except for parts whose values have other users; these
    are kept. A batch norm after a convolution or a fully connected layer is folded into its weights (`canonicalize`).
    If it is not, a remark gives the reason.

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


# `nn-recognize-masks`: turns values that only select the elements of a softmax into its mask.


@dataclass(frozen=True)
class NnRecognizeMasks(ModulePass):
    """Turns a mask in the scores of a softmax into its mask operand, so that the mask does not widen a range.

    A mask is recognized by its effect, in each form that exporters write: a sum with 0 for an element that takes part
    and a large negative number for the others; a `where` between scores and such a number; `(1 - m) * fill`; constant
    triangles. A mask that the caller passes is recognized by its statistics: all observed elements are 0, or lie below
    a gap. The pass runs before values are profiled, for masks that are certain, and after it, for those that follow
    from ranges and statistics.

    A finite number masks if the masked elements have the probability 0 in f32: together at most 2^-24, by the range of
    the scores. Without a range, numbers of -10000 and below mask. A fully masked row is 0 if minus infinity masks (in
    float: NaN), and `1 / n` if a finite number does. Operations that become unused are left to `dce`.

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
