"""`kernel-propagate-layout`: transposes meet and cancel, so that they are left at the edges only."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation
from xdsl.passes import ModulePass

from qmlir.analysis.operand_accesses import forget_origins_in_bodies
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.passes.integer.layouts import PATTERNS, transpose_order


@dataclass(frozen=True)
class KernelPropagateLayout(ModulePass):
    """Move transposes down through the operations that allow it, cancel them in pairs, and fold them into constants.

    Convolutions and pools have their channels last and come with a transpose before and one after. A transpose moves
    after elementwise work (done in the layout of most of what it reads), padding, joining, slices, and reshapes that
    add or drop axes of one step; sums and epilogues read through it; a product with constant weights takes the order of
    its terms into the weights, where sums are integers. One that moves only axes of one step is a reshape. A remark
    tells how many are left in each function, and where.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x4x5x2xi8>) -> tensor<1x4x5x2xi8> {
      %0 = tensor.empty() : tensor<1x2x4x5xi8>
      %1 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>,
              affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
          iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%x : tensor<1x4x5x2xi8>) outs(%0 : tensor<1x2x4x5xi8>) {
      ^bb0(%a: i8, %b: i8):
        linalg.yield %a : i8
      } -> tensor<1x2x4x5xi8>
      %2 = tensor.empty() : tensor<1x4x5x2xi8>
      %3 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>,
              affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
          iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%1 : tensor<1x2x4x5xi8>) outs(%2 : tensor<1x4x5x2xi8>) {
      ^bb0(%a: i8, %b: i8):
        linalg.yield %a : i8
      } -> tensor<1x4x5x2xi8>
      func.return %3 : tensor<1x4x5x2xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x4x5x2xi8>) -> tensor<1x4x5x2xi8> {
      func.return %x : tensor<1x4x5x2xi8>
    }
    ```
    """

    name = "kernel-propagate-layout"
    # Sums of floats add the same terms in another order.
    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [function for function in op.walk() if isinstance(function, FuncOp)]
        before = {function: len(_transposes(function)) for function in functions}
        apply_patterns_greedily(op, PATTERNS, ctx)
        forget_origins_in_bodies(op)
        for function in functions:
            if before[function]:
                left = _transposes(function)
                count("transposes taken away", before[function] - len(left))
                emit_remark(function, _told(before[function], left))


def _transposes(function: FuncOp) -> list[Operation]:
    return [op for op in function.walk() if transpose_order(op) is not None]


def _told(before: int, left: list[Operation]) -> str:
    places = Counter(map(_place, left))
    where = ", ".join(f"{number} {place}" for place, number in places.items())
    return f"keeps {len(left)} of {before} transposes{f': {where}' if left else ''}"


def _place(op: Operation) -> str:
    if isinstance(op.operands[0], BlockArgument):
        return "of arguments"
    if all(isinstance(use.operation, ReturnOp) for use in op.results[0].uses):
        return "of results"
    return "inside"
