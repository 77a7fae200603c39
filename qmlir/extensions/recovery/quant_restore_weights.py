"""`quant-restore-weights`: restores the original weights and biases of repaired layers."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.extensions.recovery.repairs import layer_of
from qmlir.extensions.recovery.rounded_weights import UNROUNDED, rounded_weights
from qmlir.ir.diagnostics import nearest_name, op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.quantization.stored_constants import is_signed, restore_signs
from qmlir.specialization.inputs import function_of


@dataclass(frozen=True)
class QuantRestoreWeights(ModulePass):
    """Undoes repairs: restores the original floats of constants that were rounded to chosen codes.

    `layers` are glob patterns of layer names; if there are any, only the weights and biases of matching layers are
    restored. The pass must run before the constants are stored as integers. After it, their casts yield the nearest
    codes.

    Before:

    ```mlir
    !w = !quant.uniform<i4:f32, 0.5>
    func.func @main() -> tensor<1x2x!w> {
      %w = nn.constant dense<[[0.5, 1.0]]> : tensor<1x2xf32>
          {nn.trainable, quant.unrounded = dense<0.7> : tensor<1x2xf32>}
      %0 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      func.return %0 : tensor<1x2x!w>
    }
    ```

    After:

    ```mlir
    !w = !quant.uniform<i4:f32, 0.5>
    func.func @main() -> tensor<1x2x!w> {
      %w = nn.constant dense<0.7> : tensor<1x2xf32> {nn.trainable}
      %0 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      func.return %0 : tensor<1x2x!w>
    }
    ```
    """

    name = "quant-restore-weights"
    preserves: ClassVar[Preservation] = MEANING

    layers: tuple[str, ...] = ()
    function: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = self._of_layers(op) if self.layers else (each for each in op.walk() if isinstance(each, ConstantOp))
        for constant in list(constants):
            known = constant.attributes.get(UNROUNDED)
            if known is None:
                continue
            if not is_signed(constant.result):  # signs keep their original values
                del constant.attributes[UNROUNDED]
            constant.properties["value"] = known
            count("constants")
        for function in op.walk():
            if isinstance(function, FuncOp):
                restore_signs(function)

    def _of_layers(self, module: ModuleOp) -> Iterator[ConstantOp]:
        function = function_of(module, self.function)
        weights = [(layer_of(weight), weight) for weight in rounded_weights(function)]  # a layer may have several
        for glob in self.layers:
            found = [weight for name, weight in weights if fnmatchcase(name, glob)]
            if not found:
                near = nearest_name(glob, [name for name, _ in weights])
                raise op_error(function, f"no layer with float weights matches '{glob}'{near}")
            for weight in found:
                yield from (each.op for each in (weight, weight.bias) if each is not None)
