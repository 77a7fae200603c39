"""`calib-attach-records`: replaces observers with updates of records that the function takes and returns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, TensorType, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.histogram import BINS
from qmlir.arithmetic.records import RecordLayout, Records
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.kernel.record import RecordOp
from qmlir.ir.builtin_types import dense, element_of, sizes_of
from qmlir.ir.diagnostics import op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.ir.provenance import hand_on
from qmlir.ir.signature import NAME

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
    end = block.last_op
    assert isinstance(end, ReturnOp)
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
        for function in list(op.ops):
            if isinstance(function, FuncOp) and not function.is_declaration:
                attach_records(function, self.bins)
