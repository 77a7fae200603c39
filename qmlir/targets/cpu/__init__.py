"""The CPU target: emission of loops as Python source or LLVM IR, and what compiles and caches it."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.targets.cpu.ir_lowering import write_ir_program as write_ir_program
    from qmlir.targets.cpu.linking import write_machine_code as write_machine_code
    from qmlir.targets.cpu.lowering import write_loops as write_loops
    from qmlir.targets.cpu.lowering import write_program as write_program
    from qmlir.targets.cpu.runtime.operations.records import Recording as Recording
    from qmlir.targets.cpu.runtime.operations.records import provide_records as provide_records
else:
    __getattr__, __dir__ = attached(__name__)
