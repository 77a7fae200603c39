"""A plug-in that is a whole module: its UNIVERSE and its CONTRIBUTION are what `--load-plugin` takes of it."""

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.universe import Universe

from qmlir.arithmetic.calibrators import Range
from qmlir.arithmetic.schemes import Grid
from qmlir.arithmetic.statistics import Statistics
from qmlir.dialects.nn.activations.ops import SigmoidOp, TanhOp
from qmlir.registry import INTERFACE, Contribution


@dataclass(frozen=True)
class NoTanh(ModulePass):
    """Fail where there is a `nn.tanh`."""

    name = "no-tanh"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(each, TanhOp) for each in op.walk()):
            raise ValueError("a tanh")


class SigmoidTwice(RewritePattern):
    """`sigmoid(sigmoid(x))` is `tanh(x)`, which is wrong, so that it is seen."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SigmoidOp, rewriter: PatternRewriter) -> None:
        if isinstance(op.input.owner, SigmoidOp):
            rewriter.replace(op, TanhOp.build(operands=[op.input.owner.input], result_types=[op.result.type]))


class DividesByZero(RewritePattern):
    """Raises where it matches."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TanhOp, rewriter: PatternRewriter) -> None:
        1 / 0  # noqa: B018  # pyright: ignore[reportUnusedExpression]


def half(statistics: Statistics, grid: Grid, /, *, of: float = 0.5) -> Range:
    """Half of the range that was seen."""
    return Range(statistics.minimum * of, statistics.maximum * of)


def backwards(statistics: Statistics, grid: Grid, /) -> Range:
    """No range."""
    return Range(statistics.maximum, statistics.minimum)


@irdl_op_definition
class DoubleOp(IRDLOperation):
    """`2 x`."""

    name = "extra.double"

    input = operand_def(TensorType)
    result = result_def(TensorType)

    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"


def _double(op: DoubleOp, x: Any) -> tuple[Any]:
    return (2 * x,)


EVALUATORS = {DoubleOp: _double}
PATTERNS = (SigmoidTwice(),)
RAISING = (DividesByZero(),)

UNIVERSE = Universe(
    all_dialects={"extra": lambda: Dialect("extra", [DoubleOp])}, all_passes={"no-tanh": lambda: NoTanh}
)
CONTRIBUTION = Contribution(
    evaluators={"extra": "tests.support.contributing:EVALUATORS"},
    patterns={"nn.canonicalize": ("tests.support.contributing:PATTERNS",)},
    stages={"compile.lower.before": "no-tanh"},
    calibrators={name: f"tests.support.contributing:{name}" for name in ("half", "backwards")},
    built_for=INTERFACE,
)
RAISES = Contribution(patterns={"nn.canonicalize": ("tests.support.contributing:RAISING",)})
OLD = Contribution(built_for="0.0")
NEW = Contribution(built_for="99.0")
NOTHING = None
