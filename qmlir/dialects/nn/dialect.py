"""The `nn` dialect: neural network operations on float, profiled and quantized tensors."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.attention import ops as attention
from qmlir.dialects.nn.constant import ops as constant
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.dynamic import ops as dynamic
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.island import ops as island
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.recurrent import ops as recurrent
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.resizing import ops as resizing
from qmlir.dialects.nn.sequence import ops as sequence
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.nn.strings import ops as strings
from qmlir.dialects.nn.training import ops as training
from qmlir.dialects.nn.trees import ops as trees
from qmlir.dialects.nn.types import SequenceType, StringType
from qmlir.text.weights import ExternalWeightsAttr

FAMILIES = (
    constant, contraction, elementwise, activations, reduction, pooling, resizing, normalization,
    training, attention, movement, indexing, shapes, recurrent, dynamic, sequence,
    strings, island, trees,
)  # fmt: skip
"""The families of operations, each defined in one module."""

Nn = Dialect("nn", operations_in(*FAMILIES), [ExternalWeightsAttr, SequenceType, StringType])
