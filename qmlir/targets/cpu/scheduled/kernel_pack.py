"""`kernel-pack`: packs the operands of contractions for their schedules, and folds zero points into the bias.

Sub-byte weights are multiplied in the highest bits of bytes, so that sums are scaled by a power of two. Scaling the
bias up and the scale down by that factor saves the shift of each sum, and lets sums start with the bias.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.dialects.func import ReturnOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.dialects.scf import YieldOp
from xdsl.dialects.tensor import EmptyOp, ExtractSliceOp, InsertSliceOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike

from qmlir.analysis.contraction_ranges import (
    LARGEST_INPUT,
    REACH,
    centered_weights,
    factor_of_blocks,
    short_sums,
    summed_over_blocks,
)
from qmlir.analysis.operand_accesses import constant_array, epilogue_operand_of, first_addition
from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.kernel.attributes import LayoutAttr, ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, integer_types, unchanged
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar
from qmlir.dialects.kernel.ops import ReshapeOp, shaped
from qmlir.dialects.kernel.ops import YieldOp as KernelYieldOp
from qmlir.dialects.kernel.packed_ops import PACKED, PackedOp, weights_of
from qmlir.dialects.kernel.variants import SCALAR, Variant
from qmlir.ir.control_flow import reached
from qmlir.ir.passes import ROUNDED, Preservation
from qmlir.ir.provenance import hand_on
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.passes.integer.kernel_fuse import EraseUnused
from qmlir.targets.cpu.isa.predicates import has_signs
from qmlir.targets.cpu.scheduled import packing
from qmlir.targets.cpu.scheduled.aliases import results_written
from qmlir.targets.cpu.scheduled.kernel_fuse_attention import group_rows
from qmlir.targets.cpu.scheduled.schedule import schedule_all_elements


def _begin_with(block: Block, change: Callable[[Scalar], Scalar]) -> None:
    """Makes a body begin with `change` of the sum, which all other operations then read."""
    sums = block.args[0]
    changed = change(Scalar(sums, ArithBuilder(Builder(InsertPoint.at_start(block))))).value
    sums.replace_uses_with_if(changed, lambda use: use.operation is not changed.owner)


def scaled_sum_of(block: Block) -> tuple[int, int] | None:
    """Returns the indices of `bias` and `scale` if a body starts with `float(sum + bias) * scale`; else `None`."""
    start = first_addition(block.args[0], block)
    if start is None:
        return None
    conversion = start[0].result.get_user_of_unique_use()
    if not isinstance(conversion, arith.SIToFPOp) or conversion.result.type != f32:
        return None
    product = conversion.result.get_user_of_unique_use()
    if not isinstance(product, arith.MulfOp):
        return None
    scale = epilogue_operand_of(product, conversion.result, block)
    return None if scale is None else (start[1], scale)


def shifted_bias(bias: Array, weights: Sequence[Array], spare: int) -> Array | None:
    """Returns the bias times `2^spare`; `None` if a sum with this bias might not fit in 32 bits."""
    limit = 1 << (31 - spare)
    for start, channel in zip(bias.astype(np.int64), weights, strict=True):
        terms = channel.astype(np.int64)
        low, high = (LARGEST_INPUT * int(part.sum()) for part in (np.minimum(terms, 0), np.maximum(terms, 0)))
        if start + low < -limit or start + high >= limit:
            return None
    return (bias.astype(np.int64) << spare).astype(bias.dtype)


def shifted_scale(scale: Array, spare: int) -> Array | None:
    """Returns the scale divided by `2^spare`; `None` if that is not a normal float."""
    small = np.ldexp(scale, -spare).astype(scale.dtype)
    is_normal = np.isfinite(scale) & ((np.abs(small) >= np.finfo(scale.dtype).tiny) | (scale == 0))
    return small if bool(is_normal.all()) else None


def _input_offset(op: ContractionOp, variant: Variant) -> int:
    """Returns `offset` in `read = x - z_x + offset`, where `read` is the value that the loops of a variant multiply."""
    if variant.is_centered:
        return 0
    return op.input_zero_point.value.data + variant.offset(is_unsigned=op.input_unsigned is not None)


_VIEWS = (ReshapeOp, ExtractSliceOp)


def _first_in_memory(value: SSAValue) -> SSAValue:
    """Returns the first tensor in the memory of `value`: the source of views and overwritten tensors."""
    while isinstance(value, OpResult):
        op, result = value.op, value.index
        written = results_written(op)
        position = 0 if isinstance(op, _VIEWS) else written[result].operand if result < len(written) else None
        if position is None or isinstance(op.operands[position].owner, EmptyOp):
            break
        value = op.operands[position]
    return value


def _next_in_memory(use: Use) -> Sequence[SSAValue]:
    """Returns the tensors that may share, or contain, the memory of a use."""
    user = use.operation
    match user:
        case YieldOp():
            loop = user.parent_op()
            return [] if loop is None else list(loop.results)
        case InsertSliceOp():
            return [user.result]
        case _ if isinstance(user, _VIEWS):
            return user.results
        case _:
            written = enumerate(results_written(user))
            return [user.results[number] for number, each in written if each.operand == use.index]


def _ends_elsewhere(value: SSAValue) -> bool:
    """Returns true if a tensor may not be in the arena: an argument, a result or a constant."""
    first = _first_in_memory(value)
    owner = first.owner
    if not isinstance(owner, Operation) or owner.has_trait(ConstantLike):
        return True
    if owner.regions and not results_written(owner):  # the result of an scf.if may be in any memory
        return True
    tensors = reached([first], lambda value: (each for use in value.uses for each in _next_in_memory(use)))
    return any(isinstance(use.operation, ReturnOp) for each in tensors for use in each.uses)


def _packed_input(op: ContractionOp, at: Lowering, variant: Variant, *, reads_past: bool) -> SSAValue:
    """Returns `x` as the loops read it: converted if necessary, and copied to the arena if they read past its end."""
    identity = AffineMap.identity(len(shaped(op.x)[0]))
    source = Input(op.x, identity, op.input_unsigned is not None)
    zero_point = op.input_zero_point.value.data
    wide = variant.input_element
    if variant.is_centered and wide is not None and (zero_point or shaped(op.x)[1] != wide):

        def centered(element: Scalar) -> Scalar:
            return (element.to(i32) - zero_point).to(wide) if zero_point else element.to(wide)

        return at.compute([source], shaped(op.x)[0], wide, centered)
    if variant.holds_signed and op.input_unsigned is not None:
        return at.compute([source], shaped(op.x)[0], i8, packing.signed_byte)
    if reads_past and _ends_elsewhere(op.x):
        return at.compute([source], shaped(op.x)[0], shaped(op.x)[1], unchanged)
    return op.x


@dataclass
class _Epilogue:
    """The epilogue operands of an operation that is being packed; corrections are added to them."""

    op: ContractionOp
    at: Lowering
    values: list[SSAValue]
    maps: list[AffineMapAttr]

    def add(self, change: SSAValue | Array, map_: AffineMap | None = None) -> None:
        """Adds `change`, per channel or as `map_` says, to each sum; folds it into the bias if possible."""
        if isinstance(change, np.ndarray):
            if not change.any():
                return
            position = self._place_of_bias() if change.ndim == 1 else None
            bias = None if position is None else constant_array(self.values[position])
            if position is not None and bias is not None:
                total = (bias.astype(np.int64) + change.astype(np.int64)).astype(bias.dtype)  # modulo 2^N, as sums are
                self.values[position] = self.at.constant(total, self.op.accumulator_type)
                return
            value = self.at.constant(change, self.op.accumulator_type)
        else:
            value = change
        block = self.op.body.block
        argument = block.insert_arg(self.op.accumulator_type, len(block.args))
        _begin_with(block, lambda sums: sums + Scalar(argument, sums.builder))
        self.values.append(value)
        self.maps.append(AffineMapAttr(map_ or packing.channel_map(self.op, len(shaped(value)[0]))))

    def shift(self, weights: Array, spare: int) -> None:
        """Scales bias and scale for sums that are scaled by `2^spare` if the results stay bit-identical."""
        found = scaled_sum_of(self.op.body.block)
        if found is None or (isinstance(self.op, MatMulOp) and weights.ndim > 2):
            return
        bias, scale = (
            constant_array(self.values[position]) if self._is_by_channel(position) else None for position in found
        )
        if bias is None or scale is None:
            return
        large, small = shifted_bias(bias, list(weights), spare), shifted_scale(scale, spare)
        if large is None or small is None:
            return
        _begin_with(self.op.body.block, lambda sums: sums << spare)
        for position, array, element in zip(found, (large, small), (i32, f32), strict=True):
            self.values[position] = self.at.constant(array, element)

    def _place_of_bias(self) -> int | None:
        """Returns the index of the operand per channel that the body adds to the sum first; `None` if none."""
        start = first_addition(self.op.body.block.args[0], self.op.body.block)
        return start[1] if start is not None and self._is_by_channel(start[1]) else None

    def _is_by_channel(self, position: int) -> bool:
        """Returns true if an epilogue operand has one number per channel."""
        results = self.maps[position].data.results
        return len(results) == 1 and results[0] == AffineDimExpr(len(shaped(self.op.target)[0]) - 1)


_FOLDED = ("input_zero_point", "weight_zero_point", "weight_unsigned", "input_total")
"""Properties that operations on packed operands don't have."""


def _replacement(
    op: ContractionOp, x: SSAValue, w: SSAValue, epilogue: _Epilogue, layout: LayoutAttr, hint: ScheduleAttr | None
) -> PackedOp:
    outs = [] if op.outs is None else [op.outs]
    properties: dict[str, Attribute] = {name: each for name, each in op.properties.items() if name not in _FOLDED}
    for name in ("schedule", "input_unsigned") if layout.variant.makes_signed else ("schedule",):
        properties.pop(name, None)
    if isinstance(op, ConvOp):
        properties["kernel_shape"] = DenseArrayBase.from_list(i64, op.window())
    if hint is not None:
        properties["schedule"] = hint
    properties |= {
        "layout": layout,
        "epilogue_maps": ArrayAttr(epilogue.maps),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 1, len(epilogue.values), len(outs)]),
    }
    return PACKED[type(op)].create(
        operands=[x, w, *epilogue.values, *outs],
        result_types=list(op.result_types),
        properties=properties,
        attributes=dict(op.attributes),
        regions=[op.detach_region(op.body)],
    )


def _refuse_wide(op: ContractionOp, at: Lowering, variant: Variant) -> None:
    """Raises an error if a variant doesn't support the weights."""
    if variant.most_terms is not None and op.terms() > variant.most_terms:
        raise at.error(
            f"reduces {op.terms()} terms, but variant '{variant.name}' supports at most {variant.most_terms}"
        )
    if variant.weight_step > 1:
        if not has_signs(op):
            raise at.error(f"variant '{variant.name}' requires a constant matrix of weights -1 and 1")
        return
    if variant.weight_bits is None:
        if variant.short_steps:
            _refuse_long(op, at, variant)
        return
    low, high = integer_limits(variant.weight_bits)
    found = centered_weights(op)
    if found is None or not found.within(low, high):
        kind = "of floats" if found is None else f"from {found.low} to {found.high}"
        raise at.error(f"has weights {kind}, but variant '{variant.name}' requires [{low}, {high}]")


def _refuse_long(op: ContractionOp, at: Lowering, variant: Variant) -> None:
    """Raises an error if the weights don't prove that 16 bits hold the partial sums of a variant."""
    found, bounds = short_sums(op, variant), centered_weights(op)
    if found is None or bounds is None:
        raise at.error(f"has computed weights, but variant '{variant.name}' requires constants")
    if not bounds.within(*integer_limits(8)):
        raise at.error(
            f"has weights in {bounds} after subtracting the zero point, but variant '{variant.name}' requires signed "
            "bytes"
        )
    low, high = found
    if low < -REACH or high > REACH:
        steps = "1 step" if variant.short_steps == 1 else f"{variant.short_steps} steps"
        raise at.error(
            f"has weights of one sign with sums {low} and {high} in {steps}, but variant '{variant.name}' supports "
            f"[{-REACH}, {REACH}]"
        )


class PackContraction(RewritePattern):
    """Packs the operands of a contraction for the loops of its schedule."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractionOp, rewriter: PatternRewriter, /) -> None:
        schedule = op.schedule
        if schedule is None or schedule.variant == SCALAR:
            return
        at = Lowering(op, rewriter, integer_types())
        packed_by = LayoutAttr.of(schedule.variant, schedule.vectors, schedule.lanes)
        variant, layout = packed_by.variant, weights_of(packed_by, op)
        if layout.fault:
            raise at.error(layout.fault)
        element = variant.element or op.accumulator_type
        _refuse_wide(op, at, variant)
        weights = packing.packed_weights(op, at, element, variant.weight_offset, is_unpacked=variant.is_unpacked)
        epilogue = _Epilogue(op, at, list(op.epilogue), list(op.epilogue_maps.data))
        offset = _input_offset(op, variant)
        change = packing.correction(op, at, weights, 0 if variant.subtracts_offset else offset)
        if change is not None:
            epilogue.add(change)
        by_row = packing.row_correction(op, at, weights)
        if by_row is not None:
            epilogue.add(by_row, packing.row_map(op))
        if weights.array is not None:
            if variant.spare:
                epilogue.shift(weights.array, variant.spare)
            packed = at.constant(layout.pack(weights.array), element)
        else:
            assert weights.value is not None
            if variant.parts > 1:
                raise at.error(f"has computed weights, but variant '{variant.name}' can pack only constants")
            packed = packing.pack_computed(layout, at, weights.value)
        x = _packed_input(op, at, variant, reads_past=layout.reads_past)
        moved = op.w
        made = _replacement(op, x, packed, epilogue, packed_by, schedule.of_packed())
        if variant.subtracts_offset:
            made.properties["offset"] = IntegerAttr(offset, i32)
        rewriter.replace(op, made)
        while isinstance(source := moved.owner, GenericOp) and not moved.uses:  # packing reads the moves' source
            moved = source.inputs[0]
            rewriter.erase(source)


class PackBlocks(RewritePattern):
    """Fuses a block-wise matmul with the sum over its blocks, so that no partial product is stored."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatMulOp, rewriter: PatternRewriter, /) -> None:
        schedule, sums = op.schedule, summed_over_blocks(op)
        if schedule is None or sums is None or schedule.variant == SCALAR:
            return
        packed_by = LayoutAttr.of(schedule.variant, schedule.vectors, schedule.lanes)
        variant, element = packed_by.variant, packed_by.variant.element
        at = Lowering(op, rewriter, integer_types())
        scales = constant_array(op.epilogue[0])
        if not variant.sums_blocks or element is None or scales is None or op.accumulator_type != i32:
            return
        weights = packing.packed_weights(op, at, element, variant.weight_offset)
        if weights.array is None:
            return
        _refuse_wide(op, at, variant)
        starts = packing.row_correction(op, at, weights)
        by_channel = weights.array.swapaxes(0, 1)
        layout = packed_by.weights(1, len(by_channel), by_channel.shape[1:2], by_channel.shape[2])
        block = Block(arg_types=[f32])
        block.add_op(KernelYieldOp(block.args[0]))
        properties: dict[str, Attribute] = {"offset": IntegerAttr(_input_offset(op, variant), i32)}
        if op.input_unsigned is not None and not variant.makes_signed:
            properties["input_unsigned"] = op.input_unsigned
        if (factor := factor_of_blocks(op)) not in (None, 1.0):
            properties["scale_factor"] = FloatAttr(factor, f32)
        x = _packed_input(op, at, variant, reads_past=layout.reads_past)
        made = packing.packed_blocks(
            at, (x, by_channel, scales), packed_by, schedule, Region(block), properties, starts=starts
        )
        hand_on([op, sums], made)
        rewriter.insert(made, InsertPoint.before(op))
        rewriter.replace(sums, [], made.results)
        rewriter.erase(op)


@dataclass(frozen=True)
class KernelPack(ModulePass):
    """Packs the weights of each scheduled contraction, and replaces it with an operation on packed operands.

    The new operation specifies the layout. Its schedule is only a hint, which doesn't affect the result.

    - Channels are padded to full vectors, and terms to full groups, with zeros.
    - Weight zero points are subtracted from the weights, and the input zero point is folded into the bias. If the
      difference doesn't fit in a byte, the weights keep their zero point. Then the zero point times the sum of each
      input row is subtracted from the sums.
    - Constants are packed immediately, computed weights by additional operations.
    - An input that the loops read past its end is copied to the arena if it is an argument, a result or a constant.
    - f32 weights that are dequantized from constants stay stored. For a few rows, the loops convert blocks of them in
      registers. For more rows, and for convolutions, they are converted from packed constants in each run.
    - Scales and zero points of blocks that no packed weights contain are repeated to one for each element.
    - With 4-bit and 2-bit weights, sums are scaled by 16 and 64. The bias and scale of each channel absorb the factor
      if that is exact.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
      %w = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
      %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32> attributes {
        input_zero_point = 3 : i32, schedule = #kernel.schedule<variant = "splat", lanes = 2>
      } {
      ^bb0(%acc: i32):
        kernel.yield %acc : i32
      }
      func.return %0 : tensor<1x2xi32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
      %0 = arith.constant dense<[-9, -21]> : tensor<2xi32>
      %1 = arith.constant dense<[[[[1, 3], [2, 4]]]]> : tensor<1x1x2x2xi32>
      %2 = kernel.packed_matmul ins(%x, %1 : tensor<1x2xi8>, tensor<1x1x2x2xi32>) epilogue(%0 : tensor<2xi32>)
          -> tensor<1x2xi32> attributes {
        epilogue_maps = [affine_map<(d0, d1) -> (d1)>],
        layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 2>
      } {
      ^bb0(%acc: i32, %change: i32):
        %3 = arith.addi %acc, %change : i32
        kernel.yield %3 : i32
      }
      func.return %2 : tensor<1x2xi32>
    }
    ```
    """

    name = "kernel-pack"
    # Sums of floats add their terms in another order.
    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns_greedily(op, [PackBlocks(), packing.PackWidened(), PackContraction()], ctx)
        apply_patterns_greedily(op, [EraseUnused(), packing.RepeatAtCompileTime()], ctx)
        group_rows(op)  # fuse the row sums and conversions that packing added after a softmax
        schedule_all_elements(op)
