"""`dce`: erases what nothing uses."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriterListener

from qmlir.ir.effects import erase_dead
from qmlir.ir.passes import count


@dataclass(frozen=True)
class Dce(ModulePass):
    """Erase operations without side effects whose results reach no operation with one.

    Before:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32>
      func.return %x : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    ```
    """

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_dead(op.body, PatternRewriterListener(operation_removal_handler=[lambda _: count("operations erased")]))
