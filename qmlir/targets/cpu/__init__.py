"""The CPU target: emits loops as Python source or LLVM IR, and compiles, caches and runs the code."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.targets.cpu.lowering import lowered as lowered
    from qmlir.targets.cpu.lowering import write_program as write_program
else:
    __getattr__, __dir__ = attached(__name__)
