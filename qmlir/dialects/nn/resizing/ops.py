"""Resizing, which samples tensors at new positions along their axes (ONNX Resize, Upsample)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BoolAttr,
    DenseArrayBase,
    Float32Type,
    FloatAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.litert import Multiplier
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import Kind, NnOp, kind_of, shapes_agree, tensor_like
from qmlir.dialects.nn.movement.ops import moved_element, normalized_axes
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import QuantizationSlots, Slot

# Result sizes of a resize, from target sizes or from scales, with ONNX's policies for the aspect ratio.

STRETCH, NOT_LARGER, NOT_SMALLER = POLICIES = ("stretch", "not_larger", "not_smaller")


class Resized(NamedTuple):
    """The resize of one axis: the new size, and the scale that coordinates are divided by."""

    axis: int
    scale: float
    size: int


def scaled_size(size: int, scale: float) -> int:
    """Computes `floor(size * scale)`; the product is rounded to f32, as in ONNX's shape inference and ONNX Runtime."""
    return size if size == DYNAMIC_INDEX else math.floor(np.float32(size) * np.float32(scale))


def _check(axes: Sequence[int], numbers: Sequence[float], name: str, above: float) -> None:
    if len(numbers) != len(axes):
        raise VerifyException(f"{name} must have one value for each of the axes {list(axes)}, but got {list(numbers)}")
    if any(not (number > above and math.isfinite(number)) for number in numbers):
        raise VerifyException(f"{name} must be finite and greater than {above}, but got {list(numbers)}")


def resized_by_scales(shape: Sequence[int], axes: Sequence[int], scales: Sequence[float]) -> list[Resized]:
    """Returns the resize of each of `axes` by its scale."""
    _check(axes, scales, "scales", 0)
    return [Resized(axis, scale, scaled_size(shape[axis], scale)) for axis, scale in zip(axes, scales, strict=True)]


def resized_to_sizes(
    shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int], policy: str = STRETCH
) -> list[Resized]:
    """Returns the resize of each of `axes` to its size; all axes share one scale if `policy` keeps the aspect ratio."""
    _check(axes, sizes, "sizes", -1)
    before = [shape[axis] for axis in axes]
    if DYNAMIC_INDEX in before:
        known = sizes if policy == STRETCH else [DYNAMIC_INDEX] * len(axes)
        return [Resized(axis, math.nan, size) for axis, size in zip(axes, known, strict=True)]
    for axis, old, new in zip(axes, before, sizes, strict=True):
        if old == 0 and new != 0:
            raise VerifyException(f"cannot resize empty axis {axis} to {new} elements")
    ratios = [Fraction(new, old) if old else Fraction(1) for old, new in zip(before, sizes, strict=True)]
    if policy == STRETCH:
        return [Resized(axis, float(ratio), size) for axis, ratio, size in zip(axes, ratios, sizes, strict=True)]
    common = (min if policy == NOT_LARGER else max)(ratios, default=Fraction(1))
    return [
        Resized(axis, float(common), math.floor(common * old + Fraction(1, 2)))
        for axis, old in zip(axes, before, strict=True)
    ]


NEAREST, LINEAR, CUBIC = MODES = ("nearest", "linear", "cubic")

CROP = "tf_crop_and_resize"
COORDINATE_MODES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
    CROP,
)  # fmt: skip

FLOOR_UP_CEIL_DOWN = "floor_up_ceil_down"
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", FLOOR_UP_CEIL_DOWN)

Values = Array | None


@irdl_op_definition
class ResizeOp(NnOp):
    """Samples the input at positions between its elements (ONNX Resize).

    The `axes` (by default all) are resized to `sizes` or scaled by `scales`. Properties and their values are those of
    ONNX, with one additional nearest mode: `floor_up_ceil_down` rounds down along axes that grow and up along axes that
    shrink, like Resize in opset 10. `roi` is the region for `tf_crop_and_resize`: all starts, then all ends. Sizes,
    scales and `roi` may be run-time operands. Nearest elements of any type are copied; interpolated integers are
    rounded half to even and saturate.
    """

    name = "nn.resize"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    PARAMETERS: ClassVar[tuple[str, ...]] = ("sizes",)
    FLOAT_PARAMETERS: ClassVar[tuple[str, ...]] = ("roi", "scales")

    input = operand_def(TensorType)
    roi_value = opt_operand_def(TensorType)
    scales_value = opt_operand_def(TensorType)
    sizes_value = opt_operand_def(TensorType)
    result = result_def(TensorType)

    roi = opt_prop_def(DenseArrayBase[AnyFloat])
    scales = opt_prop_def(DenseArrayBase[AnyFloat])
    sizes = opt_prop_def(DenseArrayBase[IntegerType])
    axes = opt_prop_def(DenseArrayBase[IntegerType])
    mode = opt_prop_def(StringAttr, StringAttr(NEAREST))
    coordinate_transformation_mode = opt_prop_def(StringAttr, StringAttr("half_pixel"))
    nearest_mode = opt_prop_def(StringAttr, StringAttr("round_prefer_floor"))
    keep_aspect_ratio_policy = opt_prop_def(StringAttr, StringAttr(STRETCH))
    cubic_coeff_a = opt_prop_def(FloatAttr, FloatAttr(-0.75, f32))
    extrapolation_value = opt_prop_def(FloatAttr, FloatAttr(0.0, f32))
    exclude_outside = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))
    antialias = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        if self.mode.data == NEAREST:
            return
        modes = ("asymmetric", "align_corners", "half_pixel")
        if self.mode.data != LINEAR or self.coordinate_transformation_mode.data not in modes:
            raise VerifyException(f"requantization mode '{mode}' samples linearly, at positions of {', '.join(modes)}")
        is_plain = not self.antialias.value.data and not self.exclude_outside.value.data
        if not is_plain or self.keep_aspect_ratio_policy.data != STRETCH or not self.scales_by_sizes:
            raise VerifyException(f"requantization mode '{mode}' requires sizes or exact scales, and no antialiasing")
        if len(shape_of(self.input)) != 4:
            raise VerifyException(f"requantization mode '{mode}' resizes images, but got '{self.input.type}'")

    @property
    def scales_by_sizes(self) -> bool:
        """Whether the scales are the ratios of static sizes, as they are if sizes are given."""
        if self.scales_value is not None:
            return False
        if self.scales is None:
            return True
        before, after = shape_of(self.input), shape_of(self.result)
        axes, scales = self.integers("axes") or range(len(before)), self.scales.get_values()
        return all(before[axis] * scale == after[axis] for axis, scale in zip(axes, scales, strict=True))

    @property
    def is_nearest(self) -> bool:
        """Whether elements are copied rather than interpolated."""
        return self.mode.data == NEAREST

    @property
    def is_crop(self) -> bool:
        """Whether `roi` is sampled, with `extrapolation_value` at positions outside the input."""
        return self.coordinate_transformation_mode.data == CROP

    @property
    def moves_values(self) -> bool:
        """Whether every element of the result is an element of the input."""
        return self.is_nearest and not self.is_crop

    def quantization_slots(self) -> QuantizationSlots:
        operands: dict[str, Slot | None] = {"input": Slot.INPUT, "roi_value": None, "scales_value": None}
        return QuantizationSlots(operands, shares_parameters=self.moves_values)

    def resized_axes(self, rank: int) -> tuple[int, ...]:
        """Returns the axes to which sizes, scales and `roi` refer."""
        named = self.integers("axes")
        return tuple(range(rank)) if named is None else normalized_axes(named, rank)

    def floats(self, name: str, value: Values = None) -> tuple[float, ...] | None:
        """Returns the numbers in the property `name` (`roi` or `scales`), or in `value` if an operand replaces the
        property."""
        if value is not None:
            return tuple(float(number) for number in value.reshape(-1))
        attribute: DenseArrayBase[Any] | None = getattr(self, name)
        return None if attribute is None else cast(tuple[float, ...], tuple(attribute.get_values()))

    def resized(self, shape: Sequence[int], scales: Values = None, sizes: Values = None) -> list[Resized] | None:
        """Returns the resize of each axis of an input of `shape`; `None` if it is unknown."""
        axes = self.resized_axes(len(shape))
        targets, factors = self.integers("sizes", sizes), self.floats("scales", scales)
        if targets is not None:
            return resized_to_sizes(shape, axes, targets, self.keep_aspect_ratio_policy.data)
        return None if factors is None else resized_by_scales(shape, axes, factors)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        self._verify_choices()
        shape = list(shape_of(self.input))
        axes = self.resized_axes(len(shape))
        self._verify_float_parameters(len(axes))
        before = tuple(shape)
        for axis in axes:
            shape[axis] = DYNAMIC_INDEX
        for each in self.resized(before) or ():
            shape[each.axis] = each.size
        if not self.moves_values:
            return [tensor_like(self.input, shape)]
        whole = {axis: axis for axis in range(len(shape)) if axis not in axes or shape[axis] == before[axis]}
        return [TensorType(moved_element(element_of(self.input), whole), shape)]

    def _verify_choices(self) -> None:
        check_choice("mode", self.mode.data, MODES)
        check_choice("coordinate_transformation_mode", self.coordinate_transformation_mode.data, COORDINATE_MODES)
        check_choice("nearest_mode", self.nearest_mode.data, NEAREST_MODES)
        check_choice("keep_aspect_ratio_policy", self.keep_aspect_ratio_policy.data, POLICIES)
        given = [name for name in ("scales", "sizes") if getattr(self, name) or getattr(self, f"{name}_value")]
        if len(given) != 1:
            raise VerifyException(f"expected either scales or sizes, but got {' and '.join(given) or 'none'}")
        if self.is_crop and self.roi is None and self.roi_value is None:
            raise VerifyException(f"{CROP} requires roi")
        if not self.is_nearest and kind_of(element_of(self.input)) is Kind.BOOLEAN:
            raise VerifyException(f"mode '{self.mode.data}' requires numbers, but got '{self.input.type}'")

    def _verify_float_parameters(self, axes: int) -> None:
        for name in self.FLOAT_PARAMETERS:
            count = 2 * axes if name == "roi" else axes
            operand, found = getattr(self, f"{name}_value"), self.floats(name)
            if operand is not None and found is not None:
                raise VerifyException(f"expected either property '{name}' or operand '{name}_value', but got both")
            if found is not None and len(found) != count:
                raise VerifyException(f"{name} must have {count} values, but got {list(found)}")
            if operand is None:
                continue
            if not isinstance(element_of(operand), Float32Type) or not shapes_agree(shape_of(operand), (count,)):
                raise VerifyException(
                    f"'{name}_value' must be a 1-D tensor of {count} f32 elements, but got '{operand.type}'"
                )
