"""`kernel-assign-schedule`: chooses the schedule of each contraction and structured operation."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from qmlir.dialects.kernel.attributes import TARGET, TUNED, TargetAttr
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.variants import SCALAR, variant_names
from qmlir.ir.diagnostics import op_error
from qmlir.ir.passes import count
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.scheduled.schedule import schedule_all_elements, schedule_for, tuned_choices


@dataclass(frozen=True)
class KernelAssignSchedule(ModulePass):
    """Annotates each contraction with its schedule, and the module with its target.

    `isa` is an instruction set of the registry, such as `avx2`, or `host` for this CPU's best one. `threads` is the
    number of threads among which operations with enough work are divided. Schedules come from the instruction set's
    table; existing schedules are kept. `tuned` is a file written by `qmlir tune`: if it has a faster schedule for a
    contraction, the contraction gets that schedule and the attribute `kernel.tuned`. The number of lanes of a
    structured operation follows from the widest element type in its body.

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

    isa: str = "generic"
    threads: int = 1
    tuned: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        isa = resolved_isa(self.isa)
        if self.threads < 1:
            raise op_error(op, f"threads must be at least 1, but got {self.threads}")
        op.attributes[TARGET] = TargetAttr.of(isa, self.threads)
        schedule_all_elements(op)
        choices = tuned_choices(self.tuned, isa, self.threads)
        for each in op.walk():
            if not isinstance(each, ContractionOp):
                continue
            if each.schedule is None and (found := choices(each)) is not None:
                each.schedule, each.attributes[TUNED] = found, UnitAttr()
                count("contractions scheduled as a search found")
            elif each.schedule is None:
                each.schedule = schedule_for(each, isa, self.threads)
                count("contractions scheduled")
            elif each.schedule.variant not in (accepted := (*variant_names(), SCALAR)):
                told = (
                    f"has a schedule for unknown variant '{each.schedule.variant}' (available: {', '.join(accepted)})"
                )
                raise op_error(each, told)
