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
from qmlir.dialects.nn.decompose.operands import rounded_once
from qmlir.ir.decomposition import Decomposition

_IN_STAGES = (*softmax.COMPOSITES, *normalization.IN_STAGES, *attention.COMPOSITES, *dynamic.COMPOSITES)
"""ONNX defines these in steps, or in two stages, each of which rounds."""

DECOMPOSITIONS: dict[type[Operation], Decomposition] = {
    operation: with_types(decomposition if operation in _IN_STAGES else rounded_once(decomposition))
    for family in (contraction, normalization, softmax, activations, attention, recurrent, dynamic, training)
    for operation, decomposition in family.COMPOSITES.items()
}
