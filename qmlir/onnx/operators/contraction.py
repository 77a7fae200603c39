"""Importers of convolutions and matrix products."""

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from qmlir.dialects.nn.ops import contraction as ops
from qmlir.dialects.nn.ops import elementwise, movement
from qmlir.onnx.node import Importer, Node


def window_pads(node: Node, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """The padding of windows, `auto_pad` resolved for the sizes of input 0: all begins, then all ends."""
    mode = node.attribute("auto_pad", "NOTSET")
    rank = len(kernel)
    if mode == "NOTSET":
        return list(node.attribute("pads", None) or [0] * 2 * rank)
    if mode == "VALID":
        return [0] * 2 * rank
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise node.error(f"auto_pad is '{mode}': NOTSET, VALID, SAME_UPPER and SAME_LOWER are supported")
    sizes = node.shape()[2:]
    if DYNAMIC_INDEX in sizes:
        raise node.error(f"auto_pad {mode} needs known sizes, found {node.input().type}: fix the shape of the input")
    begins: list[int] = []
    ends: list[int] = []
    for size, taps, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        count = -(-size // stride)
        total = max(0, (count - 1) * stride + (taps - 1) * dilation + 1 - size)
        small, large = total // 2, total - total // 2
        begins.append(small if mode == "SAME_UPPER" else large)
        ends.append(large if mode == "SAME_UPPER" else small)
    return begins + ends


def window_properties(node: Node, kernel: Sequence[int]) -> dict[str, Any]:
    """Strides, dilations and pads of an operator with windows, those at their defaults left out."""
    ones = [1] * len(kernel)
    strides, dilations = node.attribute("strides", None) or ones, node.attribute("dilations", None) or ones
    pads = window_pads(node, kernel, strides, dilations)
    found = {"strides": strides, "dilations": dilations, "pads": pads}
    return {
        name: values for name, values in found.items() if list(values) != (ones if name != "pads" else [0] * len(pads))
    }


def _conv(node: Node) -> SSAValue:
    properties = window_properties(node, node.shape(1)[2:])
    operands = (node.input(0), node.input(1), node.optional(2))
    return node.add(ops.ConvOp, *operands, groups=node.attribute("group"), **properties).result


def _matmul(node: Node) -> SSAValue:
    return node.add(ops.MatMulOp, node.input(0), node.input(1)).result


def _gemm(node: Node) -> SSAValue:
    """ONNX Gemm, `alpha * A' * B' + beta * C`: a fully connected layer where it is one, its parts where it is not."""
    data, weight, bias = node.input(0), node.input(1), node.optional(2)
    alpha, beta = node.attribute("alpha"), node.attribute("beta")
    if node.attribute("transA"):
        data = node.add(movement.TransposeOp, data, permutation=(1, 0)).result
    is_layer = bias is None or node.shape(2) == (node.shape(1)[0 if node.attribute("transB") else 1],)
    if alpha == 1 and (beta == 1 or bias is None) and is_layer:
        if not node.attribute("transB"):
            weight = node.add(movement.TransposeOp, weight, permutation=(1, 0)).result
        return node.add(ops.FullyConnectedOp, data, weight, bias).result
    result = node.add(ops.MatMulOp, data, weight, transpose_b=bool(node.attribute("transB"))).result
    if alpha != 1:
        result = node.add(elementwise.MulOp, result, node.scalar(alpha, result)).result
    if bias is None:
        return result
    if beta != 1:
        bias = node.add(elementwise.MulOp, bias, node.scalar(beta, bias)).result
    return node.add(elementwise.AddOp, result, bias).result


IMPORTERS: dict[str, Importer] = {"Conv": _conv, "MatMul": _matmul, "Gemm": _gemm}
