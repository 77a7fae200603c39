"""QUANTIZE and DEQUANTIZE, whose rounding depends on the kernels of LiteRT."""

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import AnyFloat, f32
from xdsl.ir import SSAValue

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.litert.node import LiteNode, followed
from qmlir.extensions.litert.operators.row import ALL, LiteRow
from qmlir.ir.builtin_types import element_of

BYTE = 8
"""The width of the integers that XNNPACK supports."""


def _quantize(node: LiteNode) -> SSAValue:
    value, element = node.input(), node.element()
    if not isinstance(element, UniformQuantizedType) or element.axes:
        raise node.error(f"its output must have one scale, but is {element}")
    source = element_of(value)
    if not isinstance(source, UniformQuantizedType) and source != f32:
        raise node.unsupported(f"cannot quantize elements of {source}")
    # XNNPACK has kernels for bytes that stay signed or unsigned; others have the reference arithmetic in both sets.
    types = [each for each in (source, element) if isinstance(each, UniformQuantizedType)]
    is_delegated = {each.bits for each in types} == {BYTE} and len({each.is_signed for each in types}) == 1
    mode = node.requantize if is_delegated else RequantizeAttr.of(Mode.LITERT_REFERENCE)
    return node.add(elementwise.ClipOp, value, result_element=element, requantize=mode).result


def _dequantize(node: LiteNode) -> SSAValue:
    value, expressed = node.input(), node.element()
    if not isinstance(expressed, AnyFloat):
        raise node.error(f"its output must be floats, but is {expressed}")
    element = element_of(value)
    if isinstance(element, UniformQuantizedType):
        return node.dequantized(value, expressed)
    if not isinstance(element, AnyFloat):
        raise node.unsupported(f"cannot dequantize elements of {element}")
    array = constant_array(value)
    if array is None:
        return node.cast(value, expressed)
    return node.owner.add_constant(array.astype(np.float32), expressed, node.given(0))


OPERATORS: Mapping[str, LiteRow] = {
    "QUANTIZE": LiteRow(_quantize, followed, ALL),
    "DEQUANTIZE": LiteRow(_dequantize, followed, ALL),
}
"""The operators of this module."""
