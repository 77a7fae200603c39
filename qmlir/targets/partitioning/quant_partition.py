"""`quant-partition`: what a target computes becomes functions of that target, the host keeps the rest."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.dialects.target.attributes import TARGETS, targets_of
from qmlir.ir.diagnostics import op_error
from qmlir.ir.statistics import count
from qmlir.targets.partitioning.choices import Preferences
from qmlir.targets.partitioning.partition import partition


@dataclass(frozen=True)
class QuantPartition(ModulePass):
    """Give each operation to the first target of the module that computes it, and outline its parts as functions.

    The targets are those that `quant-set-target` put on the module; `cpu` among them is the host, which keeps what no
    other one computes. A part is a private function with the attribute `target.part`; its arguments and results have
    the names that the model has for them. Parts do not wait for each other in a circle. Constants are copied to where
    they are used. What does not go to the first target has a remark that says why.

    **Crossings** are the arguments and results of parts. The pass minimizes their cost: the bytes of each, and
    `transfer_bytes` for the transfer. Operations that compute no new number (movement, max pooling, casts) go where
    the fewest bytes cross. Everything else goes to the first target that supports it. With an `intensity`, a device
    gets an operation only if it computes that often for each byte that crosses the border for it. Parts of fewer than
    `min_ops` operations stay on the host.

    Before (run with `transfer_bytes=64`):

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
      func.func @main(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "y"}) {
        %0 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "twice"}
        %1 = nn.relu %0 : tensor<2x!x> {origin = "relu1"}
        %2 = nn.sigmoid %1 : tensor<2x!x> {origin = "y"}
        func.return %2 : tensor<2x!x>
      }
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
      func.func private @main_dsp_0(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "relu1"})
          attributes {target.part = "dsp"} {
        %0 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "twice"}
        %1 = nn.relu %0 : tensor<2x!x> {origin = "relu1"}
        func.return %1 : tensor<2x!x>
      }
      func.func @main(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "y"}) {
        %0 = func.call @main_dsp_0(%x) {tensor = "relu1"} : (tensor<2x!x>) -> tensor<2x!x>
        %1 = nn.sigmoid %0 : tensor<2x!x> {origin = "y"}
        func.return %1 : tensor<2x!x>
      }
    }
    ```
    """

    name = "quant-partition"

    transfer_bytes: int = Preferences.transfer_bytes
    intensity: float = Preferences.intensity
    min_ops: int = Preferences.min_ops

    def __post_init__(self) -> None:
        self.preferences()

    def preferences(self) -> Preferences:
        """What weighs how much. Raises `ValueError` for what has no meaning."""
        return Preferences(self.transfer_bytes, self.intensity, self.min_ops)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        targets = targets_of(op)
        if not targets:
            raise op_error(op, f"requires {TARGETS}; run quant-set-target first")
        for report in partition(op, targets, self.preferences()):
            count("parts", len(report.parts))
            count("crossings", report.crossings)
            count("bytes over borders", report.bytes)
