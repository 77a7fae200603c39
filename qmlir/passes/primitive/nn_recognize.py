"""`nn-recognize` and `nn-recognize-masks`: composites and masks that a float model writes as several operations."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.batch_norm import unfolded_reason
from qmlir.dialects.nn.normalization.ops import BatchNormOp
from qmlir.dialects.nn.raising.recognition import RECOGNIZERS, recognized
from qmlir.dialects.nn.softmax.ops import SoftmaxOp
from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.quantization.assignment import kept
from qmlir.quantization.masked_softmax import MaskedSoftmax
from qmlir.quantization.masked_softmax import recognized as recognized_masks

# `nn-recognize`: what a float model spells as parts becomes the composite that it computes.


@dataclass(frozen=True)
class NnRecognize(ModulePass):
    """Make what computes a composite the composite, where that stays whole: by `keep`, or the targets of the module.

    Exporters write norms, softmax and activation functions as sums, products and reductions. In floats these are the
    same; in parts of 8 bits a softmax divides by what was rounded to 0. So this comes before values are profiled.
    `keep` is that of `nn-decompose`: what would become parts again stays as it is.

    Groups are recognized by what they compute, not by how: a square as a product or a power, a quotient as a product
    with a reciprocal, reductions with or without their axes. Every constant and axis has to be that of the composite.
    It stands for the nodes of its parts, but for those whose values have other users too: these stay beside it.

    A batch norm after a convolution or a fully connected layer is part of its weights (`canonicalize`). Where it is
    not, a remark says why.

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


# `nn-recognize-masks`: what only selects the elements of a softmax becomes its mask.


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
            found = recognized_masks(softmax)
            if isinstance(found, MaskedSoftmax):
                found.replace()
                emit_remark(found.composite, found.text())
                count("masks recognized")
            elif found is not None:
                emit_remark(softmax, found.reason)
