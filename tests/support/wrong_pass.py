"""Passes that change numbers: what `--verify-each=exec` is tested with. Each is wrong in a way of its own."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.universe import Universe

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import AbsOp, MulOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.ir.passes import MEANING, ROUNDED, Preservation


@dataclass(frozen=True)
class WrongRelu(ModulePass):
    """Makes relu an absolute value; says nothing of what it keeps."""

    name = "wrong-relu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in list(op.walk()):
            if isinstance(nested, ReluOp):
                new = AbsOp(nested.input, nested.result.type)
                new.attributes.update(nested.attributes)
                Rewriter.replace_op(nested, new)


@dataclass(frozen=True)
class RoundedRelu(WrongRelu):
    """The same, and says that floats are rounded only."""

    name = "rounded-relu"
    preserves: ClassVar[Preservation] = ROUNDED


@dataclass(frozen=True)
class OtherRelu(WrongRelu):
    """The same, and says that the numbers become others."""

    name = "other-relu"
    preserves: ClassVar[Preservation] = MEANING


@dataclass(frozen=True)
class ScaleSoftmax(ModulePass):
    """Takes a tenth of a softmax ten times: right, but rounded in other places."""

    name = "scale-softmax"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in list(op.walk()):
            if isinstance(nested, SoftmaxOp):
                tenth, ten = (ConstantOp.of(np.float32([each]), TensorType(f32, [1])) for each in (0.1, 10.0))
                softmax = nested.clone()
                part = MulOp(softmax.result, tenth.result)
                whole = MulOp(part.result, ten.result)
                whole.attributes.update(nested.attributes)
                softmax.attributes.clear()
                Rewriter.replace_op(nested, [softmax, tenth, ten, part, whole])


@dataclass(frozen=True)
class RoundedSoftmax(ScaleSoftmax):
    """The same, and says so."""

    name = "rounded-softmax"
    preserves: ClassVar[Preservation] = ROUNDED


@dataclass(frozen=True)
class LoseFunction(ModulePass):
    """Erases every function."""

    name = "lose-function"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.ops):
            if isinstance(function, FuncOp):
                Rewriter.erase_op(function)


PASSES = (WrongRelu, RoundedRelu, OtherRelu, ScaleSoftmax, RoundedSoftmax, LoseFunction)
UNIVERSE = Universe(all_passes={each.name: (lambda found=each: found) for each in PASSES})
