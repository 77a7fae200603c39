"""Importers of Resize and Upsample, whose older versions sample other places."""

from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import elementwise
from qmlir.dialects.nn.ops import resizing as ops
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.node import Importer, Node

MODES = {"nearest": ops.NEAREST, "linear": ops.LINEAR, "cubic": ops.CUBIC} | dict.fromkeys(
    ("bilinear", "trilinear"), ops.LINEAR
)


def _mode(node: Node) -> str:
    found = node.attribute("mode")
    if found not in MODES:
        raise node.error(f"mode is '{found}': {', '.join(MODES)} are supported")
    return MODES[found]


def _floats(node: Node, index: int) -> list[float] | SSAValue | None:
    """Input `index`, a list of floats: its numbers where they are known, otherwise the value; an empty one is none."""
    value = node.optional(index)
    if value is None or shape_of(value) == (0,):
        return None
    known = node.constant(index)
    if known is not None:
        return [float(number) for number in np.asarray(known, np.float32).reshape(-1)]
    if element_of(value) == f32:
        return value
    return node.add(elementwise.CastOp, value, result_types=[TensorType(f32, shape_of(value))]).result


def _sizes(node: Node) -> Any:
    value = node.optional(3)
    return None if value is None or shape_of(value) == (0,) else node.parameter(3)


def _upsample(node: Node) -> SSAValue:
    """ONNX Upsample, and Resize 10: scales only, an attribute before version 9; corners stay at their place."""
    if node.version < 9:
        scales = [float(scale) for scale in node.attribute("scales") or ()]
    else:
        scales = _floats(node, 1)
    return node.add(
        ops.ResizeOp,
        node.quantized(),
        scales=scales,
        mode=_mode(node),
        coordinate_transformation_mode="asymmetric",
        nearest_mode=ops.FLOOR_UP_CEIL_DOWN if node.op_type == "Resize" else "floor",
    ).result


def _resize(node: Node) -> SSAValue:
    if node.version < 11:
        return _upsample(node)
    sizes = _sizes(node)
    strings = ("coordinate_transformation_mode", "nearest_mode")
    properties: dict[str, Any] = {name: node.attribute(name) for name in strings}
    properties |= {name: bool(node.attribute(name, 0)) for name in ("exclude_outside", "antialias")}
    properties |= {name: float(node.attribute(name)) for name in ("cubic_coeff_a", "extrapolation_value")}
    is_crop = properties["coordinate_transformation_mode"] == ops.CROP
    return node.add(
        ops.ResizeOp,
        node.quantized(),
        mode=_mode(node),
        sizes=sizes,
        scales=_floats(node, 2) if sizes is None else None,
        roi=_floats(node, 1) if is_crop else None,
        axes=node.attribute("axes", None),
        keep_aspect_ratio_policy=node.attribute("keep_aspect_ratio_policy", "stretch"),
        **properties,
    ).result


IMPORTERS: dict[str, Importer] = {"Resize": _resize, "Upsample": _upsample}
