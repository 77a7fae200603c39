"""What the `nn` operations compute, in NumPy: one table a family, from operation class to function.

A function takes the operation and its operands as arrays, and returns its results. Float, integer and boolean values
are held as arrays of their own type (booleans as 0 and 1); movement takes the stored integers of quantized values too.
"""

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.interpret import (
    attention,
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
from qmlir.dialects.nn.interpret.components import with_components
from qmlir.dialects.nn.interpret.quantized import with_quantized

_FAMILIES = (
    elementwise, logic, contraction, pooling, resizing, einsum, movement, normalization, training, softmax, attention,
    recurrent, dynamic, expansion, indexing, selection, reduction, shapes, text, trees,
)  # fmt: skip

_PLAIN = with_quantized({op: evaluator for family in _FAMILIES for op, evaluator in family.EVALUATORS.items()})

EVALUATORS: dict[type[Operation], Callable[..., tuple[Any, ...]]] = (
    sequence.EVALUATORS | island.EVALUATORS | with_components(_PLAIN)
)
