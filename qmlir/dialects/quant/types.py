"""The types of the `quant` dialect, as upstream MLIR defines them: `any`, `calibrated` and `uniform`."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    IntAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    StringAttr,
    f64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.quant import syntax
from qmlir.dialects.quant.syntax import MAX_STORAGE_BITS
from qmlir.ir.builtin_types import FLOAT_DTYPES, Codes, SmallFloat
from qmlir.text.elements import float_text

# The base of quantized types, and the granularity of uniform types: per tensor, axis or block.
#
# Scales are stored as the bytes of f64 values, so that a type with thousands of channels is built, compared and hashed
# in microseconds. Each scale is checked against the range of the expressed type, as upstream does.

_DTYPES_BY_NAME = {each.name: dtype for each, dtype in FLOAT_DTYPES.items()}


def _positive_range(dtype: npt.DTypeLike) -> tuple[float, float]:
    information = cast(Any, ml_dtypes.finfo(dtype))
    return float(information.smallest_subnormal), float(information.max)


_SCALE_LIMITS: dict[str, tuple[float, float]] = {
    name: _positive_range(dtype) for name, dtype in _DTYPES_BY_NAME.items()
} | {"tf32": (2.0**-136, (2 - 2.0**-10) * 2.0**127)}
"""The smallest and largest positive value of each expressed type: the range in which upstream accepts scales."""

_ANY_POSITIVE = (5e-324, 1.7976931348623157e308)


def verify_expressed(expressed: Attribute) -> None:
    """Raises `VerifyException` unless `expressed` is a float type."""
    if not isinstance(expressed, AnyFloat):
        raise VerifyException(f"expressed type must be floating point, but got '{expressed}'")


class QuantizedType(ParametrizedAttribute, TypeAttribute):
    """Common base of the types of the dialect. Its values express real values of a float type."""

    @property
    @abstractmethod
    def expressed_type(self) -> AnyFloat | None:
        """The float type of the real values; `None` if an `any` type does not specify one."""


class Granularity(StrEnum):
    """How many parameters a uniform type has: one set per tensor, per index of an axis, or per block."""

    TENSOR = "tensor"
    AXIS = "axis"
    BLOCK = "block"


def _ints(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr(IntAttr(value) for value in values)


def _has_scale(expressed: Attribute, scales: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Returns a mask of the scales in the range of the expressed type; NaN is not."""
    low, high = _SCALE_LIMITS.get(expressed.name, _ANY_POSITIVE)
    return (scales >= low) & (scales <= high)


def _verify_scales(scales: npt.NDArray[np.float64], expressed: Attribute) -> None:
    if len(bad := np.argwhere(~_has_scale(expressed, scales))):
        position, accepted = tuple(bad[0].tolist()), list(_SCALE_LIMITS.get(expressed.name, _ANY_POSITIVE))
        raise VerifyException(f"scale {scales[position]} out of expressed type range {accepted}{at_place(position)}")


def at_place(position: tuple[int, ...]) -> str:
    """Returns the index of a parameter for use in a message; empty if there is only one parameter."""
    return f", at {list(position)}" if position else ""


def _rounded_to(expressed: Attribute, scales: Any) -> Any:
    """Rounds positive scales to the expressed type, ties to even; types wider than f64 change nothing."""
    if expressed.name in _DTYPES_BY_NAME:
        return scales.astype(_DTYPES_BY_NAME[expressed.name]).astype("<f8")
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
    """Returns the parameters of a uniform type in order: its storage, then its layout, scales and zero points."""
    scale_array = np.asarray(scales, dtype="<f8")
    if granularity is Granularity.BLOCK:
        # Upstream stores the scales of blocks in the expressed type and all others in f64, and checks them before.
        _verify_scales(scale_array, expressed)
        scale_array = _rounded_to(expressed, scale_array)
    return [
        *storage,
        expressed,
        StringAttr(granularity),
        _ints(axes),
        _ints(block_sizes),
        _ints(scale_array.shape),
        BytesAttr(scale_array.tobytes()),
        zero_point_bytes(np.broadcast_to(np.asarray(zero_points), scale_array.shape)),
    ]


def zero_point_bytes(zero_points: npt.NDArray[Any]) -> BytesAttr:
    """Returns the attribute with the zero points of a type: a single one if all are equal, as for most weights."""
    is_one = zero_points.size > 0 and bool((zero_points == zero_points.flat[0]).all())
    return BytesAttr((zero_points.flat[:1] if is_one else zero_points).astype("<i8").tobytes())


@dataclass(frozen=True, init=False)
class UniformType(QuantizedType):
    """A quantized type with scales: `real = scale * (stored - zero_point)`."""

    storage: Any
    """The type of the stored values: an integer, or a float of 8 bits or fewer."""

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

    def along(self, axis: int) -> Self:
        """Returns this per-axis type with its parameters along a different axis, as after a transpose."""
        return self._laid_out({axis: 1}, self.scales, self.zero_points)

    def permuted(self, order: Sequence[int]) -> Self:
        """Returns this per-block type after a transpose: axis `i` of the result is axis `order[i]` of this type."""
        blocks = dict(sorted(zip(map(list(order).index, self.axes), self.block_sizes, strict=True)))
        return self._laid_out(blocks, self.scales.transpose(order), self.zero_points.transpose(order))

    def _laid_out(self, blocks: dict[int, int], scales: npt.ArrayLike, zero_points: npt.ArrayLike) -> Self:
        """Returns a type of the same storage and granularity, with other axes and parameters."""
        held = self.parameters[: 3 if isinstance(self, StoredType) else 1]
        layout = self.granularity, tuple(blocks), tuple(blocks.values())
        parameters = uniform_parameters(held, self.expressed, *layout, scales, zero_points)
        return type(self).new(parameters[: len(self.parameters)])

    @property
    def granularity(self) -> Granularity:
        """The granularity of the parameters: per tensor, per axis or per block."""
        return Granularity(self.granularity_name.data)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes along which scales and zero points vary.

        They are empty for a per-tensor type, one axis for a per-axis type, and all blocked axes for a per-block type.
        """
        return tuple(axis.data for axis in self.axis_list)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """The block size along each of `axes`; 1 for a per-axis type."""
        return tuple(size.data for size in self.block_size_list)

    @property
    def axis(self) -> int:
        """The axis of a per-axis type. Raises `ValueError` for other types."""
        if self.granularity is not Granularity.AXIS:
            raise ValueError(f"a {self.granularity} type has no single axis")
        return self.axes[0]

    @property
    def scales(self) -> npt.NDArray[np.float64]:
        """The scales, read-only. Their shape is `[]`, `[channels]`, or the number of blocks along each axis."""
        return np.frombuffer(self.scale_bytes.data, dtype="<f8").reshape(self.parameter_shape)

    @property
    def scale(self) -> float:
        """The scale of a per-tensor type."""
        return float(self.scales.item())

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        """The shape of the array `scales`."""
        return tuple(size.data for size in self.parameter_shape_list)

    def verify_layout(self) -> None:
        """Raises `VerifyException` if the axes, the block sizes or the scales are invalid."""
        verify_expressed(self.expressed)
        # Upstream stores an axis in 32 bits, and a block size in 64.
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
        """Prints the part of the type that follows the storage type."""
        printer.print_string(":")
        printer.print_attribute(self.expressed)
        match self.granularity:
            case Granularity.TENSOR:
                printer.print_string(", ")
            case Granularity.AXIS:
                printer.print_string(f":{self.axis}, ")
            case Granularity.BLOCK:
                blocks = ", ".join(f"{axis}:{size}" for axis, size in zip(self.axes, self.block_sizes, strict=True))
                printer.print_string(f":{{{blocks}}}, ")
        rounded = self._as_read if self.granularity is Granularity.BLOCK else None
        printer.print_string(syntax.parameter_text(self.scales, self.zero_points, rounded))

    def _as_read(self, scales: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns block scales as the parser would read them: rounded, or NaN if it rejects one."""
        return np.where(_has_scale(self.expressed, scales), _rounded_to(self.expressed, scales), np.nan)


# The types of the `quant` dialect: `any`, `calibrated` and `uniform`, as upstream MLIR defines them.
#
# `real = scale * (stored - zero_point)`. A uniform type has one scale (per tensor), one for each index of an axis (per
# axis), or one for each block of several axes (sub-channel). Stored values are integers (`UniformQuantizedType`) or
# floats of 8 bits or fewer (`UniformFloatType`). These are separate classes that share one name in the IR, because
# arithmetic on stored integers would be wrong on stored floats.


def storage_limits(storage: IntegerType) -> tuple[int, int]:
    """Returns the smallest and the largest value of a storage type; a signless type counts as signed."""
    return integer_limits(storage.width.data, is_signed=storage.signedness.data is not Signedness.UNSIGNED)


@dataclass(frozen=True, init=False)
class StoredType(QuantizedType):
    """A quantized type whose values are stored as integers, within limits that it declares."""

    storage: IntegerType
    storage_minimum: IntAttr
    storage_maximum: IntAttr

    @property
    def bits(self) -> int:
        """The width of the storage type."""
        return self.storage.width.data

    @property
    def is_signed(self) -> bool:
        """Whether the storage type is signed; a signless type counts as signed."""
        return self.storage.signedness.data is not Signedness.UNSIGNED

    @property
    def storage_min(self) -> int:
        """The smallest stored value."""
        return self.storage_minimum.data

    @property
    def storage_max(self) -> int:
        """The largest stored value."""
        return self.storage_maximum.data

    def verify_storage(self) -> None:
        if not 1 <= self.bits <= MAX_STORAGE_BITS:
            raise VerifyException(f"illegal storage type size: {self.bits} (must be 1 to {MAX_STORAGE_BITS} bits)")
        lowest, highest = storage_limits(self.storage)
        if self.storage_min < lowest:
            raise VerifyException(f"illegal storage type minimum: {self.storage_min} (must be at least {lowest})")
        if self.storage_max > highest:
            raise VerifyException(f"illegal storage type maximum: {self.storage_max} (must be at most {highest})")
        if self.storage_min >= self.storage_max:
            raise VerifyException(f"illegal storage min and storage max: ({self.storage_min}:{self.storage_max})")

    def print_storage(self, printer: Printer) -> None:
        printer.print_string(f"{'i' if self.is_signed else 'u'}{self.bits}")
        if (self.storage_min, self.storage_max) != storage_limits(self.storage):
            printer.print_string(f"<{self.storage_min}:{self.storage_max}>")


Limits = tuple[int, int]
"""The smallest and largest stored integer."""


def _storage_parameters(storage: IntegerType, limits: Limits | None) -> list[Attribute]:
    # Upstream prints si8 as i8: they are one storage type, represented as signless.
    if storage.signedness.data is Signedness.SIGNED:
        storage = IntegerType(storage.width.data)
    low, high = storage_limits(storage) if limits is None else limits
    return [storage, IntAttr(low), IntAttr(high)]


@irdl_attr_definition
class AnyQuantizedType(StoredType):
    """`!quant.any<i8:f32>`: stored as an integer, with quantization parameters that have not been chosen yet."""

    name = "quant.any"

    expressed: Attribute = param_def()

    @property
    def expressed_type(self) -> AnyFloat | None:
        return self.expressed if isinstance(self.expressed, AnyFloat) else None

    def verify(self) -> None:
        self.verify_storage()
        if not isinstance(self.expressed, NoneAttr):
            verify_expressed(self.expressed)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            storage, limits = syntax.parse_storage(parser, storage_limits)
            expressed: Attribute = NoneAttr()
            if parser.parse_optional_punctuation(":") is not None:
                expressed = syntax.parse_expressed(parser)
        return [*_storage_parameters(storage, limits), expressed]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_storage(printer)
            if not isinstance(self.expressed, NoneAttr):
                printer.print_string(":")
                printer.print_attribute(self.expressed)


@irdl_attr_definition
class CalibratedQuantizedType(QuantizedType):
    """`!quant.calibrated<f32<-1.2:3.4>>`: a float value with its observed range."""

    name = "quant.calibrated"

    expressed: Attribute = param_def()
    limits: BytesAttr = param_def()

    @staticmethod
    def of(minimum: float, maximum: float, expressed: AnyFloat) -> "CalibratedQuantizedType":
        """Returns the type of values of type `expressed` whose observed range is `[minimum, maximum]`."""
        limits = np.array([minimum, maximum], dtype="<f8")
        return CalibratedQuantizedType(expressed, BytesAttr(limits.tobytes()))

    @property
    def expressed_type(self) -> AnyFloat:
        assert isinstance(self.expressed, AnyFloat)
        return self.expressed

    @property
    def minimum(self) -> float:
        """The minimum of the observed range."""
        return float(np.frombuffer(self.limits.data, dtype="<f8")[0])

    @property
    def maximum(self) -> float:
        """The maximum of the observed range."""
        return float(np.frombuffer(self.limits.data, dtype="<f8")[1])

    def verify(self) -> None:
        verify_expressed(self.expressed)
        # As upstream, infinite limits are accepted: the pass that derives parameters reports the value. NaN is not.
        if not self.minimum < self.maximum:
            raise VerifyException(f"illegal min and max: ({self.minimum}:{self.maximum})")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            expressed = syntax.parse_expressed(parser)
            with parser.in_angle_brackets():
                minimum = syntax.parse_real(parser)
                parser.parse_punctuation(":")
                maximum = syntax.parse_real(parser)
        return [expressed, BytesAttr(np.array([minimum, maximum], dtype="<f8").tobytes())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.expressed)
            limits = f"{float_text(self.minimum, f64)}:{float_text(self.maximum, f64)}"
            printer.print_string(f"<{limits}>")


@irdl_attr_definition
class UniformQuantizedType(UniformType, StoredType):
    """`!quant.uniform<…>`: `real = scale * (stored - zero_point)`, per tensor, per axis or per block."""

    name = "quant.uniform"

    storage: IntegerType = param_def()
    zero_point_bytes: BytesAttr = param_def()

    @classmethod
    def per_tensor(
        cls, storage: IntegerType, expressed: AnyFloat, scale: float, zero_point: int = 0, limits: Limits | None = None
    ) -> "UniformQuantizedType":
        """Returns the type with one scale and zero point for all values."""
        parameters = _storage_parameters(storage, limits)
        return cls.new(uniform_parameters(parameters, expressed, Granularity.TENSOR, (), (), scale, zero_point))

    @classmethod
    def per_axis(
        cls,
        storage: IntegerType,
        expressed: AnyFloat,
        axis: int,
        scales: npt.ArrayLike,
        zero_points: npt.ArrayLike = 0,
        limits: Limits | None = None,
    ) -> "UniformQuantizedType":
        """Returns the type with one scale and zero point for each index of `axis`; `scales` has shape `[channels]`."""
        parameters = _storage_parameters(storage, limits)
        return cls.new(uniform_parameters(parameters, expressed, Granularity.AXIS, (axis,), (1,), scales, zero_points))

    @classmethod
    def per_block(
        cls,
        storage: IntegerType,
        expressed: AnyFloat,
        block_sizes: dict[int, int],
        scales: npt.ArrayLike,
        zero_points: npt.ArrayLike = 0,
        limits: Limits | None = None,
    ) -> "UniformQuantizedType":
        """Returns the type with one scale and zero point for each block; `block_sizes` maps an axis to its block size.

        `scales` has one dimension for each axis of the tensor: the number of blocks along it, or 1 for an axis that is
        not blocked.
        """
        parameters = _storage_parameters(storage, limits)
        axes, sizes = tuple(block_sizes), tuple(block_sizes.values())
        return cls.new(uniform_parameters(parameters, expressed, Granularity.BLOCK, axes, sizes, scales, zero_points))

    @classmethod
    def like(
        cls,
        type_: UniformType,
        storage: IntegerType,
        scales: npt.ArrayLike,
        zero_points: npt.ArrayLike = 0,
        limits: Limits | None = None,
    ) -> "UniformQuantizedType":
        """Returns a type of the granularity, axes and blocks of `type_`, with other parameters."""
        parameters, layout = _storage_parameters(storage, limits), (type_.granularity, type_.axes, type_.block_sizes)
        return cls.new(uniform_parameters(parameters, type_.expressed, *layout, scales, zero_points))

    @classmethod
    def new(cls, params: Sequence[Attribute]) -> Any:
        """Creates the type. If the parsed storage type is a float, creates a `UniformFloatType` instead."""
        return super().new(params) if isinstance(params[0], IntegerType) else UniformFloatType.new(params)

    @property
    def zero_points(self) -> npt.NDArray[np.int64]:
        held = np.frombuffer(self.zero_point_bytes.data, dtype="<i8")
        return np.broadcast_to(held[0], self.parameter_shape) if held.size == 1 else held.reshape(self.parameter_shape)

    @property
    def zero_point(self) -> int:
        """The zero point of a per-tensor type. Raises `ValueError` if there are several."""
        return int(self.zero_points.item())

    def with_scales(self, scales: npt.ArrayLike) -> "UniformQuantizedType":
        """Returns this type with other scales of the same shape."""
        held = BytesAttr(np.asarray(scales, "<f8").reshape(self.scales.shape).tobytes())
        return type(self).new([held if each is self.scale_bytes else each for each in self.parameters])

    def verify(self) -> None:
        self.verify_storage()
        self.verify_layout()
        zero_points = self.zero_points
        low, high = storage_limits(self.storage)  # narrower limits may exclude 0, for a divisor
        bad = np.argwhere((zero_points < low) | (zero_points > high))
        if len(bad):
            position, found = tuple(bad[0].tolist()), f"zero point {zero_points[tuple(bad[0])]}"
            raise VerifyException(f"{found} out of storage range [{low}, {high}]{at_place(position)}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            position = parser.pos
            floating = syntax.parse_optional_small_float(parser)
            storage, limits = (None, None) if floating else syntax.parse_storage(parser, storage_limits)
            parser.parse_punctuation(":")
            expressed = syntax.parse_expressed(parser)
            granularity, axes, block_sizes = Granularity.TENSOR, (), ()
            if parser.parse_optional_punctuation(":") is not None:
                if (blocks := syntax.parse_optional_blocks(parser)) is not None:
                    granularity, (axes, block_sizes) = Granularity.BLOCK, blocks
                else:
                    granularity, axes, block_sizes = Granularity.AXIS, (parser.parse_integer(False),), (1,)
            parser.parse_punctuation(",")
            if granularity is Granularity.TENSOR:
                scales, zero_points = syntax.parse_scale(parser)
            else:
                scales, zero_points = syntax.parse_parameter_literal(parser)
            if granularity is Granularity.AXIS:
                # Upstream reads nested lists of one shape as one list.
                scales, zero_points = scales.reshape(-1), zero_points.reshape(-1)
        if storage is None:
            assert floating is not None
            if zero_points.any():
                parser.raise_error(f"storage type {floating} does not support a zero point", position)
            return uniform_parameters([floating], expressed, granularity, axes, block_sizes, scales, 0)[:-1]
        if granularity is Granularity.BLOCK and storage.signedness.data is Signedness.UNSIGNED:
            zero_points = syntax.read_unsigned(zero_points, storage.width.data)
        held = _storage_parameters(storage, limits)
        return uniform_parameters(held, expressed, granularity, axes, block_sizes, scales, zero_points)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_storage(printer)
            self.print_layout(printer)


@irdl_attr_definition
class UniformFloatType(UniformType):
    """`!quant.uniform<f8E4M3FN:f32, 0.5>`: `real = scale * stored`, stored as a float of 8 bits or fewer.

    There is no zero point. Values beyond the largest stored value saturate.
    """

    name = "quant.uniform"

    storage: SmallFloat = param_def()

    @classmethod
    def of(
        cls,
        storage: SmallFloat,
        expressed: AnyFloat,
        scales: npt.ArrayLike,
        granularity: Granularity = Granularity.TENSOR,
        block_sizes: dict[int, int] | None = None,
    ) -> "UniformFloatType":
        """Returns the type with the given scales, shaped as in `UniformQuantizedType` of the same granularity.

        `block_sizes` maps an axis to its block size; for a per-axis type, it maps the axis to 1.
        """
        axes = block_sizes or {}
        parameters = uniform_parameters([storage], expressed, granularity, tuple(axes), tuple(axes.values()), scales, 0)
        return cls.new(parameters[:-1])

    @property
    def zero_points(self) -> npt.NDArray[np.int64]:
        return np.zeros(self.parameter_shape, np.int64)

    @property
    def bits(self) -> int:
        """The width of the storage type."""
        return self.storage.bitwidth

    def verify(self) -> None:
        if not self.storage.SEMANTICS.has_sign:
            raise VerifyException(f"illegal storage type: {self.storage} has neither sign nor zero")
        self.verify_layout()

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.storage)
            self.print_layout(printer)


def holds_nan(quantized: QuantizedType) -> bool:
    """Returns whether values of the type can store NaN: integers cannot, but most low-precision floats can."""
    return isinstance(quantized, UniformFloatType) and Codes.of(quantized.storage.SEMANTICS).nan is not None
