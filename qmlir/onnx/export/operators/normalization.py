"""Exporters of normalizations."""

from typing import Any

import numpy as np
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import normalization as ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.containers import data_type
from qmlir.onnx.export.emission import Outgoing, number
from qmlir.onnx.export.operators.elementwise import one_to_one

RMS_SINCE = 23


def _stash_type(op: ops.TwoStageOp, data: Any) -> int | None:
    return data_type(op.first_stage_type(data))


def _layer_norm(out: Outgoing, op: ops.LayerNormOp) -> None:
    out.node(
        "LayerNormalization", out.inputs, out.output,
        axis=number(op.axis), epsilon=number(op.epsilon), stash_type=_stash_type(op, op.data),
    )  # fmt: skip


def _rms_norm(out: Outgoing, op: ops.RmsNormOp) -> None:
    out.needs(RMS_SINCE, "RMSNormalization")
    scale = out.name(op.scale)
    if op.scale is None:
        sizes = shape_of(op.data)[op.first_axis :]
        if any(size < 0 for size in sizes):
            raise out.error(f"has no scale, and {op.data.type} leaves open its size: ONNX needs one")
        scale = out.constant(np.ones(sizes), out.element(op.data))
    out.node(
        "RMSNormalization", [out.name(op.data), scale], out.output,
        axis=number(op.axis), epsilon=number(op.epsilon), stash_type=_stash_type(op, op.data),
    )  # fmt: skip


def _group_norm(out: Outgoing, op: ops.GroupNormOp) -> None:
    out.node(
        "GroupNormalization", out.inputs, out.output,
        num_groups=number(op.groups), epsilon=number(op.epsilon), stash_type=_stash_type(op, op.data),
    )  # fmt: skip


_exactly_lp = one_to_one("LpNormalization", "axis", "p")


def _lp_norm(out: Outgoing, op: ops.LpNormOp) -> None:
    if op.epsilon is None:
        _exactly_lp(out, op)
        return
    data = out.name(op.input)
    norm = out.node(f"ReduceL{op.p.value.data}", [data, out.constant([op.axis.value.data])])
    least = out.constant(np.array(op.epsilon.value.data), out.element(op.input))
    out.node("Div", [data, out.node("Max", [norm, least])], out.output)


EXPORTERS: dict[type[Operation], Any] = {
    ops.BatchNormOp: one_to_one("BatchNormalization", "epsilon"),
    ops.InstanceNormOp: one_to_one("InstanceNormalization", "epsilon"),
    ops.GroupNormOp: _group_norm,
    ops.LayerNormOp: _layer_norm,
    ops.RmsNormOp: _rms_norm,
    ops.LpNormOp: _lp_norm,
    ops.LocalResponseNormOp: one_to_one("LRN", "size", "alpha", "beta", "bias"),
}
