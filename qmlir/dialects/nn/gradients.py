"""Gradient rules of the `nn` operations: one table per family (`backward`), from operation class to rule.

A composite without an entry is differentiated through its parts. Every other operation has an entry: if it cannot be
differentiated, the entry gives the reason; if its results are not floats, it has no gradient.
"""

from collections.abc import Mapping

from xdsl.ir import Operation

from qmlir.dialects import operations_in
from qmlir.dialects.nn.activations import gradient as activations
from qmlir.dialects.nn.attention import gradient as attention
from qmlir.dialects.nn.constant import ops as constant
from qmlir.dialects.nn.contraction import gradient as contraction
from qmlir.dialects.nn.elementwise import gradient as elementwise
from qmlir.dialects.nn.elementwise import ops as arithmetic
from qmlir.dialects.nn.gradient_rules import Rule, nothing, refusing
from qmlir.dialects.nn.indexing import gradient as indexing
from qmlir.dialects.nn.indexing.ops import NonZeroOp, UniqueOp
from qmlir.dialects.nn.island import ops as island
from qmlir.dialects.nn.movement import gradient as movement
from qmlir.dialects.nn.normalization import gradient as normalization
from qmlir.dialects.nn.pooling import gradient as pooling
from qmlir.dialects.nn.reduction import gradient as reduction
from qmlir.dialects.nn.reduction import ops as reductions
from qmlir.dialects.nn.resizing import gradient as resizing
from qmlir.dialects.nn.sequence import ops as sequence
from qmlir.dialects.nn.shapes import gradient as shapes
from qmlir.dialects.nn.shapes import ops as sizes
from qmlir.dialects.nn.strings import ops as strings
from qmlir.dialects.nn.training import gradient as training
from qmlir.dialects.nn.trees import ops as trees

_FAMILIES = (
    elementwise, activations, contraction, reduction, pooling, normalization, attention, movement, indexing,
    resizing, shapes, training,
)  # fmt: skip

REFUSED: Mapping[type[Operation], str] = {
    reductions.CumProdOp: "cumulative products have no gradient rule",
    UniqueOp: "its output shape depends on the data",
    arithmetic.BitCastOp: "it reinterprets bits",
    sizes.RangeOp: "its output shape depends on the data",
    island.OnnxIslandOp: "it runs in ONNX Runtime, which computes no gradients",
    trees.TreeEnsembleOp: "its scores are piecewise constant",
    **dict.fromkeys(operations_in(sequence), "sequences of tensors are not supported"),
}
"""The operations on floats that cannot be differentiated, each with the reason why."""

INTEGRAL: tuple[type[Operation], ...] = (
    constant.ConstantOp, arithmetic.EqualOp, arithmetic.GreaterOp, arithmetic.GreaterOrEqualOp, arithmetic.LessOp,
    arithmetic.LessOrEqualOp, arithmetic.AndOp, arithmetic.OrOp, arithmetic.XorOp, arithmetic.NotOp,
    arithmetic.BitwiseAndOp, arithmetic.BitwiseOrOp, arithmetic.BitwiseXorOp, arithmetic.BitwiseNotOp,
    arithmetic.BitShiftOp, arithmetic.IsNaNOp, arithmetic.IsInfOp, reductions.ArgMaxOp, reductions.ArgMinOp,
    NonZeroOp, sizes.ShapeOp, sizes.SizeOp, *operations_in(strings),
)  # fmt: skip
"""The operations whose results are not floats, or do not depend on any operand."""

RULES: dict[type[Operation], Rule] = {
    **{op: rule for family in _FAMILIES for op, rule in family.RULES.items()},
    **{op: refusing(reason) for op, reason in REFUSED.items()},
    **dict.fromkeys(INTEGRAL, nothing),
}
