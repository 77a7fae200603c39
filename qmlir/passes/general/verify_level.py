"""`verify-level`: checks that a module is at a level of the compiler."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.dialects.target.attributes import targets_of
from qmlir.levels import check_level
from qmlir.quantization.assignment import kept


@dataclass(frozen=True)
class VerifyLevel(ModulePass):
    """Fail, with the operation and its provenance, unless the module has only what `level` allows; change nothing.

    `keep` names the composites that may stay whole, else the targets of the module do, as in `nn-decompose`.

    Accepted as it is (run with `level=graph`):

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    ```
    """

    name = "verify-level"

    level: str
    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_level(ctx, op, self.level, kept(self.keep, targets_of(op)))
