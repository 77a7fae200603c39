"""`calib-insert-observers` and `calib-attach-records`: insert observers, and replace them with updates of records."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.records import RecordLayout, Records
from qmlir.arithmetic.statistics import BINS, observer_names
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.kernel.record import RecordOp
from qmlir.ir.builtin_types import dense, element_of, shape_of, sizes_of
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.diagnostics import nearest_name, op_error, text_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.ir.provenance import hand_on
from qmlir.ir.signature import NAME
from qmlir.quantization.outlier_channels import recorded_by_column
from qmlir.quantization.profiles.keys import KeyedValue, functions_of, has_parameters, keyed_values

# `calib-insert-observers`: an observer for every float value, with the key of the value in profiles.


def _observer_of(keyed: KeyedValue) -> ObserveOp | None:
    users = (use.operation for use in keyed.value.uses)
    return next((user for user in users if isinstance(user, ObserveOp) and user.key.data == keyed.key), None)


def _place_for(value: SSAValue) -> InsertPoint:
    """Returns the insertion point after `value` and after the observers of earlier results, so that they stay in
    order."""
    owner = value.owner
    point = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
    while isinstance(following := point.insert_before, ObserveOp) and following.input.owner is owner:
        point = InsertPoint.after(following)
    return point


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
    shape = shape_of(value)
    position = axis + len(shape) if axis < 0 else axis
    is_known = 0 <= position < len(shape) and shape[position] > 0
    return (position, shape[position]) if is_known else None


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
            if (observer := _observer_of(keyed)) is None:
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


# `calib-attach-records`: updates of records that the function takes and returns.

BEFORE, AFTER = "calib.records", "calib.records_after"
"""The names of the input and the output that hold the records."""


def _laid_out(observers: Iterable[ObserveOp], bins: int) -> Records:
    positions: dict[str, tuple[int, RecordLayout]] = {}
    size = 0
    for op in observers:
        if op.names:
            raise op_error(op, f"observer '{op.names[0]}' is a Python function and cannot be compiled")
        if element_of(op.input) != f32:
            raise op_error(op, f"can only record f32, but got '{op.input.type}'")
        axis = None if op.axis is None else op.axis.value.data
        layout = RecordLayout(bins, axis, 0 if axis is None else sizes_of(op.input)[axis])
        known = positions.setdefault(op.key.data, (size, layout))
        if known[1] != layout:
            raise op_error(op, f"observers of '{op.key.data}' must have the same axis")
        size += layout.words if known[0] == size else 0
    return Records(positions)


def attach_records(function: FuncOp, bins: int) -> Records:
    """Replaces the observers of `function` with record updates, and adds the records as an input and an output.

    Raises `DiagnosticError` if an observer cannot be compiled because it is in a region, comes from a package, or
    observes floats other than f32.
    """
    observers = [op for op in function.walk() if isinstance(op, ObserveOp)]
    block = function.body.block
    for op in observers:
        if op.parent is not block:
            raise op_error(op, "cannot record in a region, which may run any number of times")
    records = _laid_out(observers, bins)
    type_ = TensorType(i64, [records.words])
    state: SSAValue = block.insert_arg(type_, len(block.args))
    for op in observers:
        first, layout = records.positions[op.key.data]
        position = arith.ConstantOp(dense(np.array([first]).tobytes(), RecordOp.PLACE), RecordOp.PLACE)
        made = RecordOp.of(op.input, position.result, state, bins, layout.axis)
        hand_on((op,), made)
        block.insert_ops_before([position, made], op)
        assert made.result is not None
        state = made.result
        op.result.replace_all_uses_with(op.input)
        Rewriter.erase_op(op)
        count("observers replaced")
    end = terminator_of(block)
    Rewriter.replace_op(end, ReturnOp(*end.operands, state))
    _set_signature(function, type_)
    return records


def _set_signature(function: FuncOp, type_: Attribute) -> None:
    before: FunctionType = function.function_type
    function.function_type = FunctionType.from_lists([*before.inputs, type_], [*before.outputs, type_])
    ports = (("arg_attrs", BEFORE, before.inputs), ("res_attrs", AFTER, before.outputs))
    for name, port, types in ports:
        old = function.arg_attrs if name == "arg_attrs" else function.res_attrs
        entries = [DictionaryAttr({}) for _ in types] if old is None else list(old)
        function.properties[name] = ArrayAttr([*entries, DictionaryAttr({NAME: StringAttr(port)})])


@dataclass(frozen=True)
class CalibAttachRecords(ModulePass):
    """Replaces each `calib.observe` of a function by a `kernel.record`, so that compiled code accumulates the
    statistics.

    The function gets an additional input and an additional output, which hold the concatenated records of all keys. If
    a caller passes the same array for both, the records are updated in place. `bins` limits the size of histograms. It
    is an error if an observer is in a region, comes from a package, or observes floats other than f32.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> tensor<1x4xf32> {
      %0 = calib.observe %x "x" : tensor<1x4xf32>
      func.return %0 : tensor<1x4xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}, %0: tensor<2060xi64> {nn.name = "calib.records"})
        -> (tensor<1x4xf32>, tensor<2060xi64> {nn.name = "calib.records_after"}) {
      %1 = arith.constant dense<0> : tensor<1xi64>
      %2 = kernel.record %x at %1 in %0 bins 2048 : i64
          : tensor<1x4xf32>, tensor<1xi64>, tensor<2060xi64> -> tensor<2060xi64>
      func.return %x, %2 : tensor<1x4xf32>, tensor<2060xi64>
    }
    ```
    """

    name = "calib-attach-records"

    preserves: ClassVar[Preservation] = MEANING  # one more output

    bins: int = BINS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            attach_records(function, self.bins)
