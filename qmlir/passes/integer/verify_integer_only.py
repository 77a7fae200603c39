"""`verify-integer-only`: proves that no float is computed between the input casts and the output casts."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.analysis.float_operations import float_operation_between
from qmlir.ir.diagnostics import op_error


@dataclass(frozen=True)
class VerifyIntegerOnly(ModulePass):
    """Fails, with the first operation and its provenance, if floats are computed between integers; changes nothing.

    An operation is between the casts if it computes on floats, depends on integers that represent real numbers, and
    contributes to such integers. Operations before the quantization of inputs and after the output casts may compute in
    float. The pass supports quantized `nn`, the integer level and loops. A function of one 8-bit value is a lookup
    table, whatever it computes, and is accepted.

    Accepted as it is:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!x>
      %1 = nn.relu %0 {requantize = #kernel.requantize<shift, even>} : tensor<2x!x>
      %2 = quant.dcast %1 : tensor<2x!x> to tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```
    """

    name = "verify-integer-only"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = float_operation_between(op)
        if found is not None:
            operation, reason = found
            raise op_error(operation, f"{reason}; between the casts at inputs and outputs, all values must be integers")
