"""Operations with random operands for the tests of gradients: a row for each, with what torch computes.

Every elementwise operation and reduction of the dialect takes part by its class. The function of torch takes the module
`torch`, the properties, and the operands as tensors.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f64, i1, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import PLAIN_FLOATS, NnOp
from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.ops import (
    activations,
    attention,
    contraction,
    einsum,
    elementwise,
    expansion,
    indexing,
    movement,
    normalization,
    pooling,
    recurrent,
    reduction,
    resizing,
    selection,
    softmax,
)
from qmlir.ir.builtin_types import element_of
from qmlir.ir.interfaces import Domain
from qmlir.ir.signature import Port, inputs_of, set_ports
from qmlir.passmanager.running import run_pipeline
from qmlir.specialization.inputs import function_of

Random = np.random.Generator
Torch = Any


@dataclass(frozen=True)
class Drawn:
    """An operation to differentiate: its operands, floats in f64, its properties, and what types of results need."""

    operands: Sequence[Array | Sequence[Array] | None]
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    result_types: Sequence[Any] = ()
    results: int = 1
    wrt: str = ""
    """The only input whose gradient there is; all of floats if it is empty."""


@dataclass(frozen=True)
class Row:
    """An operation, how it is drawn, and what torch computes of the operands; `None` where torch has no such thing."""

    operation: type[NnOp]
    draw: Callable[[Random], Drawn]
    torch: Callable[..., Any] | None = None


ELEMENTS = {np.dtype(np.float64): f64, np.dtype(np.int64): i64, np.dtype(np.int32): i32, np.dtype(np.int8): i1}


def module_of(row: Row, drawn: Drawn) -> tuple[ModuleOp, dict[str, Array]]:
    """A module that computes the float results of one operation, and its inputs."""
    flat = [each for group in drawn.operands for each in (group if isinstance(group, list) else [group])]
    arrays = [each for each in flat if each is not None]
    block = Block(arg_types=[TensorType(ELEMENTS[each.dtype], each.shape) for each in arrays])
    arguments = iter(block.args)

    def taken(group: Any) -> Any:
        if isinstance(group, list):
            return [next(arguments) for _ in group]
        return None if group is None else next(arguments)

    operands = [taken(group) for group in drawn.operands]
    op = build(
        row.operation, operands, dict(drawn.properties), result_types=drawn.result_types or None, results=drawn.results
    )
    results: list[SSAValue] = [each for each in op.results if isinstance(element_of(each), PLAIN_FLOATS)]
    block.add_ops([op, ReturnOp(*results)])
    types = [argument.type for argument in block.args], [each.type for each in results]
    function = FuncOp("main", types, Region(block))
    ports = [Port(f"x{place}", type_) for place, type_ in enumerate(types[0])]
    set_ports(function, ports, [Port(f"y{place}", type_) for place, type_ in enumerate(types[1])])
    inputs = {
        port.name: each.astype(bool) if each.dtype == np.int8 else each
        for port, each in zip(ports, arrays, strict=True)
    }
    return ModuleOp([function]), inputs


def gradients_of(
    module: ModuleOp, inputs: dict[str, Array], seeds: dict[str, Array], wrt: str = ""
) -> dict[str, Array]:
    """The gradients of the sum of the results, times `seeds`, by name of the input."""
    split = module.clone()
    run_pipeline(split, f"nn-gradient{{wrt={wrt}}},cse" if wrt else "nn-gradient,cse")
    split.verify()
    values = qmlir.interpret(split, inputs, function="forward") | inputs
    values |= {f"gradient_{name}": seed for name, seed in seeds.items()}
    given = {port.name: values[port.name] for port in inputs_of(function_of(split, "backward"))}
    found = qmlir.interpret(split, given, function="backward")
    return {name.removeprefix("gradient_"): gradient for name, gradient in found.items()}


# --- Draws ------------------------------------------------------------------------------------------------------------


def floats(random: Random, *shape: int, low: float = -2.0, high: float = 2.0) -> Array:
    """Numbers of f64."""
    return random.uniform(low, high, shape)


def any_shape(random: Random, least: int = 0) -> tuple[int, ...]:
    """Up to four axes."""
    return tuple(int(size) for size in random.integers(1, 4, random.integers(least, 5)))


def broadcast_shapes(random: Random, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast: some sizes are 1, some leading axes are missing."""
    whole = any_shape(random, 1)
    shapes = [
        tuple(1 if random.random() < 0.3 else size for size in whole)[random.integers(0, len(whole)) :]
        for _ in range(count)
    ]
    shapes[random.integers(count)] = whole
    return shapes


def _within(random: Random, shape: Sequence[int], domain: Domain | None) -> Array:
    low, high = (-2.0, 2.0) if domain is None else (max(domain.minimum + 0.1, -2.0), domain.maximum - 0.1)
    values = random.uniform(low, min(high, low + 4.0), shape)
    if domain is not None and 0.0 in domain.holes:
        values = np.where(np.abs(values) < 0.1, values + 0.3, values)
    return values


def _unary(operation: type[elementwise.UnaryOp], properties: Mapping[str, Any]) -> Callable[[Random], Drawn]:
    def draw(random: Random) -> Drawn:
        domain = operation.SLOTS.domains.get("input")
        return Drawn([_within(random, any_shape(random), domain)], properties)

    return draw


def _binary(low: float = -2.0, properties: Mapping[str, Any] | None = None) -> Callable[[Random], Drawn]:
    def draw(random: Random) -> Drawn:
        a, b = (floats(random, *shape, low=low) for shape in broadcast_shapes(random, 2))
        return Drawn([a, np.where(np.abs(b) < 0.2, b + 0.5, b)], properties or {})

    return draw


def _reduced(random: Random) -> Drawn:
    shape = any_shape(random, 1)
    axes = sorted(int(axis) for axis in random.choice(len(shape), random.integers(1, len(shape) + 1), replace=False))
    keep = bool(random.integers(2))
    return Drawn([floats(random, *shape, low=0.2)], {"axes": axes, "keep_dims": keep})


def _windows(random: Random, rank: int, *, most: int = 3) -> dict[str, list[int]]:
    def numbers(low: int, high: int, count: int = rank) -> list[int]:
        return [int(each) for each in random.integers(low, high, count)]

    return {"strides": numbers(1, 4), "dilations": numbers(1, 3), "pads": numbers(0, most, 2 * rank)}


def _conv(random: Random) -> Drawn:
    rank, groups, batch = (int(random.integers(1, 4)) for _ in range(3))
    inner, outer = (int(random.integers(1, 3)) for _ in range(2))
    properties = _windows(random, rank)
    kernel = [int(each) for each in random.integers(1, 4 if rank < 3 else 3, rank)]
    sizes = [(k - 1) * d + int(random.integers(1, 5)) for k, d in zip(kernel, properties["dilations"], strict=True)]
    data = floats(random, batch, groups * inner, *sizes)
    weight = floats(random, groups * outer, inner, *kernel)
    bias = floats(random, groups * outer) if random.integers(2) else None
    return Drawn([data, weight, bias], {**properties, "groups": groups})


def _conv_transpose(random: Random) -> Drawn:
    drawn = _conv(random)
    data, weight, bias = drawn.operands
    groups, strides, dilations = (drawn.properties[each] for each in ("groups", "strides", "dilations"))
    assert isinstance(data, np.ndarray)
    assert isinstance(weight, np.ndarray)
    # The weights are [C, M / groups, …]: those of the convolution the other way round.
    data = floats(random, data.shape[0], weight.shape[0], *random.integers(1, 4, data.ndim - 2))
    outputs = weight.shape[1] * groups
    pads = [int(random.integers(0, 2)) if k > 1 else 0 for k in (*weight.shape[2:], *weight.shape[2:])]
    extents = zip(data.shape[2:], strides, weight.shape[2:], dilations, strict=True)
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in extents]
    if any(each <= 2 for each in reach):
        pads = [0] * len(pads)
    output_padding = [int(random.integers(0, max(s, 1))) for s in strides]
    bias = None if bias is None else floats(random, outputs)
    return Drawn(
        [data, weight, bias],
        {"groups": groups, "strides": strides, "dilations": dilations, "pads": pads, "output_padding": output_padding},
    )


def _pool(**more: Any) -> Callable[[Random], Drawn]:
    def draw(random: Random) -> Drawn:
        rank = int(random.integers(1, 3))
        properties: dict[str, Any] = _windows(random, rank)
        kernel = [int(each) for each in random.integers(1, 4, rank)]
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, properties["dilations"], strict=True)]
        sizes = [extent + int(random.integers(1, 5)) for extent in extents]
        pads = [int(random.integers(0, extent)) for extent in (*extents, *extents)]
        drawn = {name: values[int(random.integers(len(values)))] for name, values in more.items()}
        properties = properties | {"kernel": kernel, "pads": pads, "ceil_mode": bool(random.integers(2))} | drawn
        return Drawn([floats(random, 2, 2, *sizes)], properties)

    return draw


def _images(random: Random) -> Array:
    return floats(
        random, *(int(each) for each in random.integers(1, 4, 2)), *random.integers(2, 4, random.integers(1, 3))
    )


def _norm(random: Random) -> tuple[Array, Array, Array]:
    data = _images(random)
    return data, floats(random, data.shape[1]), floats(random, data.shape[1])


def _batch_norm(random: Random) -> Drawn:
    data, scale, bias = _norm(random)
    return Drawn([data, scale, bias, floats(random, len(bias)), floats(random, len(bias), low=0.5)])


def _group_norm(random: Random) -> Drawn:
    groups, inner = (int(random.integers(1, 3)) for _ in range(2))
    channels = groups * inner
    data = floats(random, 2, channels, 3, 2)
    return Drawn([data, floats(random, channels), floats(random, channels)], {"groups": groups})


def _trailing(count: int) -> Callable[[Random], Drawn]:
    def draw(random: Random) -> Drawn:
        shape = (*any_shape(random, 1), 4)
        axis = int(random.integers(0, len(shape)))
        return Drawn([floats(random, *shape), *(floats(random, *shape[axis:]) for _ in range(count))], {"axis": axis})

    return draw


def _along_axis(random: Random, **more: Any) -> Drawn:
    shape = any_shape(random, 1)
    return Drawn([floats(random, *shape)], {"axis": int(random.integers(-len(shape), len(shape))), **more})


def _masked(random: Random) -> Drawn:
    shape = (2, 3, 4)
    mask = random.integers(0, 2, shape[-int(random.integers(1, 4)) :]).astype(np.int8)
    return Drawn([floats(random, *shape), mask], {"empty_rows": str(random.choice(["zero", "uniform"]))})


def _matmul(random: Random) -> Drawn:
    n, k, m = (int(each) for each in random.integers(1, 4, 3))
    kind, transposed = int(random.integers(4)), bool(random.integers(2))
    a, b = broadcast_shapes(random, 2) if kind == 3 else ((), ())
    left = (k,) if kind == 0 else (*a, n, k)
    right = (k,) if kind == 1 else (*b, m, k) if transposed else (*b, k, m)
    return Drawn([floats(random, *left), floats(random, *right)], {"transpose_b": transposed and kind != 1})


def _fully_connected(random: Random) -> Drawn:
    outer, (n, k, m) = any_shape(random), (int(each) for each in random.integers(1, 4, 3))
    bias = floats(random, m) if random.integers(2) else None
    return Drawn([floats(random, *outer, n, k), floats(random, m, k), bias])


EQUATIONS = {
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 2)],
    "...ij,...jk->...ik": [(2, 1, 3, 2), (4, 2, 3)],
    "ij->ji": [(2, 3)],
    "ij,kj->i": [(2, 3), (4, 3)],
    "i,j->ij": [(2,), (3,)],
    "bhqd,bhkd->bhqk": [(1, 2, 3, 2), (1, 2, 4, 2)],
    "ij,jk,kl->il": [(2, 3), (3, 2), (2, 4)],
    "ij,ij->": [(2, 3), (1, 3)],
}


def _einsum(random: Random) -> Drawn:
    equation = str(random.choice(list(EQUATIONS)))
    return Drawn([[floats(random, *shape) for shape in EQUATIONS[equation]]], {"equation": equation})


def _slice(random: Random) -> Drawn:
    shape = (5, 4, 7)
    axes = sorted(int(axis) for axis in random.choice(3, int(random.integers(1, 4)), replace=False))
    starts, ends, steps = [], [], []
    for axis in axes:
        step = int(random.choice([1, 1, 2, 3, -1, -2]))
        low, high = sorted(int(each) for each in random.integers(-shape[axis] - 1, shape[axis] + 2, 2))
        starts.append(low if step > 0 else high)
        ends.append(high if step > 0 else low if random.integers(2) else -100)
        steps.append(step)
    return Drawn([floats(random, *shape)], {"starts": starts, "ends": ends, "axes": axes, "steps": steps})


def _pad(random: Random) -> Drawn:
    mode = str(random.choice(["constant", "constant", "reflect", "edge", "wrap"]))
    pads = [int(each) for each in random.integers(-1 if mode == "constant" else 0, 3, 4)]
    value = floats(random, *((1,) if random.integers(2) else ())) if mode == "constant" and random.integers(2) else None
    return Drawn([floats(random, 2, 3, 4), value], {"pads": pads, "axes": [2, 1], "mode": mode})


def _concat(random: Random) -> Drawn:
    shape = list(any_shape(random, 1))
    axis = int(random.integers(len(shape)))
    sizes = random.integers(0, 3, random.integers(1, 4))
    return Drawn([[floats(random, *shape[:axis], int(n), *shape[axis + 1 :]) for n in sizes]], {"axis": axis})


def _indices(random: Random, size: int, *shape: int) -> Array:
    return random.integers(-size, size, shape)


def _gather(random: Random) -> Drawn:
    shape = any_shape(random, 1)
    axis = int(random.integers(len(shape)))
    return Drawn([floats(random, *shape), _indices(random, shape[axis], *any_shape(random)[:2])], {"axis": axis})


def _gather_elements(random: Random) -> Drawn:
    return Drawn([floats(random, 3, 4), _indices(random, 4, 2, 5)], {"axis": 1})


def _gather_nd(random: Random) -> Drawn:
    batch = int(random.integers(2))
    return Drawn(
        [floats(random, 2, 3, 2), _indices(random, 2, 2, 4, int(random.integers(1, 3)))], {"batch_dims": batch}
    )


def _scatter_elements(random: Random) -> Drawn:
    properties = {"axis": 1, "reduction": str(random.choice(["none", "add"]))}
    return Drawn([floats(random, 3, 4), _indices(random, 4, 2, 3), floats(random, 2, 3)], properties)


def _scatter_nd(random: Random) -> Drawn:
    properties = {"reduction": str(random.choice(["none", "add"]))}
    return Drawn([floats(random, 4, 2), _indices(random, 4, 3, 1), floats(random, 3, 2)], properties)


def _resize(random: Random) -> Drawn:
    mode = str(random.choice(resizing.MODES))
    modes = [each for each in resizing.COORDINATE_MODES if each != resizing.CROP]
    sizes = [int(each) for each in random.integers(1, 8, 2)]
    properties = {
        "mode": mode, "sizes": sizes, "axes": [2, 3], "coordinate_transformation_mode": str(random.choice(modes)),
        "antialias": mode != "nearest" and bool(random.integers(2)), "exclude_outside": bool(random.integers(2)),
    }  # fmt: skip
    return Drawn([floats(random, 1, 2, 3, 4)], properties)


def _attention(random: Random) -> Drawn:
    causal = bool(random.integers(2))
    shapes = (2, 4, 3, 2), (2, 2, 5, 2), (2, 2, 5, 3)
    return Drawn([*(floats(random, *shape) for shape in shapes)], {"is_causal": causal})


def _rotary(random: Random) -> Drawn:
    """The cosines and sines are taken for constants."""
    size = 4 if random.integers(2) else 0
    tables = [floats(random, 2, 3, (size or 6) // 2) for _ in range(2)]
    return Drawn(
        [floats(random, 2, 1, 3, 6), *tables], {"size": size, "interleaved": bool(random.integers(2))}, wrt="x0"
    )


def _layer(gates: int, **more: Any) -> Callable[[Random], Drawn]:
    def draw(random: Random) -> Drawn:
        direction = str(random.choice(["forward", "reverse", "bidirectional"]))
        count = 2 if direction == "bidirectional" else 1
        steps, batch, width, hidden = 3, 2, 2, 3
        shapes = (
            (steps, batch, width),
            (count, gates * hidden, width),
            (count, gates * hidden, hidden),
            (count, 2 * gates * hidden),
        )
        operands: list[Array | None] = [floats(random, *shape) for shape in shapes]
        states = [floats(random, count, batch, hidden) for _ in range(2 if gates == 4 else 1)]
        return Drawn([*operands, None, *states], {"hidden_size": hidden, "direction": direction, **more})

    return draw


def _types(*shape: int) -> list[Any]:
    return [TensorType(f64, shape)]


def _shaped(operation: type[NnOp], before: Sequence[int], after: Sequence[int], **more: Any) -> Row:
    return Row(
        operation,
        lambda random: Drawn([floats(random, *before)], more, _types(*after)),
        lambda t, p, x: x.reshape(after),
    )


# --- What torch computes ----------------------------------------------------------------------------------------------


def _torch_conv(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any = None) -> Any:
    rank = x.ndim - 2
    pads = p["pads"]
    around = [each for axis in reversed(range(rank)) for each in (pads[axis], pads[axis + rank])]
    conv = getattr(t.nn.functional, f"conv{rank}d")
    padded = t.nn.functional.pad(x, around)
    return conv(padded, w, b, stride=p["strides"], dilation=p["dilations"], groups=p["groups"])


def _torch_conv_transpose(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any = None) -> Any:
    rank = x.ndim - 2
    conv = getattr(t.nn.functional, f"conv_transpose{rank}d")
    whole = conv(x, w, None, stride=p["strides"], dilation=p["dilations"], groups=p["groups"])
    pads = [-each for axis in reversed(range(rank)) for each in (p["pads"][axis], p["pads"][axis + rank])]
    for place, more in enumerate(reversed(p["output_padding"])):
        pads[2 * place + 1] += more
    cut = t.nn.functional.pad(whole, pads)
    return cut if b is None else cut + b.reshape(-1, *[1] * rank)


def _torch_windows(t: Torch, p: Mapping[str, Any], x: Any, function: Callable[[Any, int], Any]) -> Any:
    """`function(elements, count)` of each window: its elements along the last axis; how many with its padding."""
    rank, sizes = x.ndim - 2, x.shape[2:]
    kernel, strides, dilations, pads = (p[each] for each in ("kernel", "strides", "dilations", "pads"))
    counts: list[int] = []
    for axis, size in enumerate(sizes):
        room = size + pads[axis] + pads[axis + rank] - (kernel[axis] - 1) * dilations[axis] - 1
        count = (-(-room // strides[axis]) if p["ceil_mode"] else room // strides[axis]) + 1
        counts.append(count - ((count - 1) * strides[axis] >= size + pads[axis]))
    found: list[Any] = []
    for window in np.ndindex(*counts):
        elements: list[Any] = []
        with_padding = 0
        for tap in np.ndindex(*kernel):
            place = [w * s + k * d - b for w, s, k, d, b in zip(window, strides, tap, dilations, pads, strict=False)]
            limits = zip(place, sizes, pads, pads[rank:], strict=False)
            with_padding += all(-begin <= each < size + end for each, size, begin, end in limits)
            if all(0 <= each < size for each, size in zip(place, sizes, strict=True)):
                elements.append(x[(slice(None), slice(None), *place)])
        found.append(function(t.stack(elements, -1), with_padding))
    return t.stack(found, -1).reshape(*x.shape[:2], *counts)


def _torch_average(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    def mean(elements: Any, with_padding: int) -> Any:
        return elements.sum(-1) / (with_padding if p["count_include_pad"] else elements.shape[-1])

    return _torch_windows(t, p, x, mean)


def _torch_first(t: Torch, elements: Any) -> Any:
    return elements.max(-1).values


def _torch_reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda t, p, x: function(t, x, tuple(p["axes"]), p["keep_dims"])


def _torch_prod(t: Torch, x: Any, axes: Sequence[int], keep: bool) -> Any:
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def _torch_matmul(t: Torch, p: Mapping[str, Any], a: Any, b: Any) -> Any:
    return t.matmul(a, b.transpose(-1, -2) if p["transpose_b"] else b)


def _torch_attention(t: Torch, p: Mapping[str, Any], q: Any, k: Any, v: Any) -> Any:
    k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], 1) for each in (k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if p["is_causal"]:
        scores = scores.masked_fill(t.ones(q.shape[2], k.shape[2], dtype=bool).tril().logical_not(), -math.inf)
    return t.softmax(scores, -1) @ v


def _torch_masked(t: Torch, p: Mapping[str, Any], x: Any, mask: Any) -> Any:
    mask = mask.bool().broadcast_to(x.shape)
    some = mask.any(-1, keepdim=True)
    y = t.softmax(x.masked_fill(~mask & some, -math.inf), -1)
    return t.where(some, y, 1 / x.shape[-1] if p["empty_rows"] == "uniform" else 0.0)


def _torch_batch_norm(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any, mean: Any, variance: Any) -> Any:
    around = (-1, *(1 for _ in x.shape[2:]))
    mean, variance, w, b = (each.reshape(around) for each in (mean, variance, w, b))
    return (x - mean) / t.sqrt(variance + EPSILON) * w + b


def _torch_layer_norm(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any) -> Any:
    return t.nn.functional.layer_norm(x, w.shape, w, b, EPSILON)


def _torch_pad(t: Torch, p: Mapping[str, Any], x: Any, value: Any = None) -> Any:
    (first, second), (first_end, second_end) = p["pads"][:2], p["pads"][2:]  # of the axes 2 and 1
    if p["mode"] == "constant":
        added = t.zeros((), dtype=x.dtype) if value is None else value.reshape(())
        mask = t.nn.functional.pad(t.ones_like(x), (first, first_end, second, second_end))
        return t.nn.functional.pad(x, (first, first_end, second, second_end)) + added * (1 - mask)
    modes: dict[str, Any] = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}
    for axis, pads in ((2, (first, first_end)), (1, (second, second_end))):
        sources = np.pad(np.arange(x.shape[axis]), pads, mode=modes[p["mode"]])
        x = x.index_select(axis, t.tensor(sources))
    return x


def _torch_slice(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    for start, end, axis, step in zip(p["starts"], p["ends"], p["axes"], p["steps"], strict=True):
        size = x.shape[axis]
        taken = range(size)[slice(start, None if end < -size and step < 0 else end, step)]
        x = x.index_select(axis, t.tensor(list(taken), dtype=t.int64))
    return x


def _torch_layer(step: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
    """All states, then the last ones, of a layer that takes `step(t, W x + b, R, b_r, states)`."""

    def layer(t: Torch, p: Mapping[str, Any], x: Any, w: Any, r: Any, b: Any, *initial: Any) -> Any:
        walks = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[p["direction"]]
        outputs, lasts = [], []
        for d, is_reverse in enumerate(walks):
            states = tuple(each[d] for each in initial)
            half = b.shape[1] // 2
            found = []
            for place in reversed(range(len(x))) if is_reverse else range(len(x)):
                states = step(t, x[place] @ w[d].T + b[d, :half], r[d], b[d, half:], states)
                found.append(states[0])
            outputs.append(t.stack(found[::-1] if is_reverse else found))
            lasts.append(states)
        return t.stack(outputs, 1), *(t.stack(each) for each in zip(*lasts, strict=True))

    return layer


def _rnn_step(t: Torch, x: Any, r: Any, b: Any, states: Any) -> Any:
    return (t.tanh(x + states[0] @ r.T + b),)


def _lstm_step(t: Torch, x: Any, r: Any, b: Any, states: Any) -> Any:
    h, c = states
    i, o, f, g = (x + h @ r.T + b).chunk(4, -1)
    c = t.sigmoid(f) * c + t.sigmoid(i) * t.tanh(g)
    return t.sigmoid(o) * t.tanh(c), c


def _gru_step(t: Torch, x: Any, r: Any, b: Any, states: Any) -> Any:
    (h,) = states
    (xz, xr, xh), (hz, hr, hh) = x.chunk(3, -1), (h @ r.T + b).chunk(3, -1)
    z, reset = t.sigmoid(xz + hz), t.sigmoid(xr + hr)
    return ((1 - z) * t.tanh(xh + reset * hh) + z * h,)


def _torch_blocks(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    n, c, h, w = x.shape
    b = p["block_size"]
    if p["mode"] == "DCR":
        return x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)
    return t.nn.functional.pixel_shuffle(x, b)


EPSILON = float(np.float32(1e-5))

UNARY_TORCH: dict[str, Callable[..., Any]] = {
    "abs": lambda t, p, x: t.abs(x), "neg": lambda t, p, x: -x, "sqrt": lambda t, p, x: t.sqrt(x),
    "exp": lambda t, p, x: t.exp(x), "log": lambda t, p, x: t.log(x), "reciprocal": lambda t, p, x: 1 / x,
    "erf": lambda t, p, x: t.erf(x), "sin": lambda t, p, x: t.sin(x), "cos": lambda t, p, x: t.cos(x),
    "tan": lambda t, p, x: t.tan(x), "asin": lambda t, p, x: t.asin(x), "acos": lambda t, p, x: t.acos(x),
    "atan": lambda t, p, x: t.atan(x), "sinh": lambda t, p, x: t.sinh(x), "cosh": lambda t, p, x: t.cosh(x),
    "asinh": lambda t, p, x: t.asinh(x), "acosh": lambda t, p, x: t.acosh(x), "atanh": lambda t, p, x: t.atanh(x),
    "floor": lambda t, p, x: t.floor(x), "ceil": lambda t, p, x: t.ceil(x), "round": lambda t, p, x: t.round(x),
    "sign": lambda t, p, x: t.sign(x),
    "clip": lambda t, p, x: t.clamp(x, p.get("minimum", -9), p.get("maximum")),
    "relu": lambda t, p, x: t.relu(x),
    "leaky_relu": lambda t, p, x: t.nn.functional.leaky_relu(x, p["alpha"]),
    "thresholded_relu": lambda t, p, x: t.nn.functional.threshold(x, p["alpha"], 0.0),
    "elu": lambda t, p, x: t.nn.functional.elu(x, p["alpha"]),
    "celu": lambda t, p, x: t.nn.functional.celu(x, p["alpha"]),
    "selu": lambda t, p, x: p["gamma"] * t.nn.functional.elu(x, p["alpha"]),
    "sigmoid": lambda t, p, x: t.sigmoid(x),
    "hard_sigmoid": lambda t, p, x: t.clamp(x * p["alpha"] + p["beta"], 0, 1),
    "hard_swish": lambda t, p, x: t.nn.functional.hardswish(x),
    "swish": lambda t, p, x: x * t.sigmoid(x * p["alpha"]),
    "mish": lambda t, p, x: t.nn.functional.mish(x),
    "tanh": lambda t, p, x: t.tanh(x),
    "softplus": lambda t, p, x: t.nn.functional.softplus(x),
    "softsign": lambda t, p, x: t.nn.functional.softsign(x),
    "gelu": lambda t, p, x: t.nn.functional.gelu(x, approximate="tanh" if p["tanh_approximation"] else "none"),
}  # fmt: skip

PROPERTIES: dict[type[NnOp], Sequence[Mapping[str, Any]]] = {
    elementwise.ClipOp: [{"minimum": -1.0, "maximum": 0.5}, {"minimum": 0.5}, {}],
    activations.LeakyReluOp: [{"alpha": 0.125}],
    activations.ThresholdedReluOp: [{"alpha": 0.75}],
    activations.EluOp: [{"alpha": 0.75}],
    activations.CeluOp: [{"alpha": 0.75}],
    activations.SeluOp: [{"alpha": 1.625, "gamma": 1.0625}],
    activations.HardSigmoidOp: [{"alpha": 0.25, "beta": 0.5}],
    activations.SwishOp: [{"alpha": 1.0}, {"alpha": 1.5}],
    activations.GeluOp: [{"tanh_approximation": False}, {"tanh_approximation": True}],
}

BINARY_TORCH: dict[type[NnOp], Callable[..., Any]] = {
    elementwise.AddOp: lambda t, p, a, b: a + b,
    elementwise.SubOp: lambda t, p, a, b: a - b,
    elementwise.MulOp: lambda t, p, a, b: a * b,
    elementwise.DivOp: lambda t, p, a, b: a / b,
    elementwise.MinOp: lambda t, p, a, b: t.minimum(a, b),
    elementwise.MaxOp: lambda t, p, a, b: t.maximum(a, b),
}

REDUCTION_TORCH: dict[type[NnOp], Callable[..., Any]] = {
    reduction.ReduceSumOp: lambda t, x, a, k: x.sum(a, keepdim=k),
    reduction.ReduceMeanOp: lambda t, x, a, k: x.mean(a, keepdim=k),
    reduction.ReduceProdOp: _torch_prod,
    reduction.ReduceL1Op: lambda t, x, a, k: x.abs().sum(a, keepdim=k),
    reduction.ReduceL2Op: lambda t, x, a, k: t.linalg.vector_norm(x, 2, a, keepdim=k),
    reduction.ReduceLogSumOp: lambda t, x, a, k: x.sum(a, keepdim=k).log(),
    reduction.ReduceLogSumExpOp: lambda t, x, a, k: x.logsumexp(a, keepdim=k),
    reduction.ReduceSumSquareOp: lambda t, x, a, k: (x * x).sum(a, keepdim=k),
    reduction.ReduceMaxOp: lambda t, x, a, k: x.amax(a, keepdim=k),
    reduction.ReduceMinOp: lambda t, x, a, k: x.amin(a, keepdim=k),
}


def subclasses(base: type[NnOp], *modules: Any) -> Iterator[type[Any]]:
    """The operations of these modules that derive from `base`."""
    for module in modules:
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, base) and "name" in vars(each):
                yield each


def _rows() -> Iterator[Row]:
    for operation in subclasses(elementwise.UnaryOp, elementwise, activations):
        short = operation.name.removeprefix("nn.")
        for properties in PROPERTIES.get(operation, [{}]):
            yield Row(operation, _unary(operation, properties), UNARY_TORCH.get(short))
    for operation, torch in BINARY_TORCH.items():
        yield Row(operation, _binary(), torch)
    yield Row(elementwise.PowOp, _binary(0.2), lambda t, p, a, b: a**b)
    yield Row(elementwise.ModOp, _binary(properties={"fmod": False}), lambda t, p, a, b: t.remainder(a, b))
    yield Row(elementwise.ModOp, _binary(properties={"fmod": True}), lambda t, p, a, b: t.fmod(a, b))
    for operation in subclasses(reduction.ReduceOp, reduction):
        yield Row(operation, _reduced, _torch_reduced(REDUCTION_TORCH[operation]))
    yield from TABLE


def _where(random: Random) -> Drawn:
    a, b, c = broadcast_shapes(random, 3)
    return Drawn([random.integers(0, 2, a).astype(np.int8), floats(random, *b), floats(random, *c)])


def _running(random: Random) -> Drawn:
    return _along_axis(random, exclusive=bool(random.integers(2)), reverse=bool(random.integers(2)))


def _torch_running(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    x = x.flip(p["axis"]) if p["reverse"] else x
    y = x.cumsum(p["axis"]) - (x if p["exclusive"] else 0)
    return y.flip(p["axis"]) if p["reverse"] else y


def _torch_norm(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any) -> Any:
    return t.nn.functional.group_norm(x, p.get("groups", x.shape[1]), w, b, EPSILON)


def _torch_neighbours(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    size = p["size"]
    around = (0, 0) * (x.ndim - 2) + ((size - 1) // 2, size // 2)
    squares = t.nn.functional.pad(x * x, around)
    total = sum(squares[:, place : place + x.shape[1]] for place in range(size))
    return x / (1.0 + p["alpha"] / size * total) ** p["beta"]


def _pair(shape: Sequence[int]) -> Callable[[Random], Drawn]:
    return lambda random: Drawn([floats(random, *shape)], {"block_size": 2, "mode": str(random.choice(["DCR", "CRD"]))})


def _shape(*shape: int, **properties: Any) -> Callable[[Random], Drawn]:
    return lambda random: Drawn([floats(random, *shape)], properties)


TABLE: list[Row] = [
    Row(elementwise.WhereOp, _where, lambda t, p, c, a, b: t.where(c.bool(), a, b)),
    Row(
        elementwise.CastOp,
        lambda random: Drawn([floats(random, 2, 3)], {}, _types(2, 3)),
        lambda t, p, x: x.clone(),
    ),
    Row(
        activations.PReluOp,
        lambda r: Drawn([floats(r, 2, 3, 4), floats(r, 3, 1)]),
        lambda t, p, x, s: t.where(x > 0, x, x * s),
    ),
    Row(contraction.MatMulOp, _matmul, _torch_matmul),
    Row(contraction.FullyConnectedOp, _fully_connected, lambda t, p, x, w, b=None: t.nn.functional.linear(x, w, b)),
    Row(contraction.ConvOp, _conv, _torch_conv),
    Row(contraction.ConvTransposeOp, _conv_transpose, _torch_conv_transpose),
    Row(einsum.EinsumOp, _einsum, lambda t, p, *x: t.einsum(p["equation"], *x)),
    Row(reduction.CumSumOp, _running, _torch_running),
    Row(pooling.MaxPoolOp, _pool(), lambda t, p, x: _torch_windows(t, p, x, lambda e, n: _torch_first(t, e))),
    Row(
        pooling.MaxPoolWithIndicesOp, _pool(), lambda t, p, x: _torch_windows(t, p, x, lambda e, n: _torch_first(t, e))
    ),
    Row(pooling.AveragePoolOp, _pool(count_include_pad=[True, False]), _torch_average),
    Row(
        pooling.LpPoolOp,
        _pool(p=[1, 2, 3]),
        lambda t, p, x: _torch_windows(t, p, x, lambda e, n: t.linalg.vector_norm(e, p["p"], -1)),
    ),
    Row(
        pooling.GlobalAveragePoolOp,
        lambda r: Drawn([_images(r)]),
        lambda t, p, x: x.flatten(2).mean(2).reshape(*x.shape[:2], *[1] * (x.ndim - 2)),
    ),
    Row(
        pooling.GlobalMaxPoolOp,
        lambda r: Drawn([_images(r)]),
        lambda t, p, x: x.flatten(2).amax(2).reshape(*x.shape[:2], *[1] * (x.ndim - 2)),
    ),
    Row(
        pooling.GlobalLpPoolOp,
        lambda r: Drawn([_images(r)], {"p": int(r.integers(1, 4))}),
        lambda t, p, x: t.linalg.vector_norm(x.flatten(2), p["p"], 2).reshape(*x.shape[:2], *[1] * (x.ndim - 2)),
    ),
    Row(normalization.BatchNormOp, _batch_norm, _torch_batch_norm),
    Row(
        normalization.InstanceNormOp, lambda r: Drawn([floats(r, 2, 3, 4, 2), floats(r, 3), floats(r, 3)]), _torch_norm
    ),
    Row(normalization.GroupNormOp, _group_norm, _torch_norm),
    Row(normalization.LayerNormOp, _trailing(2), _torch_layer_norm),
    Row(
        normalization.RmsNormOp,
        _trailing(1),
        lambda t, p, x, w: t.nn.functional.rms_norm(x, w.shape, w, EPSILON),
    ),
    Row(
        normalization.LpNormOp,
        lambda r: _along_axis(r, p=int(r.integers(1, 3))),
        lambda t, p, x: x / t.linalg.vector_norm(x, p["p"], p["axis"], keepdim=True),
    ),
    Row(
        normalization.LocalResponseNormOp,
        lambda r: Drawn([floats(r, 2, 5, 3)], {"size": int(r.integers(1, 6)), "alpha": 0.5, "beta": 0.75}),
        _torch_neighbours,
    ),
    Row(softmax.SoftmaxOp, _along_axis, lambda t, p, x: t.softmax(x, p["axis"])),
    Row(softmax.SoftmaxOp, _masked, _torch_masked),
    Row(softmax.LogSoftmaxOp, _along_axis, lambda t, p, x: t.log_softmax(x, p["axis"])),
    Row(
        softmax.HardmaxOp,
        _along_axis,
        lambda t, p, x: (x * 0).scatter(p["axis"], x.argmax(p["axis"], True), 1.0) + x * 0,
    ),
    Row(attention.AttentionOp, _attention, _torch_attention),
    Row(attention.RotaryEmbeddingOp, _rotary),
    Row(recurrent.RnnOp, _layer(1), _torch_layer(_rnn_step)),
    Row(recurrent.LstmOp, _layer(4), _torch_layer(_lstm_step)),
    Row(recurrent.GruOp, _layer(3, linear_before_reset=True), _torch_layer(_gru_step)),
    _shaped(movement.ReshapeOp, (2, 3, 4), (4, 6)),
    _shaped(movement.SqueezeOp, (2, 1, 3), (2, 3), axes=[1]),
    _shaped(movement.UnsqueezeOp, (2, 3), (2, 1, 3), axes=[1]),
    Row(movement.TransposeOp, _shape(2, 3, 4, permutation=[1, 2, 0]), lambda t, p, x: x.permute(1, 2, 0)),
    Row(movement.SliceOp, _slice, _torch_slice),
    Row(movement.ConcatOp, _concat, lambda t, p, *x: t.cat(x, p["axis"])),
    Row(
        movement.SplitOp,
        lambda r: Drawn([floats(r, 2, 5)], {"axis": 1, "split": [2, 3]}, [*_types(2, 2), *_types(2, 3)], 2),
        lambda t, p, x: t.split(x, [2, 3], 1),
    ),
    Row(movement.DepthToSpaceOp, _pair((1, 8, 2, 3)), _torch_blocks),
    Row(movement.SpaceToDepthOp, _pair((1, 2, 4, 6))),
    Row(expansion.ExpandOp, _shape(3, 1, shape=[2, 1, 4]), lambda t, p, x: x.expand(2, 3, 4)),
    Row(expansion.TileOp, _shape(2, 3, repeats=[3, 2]), lambda t, p, x: x.tile(3, 2)),
    Row(expansion.PadOp, _pad, _torch_pad),
    Row(
        expansion.TriluOp,
        lambda r: Drawn([floats(r, 2, 3, 4)], {"k": int(r.integers(-2, 3)), "upper": bool(r.integers(2))}),
        lambda t, p, x: (t.triu if p["upper"] else t.tril)(x, p["k"]),
    ),
    Row(indexing.GatherOp, _gather),
    Row(
        indexing.GatherElementsOp,
        _gather_elements,
        lambda t, p, x, i: x.gather(1, i % 4) if len(i) == len(x) else x[:2].gather(1, i % 4),
    ),
    Row(indexing.GatherNDOp, _gather_nd),
    Row(indexing.ScatterElementsOp, _scatter_elements),
    Row(indexing.ScatterNDOp, _scatter_nd),
    Row(indexing.OneHotOp, lambda r: Drawn([r.integers(-3, 5, (2, 2)), floats(r, 2)], {"depth": 4, "axis": 1})),
    Row(
        selection.TopKOp,
        lambda r: Drawn([floats(r, 2, 5)], {"k": 3, "axis": 1, "largest": bool(r.integers(2))}),
        lambda t, p, x: x.topk(3, 1, p["largest"]).values,
    ),
    Row(
        selection.ReverseSequenceOp,
        lambda r: Drawn([floats(r, 4, 3), r.integers(0, 5, 3)], {"batch_axis": 1, "time_axis": 0}),
    ),
    Row(resizing.ResizeOp, _resize),
]

ROWS = list(_rows())
NAMES = [f"{row.operation.name} {place}" for place, row in enumerate(ROWS)]
