"""`kernel-assign-schedule`: which loops each contraction becomes, from the table of the instruction set."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.dialects.kernel.attributes import ISAS, SCHEDULE, TARGET, TargetAttr
from qmlir.dialects.kernel.ops import ContractionOp
from qmlir.dialects.kernel.variants import VARIANTS
from qmlir.ir.diagnostics import nearest_name, op_error
from qmlir.ir.preservation import EVERY_BIT, Preservation
from qmlir.ir.statistics import count
from qmlir.passes.scheduled.schedule_table import elements_schedule, schedule_for

_HOST = "qmlir.targets.cpu.host:host_isa"
"""What says which instruction set this machine has; it lies above the passes and is asked only for `isa=host`."""


@dataclass(frozen=True)
class KernelAssignSchedule(ModulePass):
    """Write on each contraction which loops it becomes, and on the module what they may assume.

    `isa` is `host` (the processor of this machine), `generic`, `avx2`, `avx2-vnni`, `avx512-vnni` or `neon`; `threads`
    is how many threads may run: what has enough work is divided among them. The schedule comes from one table; an
    operation that has one keeps it.

    Before:

    ```mlir
    func.func @main(%x: tensor<8x16xi8>, %w: tensor<32x16xi8>) -> tensor<8x32xi32> {
      %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> {
      ^bb0(%acc: i32):
        kernel.yield %acc : i32
      }
      func.return %0 : tensor<8x32xi32>
    }
    ```

    After:

    ```mlir
    builtin.module attributes {kernel.target = #kernel.target<isa = "generic">} {
      func.func @main(%x: tensor<8x16xi8>, %w: tensor<32x16xi8>) -> tensor<8x32xi32> {
        %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {
          schedule = #kernel.schedule<variant = "splat", rows = 4, vectors = 2, lanes = 4>
        } {
        ^bb0(%acc: i32):
          kernel.yield %acc : i32
        }
        func.return %0 : tensor<8x32xi32>
      }
    }
    ```
    """

    name = "kernel-assign-schedule"
    preserves: ClassVar[Preservation] = EVERY_BIT

    isa: Literal["host", "generic", "avx2", "avx2-vnni", "avx512-vnni", "neon"] = "generic"
    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        isa: str = registry.load(_HOST)() if self.isa == "host" else self.isa
        if isa not in ISAS:
            raise op_error(
                op, f"no instruction set '{isa}'{nearest_name(isa, ISAS)}; accepted: host, {', '.join(ISAS)}"
            )
        if self.threads < 1:
            raise op_error(op, f"found threads = {self.threads}, accepted are 1 or more")
        op.attributes[TARGET] = TargetAttr.of(isa, self.threads)
        for each in op.walk():
            if isinstance(each, LinalgStructuredOperation):
                self._divide(each)
            if not isinstance(each, ContractionOp):
                continue
            if each.schedule is None:
                each.schedule = schedule_for(each, isa, self.threads)
                count("contractions scheduled")
            elif each.schedule.variant not in VARIANTS:
                accepted = ", ".join(VARIANTS)
                raise op_error(each, f"has a schedule for '{each.schedule.variant}' loops, there are {accepted}")

    def _divide(self, op: LinalgStructuredOperation) -> None:
        """Let threads divide a large elementwise operation or reduction."""
        schedule = elements_schedule(op, self.threads)
        if schedule is not None and SCHEDULE not in op.attributes:
            op.attributes[SCHEDULE] = schedule
            count("structured operations divided among threads")
