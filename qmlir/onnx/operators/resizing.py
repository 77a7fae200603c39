"""Import and export of Resize and Upsample, including older versions, which sample at different coordinates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, i64
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.resizing import ops
from qmlir.dialects.nn.resizing.evaluate import Axis, changed_axes, coordinates, weights_of
from qmlir.formats.one_to_one import attributes_of
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import Exporter, NodeEmitter
from qmlir.onnx.node import Importer, Node

MODES = {"nearest": ops.NEAREST, "linear": ops.LINEAR, "cubic": ops.CUBIC} | dict.fromkeys(
    ("bilinear", "trilinear"), ops.LINEAR
)


_PLAIN = "coordinate_transformation_mode exclude_outside antialias cubic_coeff_a extrapolation_value axes"
"""The attributes of Resize that become properties."""


def _mode(node: Node) -> str:
    found = node.attribute("mode")
    if found not in MODES:
        raise node.error(f"mode must be one of {', '.join(MODES)}, but got '{found}'")
    return MODES[found]


def _floats(node: Node, index: int) -> list[float] | SSAValue | None:
    """Input `index`, a list of floats: its numbers where they are known, otherwise the value; an empty one is none."""
    value = node.optional(index)
    if value is None or shape_of(value) == (0,):
        return None
    known = node.constant(index)
    if known is not None:
        return [float(number) for number in np.asarray(known, np.float32).reshape(-1)]
    return node.cast(value, f32)


def _sizes(node: Node) -> Any:
    value = node.optional(3)
    return None if value is None or shape_of(value) == (0,) else node.parameter(3)


def _upsample(node: Node) -> SSAValue:
    """ONNX Upsample, and Resize 10: scales only, an attribute before version 9; corners stay at their place."""
    scales = [float(scale) for scale in node.attribute("scales") or ()] if node.version < 9 else _floats(node, 1)
    return node.add(
        ops.ResizeOp,
        node.quantized(),
        scales=scales,
        mode=_mode(node),
        coordinate_transformation_mode="asymmetric",
        nearest_mode=ops.FLOOR_UP_CEIL_DOWN if node.proto.op_type == "Resize" else "floor",
    ).result


def _resize(node: Node) -> SSAValue:
    if node.version < 11:
        return _upsample(node)
    sizes = _sizes(node)
    return node.add(
        ops.ResizeOp,
        node.quantized(),
        attributes=f"{_PLAIN} nearest_mode",
        mode=_mode(node),
        sizes=sizes,
        scales=_floats(node, 2) if sizes is None else None,
        roi=_floats(node, 1) if node.attribute("coordinate_transformation_mode") == ops.CROP else None,
        keep_aspect_ratio_policy=node.attribute("keep_aspect_ratio_policy", "stretch"),
    ).result


def _export_floats(out: NodeEmitter, op: ops.ResizeOp, name: str) -> str:
    value = getattr(op, f"{name}_value")
    found = op.floats(name)
    return out.name(value) if found is None else out.constant(np.array(found, np.float32), f32)


def _export_resize(out: NodeEmitter, op: ops.ResizeOp) -> None:
    scales, sizes = _export_floats(out, op, "scales"), out.parameter("sizes")
    if op.nearest_mode.data == ops.FLOOR_UP_CEIL_DOWN and op.is_nearest:
        _by_growth(out, op, scales, sizes)
    elif (axes := _summed_axes(out, op)) is not None:
        _by_sums(out, op, axes)
    else:
        _node(out, op, out.name(op.input), scales, sizes, op.nearest_mode.data, out.output)


def _summed_axes(out: NodeEmitter, op: ops.ResizeOp) -> list[Axis] | None:
    """The axes along which a quantized value is interpolated, where its integers are to be ours in every session."""
    shape, is_quantized = shape_of(op.input), kind_of(element_of(op.input)) is Kind.QUANTIZED
    if not is_quantized or op.is_nearest or op.is_crop or out.settings.exact is False:
        return None
    found = None if DYNAMIC_INDEX in shape else op.resized(shape)
    return None if found is None or 0 in shape else changed_axes(op, shape, found)


def _by_sums(out: NodeEmitter, op: ops.ResizeOp, axes: Sequence[Axis]) -> None:
    """Exports each new element as a sum of products, in the order of qmlir's arithmetic.

    The order of the terms in Resize depends on the runtime. If weights are multiples of a quarter, a sum of integers is
    often a tie, and the order determines in which direction it is rounded.
    """
    name, rank = out.name(op.input), len(shape_of(op.input))
    element = out.element(op.input)
    for axis in axes:
        elements, weights = weights_of(op, coordinates(op, axis), axis)
        layout = (-1, *(1,) * (rank - axis.to.axis - 1))
        total: str | None = None
        for tap in range(elements.shape[1]):
            if weights[:, tap].any():
                taken = out.node("Gather", [name, out.constant(elements[:, tap], i64)], axis=axis.to.axis)
                term = out.node("Mul", [taken, out.constant(weights[:, tap].reshape(layout), element)])
                total = term if total is None else out.node("Add", [total, term])
        assert total is not None  # the weights of a place add up to 1
        name = total
    out.node("Identity", [name], out.output)


def _node(
    out: NodeEmitter, op: ops.ResizeOp, source: str, scales: str, sizes: str, nearest_mode: str, output: str | None
) -> str:
    inputs = [source, _export_floats(out, op, "roi"), scales, sizes]
    attributes = attributes_of(op, f"mode keep_aspect_ratio_policy {_PLAIN}")
    if op.is_nearest:
        attributes["nearest_mode"] = nearest_mode
    return out.node("Resize", inputs, output, **attributes)


def _by_growth(out: NodeEmitter, op: ops.ResizeOp, scales: str, sizes: str) -> None:
    """The floor along axes that grow and the ceiling along those that shrink: two nodes where there are both."""
    found = op.resized(shape_of(op.input))
    if found is None or not all(each.scale > 0 for each in found):
        raise out.error(
            f"has the nearest mode '{ops.FLOOR_UP_CEIL_DOWN}' and sizes that are known at run time only: known ones "
            f"are written, and {list(ops.NEAREST_MODES[:-1])}"
        )
    shrinks = [each.scale < 1 for each in found]
    if not (any(shrinks) and any(each.scale > 1 for each in found)):
        mode = "ceil" if any(shrinks) else "floor"
        _node(out, op, out.name(op.input), scales, sizes, mode, out.output)
        return
    if op.is_crop:
        raise out.error(
            f"nearest mode '{ops.FLOOR_UP_CEIL_DOWN}' is not supported for a crop that grows one axis and shrinks "
            "another"
        )
    before = shape_of(op.input)
    between = out.name(op.input)
    for mode, output in (("floor", None), ("ceil", out.output)):
        is_taken = [is_less == (mode == "ceil") for is_less in shrinks]
        if op.integers("sizes") is None:
            factors = [each.scale if taken else 1.0 for each, taken in zip(found, is_taken, strict=True)]
            between = _node(out, op, between, out.constant(np.array(factors, np.float32), f32), "", mode, output)
        else:
            # Behind the first node, axes that grow have their new sizes.
            kept = [before[each.axis] if less else each.size for each, less in zip(found, shrinks, strict=True)]
            wanted = kept if mode == "floor" else [each.size for each in found]
            between = _node(out, op, between, "", out.constant(np.array(wanted, np.int64)), mode, output)


IMPORTERS: dict[str, Importer] = {"Resize": _resize, "Upsample": _upsample}
EXPORTERS: dict[type[Operation], Exporter] = {ops.ResizeOp: _export_resize}
