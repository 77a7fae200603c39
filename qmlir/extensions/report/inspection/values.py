"""A value of a module as plain data: element type, shape, bytes, quantization parameters, range.

Dynamic dimensions are `None`; in numbers of elements and bytes they count as 1, so that these are for one sample.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.ir import Operation, OpResult, SSAValue

from qmlir.dialects.quant.infer import bytes_of, shaped_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import CalibratedQuantizedType, UniformQuantizedType, storage_limits
from qmlir.ir.provenance import tensor_name
from qmlir.quantization.profiles.keys import is_constant
from qmlir.quantization.report import element_text

CASTS = (QuantizeCastOp, DequantizeCastOp, StorageCastOp)


@dataclass(frozen=True)
class ParameterInfo:
    """The parameters of a quantized type."""

    storage: str
    """The storage type, such as `i8`, or `i8<-127:127>` with narrower limits."""

    granularity: str
    """The granularity: `tensor`, `axis` or `block`."""

    axes: tuple[int, ...]
    """The axes along which parameters differ."""

    count: int
    """Number of scales."""

    scale: tuple[float, float]
    """The smallest and the largest scale."""

    zero_point: tuple[int, int]
    """The smallest and the largest zero point."""

    range: tuple[float, float]
    """The smallest and the largest value that the type represents."""

    @staticmethod
    def of(type_: UniformQuantizedType) -> "ParameterInfo":
        """Returns the parameters of `type_`."""
        found = type_.storage_min, type_.storage_max
        assert isinstance(type_.storage, IntegerType)
        limits = "" if found == storage_limits(type_.storage) else f"<{found[0]}:{found[1]}>"
        scales, points = type_.scales, type_.zero_points
        return ParameterInfo(
            f"{element_text(type_)}{limits}",
            str(type_.granularity),
            type_.axes,
            int(scales.size),
            (float(scales.min()), float(scales.max())),
            (int(points.min()), int(points.max())),
            represented_range(type_),
        )

    @property
    def text(self) -> str:
        """A summary such as `i8, scale 0.0078, zero point -14`."""
        axes = ", ".join(map(str, self.axes))
        if self.count == 1:
            scale = f"scale {self.scale[0]:.6g}"
        else:
            along = f" along ax{'i' if len(self.axes) == 1 else 'e'}s {axes}" if self.axes else ""
            scale = f"{self.count} scales from {self.scale[0]:.4g} to {self.scale[1]:.4g}{along}"
        low, high = self.zero_point
        return f"{self.storage}, {scale}, zero point{f' {low}' if low == high else f's from {low} to {high}'}"


@dataclass(frozen=True)
class ValueInfo:
    """One operand or result of an operation."""

    name: str
    """The model's name of the tensor; empty if it has none."""

    element: str
    """The stored element type, such as `f32` or `i8`."""

    shape: tuple[int | None, ...]
    bytes: int
    is_constant: bool
    range: tuple[float, float] | None = None
    """The observed range of a profiled value, or the range that a quantized type represents."""

    parameters: ParameterInfo | None = None

    @property
    def text(self) -> str:
        """The shape and element type, such as `1x64x56x56xi8`."""
        return "x".join(["?" if size is None else str(size) for size in self.shape] + [self.element])


def represented_range(type_: UniformQuantizedType) -> tuple[float, float]:
    """Returns the smallest `scale * (qmin - zero_point)` and the largest `scale * (qmax - zero_point)` of a type."""
    low = type_.scales * (type_.storage_min - type_.zero_points)
    high = type_.scales * (type_.storage_max - type_.zero_points)
    return float(low.min()), float(high.max())


def constant_behind(value: SSAValue) -> SSAValue | None:
    """Returns the constant that `value` is, or is cast from; `None` if it is computed."""
    while isinstance(value.owner, CASTS):
        value = value.owner.operands[0]
    owner = value.owner
    is_global = isinstance(owner, Operation) and owner.name == "memref.get_global"
    return value if isinstance(owner, Operation) and (is_global or is_constant(owner)) else None


def value_info(value: SSAValue) -> ValueInfo | None:
    """Returns the description of a tensor or a memref; `None` for any other value."""
    found = shaped_type(value)
    if found is None:
        return None
    element, shape = found
    parameters = ParameterInfo.of(element) if isinstance(element, UniformQuantizedType) else None
    observed = (element.minimum, element.maximum) if isinstance(element, CalibratedQuantizedType) else None
    name = tensor_name(value) if isinstance(value, OpResult) else value.name_hint or ""
    return ValueInfo(
        name,
        element_text(element),
        tuple(None if size == DYNAMIC_INDEX else size for size in shape),
        bytes_of(value),
        constant_behind(value) is not None,
        observed if parameters is None else parameters.range,
        parameters,
    )
