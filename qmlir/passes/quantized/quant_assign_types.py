"""`quant-assign-types`: decide types, and let operations compute on quantized values."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from qmlir.passes.quantized.quant_insert_casts import QuantInsertCasts
from qmlir.quantization.fusion import PATTERNS, rewrite


@dataclass(frozen=True)
class QuantAssignTypes(QuantInsertCasts):
    """Decide the quantized type of every profiled value, and give it to the value.

    `quant-insert-casts` and `quant-fuse-casts` in one: same operations, other types. Casts stay where the module meets
    its caller, and around what is left in float. The options are those of `quant-insert-casts`.

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
      %1 = nn.sigmoid %0 : (tensor<2x!quant.uniform<u8:f32, 0.015625:64>>)
          -> tensor<2x!quant.uniform<u8:f32, 0.00390625>> {origin = "s"}
      %2 = quant.dcast %1 {origin = "s"} : tensor<2x!quant.uniform<u8:f32, 0.00390625>> to tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```
    """

    name = "quant-assign-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        super().apply(ctx, op)
        rewrite(op, PATTERNS, ctx)
