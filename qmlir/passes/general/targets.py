"""`quant-set-target` and `verify-level`: set the targets of a module, and check that the module conforms to a level."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.dialects.target.attributes import TARGETS, set_targets, targets_of
from qmlir.levels import check_level
from qmlir.quantization.assignment import kept
from qmlir.target import find_targets


@dataclass(frozen=True)
class QuantSetTarget(ModulePass):
    """Attaches the descriptions of `targets`, in order of preference, to the module; without any, removes existing
    ones.

    Other passes do not look up targets by name, but read the descriptions in the module, so descriptions that a user
    edits in a file take effect. `nn-decompose` keeps the composites that the targets keep, `quant-assign-types` chooses
    types that they support, `nn-raise` raises the composites that they want raised, `quant-set-requantize` uses their
    modes, and partitioning assigns each operation to the first target that computes it.

    Before (run with `targets=cpu`):

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
      func.return %0 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    builtin.module attributes {target.specs = [#target.spec<"cpu",
        keep = ["softmax", "log_softmax", "layer_norm", "rms_norm", "instance_norm", "group_norm", "lp_norm", "gelu",
                "hard_swish", "swish", "mish", "selu", "celu", "hard_sigmoid", "dynamic_quantize"],
        supports = [{op = "*", weight = {granularities = [channel, tensor, block]}}], raises = ["*"]>]} {
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
        func.return %0 : tensor<2xf32>
      }
    }
    ```
    """

    name = "quant-set-target"

    targets: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = find_targets(self.targets)
        if found:
            set_targets(op, (each.description for each in found))
        else:
            op.attributes.pop(TARGETS, None)


@dataclass(frozen=True)
class VerifyLevel(ModulePass):
    """Fails if `level` does not allow an operation of the module, and names the operation; changes nothing.

    `keep` names the composites that may stay whole; by default, the targets of the module decide, as in `nn-decompose`.

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
