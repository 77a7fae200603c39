"""`nn-decompose`: replaces composites with primitives that record their roles."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir import registry
from qmlir.dialects.nn.base import Kind, NnOp, kind_of
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.builtin_types import element_of
from qmlir.ir.conversion import Legality, convert_partially
from qmlir.ir.decomposition import COMPONENTS, Parts, mark_composite
from qmlir.ir.diagnostics import Diagnostic, Severity, emit, nearest_name
from qmlir.ir.passes import ROUNDED, Preservation, TakesValues, count
from qmlir.ir.provenance import origins_of
from qmlir.quantization.assignment import asks_for_parts, kept
from qmlir.quantization.recipe import TypeOptions, make_recipe
from qmlir.quantization.recipe_text import RecipeText


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
                emit(Diagnostic(Severity.WARNING, message + nearest_name(pattern, known)))
