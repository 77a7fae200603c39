"""Contractions: matrix products and convolutions, whose bias is added to the accumulator.

If the operands are quantized, the result may have any uniform type. A 32-bit result with zero point 0 and scale
`s_x * s_w` is the accumulator itself; any other result is requantized. A bias has the type of the accumulator.
"""

import re
from abc import ABC
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters
from typing import ClassVar

import numpy as np
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
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.litert import Multiplier
from qmlir.dialects.nn.base import NnOp, shapes_agree, tensor_like
from qmlir.dialects.nn.elementwise.ops import broadcast_shapes
from qmlir.dialects.nn.requantize import Accumulator, quantized_type
from qmlir.dialects.nn.result_shapes import Windows, output_sizes, transposed_size
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import AnyTensor, shape_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds, QuantizationSlots, Slot, volume

# Equations of Einstein sums: their terms, and the result shape.

ELLIPSIS = "..."
_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")


@dataclass(frozen=True)
class Equation:
    """The terms of an Einstein sum, for each operand and the result: labels without spaces, with at most one `...`
    each."""

    operands: tuple[str, ...]
    result: str

    @staticmethod
    def parse(text: str) -> "Equation":
        """Parses ONNX's notation.

        If the result term is omitted, it is the ellipsis followed by the labels that occur once, in sorted order."""
        left, arrow, right = text.replace(" ", "").partition("->")
        operands = tuple(left.split(","))
        for term in (*operands, right):
            if _TERM.fullmatch(term) is None:
                raise VerifyException(f"equation term '{term}' must consist of letters and at most one '...'")
        counts = Counter(letter for term in operands for letter in term if letter != ".")
        if not arrow:
            once = sorted(letter for letter, count in counts.items() if count == 1)
            right = (ELLIPSIS if any(ELLIPSIS in term for term in operands) else "") + "".join(once)
        letters = right.replace(ELLIPSIS, "")
        unknown = [letter for letter in letters if letter not in counts]
        if unknown or len(set(letters)) != len(letters):
            raise VerifyException(f"the output term '{right}' must use labels of the inputs, each at most once")
        return Equation(operands, right)

    def __str__(self) -> str:
        return f"{','.join(self.operands)}->{self.result}"

    def shape(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Returns the shape of the result for operands with these `shapes`."""
        if len(shapes) != len(self.operands):
            raise VerifyException(f"the equation has {len(self.operands)} terms, but the op has {len(shapes)} operands")
        ellipsis: tuple[int, ...] = ()
        for term, shape in zip(self.operands, shapes, strict=True):
            before, dots, after = term.partition(ELLIPSIS)
            count = len(shape) - len(before) - len(after)
            if count < 0 or (count and not dots):
                raise VerifyException(f"term '{term}' does not match an operand of shape {list(shape)}")
            ellipsis = broadcast_shapes(ellipsis, shape[len(before) : len(before) + count])
        equation, sizes = self.lettered(shapes)
        return tuple(sizes[letter] for letter in equation.result)

    def lettered(self, shapes: Sequence[Sequence[int]]) -> tuple["Equation", dict[str, int]]:
        """Returns the equation with letters instead of ellipses, for operands with these `shapes`, and the size of each
        letter."""
        spare = [letter for letter in ascii_letters if letter not in str(self)]
        spare += map(chr, range(256, 256 + max(map(len, shapes))))  # for any rank
        terms: list[str] = []
        widest = ""
        sizes: dict[str, int] = {}
        for term, shape in zip(self.operands, shapes, strict=True):
            dots = "".join(reversed(spare[: len(shape) - len(term.replace(ELLIPSIS, ""))]))  # aligned at the last axis
            widest = max(widest, dots, key=len)
            terms.append(term.replace(ELLIPSIS, dots))
            for letter, size in zip(terms[-1], shape, strict=True):
                sizes[letter] = self._agreed(letter, sizes.get(letter, size), size)
        return Equation(tuple(terms), self.result.replace(ELLIPSIS, widest)), sizes

    @staticmethod
    def _agreed(letter: str, known: int, found: int) -> int:
        try:
            return broadcast_shapes((known,), (found,))[0]
        except VerifyException as error:
            raise VerifyException(f"label '{letter}' has two different sizes, {known} and {found}") from error


def block_numbers(weight: UniformQuantizedType, sizes: Mapping[int, int]) -> Array:
    """Returns the row-major index of the block of each weight along axes of these `sizes`."""
    blocks, numbers = dict(zip(weight.axes, weight.block_sizes, strict=True)), np.zeros((), np.int64)
    for axis, size in sizes.items():
        block = blocks.get(axis, size)
        numbers = np.add.outer(numbers * (size // block), np.arange(size) // block)
    return numbers


class ContractionOp(NnOp, MultipliesAndAdds, ABC):
    """A sum of products of data and weights, which is accumulated in 32 bits if both are quantized."""

    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.PRODUCT

    def verify_factors(self, data: SSAValue, weight: SSAValue) -> None:
        """Verifies that the data has one scale and that per-axis scales of weights vary only along output channels."""
        x, w, axis = quantized_type(data), quantized_type(weight), self.quantization_slots().weight_channel_axis
        if x is not None and x.granularity is not Granularity.TENSOR:
            raise VerifyException(f"data must have one scale, but got '{x}'")
        if w is not None and w.granularity is Granularity.AXIS and w.axis != axis:
            raise VerifyException(f"per-channel weights must be quantized along axis {axis}, but got axis {w.axis}")


@irdl_op_definition
class MatMulOp(ContractionOp):
    """Matrix product of the last two axes with broadcast batch axes (ONNX MatMul); rhs is `[N, K]` if `transpose_b` is
    set.

    `lhs_total` states that the absolute values of the integers `q - z` of each row of lhs add up to at most this number
    (`convert-nn-to-kernel`).
    """

    name = "nn.matmul"
    LITERT: ClassVar[Multiplier | None] = Multiplier.SINGLE_PRODUCT

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    transpose_b = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))
    lhs_total = opt_prop_def(IntegerAttr[IntegerType])

    def __init__(self, lhs: SSAValue, rhs: SSAValue, transpose_b: bool = False, result_type: Attribute | None = None):
        shape = matmul_shape(shape_of(lhs), shape_of(rhs), transpose_b)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[result_type or tensor_like(lhs, shape)],
            properties={"transpose_b": BoolAttr.from_bool(transpose_b)},
        )

    @property
    def is_rhs_transposed(self) -> bool:
        """Whether the right operand is `[…, N, K]`."""
        return bool(self.transpose_b.value.data)

    def quantization_slots(self) -> QuantizationSlots:
        rank = len(shape_of(self.rhs))
        has_channels = rank > 1
        return QuantizationSlots(
            {"rhs": Slot.WEIGHT},
            weight_channel_axis=rank - (2 if self.is_rhs_transposed else 1) if has_channels else None,
            result_channel_axis=len(shape_of(self.result)) - 1 if has_channels else None,
        )

    def infer_result_types(self) -> Sequence[AnyTensor]:
        shape = matmul_shape(shape_of(self.lhs), shape_of(self.rhs), self.is_rhs_transposed)
        if self.lhs_total is not None and (self.lhs_total.value.data < 0 or quantized_type(self.lhs) is None):
            raise VerifyException(f"lhs_total requires a quantized lhs and a number >= 0, but got {self.lhs_total}")
        return [tensor_like(self.lhs, shape)]

    def multiply_adds(self) -> int:
        terms = shape_of(self.lhs)[-1]
        if terms == DYNAMIC_INDEX:
            rhs = shape_of(self.rhs)
            terms = rhs[-1] if self.is_rhs_transposed or len(rhs) == 1 else rhs[-2]
        return volume((*shape_of(self.result), terms))

    def verify_quantization(self) -> None:
        self.verify_factors(self.lhs, self.rhs)


def matmul_shape(lhs: Sequence[int], rhs: Sequence[int], transpose_b: bool) -> tuple[int, ...]:
    """Returns the shape of a matrix product by NumPy's rules, including vectors."""
    if not lhs or not rhs:
        raise VerifyException("operands must not be scalars")
    left = (1, *lhs) if len(lhs) == 1 else tuple(lhs)
    right = (*rhs, 1) if len(rhs) == 1 else tuple(rhs)
    if transpose_b:
        if len(rhs) == 1:
            raise VerifyException("transpose_b requires a right operand of rank >= 2")
        right = (*right[:-2], right[-1], right[-2])
    if not shapes_agree(left[-1:], right[-2:-1]):
        raise VerifyException(
            f"operands of shapes {list(lhs)} and {list(rhs)} cannot be multiplied: inner dimensions are {left[-1]} "
            f"and {right[-2]}"
        )
    rows = () if len(lhs) == 1 else left[-2:-1]
    columns = () if len(rhs) == 1 else right[-1:]
    return (*broadcast_shapes(left[:-2], right[:-2]), *rows, *columns)


class BiasedContractionOp(ContractionOp, ABC):
    """A contraction of data with weights, whose first axis is the output channel, and an optional per-channel bias."""

    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots(
        {"weight": Slot.WEIGHT, "bias": Slot.BIAS}, weight_channel_axis=0, result_channel_axis=1
    )

    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)

    def output_channels(self) -> int:
        """Returns the number of output channels, which is the number of elements of the bias."""
        return shape_of(self.weight)[0]

    def beside_weights(self, parameters: Array) -> Array:
        """Returns per-channel parameters in a shape that broadcasts to the weights."""
        return parameters.reshape(-1, *(1,) * (len(shape_of(self.weight)) - 1))

    def verify_bias_shape(self) -> None:
        """Verifies that the bias has one element per output channel."""
        channels = self.output_channels()
        if self.bias is not None and not shapes_agree(shape_of(self.bias), (channels,)):
            raise VerifyException(
                f"bias must have one element per output channel ({channels}), but got '{self.bias.type}'"
            )

    def multiply_adds(self) -> int:
        # Each element of the result is the sum over one kernel.
        return volume((*shape_of(self.result), *shape_of(self.weight)[1:]))

    def of_channels(self, parameters: Array) -> Array:
        """Returns parameters of the weights, one or several, as parameters of all output channels."""
        return parameters

    def verify_quantization(self) -> None:
        self.verify_factors(self.data, self.weight)
        if self.bias is not None and self.components is None:  # the parts add it in their own types
            self._verify_bias_type(self.bias)

    def _verify_bias_type(self, bias: SSAValue) -> None:
        """Verifies that a quantized bias has zero point 0 and the scales of the accumulator, `f32(s_x * s_w)`."""
        own, data, weight = map(quantized_type, (bias, self.data, self.weight))
        if own is None or data is None or weight is None or Granularity.BLOCK in (data.granularity, weight.granularity):
            return
        if own.zero_points.any():
            raise VerifyException(f"bias must have zero point 0, but got '{own}'")
        product, found = np.float32(data.scales) * np.float32(self.of_channels(weight.scales)), np.float32(own.scales)
        if (product.size != 1 and product.shape != found.shape) or not (found == product).all():
            raise VerifyException(
                f"bias must have the scale of the data times the scale of the weights ({product.tolist()}), but got "
                f"{found.tolist()}"
            )


@irdl_op_definition
class FullyConnectedOp(BiasedContractionOp):
    """Fully connected layer `x * w^T + b`: data `[…, M, K]`, weights `[N, K]`, bias `[N]`; a composite."""

    name = "nn.fully_connected"
    LITERT: ClassVar[Multiplier | None] = Multiplier.ROUNDED_DOUBLE
    COMMON_SIZES: ClassVar[Mapping[str, tuple[slice, slice]]] = {
        "data": (slice(-1), slice(-1)), "weight": (slice(1), slice(-1, None)), "bias": (slice(None), slice(-1, None)),
    }  # fmt: skip

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data, weight = shape_of(self.data), shape_of(self.weight)
        if len(data) < 2 or len(weight) != 2:
            raise VerifyException(
                f"expected data of rank >= 2 and weights of rank 2, but got '{self.data.type}' and '{self.weight.type}'"
            )
        self.verify_bias_shape()
        return [tensor_like(self.data, matmul_shape(data, weight, True))]

    def quantization_slots(self) -> QuantizationSlots:
        return replace(self.SLOTS, result_channel_axis=len(shape_of(self.result)) - 1)


class WindowedContractionOp(BiasedContractionOp, ABC):
    """A contraction over windows along the spatial axes of `[N, C, …]`, separate for each group of channels."""

    COMMON_SIZES: ClassVar[Mapping[str, tuple[slice, slice]]] = {
        "data": (slice(1), slice(1)),
        "bias": (slice(None), slice(1, 2)),
    }

    strides = opt_prop_def(DenseArrayBase[IntegerType])
    dilations = opt_prop_def(DenseArrayBase[IntegerType])
    pads = opt_prop_def(DenseArrayBase[IntegerType])
    groups = opt_prop_def(IntegerAttr, IntegerAttr(1, i64))

    def litert_multiplier(self) -> Multiplier:
        element = quantized_type(self.data)
        return Multiplier.REDUCED if element is not None and element.bits == 16 else Multiplier.DOUBLE

    @property
    def group_count(self) -> int:
        """The number of groups of channels."""
        return self.groups.value.data

    @property
    def windows(self) -> Windows:
        """The geometry of the sliding windows, to the extent that the types determine it."""
        return self.windows_of(shape_of(self.weight)[2:])

    def windows_of(self, kernel: Sequence[int]) -> Windows:
        """Returns the geometry of the sliding windows for a kernel of these sizes."""
        return Windows.of(kernel, *map(self.integers, ("strides", "dilations", "pads")))

    def verify_groups(self, role: str) -> None:
        """Verifies the ranks, and that the number of groups divides the first axis of the weights (the `role`
        channels)."""
        data, weight, groups = shape_of(self.data), shape_of(self.weight), self.group_count
        if len(data) < 3 or len(weight) != len(data):
            raise VerifyException(
                f"data and weights must have the same rank, at least 3, but got '{self.data.type}' and "
                f"'{self.weight.type}'"
            )
        if groups < 1 or (weight[0] != DYNAMIC_INDEX and weight[0] % groups):
            raise VerifyException(f"groups ({groups}) must divide the number of {role} channels ({weight[0]})")


@irdl_op_definition
class ConvOp(WindowedContractionOp):
    """Convolution over the spatial axes (ONNX Conv): data `[N, C, …]`, weights `[M, C / groups, …]`, bias `[M]`."""

    name = "nn.conv"
    LITERT: ClassVar[Multiplier | None] = Multiplier.DOUBLE
    COMMON_SIZES: ClassVar[Mapping[str, tuple[slice, slice]]] = {
        **WindowedContractionOp.COMMON_SIZES,
        "weight": (slice(1), slice(1, 2)),
    }

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data, weight, groups = shape_of(self.data), shape_of(self.weight), self.group_count
        self.verify_groups("output")
        if weight[1] != DYNAMIC_INDEX and not shapes_agree(data[1:2], (weight[1] * groups,)):
            raise VerifyException(f"weights expect {weight[1]} x {groups} input channels, but the data has {data[1]}")
        self.verify_bias_shape()
        return [tensor_like(self.data, (data[0], weight[0], *output_sizes(data[2:], self.windows)))]


@irdl_op_definition
class ConvTransposeOp(WindowedContractionOp):
    """Transposed convolution (ONNX ConvTranspose): data `[N, C, …]`, weights `[C, M / groups, …]`, bias `[M]`.

    Each data element adds its multiple of the kernel to the result. `pads` removes elements from the result, and
    `output_padding` adds elements to the end of its spatial axes.
    """

    name = "nn.conv_transpose"
    LITERT: ClassVar[Multiplier | None] = Multiplier.DOUBLE

    output_padding = opt_prop_def(DenseArrayBase[IntegerType])

    @property
    def channel_axis(self) -> int:
        """The axis of the weights that holds the output channels: of a group or, if each group has one channel, of all
        groups."""
        return 0 if self.group_count > 1 and shape_of(self.weight)[:2] == (self.group_count, 1) else 1

    def by_output(self, weights: Array) -> Array:
        """Reshapes weights, or an array that broadcasts to them, to `[M, terms]`: one row per output channel."""
        inputs, outputs, *kernel = shape_of(self.weight)
        split = np.broadcast_to(weights, shape_of(self.weight)).reshape(
            self.group_count, inputs // self.group_count, outputs, *kernel
        )
        return split.swapaxes(1, 2).reshape(self.output_channels(), -1)

    def block_numbers(self, weight: UniformQuantizedType) -> Array:
        """Returns the row-major index of the block that each weight belongs to, in a shape that broadcasts to the
        weights."""
        inputs, _, *kernel = shape_of(self.weight)
        numbers = block_numbers(weight, {0: inputs // self.group_count, **dict(enumerate(kernel, 2))})
        return np.tile(numbers, (self.group_count, *(1,) * len(kernel)))[:, None]

    def of_channels(self, parameters: Array) -> Array:  # all groups share the parameters of the weights
        flat = parameters.reshape(-1)
        return flat if flat.size == 1 else np.tile(flat, self.output_channels() // flat.size)

    def beside_weights(self, parameters: Array) -> Array:
        weight = shape_of(self.weight)
        rows = np.repeat(parameters.reshape(self.group_count, -1), weight[0] // self.group_count, axis=0)
        return rows.reshape(*rows.shape, *(1,) * (len(weight) - 2))

    def quantization_slots(self) -> QuantizationSlots:
        return replace(
            self.SLOTS,
            weight_channel_axis=self.channel_axis,
            weight_sum_axis=0 if self.channel_axis else 2,
            channel_repeats=1 if self.channel_axis == 0 else self.group_count,
        )

    def verify_quantization(self) -> None:
        super().verify_quantization()
        weight, result = quantized_type(self.weight), quantized_type(self.result)
        if weight is not None and weight.granularity is Granularity.BLOCK:
            rows = shape_of(self.weight)[0] // self.group_count
            if rows % dict(zip(weight.axes, weight.block_sizes, strict=True)).get(0, rows):
                raise VerifyException(
                    f"the block size of weights must divide the input channels of a group ({rows}), but got '{weight}'"
                )
        if result is not None and result.axes not in ((), (1,)):
            raise VerifyException(f"result must have one scale or one per channel, but got '{result}'")

    def output_channels(self) -> int:
        channels = shape_of(self.weight)[1]
        return channels if channels == DYNAMIC_INDEX else channels * self.group_count

    def multiply_adds(self) -> int:
        # Each element of the data is multiplied by its kernels; elements that `pads` removes also count.
        return volume((*shape_of(self.data), *shape_of(self.weight)[1:]))

    def output_sizes(self, sizes: Sequence[int], windows: Windows) -> tuple[int, ...]:
        """Returns the spatial sizes of the result for data of spatial `sizes`."""
        added = self.integers("output_padding") or (0,) * len(sizes)
        if len(added) != len(sizes) or min(added) < 0:
            raise VerifyException(f"output_padding must be {len(sizes)} values >= 0, but got {list(added)}")
        return tuple(transposed_size(size, windows, axis, added[axis]) for axis, size in enumerate(sizes))

    def infer_result_types(self) -> Sequence[AnyTensor]:
        data, weight = shape_of(self.data), shape_of(self.weight)
        self.verify_groups("input")
        if not shapes_agree(data[1:2], weight[:1]):
            raise VerifyException(f"weights expect {weight[0]} input channels, but the data has {data[1]}")
        self.verify_bias_shape()
        sizes = self.output_sizes(data[2:], self.windows)
        return [tensor_like(self.data, (data[0], self.output_channels(), *sizes))]


# Sums of products along labeled axes (ONNX Einsum).

MOST_QUANTIZED = 2
"""The maximum number of quantized operands of an Einstein sum: with more, the product of scales would be inexact."""


@irdl_op_definition
class EinsumOp(NnOp, MultipliesAndAdds):
    """Einstein sum by `equation`: `"bij,bjk->bik"`, `"...ii->...i"`, `"i,i"` (ONNX Einsum)."""

    name = "nn.einsum"
    ACCUMULATOR: ClassVar[Accumulator | None] = Accumulator.PRODUCT

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)

    equation = prop_def(StringAttr)

    @property
    def parsed(self) -> Equation:
        """The parsed equation. Raises `VerifyException` if the text is invalid."""
        return Equation.parse(self.equation.data)

    def lettered(self) -> tuple[Equation, dict[str, int]]:
        """Returns the equation with letters instead of ellipses, and the size of each letter."""
        return self.parsed.lettered([shape_of(value) for value in self.inputs])

    def infer_result_types(self) -> Sequence[AnyTensor]:
        if not self.inputs:
            raise VerifyException("expected at least one operand")
        shape = self.parsed.shape([shape_of(value) for value in self.inputs])
        return [tensor_like(self.inputs[0], shape)]

    def accepts_quantized_values(self) -> bool:
        return len(self.inputs) <= MOST_QUANTIZED

    def float_reason(self) -> str:
        return FloatCause.TOO_MANY_OPERANDS.reason(most=MOST_QUANTIZED, count=len(self.inputs))

    def verify_quantization(self) -> None:
        if len(self.inputs) > MOST_QUANTIZED:
            raise VerifyException(self.float_reason())
        for value in self.inputs:
            element = quantized_type(value)
            if element is not None and element.granularity is not Granularity.TENSOR:
                raise VerifyException(f"operands must have one scale, but got '{element}'")

    def multiply_adds(self) -> int:
        # One product per combination of all labels; n operands take n - 1 multiplications each.
        _, sizes = self.lettered()
        return volume(sizes.values()) * (len(self.inputs) - 1)
