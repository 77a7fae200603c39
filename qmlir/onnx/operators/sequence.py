"""Import and export of operators on sequences of tensors, and of those on strings."""

from typing import Any

from onnx import TensorProto
from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnrankedTensorType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import Operand
from qmlir.dialects.nn.sequence import ops
from qmlir.dialects.nn.strings.ops import StringNormalizerOp
from qmlir.dialects.nn.types import SequenceType
from qmlir.ir.builtin_types import AnyTensor, tensor, unranked_tensor
from qmlir.onnx.export.emission import Exporter, NodeEmitter, data_type
from qmlir.onnx.node import Importer, Node


def _added(node: Node, operation: type[ops.SequenceOp], *operands: Operand, **properties: Any) -> SSAValue:
    op = operation.of(*operands, **properties)
    op.verify_()
    return node.insert(op).value


def _open_rank(node: Node, sequence: SSAValue) -> AnyTensor | None:
    """What the model declares of the node's output where the tensors of a sequence may have any rank."""
    if unranked_tensor(ops.sequence_of(sequence).tensors) is None:
        return None
    name = node.proto.output[0]
    declared = node.declared.get(name)
    if declared is None:
        raise node.unsupported(f"'{name}' is an element of {sequence.type}; declare its rank in the model")
    return declared


def _construct(node: Node) -> SSAValue:
    return _added(node, ops.SequenceConstructOp, [node.input(position) for position in range(len(node.inputs))])


def _empty(node: Node) -> SSAValue:
    element = node.element_type(node.attribute("dtype") or TensorProto.FLOAT)
    return _added(node, ops.SequenceEmptyOp, result_type=SequenceType(UnrankedTensorType(element)))


def _insert(node: Node) -> SSAValue:
    """ONNX SequenceInsert; into a sequence that is known to be empty, the shape of the tensor is that of all."""
    sequence, value = node.sequence(), node.input(1)
    type_ = SequenceType(tensor(value.type)) if isinstance(sequence.owner, ops.SequenceEmptyOp) else None
    return _added(node, ops.SequenceInsertOp, sequence, value, node.optional(2), result_type=type_)


def _at(node: Node) -> SSAValue:
    sequence = node.sequence()
    return _added(node, ops.SequenceAtOp, sequence, node.input(1), result_type=_open_rank(node, sequence))


def _split(node: Node) -> SSAValue:
    axis, keep_dims = node.attribute("axis"), bool(node.attribute("keepdims"))
    return _added(node, ops.SplitToSequenceOp, node.input(), node.optional(1), axis=axis, keep_dims=keep_dims)


def _concat(node: Node) -> SSAValue:
    sequence = node.sequence()
    axis, new_axis, type_ = node.attribute("axis"), bool(node.attribute("new_axis")), _open_rank(node, sequence)
    return _added(node, ops.ConcatFromSequenceOp, sequence, result_type=type_, axis=axis, new_axis=new_axis)


LOCALES = ("", "en_US", "en_US.UTF-8")
"""The supported values of `locale`; other languages have different rules for upper and lower case."""


def _normalizer(node: Node) -> SSAValue:
    locale = node.attribute("locale") or ""
    if locale not in LOCALES:
        raise node.unsupported(f"locale must be en_US, but got '{locale}'")
    words = [StringAttr(word) for word in node.attribute("stopwords") or ()]
    return node.add(
        StringNormalizerOp,
        node.input(),
        case_change=node.attribute("case_change_action"),
        is_case_sensitive=bool(node.attribute("is_case_sensitive")),
        stopwords=ArrayAttr(words) if words else None,
    ).result


def _export_empty(out: NodeEmitter, op: ops.SequenceEmptyOp) -> None:
    element = ops.sequence_of(op.result).tensors.get_element_type()
    out.node("SequenceEmpty", [], out.output, dtype=data_type(element))


IMPORTERS: dict[str, Importer] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceInsert": _insert,
    "SequenceErase": lambda node: _added(node, ops.SequenceEraseOp, node.sequence(), node.optional(1)),
    "SequenceAt": _at,
    "SequenceLength": lambda node: _added(node, ops.SequenceLengthOp, node.sequence()),
    "SplitToSequence": _split,
    "ConcatFromSequence": _concat,
    "StringNormalizer": _normalizer,
}

EXPORTERS: dict[type[Operation], Exporter] = {ops.SequenceEmptyOp: _export_empty}
