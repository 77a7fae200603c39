"""Rows of composites that are quantized as their parts: normalizations, a log-softmax, attention.

Those of rows compute on integers, too, with parameters that are floats.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Attribute

from qmlir.dialects.nn.attention import ops as attention
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.normalization import ops as normalization
from tests.levels.graph import MOST_ELEMENTS, Graph, Value
from tests.levels.row import Make, Row, need


def _parameter(graph: Graph, shape: Sequence[int], low: float, high: float) -> Value:
    """A constant or an input with numbers of this range."""
    return _given(graph, graph.uniform(low, high, graph.storage()), shape)


def _float_parameter(graph: Graph, shape: Sequence[int], low: float, high: float) -> Value:
    """A constant or an input of floats."""
    if graph.chance(0.3):
        return graph.input(f32, shape)
    return graph.plain_constant(graph.random.uniform(low, high, shape).astype(np.float32))


def _given(graph: Graph, element: Attribute, shape: Sequence[int]) -> Value:
    return (graph.constant if graph.chance(0.6) else graph.input)(element, shape)


def _epsilon(graph: Graph) -> dict[str, Any]:
    return {"epsilon": float(np.float32(graph.pick([1e-5, 1e-3, 0.1])))}


def _norm(kind: type[NnOp], *ranges: tuple[float, float], **properties: Any) -> Make:
    """A normalization with parameters for each channel; those that folding takes away may be left out."""

    def make(graph: Graph, x: Value) -> Value:
        need(x.has_one_scale and len(x.shape) >= 3, "an image with one scale")
        if "groups" in kind.get_irdl_definition().properties:
            properties["groups"] = graph.pick([each for each in range(1, x.shape[1] + 1) if x.shape[1] % each == 0])
        parameter = _float_parameter if issubclass(kind, normalization.RowNormOp) and graph.chance(0.5) else _parameter
        given: list[Value | None] = [parameter(graph, x.shape[1:2], *each) for each in ranges]
        if kind.FOLDED and graph.chance(0.4):
            given[2:] = [None, None]
        return graph.add(kind, [x, *given], _epsilon(graph) | properties)

    return make


def _trailing_norm(kind: type[NnOp], *ranges: tuple[float, float]) -> Make:
    """A normalization over the last axes; its last parameter may be left out."""

    def make(graph: Graph, x: Value) -> Value:
        need(x.has_one_scale and bool(x.shape), "a row with one scale")
        axis = graph.integer(0, len(x.shape) - 1)
        given = _float_parameter if graph.chance(0.5) else _parameter
        parameters: list[Value | None] = [given(graph, x.shape[axis:], *each) for each in ranges]
        if graph.chance(0.3):
            parameters[-1] = None
        return graph.add(kind, [x, *parameters], _epsilon(graph) | {"axis": axis})

    return make


def _lp_norm(graph: Graph, x: Value) -> Value:
    need(x.has_one_scale and bool(x.shape), "a row with one scale")
    bounded = _epsilon(graph) if graph.chance(0.5) else {}
    return graph.add(normalization.LpNormOp, [x], {"axis": graph.axis(x), "p": graph.integer(1, 2)} | bounded)


def _log_softmax(graph: Graph, x: Value) -> Value:
    need(x.has_one_scale and bool(x.shape), "a row with one scale")
    return graph.add(normalization.LogSoftmaxOp, [x], {"axis": graph.axis(x)})


def _attention(graph: Graph, x: Value) -> Value:
    need(x.has_one_scale and len(x.shape) == 4, "heads with one scale")
    batch, heads, queries, size = x.shape
    keys, width = graph.integer(1, 4), graph.integer(1, 4)
    need(batch * heads * queries * keys * max(size, width) <= MOST_ELEMENTS, "too many products")
    shared = graph.pick([each for each in range(1, heads + 1) if heads % each == 0])
    key, value = (_parameter(graph, (batch, shared, keys, each), -2.0, 2.0) for each in (size, width))
    past = graph.integer(1, 3) if graph.chance(0.3) else 0
    before = [_given(graph, each.element, (*each.shape[:2], past, each.shape[3])) if past else None
              for each in (key, value)]  # fmt: skip
    mask = None
    if graph.chance(0.4):
        total = keys + past
        shape = graph.pick([(queries, total), (1, 1, queries, total), (batch, 1, 1, total)])
        is_boolean = graph.chance(0.5)
        mask = graph.constant(i1, shape) if is_boolean else _parameter(graph, shape, -4.0, 1.0)
    properties: dict[str, Any] = {"is_causal": graph.chance(0.3), "scores_are": graph.pick(list(attention.SCORES))}
    for window in ("left_window", "right_window"):
        if graph.chance(0.2):
            properties[window] = graph.integer(0, 2)
    if graph.chance(0.3):
        properties["softcap"] = float(np.float32(graph.random.uniform(1, 5)))
    return graph.add(attention.AttentionOp, [x, key, value, mask, *before, None], properties, results=4)


_SCALE, _BIAS, _MEAN, _VARIANCE = (-2.0, 2.0), (-1.0, 1.0), (-1.0, 1.0), (0.0, 4.0)

KEPT: tuple[Row, ...] = (
    Row("nn.batch_norm", _norm(normalization.BatchNormOp, _SCALE, _BIAS, _MEAN, _VARIANCE)),
    Row("nn.instance_norm", _norm(normalization.InstanceNormOp, _SCALE, _BIAS)),
    Row("nn.group_norm", _norm(normalization.GroupNormOp, _SCALE, _BIAS)),
    Row("nn.layer_norm", _trailing_norm(normalization.LayerNormOp, _SCALE, _BIAS), 1.2),
    Row("nn.rms_norm", _trailing_norm(normalization.RmsNormOp, _SCALE)),
    Row("nn.lp_norm", _lp_norm, 0.7),
    Row("nn.log_softmax", _log_softmax),
    Row("nn.attention", _attention, 1.5),
)
"""Every composite that is better in floats than in parts of few bits, but the recurrent layers."""
