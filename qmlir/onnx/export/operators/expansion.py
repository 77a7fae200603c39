"""Exporters of operations that repeat elements or add some."""

from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import expansion as ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import Outgoing, number


def _expand(out: Outgoing, op: ops.ExpandOp) -> None:
    out.node("Expand", [out.name(op.input), out.parameter("shape")], out.output)


def _tile(out: Outgoing, op: ops.TileOp) -> None:
    out.node("Tile", [out.name(op.input), out.parameter("repeats")], out.output)


def _mirrored(op: ops.PadOp) -> dict[int, list[int]] | None:
    """For each axis that a padding changes, which elements the result has; `None` where Pad says it.

    ONNX Runtime mirrors once: its Pad refuses to add as many elements as an axis has.
    """
    shape = shape_of(op.input)
    if op.mode.data != "reflect" or not op.is_known("pads") or not op.is_known("axes"):
        return None
    changed = {axis: padding for axis, padding in enumerate(op.paddings(len(shape))) if padding != (0, 0)}
    if any(shape[axis] == DYNAMIC_INDEX for axis in changed):
        return None
    found: dict[int, list[int]] = {}
    is_once = True
    for axis, padding in changed.items():
        left = np.arange(shape[axis])[max(-padding.before, 0) : shape[axis] - max(-padding.after, 0)]
        added = max(padding.before, 0), max(padding.after, 0)
        if not left.size:
            return None
        found[axis] = np.pad(left, added, mode="reflect").tolist()
        is_once &= max(added) < left.size
    return None if is_once else found


def _pad(out: Outgoing, op: ops.PadOp) -> None:
    if mirrored := _mirrored(op):
        name, last = out.name(op.input), list(mirrored)[-1]
        for axis, places in mirrored.items():
            indices = out.constant(np.array(places, np.int64))
            name = out.node("Gather", [name, indices], out.output if axis == last else None, axis=axis)
        return
    inputs = [out.name(op.input), out.parameter("pads"), out.name(op.value), out.parameter("axes")]
    out.node("Pad", inputs, out.output, mode=op.mode.data)


def _trilu(out: Outgoing, op: ops.TriluOp) -> None:
    out.node("Trilu", [out.name(op.input), out.parameter("k", is_scalar=True)], out.output, upper=number(op.upper))


EXPORTERS: dict[type[Operation], Any] = {
    ops.ExpandOp: _expand,
    ops.TileOp: _tile,
    ops.PadOp: _pad,
    ops.TriluOp: _trilu,
}
