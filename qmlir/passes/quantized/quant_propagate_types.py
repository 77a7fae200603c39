"""`quant-propagate-types`: quantized types follow the operations that move values."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.ir.passes import MEANING, Preservation
from qmlir.quantization.casts import rewrite
from qmlir.quantization.propagation import PATTERNS, ComputeOnce, Refit


@dataclass(frozen=True)
class QuantPropagateTypes(ModulePass):
    """Let casts stand where values change, not where they move: what lies between moves stored integers.

    A dequantize cast moves after an operation that moves values (reshape, transpose, split, concatenation of equal
    types, max pool), a quantize cast before it; pairs of casts of one type go, casts of constants are computed; a value
    that is only limited (relu, clip) gets the type of the limited one where both have one scale. None of this changes a
    number. Then operations between casts are fused, as by `quant-fuse-casts`. For models that come with casts in them,
    and for what rules have left in float.

    A value that is **quantized one way after another** keeps both roundings, as explicit rescales (`quant.dcast`,
    `quant.qcast`): one for each type that is asked for, and none where all values of its storage come out the same
    without. A value that several users quantize **in different ways** stays in float before them: the source
    rounds each from the float. With `exact=false` it is computed once, to the type among them that holds the others,
    and rescaled: rounded twice.

    Where the targets of the module (`quant-set-target`) take an operation on **other types** only, it has these, with a
    rescale on each value that changes its type: integers of another storage that stand for the same numbers, at the
    same scale. With `exact=false` also the nearest grid that is taken, for the same range.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {
      %0 = quant.dcast %x : tensor<2x3x!quant.uniform<i8:f32, 0.5>> to tensor<2x3xf32>
      %1 = nn.transpose %0 {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "t"}
      %2 = nn.reshape %1 : (tensor<3x2xf32>) -> tensor<6xf32> {origin = "flat"}
      %3 = quant.qcast %2 : tensor<6xf32> to tensor<6x!quant.uniform<i8:f32, 0.5>>
      func.return %3 : tensor<6x!quant.uniform<i8:f32, 0.5>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.transpose %x {permutation = [1, 0]}
          : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x2x!quant.uniform<i8:f32, 0.5>> {origin = "t"}
      %1 = nn.reshape %0
          : (tensor<3x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {origin = "flat"}
      func.return %1 : tensor<6x!quant.uniform<i8:f32, 0.5>>
    }
    ```
    """

    name = "quant-propagate-types"
    preserves: ClassVar[Preservation] = MEANING

    exact: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        others = (Refit(self.exact),) if self.exact else (Refit(self.exact), ComputeOnce())
        rewrite(op, (*PATTERNS, *others), ctx)
