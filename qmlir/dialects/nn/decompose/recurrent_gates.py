"""Gates of recurrent layers: a gate's slice of the weights, and its activation function."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.building import build
from qmlir.dialects.nn.decompose.components import components_of
from qmlir.dialects.nn.decompose.operands import scalar
from qmlir.dialects.nn.ops import recurrent as ops
from qmlir.dialects.nn.ops.activations import (
    EluOp,
    HardSigmoidOp,
    LeakyReluOp,
    ReluOp,
    SigmoidOp,
    SoftplusOp,
    SoftsignOp,
    TanhOp,
)
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.ops.elementwise import AddOp, GreaterOrEqualOp, MulOp, UnaryOp, WhereOp
from qmlir.dialects.nn.ops.movement import ReshapeOp, SliceOp
from qmlir.dialects.quant.types import Granularity, StoredType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts


def _in_memory(value: SSAValue) -> ConstantOp | None:
    """The constant that `value` is, where its numbers are at hand."""
    constant = value.op if isinstance(value, OpResult) else None
    if not isinstance(constant, ConstantOp) or not isinstance(constant.value, DenseIntOrFPElementsAttr):
        return None
    return constant if kind_of(element_of(value)) in (Kind.FLOAT, Kind.QUANTIZED) else None


def _stored_as(element: StoredType) -> tuple[Attribute, int, int]:
    return element.storage, element.storage_min, element.storage_max


@dataclass
class DirectionWeights:
    """Slices of the weights of one direction; those of a constant are constants, and nothing is left to compute."""

    op: ops.Layer
    parts: Parts
    prefix: str
    way: int

    def _constant(self, role: str, source: ConstantOp, array: Array) -> SSAValue:
        constant = ConstantOp.of(array, TensorType(self._element(role, source), array.shape))
        return self.parts.add(self.prefix + role, constant).result

    def _element(self, role: str, source: ConstantOp) -> Attribute:
        """The element type of a slice of a constant: the constant's, or for stored integers that of the components.

        Raises `VerifyException` where the components have none, or one with another storage.
        """
        own = element_of(source.result)
        if not isinstance(own, StoredType):
            return own
        given = components_of(self.op).get(self.prefix + role)
        if given is None and isinstance(own, UniformQuantizedType) and own.granularity is Granularity.TENSOR:
            return own
        if not isinstance(given, UniformQuantizedType):
            raise VerifyException(
                f"'components' must have a type for part '{self.prefix}{role}', a constant of type '{own}'"
            )
        if _stored_as(given) != _stored_as(own):
            raise VerifyException(
                f"component '{self.prefix}{role}' must have the storage of '{own}', but got '{given}'"
            )
        return given

    def _sum(self, role: str, source: ConstantOp, first: Array, second: Array) -> SSAValue:
        """The sum of two slices of a constant; of stored integers exactly, they have one type."""
        element = self._element(role, source)
        if not isinstance(element, UniformQuantizedType):
            return self._constant(role, source, (first + second).astype(first.dtype, copy=False))
        total = first.astype(np.int64) + second
        if element.zero_points.any() or (total < element.storage_min).any() or (total > element.storage_max).any():
            raise VerifyException(f"the sum of the biases for '{self.prefix}{role}' does not fit '{element}'")
        return self._constant(role, source, total.astype(first.dtype))

    def rows(self, role: str, value: SSAValue, number: int) -> SSAValue:
        """The `number`-th run of `hidden_size` rows of `[D, rows, …]`, without the first axis."""
        size = self.op.hidden_size.value.data
        start = number * size
        if (constant := _in_memory(value)) is not None:
            return self._constant(role, constant, constant.array[self.way, start : start + size])
        bounds = {"starts": [self.way, start], "ends": [self.way + 1, start + size]}
        part = value
        if shape_of(value)[:2] != (1, size):
            part = self.parts.add(f"{self.prefix}{role}/slice", build(SliceOp, [value], bounds)).result
        return self.parts.add(self.prefix + role, ReshapeOp(part, shape_of(part)[1:])).result

    def bias_sum(self, role: str, bias: SSAValue, number: int) -> SSAValue:
        """The sum of the biases of `W` and `R` for one gate."""
        size, gates = self.op.hidden_size.value.data, self.op.GATES
        if (constant := _in_memory(bias)) is not None:
            first, second = constant.array[self.way].reshape(2, gates, size)[:, number]
            return self._sum(role, constant, first, second)
        of_input = self.rows(f"{role}/input", bias, number)
        of_recurrence = self.rows(f"{role}/recurrence", bias, gates + number)
        return self.parts.add(self.prefix + role, AddOp(of_input, of_recurrence)).result

    def direction(self, role: str, value: SSAValue) -> SSAValue:
        """This direction of `[D, …]`, as `[1, …]`."""
        bounds = {"starts": [self.way], "ends": [self.way + 1]}
        return self.parts.add(self.prefix + role, build(SliceOp, [value], bounds)).result


_OPERATIONS: dict[str, tuple[type[UnaryOp], tuple[str, ...]]] = {
    "Relu": (ReluOp, ()),
    "Tanh": (TanhOp, ()),
    "Sigmoid": (SigmoidOp, ()),
    "Softsign": (SoftsignOp, ()),
    "Softplus": (SoftplusOp, ()),
    "LeakyRelu": (LeakyReluOp, ("alpha",)),
    "Elu": (EluOp, ("alpha",)),
    "HardSigmoid": (HardSigmoidOp, ("alpha", "beta")),
}
"""Activation functions that are operations, and the parameters that are their properties."""


def _affine(parts: Parts, gate: str, x: SSAValue, chosen: ops.Activation) -> SSAValue:
    product = parts.add(f"{gate}/affine_mul", MulOp(x, scalar(parts, f"{gate}/alpha", chosen.alpha or 0.0, x))).result
    return parts.add(f"{gate}/affine", AddOp(product, scalar(parts, f"{gate}/beta", chosen.beta or 0.0, x))).result


def _scaled_tanh(parts: Parts, gate: str, x: SSAValue, chosen: ops.Activation) -> SSAValue:
    inner = parts.add(f"{gate}/tanh_mul", MulOp(x, scalar(parts, f"{gate}/beta", chosen.beta or 0.0, x))).result
    curve = parts.add(f"{gate}/tanh", TanhOp(inner)).result
    return parts.add(f"{gate}/scaled_tanh", MulOp(curve, scalar(parts, f"{gate}/alpha", chosen.alpha or 0.0, x))).result


def _thresholded_relu(parts: Parts, gate: str, x: SSAValue, chosen: ops.Activation) -> SSAValue:
    # Unlike nn.thresholded_relu it keeps the threshold itself: so ONNX's layers have it.
    threshold = scalar(parts, f"{gate}/threshold", chosen.alpha or 0.0, x)
    passes = parts.add(f"{gate}/passes", GreaterOrEqualOp(x, threshold)).result
    zero = scalar(parts, f"{gate}/zero", 0.0, x)
    return parts.add(f"{gate}/thresholded_relu", build(WhereOp, [passes, x, zero])).result


_SPELLED_OUT: dict[str, Callable[[Parts, str, SSAValue, ops.Activation], SSAValue]] = {
    "Affine": _affine,
    "ScaledTanh": _scaled_tanh,
    "ThresholdedRelu": _thresholded_relu,
}


def activated(parts: Parts, gate: str, x: SSAValue, chosen: ops.Activation) -> SSAValue:
    """An activation function of `x`, its parts in roles that begin with `gate`."""
    if chosen.name in _SPELLED_OUT:
        return _SPELLED_OUT[chosen.name](parts, gate, x, chosen)
    operation, names = _OPERATIONS[chosen.name]
    properties = {name: getattr(chosen, name) for name in names}
    return parts.add(f"{gate}/{operation.name.partition('.')[2]}", build(operation, [x], properties)).results[0]
