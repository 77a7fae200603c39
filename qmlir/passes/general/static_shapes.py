"""`fix-shapes` and `pad-shapes`: specialize a function for one shape per input, or for all sizes up to a maximum."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.ir.passes import MEANING, Preservation
from qmlir.specialization.batch import mark_specialized
from qmlir.specialization.inputs import function_of, parse_shapes, parse_sizes, parse_values
from qmlir.specialization.padding import pad_function
from qmlir.specialization.specialize import specialize_function


@dataclass(frozen=True)
class FixShapes(ModulePass):
    """Sets the sizes of a function's inputs, and infers the size of every other value.

    `shapes` lists inputs with their sizes (`image=1x3x224x224`); dimensions with the same name need to be set only
    once. `values` lists inputs that hold a size or another parameter, with their elements (`sizes=2x-1`): these inputs
    become constants and are removed from the signature. Values computed only from constants and shapes become
    constants, operands that are parameters become properties, and unused operations are erased. Called functions are
    specialized for the sizes of their calls. If a size depends on the data, the error names the operation. The
    attribute `nn.batch` of the function records its batch dimension, which is proven from the dynamic sizes, or the
    reason why there is none.

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
    # The values stay, but the function has other inputs: no input is valid for both modules.
    preserves: ClassVar[Preservation] = MEANING

    shapes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    function: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        values = parse_values(function_of(op, self.function), self.values)
        before = op.clone()
        specialize_function(op, parse_shapes(self.shapes), values, self.function)
        mark_specialized(before, op, self.function, has_values=bool(values))


@dataclass(frozen=True)
class PadShapes(ModulePass):
    """Replaces dynamic sizes with static capacities, so that the function handles any size up to them on padded inputs.

    `sizes` lists dynamic dimensions with their capacities (`sequence=64`); a dimension without a name is written as
    `input.axis`. The caller pads inputs to these capacities with arbitrary elements, and passes the actual sizes as
    additional inputs. Output elements within the actual sizes are bit-identical to those of the original function; all
    others are arbitrary. A softmax along a dynamic dimension gets a mask, other reductions and contractions read a
    neutral element instead of the padding, windows read their padding value, and recurrent layers end at the actual
    size. A dynamic dimension of capacity 1 always has size 1.

    If an operation splits a dynamic dimension or indexes it from its end, if a float contraction sums along it, or if
    an operation has no padding rule, the pass fails with an error that names the operation. A capacity that the
    function does not support is also an error.

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
    # The valid elements stay, but the function has other inputs: no input is valid for both modules.
    preserves: ClassVar[Preservation] = MEANING

    sizes: tuple[str, ...] = ()
    function: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        capacities = {name: numbers[-1] for name, numbers in parse_sizes(self.sizes).items()}
        pad_function(op, capacities, self.function)
