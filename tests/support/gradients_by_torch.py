"""What torch computes of the operands of an operation: functions of the module `torch`, the properties, and tensors."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.reduction import ops as reduction

Torch = Any


def torch_conv(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any = None) -> Any:
    rank = x.ndim - 2
    pads = p["pads"]
    around = [each for axis in reversed(range(rank)) for each in (pads[axis], pads[axis + rank])]
    conv = getattr(t.nn.functional, f"conv{rank}d")
    padded = t.nn.functional.pad(x, around)
    return conv(padded, w, b, stride=p["strides"], dilation=p["dilations"], groups=p["groups"])


def torch_conv_transpose(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any = None) -> Any:
    rank = x.ndim - 2
    conv = getattr(t.nn.functional, f"conv_transpose{rank}d")
    whole = conv(x, w, None, stride=p["strides"], dilation=p["dilations"], groups=p["groups"])
    pads = [-each for axis in reversed(range(rank)) for each in (p["pads"][axis], p["pads"][axis + rank])]
    for position, more in enumerate(reversed(p["output_padding"])):
        pads[2 * position + 1] += more
    cut = t.nn.functional.pad(whole, pads)
    return cut if b is None else cut + b.reshape(-1, *[1] * rank)


def torch_windows(t: Torch, p: Mapping[str, Any], x: Any, function: Callable[[Any, int], Any]) -> Any:
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
            position = [w * s + k * d - b for w, s, k, d, b in zip(window, strides, tap, dilations, pads, strict=False)]
            limits = zip(position, sizes, pads, pads[rank:], strict=False)
            with_padding += all(-begin <= each < size + end for each, size, begin, end in limits)
            if all(0 <= each < size for each, size in zip(position, sizes, strict=True)):
                elements.append(x[(slice(None), slice(None), *position)])
        found.append(function(t.stack(elements, -1), with_padding))
    return t.stack(found, -1).reshape(*x.shape[:2], *counts)


def torch_average(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    def mean(elements: Any, with_padding: int) -> Any:
        return elements.sum(-1) / (with_padding if p["count_include_pad"] else elements.shape[-1])

    return torch_windows(t, p, x, mean)


def torch_first(t: Torch, elements: Any) -> Any:
    return elements.max(-1).values


def torch_reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda t, p, x: function(t, x, tuple(p["axes"]), p["keep_dims"])


def torch_prod(t: Torch, x: Any, axes: Sequence[int], keep: bool) -> Any:
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def torch_matmul(t: Torch, p: Mapping[str, Any], a: Any, b: Any) -> Any:
    return t.matmul(a, b.transpose(-1, -2) if p["transpose_b"] else b)


def torch_attention(t: Torch, p: Mapping[str, Any], q: Any, k: Any, v: Any) -> Any:
    k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], 1) for each in (k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if p["is_causal"]:
        scores = scores.masked_fill(t.ones(q.shape[2], k.shape[2], dtype=bool).tril().logical_not(), -math.inf)
    return t.softmax(scores, -1) @ v


def torch_masked(t: Torch, p: Mapping[str, Any], x: Any, mask: Any) -> Any:
    mask = mask.bool().broadcast_to(x.shape)
    some = mask.any(-1, keepdim=True)
    y = t.softmax(x.masked_fill(~mask & some, -math.inf), -1)
    return t.where(some, y, 1 / x.shape[-1] if p["empty_rows"] == "uniform" else 0.0)


def torch_batch_norm(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any, mean: Any, variance: Any) -> Any:
    around = (-1, *(1 for _ in x.shape[2:]))
    mean, variance, w, b = (each.reshape(around) for each in (mean, variance, w, b))
    return (x - mean) / t.sqrt(variance + EPSILON) * w + b


def torch_batch_norm_training(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any, *running: Any) -> Any:
    """ONNX's running variance is moved by that of the batch over its number of elements, torch's by one less."""
    axes, momentum = [axis for axis in range(x.ndim) if axis != 1], float(np.float32(0.9))
    batch = x.mean(axes), x.var(axes, unbiased=False)
    moved = [momentum * old + (1 - momentum) * new for old, new in zip(running, batch, strict=True)]
    return (t.nn.functional.batch_norm(x, None, None, w, b, training=True, eps=EPSILON), *moved, *batch)


def torch_dropout(t: Torch, p: Mapping[str, Any], x: Any, ratio: Any, training: Any = None) -> Any:
    """The numbers that ONNX's reference draws."""
    if training is not None and not training:
        return x * 1.0
    kept = t.tensor(np.random.RandomState(p["seed"]).uniform(0, 1, tuple(x.shape)) >= float(ratio))
    return t.where(kept, x / (1 - ratio.double()), 0.0)


def torch_layer_norm(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any) -> Any:
    return t.nn.functional.layer_norm(x, w.shape, w, b, EPSILON)


def torch_pad(t: Torch, p: Mapping[str, Any], x: Any, value: Any = None) -> Any:
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


def torch_slice(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    for start, end, axis, step in zip(p["starts"], p["ends"], p["axes"], p["steps"], strict=True):
        size = x.shape[axis]
        taken = range(size)[slice(start, None if end < -size and step < 0 else end, step)]
        x = x.index_select(axis, t.tensor(list(taken), dtype=t.int64))
    return x


def torch_layer(step: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
    """All states, then the last ones, of a layer that takes `step(t, W x + b, R, b_r, states)`."""

    def layer(t: Torch, p: Mapping[str, Any], x: Any, w: Any, r: Any, b: Any, *initial: Any) -> Any:
        walks = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[p["direction"]]
        outputs, lasts = [], []
        for d, is_reverse in enumerate(walks):
            states = tuple(each[d] for each in initial)
            half = b.shape[1] // 2
            found = []
            for position in reversed(range(len(x))) if is_reverse else range(len(x)):
                states = step(t, x[position] @ w[d].T + b[d, :half], r[d], b[d, half:], states)
                found.append(states[0])
            outputs.append(t.stack(found[::-1] if is_reverse else found))
            lasts.append(states)
        return t.stack(outputs, 1), *(t.stack(each) for each in zip(*lasts, strict=True))

    return layer


def rnn_step(t: Torch, x: Any, r: Any, b: Any, states: Any) -> Any:
    return (t.tanh(x + states[0] @ r.T + b),)


def lstm_step(t: Torch, x: Any, r: Any, b: Any, states: Any) -> Any:
    h, c = states
    i, o, f, g = (x + h @ r.T + b).chunk(4, -1)
    c = t.sigmoid(f) * c + t.sigmoid(i) * t.tanh(g)
    return t.sigmoid(o) * t.tanh(c), c


def gru_step(t: Torch, x: Any, r: Any, b: Any, states: Any) -> Any:
    (h,) = states
    (xz, xr, xh), (hz, hr, hh) = x.chunk(3, -1), (h @ r.T + b).chunk(3, -1)
    z, reset = t.sigmoid(xz + hz), t.sigmoid(xr + hr)
    return ((1 - z) * t.tanh(xh + reset * hh) + z * h,)


def torch_blocks(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
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
    reduction.ReduceProdOp: torch_prod,
    reduction.ReduceL1Op: lambda t, x, a, k: x.abs().sum(a, keepdim=k),
    reduction.ReduceL2Op: lambda t, x, a, k: t.linalg.vector_norm(x, 2, a, keepdim=k),
    reduction.ReduceLogSumOp: lambda t, x, a, k: x.sum(a, keepdim=k).log(),
    reduction.ReduceLogSumExpOp: lambda t, x, a, k: x.logsumexp(a, keepdim=k),
    reduction.ReduceSumSquareOp: lambda t, x, a, k: (x * x).sum(a, keepdim=k),
    reduction.ReduceMaxOp: lambda t, x, a, k: x.amax(a, keepdim=k),
    reduction.ReduceMinOp: lambda t, x, a, k: x.amin(a, keepdim=k),
}


def torch_running(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    x = x.flip(p["axis"]) if p["reverse"] else x
    y = x.cumsum(p["axis"]) - (x if p["exclusive"] else 0)
    return y.flip(p["axis"]) if p["reverse"] else y


def torch_norm(t: Torch, p: Mapping[str, Any], x: Any, w: Any, b: Any) -> Any:
    return t.nn.functional.group_norm(x, p.get("groups", x.shape[1]), w, b, EPSILON)


def torch_neighbours(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    size = p["size"]
    around = (0, 0) * (x.ndim - 2) + ((size - 1) // 2, size // 2)
    squares = t.nn.functional.pad(x * x, around)
    total = sum(squares[:, position : position + x.shape[1]] for position in range(size))
    return x / (1.0 + p["alpha"] / size * total) ** p["beta"]


def torch_space_to_depth(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    b, (n, c, h, w) = p["block_size"], x.shape
    if p["mode"] == "CRD":
        return t.nn.functional.pixel_unshuffle(x, b)
    return x.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def torch_gather(t: Torch, p: Mapping[str, Any], x: Any, i: Any) -> Any:
    axis = p["axis"]
    found = x.index_select(axis, i.flatten() % x.shape[axis])
    return found.reshape((*x.shape[:axis], *i.shape, *x.shape[axis + 1 :]))


def torch_gather_nd(t: Torch, p: Mapping[str, Any], x: Any, i: Any) -> Any:
    if p["batch_dims"]:
        return t.stack([each[tuple(own.unbind(-1))] for each, own in zip(x, i, strict=True)])
    return x[tuple(i.unbind(-1))]


def torch_scatter_elements(t: Torch, p: Mapping[str, Any], x: Any, i: Any, updates: Any) -> Any:
    """Of several updates of an element the last stays; torch's own scatter gives each of them its gradient."""
    if p["reduction"] == "add":
        return x.scatter_add(1, i % x.shape[1], updates)
    found = x.clone()
    for row, column in np.ndindex(*i.shape):
        found[row, i[row, column]] = updates[row, column]
    return found


def torch_scatter_nd(t: Torch, p: Mapping[str, Any], x: Any, i: Any, updates: Any) -> Any:
    positions = i[:, 0] % len(x)
    if p["reduction"] == "add":
        return x.index_add(0, positions, updates)
    found = x.clone()
    for position, update in zip(positions, updates, strict=True):
        found[position] = update
    return found


def torch_one_hot(t: Torch, p: Mapping[str, Any], i: Any, values: Any) -> Any:
    """What is outside of `[-depth, depth)` is nowhere."""
    counted = t.where(i < 0, i + p["depth"], i)
    return t.where(t.arange(p["depth"])[None, :, None] == counted[:, None, :], values[1], values[0])


def torch_reverse_sequence(t: Torch, p: Mapping[str, Any], x: Any, lengths: Any) -> Any:
    columns = zip(x.unbind(1), lengths.tolist(), strict=True)
    return t.stack([t.cat([column[:length].flip(0), column[length:]]) for column, length in columns], 1)


def torch_rotary(t: Torch, p: Mapping[str, Any], x: Any, cosines: Any, sines: Any) -> Any:
    """The first `size` of each head turn, all of them where it is 0: halves, or neighbours."""
    size = p["size"] or x.shape[-1]
    turned, left = x[..., :size], x[..., size:]
    one, other = (turned[..., ::2], turned[..., 1::2]) if p["interleaved"] else turned.chunk(2, -1)
    cosines, sines = cosines[:, None], sines[:, None]
    parts = cosines * one - sines * other, sines * one + cosines * other
    return t.cat([t.stack(parts, -1).flatten(-2) if p["interleaved"] else t.cat(parts, -1), left], -1)


def torch_resize(t: Torch, p: Mapping[str, Any], x: Any) -> Any:
    if p["mode"] == "nearest":
        return t.nn.functional.interpolate(x, p["sizes"], mode="nearest")
    mode = {"linear": "bilinear", "cubic": "bicubic"}[p["mode"]]
    is_aligned, is_smooth = p["coordinate_transformation_mode"] == "align_corners", p.get("antialias", False)
    return t.nn.functional.interpolate(x, p["sizes"], mode=mode, align_corners=is_aligned, antialias=is_smooth)
