"""What the `nn` operations compute, in NumPy: one table a family, from operation class to function.

A function takes the operation and its operands as arrays, and returns its results. Float, integer and boolean values
are held as arrays of their own type (booleans as 0 and 1); movement takes the stored integers of quantized values too.
"""

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.interpret import elementwise, indexing, movement, normalization, shapes, windows
from qmlir.dialects.nn.interpret.quantized import with_quantized

MEANINGS: dict[type[Operation], Callable[..., tuple[Any, ...]]] = with_quantized(
    {
        **elementwise.MEANINGS,
        **windows.MEANINGS,
        **movement.MEANINGS,
        **normalization.MEANINGS,
        **indexing.MEANINGS,
        **shapes.MEANINGS,
    }
)
