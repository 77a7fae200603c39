"""Scales and zero points of ONNX nodes: quantized types if they are constant, otherwise values that broadcast.

A tensor has one scale, one for each index of an axis, or one for each block along an axis (ONNX QuantizeLinear).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerType, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.movement.ops import normalized_axis
from qmlir.dialects.quant.infer import verify_quantized_tensor
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType, UniformType
from qmlir.ir.builtin_types import SmallFloat, element_of, shape_of
from qmlir.onnx.node import Node


def check_scales(node: Node, scales: Array, *, may_be_zero: bool = False) -> None:
    """Raises `DiagnosticError` if a scale is negative, infinite or NaN, or if it is 0 and `may_be_zero` isn't set."""
    values = scales.astype(np.float64)
    wrong = values[~(np.isfinite(values) & ((values >= 0) if may_be_zero else (values > 0)))]
    if wrong.size:
        least = "not negative" if may_be_zero else "above 0"
        raise node.error(f"scales must be finite and {least}, but got {wrong[0]}")


@dataclass(frozen=True)
class QParams:
    """The scale and zero point of a tensor of `shape`; both are optional.

    There is one of each for every `block` indices along `axis` (0: one per index), or a single one if `shape` is empty.
    """

    node: Node
    scale: SSAValue | None
    zero_point: SSAValue | None
    shape: tuple[int, ...] = ()
    axis: int = 0
    block: int = 0

    @staticmethod
    def of(
        node: Node, scale: int | None, zero_point: int, shape: tuple[int, ...] = (), axis: int = 0, block: int = 0,
        *, divides: bool = False,
    ) -> "QParams":  # fmt: skip
        """Returns the parameters in the inputs with the indices `scale` and `zero_point`.

        If `divides` is set, as for the scale of a result, values are divided by the scale, so it must not be 0.
        """
        given = None if scale is None else node.input(scale)
        known = None if given is None else node.graph.constant_value(given)
        if known is not None:
            check_scales(node, known, may_be_zero=not divides)
        return QParams(node, given, node.optional(zero_point), shape, axis, block)

    def position(self) -> int:
        """Returns the non-negative axis; for a vector, it is always 0, regardless of the node's attribute."""
        rank = len(self.shape)
        return 0 if rank == 1 else normalized_axis(self.axis, rank)

    def aligned(self, parameters: Sequence[int]) -> tuple[int, ...]:
        """Returns the shape that aligns parameters of shape `parameters` with the tensor's axes; `()` for a single one.

        Raises `DiagnosticError` if this shape matches neither the tensor nor the axis nor the blocks.
        """
        if all(size == 1 for size in parameters):
            return ()
        if not self.shape:
            raise self.node.error(f"expected one scale and zero point per tensor, but got shape {list(parameters)}")
        rank, position = len(self.shape), self.position()
        expected, found = list(self.shape), tuple(parameters)
        if self.block and len(parameters) == rank:
            size = expected[position]
            expected[position] = size if size == DYNAMIC_INDEX else -(-size // self.block)
        elif len(parameters) == 1 and not self.block:
            expected = [size if axis == position else 1 for axis, size in enumerate(self.shape)]
            found = tuple(parameters[0] if axis == position else 1 for axis in range(rank))
        else:
            expected = []
        pairs = zip(found, expected, strict=False)
        if not expected or any(
            size not in (1, wanted) and DYNAMIC_INDEX not in (size, wanted) for size, wanted in pairs
        ):
            blocks = f" in blocks of {self.block}" if self.block else ""
            raise self.node.error(
                f"a scale or zero point of shape {list(parameters)} is incompatible with shape {list(self.shape)} "
                f"along axis {self.axis}{blocks}"
            )
        return found

    @overload
    def type_of(self, storage: IntegerType, expressed: AnyFloat) -> UniformQuantizedType | None: ...
    @overload
    def type_of(self, storage: SmallFloat, expressed: AnyFloat) -> UniformFloatType | None: ...
    def type_of(self, storage: IntegerType | SmallFloat, expressed: AnyFloat) -> UniformType | None:
        """Returns the quantized type of these parameters, or `None` if they are known only at run time.

        Also returns `None` if no type can represent the parameters: a scale is 0, blocks don't divide the axis, or the
        zero point is a float.
        """
        scales = None if self.scale is None else self._constant(self.scale)
        zero_points = np.zeros((), np.int64) if self.zero_point is None else self._constant(self.zero_point)
        if scales is None or zero_points is None:
            return None
        # The arithmetic rounds the scale to the expressed type.
        scales = scales.astype(self.node.graph.dtype_of(expressed)).astype(np.float64)
        zero_points = zero_points.astype(np.float64) if zero_points.dtype.kind not in "iu" else zero_points
        scales, zero_points = np.broadcast_arrays(scales, zero_points)
        if not isinstance(storage, IntegerType) and zero_points.any():
            return None
        try:
            element = self._uniform(storage, expressed, scales, zero_points)
            verify_quantized_tensor(TensorType(element, self.shape))
        except VerifyException:
            return None
        return element

    def _constant(self, value: SSAValue) -> Array | None:
        array = self.node.graph.constant_value(value)
        return None if array is None else array.reshape(self.aligned(array.shape))

    def _uniform(
        self, storage: IntegerType | SmallFloat, expressed: AnyFloat, scales: Array, zero_points: Array
    ) -> UniformType:
        blocks = {axis: 1 for axis, count in enumerate(scales.shape) if count > 1}
        if self.block and blocks and (position := self.position()) in blocks:
            blocks[position] = self.block
        granularity = Granularity.BLOCK
        if list(blocks.values()) in ([], [1]):
            granularity = Granularity.AXIS if blocks else Granularity.TENSOR
            scales, zero_points = (each.reshape(-1 if blocks else ()) for each in (scales, zero_points))
        if not isinstance(storage, IntegerType):
            return UniformFloatType.of(storage, expressed, scales, granularity, blocks)
        match granularity:
            case Granularity.TENSOR:
                return UniformQuantizedType.per_tensor(storage, expressed, float(scales), int(zero_points))
            case Granularity.AXIS:
                return UniformQuantizedType.per_axis(storage, expressed, next(iter(blocks)), scales, zero_points)
            case Granularity.BLOCK:
                return UniformQuantizedType.per_block(storage, expressed, blocks, scales, zero_points)

    def spread_array(self, array: Array) -> Array:
        """Reshapes a scale or zero point so that it broadcasts against the tensor, which must have a static shape."""
        array = array.reshape(self.aligned(array.shape))
        position = self.position() if array.shape else 0
        if not self.block or not array.shape or array.shape[position] == 1:
            return array
        return np.take(array, np.arange(self.shape[position]) // self.block, axis=position)

    def without_zero_scales(self, data: int, scale: int, bias: int | None = None, channels: int = 0) -> Node:
        """Returns an equivalent node without scales of 0, if its input with the index `data` is a constant.

        Elements with a scale of 0, such as a pruned channel, have the real value 0. Their integers in the input `data`
        become the zero point, and their scale in the input `scale` becomes 1. The corresponding elements of the input
        `bias`, whose last axis corresponds to the axis `channels` of the data, become 0.
        """
        node = self.node
        scales, stored = node.constant(scale), node.constant(data)
        offsets = np.zeros((), np.int8) if self.zero_point is None else node.graph.constant_value(self.zero_point)
        if scales is None or scales.all() or stored is None or offsets is None:
            return node
        is_zero = self.spread_array(scales == 0)
        inputs = list(node.inputs)
        added = None if bias is None else node.optional(bias)
        if bias is not None and added is not None:
            known = node.graph.constant_value(added)
            if known is None:
                return node
            others = tuple(axis for axis in range(stored.ndim) if axis != channels)
            dead = np.broadcast_to(is_zero, stored.shape).all(axis=others)
            inputs[bias] = node.add_constant(np.where(dead, np.zeros_like(known), known), element_of(added))
        integers, live = with_live_scales(stored, scales, offsets, self.spread_array)
        inputs[data] = node.add_constant(integers, element_of(node.input(data)))
        inputs[scale] = node.add_constant(live, element_of(node.input(scale)))
        return replace(node, inputs=tuple(inputs))

    def spread(self, value: SSAValue) -> SSAValue:
        """Returns a scale or zero point reshaped so that it broadcasts against the tensor."""
        node, shape = self.node, self.aligned(shape_of(value))
        if shape != shape_of(value):
            value = node.reshaped(value, shape)
        position = self.position() if shape else 0
        if not self.block or not shape or shape[position] == 1:
            return value
        size = self.shape[position]
        if size == DYNAMIC_INDEX:
            raise node.unsupported(
                f"blocks along axis {position} require a static size; fix the shape of the input with --shape"
            )
        block_of_each = node.add_constant(np.arange(size, dtype=np.int64) // self.block, i64)
        return node.add(GatherOp, value, block_of_each, axis=position).result


def with_live_scales(
    stored: Array, scales: Array, zero_points: Array, spread: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Returns integers and scales that represent the same real values without scales of 0, which types don't allow.

    Integers whose scale is 0 become their zero point, and the scale becomes 1. `spread` reshapes parameters so that
    they broadcast against `stored`.
    """
    is_zero = scales == 0
    if not is_zero.any():
        return stored, scales
    integers = np.where(spread(is_zero), spread(zero_points).astype(stored.dtype), stored)
    return integers, np.where(is_zero, np.ones_like(scales), scales)
