"""Exporters of pools."""

from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import pooling as ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import Exporter, Outgoing, number


def _without_ceil_mode(op: ops.PoolOp) -> list[int] | None:
    """Padding that gives the windows of `ceil_mode` without it, where runtimes count those in different ways.

    A last window that starts in the padding behind is none; ONNX Runtime infers a shape with it. `None` where there is
    no such window, where sizes are open, or where padding counts.
    """
    sizes, windows = shape_of(op.data)[2:], op.windows
    if not op.ceil_mode.value.data or DYNAMIC_INDEX in sizes or _counts_padding(op):
        return None
    counts = op.counts(sizes)
    ends = [
        (count - 1) * windows.strides[axis] + windows.extent(axis) - size - windows.pads[axis]
        for axis, (size, count) in enumerate(zip(sizes, counts, strict=True))
    ]
    rooms = (size + sum(windows.padding(axis)) - windows.extent(axis) for axis, size in enumerate(sizes))
    if all(count == -(-room // stride) + 1 for count, room, stride in zip(counts, rooms, windows.strides, strict=True)):
        return None
    if any(end >= taps for end, taps in zip(ends, windows.kernel, strict=True)):
        return None  # no runtime takes so much padding
    return [*windows.pads[: len(sizes)], *(max(end, 0) for end in ends)]


def _counts_padding(op: ops.PoolOp) -> bool:
    return isinstance(op, ops.AveragePoolOp) and bool(op.count_include_pad.value.data)


def _pool(op_type: str, **more: str) -> Exporter:
    def exporter(out: Outgoing, op: ops.PoolOp) -> None:
        attributes: dict[str, Any] = {name: number(getattr(op, name)) for name in ("strides", "dilations", "pads")}
        if all(step == 1 for step in op.windows.dilations):
            # ONNX Runtime hands every attribute on to QLinearAveragePool, which has no dilations and takes none.
            del attributes["dilations"]
        attributes |= {name: number(getattr(op, source)) for name, source in more.items()}
        attributes["ceil_mode"] = number(op.ceil_mode) or None
        pads = _without_ceil_mode(op)
        if pads is not None:
            attributes |= {"pads": pads, "ceil_mode": None}
        out.node(op_type, out.inputs, out.outputs, kernel_shape=number(op.kernel), **attributes)

    return exporter


EXPORTERS: dict[type[Operation], Any] = {
    ops.MaxPoolOp: _pool("MaxPool"),
    ops.MaxPoolWithIndicesOp: _pool("MaxPool", storage_order="column_major"),
    ops.AveragePoolOp: _pool("AveragePool", count_include_pad="count_include_pad"),
    ops.LpPoolOp: _pool("LpPool", p="p"),
}
