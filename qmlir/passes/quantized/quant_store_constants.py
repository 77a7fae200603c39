"""`quant-store-constants`: constants that were kept as floats become stored integers."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.quantization.casts import QuantizeConstant, rewrite
from qmlir.quantization.retyping import REPAIR, TRAINABLE, UNROUNDED


@dataclass(frozen=True)
class QuantStoreConstants(ModulePass):
    """Quantize the constants that were kept as floats (`quant-assign-types{float_constants}`) for training or repair.

    Before:

    ```mlir
    func.func @main() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.constant dense<[1.0, -2.0]> : tensor<2xf32> {nn.trainable, origin = "w"}
      %1 = quant.qcast %0 {origin = "w"} : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5>>
      func.return %1 : tensor<2x!quant.uniform<i8:f32, 0.5>>
    }
    ```

    After:

    ```mlir
    func.func @main() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.constant dense<[2, -4]> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32, 0.5>> {origin = "w"}
      func.return %0 : tensor<2x!quant.uniform<i8:f32, 0.5>>
    }
    ```
    """

    name = "quant-store-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for constant in op.walk():
            if isinstance(constant, ConstantOp):
                for mark in (TRAINABLE, REPAIR, UNROUNDED):
                    constant.attributes.pop(mark, None)
        rewrite(op, (QuantizeConstant(),), ctx)
