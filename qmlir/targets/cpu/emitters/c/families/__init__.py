"""What each operation of the loops level becomes in C, a table for each family of dialects."""

from collections.abc import Mapping

from xdsl.ir import Operation

from qmlir.targets.cpu.emitters.c.families import control, memory, registers, scalars
from qmlir.targets.cpu.emitters.c.function import EmitOperation

EMISSIONS: Mapping[type[Operation], EmitOperation] = {
    **scalars.EMISSIONS,
    **registers.EMISSIONS,
    **memory.EMISSIONS,
    **control.EMISSIONS,
}
