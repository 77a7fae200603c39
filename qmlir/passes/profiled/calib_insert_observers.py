"""`calib-insert-observers`: inserts an observer for every float value, with the key of the value in profiles."""

from collections import defaultdict
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.statistics import observer_names
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.ir.builtin_types import tensor
from qmlir.ir.diagnostics import nearest_name, text_error
from qmlir.ir.passes import count
from qmlir.quantization.outlier_channels import recorded_by_column
from qmlir.quantization.profiles.keys import KeyedValue, functions_of, has_parameters, keyed_values


def _observer_of(keyed: KeyedValue) -> ObserveOp | None:
    users = (use.operation for use in keyed.value.uses)
    return next((user for user in users if isinstance(user, ObserveOp) and user.key.data == keyed.key), None)


def _place_for(value: SSAValue) -> InsertPoint:
    """Returns the insertion point after `value` and after the observers of earlier results, so that they stay in
    order."""
    owner = value.owner
    following = owner.first_op if isinstance(owner, Block) else owner.next_op
    while isinstance(following, ObserveOp) and following.input.owner is owner:
        following = following.next_op
    if following is not None:
        return InsertPoint.before(following)
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    return InsertPoint.at_end(block)


def _insert(keyed: KeyedValue) -> ObserveOp:
    value = keyed.value
    observer = ObserveOp.create(operands=[value], result_types=[value.type], properties={"key": StringAttr(keyed.key)})
    Rewriter().insert_op(observer, _place_for(value))
    value.replace_uses_with_if(observer.result, lambda use: use.operation is not observer)
    observer.result.name_hint = value.name_hint
    return observer


def _axis_of(value: SSAValue, axis: int) -> tuple[int, int] | None:
    """Returns the axis, counted from the front, and its size; `None` if the value has no such axis, or its size is
    unknown."""
    type_ = tensor(value.type)
    position = axis + type_.get_num_dims() if axis < 0 else axis
    if not 0 <= position < type_.get_num_dims() or type_.get_shape()[position] < 1:
        return None
    return position, type_.get_shape()[position]


@dataclass(frozen=True)
class CalibInsertObservers(ModulePass):
    """Inserts a `calib.observe` for every float argument and result, and for constants if `constants` is set.

    The key is made from the provenance of the value: the node and the role. Values with the same key, such as those of
    the time steps of an unrolled LSTM, are observed together. With `axis`, a range is also recorded for each index
    along this axis (negative values count from the last axis), if the value has such an axis of static size. Without
    `axis`, ranges along the last axis are recorded only for values that `nn-smooth` and `nn-split-outlier-channels`
    need them for: norm results that matrix products read, and elementwise results between two matrix products. A value
    that was dequantized, or is quantized to one type, already has its parameters and is not observed. `observers` names
    observers from packages, which record additional data.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}, %w: tensor<2x4xf32>) -> tensor<1x2xf32> {
      %0 = nn.matmul %x, %w {transpose_b = true}
          : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc", role = "matmul"}
      func.return %0 : tensor<1x2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}, %w: tensor<2x4xf32>) -> tensor<1x2xf32> {
      %1 = calib.observe %x "x" : tensor<1x4xf32>
      %2 = calib.observe %w "input1" : tensor<2x4xf32>
      %3 = nn.matmul %1, %2 {transpose_b = true}
          : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc", role = "matmul"}
      %4 = calib.observe %3 "fc/matmul" : tensor<1x2xf32>
      func.return %4 : tensor<1x2xf32>
    }
    ```
    """

    name = "calib-insert-observers"

    constants: bool = False
    axis: int | None = None
    observers: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = observer_names()
        for name in self.observers:
            if name not in known:
                there = ", ".join(known) or "none"
                raise text_error(f"unknown observer '{name}'{nearest_name(name, known)} (available: {there})")
        by_column = {value for function in functions_of(op) for value in recorded_by_column(function)}
        observers: defaultdict[str, list[ObserveOp]] = defaultdict(list)
        for keyed in keyed_values(op):
            if (keyed.is_constant and not self.constants) or keyed.may_be_nan or has_parameters(keyed.value):
                continue
            observer = _observer_of(keyed)
            if observer is None:
                observer = _insert(keyed)
                count("observers inserted")
            observers[keyed.key].append(observer)
        for together in observers.values():
            has_columns = all(observer.input in by_column for observer in together)
            self._set_axis(together, -1 if self.axis is None and has_columns else self.axis)

    def _set_axis(self, observers: list[ObserveOp], axis: int | None) -> None:
        """Sets the axis of observers with a common key, if all their values have it, with one size."""
        axes = {None if axis is None else _axis_of(observer.input, axis) for observer in observers}
        found = axes.pop() if len(axes) == 1 else None
        for observer in observers:
            observer.axis = None if found is None else IntegerAttr(found[0], i64)
            if self.observers:
                observer.observers = ArrayAttr(map(StringAttr, self.observers))
