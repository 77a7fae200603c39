"""Operations with random operands for the tests of gradients: a row for each, with what torch computes.

Every elementwise operation and reduction of the dialect takes part by its class.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, f64

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.attention import ops as attention
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.gradients import INTEGRAL
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.recurrent import ops as recurrent
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.dialects.nn.resizing import ops as resizing
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.dialects.nn.training import ops as training
from qmlir.ir.interfaces import Domain
from tests.support.gradients import Drawn, Random, Row
from tests.support.gradients_by_torch import (
    BINARY_TORCH,
    EPSILON,
    REDUCTION_TORCH,
    UNARY_TORCH,
    gru_step,
    lstm_step,
    rnn_step,
    torch_attention,
    torch_average,
    torch_batch_norm,
    torch_batch_norm_training,
    torch_blocks,
    torch_conv,
    torch_conv_transpose,
    torch_dropout,
    torch_first,
    torch_gather,
    torch_gather_nd,
    torch_layer,
    torch_layer_norm,
    torch_masked,
    torch_matmul,
    torch_neighbours,
    torch_norm,
    torch_one_hot,
    torch_pad,
    torch_reduced,
    torch_resize,
    torch_reverse_sequence,
    torch_rotary,
    torch_running,
    torch_scatter_elements,
    torch_scatter_nd,
    torch_slice,
    torch_space_to_depth,
    torch_windows,
)


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


def _dropout(random: Random) -> Drawn:
    """The ratio is no f64: it has no gradient."""
    ratio, answers = np.array(random.uniform(0, 0.9), np.float32), [np.array(each, np.int8) for each in (0, 1)]
    training = answers[each : each + 1] if (each := int(random.integers(3))) < 2 else []
    return Drawn([floats(random, 3, 4), ratio, *training], {"seed": int(random.integers(100))}, wrt="x0")


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


def _resize_of_torch(random: Random) -> Drawn:
    """The modes and coordinates that torch has; ratios are exact in f32, in which coordinates are computed here.

    Of width 1 torch 2.14 gives other elements at once than axis by axis.
    """
    mode = str(random.choice(resizing.MODES))
    if mode == "nearest":
        coordinates, more = "asymmetric", {"nearest_mode": "floor"}
    elif random.integers(2):
        coordinates, more = "half_pixel", {"antialias": True, "exclude_outside": True, "cubic_coeff_a": -0.5}
    else:
        coordinates, more = str(random.choice(["half_pixel", "align_corners"])), {}
    heights, widths = ([3, 5, 9], [4, 7, 13]) if coordinates == "align_corners" else ([3, 6, 12], [2, 4, 8])
    sizes = [int(random.choice(each)) for each in (heights, widths)]
    properties = {"mode": mode, "axes": [2, 3], "coordinate_transformation_mode": coordinates, "sizes": sizes, **more}
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


def subclasses(base: type[NnOp], *modules: Any) -> Iterator[type[Any]]:
    """The operations of these modules that derive from `base`."""
    for module in modules:
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, base) and "name" in vars(each):
                yield each


def _rows() -> Iterator[Row]:
    for operation in subclasses(elementwise.UnaryOp, elementwise, activations):
        if operation in INTEGRAL:
            continue
        short = operation.name.removeprefix("nn.")
        for properties in PROPERTIES.get(operation, [{}]):
            yield Row(operation, _unary(operation, properties), UNARY_TORCH.get(short))
    for operation, torch in BINARY_TORCH.items():
        yield Row(operation, _binary(), torch)
    yield Row(elementwise.PowOp, _binary(0.2), lambda t, p, a, b: a**b)
    yield Row(elementwise.ModOp, _binary(properties={"fmod": False}), lambda t, p, a, b: t.remainder(a, b))
    yield Row(elementwise.ModOp, _binary(properties={"fmod": True}), lambda t, p, a, b: t.fmod(a, b))
    for operation in subclasses(reduction.ReduceOp, reduction):
        yield Row(operation, _reduced, torch_reduced(REDUCTION_TORCH[operation]))
    yield from TABLE


def _where(random: Random) -> Drawn:
    a, b, c = broadcast_shapes(random, 3)
    return Drawn([random.integers(0, 2, a).astype(np.int8), floats(random, *b), floats(random, *c)])


def _running(random: Random) -> Drawn:
    return _along_axis(random, exclusive=bool(random.integers(2)), reverse=bool(random.integers(2)))


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
    Row(contraction.MatMulOp, _matmul, torch_matmul),
    Row(contraction.FullyConnectedOp, _fully_connected, lambda t, p, x, w, b=None: t.nn.functional.linear(x, w, b)),
    Row(contraction.ConvOp, _conv, torch_conv),
    Row(contraction.ConvTransposeOp, _conv_transpose, torch_conv_transpose),
    Row(contraction.EinsumOp, _einsum, lambda t, p, *x: t.einsum(p["equation"], *x)),
    Row(reduction.CumSumOp, _running, torch_running),
    Row(pooling.MaxPoolOp, _pool(), lambda t, p, x: torch_windows(t, p, x, lambda e, n: torch_first(t, e))),
    Row(pooling.MaxPoolWithIndicesOp, _pool(), lambda t, p, x: torch_windows(t, p, x, lambda e, n: torch_first(t, e))),
    Row(pooling.AveragePoolOp, _pool(count_include_pad=[True, False]), torch_average),
    Row(
        pooling.LpPoolOp,
        _pool(p=[1, 2, 3]),
        lambda t, p, x: torch_windows(t, p, x, lambda e, n: t.linalg.vector_norm(e, p["p"], -1)),
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
    Row(normalization.BatchNormOp, _batch_norm, torch_batch_norm),
    Row(training.BatchNormTrainingOp, _batch_norm, torch_batch_norm_training),
    Row(training.DropoutOp, _dropout, torch_dropout),
    Row(normalization.InstanceNormOp, lambda r: Drawn([floats(r, 2, 3, 4, 2), floats(r, 3), floats(r, 3)]), torch_norm),
    Row(normalization.GroupNormOp, _group_norm, torch_norm),
    Row(normalization.LayerNormOp, _trailing(2), torch_layer_norm),
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
        torch_neighbours,
    ),
    Row(normalization.SoftmaxOp, _along_axis, lambda t, p, x: t.softmax(x, p["axis"])),
    Row(normalization.SoftmaxOp, _masked, torch_masked),
    Row(normalization.LogSoftmaxOp, _along_axis, lambda t, p, x: t.log_softmax(x, p["axis"])),
    Row(
        normalization.HardmaxOp,
        _along_axis,
        lambda t, p, x: (x * 0).scatter(p["axis"], x.argmax(p["axis"], True), 1.0) + x * 0,
    ),
    Row(attention.AttentionOp, _attention, torch_attention),
    Row(attention.RotaryEmbeddingOp, _rotary, torch_rotary),
    Row(recurrent.RnnOp, _layer(1), torch_layer(rnn_step)),
    Row(recurrent.LstmOp, _layer(4), torch_layer(lstm_step)),
    Row(recurrent.GruOp, _layer(3, linear_before_reset=True), torch_layer(gru_step)),
    _shaped(movement.ReshapeOp, (2, 3, 4), (4, 6)),
    _shaped(movement.SqueezeOp, (2, 1, 3), (2, 3), axes=[1]),
    _shaped(movement.UnsqueezeOp, (2, 3), (2, 1, 3), axes=[1]),
    Row(movement.TransposeOp, _shape(2, 3, 4, permutation=[1, 2, 0]), lambda t, p, x: x.permute(1, 2, 0)),
    Row(movement.SliceOp, _slice, torch_slice),
    Row(movement.ConcatOp, _concat, lambda t, p, *x: t.cat(x, p["axis"])),
    Row(
        movement.SplitOp,
        lambda r: Drawn([floats(r, 2, 5)], {"axis": 1, "split": [2, 3]}, [*_types(2, 2), *_types(2, 3)], 2),
        lambda t, p, x: t.split(x, [2, 3], 1),
    ),
    Row(movement.DepthToSpaceOp, _pair((1, 8, 2, 3)), torch_blocks),
    Row(movement.SpaceToDepthOp, _pair((1, 2, 4, 6)), torch_space_to_depth),
    Row(shapes.ExpandOp, _shape(3, 1, shape=[2, 1, 4]), lambda t, p, x: x.expand(2, 3, 4)),
    Row(shapes.TileOp, _shape(2, 3, repeats=[3, 2]), lambda t, p, x: x.tile(3, 2)),
    Row(shapes.PadOp, _pad, torch_pad),
    Row(
        shapes.TriluOp,
        lambda r: Drawn([floats(r, 2, 3, 4)], {"k": int(r.integers(-2, 3)), "upper": bool(r.integers(2))}),
        lambda t, p, x: (t.triu if p["upper"] else t.tril)(x, p["k"]),
    ),
    Row(indexing.GatherOp, _gather, torch_gather),
    Row(
        indexing.GatherElementsOp,
        _gather_elements,
        lambda t, p, x, i: x.gather(1, i % 4) if len(i) == len(x) else x[:2].gather(1, i % 4),
    ),
    Row(indexing.GatherNDOp, _gather_nd, torch_gather_nd),
    Row(indexing.ScatterElementsOp, _scatter_elements, torch_scatter_elements),
    Row(indexing.ScatterNDOp, _scatter_nd, torch_scatter_nd),
    Row(
        indexing.OneHotOp,
        lambda r: Drawn([r.integers(-3, 5, (2, 2)), floats(r, 2)], {"depth": 4, "axis": 1}),
        torch_one_hot,
    ),
    Row(
        indexing.TopKOp,
        lambda r: Drawn([floats(r, 2, 5)], {"k": 3, "axis": 1, "largest": bool(r.integers(2))}),
        lambda t, p, x: x.topk(3, 1, p["largest"]).values,
    ),
    Row(
        indexing.ReverseSequenceOp,
        lambda r: Drawn([floats(r, 4, 3), r.integers(0, 5, 3)], {"batch_axis": 1, "time_axis": 0}),
        torch_reverse_sequence,
    ),
    Row(resizing.ResizeOp, _resize),
    Row(resizing.ResizeOp, _resize_of_torch, torch_resize),
]


ROWS = list(_rows())


NAMES = [f"{row.operation.name} {position}" for position, row in enumerate(ROWS)]
