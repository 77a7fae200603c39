"""Exporters of sequences of tensors."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import sequence as ops
from qmlir.onnx.export.containers import data_type
from qmlir.onnx.export.emission import Outgoing
from qmlir.onnx.export.operators.elementwise import one_to_one


def _empty(out: Outgoing, op: ops.SequenceEmptyOp) -> None:
    element = ops.sequence_of(op.result).tensors.get_element_type()
    out.node("SequenceEmpty", [], out.output, dtype=data_type(element))


EXPORTERS: dict[type[Operation], Any] = {
    ops.SequenceConstructOp: one_to_one("SequenceConstruct"),
    ops.SequenceEmptyOp: _empty,
    ops.SequenceInsertOp: one_to_one("SequenceInsert"),
    ops.SequenceEraseOp: one_to_one("SequenceErase"),
    ops.SequenceAtOp: one_to_one("SequenceAt"),
    ops.SequenceLengthOp: one_to_one("SequenceLength"),
    ops.SplitToSequenceOp: one_to_one("SplitToSequence", "axis", keepdims="keep_dims"),
    ops.ConcatFromSequenceOp: one_to_one("ConcatFromSequence", "axis", "new_axis"),
}
