"""`quant-fuse-casts`: operations between casts compute on quantized values."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.ir.passes import MEANING, Preservation
from qmlir.quantization.casts import FUSION_PATTERNS, rewrite


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
