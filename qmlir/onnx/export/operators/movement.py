"""Exporters of movement: operators that put the same elements in another order or shape."""

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import movement as ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import Exporter, Outgoing, number
from qmlir.onnx.export.operators.elementwise import one_to_one

SPACE_MODE_SINCE = 28


def _reshape(out: Outgoing, op: ops.ReshapeOp) -> None:
    data = out.name(op.input)
    if op.shape is not None:
        out.node("Reshape", [data, out.name(op.shape)], out.output, allowzero=number(op.allow_zero) or None)
        return
    sizes = [-1 if size == DYNAMIC_INDEX else size for size in shape_of(op.result)]
    if 0 in sizes and -1 in sizes:
        raise out.error(f"reshapes to {op.result.type}: beside a size of 0, ONNX leaves none open")
    out.node("Reshape", [data, out.constant(np.array(sizes, np.int64))], out.output, allowzero=int(0 in sizes) or None)


def _axes(op_type: str) -> Exporter:
    def exporter(out: Outgoing, op: ops.AxesOp) -> None:
        out.node(op_type, [out.name(op.input), out.parameter("axes")], out.output)

    return exporter


def _slice(out: Outgoing, op: ops.SliceOp) -> None:
    out.node("Slice", [out.name(op.input), *(out.parameter(name) for name in op.PARAMETERS)], out.output)


def _split(out: Outgoing, op: ops.SplitOp) -> None:
    sizes = out.parameter("split")
    count = None if sizes else len(op.parts)
    out.node("Split", [out.name(op.input), sizes], out.outputs, axis=number(op.axis), num_outputs=count)


def _space_to_depth(out: Outgoing, op: ops.SpaceToDepthOp) -> None:
    mode = None if op.is_depth_outer else op.mode.data
    if mode is not None:
        out.needs(SPACE_MODE_SINCE, f"SpaceToDepth of mode {mode}")
    out.node("SpaceToDepth", out.inputs, out.output, blocksize=op.block, mode=mode)


EXPORTERS: dict[type[Operation], Any] = {
    ops.ReshapeOp: _reshape,
    ops.SqueezeOp: _axes("Squeeze"),
    ops.UnsqueezeOp: _axes("Unsqueeze"),
    ops.TransposeOp: one_to_one("Transpose", perm="permutation"),
    ops.SliceOp: _slice,
    ops.ConcatOp: one_to_one("Concat", "axis"),
    ops.SplitOp: _split,
    ops.DepthToSpaceOp: one_to_one("DepthToSpace", "mode", blocksize="block_size"),
    ops.SpaceToDepthOp: _space_to_depth,
}
