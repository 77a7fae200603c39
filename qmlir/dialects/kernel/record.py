"""`kernel.record`: adds the statistics of a value to its record, at the point where the value is computed."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, MemRefType, TensorType, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.records import RecordLayout
from qmlir.dialects.kernel.ops import shaped
from qmlir.ir.evaluation import Evaluator, check_writable
from qmlir.ir.interfaces import Destination, DestinationEffects, DestinationStyle


@irdl_op_definition
class RecordOp(IRDLOperation, DestinationStyle):
    """Adds the statistics of `input` to the record that begins at word `position` of `records`.

    A record has a histogram of `bins` bins. If `axis` is set, the record also has a range for each index of that axis;
    otherwise, the order of the elements and the shape of `input` do not matter. On tensors, the result is the updated
    records; on memory, the records are updated in place.

    The operand `runs` holds a number of runs and the number of elements in each. If it is present, the input is
    one-dimensional and begins with the elements of these runs, one run after another. The range and the sums of each
    run, four words in total, are stored after the record.
    """

    name = "kernel.record"

    input = operand_def()
    position = operand_def()
    records = operand_def()
    runs = opt_operand_def()
    bins = prop_def(IntegerAttr)
    axis = opt_prop_def(IntegerAttr)
    result = opt_result_def()

    assembly_format = (
        "$input `at` $position `in` $records (`runs` $runs^)? `bins` $bins (`axis` $axis^)? attr-dict "
        "`:` type($input) `,` type($position) `,` type($records) (`,` type($runs)^)? (`->` type($result)^)?"
    )
    traits = traits_def(DestinationEffects())

    PLACE: ClassVar = TensorType(i64, [1])

    @staticmethod
    def of(
        value: SSAValue,
        position: SSAValue,
        records: SSAValue,
        bins: int,
        axis: int | None,
        runs: SSAValue | None = None,
    ) -> "RecordOp":
        """Returns a record operation on tensors."""
        return RecordOp.build(
            operands=[value, position, records, runs],
            properties={"bins": IntegerAttr(bins, i64), **({} if axis is None else {"axis": IntegerAttr(axis, i64)})},
            result_types=[[records.type]],
        )

    @property
    def layout(self) -> RecordLayout:
        """The layout of the record in `records`."""
        bins = self.bins.value.data
        if self.axis is None:
            return RecordLayout(bins)
        axis = self.axis.value.data
        return RecordLayout(bins, axis, shaped(self.input)[0][axis])

    def destinations(self) -> Sequence[Destination]:
        return [Destination(2, is_read=True)]

    def on_memory(self, memory: Callable[[SSAValue], SSAValue], outs: Sequence[SSAValue]) -> Operation:
        return RecordOp.build(
            operands=[memory(self.input), memory(self.position), outs[0], memory(self.runs) if self.runs else None],
            properties=dict(self.properties),
            attributes=dict(self.attributes),
            result_types=[[]],
        )

    def may_overwrite(self, operand: int, destination: int) -> bool:
        return False

    def verify_(self) -> None:
        holder = MemRefType if self.result is None else TensorType
        if not all(isinstance(value.type, holder) for value in self.operands):
            raise VerifyException("must either return a tensor or write to a memref")
        shape, element = shaped(self.input)
        if element != f32:
            raise VerifyException(f"input must be f32, but got '{self.input.type}'")
        if shaped(self.position) != ((1,), i64):
            raise VerifyException(f"offset must be one i64, but got '{self.position.type}'")
        words, element = shaped(self.records)
        if element != i64 or len(words) != 1:
            raise VerifyException(f"records must be a 1-D tensor of i64, but got '{self.records.type}'")
        if self.result is not None and self.result.type != self.records.type:
            raise VerifyException(f"result must have the type of the records, but got '{self.result.type}'")
        if self.axis is not None:
            axis = self.axis.value.data
            if not 0 <= axis < len(shape):
                raise VerifyException(f"axis {axis} is out of range for rank {len(shape)}")
            if shape[axis] < 0:
                raise VerifyException(f"per-axis ranges require a static size along axis {axis}")
        if self.layout.words > words[0]:
            raise VerifyException(f"expected records of at least {self.layout.words} words, but got {words[0]}")
        if self.runs is not None and (shaped(self.runs) != ((2,), i64) or len(shape) != 1 or self.axis is not None):
            raise VerifyException(
                f"runs require two i64, a 1-D input and no axis, but got '{self.runs.type}' and '{self.input.type}'"
            )


def _record(op: RecordOp, x: Array, position: Array, records: Array, runs: Array | None = None) -> tuple[Array, ...]:
    if op.result is None:
        check_writable(records, op.records.type)
    else:
        records = records.copy()
    layout, first = op.layout, int(position[0])
    words = records[first:]
    if runs is None:
        words[: layout.words] = layout.added(np.ascontiguousarray(words[: layout.words]), x)
    else:
        layout.add_runs(words, x, *map(int, runs))
    return () if op.result is None else (records,)


EVALUATORS: dict[type[Operation], Evaluator] = {RecordOp: _record}
