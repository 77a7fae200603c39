"""Rows of contractions: matrix products and convolutions, of weights with one scale, channels or blocks."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.contraction.ops import EinsumOp
from tests.levels.graph import ACCUMULATOR_BITS, MOST_BITS, MOST_PRODUCTS, UP_TO_16, Graph, Value
from tests.levels.row import need

OWN_BIAS = 0.3
"""How often a bias has not the type of the accumulator."""


def _result(graph: Graph, x: Value, w: Value, axis: int, repeats: int = 1) -> dict[str, Any]:
    """How the result of a contraction is held: requantized, or the sum itself, which is refused beyond 32 bits."""
    sums = graph.accumulator(x, w, axis, graph.pick(ACCUMULATOR_BITS), repeats)
    if sums is None or not graph.chance(0.25):
        return {}
    return {"element": sums} if _reach(x) * _reach(w) * math.prod(w.shape) < 1 << 30 else {}


def _reach(value: Value) -> int:
    """A bound of `|q - z|` of a quantized value."""
    assert value.uniform is not None
    return 1 << value.uniform.bits


def need_sums_in_64_bits(x: Value, w: Value, terms: int) -> None:
    """Raise `RejectedError` for sums beyond 64 bits, which no level below the quantized one computes."""
    need(_reach(x) * _reach(w) * terms <= 1 << MOST_BITS, "sums that 64 bits hold")


def bias_of(graph: Graph, x: Value, w: Value, channels: int, repeats: int = 1) -> Value | None:
    element = graph.accumulator(x, w, 0, repeats=repeats) or graph.symmetric(1e3, ACCUMULATOR_BITS[0])
    if graph.chance(0.3):
        return None
    if graph.chance(OWN_BIAS):  # the parts say how it is added
        axis = 0 if graph.chance(0.3) else None
        spread = graph.random.exponential(2, channels if axis == 0 else None) + 0.01
        return graph.constant(graph.uniform(np.negative(spread), spread, graph.storage(), axis), [channels])
    reach = int(graph.pick([10, 1000, 1 << 20]))
    return graph.constant(element, [channels], graph.random.integers(-reach, reach, channels).astype(np.int32))


def matmul(graph: Graph, x: Value) -> Value:
    need(x.has_one_scale and 1 <= len(x.shape) <= 4, "matrices with one scale")
    columns, is_transposed = graph.integer(1, 7), graph.chance(0.5)
    terms = x.shape[-1]
    need(math.prod(x.shape) * columns <= MOST_PRODUCTS, "too many products")
    shape = (columns, terms) if is_transposed else (terms, columns)
    if len(x.shape) > 2 and graph.chance(0.4):
        shape = (*x.shape[:-2], *shape)
    axis, summed = (len(shape) - 2, len(shape) - 1) if is_transposed else (len(shape) - 1, len(shape) - 2)
    w = graph.weights(shape, axis, [summed])
    need_sums_in_64_bits(x, w, terms)
    rank = max(len(x.shape), len(shape)) - (len(x.shape) == 1)
    kept = _result(graph, x, w, rank - 1)
    return graph.add(contraction.MatMulOp, [x, w], {"transpose_b": is_transposed}, **kept)


def matmul_of_values(graph: Graph, x: Value) -> Value:
    """A product of two values that are both computed, as in attention."""
    need(x.has_one_scale and 2 <= len(x.shape) <= 4, "matrices with one scale")
    others = [
        each
        for each in graph.values
        if each.has_one_scale and len(each.shape) >= 2 and x.shape[-1] in each.shape[-2:] and len(each.shape) <= 4
    ]
    other = graph.pick(others)
    need(math.prod(x.shape) * max(other.shape) <= MOST_PRODUCTS, "too many products")
    need_sums_in_64_bits(x, other, x.shape[-1])
    return graph.add(contraction.MatMulOp, [x, other], {"transpose_b": other.shape[-1] == x.shape[-1]})


def fully_connected(graph: Graph, x: Value) -> Value:
    need(x.has_one_scale and len(x.shape) >= 2, "rows with one scale")
    rows = graph.integer(1, 9)
    w = graph.weights((rows, x.shape[-1]), 0, [1])
    need_sums_in_64_bits(x, w, x.shape[-1])
    kept = _result(graph, x, w, len(x.shape) - 1)
    return graph.add(contraction.FullyConnectedOp, [x, w, bias_of(graph, x, w, rows)], **kept)


def windows_of(graph: Graph, sizes: Sequence[int]) -> tuple[list[int], dict[str, Any]]:
    """A kernel, and strides, dilations and pads that fit an image of these sizes."""
    kernel = [graph.integer(1, 3) for _ in sizes]
    dilations = [graph.integer(1, 2) for _ in sizes]
    pads = [graph.integer(0, 2) if graph.chance(0.6) else 0 for _ in range(2 * len(sizes))]
    spans = [(taps - 1) * step + 1 for taps, step in zip(kernel, dilations, strict=True)]
    for axis, (size, span) in enumerate(zip(sizes, spans, strict=True)):
        need(size + pads[axis] + pads[axis + len(sizes)] >= span, "the kernel is larger than the image")
    strides = [graph.integer(1, 3) for _ in sizes]
    return kernel, {"strides": strides, "dilations": dilations, "pads": pads}


def conv(graph: Graph, x: Value) -> Value:
    need(x.has_one_scale and 3 <= len(x.shape) <= 5, "an image with one scale")
    channels = x.shape[1]
    divisors = [count for count in range(1, channels + 1) if channels % count == 0]
    groups = channels if graph.chance(0.35) else graph.pick(divisors)
    out = groups * graph.integer(1, 3)
    kernel, windows = windows_of(graph, x.shape[2:])
    shape = (out, channels // groups, *kernel)
    need(math.prod(shape) * math.prod(x.shape[2:]) * x.shape[0] <= 4 * MOST_PRODUCTS, "too many products")
    w = graph.weights(shape, 0, [1, *range(2, len(shape))])
    need_sums_in_64_bits(x, w, math.prod(shape[1:]))
    kept = _result(graph, x, w, 1)
    return graph.add(contraction.ConvOp, [x, w, bias_of(graph, x, w, out)], {**windows, "groups": groups}, **kept)


def conv_transpose(graph: Graph, x: Value) -> Value:
    need(x.has_one_scale and 3 <= len(x.shape) <= 5, "an image with one scale")
    channels, spatial = x.shape[1], len(x.shape) - 2
    groups = graph.pick([count for count in range(1, channels + 1) if channels % count == 0])
    out, kernel = graph.integer(1, 3), [graph.integer(1, 4) for _ in range(spatial)]
    strides, dilations = ([graph.integer(1, 3) for _ in range(spatial)] for _ in range(2))
    properties: dict[str, Any] = {"strides": strides, "dilations": dilations, "groups": groups}
    properties["pads"] = [graph.integer(0, 1) for _ in range(2 * spatial)]
    if graph.chance(0.3):
        properties["output_padding"] = [graph.integer(0, stride - 1) for stride in strides]
    for axis, size in enumerate(x.shape[2:]):
        span = (kernel[axis] - 1) * dilations[axis] + 1
        cut = properties["pads"][axis] + properties["pads"][axis + spatial]
        need((size - 1) * strides[axis] + span > cut, "pads that leave something, as every runtime wants")
    shape = (channels, out, *kernel)
    need(math.prod(shape) * math.prod(x.shape[2:]) * x.shape[0] <= 4 * MOST_PRODUCTS, "too many products")
    axis = 0 if out == 1 and groups == channels > 1 else 1
    along = (2, *range(3, len(shape))) if channels // groups == 1 else (0, *range(2, len(shape)))
    w = graph.weights(shape, axis, [each for each in along if shape[each] > 1], channels // groups)
    need_sums_in_64_bits(x, w, math.prod(shape) // out)
    repeats = 1 if axis == 0 else groups
    kept = _result(graph, x, w, 1, repeats)
    bias = bias_of(graph, x, w, out * groups, repeats)
    return graph.add(contraction.ConvTransposeOp, [x, w, bias], properties, **kept)


def einsum(graph: Graph, x: Value) -> Value:
    """Of one operand, or of two that share some labels."""
    is_short = graph.bits is UP_TO_16
    need(x.has_one_scale and 1 <= len(x.shape) <= 4, "values with one scale")
    need(not is_short or _reach(x) <= 256, "short values")
    labels = "abcdef"[: len(x.shape)]
    operands, other = [x], ""
    sizes = dict(zip(labels, x.shape, strict=True))
    if graph.chance(0.8):
        shared = [label for label in labels if graph.chance(0.6)]
        own = [label for label in "xy" if graph.chance(0.5)]
        sizes |= {label: graph.integer(1, 4) for label in own}
        other = "".join(graph.random.permutation([*shared, *own]))
        shape = [sizes[label] for label in other]
        make = graph.constant if graph.chance(0.6) else graph.input
        storage = graph.storage(graph.pick([3, 4, 8]) if is_short else None)
        operands.append(make(graph.uniform(-1.0, 2.0, storage), shape))
        need_sums_in_64_bits(x, operands[1], math.prod(sizes.values()))
    need(math.prod(sizes.values()) <= MOST_PRODUCTS, "too many products")
    kept = "".join(graph.random.permutation([label for label in sizes if graph.chance(0.6)]))
    equation = f"{labels},{other}->{kept}" if len(operands) > 1 else f"{labels}->{kept}"
    return graph.add(EinsumOp, [operands], {"equation": equation})
