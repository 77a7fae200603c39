"""Exporters of operations on text."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import text as ops
from qmlir.onnx.export.emission import Outgoing, number


def _normalizer(out: Outgoing, op: ops.StringNormalizerOp) -> None:
    out.node(
        "StringNormalizer", out.inputs, out.output, case_change_action=op.case_change.data,
        is_case_sensitive=number(op.is_case_sensitive), stopwords=list(op.words) or None,
    )  # fmt: skip


def _split(out: Outgoing, op: ops.StringSplitOp) -> None:
    out.node("StringSplit", out.inputs, out.outputs, delimiter=op.delimiter.data or None, maxsplit=number(op.max_split))


EXPORTERS: dict[type[Operation], Any] = {
    ops.StringNormalizerOp: _normalizer,
    ops.StringSplitOp: _split,
}
