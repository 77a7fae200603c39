"""Import and export of pooling operators."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.pooling import ops
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import Exporter, NodeEmitter, attributes_of, number
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.contraction import auto_pad, window_properties


def pool_properties(node: Node) -> dict[str, Any]:
    """Returns the properties of a pooling operation: kernel, strides, dilations, padding and rounding mode."""
    kernel = node.attribute("kernel_shape")
    if kernel is None:
        raise node.error("missing attribute 'kernel_shape'")
    # With `auto_pad`, the number of windows is the same in both modes.
    is_ceil = bool(node.attribute("ceil_mode", 0)) and auto_pad(node) == "NOTSET"
    return {"kernel": kernel, "ceil_mode": is_ceil, **window_properties(node, kernel)}


def max_pool(node: Node) -> Sequence[SSAValue]:
    """Imports ONNX MaxPool; computes the indices only if the model uses them."""
    properties = pool_properties(node)
    if len(node.proto.output) < 2 or not node.proto.output[1]:
        return [node.add(ops.MaxPoolOp, node.quantized(), **properties).result]
    is_column_major = bool(node.attribute("storage_order"))
    op = node.add(ops.MaxPoolWithIndicesOp, node.quantized(), column_major=is_column_major, **properties)
    return [op.result, op.indices]


def _imported(node: Node, operation: type[ops.PoolOp], attributes: str) -> SSAValue:
    return node.add(operation, node.input(), attributes=attributes, **pool_properties(node)).results[0]


def _without_ceil_mode(op: ops.PoolOp) -> list[int] | None:
    """Returns the padding that produces the windows of `ceil_mode` without it, if runtimes count these differently.

    A last window that starts in the padding at the end must be ignored, but ONNX Runtime includes it in the inferred
    shape. Returns `None` if there is no such window, if sizes are unknown, or if padding is included in averages.
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


def _pool(op_type: str, more: str = "") -> Exporter:
    """The exporter of a pool with `more` attributes, as `attributes_of` reads them."""

    def exporter(out: NodeEmitter, op: ops.PoolOp) -> None:
        attributes = attributes_of(op, f"kernel_shape=kernel strides dilations pads {more}")
        if all(step == 1 for step in op.windows.dilations):
            # ONNX Runtime hands every attribute on to QLinearAveragePool, which has no dilations and takes none.
            del attributes["dilations"]
        attributes["ceil_mode"] = number(op.ceil_mode) or None
        pads = _without_ceil_mode(op)
        if pads is not None:
            attributes |= {"pads": pads, "ceil_mode": None}
        out.node(op_type, out.inputs, out.outputs, **attributes)

    return exporter


_POOLS: dict[str, tuple[type[ops.PoolOp], str]] = {
    "AveragePool": (ops.AveragePoolOp, "count_include_pad"),
    "LpPool": (ops.LpPoolOp, "p"),
}
"""For each operator: the operation, and the attributes that other pooling operators don't have."""

IMPORTERS: dict[str, Importer] = {
    "MaxPool": max_pool,
    **{op_type: partial(_imported, operation=row[0], attributes=row[1]) for op_type, row in _POOLS.items()},
}

EXPORTERS: dict[type[Operation], Exporter] = {
    ops.MaxPoolOp: _pool("MaxPool"),
    ops.MaxPoolWithIndicesOp: _pool("MaxPool", "storage_order=column_major"),
    **{operation: _pool(op_type, attributes) for op_type, (operation, attributes) in _POOLS.items()},
}
