"""`convert-kernel-to-loops`: lowers structured computations on memrefs to loops."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp, NoneAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.dialects.kernel.attributes import SCHEDULE
from qmlir.dialects.kernel.custom import CustomOp
from qmlir.ir.builtin_types import memref_type
from qmlir.ir.conversion import Legality, convert
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.targets.cpu.loops.emitter import ExpandJoin, ExpandRequantize
from qmlir.targets.cpu.loops.record import ExpandRecord
from qmlir.targets.cpu.loops.structured import (
    CopyToLoops,
    DivideLoops,
    HaloToFills,
    ReshapeToViews,
    StructuredToLoops,
)

PATTERN_SET = "kernel.to_loops"
"""The pattern set of the registry to which packages add patterns that lower their operations to loops."""

PATTERNS = (
    HaloToFills(), StructuredToLoops(), CopyToLoops(), ReshapeToViews(), ExpandRequantize(), ExpandJoin(),
    ExpandRecord(), DivideLoops(),
)  # fmt: skip
"""The patterns for `linalg`, copies, reshapes, requantization, records of statistics, and loops that threads divide."""


def _is_done(op: Operation) -> bool:
    """Returns true if `op` needs no lowering: a loop without a schedule, a custom kernel, or a copy of whole memrefs.

    Whole memrefs may share their memory, and such a copy is skipped at run time.
    """
    match op:
        case scf.ForOp():
            return SCHEDULE not in op.attributes
        case memref.CopyOp():
            types = [memref_type(value) for value in op.operands]
            return types[0] == types[1] and all(
                each is not None and isinstance(each.layout, NoneAttr) for each in types
            )
        case _:
            return isinstance(op, CustomOp)


_LEGALITY = Legality(
    illegal_dialects=frozenset({"kernel", "linalg", "tensor"}),
    illegal_operations=(memref.CopyOp, scf.ForOp),
    is_kept=_is_done,
    accepted="structured operations on memory, after kernel-bufferize",
)


@dataclass(frozen=True)
class ConvertKernelToLoops(ModulePass):
    """Lowers every structured computation on memrefs to a nest of `scf` loops, according to its schedule.

    Loops run in row-major order of the output, and reductions inside in the order of their iterators, so that every
    float sum adds the same terms in the same order. Adjacent loops over contiguous memory are collapsed to one, and
    unit axes are dropped: in 1x1000x1x1, the channels count as contiguous, also for vectors. `kernel.requantize` is
    expanded to `arith`. Patterns come from the registry's set `kernel.to_loops`, which packages can extend. An
    operation that no pattern matches is an error.

    Before:

    ```mlir
    func.func @relu(%x: memref<2x3x4xi8>, %y: memref<2x3x4xi8>) {
      linalg.generic {
          indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
          iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%x : memref<2x3x4xi8>) outs(%y : memref<2x3x4xi8>) {
      ^bb0(%a: i8, %b: i8):
        %zero = arith.constant 0 : i8
        %0 = arith.maxsi %a, %zero : i8
        linalg.yield %0 : i8
      }
      func.return
    }
    ```

    After:

    ```mlir
    func.func @relu(%x: memref<2x3x4xi8>, %y: memref<2x3x4xi8>) {
      %zero = arith.constant 0 : i8
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %c1 = arith.constant 1 : index
      %0 = memref.collapse_shape %x [[0 : i64, 1 : i64, 2 : i64]] : memref<2x3x4xi8> into memref<24xi8>
      %1 = memref.collapse_shape %y [[0 : i64, 1 : i64, 2 : i64]] : memref<2x3x4xi8> into memref<24xi8>
      scf.for %i = %c0 to %c24 step %c1 {
        %2 = memref.load %0[%i] : memref<24xi8>
        %3 = arith.maxsi %2, %zero : i8
        memref.store %3, %1[%i] : memref<24xi8>
      }
      func.return
    }
    ```
    """

    name = "convert-kernel-to-loops"
    # Sums of floats add the same terms in another order.
    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = convert(op, registry.patterns(PATTERN_SET), _LEGALITY, ctx)
        count("operations made loops", sum(statistics.counts.values()))
