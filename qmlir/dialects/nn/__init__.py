"""The `nn` dialect: what a network computes, on float, profiled and quantized tensors alike."""

from xdsl.ir import Dialect

from qmlir.dialects.nn.ops import (
    constant,
    contraction,
    elementwise,
    indexing,
    movement,
    normalization,
    pooling,
    recurrent,
    reduction,
    shapes,
)
from qmlir.text.weights import ExternalWeightsAttr

FAMILIES = (
    constant,
    contraction,
    elementwise,
    reduction,
    pooling,
    normalization,
    movement,
    indexing,
    shapes,
    recurrent,
)
"""The families of operations; each brings its classes in `OPERATIONS`."""

Nn = Dialect("nn", [operation for family in FAMILIES for operation in family.OPERATIONS], [ExternalWeightsAttr])
