"""`quant-insert-casts`, `quant-propagate-types` and `quant-fuse-casts`: insert, move and fuse casts."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.ir.passes import MEANING, Preservation
from qmlir.quantization.casts import FUSION_PATTERNS, rewrite
from qmlir.quantization.propagation import PATTERNS, Refit, ShareRequantize
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.settings import TakesRecipe, Watch, decide_and_insert


@dataclass(frozen=True)
class QuantInsertCasts(TakesRecipe):
    """Decides the quantized type of every profiled value, and inserts a `quant.qcast` and a `quant.dcast` after it.

    The operations still compute in float, so the module simulates quantization. Weights become integer constants, which
    the pass quantizes. Options set the defaults for all values; `recipe` names a TOML file with rules for individual
    nodes, operations and slots. `states` pairs each input with the output that is passed to it in the next call, as in
    `past_*=present_*`; both get the same type. An operation without a range or without a quantized form stays in float;
    with `assert_all_quantized`, this is an error. In graph-mode quantization, this pass follows
    `calib-insert-observers` and a calibration run.

    If the module names targets (`quant-set-target`), they decide everything that rules and options leave open. A value
    gets the first type, in the order of its producer's target, that all of its readers accept. An operation is assigned
    to the first target that supports its types. It is an error if a rule requires a type that no target supports; an
    operation that no target computes stays in float.

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
        """Decides the types according to `recipe`, and inserts the casts."""
        decide_and_insert(
            op,
            recipe,
            states=self.states,
            assert_all_quantized=self.assert_all_quantized,
            float_constants=self.float_constants,
            watch=self.watch,
        )


@dataclass(frozen=True)
class QuantPropagateTypes(ModulePass):
    """Moves casts to where values change, so that the operations in between move stored integers.

    If an operation only moves values (reshape, transpose, split, concatenation of equal types, max pool), a dequantize
    cast of its operand moves after it, and a quantize cast of its result moves before it. Pairs of inverse casts are
    removed, and casts of constants are evaluated. A value that is only clamped (relu, clip) gets the type of the
    clamped result if both types have the same scale. None of these rewrites changes a value. Then operations between
    casts are fused, as in `quant-fuse-casts`. The pass is for models that already contain casts, and for operations
    that rules have left in float.

    A value that is **quantized to one type and then to another** keeps both roundings: each further type becomes an
    explicit rescale (`quant.dcast`, `quant.qcast`), unless the rescale changes no value that the storage type can hold.
    A value that several users quantize **to different types** is computed in float, and each user rounds the float
    value. With `exact=false`, it is computed once, in the requested type that covers the others, and rescaled from
    there, so that it is rounded twice.

    If the targets of the module (`quant-set-target`) support an operation only on **other types**, it gets supported
    types, with a rescale on each value whose type changes. These types store integers in another width or signedness,
    but have the same scale and represent the same real numbers. With `exact=false`, the nearest supported grid for the
    same range is also allowed.

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
        others = (Refit(self.exact),) if self.exact else (Refit(self.exact), ShareRequantize())
        rewrite(op, (*PATTERNS, *others), ctx)


@dataclass(frozen=True)
class QuantFuseCasts(ModulePass):
    """Makes an operation between dequantize and quantize casts compute on quantized values.

    `qcast(f(dcast(x)))` becomes `f(x)`, and constants are quantized. An operation is left unchanged if it has no
    quantized form, or if its result is also used in float. This is the third pass of graph-mode quantization. The casts
    may come from `quant-insert-casts`, from an ONNX model with QuantizeLinear and DequantizeLinear, or from any other
    source.

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
