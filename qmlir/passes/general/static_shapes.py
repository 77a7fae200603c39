"""`fix-shapes` and `pad-shapes`: one function for one shape of each input, or for all sizes up to a maximum."""

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

# `fix-shapes`: a function for one shape of each input, with all sizes static.


@dataclass(frozen=True)
class FixShapes(ModulePass):
    """Sets the sizes of a function's inputs, and infers the size of every other value.

    `shapes` lists inputs with their sizes (`image=1x3x224x224`); sizes that share a name are set once. `values` lists
    inputs that contain a size or another parameter, with their elements (`sizes=2x-1`): they become constants and are
    removed from the inputs. Values computed from constants and shapes alone become constants, parameters become
    properties, and unused operations are erased. Called functions get the sizes of their calls. A size that depends on
    the data is an error that names the operation. The function is marked with the batch dimension that is proven from
    its dynamic sizes (`nn.batch`), or with the reason why there is none.

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


# `pad-shapes`: a function of static sizes that computes every size up to its own.


@dataclass(frozen=True)
class PadShapes(ModulePass):
    """Makes dynamic sizes static with a capacity, so that the function computes any size up to it from padded inputs.

    `sizes` lists dynamic sizes with their capacities (`sequence=64`): the names of dimensions, and `input.axis` for one
    without a name. A run passes inputs padded to these capacities, whose elements beyond the actual size may be
    arbitrary, and the actual size as another input. The elements of the outputs within the size are bit-identical to
    those that the function computes at this size; the others may be arbitrary. A softmax along a dynamic size gets a
    mask, other reductions and contractions read a neutral element instead of padding, windows read their own padding
    value, and recurrent layers end at the actual size. A dynamic size whose capacity is 1 is 1.

    It is an error that names the operation if a dynamic size is split or indexed from its end, if a contraction of
    floats sums along it, or if an operation has no padding rule. A capacity that the function does not support is
    also an error.

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
