"""How `nn` operations become the integer level, family by family: structured operations with scalar bodies.

What they compute is stated by their meanings (`interpret`, and `interpret.quantized` for quantized values); the bodies
follow these formulas step by step. A quantized composite whose `components` give the types of its parts is lowered part
by part, whatever the table of its family has for it.
"""

from collections.abc import Mapping
from importlib import import_module

from xdsl.ir import Operation

from qmlir.dialects.kernel.lowering.lowering import Lower
from qmlir.dialects.nn import FAMILIES as NN_FAMILIES
from qmlir.dialects.nn.decompose import DECOMPOSITIONS
from qmlir.dialects.nn.decompose.recurrent import WALKS
from qmlir.dialects.nn.lower.elements import or_parts, otherwise
from qmlir.dialects.nn.lower.qlinear import by_mode

FAMILIES = (
    "attention", "constant", "contraction", "conversion", "einsum", "elementwise", "expansion", "indexing", "logic",
    "movement", "normalization", "pooling", "recurrent", "reduction", "resizing", "selection", "sequence", "shapes",
    "softmax", "text",
)  # fmt: skip
"""The files beside this one that have a table `LOWERINGS`."""


def _table(family: str) -> Mapping[type[Operation], Lower]:
    return import_module(f"{__name__}.{family}").LOWERINGS


_BY_OPERATION: dict[type[Operation], Lower] = {
    **{operation: otherwise for family in NN_FAMILIES for operation in family.OPERATIONS},
    **{operation: lowering for family in FAMILIES for operation, lowering in _table(family).items()},
}

LOWERINGS: dict[type[Operation], Lower] = {
    operation: or_parts(chosen) if operation in DECOMPOSITIONS and operation not in WALKS else chosen
    for operation, lowering in _BY_OPERATION.items()
    for chosen in [by_mode(operation, lowering)]
}  # a layer that becomes a loop gives the parts of its steps their types itself
