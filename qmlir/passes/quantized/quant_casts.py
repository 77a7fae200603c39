"""`quant-insert-casts`, `quant-propagate-types` and `quant-fuse-casts`: inserts, moves and fuses casts."""

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

# `quant-insert-casts`: decides types, and inserts quantize and dequantize casts for each value.


@dataclass(frozen=True)
class QuantInsertCasts(TakesRecipe):
    """Decides the quantized type of every profiled value, and inserts a `quant.qcast` and a `quant.dcast` after it.

    The operations stay on floats: the module simulates quantization. Weights become integer constants, quantized by the
    pass. Options set the defaults for all values; `recipe` names a TOML file with rules for single nodes, operations
    and slots. `states` names inputs and the outputs that become these inputs in the next call, `past_*=present_*`: both
    have one type. An operation without a range or without a quantized form stays in float; `assert_all_quantized` makes
    that an error. This is the second pass of graph-mode quantization, after `calib-insert-observers` and a run.

    If the module names targets (`quant-set-target`), they decide what rules and options leave open: a value has the
    first type of its producer's target that all of its readers accept. An operation belongs to the first target that
    supports the types it gets. A rule that requires what no target supports is an error, and an operation that no
    target computes stays in float.

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
    """A callback that receives the decisions."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.insert(op, self.whole_recipe())

    def insert(self, op: ModuleOp, recipe: Recipe) -> None:
        """Decides by `recipe`, and inserts the casts."""
        decide_and_insert(
            op,
            recipe,
            states=self.states,
            assert_all_quantized=self.assert_all_quantized,
            float_constants=self.float_constants,
            watch=self.watch,
        )


# `quant-propagate-types`: propagates quantized types through the operations that move values.


@dataclass(frozen=True)
class QuantPropagateTypes(ModulePass):
    """Moves casts to where values change, so that the operations in between move stored integers.

    A dequantize cast moves after an operation that moves values (reshape, transpose, split, concatenation of equal
    types, max pool), a quantize cast before it. Pairs of casts of one type are removed, and casts of constants are
    evaluated. A value that is only clamped (relu, clip) gets the type of the clamped result if both have one scale.
    None of these rewrites changes a number. Then operations between casts are fused, as by `quant-fuse-casts`. The pass
    is for models that contain casts, and for operations that rules have left in float.

    A value that is **quantized one way after another** keeps both roundings, as explicit rescales (`quant.dcast`,
    `quant.qcast`): one for each requested type, and none if all values of its storage are the same without. A value
    that several users quantize **in different ways** is computed in float before them: each rounding reads the float
    value. With `exact=false` it is computed once, in the requested type that covers the others, and rescaled, that is,
    rounded twice.

    If the targets of the module (`quant-set-target`) only support an operation on **other types**, it gets these, with
    a rescale on each value that changes its type: integers of another storage that represent the same numbers, at the
    same scale. With `exact=false`, the nearest supported grid for the same range is also used.

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


# `quant-fuse-casts`: makes operations between casts compute on quantized values.


@dataclass(frozen=True)
class QuantFuseCasts(ModulePass):
    """Makes an operation between dequantize and quantize casts compute on quantized values.

    `qcast(f(dcast(x)))` becomes `f(x)`, and constants are quantized. An operation without a quantized form, or also
    used in float, is left unchanged. This is the third pass of graph-mode quantization; the casts may come from
    `quant-insert-casts`, from an ONNX model with QuantizeLinear and DequantizeLinear, or from any other source.

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
