"""Layers: products of matrices, convolutions, pools, norms, softmax, attention and recurrent layers."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, i1
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.attention.ops import AttentionOp
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement.ops import ConcatOp, SliceOp, TransposeOp, UnsqueezeOp
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.recurrent.ops import GruOp, LstmOp
from qmlir.extensions.pt2.node import AtenNode, Importer
from qmlir.ir.builtin_types import element_of, shape_of

# Products.


def _linear(node: AtenNode) -> SSAValue:
    data, weight, bias = node.tensor("input"), node.tensor("weight"), node.maybe("bias")
    if len(shape_of(data)) < 2:
        product = node.add(contraction.MatMulOp, data, weight, transpose_b=True).result
        return product if bias is None else node.add(elementwise.AddOp, product, bias).result
    return node.add(contraction.FullyConnectedOp, data, weight, bias).result


def _matmul(node: AtenNode, right: str = "other") -> SSAValue:
    return node.add(contraction.MatMulOp, node.tensor(), node.tensor(right)).result


def _addmm(node: AtenNode, left: str, right: str) -> SSAValue:
    """`beta * self + alpha * (left @ right)`."""
    product = node.add(contraction.MatMulOp, node.tensor(left), node.tensor(right)).result
    terms = [product, node.tensor()]
    for position, name in enumerate(("alpha", "beta")):
        if (factor := node.number(name, 1)) != 1:
            scale = node.filled(factor, node.element)
            terms[position] = node.add(elementwise.MulOp, terms[position], scale).result
    return node.add(elementwise.AddOp, *terms).result


def _einsum(node: AtenNode) -> SSAValue:
    return node.add(contraction.EinsumOp, node.tensors("tensors"), equation=node.text("equation")).result


# Convolutions.


def _without_defaults(**properties: Sequence[int]) -> dict[str, Any]:
    """Returns the properties of windows that differ from their defaults: 1 for strides and dilations, else 0."""
    defaults = {"strides": 1, "dilations": 1}
    return {name: list(each) for name, each in properties.items() if set(each) - {defaults.get(name, 0)}}


def _conv(node: AtenNode, *, is_transposed: bool | None = None) -> SSAValue:
    data, weight, bias = node.tensor("input"), node.tensor("weight"), node.maybe("bias")
    rank = len(shape_of(weight)) - 2
    if rank < 1 or len(shape_of(data)) != rank + 2:
        raise node.unsupported(f"requires a batch of data with {max(rank, 1)} spatial axes, but got {data.type}")
    strides, dilations = node.spread("stride", rank, 1), node.spread("dilation", rank, 1)
    if is_transposed is None:
        is_transposed = node.flag("transposed")
    if isinstance(node.arguments.get("padding"), str):
        pads = _named_padding(node, shape_of(weight)[2:], dilations)
    else:
        pads = node.spread("padding", rank, 0) * 2
    if min((*strides, *dilations, 1)) < 1 or min((*pads, 0)) < 0:
        raise node.error(f"strides, dilations and padding are invalid: {strides}, {dilations}, {pads}")
    properties = _without_defaults(strides=strides, dilations=dilations, pads=pads)
    properties["groups"] = node.index("groups", 1)
    if not is_transposed:
        return node.add(contraction.ConvOp, data, weight, bias, **properties).result
    properties |= _without_defaults(output_padding=node.spread("output_padding", rank, 0))
    return node.add(contraction.ConvTransposeOp, data, weight, bias, **properties).result


def _named_padding(node: AtenNode, kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """Returns the padding that `valid` or `same` stands for; the odd element goes to the end."""
    mode = node.text("padding")
    if mode not in ("valid", "same"):
        raise node.error(f"padding must be valid or same, but got '{mode}'")
    totals = [(taps - 1) * step if mode == "same" else 0 for taps, step in zip(kernel, dilations, strict=True)]
    return [total // 2 for total in totals] + [total - total // 2 for total in totals]


# Pools.


def _pool(node: AtenNode, operation: type[pooling.PoolOp], rank: int) -> SSAValue:
    kernel = node.spread("kernel_size", rank, 1)
    strides = node.spread("stride", rank, 1) if node.attribute("stride", None) else kernel
    dilations, pads = node.spread("dilation", rank, 1), node.spread("padding", rank, 0) * 2
    if min((*kernel, *strides, *dilations)) < 1 or min(pads) < 0:
        raise node.error(f"kernel, strides and padding are invalid: {kernel}, {strides}, {pads}")
    properties: dict[str, Any] = {
        "kernel": kernel,
        **_without_defaults(strides=strides, dilations=dilations, pads=pads),
    }
    if node.flag("ceil_mode"):
        properties["ceil_mode"] = True
    if operation is pooling.AveragePoolOp:
        if node.attribute("divisor_override", None) is not None:
            raise node.unsupported("divisor_override is not supported")
        if node.flag("count_include_pad", default=True) and any(pads):
            properties["count_include_pad"] = True
    return node.add(operation, node.tensor(), **properties).results[0]


def _adaptive_pool(
    node: AtenNode, operation: type[pooling.PoolOp], whole: type[pooling.GlobalPoolOp], rank: int
) -> SSAValue:
    """A pool to a fixed size: of all elements, or of windows if the size divides that of the data."""
    data, wanted = node.tensor(), node.spread("output_size", rank, 1)
    sizes = shape_of(data)[2:]
    if len(sizes) != rank:
        raise node.unsupported(f"requires a batch of data with {rank} spatial axes, but got {data.type}")
    if all(size == 1 for size in wanted):
        return node.add(whole, data).results[0]
    pairs = list(zip(sizes, wanted, strict=True))
    if any(size == DYNAMIC_INDEX or found < 1 or size % found for size, found in pairs):
        raise node.unsupported(f"output_size {wanted} must divide the sizes {list(sizes)}")
    kernel = [size // found for size, found in pairs]
    return node.add(operation, data, kernel=kernel, **_without_defaults(strides=kernel)).results[0]


# Norms and softmax.


def _scale(node: AtenNode, name: str, number: float, count: Sequence[int], like: SSAValue) -> SSAValue:
    """Returns a scale or shift; a constant if it is omitted."""
    found = node.maybe(name)
    if found is not None:
        return found
    if DYNAMIC_INDEX in count:
        raise node.unsupported(f"requires '{name}', because the channels of {like.type} are dynamic")
    element = element_of(like)
    return node.add_constant(np.full(tuple(count), number, node.graph.dtype_of(element)), element)


def _batch_norm(node: AtenNode) -> SSAValue:
    if node.flag("training") or node.maybe("running_mean") is None or node.maybe("running_var") is None:
        raise node.unsupported("requires running statistics; export the model in eval()")
    data = node.tensor("input")
    channels = shape_of(data)[1:2]
    operands = [_scale(node, "weight", 1, channels, data), _scale(node, "bias", 0, channels, data)]
    statistics = node.tensor("running_mean"), node.tensor("running_var")
    return node.add(normalization.BatchNormOp, data, *operands, *statistics, epsilon=_epsilon(node)).result


def _epsilon(node: AtenNode, default: float = 1e-5) -> float:
    return float(node.number("eps", default))


def _instance_norm(node: AtenNode) -> SSAValue:
    if not node.flag("use_input_stats", default=True):
        raise node.unsupported("requires use_input_stats")
    data = node.tensor("input")
    channels = shape_of(data)[1:2]
    operands = [_scale(node, "weight", 1, channels, data), _scale(node, "bias", 0, channels, data)]
    return node.add(normalization.InstanceNormOp, data, *operands, epsilon=_epsilon(node)).result


def _group_norm(node: AtenNode) -> SSAValue:
    data = node.tensor("input")
    channels = shape_of(data)[1:2]
    operands = [_scale(node, "weight", 1, channels, data), _scale(node, "bias", 0, channels, data)]
    groups = node.index("num_groups")
    return node.add(normalization.GroupNormOp, data, *operands, groups=groups, epsilon=_epsilon(node)).result


def _layer_norm(node: AtenNode) -> SSAValue:
    data, sizes = node.tensor("input"), node.integers("normalized_shape")
    scale = _scale(node, "weight", 1, sizes, data)
    properties: dict[str, Any] = {"axis": -len(sizes), "epsilon": _epsilon(node)}
    return node.add(normalization.LayerNormOp, data, scale, node.maybe("bias"), **properties).result


def _rms_norm(node: AtenNode) -> SSAValue:
    data, sizes = node.tensor("input"), node.integers("normalized_shape")
    epsilon = _epsilon(node, float(np.finfo(np.float32).eps))
    return node.add(normalization.RmsNormOp, data, node.maybe("weight"), axis=-len(sizes), epsilon=epsilon).result


def _softmax(node: AtenNode, operation: type[Any]) -> SSAValue:
    value = node.operand("self", node.element)
    return node.add(operation, value, axis=node.axis()).results[0]


# Attention.


def _attention(node: AtenNode) -> SSAValue:
    if node.number("dropout_p", 0):
        raise node.unsupported("drops elements in training; export the model in eval()")
    values = [node.tensor(name) for name in ("query", "key", "value")]
    rank = len(shape_of(values[0]))
    if rank not in (3, 4):
        raise node.unsupported(f"requires operands of rank 3 or 4, but got {values[0].type}")
    mask = node.maybe("attn_mask")
    if mask is not None and element_of(mask) != i1:
        mask = node.cast(mask, element_of(values[0]))
    if rank == 3:
        values = [node.add(UnsqueezeOp, each, axes=[1]).result for each in values]
        if mask is not None and len(shape_of(mask)) == 3:
            mask = node.add(UnsqueezeOp, mask, axes=[1]).result
    scale = node.attribute("scale", None)
    properties: dict[str, Any] = {} if scale is None else {"scale": float(node.number("scale"))}
    if node.flag("is_causal"):
        properties["is_causal"] = True
    result = node.add(AttentionOp, *values, mask, **properties).result
    return node.reshaped(result, node.declared().shape) if rank == 3 else result


# Recurrent layers.

_ORDERS = {LstmOp: (0, 3, 1, 2), GruOp: (1, 0, 2)}
"""The gates of PyTorch in the order of the operation: `i, f, g, o` to `i, o, f, g`, and `r, z, n` to `z, r, n`."""


def _gates(array: Array, operation: type[LstmOp | GruOp]) -> Array:
    """Returns rows of gates in the order of the operation."""
    order = _ORDERS[operation]
    parts = np.split(array, len(order))
    return np.concatenate([parts[position] for position in order])


def _recurrent(node: AtenNode, operation: type[LstmOp | GruOp]) -> Sequence[SSAValue]:
    data, parameters = node.tensor("input"), node.tensors("params")
    if len(shape_of(data)) != 3:
        raise node.unsupported(f"requires a batch of sequences, but got {data.type}")
    if node.flag("train") and node.number("dropout", 0):
        raise node.unsupported("drops elements in training; export the model in eval()")
    layers, is_both, has_bias = node.index("num_layers"), node.flag("bidirectional"), node.flag("has_biases")
    directions, per = 1 + is_both, 4 if has_bias else 2
    if layers < 1 or len(parameters) != layers * directions * per:
        raise node.unsupported(f"requires {layers * directions * per} parameters, but got {len(parameters)}")
    arrays = [node.elements(each, "a parameter") for each in parameters]
    hidden = arrays[1].shape[-1]
    states = node.tensors("hx") if operation is LstmOp else [node.tensor("hx")]
    is_batch_first = node.flag("batch_first")
    if is_batch_first:
        data = node.add(TransposeOp, data, permutation=(1, 0, 2)).result
    last: list[list[SSAValue]] = []
    for layer in range(layers):
        own = [arrays[(layer * directions + d) * per :][:per] for d in range(directions)]
        stacked = _stacked(node, own, operation)
        operands = [None if node.is_zero(each) else _states(node, each, layer, directions, layers) for each in states]
        properties: dict[str, Any] = {"hidden_size": hidden, "direction": "bidirectional" if is_both else "forward"}
        if operation is GruOp:
            properties["linear_before_reset"] = True
        part = node if layers == 1 else node.part(f"layer{layer}")
        element = element_of(data)
        weights = [part.add_constant(each, element) for each in stacked]
        states_given = [*weights, *[None] * (3 - len(weights)), None, *operands]
        data, *ends = part.add(operation, data, *states_given, **properties).results
        last.append(list(ends))
        data = _joined(part, data, directions * hidden)
    if is_batch_first:
        data = node.add(TransposeOp, data, permutation=(1, 0, 2)).result
    joined = [_concat(node, list(each)) for each in zip(*last, strict=True)]
    return [data, *joined]


def _stacked(node: AtenNode, own: Sequence[Sequence[Array]], operation: type[LstmOp | GruOp]) -> list[Array]:
    """Returns the weights, recurrences and biases of a layer, stacked by direction."""
    count = len(_ORDERS[operation])
    if any(each.shape[0] % count for arrays in own for each in arrays if each.ndim):
        raise node.error("has parameters whose rows are no gates")
    try:
        found = [np.stack([_gates(arrays[position], operation) for arrays in own]) for position in (0, 1)]
        if len(own[0]) > 2:
            halves = ([_gates(arrays[position], operation) for position in (2, 3)] for arrays in own)
            found.append(np.stack([np.concatenate(each) for each in halves]))
    except ValueError as error:
        raise node.error(f"has parameters of unequal shapes: {error}") from error
    return found


def _states(node: AtenNode, value: SSAValue, layer: int, directions: int, layers: int) -> SSAValue:
    """Returns the initial states of a layer."""
    if layers == 1:
        return value
    start = layer * directions
    bounds: dict[str, Any] = {"starts": [start], "ends": [start + directions], "axes": [0], "steps": [1]}
    return node.add(SliceOp, value, **bounds).result


def _joined(node: AtenNode, value: SSAValue, width: int) -> SSAValue:
    """Moves `[time, directions, batch, hidden]` to `[time, batch, directions * hidden]`."""
    moved = node.add(TransposeOp, value, permutation=(0, 2, 1, 3)).result
    time, batch = shape_of(moved)[:2]
    is_open = DYNAMIC_INDEX in (time, batch)
    return node.reshaped(moved, [time, batch, width], node.vector([0, 0, width]) if is_open else None)


def _concat(node: AtenNode, parts: list[SSAValue]) -> SSAValue:
    return parts[0] if len(parts) == 1 else node.add(ConcatOp, parts, axis=0).result


OPERATORS: Mapping[str, Importer] = {
    "linear": _linear,
    "matmul": _matmul,
    "mm": partial(_matmul, right="mat2"),
    "bmm": partial(_matmul, right="mat2"),
    "mv": partial(_matmul, right="vec"),
    "addmm": partial(_addmm, left="mat1", right="mat2"),
    "baddbmm": partial(_addmm, left="batch1", right="batch2"),
    "einsum": _einsum,
    **{f"conv{rank}d": partial(_conv, is_transposed=False) for rank in (1, 2, 3)},
    **{f"conv_transpose{rank}d": partial(_conv, is_transposed=True) for rank in (1, 2, 3)},
    "convolution": _conv,
    **{f"max_pool{rank}d": partial(_pool, operation=pooling.MaxPoolOp, rank=rank) for rank in (1, 2, 3)},
    **{f"avg_pool{rank}d": partial(_pool, operation=pooling.AveragePoolOp, rank=rank) for rank in (1, 2, 3)},
    **{
        f"adaptive_{name}_pool{rank}d": partial(_adaptive_pool, operation=operation, whole=whole, rank=rank)
        for name, operation, whole in (
            ("avg", pooling.AveragePoolOp, pooling.GlobalAveragePoolOp),
            ("max", pooling.MaxPoolOp, pooling.GlobalMaxPoolOp),
        )
        for rank in (1, 2, 3)
    },
    "batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "softmax": partial(_softmax, operation=normalization.SoftmaxOp),
    "_softmax": partial(_softmax, operation=normalization.SoftmaxOp),
    "log_softmax": partial(_softmax, operation=normalization.LogSoftmaxOp),
    "_log_softmax": partial(_softmax, operation=normalization.LogSoftmaxOp),
    "scaled_dot_product_attention": _attention,
    "lstm.input": partial(_recurrent, operation=LstmOp),
    "gru.input": partial(_recurrent, operation=GruOp),
}
"""The importer of each ATen operator of this family, without its namespace."""
