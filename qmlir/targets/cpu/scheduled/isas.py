"""The instruction set that a pass is asked to work for, by its name or as that of this machine, and its registers."""

from collections.abc import Mapping
from typing import Literal

from xdsl.ir import Operation

from qmlir.dialects.kernel.attributes import ISAS
from qmlir.ir.diagnostics import nearest_name, op_error
from qmlir.targets.cpu.host import host_isa

IsaName = Literal["host", "generic", "avx2", "avx2-vnni", "avx512-vnni", "neon"]
"""What the option `isa` of a pass takes."""

REGISTER_COUNTS: Mapping[str, int] = {"generic": 16, "avx2": 16, "avx2-vnni": 16, "avx512-vnni": 32, "neon": 32}
"""The vector registers of each instruction set."""


def resolved_isa(op: Operation, name: str) -> str:
    """The instruction set called `name`, one of `ISAS`. Raises `DiagnosticError` at `op` where there is none."""
    isa = host_isa() if name == "host" else name
    if isa not in ISAS:
        raise op_error(op, f"no instruction set '{isa}'{nearest_name(isa, ISAS)}; accepted: host, {', '.join(ISAS)}")
    return isa
