"""How the `nn` operations are differentiated: one table a family, from operation class to its rule (`backward`).

Composites without a row have the gradient of their parts. Every other operation has a row: those that are not
differentiated say why, and those whose results are no floats have none.
"""

from collections.abc import Mapping

from xdsl.ir import Operation

from qmlir.dialects import operations_in
from qmlir.dialects.nn.gradient import (
    activations,
    attention,
    contraction,
    elementwise,
    indexing,
    movement,
    normalization,
    pooling,
    reduction,
    resizing,
    softmax,
    training,
)
from qmlir.dialects.nn.gradient.backward import Rule, nothing, refusing
from qmlir.dialects.nn.ops import constant, island, logic, selection, sequence, shapes, text, trees
from qmlir.dialects.nn.ops import elementwise as arithmetic
from qmlir.dialects.nn.ops import reduction as reductions

_FAMILIES = (
    elementwise, activations, contraction, reduction, pooling, normalization, softmax, attention, movement, indexing,
    resizing, training,
)  # fmt: skip

REFUSED: Mapping[type[Operation], str] = {
    reductions.CumProdOp: "cumulative products have no gradient rule",
    selection.UniqueOp: "its output shape depends on the data",
    arithmetic.BitCastOp: "it reinterprets bits",
    shapes.RangeOp: "its output shape depends on the data",
    island.OnnxIslandOp: "it runs in ONNX Runtime, which computes no gradients",
    trees.TreeEnsembleOp: "its scores are piecewise constant",
    **dict.fromkeys(operations_in(sequence), "sequences of tensors are not supported"),
}
"""The operations that compute floats and are not differentiated, each with the reason."""

INTEGRAL: tuple[type[Operation], ...] = (
    constant.ConstantOp, arithmetic.EqualOp, arithmetic.GreaterOp, arithmetic.GreaterOrEqualOp, arithmetic.LessOp,
    arithmetic.LessOrEqualOp, *operations_in(logic), reductions.ArgMaxOp, reductions.ArgMinOp, selection.NonZeroOp,
    shapes.ShapeOp, shapes.SizeOp, *operations_in(text),
)  # fmt: skip
"""The operations whose results are no floats, or depend on nothing."""

RULES: dict[type[Operation], Rule] = {
    **{op: rule for family in _FAMILIES for op, rule in family.RULES.items()},
    **{op: refusing(reason) for op, reason in REFUSED.items()},
    **dict.fromkeys(INTEGRAL, nothing),
}
