"""`quant-insert-casts`: decide types, and put each value between quantize and dequantize."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.passes import MEANING, Preservation
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.settings import TakesRecipe, Watch, decide_and_insert


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
