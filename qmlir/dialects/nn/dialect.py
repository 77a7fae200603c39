"""The `nn` dialect: what a network computes, on float, profiled and quantized tensors alike."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.nn.ops import (
    activations,
    attention,
    constant,
    contraction,
    dynamic,
    einsum,
    elementwise,
    expansion,
    indexing,
    island,
    logic,
    movement,
    normalization,
    pooling,
    recurrent,
    reduction,
    resizing,
    selection,
    sequence,
    shapes,
    softmax,
    text,
    training,
    trees,
)
from qmlir.dialects.nn.types import SequenceType, StringType
from qmlir.text.weights import ExternalWeightsAttr

FAMILIES = (
    constant, contraction, elementwise, activations, logic, reduction, pooling, resizing, einsum, normalization,
    training, softmax, attention, movement, expansion, indexing, selection, shapes, recurrent, dynamic, sequence, text,
    island, trees,
)  # fmt: skip
"""The families of operations."""

Nn = Dialect("nn", operations_in(*FAMILIES), [ExternalWeightsAttr, SequenceType, StringType])
