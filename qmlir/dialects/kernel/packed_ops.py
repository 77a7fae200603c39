"""Contractions on packed operands: `x` in the form that the loops read, and weights in the layout of the operation.

The epilogue receives the sum of the stored values. `kernel-pack`, which creates these operations, extends the epilogue
with the correction for zero points. Integer sums wrap at the width of the accumulator.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, bf16, f16, f32, i32
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import SCALE_TYPES
from qmlir.dialects.kernel.attributes import LayoutAttr, ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, EpilogueOp, MatMulOp, WindowedOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.rows import MapsElements
from qmlir.dialects.kernel.variants import WeightLayout
from qmlir.dialects.kernel.winograd import ByAlgorithmOp, WinogradOp
from qmlir.ir.builtin_types import integer_list


def window_weights(layout: LayoutAttr, op: WindowedOp) -> WeightLayout:
    """Returns the layout of the weights of a convolution."""
    channels, taps, depth, groups = op.channels(), op.window(), shaped(op.x)[0][-1], op.group_count
    if layout.variant.is_lanewise:
        return layout.weights(1, channels, taps, depth // groups)
    if groups == 1 and integer_list(op.dilations)[-1] == 1:
        # Taps along the last axis and channels are contiguous in memory: one run covers both.
        return layout.weights(1, channels, (*taps[:-1], 1), taps[-1] * depth)
    return layout.weights(groups, channels // groups, taps, depth // groups)


def winograd_weights(layout: LayoutAttr, op: ByAlgorithmOp) -> WeightLayout:
    """Returns the layout of the weights of a Winograd convolution."""
    return layout.weights(1, op.channels(), (op.form.weight_size,) * 2, shaped(op.x)[0][-1])


def weights_of(layout: LayoutAttr, op: ContractionOp) -> WeightLayout:
    """Returns the layout of the weights of a contraction before they are packed."""
    match op:
        case WinogradOp():
            return winograd_weights(layout, op)
        case ConvOp():
            return window_weights(layout, op)
        case _:
            *batches, channels, terms = shaped(op.w)[0]
            return layout.weights(math.prod(batches), channels, (), terms)


class PackedOp(EpilogueOp):
    """A contraction on packed operands: `layout` describes `w`, and `x` is read as its variant requires.

    `schedule` holds the number of rows in a tile and the prefetch level; by default, a tile has one row.
    """

    layout = prop_def(LayoutAttr)

    assembly_format: ClassVar[str | None] = (
        "`ins` `(` $x `,` $w `:` type($x) `,` type($w) `)` (`epilogue` `(` $epilogue^ `:` type($epilogue) `)`)? "
        "(`outs` `(` $outs^ `:` type($outs) `)`)? (`->` type($result)^)? attr-dict-with-keyword $body"
    )

    def weights(self) -> WeightLayout:
        """Returns the layout of the weights, inferred from the sizes of the other operands."""
        raise NotImplementedError

    @property
    def packed_shape(self) -> tuple[int, ...]:
        """The shape of `w`."""
        return self.weights().shape

    @property
    def loops(self) -> ScheduleAttr:
        """The complete schedule, which combines the layout with the optional `schedule`."""
        hint, layout = self.schedule or ScheduleAttr.of(), self.layout
        return ScheduleAttr.of(
            layout.variant.name, hint.rows, layout.vectors, layout.lanes, layout.variant.group, hint.threads,
            hint.block, hint.prefetch, hint.ahead,
        )  # fmt: skip

    def _verify_properties(self) -> None:
        super()._verify_properties()
        hint = self.schedule
        if hint is not None and hint != (hint.of_packed() or ScheduleAttr.of()):
            raise VerifyException(
                "schedule may only set rows, block, prefetch, ahead and threads (the layout sets the rest), but got "
                f"{hint}"
            )

    def _verify_operands(self) -> None:
        super()._verify_operands()
        weights, variant = self.weights(), self.layout.variant
        if weights.fault:
            raise VerifyException(weights.fault)
        wanted = self.packed_shape, variant.element or self.product_type
        if shaped(self.w) != wanted:
            raise VerifyException(
                f"layout {self.layout} expects weights of shape {list(wanted[0])} and type {wanted[1]}, but got "
                f"'{self.w.type}'"
            )
        element = shaped(self.x)[1]
        if variant.input_element not in (None, element):
            raise VerifyException(
                f"variant '{variant.name}' expects x of type {variant.input_element}, but got {element}"
            )
        sum_type = f32 if variant.widens_weights else i32
        if variant.element is not None and self.product_type != sum_type:
            raise VerifyException(f"variant '{variant.name}' accumulates in {sum_type}, but got {self.product_type}")


@irdl_op_definition
class PackedMatMulOp(PackedOp, MapsElements):
    """Multiplies matrices: `x` of shape `[…, M, K]` by packed weights, to `[…, M, N]`.

    The weights have the layout of `[matrices, N, K]`. There is either one matrix for all batches, or one for each index
    of the leading batch axes, which the remaining batch axes share. The region receives `sum_k (x - offset) w`; an
    offset requires a variant that subtracts it.
    """

    name = "kernel.packed_matmul"

    offset = prop_def(IntegerAttr, default_value=IntegerAttr(0, i32))

    def terms(self) -> int:
        return shaped(self.x)[0][-1]

    def sum_shape(self) -> tuple[int, ...]:
        x = shaped(self.x)[0]
        if len(x) < 2:
            raise VerifyException(f"x must have rank >= 2, but got shape {list(x)}")
        return (*x[:-1], self.channels())

    @property
    def batch_axes(self) -> int:
        """The number of leading batch axes along which the matrices differ."""
        counts = list(accumulate(shaped(self.x)[0][:-2], mul, initial=1))
        matrices = shaped(self.w)[0][0]
        return counts.index(matrices) if matrices in counts else 0

    def weights(self) -> WeightLayout:
        matrices = math.prod(shaped(self.x)[0][: self.batch_axes])
        return self.layout.weights(matrices, self.channels(), (), self.terms())

    def element_maps(self) -> Sequence[AffineMap]:
        """Maps with extra dimensions for the terms of a sum and for the non-batch axes of the packed weights."""
        shape = shaped(self.target)[0]
        rank, batches = len(shape), [axis for axis in range(self.batch_axes) if shape[axis] != 1]
        term, *packed = (AffineExpr.dimension(rank + position) for position in range(1 + len(shaped(self.w)[0]) - 1))
        batch: AffineExpr = AffineExpr.constant(0)
        for axis in batches:
            batch = batch * shape[axis] + AffineExpr.dimension(axis)
        dims = rank + 1 + len(packed)
        x = AffineMap(dims, 0, (*(AffineExpr.dimension(axis) for axis in range(rank - 1)), term))
        read = (AffineMap(dims, 0, each.data.results) for each in self.epilogue_maps)
        written = [] if self.outs is None else [AffineMap(dims, 0, AffineMap.identity(rank).results)]
        return [x, AffineMap(dims, 0, (batch, *packed)), *read, *written]

    def _verify_operands(self) -> None:
        super()._verify_operands()
        if self.layout.variant.is_lanewise:
            raise VerifyException(f"variant '{self.layout.variant.name}' requires a depthwise convolution")
        if self.offset.value.data and not self.layout.variant.subtracts_offset:
            raise VerifyException(f"variant '{self.layout.variant.name}' does not support an offset")


_SCALES: Mapping[AnyFloat, np.dtype[np.generic]] = {each: SCALE_TYPES[str(each)] for each in (f16, bf16, f32)}


def joined_scales(weights: Array, scales: Array, scale_type: AnyFloat, factors: Array | None = None) -> Array:
    """Joins packed weights `[1, blocks, B, steps, width]` and scales `[blocks, B, channels]`, as `PackedBlocksOp.w`.

    With `factors`, `[blocks, B, channels]` of bytes, the scales are those of super-blocks: `[blocks, S, channels]`.
    """
    held = np.ascontiguousarray(scales, _SCALES[scale_type]).view(np.int8)
    behind = held if factors is None else factors.view(np.int8)
    joined = np.concatenate([weights.reshape(*behind.shape[:2], -1), behind], axis=-1)
    if factors is not None:
        joined = np.concatenate([held, joined.reshape(*held.shape[:2], -1)], axis=-1)
    return joined[None]


def split_scales(op: "PackedBlocksOp", packed: Array) -> tuple[Array, Array]:
    """Returns the packed weights and the f32 scales, one per block and channel, that `joined_scales` joined."""
    weights, place = op.weights(), op.scales_place
    blocks = packed[0][..., op.head :].reshape(*weights.shape[1:3], -1)
    behind = np.ascontiguousarray(blocks[..., place:])
    if op.super_block is None:
        scales = behind.view(_SCALES[op.scale_type]).astype(np.float32)
    else:
        held = np.ascontiguousarray(packed[0][..., : op.head]).view(_SCALES[op.scale_type]).astype(np.float32)
        scales = np.repeat(held, op.run, axis=1) * behind.view(np.uint8).astype(np.float32)
    if op.scale_factor is not None:
        scales = np.float32(op.scale_factor.value.data) * scales
    return blocks[..., :place].reshape(weights.shape), scales


@irdl_op_definition
class PackedBlocksOp(PackedOp):
    """Multiplies matrices with block-wise weight scales: `x` of shape `[B, M, K]` to `[M, N]`, in f32.

    The region receives `sum_b scales_b * f32(starts_b + sum_k (x - offset) w)`. The sum of each block is exact in i32;
    every later step is rounded to f32, and blocks are added in ascending order starting from 0. If `x` is f32, the sum
    of each block is a float sum. `x` is read as the variant requires. `starts` are i32, of shape `[B, M]`; by default,
    they are 0.

    `w` has the shape `[1, channel blocks, B, bytes]`. The bytes of a block are its weights, in the layout of
    `[1, N, B, K]`, followed by the scales of its channels, finite numbers of `scale_type` (f32, f16 or bf16). So the
    loops read one stream of ascending addresses.

    With `super_block`, the number of blocks of a super-block, scales have two levels. `w` has the shape
    `[1, channel blocks, super-blocks, bytes]`: one number of `scale_type` per channel, then the blocks, each followed
    by one unsigned byte per channel. A scale is the product of both, rounded to f32; in f16 and bf16 it is exact.

    `scale_factor` multiplies every scale, rounded to f32: the scale of the input, without which the scales of weights
    are held in fewer bits.
    """

    name = "kernel.packed_blocks"

    x = operand_def()
    w = operand_def()
    starts = opt_operand_def()
    epilogue = var_operand_def()
    outs = opt_operand_def()

    offset = prop_def(IntegerAttr, default_value=IntegerAttr(0, i32))
    scale_type = prop_def(AnyFloat, default_value=f32)
    super_block = opt_prop_def(IntegerAttr)
    scale_factor = opt_prop_def(FloatAttr)

    assembly_format: ClassVar[str | None] = (
        "`ins` `(` $x `,` $w `:` type($x) `,` type($w) `)` (`starts` `(` $starts^ `:` type($starts) `)`)? "
        "(`epilogue` `(` $epilogue^ `:` type($epilogue) `)`)? "
        "(`outs` `(` $outs^ `:` type($outs) `)`)? (`->` type($result)^)? attr-dict-with-keyword $body"
    )

    @property
    def product_type(self) -> Attribute:
        return f32 if shaped(self.x)[1] == f32 else i32

    def _verify_elements(self) -> None:
        """The variant determines the element types."""

    def terms(self) -> int:
        return self._blocks * shaped(self.x)[0][-1]

    @property
    def _blocks(self) -> int:
        return shaped(self.x)[0][0]

    def sum_shape(self) -> tuple[int, ...]:
        x = shaped(self.x)[0]
        if len(x) != 3:
            raise VerifyException(f"x must have shape [blocks, rows, terms], but got {list(x)}")
        return (x[1], self.channels())

    def weights(self) -> WeightLayout:
        return self.layout.weights(1, self.channels(), (self._blocks,), shaped(self.x)[0][-1])

    @property
    def scales_place(self) -> int:
        """The index of the first scale among the bytes of a block."""
        return math.prod(self.weights().shape[-2:])

    @property
    def run(self) -> int:
        """The number of blocks that follow each other without a number of `scale_type` between them."""
        return 1 if self.super_block is None else self.super_block.value.data

    @property
    def head(self) -> int:
        """The bytes before the first block of a super-block; 0 without super-blocks."""
        return 0 if self.super_block is None else self.scale_type.size * self.weights().width

    @property
    def stride(self) -> int:
        """The bytes from one block of a run to the next."""
        return self.scales_place + (self.scale_type.size if self.super_block is None else 1) * self.weights().width

    @property
    def packed_shape(self) -> tuple[int, ...]:
        count, channels = self._blocks // self.run, self.weights().shape[:2]
        return (*channels, count, self.head + self.run * self.stride)

    def _verify_operands(self) -> None:
        if self.super_block is not None and (self.run < 1 or self._blocks % self.run):
            raise VerifyException(f"super_block must divide the number of blocks ({self._blocks}), but got {self.run}")
        if self.scale_type not in _SCALES:
            raise VerifyException(
                f"scale_type must be one of {', '.join(map(str, _SCALES))}, but got {self.scale_type}"
            )
        super()._verify_operands()
        if not self.layout.variant.sums_blocks:
            raise VerifyException(f"variant '{self.layout.variant.name}' does not support sums per block")
        wanted = shaped(self.x)[0][:2], i32
        if self.starts is not None and shaped(self.starts) != wanted:
            raise VerifyException(
                f"expected starts of shape {list(wanted[0])} and type i32, but got '{self.starts.type}'"
            )
        if self.accumulator_type != f32:
            raise VerifyException(f"accumulator must be f32, but got {self.accumulator_type}")


@irdl_op_definition
class PackedConvOp(WindowedOp, PackedOp):
    """Convolves the padded channels-last input `x` `[N, spatial…, C]` with packed weights of `taps`, to `[N, …, O]`.

    The weights have the layout of `[groups, O / groups, taps…, C / groups]`. If there is one group and the taps along
    the last axis are contiguous in `x`, these taps are merged into the terms. Depthwise variants have one group.
    """

    name = "kernel.packed_conv"

    kernel_shape = prop_def(DenseArrayBase[IntegerType])

    def window(self) -> tuple[int, ...]:
        return tuple(integer_list(self.kernel_shape))

    def terms(self) -> int:
        return math.prod(self.window()) * (shaped(self.x)[0][-1] // self.group_count)

    def sum_shape(self) -> tuple[int, ...]:
        x, given = shaped(self.x)[0], (self.kernel_shape, self.strides, self.dilations)
        axes = [list(integer_list(each)) for each in given]
        if len(x) < 3 or {len(each) for each in axes} != {len(x) - 2} or min(axes[0]) < 1:
            found = f"got {axes[0]}, {axes[1]} and {axes[2]}"
            raise VerifyException(
                f"expected {len(x) - 2} taps, strides and dilations for x of shape {list(x)}, but {found}"
            )
        if x[-1] % self.group_count or self.channels() % self.group_count:
            raise VerifyException(
                f"groups ({self.group_count}) must divide the input channels ({x[-1]}) and output channels "
                f"({self.channels()})"
            )
        return (x[0], *self.positions(), self.channels())

    def weights(self) -> WeightLayout:
        return window_weights(self.layout, self)

    def _verify_operands(self) -> None:
        super()._verify_operands()
        channels = self.group_count, shaped(self.x)[0][-1]
        if self.layout.variant.is_lanewise and channels != (self.channels(),) * 2:
            raise VerifyException(f"variant '{self.layout.variant.name}' requires a depthwise convolution")


@irdl_op_definition
class PackedWinogradOp(ByAlgorithmOp, PackedOp):
    """Convolves with 3x3 kernels by a Winograd algorithm, like `kernel.winograd`, with packed weights.

    Depending on the variant of the algorithm, the weights have the layout of `[1, O, 4, 4, C]`, `[1, O, 6, 6, C]` or,
    for `f4_bytes`, `[1, O, 3, 3, C]`.
    """

    name = "kernel.packed_winograd"

    def weights(self) -> WeightLayout:
        return winograd_weights(self.layout, self)

    def _verify_operands(self) -> None:
        if self.layout.variant.name != self.form.variant:
            raise VerifyException(
                f"algorithm '{self.form.name}' requires weights packed for variant '{self.form.variant}', but "
                f"got '{self.layout.variant.name}'"
            )
        super()._verify_operands()


PACKED: Mapping[type[ContractionOp], type[PackedOp]] = {
    ConvOp: PackedConvOp, MatMulOp: PackedMatMulOp, WinogradOp: PackedWinogradOp,
}  # fmt: skip
"""The packed operation for each kind of contraction."""
