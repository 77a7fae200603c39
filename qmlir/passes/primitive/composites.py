"""`nn-decompose`, `nn-recognize` and `nn-recognize-masks`: replace composites with primitives that record their roles,
and recognize composites and masks that a float model spells as primitives."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir import registry
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.canonicalize.constants import unfolded_reason
from qmlir.dialects.nn.normalization.ops import BatchNormOp, SoftmaxOp
from qmlir.dialects.nn.raising.recognition import RECOGNIZERS, recognized
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.builtin_types import element_of
from qmlir.ir.conversion import Legality, convert_partially
from qmlir.ir.decomposition import COMPONENTS, Parts, mark_composite
from qmlir.ir.diagnostics import emit_remark, nearest_name, warn
from qmlir.ir.passes import ROUNDED, Preservation, TakesValues, count
from qmlir.ir.provenance import origins_of
from qmlir.quantization.assignment import asks_for_parts, kept
from qmlir.quantization.masks import MaskedSoftmax
from qmlir.quantization.masks import recognized as recognized_masks
from qmlir.quantization.recipe import TypeOptions, make_recipe
from qmlir.quantization.recipe_text import RecipeText

# `nn-decompose`: composites become parts.


def _let_parts_decide(op: Operation, rewriter: PatternRewriter) -> None:
    """Gives a float composite without known parts empty `components`, whose types are decided later."""
    if isinstance(op, NnOp) and Kind.QUANTIZED in op.ACCEPTS and op.components is None:
        op.properties[COMPONENTS] = DictionaryAttr({})
        rewriter.handle_operation_modification(op)


@dataclass(frozen=True)
class Decompose(RewritePattern):
    """Replaces a composite with the parts that its dialect or another package registered for it."""

    keeps_long: bool = False
    """True if a float layer of more than `UNROLLED` steps stays whole, like a layer of dynamic length."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        is_float = all(kind_of(element_of(value)) is Kind.FLOAT for value in op.operands[:1])
        parts = Parts(op, may_be_excerpt=self.keeps_long and is_float)
        results = decompose(op, parts)
        if parts.is_excerpt:
            parts.discard()
            _let_parts_decide(op, rewriter)
        elif results is not None:
            mark_composite(op, results, parts.operations)
            rewriter.replace(op, parts.operations, results)
            count("composites decomposed")


@dataclass(frozen=True)
class NnDecompose(TakesValues):
    """Replaces each composite with its parts, unless `keep` has its kind, its node in the model, or a glob for either.

    Without `keep`, the targets of the module decide (`quant-set-target`): a composite stays whole if it is kept by the
    first target that computes it, as a whole or in parts.

    A recurrent layer of dynamic length, or of more than 8 steps, stays whole and is marked with `components = {}`. Its
    parts are still profiled and quantized one by one, as if the layer had been decomposed. With `unroll`, only layers
    of dynamic length stay whole.

    The provenance of every part is the composite's node and the part's role, so that each part has its own profile
    entry and quantization parameters. Parts that produce the results record the composite for `nn-raise`. A name in
    `keep` that is neither a kind of composite nor a node in the module causes a warning.

    A layer that `keep` names is decomposed nevertheless if `accumulator` or a rule in the file `recipe` sets the type
    of its matrix product or its bias. Its parts are then profiled and get separate types, and `nn-raise` restores the
    layer with these types.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
      %0 = nn.fully_connected %x, %w, %b
          : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc"}
      func.return %0 : tensor<1x2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
      %0 = nn.matmul %x, %w {transpose_b = true}
          : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc", role = "matmul"}
      %1 = nn.add %0, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
          {origin = "fc", role = "bias_add", composite = {op = "nn.fully_connected"}}
      func.return %1 : tensor<1x2xf32>
    }
    ```
    """

    name = "nn-decompose"
    preserves: ClassVar[Preservation] = ROUNDED

    keep: tuple[str, ...] = ()
    recipe: str = ""
    accumulator: str = ""
    unroll: bool = False

    VALUES: ClassVar[tuple[str, ...]] = ("given_recipe",)
    given_recipe: ClassVar[RecipeText | None] = None
    """A recipe in memory, used instead of the file that `recipe` names."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        keep = kept(self.keep, targets_of(op))
        recipe = make_recipe(TypeOptions(accumulator=self.accumulator).rules(), self.given_recipe or self.recipe)
        self._warn_of_unknown(op)

        def is_kept(composite: Operation) -> bool:
            return composite in keep and not (self.keep and asks_for_parts(composite, recipe))

        composites = Legality(illegal_operations=tuple(registry.decompositions()), is_kept=is_kept)
        # An operation without parts in its present form stays: a convolution without bias, or a quantized composite
        # without types for its parts.
        convert_partially(op, [Decompose(keeps_long=not self.unroll)], composites, ctx)

    def _warn_of_unknown(self, module: ModuleOp) -> None:
        if not self.keep:
            return
        kinds = [cast(type[Operation], composite).name for composite in registry.decompositions()]
        nodes = (origin.name for op in module.walk() for origin in origins_of(op) if origin.name)
        known = dict.fromkeys((*(kind.partition(".")[2] for kind in kinds), *kinds, *nodes))
        for pattern in dict.fromkeys(self.keep):
            if not any(fnmatchcase(name, pattern) for name in known):
                message = f"nn-decompose keep: '{pattern}' matches no kind of composite and no node"
                warn(message + nearest_name(pattern, known))


# `nn-recognize` and `nn-recognize-masks`: primitives become composites.


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
                emit_remark(softmax, found)
