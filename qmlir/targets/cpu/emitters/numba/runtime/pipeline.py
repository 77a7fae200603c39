"""How numba compiles a kernel: only the passes that emitted code has work for.

The others look for what emitted code doesn't have (closures, branches on constants, array expressions, variables of
more than one type) and walk over every statement for it. LLVM ends up with the same instructions.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from typing import Any

from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import IRLegalization, NativeLowering, NoPythonBackend, NopythonTypeInference
from numba.core.untyped_passes import FixupArgs, IRProcessing, TranslateByteCode

_PASSES: tuple[tuple[Any, str], ...] = (
    (TranslateByteCode, "statements"),
    (FixupArgs, "arguments"),
    (IRProcessing, "checks of the statements"),
    (NopythonTypeInference, "types"),
    (IRLegalization, "ends of variables"),
    (NativeLowering, "machine code"),
    (NoPythonBackend, "the result"),
)
"""Passes, each with what it makes. Without `ReconstructSSA` variables are memory, which LLVM makes registers."""


class KernelCompiler(CompilerBase):
    """Compiles one emitted function that runs on one thread."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline."""
        manager = PassManager("kernel")
        for each, summary in _PASSES:
            manager.add_pass(each, summary)
        manager.finalize()
        return [manager]
