"""Contractions, powers, normalizations, softmax, GELU and attention, spelled out part by part as ONNX defines them."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from qmlir.arithmetic.functions import FUNCTIONS
from qmlir.ir.builtin_types import element_of
from tests.levels.oracle.steps import F32, Array, Steps, Type, UnknownError, Value, exact_reals, quantized

# --- Contractions -----------------------------------------------------------------------------------------------------


def _with_bias(
    op: Any, steps: Steps, role: str, product: Callable[[str, Value | None], Value], bias: Value | None
) -> Any:
    """A contraction in one step, or its products in a type of their own and a sum."""
    if op.components is None or bias is None:
        return product("result", bias)
    return steps.on_one_scale("result", np.add, product(role, None), bias)


def _numbers(element: Any, shape: tuple[int, ...], axes: tuple[int, ...], first: int) -> Array:
    """The number of each weight's block among those of its sum; `first` weights of the first of `axes` are of one."""
    blocks, numbers = dict(zip(element.axes, element.block_sizes, strict=True)), np.zeros(shape, np.int64)
    for axis in axes:
        count = first if axis == axes[0] else shape[axis]
        size = blocks.get(axis, count)
        positions = np.arange(shape[axis]) % count // size
        numbers = numbers * (count // size) + np.expand_dims(
            positions, [other for other in range(len(shape)) if other != axis]
        )
    return numbers


def _sum_of_blocks(
    type_: Type, x: Value, w: Value, numbers: Array, channel: Array, sums: Callable[[Array], Array], bias: Value | None
) -> Value:
    """`t = f32(t + f32(f32(s_x * s_b) * f32(a_b)))` from 0, then the bias; `channel` is that of each weight's sum."""
    scales, integers = (np.broadcast_to(each, w.array.shape) for each in (w.own.scale, w.integers))
    channel, total = np.broadcast_to(channel, w.array.shape), F32(0)
    for block in range(numbers.max() + 1):
        mine = numbers == block
        own = np.array([scales[mine & (channel == each)][0] for each in range(channel.max() + 1)], F32)
        part = sums(np.where(mine, integers, 0)).astype(F32)  # its channels are the last axis
        total = np.asarray(total + np.asarray(x.own.scale * own, F32) * part, F32)
    return quantized(total if bias is None else total + bias.real.reshape(-1), type_)


def _fully_connected(op: Any, x: Value, w: Value, bias: Value | None) -> tuple[Value, ...]:
    steps = Steps(op, {"result": op.result})
    if bias is None:
        steps.types.pop("matmul", None)
    channel = np.arange(w.array.shape[0])[:, None]

    def product(role: str, added: Value | None) -> Value:
        if not w.own.is_block:
            return steps.matmul(role, x, w, bias=added)
        numbers = _numbers(element_of(op.weight), w.array.shape, (1,), w.array.shape[1])
        type_ = steps.type_of(role, (*x.array.shape[:-1], w.array.shape[0]))
        return _sum_of_blocks(type_, x, w, numbers, channel, lambda own: x.integers @ own.T, added)

    return (_with_bias(op, steps, "matmul", product, bias),)


def _taps(op: Any, kernel: tuple[int, ...]) -> tuple[Any, Any, Any]:
    spatial = len(kernel)
    lists = (op.strides, op.dilations, op.pads)
    return tuple(
        [int(n) for n in each.get_values()] if each is not None else [default] * count
        for each, default, count in zip(lists, (1, 1, 0), (spatial, spatial, 2 * spatial), strict=True)
    )  # pyright: ignore[reportReturnType]


def _for_channels(value: Value, spatial: int) -> Value:
    """A bias beside `[N, C, …]`."""
    along = (-1, *(1,) * spatial)
    own = value.own
    scale, zero = (each.reshape(along) if each.size > 1 else each.reshape(-1)[:1] for each in (own.scale, own.zero))
    type_ = Type(scale, zero, own.low, own.high)
    return Value(value.array.reshape(along), type_)


def _convolution(op: Any, x: Value, w: Value, bias: Value | None, is_transposed: bool) -> tuple[Value, ...]:
    steps, groups = Steps(op, {"result": op.result}), op.groups.value.data
    spatial, shape = w.array.ndim - 2, w.array.shape
    inner, outer = shape[1], shape[0] // groups
    channels = inner * groups if is_transposed else shape[0]
    sums = partial(_transposed_sums if is_transposed else _sums, op, x.integers, groups)
    if bias is None:
        steps.types.pop("correlation", None)

    def product(role: str, added: Value | None) -> Value:
        if not w.own.is_block:
            scale = np.asarray(x.own.scale * w.own.scale, F32).reshape(-1)
            if scale.size == 1:
                scale = scale.reshape(())
            elif w.own.axis is not None:
                scale = np.tile(scale, channels // scale.size).reshape(-1, *(1,) * spatial)
            return steps.products(role, x, w, sums(np.broadcast_to(w.integers, shape)), scale, added)
        channel, axes = np.arange(shape[0]), (1, *range(2, len(shape)))
        if is_transposed:
            channel, axes = np.add.outer(channel // outer * inner, np.arange(inner)), (0, *range(2, len(shape)))
        numbers = _numbers(element_of(op.weight), shape, axes, outer if is_transposed else inner)
        channel = channel.reshape(*channel.shape, *(1,) * (len(shape) - channel.ndim))
        found = steps.type_of(role, op.result.type.get_shape())
        if found.scale.size > 1:
            raise UnknownError("blocks, and several scales of the result")
        last = _sum_of_blocks(found, x, w, numbers, channel, lambda own: np.moveaxis(sums(own), 1, -1), added)
        return Value(np.moveaxis(last.array, -1, 1), last.type)

    added = None if bias is None else _for_channels(bias, spatial)
    return (_with_bias(op, steps, "correlation", product, added),)


def _transposed_sums(op: Any, images: Array, groups: int, weights: Array) -> Array:
    """Every element of the data adds its kernel."""
    kernel, sizes = weights.shape[2:], images.shape[2:]
    spatial, inner, outer = len(kernel), weights.shape[1], weights.shape[0] // groups
    strides, dilations, pads = _taps(op, kernel)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    more = [0] * spatial if op.output_padding is None else [int(n) for n in op.output_padding.get_values()]
    whole = [(n - 1) * s + span + m for n, s, span, m in zip(sizes, strides, spans, more, strict=True)]
    total = np.zeros((images.shape[0], inner * groups, *whole), np.int64)
    for position in np.ndindex(*sizes):
        for tap in np.ndindex(*kernel):
            at = tuple(p * s + t * d for p, s, t, d in zip(position, strides, tap, dilations, strict=True))
            for group in range(groups):
                rows = slice(group * outer, (group + 1) * outer)
                added = images[(slice(None), rows, *position)] @ weights[(rows, slice(None), *tap)]
                total[(slice(None), slice(group * inner, (group + 1) * inner), *at)] += added
    cut = tuple(slice(pads[axis], size - pads[axis + spatial]) for axis, size in enumerate(whole))
    return total[(slice(None), slice(None), *cut)]


def _sums(op: Any, images: Array, groups: int, weights: Array) -> Array:
    """Of the products of windows and kernels."""
    kernel, spatial = weights.shape[2:], weights.ndim - 2
    inner, outer = weights.shape[1], weights.shape[0] // groups
    strides, dilations, pads = _taps(op, kernel)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    around = [(0, 0), (0, 0), *((pads[axis], pads[axis + spatial]) for axis in range(spatial))]
    padded = np.pad(images, around)
    counts = [(n - span) // s + 1 for n, span, s in zip(padded.shape[2:], spans, strides, strict=True)]
    total = np.zeros((images.shape[0], weights.shape[0], *counts), np.int64)
    for position in np.ndindex(*counts):
        for tap in np.ndindex(*kernel):
            at = tuple(p * s + t * d for p, s, t, d in zip(position, strides, tap, dilations, strict=True))
            for group in range(groups):
                rows = slice(group * outer, (group + 1) * outer)
                own = padded[(slice(None), slice(group * inner, (group + 1) * inner), *at)]
                total[(slice(None), rows, *position)] += own @ weights[(rows, slice(None), *tap)].T
    return total


def _einsum(op: Any, factors: tuple[Value, ...]) -> tuple[Value, ...]:
    """For every choice of the labels one product of integers, added where the labels of the result point."""
    terms, kept = op.equation.data.replace(" ", "").split("->")
    labels = terms.split(",")
    if "." in op.equation.data or any(factor.own.scale.size > 1 for factor in factors):
        raise UnknownError("an ellipsis, or several scales")
    sizes = {
        label: size
        for names, factor in zip(labels, factors, strict=True)
        for label, size in zip(names, factor.array.shape, strict=True)
    }
    total = np.zeros([sizes[label] for label in kept], np.int64)
    for position in np.ndindex(*sizes.values()):
        at = dict(zip(sizes, position, strict=True))
        chosen = (
            factor.integers[tuple(at[label] for label in names)] for names, factor in zip(labels, factors, strict=True)
        )
        total[tuple(at[label] for label in kept)] += math.prod(map(int, chosen))
    scale = math.prod((factor.own.scale.reshape(()) for factor in factors), start=F32(1))
    steps = Steps(op, {"result": op.result})
    return (steps.rescaled(total, F32(scale), steps.type_of("result", total.shape), steps.mode_of(*factors)),)


# --- Rows -------------------------------------------------------------------------------------------------------------


def _normalized(steps: Steps, value: Value, squares: Value, axes: tuple[int, ...], epsilon: float, mean: str) -> Value:
    average = steps.summed(mean, squares, axes, is_mean=True)
    shifted = steps.on_one_scale(f"{mean}_epsilon", np.add, average, steps.constant("epsilon", epsilon))
    return steps.div("normalized", value, steps.in_floats("deviation", np.sqrt, shifted))


def _standardized(steps: Steps, x: Value, axes: tuple[int, ...], epsilon: float) -> Value:
    centered = steps.on_one_scale("centred", np.subtract, x, steps.summed("mean", x, axes, is_mean=True))
    return _normalized(steps, centered, steps.mul("squared", centered, centered), axes, epsilon, "variance")


def _affine(steps: Steps, x: Value, scale: Value | None, bias: Value | None) -> Value:
    scaled = x if scale is None else steps.mul("mul", x, scale)
    return scaled if bias is None else steps.on_one_scale("bias_add", np.add, scaled, bias)


def nearest_root(x: int) -> np.float32:
    """The f32 nearest to `1 / sqrt(x)` for `x < 2^62`: Python's integers alone, no root of a float."""
    positions = 23 + x.bit_length() // 2
    while (found := math.isqrt((1 << 2 * positions) // x)) < 1 << 23:  # the root from below, in 24 bits
        positions += 1
    is_above = (2 * found + 1) ** 2 * x < 1 << 2 * positions + 2
    return F32(math.ldexp(found + is_above, -positions))


def _integer_row(d: list[int], bits: int, scale: float, epsilon: float, is_centered: bool) -> list[np.float32]:
    """One row by the formula of the document."""
    n, total = len(d), sum(d) if is_centered else 0
    reach = n * ((1 << bits) - 1)
    least = float(Fraction(float(F32(epsilon))) * n * n) / scale**2
    most = (n // 2 * (n - n // 2) * ((1 << bits) - 1) ** 2 if is_centered else reach**2) + 2
    bound = least + (float(most) if float(most) >= most else math.nextafter(most, math.inf))
    if reach >= 1 << 31 or bound >= 2.0**62:
        raise UnknownError("rows that are too long")
    k = max(k for k in range(0, 62, 2) if bound * 2.0**k < 2.0**62)
    radicand = (n * sum(each * each for each in d) - total * total << k) + max(1, round(least * 2**k))
    root = F32(math.ldexp(float(nearest_root(radicand)), k // 2))
    return [F32(n * each - total) * root for each in d]


def _integer_norm(
    op: Any, x: Value, first: int, scale: Array | None, bias: Array | None, *, is_centered: bool = True
) -> tuple[Value, ...]:
    """A norm whose rows are the axes of `x` from `first` on, with parameters that are floats."""
    own = x.own
    if own.scale.size > 1:
        raise UnknownError("rows of several scales")
    rows = x.integers.reshape(math.prod(x.array.shape[:first]), -1).tolist()
    epsilon, bits = op.epsilon.value.data, element_of(op.data).bits
    found = [_integer_row(row, bits, float(own.scale.reshape(())), epsilon, is_centered) for row in rows]
    real = np.array(found, F32).reshape(x.array.shape)
    with np.errstate(all="ignore"):
        real = real if scale is None else real * scale
        real = (real if bias is None else real + bias).reshape(op.result.type.get_shape())
    return (quantized(real, Type.of(element_of(op.result), real.shape)),)


def _layer_norm(op: Any, x: Value, scale: Value, bias: Value | None) -> tuple[Value, ...]:
    if op.components is None:
        added = None if bias is None else bias.array
        return _integer_norm(op, x, op.axis.value.data % x.array.ndim, scale.array, added)
    steps = Steps(op, {"mul" if bias is None else "bias_add": op.result})
    axes = tuple(range(op.axis.value.data % x.array.ndim, x.array.ndim))
    return (_affine(steps, _standardized(steps, x, axes, op.epsilon.value.data), scale, bias),)


def _rms_norm(op: Any, x: Value, scale: Value | None) -> tuple[Value, ...]:
    if op.components is None:
        factor = None if scale is None else scale.array
        return _integer_norm(op, x, op.axis.value.data % x.array.ndim, factor, None, is_centered=False)
    steps = Steps(op, {"normalized" if scale is None else "mul": op.result})
    axes = tuple(range(op.axis.value.data % x.array.ndim, x.array.ndim))
    squares = steps.mul("squared", x, x)
    return (_affine(steps, _normalized(steps, x, squares, axes, op.epsilon.value.data, "mean_square"), scale, None),)


def _instance_norm(op: Any, x: Value, scale: Value, bias: Value) -> tuple[Value, ...]:
    steps, spatial = Steps(op, {"bias_add": op.result}), x.array.ndim - 2
    if op.components is None:
        return _integer_norm(op, x, 2, *(each.array.reshape(-1, *(1,) * spatial) for each in (scale, bias)))
    normalized = _standardized(steps, x, tuple(range(2, x.array.ndim)), op.epsilon.value.data)
    return (_affine(steps, normalized, *(each.shaped(-1, *(1,) * spatial) for each in (scale, bias))),)


def _group_norm(op: Any, x: Value, scale: Value, bias: Value) -> tuple[Value, ...]:
    steps, (batch, channels, *sizes) = Steps(op, {"bias_add": op.result}), x.array.shape
    groups = op.groups.value.data
    grouped = x.shaped(batch, groups, channels // groups, *sizes)
    if op.components is None:
        along = groups, channels // groups, *(1,) * len(sizes)
        return _integer_norm(op, grouped, 2, *(each.array.reshape(along) for each in (scale, bias)))
    normalized = _standardized(steps, grouped, tuple(range(2, grouped.array.ndim)), op.epsilon.value.data)
    if normalized.own.scale.size > 1:
        raise UnknownError("a reshape of several scales")
    parameters = (each.shaped(-1, *(1,) * len(sizes)) for each in (scale, bias))
    return (_affine(steps, normalized.shaped(*x.array.shape), *parameters),)


def _batch_norm(
    op: Any, x: Value, factor: Value, offset: Value, mean: Value | None, variance: Value | None
) -> tuple[Value, ...]:
    steps, along = Steps(op, {"add": op.result}), (-1, *(1,) * (x.array.ndim - 2))
    if mean is not None and variance is not None:
        epsilon = steps.constant("epsilon", op.epsilon.value.data)
        shifted = steps.on_one_scale("variance_epsilon", np.add, variance, epsilon)
        factor = steps.div("factor", factor, steps.in_floats("deviation", np.sqrt, shifted))
        offset = steps.on_one_scale("offset", np.subtract, offset, steps.mul("scaled_mean", mean, factor))
    if factor.own.scale.size > 1 or offset.own.scale.size > 1:
        raise UnknownError("a reshape of several scales")
    product = steps.mul("mul", x, factor.shaped(*along))
    return (steps.on_one_scale("add", np.add, product, offset.shaped(*along)),)


def _raised(steps: Steps, x: Value, axis: int) -> tuple[Value, Value, Value]:
    shifted = steps.on_one_scale("shifted", np.subtract, x, steps.largest(x, axis))
    raised = steps.named("exp", "exp", shifted)
    return shifted, raised, steps.summed("sum", raised, (axis,), is_mean=False)


def _softmax_of(x: Array, axis: int, keep: Array | None = None, empty: str = "zero") -> Array:
    """In floats: `e^(x - max)` over its sum, in f64 and rounded once; what is masked is in neither, and 0."""
    kept = np.ones(x.shape, bool) if keep is None else np.broadcast_to(keep.astype(bool), x.shape)
    largest = np.where(kept, x, F32(-np.inf)).max(axis=axis, keepdims=True)
    some = np.where(np.isinf(largest), F32(0), largest) if keep is not None else largest
    raised = np.where(kept, FUNCTIONS["exp"](np.where(kept, x - some, F32(0))), F32(0))
    total = np.add.accumulate(raised.astype(np.float64), axis=axis).take([-1], axis=axis).astype(F32)
    none = F32(1) / F32(x.shape[axis]) if empty == "uniform" else F32(0)
    return np.where(kept.any(axis=axis, keepdims=True), raised / np.where(total == 0, F32(1), total), none)


def _pow(op: Any, base: Value, exponent: Value) -> tuple[Value, ...]:
    """In floats; exponents are no quantized values."""
    return (Steps(op, {"result": op.result}).in_floats("result", FUNCTIONS["powf"], base, exponent),)


def _lp_norm(op: Any, x: Value) -> tuple[Value, ...]:
    axes, least = (op.axis.value.data % x.array.ndim,), op.epsilon
    last = "div" if least is not None else "choice"
    steps = Steps(op, dict.fromkeys((last, "div", "zero"), op.result))
    if op.p.value.data == 1:
        type_ = steps.type_of("magnitude", x.array.shape)
        magnitude = steps.rescaled(np.abs(x.integers), x.own.scale, type_, steps.mode_of(x))
        norm = steps.summed("norm", magnitude, axes, is_mean=False)
    else:
        total = steps.summed("sum", steps.mul("squared", x, x), axes, is_mean=False)
        norm = steps.in_floats("norm", np.sqrt, total)
    if least is not None:
        least = steps.constant("epsilon", least.value.data)
        return (steps.div("div", x, steps.on_one_scale("bounded", np.maximum, norm, least)),)
    zero = steps.constant("zero", 0.0)
    return (_chosen(exact_reals(norm) == exact_reals(zero), zero, steps.div("div", x, norm)),)


def _chosen(condition: Array, a: Value, b: Value) -> Value:
    """`a` where it holds, `b` elsewhere, of one type."""
    return Value(np.where(condition, a.array, b.array), a.type)


def _softmax_steps(
    steps: Steps, x: Value, axis: int, keep: Array | None = None, empty: str = "zero", result: str = "div"
) -> Value:
    if keep is None:
        _, raised, total = _raised(steps, x, axis)
        return steps.div(result, raised, total)
    keep = np.broadcast_to(keep.astype(bool), x.array.shape)
    selected = _chosen(keep, x, Value(x.array.min(axis=axis, keepdims=True), x.type))
    shifted = steps.on_one_scale("shifted", np.subtract, selected, steps.largest(selected, axis))
    kept = _chosen(keep, steps.named("exp", "exp", shifted), steps.constant("zero", 0.0))
    found = steps.summed("sum", kept, (axis,), is_mean=False)
    quotient = steps.div(result, kept, steps.on_one_scale("total", np.maximum, found, steps.constant("one", 1.0)))
    if empty == "zero":
        return quotient
    is_empty = exact_reals(found) == exact_reals(steps.constant("no_sum", 0.0))
    return _chosen(is_empty, steps.constant("uniform", float(F32(1) / F32(x.array.shape[axis]))), quotient)


def _softmax(op: Any, x: Value, mask: Value | None) -> tuple[Value, ...]:
    axis, empty = op.axis.value.data % x.array.ndim, op.empty_rows.data
    keep, steps = None if mask is None else mask.array, Steps(op, {"div": op.result})
    if op.fill is not None and keep is not None:
        fill = F32(op.fill.value.data)
        if op.components is None:
            added = np.where(keep.astype(bool), F32(0), fill)
            return (steps.in_floats("div", lambda real: _softmax_of(np.asarray(real + added, F32), axis), x),)
        addend = _chosen(keep.astype(bool), steps.constant("zero", 0.0), steps.constant("fill", float(fill)))
        return (_softmax_steps(steps, steps.on_one_scale("filled", np.add, x, addend), axis),)
    if op.components is None:
        return (steps.in_floats("div", lambda real: _softmax_of(real, axis, keep, empty), x),)
    return (_softmax_steps(steps, x, axis, keep, empty),)


def _log_softmax(op: Any, x: Value) -> tuple[Value, ...]:
    steps = Steps(op, {"sub": op.result})
    shifted, _, total = _raised(steps, x, op.axis.value.data % x.array.ndim)
    return (steps.on_one_scale("sub", np.subtract, shifted, steps.named("log", "log", total)),)


def _gelu(op: Any, x: Value) -> tuple[Value, ...]:
    if op.components is None or op.tanh_approximation.value.data:
        raise UnknownError("a function in one step, or the other form")
    steps = Steps(op, {"product": op.result})
    curve = steps.named("erf", "erf", steps.mul("argument", x, steps.constant("factor", math.sqrt(0.5))))
    gate = steps.on_one_scale("gate", np.add, curve, steps.constant("one", 1.0))
    return (steps.mul("product", steps.mul("half", x, steps.constant("one_half", 0.5)), gate),)


# --- Attention --------------------------------------------------------------------------------------------------------


def _after(past: Value | None, new: Value) -> Value:
    return new if past is None else Value(np.concatenate([past.array, new.array], 2), new.type)


def _seen(op: Any, queries: int, keys: int, past: int) -> Array | None:
    """The keys that each query sees by its place; `None` where that says nothing."""
    left, right = op.left_window.value.data, op.right_window.value.data
    bounds = [right] * (right >= 0) + [0] * bool(op.is_causal.value.data)
    if not bounds and left < 0:
        return None
    distance = np.arange(keys) - (np.arange(queries)[:, None] + past)
    return (distance <= min(bounds, default=keys)) & (distance >= (-left if left >= 0 else -keys - queries - past))


def _attention(
    op: Any, query: Value, key: Value, value: Value, mask: Value | None,
    past_key: Value | None = None, past_value: Value | None = None, lengths: Value | None = None,
) -> tuple[Value, ...]:  # fmt: skip
    if lengths is not None:
        raise UnknownError("lengths")
    past = 0 if past_key is None else past_key.array.shape[2]
    keys, values = _after(past_key, key), _after(past_value, value)
    shared = query.array.shape[1] // max(key.array.shape[1], 1)
    query = _by_keys(query, key.array.shape[1], shared)
    mask = None if mask is None else _by_keys(mask, key.array.shape[1], shared)
    wanted = op.scores_are.data
    cap = op.softcap.value.data
    bias = None if mask is None or mask.type is None else mask
    keep = None if mask is None or bias is not None else mask.array.astype(bool)
    seen_by_place = _seen(op, query.array.shape[-2], keys.array.shape[2], past)
    if seen_by_place is not None:
        keep = seen_by_place if keep is None else keep & seen_by_place
    last = {"raw": "query_key_matmul", "capped": "cap_mul" if cap else "query_key_matmul"}
    last["biased"] = "masked_scores" if keep is not None else "bias_add" if bias is not None else last["capped"]
    last["softmax"] = "weights" if bias is not None else "softmax"
    steps = Steps(op, {last[wanted]: op.scores, "value_matmul": op.result})
    factor = steps.constant("scale", math.sqrt(1 / math.sqrt(query.array.shape[-1])))
    left, right = steps.mul("query_scaled", query, factor), steps.mul("key_scaled", keys, factor)
    found = {"raw": steps.matmul("query_key_matmul", left, _by_keys(right, key.array.shape[1], shared))}
    scores = found["capped"] = _capped(steps, found["raw"], cap)
    if bias is not None:
        scores = steps.on_one_scale("bias_add", np.add, scores, bias)
    found["biased"] = scores
    if keep is not None and wanted == "biased":
        nothing, never = steps.constant("zero", 0.0), steps.constant("masked", -math.inf)
        found["biased"] = steps.on_one_scale("masked_scores", np.add, scores, _chosen(keep, nothing, never))
    nested = Steps(op, {})
    nested.types = {role.removeprefix("softmax/"): each for role, each in steps.types.items()}
    nested.types["div"] = steps.types["softmax"]
    axis = scores.array.ndim - 1
    if any(role.startswith("softmax/") for role in steps.types):
        weights = _softmax_steps(nested, scores, axis, keep)
    else:
        weights = steps.in_floats("softmax", lambda real: _softmax_of(real, axis, keep), scores)
    if bias is not None:
        never = steps.constant("masked", -math.inf)
        seen = bias if keep is None else _chosen(keep, bias, never)
        is_blind = exact_reals(steps.largest(seen, seen.array.ndim - 1)) == exact_reals(never)
        weights = _chosen(is_blind, steps.constant("no_weight", 0.0), weights)
    found["softmax"] = weights
    result = steps.matmul("value_matmul", weights, _by_keys(values, key.array.shape[1], shared), is_transposed=False)
    return (_of_heads(result, shared), keys, values, _of_heads(found[wanted], shared))


def _by_keys(value: Value, keys: int, shared: int) -> Value:
    """With an axis for the heads that share keys, of one element where something is for all of them."""
    shape = value.array.shape
    if shared < 2 or len(shape) < 3:
        return value
    split = (keys, shared) if shape[-3] == keys * shared else (shape[-3], 1)
    return Value(value.array.reshape(*shape[:-3], *split, *shape[-2:]), value.type)


def _of_heads(value: Value, shared: int) -> Value:
    """With one axis of heads again."""
    batch, *heads, rows, columns = value.array.shape
    return value if shared < 2 else Value(value.array.reshape(batch, math.prod(heads), rows, columns), value.type)


def _capped(steps: Steps, scores: Value, number: float) -> Value:
    if not number:
        return scores
    cap = steps.constant("cap", number)
    return steps.mul("cap_mul", steps.named("cap_tanh", "tanh", steps.div("cap_div", scores, cap)), cap)


def _gather(op: Any, table: Value, indices: Value) -> tuple[Value, ...]:
    """Slices that have parameters of their own: each is rescaled to the one scale of the result."""
    axis = op.axis.value.data % table.array.ndim
    taken = np.take(table.array, indices.array, axis)  # NumPy counts negative indices from the end, too
    if table.type is None or not (table.own.is_block or table.own.axis == axis):
        return (Value(taken, table.type),)
    own = table.own
    scale, zero = (
        np.take(np.broadcast_to(each, table.array.shape), indices.array, axis) for each in (own.scale, own.zero)
    )
    steps, type_ = Steps(op, {}), Type.of(element_of(op.result), taken.shape)
    return (steps.rescaled(taken.astype(np.int64) - zero, scale, type_, steps.mode),)


COMPOSITES: dict[str, Callable[..., tuple[Value, ...]]] = {
    "nn.fully_connected": _fully_connected,
    "nn.conv": partial(_convolution, is_transposed=False),
    "nn.conv_transpose": partial(_convolution, is_transposed=True),
    "nn.einsum": _einsum,
    "nn.pow": _pow,
    "nn.lp_norm": _lp_norm,
    "nn.layer_norm": _layer_norm,
    "nn.rms_norm": _rms_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.batch_norm": _batch_norm,
    "nn.softmax": _softmax,
    "nn.log_softmax": _log_softmax,
    "nn.gelu": _gelu,
    "nn.attention": _attention,
    "nn.gather": _gather,
}
