"""`quant-expand-floats`: converts constants stored as floats of at most 8 bits to types for computation."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.dialects.quant.lower import same_integers
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import UniformFloatType
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import origins_of, set_origins, with_origins_of
from qmlir.quantization.signed_weights import stored_float


def _integers(array: Array, below: int) -> Array:
    return np.ldexp(array.astype(np.float64), below).astype(np.int8)


@dataclass(frozen=True)
class QuantExpandFloats(ModulePass):
    """Converts dequantized constants that are stored as floats of at most 8 bits to a type for computation.

    Values of f4E2M1FN are integers from -12 to 12 with half the scale, and values of f6E2M3FN are integers from -60 to
    60 with an eighth of the scale. Such constants, including the blocks of MX formats, become these integers, so that
    contractions with them are exact. Constants in other formats become floats, which are requantized later; with
    `integers_only`, they are left unchanged. No value changes, except for the sign of 0.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %w = nn.constant dense<[[0.5, 6.0], [-1.5, -4.0]]> : tensor<2x2xf4E2M1FN>
          -> tensor<2x2x!quant.uniform<f4E2M1FN:f32:0, {1.0, 0.5}>>
      %0 = quant.dcast %w : tensor<2x2x!quant.uniform<f4E2M1FN:f32:0, {1.0, 0.5}>> to tensor<2x2xf32>
      %1 = nn.matmul %x, %0 : tensor<2x2xf32> {origin = "fc"}
      func.return %1 : tensor<2x2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %w = nn.constant dense<[[1, 12], [-3, -8]]> : tensor<2x2xi5>
          -> tensor<2x2x!quant.uniform<i5<-12:12>:f32:0, {0.5, 0.25}>>
      %0 = quant.dcast %w : tensor<2x2x!quant.uniform<i5<-12:12>:f32:0, {0.5, 0.25}>> to tensor<2x2xf32>
      %1 = nn.matmul %x, %0 : tensor<2x2xf32> {origin = "fc"}
      func.return %1 : tensor<2x2xf32>
    }
    ```
    """

    name = "quant-expand-floats"
    preserves: ClassVar[Preservation] = ROUNDED

    integers_only: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if not isinstance(function, FuncOp):
                continue
            floats = Counter[str]()
            for cast in list(function.walk()):
                type_ = stored_float(cast)
                if type_ is not None and isinstance(cast, DequantizeCastOp):
                    self._expand(cast, type_, floats)
            for format_, number in sorted(floats.items()):
                are = "constants that are" if number > 1 else "constant that is"
                emit_remark(function, f"has {number} {are} stored as {format_}; requantizing as f32")

    def _expand(self, cast: DequantizeCastOp, type_: UniformFloatType, floats: Counter[str]) -> None:
        """Replaces `cast` by integers or floats; `floats` counts the latter by stored format."""
        constant = cast.input.owner
        assert isinstance(constant, ConstantOp)
        found, shape = same_integers(type_), shape_of(cast.input)
        if found is not None:
            held = ConstantOp.of(_integers(constant.array, found[1]), TensorType(found[0], shape))
            made = [held, with_origins_of(cast, DequantizeCastOp(held.result, cast.result.type))]
        elif not self.integers_only:
            made = [ConstantOp.of(dequantize(constant.array, type_), TensorType(type_.expressed_type, shape))]
            floats[str(type_.storage)] += 1
        else:
            return
        set_origins(made[0], origins_of(constant))
        made[0].results[0].name_hint = constant.result.name_hint
        count("constants")
        Rewriter.replace_op(cast, made, [made[-1].results[0]])
        if not constant.result.uses:
            Rewriter.erase_op(constant)
