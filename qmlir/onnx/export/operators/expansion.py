"""Exporters of operations that repeat elements or add some."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.nn.ops import expansion as ops
from qmlir.onnx.export.emission import Outgoing, number


def _expand(out: Outgoing, op: ops.ExpandOp) -> None:
    out.node("Expand", [out.name(op.input), out.parameter("shape")], out.output)


def _tile(out: Outgoing, op: ops.TileOp) -> None:
    out.node("Tile", [out.name(op.input), out.parameter("repeats")], out.output)


def _pad(out: Outgoing, op: ops.PadOp) -> None:
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
