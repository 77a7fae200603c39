"""Exporters of attention and rotary embedding, on heads that are an axis of their own."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import attention as ops
from qmlir.onnx.export.containers import data_type
from qmlir.onnx.export.emission import Outgoing, number
from qmlir.onnx.export.operators.elementwise import one_to_one

ATTENTION_SINCE, LENGTHS_SINCE, WINDOWS_SINCE = 23, 24, 25


def _attention(out: Outgoing, op: ops.AttentionOp) -> None:
    out.needs(ATTENTION_SINCE, "Attention")
    windows = {
        f"{side}_window_size": window
        for side, window in (("left", number(op.left_window)), ("right", number(op.right_window)))
        if window != -1
    }
    if windows:
        out.needs(WINDOWS_SINCE, "Attention with windows")
    if op.lengths is not None:
        out.needs(LENGTHS_SINCE, "Attention with lengths")
    operands = [op.query, op.key, op.value, op.mask, op.past_key, op.past_value, op.lengths]
    precision = None if op.softmax_precision is None else data_type(op.softmax_precision)
    out.node(
        "Attention", [out.name(value) for value in operands], out.outputs,
        scale=number(op.scale), is_causal=number(op.is_causal), softcap=number(op.softcap),
        softmax_precision=precision, qk_matmul_output_mode=ops.SCORES.index(op.scores_are.data), **windows,
    )  # fmt: skip


EXPORTERS: dict[type[Operation], Any] = {
    ops.AttentionOp: _attention,
    ops.RotaryEmbeddingOp: one_to_one(
        "RotaryEmbedding", "interleaved", rotary_embedding_dim="size", since=ATTENTION_SINCE
    ),
}
