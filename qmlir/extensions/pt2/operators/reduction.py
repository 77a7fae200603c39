"""Reductions, indices of extrema, and cumulative sums."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, i1, i64
from xdsl.ir import SSAValue

from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing.ops import TopKOp
from qmlir.dialects.nn.reduction import ops
from qmlir.extensions.pt2.node import AtenNode, Importer
from qmlir.ir.builtin_types import shape_of


def _reduced(node: AtenNode, operation: type[Any]) -> SSAValue:
    value = node.operand("self", node.element)
    rank = len(shape_of(value))
    if not rank:
        return value
    axes = [node.axis()] if isinstance(node.arguments.get("dim"), int) else node.axes("dim", rank)
    return node.add(operation, value, axes=axes, keep_dims=node.flag("keepdim")).result


def _extreme(node: AtenNode, operation: type[Any], index: type[Any]) -> Sequence[SSAValue]:
    """The extremum along an axis and its index."""
    axis, keeps, value = node.axis(), node.flag("keepdim"), node.tensor()
    found = node.add(operation, value, axes=[axis], keep_dims=keeps).result
    return [found, node.part("index").add(index, value, axis=axis, keep_dims=keeps).result]


def _index(node: AtenNode, operation: type[Any]) -> SSAValue:
    value = node.tensor()
    axis = 0 if node.attribute("dim", None) is None else node.axis()
    if node.attribute("dim", None) is None:
        sizes = shape_of(value)
        value = node.reshaped(value, [DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else math.prod(sizes)])
    keeps = node.flag("keepdim") and node.attribute("dim", None) is not None
    return node.add(operation, value, axis=axis, keep_dims=keeps).result


def _variance(node: AtenNode, *, is_root: bool) -> SSAValue:
    value = node.tensor()
    axes, keeps = node.axes("dim", len(shape_of(value))), node.flag("keepdim")
    sizes = [shape_of(value)[axis] for axis in axes]
    correction = node.number("correction", int(node.flag("unbiased", default=True)))
    if DYNAMIC_INDEX in sizes and correction:
        raise node.unsupported("a correction requires static sizes of the reduced axes")
    mean = node.part("mean").add(ops.ReduceMeanOp, value, axes=axes).result
    centered = node.part("centered").add(elementwise.SubOp, value, mean).result
    squared = node.part("squared").add(elementwise.MulOp, centered, centered).result
    result = node.add(ops.ReduceMeanOp, squared, axes=axes, keep_dims=keeps).result
    count = math.prod(sizes)
    if correction and count > correction:
        result = node.add(elementwise.MulOp, result, node.filled(count / (count - correction), node.element)).result
    return node.add(elementwise.SqrtOp, result).result if is_root else result


def _norm(node: AtenNode, order: str) -> SSAValue:
    kinds = {1: ops.ReduceL1Op, 2: ops.ReduceL2Op}
    p = node.number(order, 2)
    if p not in kinds:
        raise node.unsupported(f"the order of a norm must be 1 or 2, but got {p}")
    return _reduced(node, kinds[int(p)])


def _truth(node: AtenNode, operation: type[Any]) -> SSAValue:
    """Whether any element is true, or all elements are."""
    value = node.cast(node.operand("self", i1), i64)
    axes = [node.axis()] if isinstance(node.arguments.get("dim"), int) else node.axes("dim", len(shape_of(value)))
    return node.cast(node.add(operation, value, axes=axes, keep_dims=node.flag("keepdim")).result, i1)


def _top_k(node: AtenNode) -> Sequence[SSAValue]:
    axis = node.axis("dim", -1)
    return node.add(
        TopKOp, node.tensor(), k=node.index("k"), axis=axis, largest=node.flag("largest", default=True)
    ).results


OPERATORS: Mapping[str, Importer] = {
    "mean": partial(_reduced, operation=ops.ReduceMeanOp),
    "sum": partial(_reduced, operation=ops.ReduceSumOp),
    "amax": partial(_reduced, operation=ops.ReduceMaxOp),
    "amin": partial(_reduced, operation=ops.ReduceMinOp),
    "max.default": partial(_reduced, operation=ops.ReduceMaxOp),
    "min.default": partial(_reduced, operation=ops.ReduceMinOp),
    "max.dim": partial(_extreme, operation=ops.ReduceMaxOp, index=ops.ArgMaxOp),
    "min.dim": partial(_extreme, operation=ops.ReduceMinOp, index=ops.ArgMinOp),
    "prod": partial(_reduced, operation=ops.ReduceProdOp),
    "logsumexp": partial(_reduced, operation=ops.ReduceLogSumExpOp),
    "argmax": partial(_index, operation=ops.ArgMaxOp),
    "argmin": partial(_index, operation=ops.ArgMinOp),
    "cumsum": lambda node: node.add(ops.CumSumOp, node.operand("self", node.element), axis=node.axis()).result,
    "cumprod": lambda node: node.add(ops.CumProdOp, node.operand("self", node.element), axis=node.axis()).result,
    "var": partial(_variance, is_root=False),
    "std": partial(_variance, is_root=True),
    "linalg_vector_norm": partial(_norm, order="ord"),
    "norm": partial(_norm, order="p"),
    "any": partial(_truth, operation=ops.ReduceMaxOp),
    "all": partial(_truth, operation=ops.ReduceMinOp),
    "topk": _top_k,
}
"""The importer of each ATen operator of this family, without its namespace."""
