"""The composites of `nn` and their decompositions, one table per family; profiles and rules refer to parts by role."""

from xdsl.ir import Operation

from qmlir.dialects.nn.activations import decompose as activations
from qmlir.dialects.nn.attention import decompose as attention
from qmlir.dialects.nn.contraction import decompose as contraction
from qmlir.dialects.nn.decomposition import rounded_once, with_types
from qmlir.dialects.nn.dynamic import decompose as dynamic
from qmlir.dialects.nn.normalization import decompose as normalization
from qmlir.dialects.nn.recurrent import decompose as recurrent
from qmlir.dialects.nn.training import decompose as training
from qmlir.ir.decomposition import Decomposition

_IN_STAGES = (*normalization.IN_STAGES, *attention.COMPOSITES, *dynamic.COMPOSITES)
"""Composites that ONNX defines as a sequence of steps, or in two stages, each of which rounds its result."""

DECOMPOSITIONS: dict[type[Operation], Decomposition] = {
    operation: with_types(decomposition if operation in _IN_STAGES else rounded_once(decomposition))
    for family in (contraction, normalization, activations, attention, recurrent, dynamic, training)
    for operation, decomposition in family.COMPOSITES.items()
}
