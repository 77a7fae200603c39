"""`pad-shapes`: a function of static sizes that computes every size up to its own."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.ir.passes import MEANING, Preservation
from qmlir.specialization.inputs import parse_sizes
from qmlir.specialization.padding.pad import pad_function


@dataclass(frozen=True)
class PadShapes(ModulePass):
    """Give the open sizes of a function capacities, and let it compute any size up to them from padded inputs.

    `sizes` lists open sizes with their capacities (`sequence=64`): the names of dimensions, and `input.axis` for one
    without a name. A run gives inputs of these capacities, whose elements beyond the size of the run may be anything,
    and the size as another input. The elements of the outputs within the size are those that the function computes at
    this size, in every bit; the others may be anything. A softmax along an open size gets a mask, other reductions and
    sums of products read a neutral element in the place of padding, windows what they pad with, and recurrent layers
    end at the size of the run. An open size whose capacity is 1 is 1.

    What has no such form is an error that names the operation: an open size that is cut apart or counted from its end,
    a sum of products of floats along it, an operation that has no rule in the table `padding`. So is a capacity that
    the function does not take.

    Before (run with `sizes="rows=4"`):

    ```mlir
    func.func @main(%x: tensor<?x6xf32> {nn.name = "x", nn.dims = ["rows", ""]}) -> tensor<6xf32> {
      %0 = nn.reduce_sum %x {axes = [0], keep_dims = false} : (tensor<?x6xf32>) -> tensor<6xf32>
      func.return %0 : tensor<6xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4x6xf32> {nn.name = "x"}, %0: tensor<i64> {nn.name = "rows"}) -> tensor<6xf32> {
      %1 = nn.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>
      %2 = nn.less %1, %0 : (tensor<4x1xi64>, tensor<i64>) -> tensor<4x1xi1>
      %3 = nn.constant dense<0.000000e+00> : tensor<f32>
      %4 = nn.where %2, %x, %3 : (tensor<4x1xi1>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
      %5 = nn.reduce_sum %4 {axes = [0], keep_dims = false} : (tensor<4x6xf32>) -> tensor<6xf32>
      func.return %5 : tensor<6xf32>
    }
    ```
    """

    name = "pad-shapes"
    # The valid elements stay, but the function takes other inputs: no input is one of both modules.
    preserves: ClassVar[Preservation] = MEANING

    sizes: tuple[str, ...] = ()
    function: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        capacities = {name: numbers[-1] for name, numbers in parse_sizes(self.sizes).items()}
        pad_function(op, capacities, self.function)
