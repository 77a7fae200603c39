"""Pooling, resizing, and moves between space and channels, on images."""

from collections.abc import Mapping
from typing import Any

from xdsl.ir import SSAValue

from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.resizing.ops import LINEAR, NEAREST, ResizeOp
from qmlir.extensions.litert.node import LiteImporter, LiteNode, first
from qmlir.extensions.litert.operators.contraction import SAME, positive, same_pads, strides_of
from qmlir.extensions.litert.operators.row import ALL, BYTES, NONE, SIGNED, LiteRow
from qmlir.ir.builtin_types import shape_of


def _pool_properties(node: LiteNode, data: SSAValue) -> dict[str, Any]:
    strides, kernel = strides_of(node), positive(node, "filter_height", "filter_width")
    is_same = node.attribute("padding") == SAME
    pads = same_pads(shape_of(data)[2:], kernel, strides, (1, 1)) if is_same else [0] * 4
    return {"kernel": kernel, "strides": strides, "pads": pads}


def _average_pool(node: LiteNode) -> SSAValue:
    data = node.restamped(node.quantized(0))  # LiteRT averages stored integers, whatever their scales
    return node.activated(node.add(pooling.AveragePoolOp, data, **_pool_properties(node, data)).result)


def _max_pool(node: LiteNode) -> SSAValue:
    data = node.restamped(node.quantized(0))
    return node.activated(node.add(pooling.MaxPoolOp, data, **_pool_properties(node, data)).result)


def _l2_pool(node: LiteNode) -> SSAValue:
    data = node.quantized(0)
    square = node.add(elementwise.MulOp, data, data).result
    mean = node.add(pooling.AveragePoolOp, square, **_pool_properties(node, data)).result
    return node.activated(node.add(elementwise.SqrtOp, mean).result)


def _resize(mode: str) -> LiteImporter:
    def imported(node: LiteNode) -> SSAValue:
        sizes = node.numbers(1)
        if len(sizes) != 2 or min(sizes) < 1:
            raise node.error(f"sizes must be two positive numbers, but are {list(sizes)}")
        coordinates = "asymmetric"
        if node.attribute("align_corners"):
            coordinates = "align_corners"
        elif node.attribute("half_pixel_centers"):
            coordinates = "half_pixel" if mode == LINEAR else "tf_half_pixel_for_nn"
        nearest = "round_prefer_ceil" if coordinates == "align_corners" else "floor"
        data = node.quantized(0)
        properties: dict[str, Any] = {"sizes": sizes, "axes": [2, 3], "mode": mode}
        if mode == NEAREST:
            data, properties["nearest_mode"] = node.restamped(data), nearest
        return node.add(ResizeOp, data, coordinate_transformation_mode=coordinates, **properties).result

    return imported


def _blocks(operation: type[movement.BlocksOp]) -> LiteImporter:
    def imported(node: LiteNode) -> SSAValue:
        (block,) = positive(node, "block_size")
        return node.restamped(node.add(operation, node.quantized(0), block_size=block).results[0])

    return imported


OPERATORS: Mapping[str, LiteRow] = {
    "AVERAGE_POOL_2D": LiteRow(_average_pool, first, SIGNED),
    "MAX_POOL_2D": LiteRow(_max_pool, first, SIGNED),
    "L2_POOL_2D": LiteRow(_l2_pool, first, NONE),
    "RESIZE_BILINEAR": LiteRow(_resize(LINEAR), first, BYTES),
    "RESIZE_NEAREST_NEIGHBOR": LiteRow(_resize(NEAREST), first, SIGNED),
    "SPACE_TO_DEPTH": LiteRow(_blocks(movement.SpaceToDepthOp), first, ALL),
    "DEPTH_TO_SPACE": LiteRow(_blocks(movement.DepthToSpaceOp), first, ALL),
}
"""The operators of this module."""
