"""The operators of LiteRT, each with its importer, its layout, and the stored integers that it accepts."""

from collections.abc import Mapping

from qmlir.extensions.litert.operators import contraction, elementwise, movement, quantization, windows
from qmlir.extensions.litert.operators.row import LiteRow

OPERATORS: Mapping[str, LiteRow] = {
    **elementwise.OPERATORS, **contraction.OPERATORS, **windows.OPERATORS, **movement.OPERATORS,
    **quantization.OPERATORS,
}  # fmt: skip
"""The row of each supported operator, by name."""
