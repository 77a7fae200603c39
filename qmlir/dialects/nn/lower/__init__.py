"""How `nn` operations become the integer level, family by family: structured operations with scalar bodies.

What they compute is stated by their meanings (`interpret`, and `interpret.quantized` for quantized values); the bodies
follow these formulas step by step.
"""

from xdsl.ir import Operation

from qmlir.dialects.kernel.lowering.lowering import Lower
from qmlir.dialects.nn import FAMILIES as NN_FAMILIES
from qmlir.dialects.nn.lower import (
    activations,
    attention,
    constant,
    contraction,
    conversion,
    einsum,
    elementwise,
    expansion,
    indexing,
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
)
from qmlir.dialects.nn.lower.elements import otherwise

FAMILIES = (
    activations,
    attention,
    constant,
    contraction,
    conversion,
    einsum,
    elementwise,
    expansion,
    indexing,
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
)

LOWERINGS: dict[type[Operation], Lower] = {
    **{operation: otherwise for family in NN_FAMILIES for operation in family.OPERATIONS},
    **{operation: lowering for family in FAMILIES for operation, lowering in family.LOWERINGS.items()},
}
