"""A pass that leaves a module whose text reads back as another: what `--verify-roundtrip` is tested with."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import BytesAttr, ModuleOp
from xdsl.passes import ModulePass

from qmlir.dialects.nn.activations.ops import ReluOp


@dataclass(frozen=True)
class UnreadablePass(ModulePass):
    """Gives every relu an attribute of bytes, whose text is that of a string."""

    name = "make-unreadable"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in op.walk():
            if isinstance(nested, ReluOp):
                nested.attributes["flag"] = BytesAttr(b"x")
