"""Products by weights that have a scale for each block of terms, packed; floats by stored weights among them.

A model whose weights alone are quantized multiplies floats by weights that an operation dequantizes in each run. They
are constants, so loops can hold their bits and make floats of them in registers. A product is that of each block of
terms by integers, or by small floats, times its scale: the same numbers, rounded in another order.
"""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, TensorType, f32, i8, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.attributes import LayoutAttr, ScheduleAttr
from qmlir.dialects.kernel.contraction import MatMulOp
from qmlir.dialects.kernel.lowering.lowering import Lowering, integer_types
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedBlocksOp
from qmlir.ir.provenance import hand_on
from qmlir.targets.cpu.scheduled.contraction_schedule import tile_rows
from qmlir.targets.cpu.scheduled.dequantized import FUSED, HOLDING, OF_BYTES, alike, dequantized_weights

MOST_ROWS = 8
"""Rows up to which floats are made of weights for each tile of them, not once for all: e4m3 by 1024x1024 takes 96, 119
and 237 us with 2, 4 and 8 rows, where f32 takes 175, 149 and 221; 16 rows by 512x512 take 113 us so, and 53 by f32.

Several rows wait for what makes floats, not for memory: then weights of 4 bits are bytes, which take half the time."""

_LEAST = 8
"""The terms of a block from which on a scale takes little of the memory, and of the time."""


def packed_blocks(
    at: Lowering,
    operands: tuple[SSAValue, Array, Array],
    layout: LayoutAttr,
    schedule: ScheduleAttr,
    body: Region,
    properties: dict[str, Attribute],
    epilogue: Sequence[tuple[SSAValue, AffineMap]] = (),
) -> PackedBlocksOp:
    """The operation of `x` `[B, M, K]`, weights `[N, B, K]` and scales `[B, N]`, whose result is `[M, N]`."""
    x, weights, scales = operands
    channels, count, terms = weights.shape
    places = layout.weights(1, channels, (count,), terms)
    filled = np.pad(scales, [(0, 0), (0, places.blocks * places.width - channels)])
    by_place = np.ascontiguousarray(filled.reshape(count, places.blocks, places.width).swapaxes(0, 1))
    rows = shaped(x)[0][1]
    # Each sum has two registers.
    hint = ScheduleAttr.of(rows=tile_rows(rows, max(schedule.rows // 2, 1)), threads=schedule.threads).of_packed()
    yielded = body.block.last_op
    assert yielded is not None
    return PackedBlocksOp.create(
        operands=[
            x,
            at.constant(places.pack(weights), i8),
            at.constant(by_place, f32),
            *(each for each, _ in epilogue),
        ],
        result_types=[TensorType(yielded.operands[0].type, (rows, channels))],
        properties={
            "layout": layout,
            **({} if hint is None else {"schedule": hint}),
            **properties,
            "epilogue_maps": ArrayAttr([AffineMapAttr(map_) for _, map_ in epilogue]),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 1, 1, len(epilogue), 0]),
        },
        regions=[body],
    )


def _of_rows(op: MatMulOp, at: Lowering) -> list[tuple[SSAValue, AffineMap]] | None:
    """The epilogue operands for a result whose rows are one axis, `None` where they can't be read so."""
    shape = shaped(op.target)[0]
    rank, found = len(shape), list[tuple[SSAValue, AffineMap]]()
    for value, attribute in zip(op.epilogue, op.epilogue_maps, strict=True):
        if attribute.data == AffineMap.identity(rank):
            found.append((at.reshape(value, (math.prod(shape[:-1]), shape[-1])), AffineMap.identity(2)))
        elif all(each == AffineDimExpr(rank - 1) for each in attribute.data.results):
            channel = tuple(AffineExpr.dimension(1) for _ in attribute.data.results)
            found.append((value, AffineMap(2, 0, channel)))
        else:
            return None
    return found


class PackWidened(RewritePattern):
    """Let loops multiply by the numbers that weights are dequantized from, block by block."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatMulOp, rewriter: PatternRewriter, /) -> None:
        schedule = op.schedule
        if schedule is None or schedule.variant != FUSED or op.result is None or shaped(op.x)[1] != f32:
            return
        rows, is_matrix = math.prod(shaped(op.target)[0][:-1]), len(shaped(op.w)[0]) == 2
        if rows > MOST_ROWS or not is_matrix or op.accumulator_type != f32:
            return
        weights = dequantized_weights(op.w)
        held = None if weights is None else weights.held(HOLDING if rows == 1 else OF_BYTES)
        block = 0 if held is None else alike(held.scales, 1)
        if held is None or block < _LEAST or block % held.variant.parts:
            return
        at = Lowering(op, rewriter, integer_types())
        epilogue = _of_rows(op, at)
        if epilogue is None:
            return
        channels, terms = held.codes.shape
        count = terms // block
        x = at.transpose(at.reshape(op.x, (rows, count, block)), (1, 0, 2))
        codes = held.codes.reshape(channels, count, block)
        layout = LayoutAttr.of(held.variant.name, schedule.vectors, schedule.lanes)
        body, target, dequantized = op.detach_region(op.body), shaped(op.target)[0], op.w.owner
        made = packed_blocks(at, (x, codes, held.scales[:, ::block].T), layout, schedule, body, {}, epilogue)
        hand_on([op], made)
        rewriter.replace(op, [], [at.reshape(at.insert(made), target)])
        assert isinstance(dequantized, Operation)
        if not any(result.uses for result in dequantized.results):
            rewriter.erase(dequantized)
