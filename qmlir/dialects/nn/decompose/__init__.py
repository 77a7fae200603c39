"""The composites of `nn` and their parts, each with the role that profiles and rules name: one table a family."""

from xdsl.ir import Operation

from qmlir.dialects.nn.decompose import (
    activations,
    attention,
    contraction,
    dynamic,
    normalization,
    recurrent,
    softmax,
    training,
)
from qmlir.dialects.nn.decompose.components import with_types
from qmlir.ir.decomposition import Decomposition

DECOMPOSITIONS: dict[type[Operation], Decomposition] = {
    operation: with_types(decomposition)
    for family in (contraction, normalization, softmax, activations, attention, recurrent, dynamic, training)
    for operation, decomposition in family.COMPOSITES.items()
}
