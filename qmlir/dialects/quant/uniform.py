"""What every quantized type is, and the granularity of uniform types: per tensor, axis or block.

Scales are kept as the bytes of f64, so that a type of thousands of channels is built, compared and hashed in
microseconds. Each is checked against the range of the expressed type, as upstream does.
"""

from abc import abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, BytesAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.quant import syntax

_FLOAT_DTYPES: dict[str, npt.DTypeLike] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}


def _positive_range(dtype: npt.DTypeLike) -> tuple[float, float]:
    information = cast(Any, ml_dtypes.finfo(dtype))
    return float(information.smallest_subnormal), float(information.max)


_SCALE_LIMITS: dict[str, tuple[float, float]] = {
    name: _positive_range(dtype) for name, dtype in _FLOAT_DTYPES.items()
} | {"tf32": (2.0**-136, (2 - 2.0**-10) * 2.0**127)}
"""Smallest and largest positive value of an expressed type: the range that upstream accepts for a scale."""

_ANY_POSITIVE = (5e-324, 1.7976931348623157e308)


def verify_expressed(expressed: Attribute) -> None:
    """Check that the values expressed are floats."""
    if not isinstance(expressed, AnyFloat):
        raise VerifyException(f"expressed type must be floating point, but got '{expressed}'")


class QuantizedType(ParametrizedAttribute, TypeAttribute):
    """What every type of the dialect has: the float type that its values express."""

    @property
    @abstractmethod
    def expressed_type(self) -> AnyFloat | None:
        """The float type of the real values; `None` where an `any` type leaves it open."""


class Granularity(StrEnum):
    """How many parameters a uniform type has."""

    TENSOR = "tensor"
    AXIS = "axis"
    BLOCK = "block"


def _ints(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr(IntAttr(value) for value in values)


def _has_scale(expressed: Attribute, scales: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Where a scale lies in the range of the expressed type; NaN does not."""
    low, high = _SCALE_LIMITS.get(expressed.name, _ANY_POSITIVE)
    return (scales >= low) & (scales <= high)


def _verify_scales(scales: npt.NDArray[np.float64], expressed: Attribute) -> None:
    if len(bad := np.argwhere(~_has_scale(expressed, scales))):
        low, high = _SCALE_LIMITS.get(expressed.name, _ANY_POSITIVE)
        place = tuple(bad[0].tolist())
        raise VerifyException(f"scale {scales[place]} out of expressed type range [{low}, {high}]{at_place(place)}")


def at_place(place: tuple[int, ...]) -> str:
    """The place of a parameter among many, for a message."""
    return f", at {list(place)}" if place else ""


def _rounded_to(expressed: Attribute, scales: Any) -> Any:
    """Positive scales rounded to the expressed type, ties to even; types wider than f64 change nothing."""
    if expressed.name in _FLOAT_DTYPES:
        return scales.astype(_FLOAT_DTYPES[expressed.name]).astype("<f8")
    if expressed.name == "tf32":  # no NumPy type: 11 significant bits, down to the smallest subnormal
        quantum = np.maximum(np.frexp(scales)[1] - 11, -136)
        return np.ldexp(np.rint(np.ldexp(scales, -quantum)), quantum)
    return scales


def uniform_parameters(
    storage: Sequence[Attribute],
    expressed: Attribute,
    granularity: Granularity,
    axes: Sequence[int],
    block_sizes: Sequence[int],
    scales: npt.ArrayLike,
    zero_points: npt.ArrayLike,
) -> list[Attribute]:
    """The parameters of a uniform type, in order: those of its storage, the layout, scales and zero points."""
    scale_array = np.asarray(scales, dtype="<f8")
    if granularity is Granularity.BLOCK:
        # Upstream keeps the scales of blocks in the expressed type, all others in f64, and checks them before.
        _verify_scales(scale_array, expressed)
        scale_array = _rounded_to(expressed, scale_array)
    zero_point_array = np.broadcast_to(np.asarray(zero_points, dtype="<i8"), scale_array.shape)
    return [
        *storage,
        expressed,
        StringAttr(granularity),
        _ints(axes),
        _ints(block_sizes),
        _ints(scale_array.shape),
        BytesAttr(scale_array.tobytes()),
        BytesAttr(zero_point_array.tobytes()),
    ]


class UniformType(QuantizedType):
    """A quantized type with scales: `real = scale * (stored - zero_point)`."""

    storage: Any
    """The type of what is stored: an integer, or a float of 8 bits or fewer."""

    expressed: Attribute
    granularity_name: StringAttr
    axis_list: ArrayAttr[IntAttr]
    block_size_list: ArrayAttr[IntAttr]
    parameter_shape_list: ArrayAttr[IntAttr]
    scale_bytes: BytesAttr

    @property
    def expressed_type(self) -> AnyFloat:
        assert isinstance(self.expressed, AnyFloat)
        return self.expressed

    @property
    @abstractmethod
    def zero_points(self) -> npt.NDArray[np.int64]:
        """The zero points, read-only, in the shape of `scales`."""

    @abstractmethod
    def along(self, axis: int) -> "UniformType":
        """The per-axis type with its parameters along another axis, as after a transpose."""

    @abstractmethod
    def permuted(self, order: Sequence[int]) -> "UniformType":
        """The per-block type after a transpose: axis `i` of the blocks is axis `order[i]` of these."""

    def permuted_blocks(self, order: Sequence[int]) -> dict[int, int]:
        """The sizes of the blocks after that transpose, by axis."""
        return dict(sorted(zip(map(list(order).index, self.axes), self.block_sizes, strict=True)))

    @property
    def granularity(self) -> Granularity:
        """Whether the parameters are per tensor, per axis or per block."""
        return Granularity(self.granularity_name.data)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that the parameters follow: none, one, or those with blocks."""
        return tuple(axis.data for axis in self.axis_list)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """The size of a block along each of `axes`; 1 for a per-axis type."""
        return tuple(size.data for size in self.block_size_list)

    @property
    def axis(self) -> int:
        """The axis of a per-axis type."""
        if self.granularity is not Granularity.AXIS:
            raise ValueError(f"a {self.granularity} type has no single axis")
        return self.axes[0]

    @property
    def scales(self) -> npt.NDArray[np.float64]:
        """The scales, read-only: shape `[]`, `[channels]`, or the number of blocks along each axis."""
        return np.frombuffer(self.scale_bytes.data, dtype="<f8").reshape(self.parameter_shape)

    @property
    def scale(self) -> float:
        """The scale of a per-tensor type."""
        return float(self.scales.item())

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        """The shape of `scales`."""
        return tuple(size.data for size in self.parameter_shape_list)

    def verify_layout(self) -> None:
        """Check the axes, the sizes of blocks and the scales."""
        verify_expressed(self.expressed)
        # Upstream keeps an axis in 32 bits, and a block size in 64.
        for axis in self.axes:
            if not 0 <= axis < 1 << 31:
                raise VerifyException(f"illegal quantized dimension: {axis}")
        for size in self.block_sizes:
            if not 0 < size < 1 << 63:
                raise VerifyException(f"illegal block size: {size}")
        if self.scales.size == 0 or (self.granularity is Granularity.AXIS and self.scales.ndim != 1):
            raise VerifyException(f"illegal number of scales and zero points: {self.parameter_shape}")
        _verify_scales(self.scales, self.expressed)

    def print_layout(self, printer: Printer) -> None:
        """Print everything after the storage."""
        printer.print_string(":")
        printer.print_attribute(self.expressed)
        match self.granularity:
            case Granularity.TENSOR:
                printer.print_string(", ")
            case Granularity.AXIS:
                printer.print_string(f":{self.axis}, ")
            case Granularity.BLOCK:
                pairs = zip(self.axes, self.block_sizes, strict=True)
                blocks = ", ".join(f"{axis}:{size}" for axis, size in pairs)
                printer.print_string(f":{{{blocks}}}, ")
        rounded = self._as_read if self.granularity is Granularity.BLOCK else None
        printer.print_string(syntax.parameter_text(self.scales, self.zero_points, rounded))

    def _as_read(self, scales: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """What reading makes of the scales of blocks: NaN where it refuses one, before it rounds."""
        return np.where(_has_scale(self.expressed, scales), _rounded_to(self.expressed, scales), np.nan)
