"""Padding rules of the `nn` operations: one table per family (`pad`), from operation class or base class to rule.

Composites without an entry are padded part by part. Any other operation without an entry cannot be padded.
"""

from collections.abc import Mapping

from xdsl.ir import Operation

from qmlir.dialects.nn.activations.ops import PReluOp
from qmlir.dialects.nn.constant import pad as constant
from qmlir.dialects.nn.contraction import pad as contraction
from qmlir.dialects.nn.dynamic import pad as dynamic
from qmlir.dialects.nn.elementwise import pad as elements
from qmlir.dialects.nn.indexing import pad as indexing
from qmlir.dialects.nn.movement import pad as movement
from qmlir.dialects.nn.normalization import pad as normalization
from qmlir.dialects.nn.padding_rules import Rule, each_sample, elementwise
from qmlir.dialects.nn.pooling import pad as pooling
from qmlir.dialects.nn.recurrent import pad as recurrent
from qmlir.dialects.nn.reduction import pad as reduction
from qmlir.dialects.nn.resizing import pad as resizing
from qmlir.dialects.nn.shapes import pad as shapes
from qmlir.dialects.nn.trees.ops import TreeEnsembleOp

_FAMILIES = (
    constant, contraction, dynamic, elements, indexing, movement, normalization, pooling, recurrent, reduction,
    resizing, shapes,
)  # fmt: skip

SHARED: Mapping[type[Operation], Rule] = {PReluOp: elementwise, TreeEnsembleOp: each_sample}
"""The operations that use a shared rule, in families that have no rules themselves."""

RULES: Mapping[type[Operation], Rule] = {
    **{op: rule for family in _FAMILIES for op, rule in family.RULES.items()},
    **SHARED,
}
