"""Emission of each operation of the loops level as LLVM IR: one table per family of dialects."""

from collections.abc import Mapping

from xdsl.ir import Operation

from qmlir.targets.cpu.emitters.llvm.families import control, memory, registers, scalars
from qmlir.targets.cpu.emitters.llvm.function import EmitOperation

EMISSIONS: Mapping[type[Operation], EmitOperation] = {
    **scalars.EMISSIONS,
    **registers.EMISSIONS,
    **memory.EMISSIONS,
    **control.EMISSIONS,
}
