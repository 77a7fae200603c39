"""NumPy semantics of the `nn` operations: one table per family, from operation class to evaluator.

An evaluator takes the operation and its operands as arrays, and returns its results. Float, integer and boolean values
are held in arrays of the corresponding type (booleans as 0 and 1). Data movement also accepts the stored integers of
quantized values.
"""

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.attention import evaluate as attention
from qmlir.dialects.nn.constant import evaluate as constant
from qmlir.dialects.nn.contraction import evaluate as contraction
from qmlir.dialects.nn.dynamic import evaluate as dynamic
from qmlir.dialects.nn.elementwise import evaluate as elementwise
from qmlir.dialects.nn.evaluation.components import with_components
from qmlir.dialects.nn.indexing import evaluate as indexing
from qmlir.dialects.nn.island import evaluate as island
from qmlir.dialects.nn.logic import evaluate as logic
from qmlir.dialects.nn.movement import evaluate as movement
from qmlir.dialects.nn.normalization import evaluate as normalization
from qmlir.dialects.nn.pooling import evaluate as pooling
from qmlir.dialects.nn.quantized_evaluators import with_quantized
from qmlir.dialects.nn.recurrent import evaluate as recurrent
from qmlir.dialects.nn.reduction import evaluate as reduction
from qmlir.dialects.nn.resizing import evaluate as resizing
from qmlir.dialects.nn.sequence import evaluate as sequence
from qmlir.dialects.nn.shapes import evaluate as shapes
from qmlir.dialects.nn.strings import evaluate as strings
from qmlir.dialects.nn.training import evaluate as training
from qmlir.dialects.nn.trees import evaluate as trees

_FAMILIES = (
    constant, elementwise, logic, contraction, pooling, resizing, movement, normalization, training, attention,
    recurrent, dynamic, indexing, reduction, shapes, strings, trees,
)  # fmt: skip

_PLAIN = with_quantized({op: evaluator for family in _FAMILIES for op, evaluator in family.EVALUATORS.items()})

EVALUATORS: dict[type[Operation], Callable[..., tuple[Any, ...]]] = (
    sequence.EVALUATORS | island.EVALUATORS | with_components(_PLAIN)
)
