"""The operations that random graphs are made of: one row each, by family, with how often it is drawn.

A row takes the graph and a value of it, and adds an operation on that value; it raises `RejectedError`, itself or from
the graph, where the value does not suit it. An operation of one operand needs no more than its class here.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, i1, i64

from qmlir import registry
from qmlir.dialects import operations_in
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import Kind, NnOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.resizing import ops as resizing
from qmlir.dialects.nn.shapes import ops as shapes
from tests.levels import contractions
from tests.levels.contractions import windows_of
from tests.levels.graph import Graph, Value
from tests.levels.kept import KEPT
from tests.levels.layers import LAYERS, layer
from tests.levels.regions import regions
from tests.levels.row import Make, Row, need
from tests.levels.spelled import SPELLED


def _quantized(value: Value) -> None:
    need(value.uniform is not None, "takes quantized values")


# --- Element by element -----------------------------------------------------------------------------------------------


_DOMAINS: dict[type[NnOp], tuple[float, float]] = {
    elementwise.LogOp: (0.0, 1e6),
    elementwise.SqrtOp: (0.0, 1e6),
    elementwise.AcoshOp: (1.5, 1e6),
    elementwise.AsinOp: (-0.9, 0.9),
    elementwise.AcosOp: (-0.9, 0.9),
    elementwise.AtanhOp: (-0.9, 0.9),
}
"""Functions that are not defined everywhere, and where their operands are kept."""


def _unary(kind: type[NnOp]) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        _quantized(x)
        if kind in _DOMAINS:
            low, high = _DOMAINS[kind]
            x = graph.add(elementwise.ClipOp, [x], {"minimum": low, "maximum": high}, bits=8)
        properties = {}
        for name in ("alpha", "beta", "gamma"):
            if name in kind.get_irdl_definition().properties and graph.chance(0.5):
                properties[name] = float(np.float32(graph.random.uniform(0.05, 2)))
        return graph.add(kind, [x], properties)

    return make


def _other(graph: Graph, x: Value) -> Value:
    """A second operand that broadcasts: of the same type, or of another one."""
    shape = list(x.shape)
    for axis in range(len(shape)):
        if graph.chance(0.25):
            shape[axis] = 1
    shape = shape[graph.integer(0, len(shape)) if graph.chance(0.3) else 0 :]
    if graph.chance(0.5) and x.uniform is not None and not x.uniform.scales.ndim:
        return graph.like(x, shape)
    known = [each for each in graph.values if each.shape == x.shape and each.uniform is not None]
    if known and graph.chance(0.6):
        return graph.pick(known)
    element = graph.uniform(-graph.random.uniform(0, 3), graph.random.uniform(0.1, 3), graph.storage())
    return graph.constant(element, shape) if graph.chance(0.5) else graph.input(element, shape)


def _binary(kind: type[NnOp]) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        _quantized(x)
        operands = [x, _other(graph, x)]
        return graph.add(kind, operands if graph.chance(0.7) else operands[::-1])

    return make


def _where(graph: Graph, x: Value) -> Value:
    _quantized(x)
    condition = graph.add(graph.pick([elementwise.LessOp, elementwise.GreaterOrEqualOp]), [x, _other(graph, x)])
    return graph.add(elementwise.WhereOp, [condition, x, graph.like(x, x.shape)])


def _clip(graph: Graph, x: Value) -> Value:
    _quantized(x)
    low, high = sorted(float(np.float32(bound)) for bound in graph.random.normal(0, 2, 2))
    return graph.add(
        elementwise.ClipOp, [x], graph.pick([{"minimum": low, "maximum": high}, {"minimum": low}, {"maximum": high}])
    )


def _prelu(graph: Graph, x: Value) -> Value:
    _quantized(x)
    slopes = graph.constant(graph.uniform(-0.5, 1.0, graph.storage(8)), (x.shape[-1],) if x.shape else ())
    return graph.add(activations.PReluOp, [x, slopes])


def _pow(graph: Graph, x: Value) -> Value:
    """A base of any sign with whole exponents, or one above 0 with others."""
    _quantized(x)
    exponents = graph.random.choice([2.0, 3.0, 0.0], x.shape[-1:])
    if graph.chance(0.4):
        x = graph.add(elementwise.ClipOp, [x], {"minimum": 0.25}, bits=8)
        need(bool((x.real() > 0).all()), "numbers above 0")
        exponents = graph.random.uniform(-1, 2.5, x.shape[-1:])
    return graph.add(elementwise.PowOp, [x, graph.plain_constant(np.asarray(exponents, np.float32))])


def _bias_add(graph: Graph, x: Value) -> Value:
    """Something of the accumulator's own type: nothing is rounded."""
    need(x.uniform is not None and x.uniform.bits == 32, "takes a sum")
    stored = graph.random.integers(-5000, 5000, x.shape).astype(np.int32)
    return graph.add(elementwise.AddOp, [x, graph.constant(x.element, x.shape, stored)], element=x.uniform)


# --- Windows and reductions -------------------------------------------------------------------------------------------


def _pool(kind: type[NnOp], **flags: Sequence[Any]) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        need(x.uniform is not None and 3 <= len(x.shape) <= 5, "an image")
        kernel, windows = windows_of(graph, x.shape[2:])
        spatial = len(kernel)
        # No window of a pool lies in the padding alone.
        windows["pads"] = [min(pad, kernel[axis % spatial] - 1) for axis, pad in enumerate(windows["pads"])]
        chosen = {name: graph.pick(values) for name, values in flags.items()}
        return graph.add(kind, [x], {"kernel": kernel, **windows, **chosen})

    return make


def _global_pool(kind: type[NnOp]) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        need(x.uniform is not None and len(x.shape) >= 3, "an image")
        return graph.add(kind, [x])

    return make


def _reduce(kind: type[NnOp]) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        _quantized(x)
        axes = [axis for axis in range(len(x.shape)) if graph.chance(0.5)] or [graph.axis(x)]
        return graph.add(kind, [x], {"axes": axes, "keep_dims": graph.chance(0.5)})

    return make


def _along_axis(kind: type[NnOp]) -> Make:
    def make(graph: Graph, x: Value) -> Value:
        _quantized(x)
        return graph.add(kind, [x], {"axis": graph.axis(x), "keep_dims": graph.chance(0.5)})

    return make


def _top_k(graph: Graph, x: Value) -> Value:
    _quantized(x)
    axis = graph.axis(x)
    k = graph.integer(1, x.shape[axis])
    return graph.add(indexing.TopKOp, [x], {"k": k, "axis": axis, "largest": graph.chance(0.5)})


# --- Movement ---------------------------------------------------------------------------------------------------------


def _factors(graph: Graph, total: int) -> list[int]:
    shape: list[int] = []
    while total > 1 and len(shape) < 3:
        shape.append(graph.pick([size for size in range(1, total + 1) if total % size == 0]))
        total //= shape[-1]
    return [*shape, total]


def _reshape(graph: Graph, x: Value) -> Value:
    need(x.uniform is None or not x.uniform.scales.ndim, "one scale")
    shape = _factors(graph, math.prod(x.shape))
    return graph.add(movement.ReshapeOp, [x, None], result_types=[TensorType(x.element, shape)])


def _transpose(graph: Graph, x: Value) -> Value:
    order = [int(axis) for axis in graph.random.permutation(len(x.shape))]
    return graph.add(movement.TransposeOp, [x], {"permutation": order})


def _squeeze(graph: Graph, x: Value) -> Value:
    axis = graph.pick([axis for axis, size in enumerate(x.shape) if size == 1])
    return graph.add(movement.SqueezeOp, [x], {"axes": [axis]})


def _unsqueeze(graph: Graph, x: Value) -> Value:
    need(len(x.shape) <= 4, "not too many axes")
    return graph.add(movement.UnsqueezeOp, [x], {"axes": [graph.integer(0, len(x.shape))]})


def _slice(graph: Graph, x: Value) -> Value:
    axis = graph.axis(x)
    size = x.shape[axis]
    start = graph.integer(0, size - 1)
    step = graph.pick([1, 1, 2, -1, -2])
    bounds = (
        (start, graph.integer(start + 1, size)) if step > 0 else (start, graph.integer(-size - 1, start - size - 1))
    )
    return graph.add(
        movement.SliceOp, [x], {"starts": [bounds[0]], "ends": [bounds[1]], "axes": [axis], "steps": [step]}
    )


def _concat(graph: Graph, x: Value) -> Value:
    axis = graph.axis(x)
    others = [graph.like(x, x.shape) for _ in range(graph.integer(1, 2))]
    return graph.add(movement.ConcatOp, [[x, *others]], {"axis": axis})


def _split(graph: Graph, x: Value) -> Value:
    axis = graph.axis(x)
    size = x.shape[axis]
    first = graph.integer(1, max(size - 1, 1))
    sizes = [first, size - first] if size > 1 else [size]
    return graph.add(movement.SplitOp, [x], {"axis": axis, "split": sizes}, results=len(sizes))


def _pad(graph: Graph, x: Value) -> Value:
    need(bool(x.shape), "axes to pad")
    mode = graph.pick(["constant", "constant", "reflect", "edge", "wrap"])
    pads = [graph.integer(0, 2) for _ in range(2 * len(x.shape))]
    return graph.add(shapes.PadOp, [x], {"pads": pads, "mode": mode})


def _expand(graph: Graph, x: Value) -> Value:
    shape = [graph.integer(1, 3) if size == 1 else size for size in x.shape]
    return graph.add(shapes.ExpandOp, [x], {"shape": [*([2] if graph.chance(0.3) else []), *shape]})


def _tile(graph: Graph, x: Value) -> Value:
    return graph.add(shapes.TileOp, [x], {"repeats": [graph.integer(1, 2) for _ in x.shape]})


def _trilu(graph: Graph, x: Value) -> Value:
    return graph.add(shapes.TriluOp, [x], {"k": graph.integer(-2, 2), "upper": graph.chance(0.5)})


def _depth_to_space(graph: Graph, x: Value) -> Value:
    return graph.add(movement.DepthToSpaceOp, [x], {"block_size": 2, "mode": graph.pick(["DCR", "CRD"])})


def _space_to_depth(graph: Graph, x: Value) -> Value:
    return graph.add(movement.SpaceToDepthOp, [x], {"block_size": 2})


def _gather(graph: Graph, x: Value) -> Value:
    axis = graph.axis(x)
    indices = graph.random.integers(-x.shape[axis], x.shape[axis], graph.shape(graph.integer(0, 2), 3))
    return graph.add(indexing.GatherOp, [x, graph.plain_constant(np.asarray(indices, np.int64))], {"axis": axis})


def _table(graph: Graph, x: Value) -> Value:
    """Slices of weights, which most often have parameters of their own, as many as `x` has elements along an axis."""
    shape = (graph.integer(2, 9), *graph.shape(graph.integer(1, 2), 12))
    axis = 0 if graph.chance(0.7) else graph.integer(1, len(shape) - 1)
    table = graph.weights(shape, axis, [position for position in range(len(shape)) if position != axis])
    indices = graph.random.integers(-shape[axis], shape[axis], (*x.shape[:1], *graph.shape(graph.integer(0, 1), 3)))
    known = graph.plain_constant(indices) if graph.chance(0.3) else graph.input(i64, indices.shape, indices)
    return graph.add(indexing.GatherOp, [table, known], {"axis": axis})


def _gather_elements(graph: Graph, x: Value) -> Value:
    axis = graph.axis(x)
    indices = graph.random.integers(0, x.shape[axis], x.shape)
    return graph.add(indexing.GatherElementsOp, [x, graph.plain_constant(indices)], {"axis": axis})


def _scatter_elements(graph: Graph, x: Value) -> Value:
    axis = graph.axis(x)
    indices = graph.random.integers(0, x.shape[axis], x.shape)
    operands = [x, graph.plain_constant(indices), graph.like(x, x.shape)]
    return graph.add(
        indexing.ScatterElementsOp, operands, {"axis": axis, "reduction": graph.pick(["none", "min", "max"])}
    )


def _resize(graph: Graph, x: Value) -> Value:
    need(len(x.shape) == 4, "an image")
    sizes = [graph.integer(1, 7) for _ in range(2)]
    mode = graph.pick(["nearest", "nearest", "linear"])
    coordinates = graph.pick(["half_pixel", "asymmetric", "align_corners"])
    properties = {"sizes": sizes, "axes": [2, 3], "mode": mode, "coordinate_transformation_mode": coordinates}
    return graph.add(resizing.ResizeOp, [x], properties)


# --- Floats between casts ---------------------------------------------------------------------------------------------


def _between_casts(make: Make) -> Make:
    """`make` on floats, and its result quantized again."""

    def cast(graph: Graph, x: Value) -> Value:
        _quantized(x)
        found = make(graph, graph.dequantized(x))
        return graph.quantized(found) if np.isfinite(found.array).all() and graph.chance(0.8) else found

    return cast


def _softmax(graph: Graph, x: Value) -> Value:
    return graph.add(normalization.SoftmaxOp, [x], {"axis": graph.axis(x)})  # of quantized values, or of floats


def _masked_softmax(graph: Graph, x: Value) -> Value:
    """With a mask that broadcasts, a constant or a comparison; rows may be empty. Of quantized values, or of floats."""
    shape = [1 if graph.chance(0.25) else size for size in x.shape][graph.integer(0, 1) * len(x.shape) // 2 :]
    if x.uniform is None or graph.chance(0.4):
        mask = graph.constant(i1, shape)
    else:
        mask = graph.add(graph.pick([elementwise.LessOp, elementwise.GreaterOrEqualOp]), [x, graph.like(x, x.shape)])
    properties: dict[str, Any] = {"axis": graph.axis(x), "empty_rows": graph.pick(list(normalization.EMPTY_ROWS))}
    if graph.chance(0.3):
        properties = {"axis": graph.axis(x), "fill": float(np.float32(graph.random.uniform(-9, -0.5)))}
    return graph.add(normalization.SoftmaxOp, [x, mask], properties)


def _layer_norm(graph: Graph, x: Value) -> Value:
    axis = graph.axis(x) % max(len(x.shape), 1)
    scale, bias = (
        graph.plain_constant(graph.random.normal(1, 0.5, x.shape[axis:]).astype(np.float32)) for _ in range(2)
    )
    return graph.add(normalization.LayerNormOp, [x, scale, bias], {"axis": axis})


def _float_add(graph: Graph, x: Value) -> Value:
    return graph.add(
        elementwise.AddOp, [x, graph.plain_constant(graph.random.normal(0, 1, x.shape).astype(np.float32))]
    )


# --- The table --------------------------------------------------------------------------------------------------------

UNARY_KINDS: tuple[type[NnOp], ...] = tuple(
    kind
    for kind in operations_in(elementwise, activations)
    if issubclass(kind, elementwise.UnaryOp) and Kind.QUANTIZED in kind.ACCEPTS and kind is not elementwise.ClipOp
)
BINARY_KINDS: tuple[type[NnOp], ...] = (
    elementwise.AddOp, elementwise.SubOp, elementwise.MulOp, elementwise.DivOp, elementwise.MinOp, elementwise.MaxOp,
    elementwise.EqualOp, elementwise.GreaterOp, elementwise.GreaterOrEqualOp, elementwise.LessOp,
    elementwise.LessOrEqualOp,
)  # fmt: skip
_OFTEN = {elementwise.AddOp: 3.0, elementwise.MulOp: 2.0}
_UNARY_WEIGHT = {activations.ReluOp: 3.0, **{kind: 0.8 for kind in UNARY_KINDS if kind in registry.decompositions()}}
"""Composites are what has most ways to be wrong."""

PLAIN: tuple[Row, ...] = (
    Row("matmul", contractions.matmul, 4),
    Row("matmul_of_values", contractions.matmul_of_values, 2),
    Row("fully_connected", contractions.fully_connected, 4),
    Row("conv", contractions.conv, 8),
    Row("einsum", contractions.einsum),
    Row("conv_transpose", contractions.conv_transpose, 3),
    *(Row(kind.name, _unary(kind), _UNARY_WEIGHT.get(kind, 0.4)) for kind in UNARY_KINDS),
    *(Row(kind.name, _binary(kind), _OFTEN.get(kind, 0.5)) for kind in BINARY_KINDS),
    Row("where", _where),
    Row("clip", _clip, 2),
    Row("prelu", _prelu),
    Row("pow", _pow),
    Row("bias_add", _bias_add, 3),
    Row("max_pool", _pool(pooling.MaxPoolOp, ceil_mode=[False, True]), 2),
    Row("average_pool", _pool(pooling.AveragePoolOp, ceil_mode=[False, True], count_include_pad=[False, True]), 2),
    Row("global_average_pool", _global_pool(pooling.GlobalAveragePoolOp)),
    Row("global_max_pool", _global_pool(pooling.GlobalMaxPoolOp)),
    *(
        Row(kind.name, _reduce(kind), 0.8)
        for kind in (reduction.ReduceSumOp, reduction.ReduceMeanOp, reduction.ReduceMaxOp, reduction.ReduceMinOp)
    ),
    *(Row(kind.name, _along_axis(kind), 0.7) for kind in (reduction.ArgMaxOp, reduction.ArgMinOp)),
    Row("top_k", _top_k, 0.5),
    Row("reshape", _reshape, 1.5),
    Row("transpose", _transpose, 1.5),
    Row("squeeze", _squeeze),
    Row("unsqueeze", _unsqueeze),
    Row("slice", _slice, 1.5),
    Row("concat", _concat, 1.5),
    Row("split", _split),
    Row("pad", _pad, 1.5),
    Row("expand", _expand, 0.7),
    Row("tile", _tile, 0.5),
    Row("trilu", _trilu, 0.5),
    Row("depth_to_space", _depth_to_space, 3),
    Row("space_to_depth", _space_to_depth, 2),
    Row("gather", _gather),
    Row("table", _table),
    Row("gather_elements", _gather_elements, 0.5),
    Row("scatter_elements", _scatter_elements, 0.5),
    Row("resize", _resize, 0.7),
    Row("softmax", _softmax),
    Row("masked_softmax", _masked_softmax),
    Row("softmax_of_floats", _between_casts(_softmax), 0.5),
    Row("masked_softmax_of_floats", _between_casts(_masked_softmax), 0.3),
    *(Row(kind.name, layer(kind), 1.2) for kind in LAYERS),
    *KEPT,
    Row("layer_norm_of_floats", _between_casts(_layer_norm)),
    Row("float_add", _between_casts(_float_add), 0.5),
)
"""Every operation with quantized semantics, and some floats between casts."""

_RARE = {
    "space_to_depth": 2.5,
    **dict.fromkeys((kind.name for kind in LAYERS), 2.5 / 1.2),
    **{"nn.batch_norm": 1.5, "nn.instance_norm": 1.5, "nn.group_norm": 2.0},
}
"""What few values suit, and by how much more often it is drawn among all rows."""

_OFTENER = tuple(replace(row, weight=row.weight * _RARE.get(row.name, 1.0)) for row in PLAIN)

ROWS: tuple[Row, ...] = (*_OFTENER, *SPELLED, *regions(_OFTENER))
"""These, composites that are spelled as parts, and choices and loops of them."""


def rows_named(names: Sequence[str]) -> tuple[Row, ...]:
    """The rows of these names, with or without `nn.`."""
    found = tuple(row for row in ROWS if row.name in names or row.name.removeprefix("nn.") in names)
    if len(found) < len(names):
        raise SystemExit(f"no such row among {', '.join(names)}; there are {', '.join(row.name for row in ROWS)}")
    return found
