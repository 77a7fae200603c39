"""Data movement operations, which change no values and whose results have the quantized type of their operands."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, NnOp, UnsupportedFormError, kind_of, shapes_agree
from qmlir.dialects.nn.result_shapes import check_choice, shape_text
from qmlir.dialects.quant.types import Granularity, UniformType
from qmlir.ir.builtin_types import AnyTensor, element_of, integer_list, shape_of
from qmlir.ir.interfaces import KnownValue, QuantizationSlots, Recomputable, Replacement

# Result shapes, and the new position of the axis of per-axis parameters.


def normalized_axis(axis: int, rank: int) -> int:
    """Returns `axis` counted from the front. Raises `VerifyException` if it is out of range."""
    if not -rank <= axis < rank:
        raise VerifyException(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def normalized_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Returns `axes` counted from the front. Raises `VerifyException` if one is out of range or repeated."""
    found = tuple(normalized_axis(axis, rank) for axis in axes)
    if len(set(found)) != len(found):
        raise VerifyException(f"axes must be unique, but got {list(axes)}")
    return found


def has_axis_parameters(element: Attribute) -> bool:
    """Whether the quantization parameters of an element type differ along an axis."""
    return isinstance(element, UniformType) and element.granularity is not Granularity.TENSOR


def moved_element(element: Attribute, axis_map: dict[int, int] | None) -> Attribute:
    """Returns the element type after a movement that maps axis `a` to `axis_map[a]`; with `None`, no axis is kept
    intact.

    Raises `VerifyException` if the quantized axis, or an axis of block-wise parameters, is not kept intact.
    """
    if not isinstance(element, UniformType) or element.granularity is Granularity.TENSOR:
        return element
    if element.granularity is Granularity.BLOCK:
        raise VerifyException(f"cannot move values quantized block-wise ('{element}')")
    if axis_map is None or element.axis not in axis_map:
        raise VerifyException(f"axis {element.axis}, which has per-axis parameters, must be kept ('{element}')")
    return element.along(axis_map[element.axis])


def transposed_shape(shape: Sequence[int], permutation: Sequence[int]) -> tuple[int, ...]:
    """Returns `shape` with its axes permuted by `permutation`."""
    if sorted(permutation) != list(range(len(shape))):
        raise VerifyException(f"{list(permutation)} is not a permutation of {len(shape)} axes")
    return tuple(shape[axis] for axis in permutation)


def transposed_element(element: Attribute, permutation: Sequence[int]) -> Attribute:
    """Returns the element type after a transpose, which keeps every axis intact, including those of blocks."""
    if isinstance(element, UniformType) and element.granularity is Granularity.BLOCK:
        return element.permuted(permutation)
    return moved_element(element, {axis: position for position, axis in enumerate(permutation)})


def surviving_axes(before: Sequence[int], after: Sequence[int]) -> dict[int, int]:
    """Maps the axes that a reshape keeps intact to their new positions.

    An axis is kept intact if its size and the number of elements in the axes before it are unchanged."""
    if DYNAMIC_INDEX in before or DYNAMIC_INDEX in after:
        return {}
    found: dict[int, int] = {}
    for axis, size in enumerate(before):
        for other, other_size in enumerate(after):
            if size == other_size and math.prod(before[:axis]) == math.prod(after[:other]):
                found.setdefault(axis, other)
    return found


def reshaped_shape(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """Returns `after`, with its only dynamic size inferred from the number of elements in `before` if possible."""
    open_axes = [axis for axis, size in enumerate(after) if size == DYNAMIC_INDEX]
    known = math.prod(size for size in after if size != DYNAMIC_INDEX)
    if len(open_axes) != 1 or DYNAMIC_INDEX in before or known == 0:
        return tuple(after)
    count = math.prod(before)
    if count % known:
        raise VerifyException(
            f"cannot reshape {list(before)} ({count} elements): {count} is not divisible by the product of "
            f"the known output sizes, {known}"
        )
    return tuple(count // known if size == DYNAMIC_INDEX else size for size in after)


def check_reshape(before: Sequence[int], after: Sequence[int]) -> None:
    """Raises `VerifyException` if two static shapes have different numbers of elements."""
    if DYNAMIC_INDEX not in before and DYNAMIC_INDEX not in after and math.prod(before) != math.prod(after):
        raise VerifyException(
            f"cannot reshape {list(before)} ({math.prod(before)} elements) "
            f"to {list(after)} ({math.prod(after)} elements)"
        )


def concatenated_shape(shapes: Sequence[Sequence[int]], axis: int) -> tuple[int, ...]:
    """Returns the shape of tensors concatenated along `axis`; all other sizes must agree."""
    first = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(first):
            raise VerifyException(f"operands must have the same rank, but got shapes {[list(each) for each in shapes]}")
        for index, size in enumerate(shape):
            if index == axis:
                first[index] = DYNAMIC_INDEX if DYNAMIC_INDEX in (first[index], size) else first[index] + size
            elif first[index] == DYNAMIC_INDEX:
                first[index] = size
            elif size not in (DYNAMIC_INDEX, first[index]):
                raise VerifyException(
                    f"operands must agree along axis {index}, but got shapes {[list(each) for each in shapes]}"
                )
    return tuple(first)


def slice_indices(size: int, start: int, end: int, step: int) -> range:
    """Returns the indices that ONNX's Slice selects along an axis of `size` elements."""
    if step == 0:
        raise VerifyException("step must not be 0")
    return range(*slice(start, None if step < 0 and end < -size else end, step).indices(size))


def sliced_axes(
    shape: Sequence[int], starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> dict[int, range]:
    """Returns the indices that a slice of `shape` selects along its axes, except for dynamic ones."""
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise VerifyException("starts, ends, axes and steps must have the same length")
    bounds = zip(normalized_axes(axes, len(shape)), starts, ends, steps, strict=True)
    return {axis: slice_indices(shape[axis], *cut) for axis, *cut in bounds if shape[axis] != DYNAMIC_INDEX}


def cut_axes(
    shape: Sequence[int], starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> tuple[int, ...]:
    """Returns the axes along which a slice of `shape` drops or reorders elements."""
    found = sliced_axes(shape, starts, ends, axes, steps)
    return tuple(axis for axis in normalized_axes(axes, len(shape)) if found.get(axis) != range(shape[axis]))


def split_sizes(size: int, sizes: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """Returns the sizes of the `count` parts of an axis: `sizes` if given, else equal sizes, of which the last may be
    smaller."""
    if sizes is None:
        if size == DYNAMIC_INDEX:
            return (DYNAMIC_INDEX,) * count
        part = -(-size // count)
        sizes = (part,) * (count - 1) + (size - part * (count - 1),)
    if len(sizes) != count:
        raise VerifyException(f"expected one size for each of {count} results, but got {len(sizes)} sizes")
    if any(part < 0 for part in sizes) or size not in (DYNAMIC_INDEX, sum(sizes)):
        raise VerifyException(f"sizes {list(sizes)} must add up to {size}, the size of the split axis")
    return tuple(sizes)


def regrouped_size(size: int, factor: int) -> int:
    """Returns `size` divided by `factor`. Raises `VerifyException` if `size` is not divisible."""
    if size == DYNAMIC_INDEX:
        return size
    if size % factor:
        raise VerifyException(f"block size {factor} must divide {size}")
    return size // factor


def multiplied_size(size: int, factor: int) -> int:
    """Returns `size` times `factor`; a dynamic size stays dynamic."""
    return size if size == DYNAMIC_INDEX else size * factor


def list_length(value: SSAValue) -> int:
    """Returns the length of a list of integers; a scalar counts as a list of length 1."""
    return (shape_of(value) or (1,))[0]


MAX_AXES = 32
"""The maximum rank: NumPy arrays have up to 64 axes, but `flat` and `broadcast` support only 32."""


def known_length(value: SSAValue, name: str) -> int:
    """Returns the static length of the list operand `name`. Raises if it is dynamic or exceeds `MAX_AXES`."""
    count = list_length(value)
    if count == DYNAMIC_INDEX:
        raise UnsupportedFormError(f"the number of {name} must be static")
    if count > MAX_AXES:
        raise VerifyException(f"expected at most {MAX_AXES} axes, but got {count} {name}")
    return count


class SliceBounds(NamedTuple):
    """The bounds and steps of a slice along each of `axes`."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    axes: tuple[int, ...]
    steps: tuple[int, ...]


class MovementOp(NnOp, ABC):
    """An operation that moves the values of `input` to another order or shape in `result`.

    xDSL orders the operands of a subclass before inherited ones, so each operation defines its own.
    """

    ACCEPTS: ClassVar[Kind] = Kind.MOVED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)

    result = result_def(TensorType)


@irdl_op_definition
class ReshapeOp(MovementOp, Recomputable):
    """Reshapes a tensor to the shape of the result type (ONNX Reshape, Flatten).

    If the result type has more than one dynamic size, `shape` provides the sizes at run time. A size of -1 is inferred
    from the others. A size of 0 copies the operand's size at the same index or, with `allow_zero`, stands for itself.
    """

    name = "nn.reshape"
    SIZE_OPERANDS: ClassVar[tuple[str, ...]] = ("shape",)

    input = operand_def(TensorType)
    shape = opt_operand_def(TensorType)

    allow_zero = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"shape": None}, shares_parameters=True)

    def __init__(self, value: SSAValue, shape: Sequence[int]):
        element = moved_element(element_of(value), surviving_axes(shape_of(value), shape))
        super().__init__(operands=[value, None], result_types=[TensorType(element, shape)])

    def infer_result_types(self) -> Sequence[AnyTensor]:
        before, after = shape_of(self.input), shape_of(self.result)
        if self.shape is not None and not shapes_agree(shape_of(self.shape), (len(after),)):
            raise VerifyException(f"shape must have one element per dimension of '{self.result.type}'")
        if self.shape is None and after.count(DYNAMIC_INDEX) > 1:
            raise VerifyException(
                "without a shape operand, the result may have at most one dynamic dimension, but got "
                f"'{self.result.type}'"
            )
        check_reshape(before, after)
        if self.shape is None:
            after = reshaped_shape(before, after)
        return [TensorType(moved_element(element_of(self.input), surviving_axes(before, after)), after)]

    def specialized(self, known: KnownValue) -> Replacement | None:
        """Drops the operand `shape` if its sizes are known and the result type can express them instead."""
        sizes = known(self.shape)
        if sizes is None:
            return None
        before = shape_of(self.input)
        after = self._sizes(before, [int(size) for size in sizes.reshape(-1)])
        if after.count(DYNAMIC_INDEX) > 1:
            return None
        return Replacement.by(
            ReshapeOp.create(
                operands=[self.input],
                result_types=[TensorType(element_of(self.result), reshaped_shape(before, after))],
                attributes=dict(self.attributes),
            )
        )

    def _sizes(self, before: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """Resolves the numbers of `shape` to sizes; unresolved ones become `DYNAMIC_INDEX`."""
        if any(size < -1 for size in sizes) or sizes.count(-1) > 1:
            raise VerifyException(f"sizes must be >= 0, with at most one -1, but got {list(sizes)}")
        copies_zero = not self.allow_zero.value.data
        if copies_zero and any(size == 0 for size in sizes[len(before) :]):
            raise VerifyException(
                f"size 0 copies a dimension that '{self.input.type}' does not have: sizes are {list(sizes)}"
            )
        return [
            DYNAMIC_INDEX if size == -1 else before[axis] if size == 0 and copies_zero else size
            for axis, size in enumerate(sizes)
        ]


class AxesOp(MovementOp, Recomputable, ABC):
    """A movement along `axes`, which is a property or an operand."""

    PARAMETERS: ClassVar[tuple[str, ...]] = ("axes",)

    input = operand_def(TensorType)
    axes_value = opt_operand_def(TensorType)

    axes = opt_prop_def(DenseArrayBase[IntegerType])

    def open_type(self, count: int) -> AnyTensor:
        """Returns the operand's type after its shape is replaced with `count` dynamic sizes."""
        return TensorType(moved_element(element_of(self.input), None), [DYNAMIC_INDEX] * count)


@irdl_op_definition
class SqueezeOp(AxesOp):
    """Removes the axes of size 1 in `axes`, or all axes of size 1 without `axes` (ONNX Squeeze)."""

    name = "nn.squeeze"

    def squeezed_axes(self, shape: Sequence[int], axes: Array | None = None) -> tuple[int, ...]:
        """Returns the axes to remove."""
        named = self.integers("axes", axes)
        if named is None:
            if DYNAMIC_INDEX in shape:
                raise UnsupportedFormError(f"axes must be given, because '{self.input.type}' has dynamic dimensions")
            return tuple(axis for axis, size in enumerate(shape) if size == 1)
        gone = normalized_axes(named, len(shape))
        if any(shape[axis] not in (1, DYNAMIC_INDEX) for axis in gone):
            raise VerifyException(f"axes {list(gone)} of shape {list(shape)} must all have size 1")
        return gone

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        if self.axes_value is not None:
            return [self.open_type(len(shape) - known_length(self.axes_value, "axes"))]
        gone = self.squeezed_axes(shape)
        kept = [axis for axis in range(len(shape)) if axis not in gone]
        element = moved_element(element_of(self.input), {axis: position for position, axis in enumerate(kept)})
        return [TensorType(element, [shape[axis] for axis in kept])]


@irdl_op_definition
class UnsqueezeOp(AxesOp):
    """Inserts axes of size 1, so that they have the indices `axes` in the result (ONNX Unsqueeze)."""

    name = "nn.unsqueeze"

    def kept_axes(self, rank: int, axes: Array | None = None) -> tuple[int, ...]:
        """Returns the indices in the result of the operand's `rank` axes."""
        named = self.integers("axes", axes)
        if named is None:
            raise VerifyException("requires axes")
        added = normalized_axes(named, rank + len(named))
        return tuple(axis for axis in range(rank + len(named)) if axis not in added)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        if self.axes_value is not None:
            return [self.open_type(len(shape) + known_length(self.axes_value, "axes"))]
        kept = self.kept_axes(len(shape))
        element = moved_element(element_of(self.input), dict(enumerate(kept)))
        sizes = [1] * (len(shape) + len(self.integers("axes") or ()))
        for size, position in zip(shape, kept, strict=True):
            sizes[position] = size
        return [TensorType(element, sizes)]


@irdl_op_definition
class TransposeOp(MovementOp):
    """Permutes axes: axis `i` of the result is axis `permutation[i]` of the operand."""

    name = "nn.transpose"

    input = operand_def(TensorType)

    permutation = prop_def(DenseArrayBase[IntegerType])

    def __init__(self, value: SSAValue, permutation: Sequence[int]):
        super().__init__(
            operands=[value],
            result_types=[self._type(value, permutation)],
            properties={"permutation": DenseArrayBase.from_list(i64, list(permutation))},
        )

    @staticmethod
    def _type(value: SSAValue, permutation: Sequence[int]) -> AnyTensor:
        shape = transposed_shape(shape_of(value), permutation)
        return TensorType(transposed_element(element_of(value), permutation), shape)

    @property
    def order(self) -> tuple[int, ...]:
        """The permutation as a tuple of axes."""
        return integer_list(self.permutation)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [self._type(self.input, self.order)]


@irdl_op_definition
class SliceOp(MovementOp):
    """Takes every `steps[i]`-th element from `starts[i]` up to `ends[i]` along `axes[i]` (ONNX Slice).

    Negative starts and ends count from the end of the axis, and negative steps go backward, as in ONNX."""

    name = "nn.slice"
    PARAMETERS: ClassVar[tuple[str, ...]] = ("starts", "ends", "axes", "steps")

    input = operand_def(TensorType)
    starts_value = opt_operand_def(TensorType)
    ends_value = opt_operand_def(TensorType)
    axes_value = opt_operand_def(TensorType)
    steps_value = opt_operand_def(TensorType)

    starts = opt_prop_def(DenseArrayBase[IntegerType])
    ends = opt_prop_def(DenseArrayBase[IntegerType])
    axes = opt_prop_def(DenseArrayBase[IntegerType])
    steps = opt_prop_def(DenseArrayBase[IntegerType])

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def bounds(self, *values: Array | None) -> SliceBounds:
        """Returns starts, ends, axes and steps with defaults filled in; `values` holds the constant operands."""
        given = dict(zip(self.PARAMETERS, values, strict=False))
        starts, ends, axes, steps = (self.integers(name, given.get(name)) for name in self.PARAMETERS)
        if starts is None or ends is None:
            raise VerifyException("requires starts and ends")
        count = len(starts)
        return SliceBounds(
            starts, ends, tuple(range(count)) if axes is None else axes, (1,) * count if steps is None else steps
        )

    def infer_result_types(self) -> Sequence[AnyTensor]:
        before = shape_of(self.input)
        if all(self.is_known(name) for name in self.PARAMETERS):
            found, sliced = sliced_axes(before, *self.bounds()), cut_axes(before, *self.bounds())
            shape = tuple(len(found[axis]) if axis in found else size for axis, size in enumerate(before))
        else:
            axes = self.integers("axes") if self.is_known("axes") else None
            sliced = range(len(before)) if axes is None else normalized_axes(axes, len(before))
            shape = tuple(DYNAMIC_INDEX if axis in sliced else size for axis, size in enumerate(before))
        whole = {axis: axis for axis in range(len(before)) if axis not in sliced}
        return [TensorType(moved_element(element_of(self.input), whole), shape)]


@irdl_op_definition
class ConcatOp(NnOp):
    """Concatenates tensors along `axis`; if quantized, all operands and the result must have the same element type."""

    name = "nn.concat"
    ACCEPTS: ClassVar[Kind] = Kind.MOVED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)

    axis = prop_def(IntegerAttr)

    def __init__(self, values: Sequence[SSAValue], axis: int):
        shape = concatenated_shape([shape_of(value) for value in values], axis)
        element: Attribute = element_of(values[0])
        super().__init__(
            operands=[values], result_types=[TensorType(element, shape)], properties={"axis": IntegerAttr(axis, i64)}
        )

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if not self.inputs:
            raise VerifyException("expected at least one operand")
        shapes = [shape_of(value) for value in self.inputs]
        axis = normalized_axis(self.axis.value.data, len(shapes[0]))
        elements = dict.fromkeys(element_of(value) for value in self.inputs)
        if len(elements) > 1 and any(kind_of(element) is Kind.QUANTIZED for element in elements):
            raise VerifyException(
                "cannot requantize the elements it joins: operands must have one type, but got "
                f"{', '.join(map(str, elements))}"
            )
        kept = {index: index for index in range(len(shapes[0])) if index != axis}
        return [TensorType(moved_element(element_of(self.inputs[0]), kept), concatenated_shape(shapes, axis))]


@irdl_op_definition
class SplitOp(NnOp):
    """Splits a tensor along `axis` into one result per size in `split` (ONNX Split).

    Without `split`, all parts have the same size, except that the last one may be smaller.
    """

    name = "nn.split"
    ACCEPTS: ClassVar[Kind] = Kind.MOVED
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)
    PARAMETERS: ClassVar[tuple[str, ...]] = ("split",)

    input = operand_def(TensorType)
    split_value = opt_operand_def(TensorType)
    parts = var_result_def(TensorType)

    axis = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))
    split = opt_prop_def(DenseArrayBase[IntegerType])

    def part_sizes(self, size: int, split: Array | None = None) -> tuple[int, ...]:
        """Returns the sizes of the parts of an axis of `size` elements; `split` is the value of the operand."""
        return split_sizes(size, self.integers("split", split), len(self.parts))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        axis = normalized_axis(self.axis.value.data, len(shape))
        count = len(self.parts)
        if not count:
            raise VerifyException("expected at least one result")
        sizes = self.part_sizes(shape[axis]) if self.is_known("split") else (DYNAMIC_INDEX,) * count
        kept = {position: position for position in range(len(shape)) if position != axis or count == 1}
        element = moved_element(element_of(self.input), kept)
        return [TensorType(element, (*shape[:axis], size, *shape[axis + 1 :])) for size in sizes]


class BlocksOp(MovementOp, ABC):
    """An operation that moves blocks of `block_size` by `block_size` elements between space and channels of
    `[N, C, H, W]`."""

    input = operand_def(TensorType)

    block_size = prop_def(IntegerAttr)
    mode = opt_prop_def(StringAttr, StringAttr("DCR"))

    MODES: ClassVar[tuple[str, ...]] = ("DCR", "CRD")

    @property
    def block(self) -> int:
        """The edge length of a block."""
        return self.block_size.value.data

    @property
    def is_depth_outer(self) -> bool:
        """Whether the position within the block is the outer part of the larger channel index (mode DCR)."""
        return self.mode.data == "DCR"

    @abstractmethod
    def moved_sizes(self, channels: int, height: int, width: int) -> tuple[int, ...]:
        """Returns the numbers of channels, rows and columns of the result."""

    @abstractmethod
    def split(self, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Splits an input `shape` into axes that are transposed and joined in the result; returns them with their
        order."""

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        check_choice("mode", self.mode.data, self.MODES)
        if self.block < 1 or len(shape) != 4:
            raise VerifyException(
                f"expected an input of shape [N, C, H, W] and a block size >= 1, but got {shape_text(shape)} "
                f"and {self.block}"
            )
        return [TensorType(moved_element(element_of(self.input), {0: 0}), (shape[0], *self.moved_sizes(*shape[1:])))]


@irdl_op_definition
class DepthToSpaceOp(BlocksOp):
    """Moves channels to blocks of space (ONNX DepthToSpace)."""

    name = "nn.depth_to_space"

    def moved_sizes(self, channels: int, height: int, width: int) -> tuple[int, ...]:
        space = (multiplied_size(size, self.block) for size in (height, width))
        return (regrouped_size(channels, self.block * self.block), *space)

    def split(self, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        (batch, channels, height, width), block = shape, self.block
        depth = channels // (block * block)
        if self.is_depth_outer:
            return (batch, block, block, depth, height, width), (0, 3, 4, 1, 5, 2)
        return (batch, depth, block, block, height, width), (0, 1, 4, 2, 5, 3)


@irdl_op_definition
class SpaceToDepthOp(BlocksOp):
    """Moves blocks of space to channels (ONNX SpaceToDepth)."""

    name = "nn.space_to_depth"

    def moved_sizes(self, channels: int, height: int, width: int) -> tuple[int, ...]:
        space = (regrouped_size(size, self.block) for size in (height, width))
        return (multiplied_size(channels, self.block * self.block), *space)

    def split(self, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        (batch, depth, height, width), block = shape, self.block
        order = (0, 3, 5, 1, 2, 4) if self.is_depth_outer else (0, 1, 3, 5, 2, 4)
        return (batch, depth, height // block, block, width // block, block), order
