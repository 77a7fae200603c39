"""Exports integer contractions of data whose zero point is known only at run time as MatMulInteger and ConvInteger.

Importing these operators adds a contraction of bytes and the correction `sum - zero_point * sums of weights`
(`qmlir.dialects.nn.dynamic.products`). Here, both become one node again, which ONNX Runtime fuses with the
multiplication by the scales. The sums of the weights are checked, so that any other arithmetic is exported unchanged.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.dynamic.ops import STORAGES
from qmlir.dialects.nn.dynamic.products import SUM
from qmlir.dialects.nn.elementwise.ops import CastOp, MulOp, SubOp
from qmlir.dialects.nn.shapes.ops import PadOp
from qmlir.dialects.quant.ops import StorageCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.formats.one_to_one import attributes_of
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.export.emission import WINDOWS, NodeEmitter, container
from qmlir.text.elements import integers_of

_DATA = UniformQuantizedType.per_tensor(STORAGES["u8"], f32, 1.0)


@dataclass(frozen=True)
class Correction:
    """A contraction of u8 data with constant weights, and the correction of its sums."""

    product: MatMulOp | FullyConnectedOp | ConvOp
    data: SSAValue
    zero_point: SSAValue
    pads: tuple[int, ...]
    inner: tuple[Operation, ...]
    """The operations that the node replaces, apart from the last one."""

    def write(self, out: NodeEmitter, product: Operation, data: str, zero_point: str) -> None:
        """Adds the node. `product` is the contraction with weights as they are exported, possibly unsigned."""
        weights = product.operands[1]
        element, right = element_of(weights), out.name(weights)
        assert isinstance(element, UniformQuantizedType)
        if _is_transposed(self.product):
            right = out.transposed(right, len(shape_of(weights)))
        inputs = [data, right, zero_point]
        if element.zero_points.any():
            inputs.append(out.constant(element.zero_points.flat[0], container(element)))
        if isinstance(product, ConvOp):
            attributes = attributes_of(product, WINDOWS)
            if any(self.pads):
                attributes["pads"] = list(self.pads)
            out.node("ConvInteger", inputs, out.outputs, **attributes)
        else:
            out.node("MatMulInteger", inputs, out.outputs)


def _is_transposed(product: Operation) -> bool:
    return isinstance(product, FullyConnectedOp) or (isinstance(product, MatMulOp) and product.is_rhs_transposed)


def _sums(product: MatMulOp | FullyConnectedOp | ConvOp, weights: Array) -> Array:
    """Returns the i32 sums of `weights` in a shape that broadcasts to the result of `product`."""
    if isinstance(product, ConvOp):
        sums = weights.sum(axis=tuple(range(1, weights.ndim)), keepdims=True).swapaxes(0, 1)
    else:
        factor = weights.swapaxes(-1, -2) if _is_transposed(product) and weights.ndim > 1 else weights
        sums = factor.sum(axis=max(factor.ndim - 2, 0), keepdims=True)
    return sums.astype(np.int32)


def _correction(op: SubOp) -> Correction | None:
    """Returns the correction that `op` ends, or `None`."""
    sums, term = (value.owner for value in op.operands)
    if not isinstance(sums, StorageCastOp) or not isinstance(term, MulOp):
        return None
    product, point, known = sums.input.owner, term.operands[0].owner, constant_array(term.operands[1])
    if not isinstance(product, MatMulOp | FullyConnectedOp | ConvOp) or element_of(product.result) != SUM:
        return None
    stored, weights = product.operands[0].owner, constant_array(product.operands[1])
    element = element_of(product.operands[1])
    if len(product.operands) != 2 or not isinstance(stored, StorageCastOp) or not isinstance(point, CastOp):
        return None
    signless = stored.input.owner
    if not isinstance(signless, CastOp) or element_of(stored.result) != _DATA or known is None or weights is None:
        return None
    data, zero_point = signless.input, point.input
    if any(element_of(each) != STORAGES["u8"] for each in (data, zero_point)) or shape_of(zero_point):
        return None
    if not isinstance(element, UniformQuantizedType) or element.bits != 8 or element.zero_points.size != 1:
        return None
    integers = integers_of(weights, element.storage, is_unsigned=not element.is_signed) - element.zero_points
    sums_of_weights = _sums(product, integers)
    aligned = known.reshape((1,) * (sums_of_weights.ndim - known.ndim) + known.shape)
    if shape_of(op.result) != shape_of(product.result) or not np.array_equal(aligned, sums_of_weights):
        return None
    pads, padding = product.windows.pads if isinstance(product, ConvOp) else (), ()
    if isinstance(product, ConvOp) and isinstance(pad := data.owner, PadOp) and not any(pads):
        numbers, half = pad.integers("pads") or (), weights.ndim
        is_spatial = len(numbers) == 2 * half and not any((*numbers[:2], *numbers[half : half + 2]))
        is_plain = pad.axes is None and pad.mode.data == "constant" and min(numbers, default=0) >= 0
        if pad.value is zero_point and is_spatial and is_plain:
            data, padding = pad.operands[0], (pad,)
            pads = (*numbers[2:half], *numbers[half + 2 :])
    constants = [each for each in (term.operands[1].owner,) if isinstance(each, ConstantOp)]
    inner = (sums, term, product, point, stored, signless, *padding, *constants)
    return Correction(product, data, zero_point, tuple(pads), inner)


def corrections(function: FuncOp) -> tuple[Mapping[Operation, Correction], AbstractSet[Operation]]:
    """Returns the corrections in `function` by their last operation, and the operations that no other node needs."""
    found: dict[Operation, Correction] = {
        op: each for op in function.body.block.ops if isinstance(op, SubOp) and (each := _correction(op))
    }
    inner = {op for each in found.values() for op in each.inner}
    absorbed = set[Operation]()
    for op in reversed(list(function.body.block.ops) if inner else []):
        users = {use.operation for result in op.results for use in result.uses}
        if op in inner and users <= absorbed | found.keys():
            absorbed.add(op)
    return found, absorbed
