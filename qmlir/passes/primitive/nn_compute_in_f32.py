"""`nn-compute-in-f32`: converts computations in f16, bf16 or f64 to f32, so that they can be quantized."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.ir.builtin_types import AnyTensor, dense, element_of, ranked_tensor
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import MEANING, Preservation, count

_OTHER_FLOATS = (Float16Type, BFloat16Type, Float64Type)


def _in_f32(value: SSAValue) -> AnyTensor | None:
    """Returns the f32 type for a value of another float type; `None` for other values."""
    type_ = ranked_tensor(value.type)
    if type_ is None or not isinstance(type_.get_element_type(), _OTHER_FLOATS):
        return None
    return TensorType(f32, type_.get_shape())


def _rounded(array: Array) -> Array:
    """Returns the array in f32; finite elements stay finite, such as the large negative ones that mask scores."""
    limits = np.finfo(np.float32)
    wide = array.astype(np.float64)
    return np.where(np.isfinite(wide), wide.clip(limits.min, limits.max), wide).astype(np.float32)


def _cast(value: SSAValue, type_: AnyTensor, point: InsertPoint) -> SSAValue:
    cast = CastOp(operands=[value], result_types=[type_])
    Rewriter.insert_op(cast, point)
    return cast.result


def _is_leaving(op: Operation) -> bool:
    """Returns True if `op` casts f32 for operations outside the `nn` dialect only, as this pass leaves it."""
    if not isinstance(op, CastOp) or element_of(op.input) != f32:
        return False
    return bool(op.result.uses) and not any(isinstance(use.operation, NnOp) for use in op.result.uses)


def _enter(values: Iterable[SSAValue], point: InsertPoint) -> None:
    """Casts values of other float types for their users in `nn`; returns, calls and loops read them unchanged."""
    for value in tuple(values):
        type_ = _in_f32(value)
        users = [use.operation for use in value.uses if isinstance(use.operation, NnOp)]
        if type_ is not None and not all(isinstance(user, CastOp) and element_of(user.result) == f32 for user in users):
            cast = _cast(value, type_, point)
            value.replace_uses_with_if(cast, lambda use, users=users: use.operation in users)


def _leave(op: Operation, declared: dict[SSAValue, AnyTensor]) -> None:
    """Casts operands of an operation outside `nn`, such as a return or a cast to a quantized type, back to their
    types."""
    for position, operand in enumerate(op.operands):
        source = declared.get(operand)
        if source is not None:
            op.operands[position] = _cast(operand, source, InsertPoint.before(op))


def _retype(op: NnOp, declared: dict[SSAValue, AnyTensor]) -> None:
    """Changes results of other float types to f32, and records their original types."""
    for result in () if _is_leaving(op) else op.results:
        source, type_ = ranked_tensor(result.type), _in_f32(result)
        if source is not None and type_ is not None:
            if isinstance(op, ConstantOp):
                op.value = dense(_rounded(op.array).tobytes(), type_)
            declared[Rewriter.replace_value_with_new_type(result, type_)] = source


@dataclass(frozen=True)
class NnComputeInF32(ModulePass):
    """Converts computations in f16, bf16 or f64 to f32; the inputs and outputs of functions keep their types.

    Profiles record ranges of f32 values, scales are f32, and operations left in float compute in f32. A model in
    another float type must therefore be converted to f32 first: constants are converted, results change their types,
    and casts are inserted at inputs and outputs. Intermediate roundings to f16 are dropped. Finite f64 constants beyond
    the range of f32 become the largest finite f32 value of the same sign.

    Before:

    ```mlir
    func.func @main(%x: tensor<2xf16>) -> tensor<2xf16> {
      %0 = nn.relu %x : tensor<2xf16> {origin = "relu"}
      func.return %0 : tensor<2xf16>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf16>) -> tensor<2xf16> {
      %0 = nn.cast %x : (tensor<2xf16>) -> tensor<2xf32>
      %1 = nn.relu %0 : tensor<2xf32> {origin = "relu"}
      %2 = nn.cast %1 : (tensor<2xf32>) -> tensor<2xf16>
      func.return %2 : tensor<2xf16>
    }
    ```
    """

    name = "nn-compute-in-f32"
    preserves: ClassVar[Preservation] = MEANING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and not function.is_declaration:
                self._apply(function)

    @staticmethod
    def _apply(function: FuncOp) -> None:
        declared: dict[SSAValue, AnyTensor] = {}
        for op in list(function.body.walk()):
            if isinstance(op, NnOp):
                _retype(op, declared)
            else:
                _leave(op, declared)
                _enter(op.results, InsertPoint.after(op))
        for block in list(function.walk_blocks()):
            _enter(block.args, InsertPoint.at_start(block))
        if declared:
            names = sorted({str(type_.get_element_type()) for type_ in declared.values()})
            count("functions computed in f32")
            emit_remark(function, f"computes in f32 what the model computes in {' and '.join(names)}")
