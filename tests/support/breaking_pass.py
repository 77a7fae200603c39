"""A pass that leaves a module that does not verify: what `--verify-each` and `--load-plugin` are tested with."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.activations.ops import ReluOp


@dataclass(frozen=True)
class BreakingPass(ModulePass):
    """Gives every relu a result of another shape."""

    name = "break-module"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in op.walk():
            if isinstance(nested, ReluOp):
                Rewriter.replace_value_with_new_type(nested.result, TensorType(f32, [3]))
