"""Import and export of convolutions, pooling and matmuls."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.formats.one_to_one import attributes_of, number
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import MATRIX, Exporter, NodeEmitter
from qmlir.onnx.node import Importer, Node

TRANSPOSE_PADS_AS_CONV = 11
"""The first version in which ConvTranspose, like Conv, puts the odd padding element at the end for SAME_UPPER."""

AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def auto_pad(node: Node) -> str:
    """Returns the attribute `auto_pad`. Raises `DiagnosticError` for an unknown value."""
    mode = node.attribute("auto_pad", "NOTSET")
    if mode not in AUTO_PADS:
        raise node.error(f"auto_pad must be one of {', '.join(AUTO_PADS)}, but got '{mode}'")
    return mode


def _split(totals: Sequence[int], at_end: bool) -> list[int]:
    """Paddings split into begins and ends; the odd element goes to the end, or to the begin."""
    halves = [(total // 2, total - total // 2)[:: 1 if at_end else -1] for total in totals]
    return [begin for begin, _ in halves] + [end for _, end in halves]


def _kernel(node: Node) -> tuple[int, ...]:
    """The spatial sizes of the weights, which `kernel_shape` may give too."""
    found = node.shape(1)[2:]
    given = node.attribute("kernel_shape", None)
    if given is None:
        return found
    if len(given) != len(found) or any(
        size not in (DYNAMIC_INDEX, other) for size, other in zip(found, given, strict=True)
    ):
        raise node.error(f"kernel_shape {list(given)} does not match the weights {node.quantized(1).type}")
    return tuple(given)


def _given_pads(node: Node, rank: int) -> list[int] | None:
    """Returns the padding (all begins, then all ends) of a node without automatic padding; otherwise `None`."""
    mode = auto_pad(node)
    if mode not in ("NOTSET", "VALID"):
        return None
    return list((node.attribute("pads", None) if mode == "NOTSET" else None) or [0] * 2 * rank)


def _pads(node: Node, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """Returns the window padding (all begins, then all ends), with `auto_pad` resolved for the sizes of input 0."""
    if (given := _given_pads(node, len(kernel))) is not None:
        return given
    mode, totals = auto_pad(node), list[int]()
    for size, taps, stride, dilation in zip(node.shape()[2:], kernel, strides, dilations, strict=True):
        extent = (taps - 1) * dilation + 1
        if taps == DYNAMIC_INDEX or (size == DYNAMIC_INDEX and stride != 1):
            raise node.unsupported(
                f"auto_pad {mode} with strides requires static sizes, but got {node.quantized().type}; "
                "fix the shape of the input with --shape"
            )
        # Where the stride is 1, the padding is the same for all sizes.
        count = 1 if stride == 1 else -(-size // stride)
        totals.append(max(0, (count - 1) * stride + extent - (1 if stride == 1 else size)))
    return _split(totals, at_end=mode == "SAME_UPPER")


def _without_defaults(**properties: Sequence[int]) -> dict[str, Any]:
    """`properties` without those that have their default everywhere: 1 for strides and dilations, 0 for others."""
    defaults = {"strides": 1, "dilations": 1}
    return {name: list(each) for name, each in properties.items() if set(each) - {defaults.get(name, 0)}}


def _steps(node: Node, kernel: Sequence[int]) -> tuple[list[int], list[int]]:
    """Strides and dilations, of which there are as many as the input has spatial axes."""
    rank = len(node.shape()) - 2
    ones = [1] * len(kernel)
    strides, dilations = node.attribute("strides", None) or ones, node.attribute("dilations", None) or ones
    if not len(kernel) == len(strides) == len(dilations) == rank or rank < 1:
        raise node.error(
            f"kernel {list(kernel)}, strides {list(strides)} and dilations {list(dilations)} do not match the rank "
            f"of the input {node.quantized().type}"
        )
    if any(number < 1 for number in (*strides, *dilations)):
        raise node.error(f"strides and dilations must be at least 1, but got {list(strides)} and {list(dilations)}")
    return strides, dilations


def window_properties(node: Node, kernel: Sequence[int]) -> dict[str, Any]:
    """Returns the strides, dilations and pads of an operator with windows that differ from their default values."""
    strides, dilations = _steps(node, kernel)
    pads = _pads(node, kernel, strides, dilations)
    return _without_defaults(strides=strides, dilations=dilations, pads=pads)


def conv(node: Node) -> SSAValue:
    """Imports ONNX Conv, with optional bias, groups and automatic padding."""
    operands = (node.input(0), node.input(1), node.optional(2))
    properties = window_properties(node, _kernel(node))
    return node.add(ops.ConvOp, *operands, groups=node.attribute("group", 1), **properties).result


def _conv_transpose(node: Node) -> SSAValue:
    """ONNX ConvTranspose; `output_shape` and `auto_pad` become the padding that gives the shape they ask for."""
    kernel = _kernel(node)
    rank = len(kernel)
    strides, dilations = _steps(node, kernel)
    added = list(node.attribute("output_padding", None) or [0] * rank)
    wanted, mode = node.attribute("output_shape", None), auto_pad(node)
    if len(added) != rank or (wanted is not None and len(wanted) < rank):
        raise node.error(
            f"output_padding {added} and output_shape {wanted} must have one size for each of the {rank} spatial axes"
        )
    pads = _given_pads(node, rank) if wanted is None else None
    if pads is None:
        totals = _paddings(node, kernel, strides, dilations, added)
        # Elements beyond the reach of the windows are added at the end.
        added = [more + max(0, -total) for more, total in zip(added, totals, strict=True)]
        at_end = (mode == "SAME_UPPER") == (node.version >= TRANSPOSE_PADS_AS_CONV)
        pads = _split([max(0, total) for total in totals], at_end)
    properties = _without_defaults(strides=strides, dilations=dilations, pads=pads, output_padding=added)
    operands = (node.input(0), node.input(1), node.optional(2))
    return node.add(ops.ConvTransposeOp, *operands, groups=node.attribute("group"), **properties).result


def _paddings(
    node: Node, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], added: Sequence[int]
) -> list[int]:
    """How many elements to cut off each axis of the result for `output_shape`, or for `stride` times the input."""
    sizes = node.shape()[2:]
    wanted = node.attribute("output_shape", None)
    extents = [(taps - 1) * dilation + 1 for taps, dilation in zip(kernel, dilations, strict=True)]
    if wanted is None:
        return [extent + more - stride for extent, more, stride in zip(extents, added, strides, strict=True)]
    wanted = wanted[-len(kernel) :]  # some models include the batch and the channels
    if DYNAMIC_INDEX in (*sizes, *kernel):
        raise node.unsupported(
            f"output_shape requires static sizes, but got {node.quantized().type}; fix the shape of the input "
            "with --shape"
        )
    return [
        stride * (size - 1) + more + extent - target
        for stride, size, more, extent, target in zip(strides, sizes, added, extents, wanted, strict=True)
    ]


def _scaled(node: Node, value: SSAValue, factor: float) -> SSAValue:
    if factor == 1:
        return value
    if isinstance(element_of(value), IntegerType) and not float(factor).is_integer():
        raise node.unsupported(f"alpha and beta must be integers for integer operands, but got {factor}")
    return node.add(elementwise.MulOp, value, node.scalar(factor, value)).result


def gemm(node: Node) -> SSAValue:
    """Imports ONNX Gemm, `alpha * A' * B' + beta * C`, as a fully connected layer if possible, else as its parts."""
    data, weight, bias = node.input(0), node.input(1), node.optional(2)
    if len(node.shape(0)) != 2 or len(node.shape(1)) != 2:
        raise node.error(f"operands must be matrices, but got {data.type} and {weight.type}")
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    if node.attribute("transA", 0):
        data = node.add(movement.TransposeOp, data, permutation=(1, 0)).result
    is_layer = bias is None or node.shape(2) == (node.shape(1)[0 if node.attribute("transB", 0) else 1],)
    if alpha == 1 and (beta == 1 or bias is None) and is_layer:
        if not node.attribute("transB", 0):
            weight = node.add(movement.TransposeOp, weight, permutation=(1, 0)).result
        return node.add(ops.FullyConnectedOp, data, weight, bias).result
    product = node.add(ops.MatMulOp, data, weight, transpose_b=bool(node.attribute("transB", 0))).result
    result = _scaled(node, product, alpha)
    if bias is None or beta == 0:
        return result
    return node.add(elementwise.AddOp, result, _scaled(node, bias, beta)).result


def _export_matmul(out: NodeEmitter, op: ops.MatMulOp) -> None:
    """ONNX MatMul; with a transposed right factor Gemm where both are matrices, and a Transpose elsewhere."""
    lhs, rhs = out.inputs
    ranks = [len(shape_of(value)) for value in op.operands]
    if op.is_rhs_transposed and ranks == [MATRIX, MATRIX]:
        out.node("Gemm", [lhs, rhs], out.output, transB=1)
        return
    out.node("MatMul", [lhs, out.transposed(rhs, ranks[1]) if op.is_rhs_transposed else rhs], out.output)


def _export_fully_connected(out: NodeEmitter, op: ops.FullyConnectedOp) -> None:
    """ONNX Gemm, of matrices; of more axes MatMul and Add."""
    if len(shape_of(op.data)) == MATRIX:
        out.node("Gemm", out.inputs, out.output, transB=1)
        return
    data, weight, *bias = out.inputs
    weight = out.transposed(weight, MATRIX)
    if op.bias is None:
        out.node("MatMul", [data, weight], out.output)
    else:
        out.node("Add", [out.node("MatMul", [data, weight]), *bias], out.output)


# Pooling.


def pool_properties(node: Node) -> dict[str, Any]:
    """Returns the properties of a pooling operation: kernel, strides, dilations, padding and rounding mode."""
    kernel = node.attribute("kernel_shape")
    if kernel is None:
        raise node.error("missing attribute 'kernel_shape'")
    # With `auto_pad`, the number of windows is the same in both modes.
    is_ceil = bool(node.attribute("ceil_mode", 0)) and auto_pad(node) == "NOTSET"
    return {"kernel": kernel, "ceil_mode": is_ceil, **window_properties(node, kernel)}


def max_pool(node: Node) -> Sequence[SSAValue]:
    """Imports ONNX MaxPool; computes the indices only if the model uses them."""
    properties = pool_properties(node)
    if len(node.proto.output) < 2 or not node.proto.output[1]:
        return [node.add(pooling.MaxPoolOp, node.quantized(), **properties).result]
    is_column_major = bool(node.attribute("storage_order"))
    op = node.add(pooling.MaxPoolWithIndicesOp, node.quantized(), column_major=is_column_major, **properties)
    return [op.result, op.indices]


def _imported(node: Node, operation: type[pooling.PoolOp], attributes: str) -> SSAValue:
    return node.add(operation, node.input(), attributes=attributes, **pool_properties(node)).results[0]


def _without_ceil_mode(op: pooling.PoolOp) -> list[int] | None:
    """Returns the padding that produces the windows of `ceil_mode` without it, if runtimes count these differently.

    A last window that starts in the padding at the end must be ignored, but ONNX Runtime includes it in the inferred
    shape. Returns `None` if there is no such window, if sizes are unknown, or if padding is included in averages.
    """
    sizes, windows = shape_of(op.data)[2:], op.windows
    counts_padding = isinstance(op, pooling.AveragePoolOp) and op.count_include_pad.value.data
    if not op.ceil_mode.value.data or DYNAMIC_INDEX in sizes or counts_padding:
        return None
    counts = op.counts(sizes)
    ends = [
        (count - 1) * windows.strides[axis] + windows.extent(axis) - size - windows.pads[axis]
        for axis, (size, count) in enumerate(zip(sizes, counts, strict=True))
    ]
    rooms = (size + sum(windows.padding(axis)) - windows.extent(axis) for axis, size in enumerate(sizes))
    if all(count == -(-room // stride) + 1 for count, room, stride in zip(counts, rooms, windows.strides, strict=True)):
        return None
    if any(end >= taps for end, taps in zip(ends, windows.kernel, strict=True)):
        return None  # no runtime takes so much padding
    return [*windows.pads[: len(sizes)], *(max(end, 0) for end in ends)]


def _exported(out: NodeEmitter, op: pooling.PoolOp, op_type: str, attributes: str = "") -> None:
    """Exports a pool with the given `attributes`, as `attributes_of` reads them, in addition to those of all pools."""
    given = attributes_of(op, f"kernel_shape=kernel strides dilations pads {attributes}")
    if all(step == 1 for step in op.windows.dilations):
        # ONNX Runtime hands every attribute on to QLinearAveragePool, which has no dilations and takes none.
        del given["dilations"]
    given["ceil_mode"] = number(op.ceil_mode) or None
    pads = _without_ceil_mode(op)
    if pads is not None:
        given |= {"pads": pads, "ceil_mode": None}
    out.node(op_type, out.inputs, out.outputs, **given)


_POOLS: dict[str, tuple[type[pooling.PoolOp], str]] = {
    "AveragePool": (pooling.AveragePoolOp, "count_include_pad"),
    "LpPool": (pooling.LpPoolOp, "p"),
}
"""For each operator: the operation, and the attributes that other pooling operators don't have."""


IMPORTERS: dict[str, Importer] = {
    "Conv": conv,
    "ConvTranspose": _conv_transpose,
    "MatMul": lambda node: node.add(ops.MatMulOp, node.input(0), node.input(1)).result,
    "Gemm": gemm,
    "MaxPool": max_pool,
    **{op_type: partial(_imported, operation=row[0], attributes=row[1]) for op_type, row in _POOLS.items()},
}

EXPORTERS: dict[type[Operation], Exporter] = {
    ops.MatMulOp: _export_matmul,
    ops.FullyConnectedOp: _export_fully_connected,
    pooling.MaxPoolOp: partial(_exported, op_type="MaxPool"),
    pooling.MaxPoolWithIndicesOp: partial(_exported, op_type="MaxPool", attributes="storage_order=column_major"),
    **{row[0]: partial(_exported, op_type=op_type, attributes=row[1]) for op_type, row in _POOLS.items()},
}
