"""The block as an ONNX operator, `com.fxp::ConvBlock`: what Conv has, and `maximum`."""

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation, SSAValue

from qmlir.formats.one_to_one import attributes_of
from qmlir.onnx.export.emission import WINDOWS, NodeEmitter
from qmlir.onnx.node import Node
from qmlir.onnx.operators.contraction import window_properties
from qmlir_fxp.dialect.block import ConvBlockOp

DOMAIN = "com.fxp"


def _import(node: Node) -> SSAValue:
    data, weight, bias = (node.input(place) for place in range(3))
    properties = window_properties(node, node.shape(1)[2:])
    groups, maximum = node.attribute("group", 1), node.attribute("maximum", None)
    if maximum is not None and maximum <= 0:
        raise node.error(f"maximum is above 0, found {maximum}")
    return node.add(ConvBlockOp, data, weight, bias, groups=groups, maximum=maximum, **properties).result


def _export(out: NodeEmitter, op: ConvBlockOp) -> None:
    out.node("ConvBlock", out.inputs, out.output, domain=DOMAIN, **attributes_of(op, f"{WINDOWS} maximum"))


IMPORTERS: dict[str, Callable[..., Any]] = {f"{DOMAIN}::ConvBlock": _import}
EXPORTERS: dict[type[Operation], Callable[..., Any]] = {ConvBlockOp: _export}
