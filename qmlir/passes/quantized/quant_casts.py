"""`quant-insert-casts`, `quant-propagate-types` and `quant-fuse-casts`: casts are placed, moved and fused."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.ir.passes import MEANING, Preservation
from qmlir.quantization.casts import FUSION_PATTERNS, rewrite
from qmlir.quantization.propagation import PATTERNS, ComputeOnce, Refit
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.settings import TakesRecipe, Watch, decide_and_insert

# `quant-insert-casts`: decide types, and put each value between quantize and dequantize.


@dataclass(frozen=True)
class QuantInsertCasts(TakesRecipe):
    """Decide the quantized type of every profiled value, and put a `quant.qcast` and a `quant.dcast` after it.

    The operations stay on floats: the module simulates quantization. Weights become constants of integers, quantized
    now. Options set the defaults for all values; `recipe` names a TOML file of rules for chosen nodes, operations and
    slots. `states` names inputs and the outputs that are these inputs of the next call, `past_*=present_*`: both have
    one type. What has no range or no quantized meaning is left in float; `assert_all_quantized` makes that an error.
    The second pass of graph-mode quantization, after `calib-insert-observers` and a run.

    Where the module names targets (`quant-set-target`), they say what rules and options leave open: a value has the
    first type of the target that gives it which all accept that take it. An operation belongs to the first target that
    takes the types which it gets; a rule that asks for what no target has is an error, and what none computes is left
    in float.

    Before (run with `activations=u8 scheme=asymmetric_pow2`):

    ```mlir
    func.func @main(%x: tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:1.0>>> {
      %0 = nn.sigmoid %x
          : (tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:1.0>>> {origin = "s"}
      func.return %0 : tensor<2x!quant.calibrated<f32<0.0:1.0>>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.015625:64>>
      %1 = quant.dcast %0 : tensor<2x!quant.uniform<u8:f32, 0.015625:64>> to tensor<2xf32>
      %2 = nn.sigmoid %1 : tensor<2xf32> {origin = "s"}
      %3 = quant.qcast %2 {origin = "s"} : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.00390625>>
      %4 = quant.dcast %3 {origin = "s"} : tensor<2x!quant.uniform<u8:f32, 0.00390625>> to tensor<2xf32>
      func.return %4 : tensor<2xf32>
    }
    ```
    """

    name = "quant-insert-casts"
    preserves: ClassVar[Preservation] = MEANING

    states: tuple[str, ...] = ()
    assert_all_quantized: bool = False
    float_constants: bool = False

    VALUES: ClassVar[tuple[str, ...]] = ("watch", *TakesRecipe.VALUES)
    watch: ClassVar[Watch | None] = None
    """Is called with the decisions."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.insert(op, self.whole_recipe())

    def insert(self, op: ModuleOp, recipe: Recipe) -> None:
        """Decide by `recipe`, and put the casts."""
        decide_and_insert(
            op,
            recipe,
            states=self.states,
            assert_all_quantized=self.assert_all_quantized,
            float_constants=self.float_constants,
            watch=self.watch,
        )


# `quant-propagate-types`: quantized types follow the operations that move values.


@dataclass(frozen=True)
class QuantPropagateTypes(ModulePass):
    """Let casts stand where values change, not where they move: what lies between moves stored integers.

    A dequantize cast moves after an operation that moves values (reshape, transpose, split, concatenation of equal
    types, max pool), a quantize cast before it; pairs of casts of one type go, casts of constants are computed; a value
    that is only limited (relu, clip) gets the type of the limited one where both have one scale. None of this changes a
    number. Then operations between casts are fused, as by `quant-fuse-casts`. For models that come with casts in them,
    and for what rules have left in float.

    A value that is **quantized one way after another** keeps both roundings, as explicit rescales (`quant.dcast`,
    `quant.qcast`): one for each type that is asked for, and none where all values of its storage come out the same
    without. A value that several users quantize **in different ways** stays in float before them: the source
    rounds each from the float. With `exact=false` it is computed once, to the type among them that holds the others,
    and rescaled: rounded twice.

    Where the targets of the module (`quant-set-target`) take an operation on **other types** only, it has these, with a
    rescale on each value that changes its type: integers of another storage that stand for the same numbers, at the
    same scale. With `exact=false` also the nearest grid that is taken, for the same range.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {
      %0 = quant.dcast %x : tensor<2x3x!quant.uniform<i8:f32, 0.5>> to tensor<2x3xf32>
      %1 = nn.transpose %0 {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "t"}
      %2 = nn.reshape %1 : (tensor<3x2xf32>) -> tensor<6xf32> {origin = "flat"}
      %3 = quant.qcast %2 : tensor<6xf32> to tensor<6x!quant.uniform<i8:f32, 0.5>>
      func.return %3 : tensor<6x!quant.uniform<i8:f32, 0.5>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.transpose %x {permutation = [1, 0]}
          : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x2x!quant.uniform<i8:f32, 0.5>> {origin = "t"}
      %1 = nn.reshape %0
          : (tensor<3x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {origin = "flat"}
      func.return %1 : tensor<6x!quant.uniform<i8:f32, 0.5>>
    }
    ```
    """

    name = "quant-propagate-types"
    preserves: ClassVar[Preservation] = MEANING

    exact: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        others = (Refit(self.exact),) if self.exact else (Refit(self.exact), ComputeOnce())
        rewrite(op, (*PATTERNS, *others), ctx)


# `quant-fuse-casts`: operations between casts compute on quantized values.


@dataclass(frozen=True)
class QuantFuseCasts(ModulePass):
    """Let an operation compute on quantized values where it stands between dequantize and quantize.

    `qcast(f(dcast(x)))` becomes `f(x)`, constants are quantized now. What has no quantized meaning, or is also used in
    float, stays as it is. The third pass of graph-mode quantization; the casts may come from `quant-insert-casts`, from
    an ONNX model with QuantizeLinear and DequantizeLinear, or from anybody else.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>> {
      %0 = quant.dcast %x : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
      %1 = nn.relu %0 : tensor<2xf32> {origin = "relu1"}
      %2 = quant.qcast %1 : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.25>>
      func.return %2 : tensor<2x!quant.uniform<i8:f32, 0.25>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>> {
      %0 = nn.relu %x
          : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>> {origin = "relu1"}
      func.return %0 : tensor<2x!quant.uniform<i8:f32, 0.25>>
    }
    ```
    """

    name = "quant-fuse-casts"
    preserves: ClassVar[Preservation] = MEANING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, FUSION_PATTERNS, ctx)
