"""`fix-shapes`: a function for one shape of each input, with every size known."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.ir.passes import MEANING, Preservation
from qmlir.specialization.inputs import function_of, parse_shapes, parse_values
from qmlir.specialization.padding.batch import mark_specialized
from qmlir.specialization.specialize import specialize_function


@dataclass(frozen=True)
class FixShapes(ModulePass):
    """Give the inputs of a function their sizes, and every other value the size that follows.

    `shapes` lists inputs with their sizes (`image=1x3x224x224`); sizes that share a name are given once. `values` lists
    the inputs that say a size or another parameter, with their numbers (`sizes=2x-1`): they become constants, and are
    no inputs any more. What is computed from constants and shapes alone becomes constants, parameters become
    properties, and what nothing uses goes. Functions that are called get the sizes that they are called with. A size
    that depends on the data is an error that names the operation. The function is marked with the batch that is proven
    of its dynamic sizes (`nn.batch`), or with the reason why there is none.

    Before (run with `shapes="x=2x6"`):

    ```mlir
    func.func @main(%x: tensor<?x6xf32> {nn.name = "x", nn.dims = ["batch", ""]}) -> tensor<?x?x2xf32> {
      %0 = nn.shape %x {end = 1} : (tensor<?x6xf32>) -> tensor<1xi64>
      %1 = nn.constant dense<[-1, 2]> : tensor<2xi64>
      %2 = nn.concat %0, %1 {axis = 0} : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
      %3 = nn.reshape %x, %2 : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x?x2xf32>
      func.return %3 : tensor<?x?x2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x6xf32> {nn.name = "x"}) -> tensor<2x3x2xf32>
        attributes {nn.batch = {inputs = {x = 0 : i64}, outputs = {output0 = 0 : i64}}} {
      %3 = nn.reshape %x : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
      func.return %3 : tensor<2x3x2xf32>
    }
    ```
    """

    name = "fix-shapes"
    # The numbers stay, but the function takes other inputs: no input is one of both modules.
    preserves: ClassVar[Preservation] = MEANING

    shapes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    function: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        values = parse_values(function_of(op, self.function), self.values)
        before = op.clone()
        specialize_function(op, parse_shapes(self.shapes), values, self.function)
        mark_specialized(before, op, self.function, has_values=bool(values))
