"""Operations that repeat, pad or mask elements, and operations that return shapes, for models with dynamic sizes."""

import math
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
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import Kind, NnOp, OneOperandOp, kind_of
from qmlir.dialects.nn.elementwise.ops import broadcast_shapes
from qmlir.dialects.nn.movement.ops import MovementOp, known_length, moved_element, multiplied_size, normalized_axes
from qmlir.dialects.nn.result_shapes import check_choice
from qmlir.ir.builtin_types import AnyTensor, element_of, shape_of
from qmlir.ir.interfaces import QuantizationSlots, ReadsShapesOnly, Recomputable

# The number of elements of a range.


def range_size(start: float, limit: float, delta: float) -> int:
    """Returns the length of `start, start + delta, …` up to `limit`. Raises `ZeroDivisionError` if `delta` is 0."""
    if all(isinstance(number, int) for number in (start, limit, delta)):
        return max(-int(-(limit - start) // delta), 0)
    return max(math.ceil((limit - start) / delta), 0)


@irdl_op_definition
class ShapeOp(OneOperandOp):
    """Returns the sizes of the axes from `start` up to `end` as a list of i64 (ONNX Shape)."""

    name = "nn.shape"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": None})

    traits = traits_def(ReadsShapesOnly())

    start = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))
    end = opt_prop_def(IntegerAttr)

    @property
    def bounds(self) -> slice:
        """The axes whose sizes are returned."""
        return slice(self.start.value.data, None if self.end is None else self.end.value.data)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(i64, [len(shape_of(self.input)[self.bounds])])]


@irdl_op_definition
class SizeOp(OneOperandOp):
    """Returns the number of elements (ONNX Size)."""

    name = "nn.size"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots({"input": None})

    traits = traits_def(ReadsShapesOnly())

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(i64, [])]


@irdl_op_definition
class RangeOp(NnOp):
    """Returns the numbers `start + i * delta` below `limit` (above it, if `delta` is negative), as in ONNX Range.

    The operands are three scalars of the same type."""

    name = "nn.range"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.INTEGER

    SIZE_OPERANDS: ClassVar[tuple[str, ...]] = ("start", "limit", "delta")

    start = operand_def(TensorType)
    limit = operand_def(TensorType)
    delta = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        bounds = (self.start, self.limit, self.delta)
        if any(size not in (1, DYNAMIC_INDEX) for bound in bounds for size in shape_of(bound)):
            raise VerifyException(
                f"start, limit and delta must be scalars, but got {', '.join(str(bound.type) for bound in bounds)}"
            )
        return [TensorType(element_of(self.start), [DYNAMIC_INDEX])]


# Result shapes of operations that repeat or add elements, and the axes that stay unchanged.


class Padding(NamedTuple):
    """The numbers of elements added at the beginning and at the end of an axis; negative numbers remove elements."""

    before: int
    after: int


def paddings(pads: Sequence[int], axes: Sequence[int] | None, rank: int) -> tuple[Padding, ...]:
    """Returns the padding of each of `rank` axes; `pads` holds first all begins, then all ends of `axes` (ONNX Pad)."""
    padded = range(rank) if axes is None else normalized_axes(axes, rank)
    count = len(padded)
    if len(pads) != 2 * count:
        raise VerifyException(f"pads must have two values for each of {count} axes, but got {list(pads)}")
    found = [Padding(0, 0)] * rank
    for position, axis in enumerate(padded):
        found[axis] = Padding(pads[position], pads[count + position])
    return tuple(found)


def padded_shape(shape: Sequence[int], pads: Sequence[Padding]) -> tuple[int, ...]:
    """Returns `shape` with its padding added."""
    sizes: list[int] = []
    for axis, (size, (before, after)) in enumerate(zip(shape, pads, strict=True)):
        if size != DYNAMIC_INDEX and size + before + after < 0:
            raise VerifyException(f"cannot remove {-before - after} of the {size} elements along axis {axis}")
        if (before, after) == (0, 0):
            sizes.append(size)
        else:
            sizes.append(DYNAMIC_INDEX if size == DYNAMIC_INDEX else size + before + after)
    return tuple(sizes)


def unchanged_axes(before: Sequence[int], after: Sequence[int]) -> dict[int, int]:
    """Maps the axes whose static size is unchanged to their new positions; the shapes are aligned at the last axis."""
    offset = len(after) - len(before)
    return {
        axis: axis + offset
        for axis, size in enumerate(before)
        if size == after[axis + offset] and size != DYNAMIC_INDEX
    }


@irdl_op_definition
class ExpandOp(MovementOp, Recomputable):
    """Broadcasts the operand and `shape` against each other (ONNX Expand)."""

    name = "nn.expand"
    PARAMETERS: ClassVar[tuple[str, ...]] = ("shape",)

    input = operand_def(TensorType)
    shape_value = opt_operand_def(TensorType)

    shape = opt_prop_def(DenseArrayBase[IntegerType])

    def infer_result_types(self) -> Sequence[AnyTensor]:
        before = shape_of(self.input)
        if self.shape_value is not None:
            target = (DYNAMIC_INDEX,) * known_length(self.shape_value, "sizes")
        else:
            target = self.integers("shape") or ()
            if any(size < 0 for size in target):
                raise VerifyException(f"sizes must be >= 0, but got {list(target)}")
        shape = broadcast_shapes(before, target)
        return [TensorType(moved_element(element_of(self.input), unchanged_axes(before, shape)), shape)]


@irdl_op_definition
class TileOp(MovementOp):
    """Repeats the operand `repeats[i]` times along axis `i` (ONNX Tile)."""

    name = "nn.tile"
    PARAMETERS: ClassVar[tuple[str, ...]] = ("repeats",)

    input = operand_def(TensorType)
    repeats_value = opt_operand_def(TensorType)

    repeats = opt_prop_def(DenseArrayBase[IntegerType])

    def factors(self, rank: int, repeats: Array | None = None) -> tuple[int, ...]:
        """Returns the number of repetitions along each of `rank` axes; `repeats` holds the constant operand."""
        found = self.integers("repeats", repeats) or ()
        if len(found) != rank or any(factor < 0 for factor in found):
            raise VerifyException(f"repeats must have one value >= 0 for each of {rank} axes, but got {list(found)}")
        return found

    def infer_result_types(self) -> Sequence[AnyTensor]:
        before = shape_of(self.input)
        if not self.is_known("repeats"):
            return [TensorType(moved_element(element_of(self.input), None), [DYNAMIC_INDEX] * len(before))]
        factors = self.factors(len(before))
        kept = {axis: axis for axis, factor in enumerate(factors) if factor == 1}
        shape = [multiplied_size(size, factor) for size, factor in zip(before, factors, strict=True)]
        return [TensorType(moved_element(element_of(self.input), kept), shape)]


@irdl_op_definition
class PadOp(MovementOp):
    """Pads the operand at the beginning and at the end of `axes`, by default of all axes (ONNX Pad).

    `pads` holds the number of elements to add at the beginning of each axis, then the number at the end of each.
    Negative numbers remove elements, which happens before other elements are added. `mode` selects the added elements:
    `constant` adds `value` (0 by default, which is the zero point of quantized values), `reflect` mirrors at the
    outermost element, `edge` repeats it, and `wrap` continues at the other end.
    """

    name = "nn.pad"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    PARAMETERS: ClassVar[tuple[str, ...]] = ("pads", "axes")
    MODES: ClassVar[tuple[str, ...]] = ("constant", "reflect", "edge", "wrap")

    input = operand_def(TensorType)
    value = opt_operand_def(TensorType)
    pads_value = opt_operand_def(TensorType)
    axes_value = opt_operand_def(TensorType)

    pads = opt_prop_def(DenseArrayBase[IntegerType])
    axes = opt_prop_def(DenseArrayBase[IntegerType])
    mode = opt_prop_def(StringAttr, StringAttr("constant"))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def paddings(self, rank: int, *values: Array | None) -> tuple[Padding, ...]:
        """Returns the padding of each axis; `values` holds the constant operands `pads_value` and `axes_value`."""
        given = dict(zip(self.PARAMETERS, values, strict=False))
        pads = self.integers("pads", given.get("pads"))
        if pads is None:
            raise VerifyException("requires pads")
        return paddings(pads, self.integers("axes", given.get("axes")), rank)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        before = shape_of(self.input)
        element = element_of(self.input)
        self._verify_value()
        if self.is_known("pads") and self.is_known("axes"):
            pads = self.paddings(len(before))
            kept = {axis: axis for axis, padding in enumerate(pads) if padding == (0, 0)}
            return [TensorType(moved_element(element, kept), padded_shape(before, pads))]
        named = self.integers("axes") if self.is_known("axes") else None
        padded = range(len(before)) if named is None else normalized_axes(named, len(before))
        kept = {axis: axis for axis in range(len(before)) if axis not in padded}
        shape = [size if axis in kept else DYNAMIC_INDEX for axis, size in enumerate(before)]
        return [TensorType(moved_element(element, kept), shape)]

    def _verify_value(self) -> None:
        check_choice("mode", self.mode.data, self.MODES)
        if self.value is None:
            return
        if self.mode.data != "constant":
            raise VerifyException(f"a padding value requires mode 'constant', but got mode '{self.mode.data}'")
        if any(size not in (1, DYNAMIC_INDEX) for size in shape_of(self.value)):
            raise VerifyException(f"padding value must be one element, but got '{self.value.type}'")
        if kind_of(element_of(self.value)) is Kind.QUANTIZED and element_of(self.value) != element_of(self.input):
            raise VerifyException(
                f"cannot requantize the padding value: expected type '{element_of(self.input)}', but got "
                f"'{element_of(self.value)}'"
            )


@irdl_op_definition
class TriluOp(MovementOp):
    """Keeps the upper (`upper`) or lower triangle of the last two axes, shifted by `k` diagonals (ONNX Trilu).

    The other elements are 0, which is the zero point of quantized values.
    """

    name = "nn.trilu"
    ACCEPTS: ClassVar[Kind] = Kind.ANY
    PARAMETERS: ClassVar[tuple[str, ...]] = ("k",)
    SCALARS: ClassVar[tuple[str, ...]] = ("k",)

    input = operand_def(TensorType)
    k_value = opt_operand_def(TensorType)

    k = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))
    upper = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.input)
        if len(shape) < 2:
            raise VerifyException(f"input must have rank >= 2, but got '{self.input.type}'")
        return [TensorType(element_of(self.input), shape)]
