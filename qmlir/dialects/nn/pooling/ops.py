"""Pooling over the spatial axes of `[N, C, …]`, by windows (ONNX MaxPool, AveragePool, LpPool) or whole channels."""

import math
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, DenseArrayBase, IntegerAttr, IntegerType, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.litert import Multiplier
from qmlir.arithmetic.requantization import Affine, f32_multiplier
from qmlir.dialects.nn.base import Kind, NnOp, tensor_like
from qmlir.dialects.nn.requantize import Accumulator
from qmlir.dialects.nn.result_shapes import Windows, covered_elements, known_count, output_sizes
from qmlir.ir.builtin_types import AnyTensor, element_of, integer_list, shape_of
from qmlir.ir.interfaces import QuantizationSlots


def verify_norm(p: IntegerAttr) -> None:
    """Raises `VerifyException` unless `p` is a valid order of a norm."""
    if p.value.data < 1:
        raise VerifyException(f"p must be >= 1, but got {p.value.data}")


class PoolOp(NnOp, ABC):
    """A pooling operation with one result element per window and channel."""

    data = operand_def(TensorType)
    result = result_def(TensorType)

    kernel = prop_def(DenseArrayBase[IntegerType])
    strides = opt_prop_def(DenseArrayBase[IntegerType])
    dilations = opt_prop_def(DenseArrayBase[IntegerType])
    pads = opt_prop_def(DenseArrayBase[IntegerType])
    ceil_mode = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    @property
    def windows(self) -> Windows:
        """The geometry of the sliding windows."""
        return Windows.of(integer_list(self.kernel), *map(self.integers, ("strides", "dilations", "pads")))

    def counts(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Returns the number of windows along each spatial axis of data with these sizes."""
        return output_sizes(sizes, self.windows, bool(self.ceil_mode.value.data))

    def pooled_shape(self) -> tuple[int, ...]:
        """Returns the shape of the result."""
        data, windows = shape_of(self.data), self.windows
        if len(data) != len(windows.kernel) + 2:
            raise VerifyException(
                f"kernel must have one size per spatial axis of '{self.data.type}', but got {len(windows.kernel)}"
            )
        return (*data[:2], *self.counts(data[2:]))


@irdl_op_definition
class MaxPoolOp(PoolOp):
    """Maximum of each window; padding is ignored."""

    name = "nn.max_pool"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(element_of(self.data), self.pooled_shape())]


@irdl_op_definition
class MaxPoolWithIndicesOp(PoolOp):
    """Maximum of each window, and its index in the data; of equal maxima, the first.

    The `indices` number the data elements in row-major order; with `column_major`, the elements of each channel are
    numbered in column-major order. The index is -1 for a window that is entirely in the padding.
    """

    name = "nn.max_pool_with_indices"
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)

    result = result_def(TensorType)  # redefined so that it comes first
    indices = result_def(TensorType)

    column_major = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = self.pooled_shape()
        return [TensorType(element_of(self.data), shape), TensorType(i64, shape)]


@irdl_op_definition
class AveragePoolOp(PoolOp):
    """Mean of each window over its elements in the data and, with `count_include_pad`, in the padding.

    Elements of a window beyond the padding, which can occur with `ceil_mode`, never count.
    """

    name = "nn.average_pool"
    LITERT: ClassVar[Multiplier | None] = Multiplier.OWN
    LITERT_BITS: ClassVar[Sequence[int]] = (8, 16)
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.OPERAND
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED

    count_include_pad = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [tensor_like(self.data, self.pooled_shape())]

    def divisors(self) -> npt.NDArray[np.int64]:
        sizes = shape_of(self.data)[2:]
        if DYNAMIC_INDEX in sizes:
            return np.array([math.prod(self.windows.kernel)])
        return np.unique(self.covered_elements(sizes))

    def covered_elements(self, sizes: Sequence[int]) -> npt.NDArray[np.int64]:
        """Returns the number of elements in each window of data with these spatial sizes."""
        with_padding = bool(self.count_include_pad.value.data)
        return covered_elements(self.windows, self.counts(sizes), sizes, with_padding)

    def counted_padding(self, sizes: Sequence[int]) -> npt.NDArray[np.int64]:
        """Returns the number of elements of the padding that count in each window."""
        inside = covered_elements(self.windows, self.counts(sizes), sizes, False)
        return self.covered_elements(sizes) - inside

    def has_dynamic_divisor(self) -> bool:
        is_partial = any(self.windows.pads) and not self.count_include_pad.value.data
        return DYNAMIC_INDEX in shape_of(self.data)[2:] and (is_partial or bool(self.ceil_mode.value.data))

    def is_whole_image(self, sizes: Sequence[int]) -> bool:
        """Whether the only window is the whole image; in mode `f32`, ONNX Runtime computes this case as a global pool.

        `sizes` holds the sizes of the spatial axes.
        """
        windows = self.windows
        return windows.kernel == tuple(sizes) and not any(sum(windows.padding(axis)) for axis in range(len(sizes)))

    def litert_element(self) -> Attribute:
        return element_of(self.data)  # stored integers are averaged

    def qlinear_bound(self, values: Sequence[Affine]) -> float:
        data, result = values
        return 257.0 * float(f32_multiplier(data.scale, result.scale)) + 256


@irdl_op_definition
class LpPoolOp(PoolOp):
    """The p-norm of each window, `(sum |x|^p)^(1/p)`; padding adds nothing."""

    name = "nn.lp_pool"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    p = opt_prop_def(IntegerAttr, IntegerAttr(2, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        verify_norm(self.p)
        return [tensor_like(self.data, self.pooled_shape())]


class GlobalPoolOp(NnOp, ABC):
    """A pooling operation with one result element per channel; the spatial axes are kept with size 1."""

    data = operand_def(TensorType)
    result = result_def(TensorType)

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED

    def pooled_shape(self) -> tuple[int, ...]:
        """Returns the shape of the result."""
        data = shape_of(self.data)
        if len(data) < 3:
            raise VerifyException(f"expected data of rank >= 3 (N, C, spatial...), but got '{self.data.type}'")
        return (*data[:2], *(1 for _ in data[2:]))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [tensor_like(self.data, self.pooled_shape())]


@irdl_op_definition
class GlobalAveragePoolOp(GlobalPoolOp):
    """Mean of each channel (ONNX GlobalAveragePool)."""

    name = "nn.global_average_pool"
    LITERT: ClassVar[Multiplier | None] = Multiplier.MEAN
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.OPERAND

    def divisors(self) -> npt.NDArray[np.int64]:
        return known_count(shape_of(self.data)[2:])


@irdl_op_definition
class GlobalMaxPoolOp(GlobalPoolOp):
    """Maximum of each channel (ONNX GlobalMaxPool)."""

    name = "nn.global_max_pool"
    ACCEPTS: ClassVar[Kind] = Kind.NUMBER
    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(shares_parameters=True)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [TensorType(element_of(self.data), self.pooled_shape())]


@irdl_op_definition
class GlobalLpPoolOp(GlobalPoolOp):
    """The p-norm of each channel, `(sum |x|^p)^(1/p)`."""

    name = "nn.global_lp_pool"
    ACCEPTS: ClassVar[Kind] = Kind.FLOAT

    p = opt_prop_def(IntegerAttr, IntegerAttr(2, i64))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        verify_norm(self.p)
        return super().infer_result_types()
