"""Emission of each operation of the loops level as Python for numba: one table per family of dialects."""

from collections.abc import Mapping

from xdsl.ir import Operation

from qmlir.targets.cpu.emitters.numba.families import control, memory, registers, scalars
from qmlir.targets.cpu.emitters.numba.function import EmitOperation

EMISSIONS: Mapping[type[Operation], EmitOperation] = {
    **scalars.EMISSIONS,
    **registers.EMISSIONS,
    **memory.EMISSIONS,
    **control.EMISSIONS,
}
