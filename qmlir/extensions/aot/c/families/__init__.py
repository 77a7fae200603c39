"""Emission of loops-level operations as C, with a table for each family of dialects."""

from collections.abc import Mapping

from xdsl.ir import Operation

from qmlir.extensions.aot.c.families import control, memory, registers, scalars
from qmlir.extensions.aot.c.function import EmitOperation

EMISSIONS: Mapping[type[Operation], EmitOperation] = {
    **scalars.EMISSIONS,
    **registers.EMISSIONS,
    **memory.EMISSIONS,
    **control.EMISSIONS,
}
