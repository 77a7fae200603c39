"""`strip-debuginfo`: forgets where operations came from."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.passes import ModulePass

from qmlir.ir.provenance import PROVENANCE_ATTRIBUTES


@dataclass(frozen=True)
class StripDebuginfo(ModulePass):
    """Take the source locations from every operation, and with `provenance` the model's node names too.

    Before (run with `provenance`):

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
      func.return %0 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    ```
    """

    name = "strip-debuginfo"

    provenance: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in op.walk():
            nested.location = UnknownLoc()
            if self.provenance:
                for key in PROVENANCE_ATTRIBUTES:
                    nested.attributes.pop(key, None)
