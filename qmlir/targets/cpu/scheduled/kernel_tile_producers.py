"""`kernel-tile-producers`: computes sums that another convolution adds in chunks of rows that stay in the cache."""

import math
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.dialects.kernel.contraction import ConvOp
from qmlir.dialects.kernel.lowering.lowering import Lowering, integer_types
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.simd.base import bits_of
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.isa import instruction_set

_ROWS = 1
"""The axis that is cut."""


def _size(value: SSAValue) -> int:
    shape, element = shaped(value)
    return math.prod(shape) * bits_of(element) // 8


def _parts(sums: ConvOp, near_bytes: int) -> int:
    """Into how many parts of the same number of rows the sums are cut; 1 where they are near anyway."""
    rows, size = shaped(sums.target)[0][_ROWS], _size(sums.target)
    return next((parts for parts in range(1, rows + 1) if rows % parts == 0 and size // parts <= near_bytes), 1)


def _is_cut(op: ConvOp) -> bool:
    """Whether the rows of a convolution can be computed apart: each reads those of its window only."""
    return op.outs is None and op.schedule is None and len(shaped(op.target)[0]) == 4


def _rows_of(at: Lowering, value: SSAValue, first: int, count: int) -> SSAValue:
    shape = shaped(value)[0]
    offsets = [first if axis == _ROWS else 0 for axis in range(len(shape))]
    return at.slice(value, offsets, [count if axis == _ROWS else size for axis, size in enumerate(shape)])


def _part(at: Lowering, op: ConvOp, first: int, count: int, given: dict[SSAValue, SSAValue]) -> SSAValue:
    """So many rows of the result of `op`; epilogue operands that are `given` are rows already."""
    shape, element = shaped(op.target)
    stride, dilation = integer_list(op.strides)[0], integer_list(op.dilations)[0]
    reach = (count - 1) * stride + (shaped(op.w)[0][1] - 1) * dilation + 1
    identity = AffineMap.identity(len(shape))
    maps = (attribute.data for attribute in op.epilogue_maps)
    epilogue = [
        given.get(value) or (_rows_of(at, value, first, count) if map_ == identity else value)
        for value, map_ in zip(op.epilogue, maps, strict=True)
    ]
    rows = [count if axis == _ROWS else size for axis, size in enumerate(shape)]
    weights = [] if op.weight_zero_points is None else [op.weight_zero_points]
    made = ConvOp.create(
        operands=[_rows_of(at, op.x, first * stride, reach), op.w, *weights, *epilogue],
        result_types=[TensorType(cast(Any, element), rows)],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=[op.body.clone()],
    )
    return at.insert(made)


def _reads_rows_only(op: ConvOp) -> bool:
    """Whether an epilogue takes whole elements, or those of its channel: nothing else that depends on the row."""
    rank = len(shaped(op.target)[0])
    maps = [attribute.data for attribute in op.epilogue_maps]
    return all(map_ == AffineMap.identity(rank) or _ROWS not in map_.used_dims() for map_ in maps)


@dataclass(frozen=True)
class InterleaveSums(RewritePattern):
    """Interleaves a producer of 32-bit sums with its consumer, chunk by chunk, so that the sums stay in the cache."""

    near_bytes: int

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        found = [(value, value.owner) for value in op.epilogue if isinstance(value.owner, ConvOp)]
        if len(found) != 1 or not _is_cut(op) or not _reads_rows_only(op):
            return
        value, sums = found[0]
        position = list(op.epilogue).index(value)
        is_wide = bits_of(shaped(value)[1]) > bits_of(shaped(op.target)[1])
        whole = op.epilogue_maps.data[position].data == AffineMap.identity(len(shaped(value)[0]))
        if not is_wide or not whole or not value.has_one_use() or sums.parent is not op.parent:
            return
        parts = _parts(sums, self.near_bytes)
        if parts == 1 or not _is_cut(sums) or not _reads_rows_only(sums):
            return
        at = Lowering(op, rewriter, integer_types())
        shape, element = shaped(op.target)
        count, result = shape[_ROWS] // parts, at.empty(shape, element)
        for first in range(0, shape[_ROWS], count):
            near = _part(at, sums, first, count, {})
            made = _part(at, op, first, count, {value: near})
            result = at.put(made, result, [first if axis == _ROWS else 0 for axis in range(len(shape))])
        rewriter.replace(op, [], [result])
        rewriter.erase(sums)


@dataclass(frozen=True)
class KernelTileProducers(ModulePass):
    """Splits a convolution with 32-bit sums, and the convolution that adds these sums to its own, into chunks of rows.

    The chunks of both convolutions alternate. 32-bit sums take four times the memory of the bytes computed from them.
    If they don't fit in the L2 cache, or need too much of a microcontroller's memory, each chunk of sums is computed
    and read before the next one. The size limit of a chunk depends on `isa`.

    This reduces the memory of microcontrollers: ResNet-8 needs 63.6 KiB of RAM without this pass and 55.8 KiB with it.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x64x64x4xi8>, %w: tensor<64x1x1x4xi8>, %v: tensor<64x1x1x4xi8>)
        -> tensor<1x64x64x64xi8> {
      %0 = kernel.conv ins(%x, %w : tensor<1x64x64x4xi8>, tensor<64x1x1x4xi8>) -> tensor<1x64x64x64xi32>
          attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
      ^bb0(%sum: i32):
        kernel.yield %sum : i32
      }
      %1 = kernel.conv ins(%x, %v : tensor<1x64x64x4xi8>, tensor<64x1x1x4xi8>) epilogue(%0 : tensor<1x64x64x64xi32>)
          -> tensor<1x64x64x64xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
          epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
      ^bb0(%sum: i32, %other: i32):
        %2 = arith.addi %sum, %other : i32
        %3 = arith.trunci %2 : i32 to i8
        kernel.yield %3 : i8
      }
      func.return %1 : tensor<1x64x64x64xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x64x64x4xi8>, %w: tensor<64x1x1x4xi8>, %v: tensor<64x1x1x4xi8>)
        -> tensor<1x64x64x64xi8> {
      %0 = tensor.empty() : tensor<1x64x64x64xi8>
      %1 = tensor.extract_slice %x[0, 0, 0, 0] [1, 32, 64, 4] [1, 1, 1, 1]
          : tensor<1x64x64x4xi8> to tensor<1x32x64x4xi8>
      %2 = kernel.conv ins(%1, %w : tensor<1x32x64x4xi8>, tensor<64x1x1x4xi8>) -> tensor<1x32x64x64xi32>
          attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
      ^bb0(%sum: i32):
        kernel.yield %sum : i32
      }
      %3 = tensor.extract_slice %x[0, 0, 0, 0] [1, 32, 64, 4] [1, 1, 1, 1]
          : tensor<1x64x64x4xi8> to tensor<1x32x64x4xi8>
      %4 = kernel.conv ins(%3, %v : tensor<1x32x64x4xi8>, tensor<64x1x1x4xi8>) epilogue(%2 : tensor<1x32x64x64xi32>)
          -> tensor<1x32x64x64xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
          epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
      ^bb0(%sum_1: i32, %other: i32):
        %5 = arith.addi %sum_1, %other : i32
        %6 = arith.trunci %5 : i32 to i8
        kernel.yield %6 : i8
      }
      %7 = tensor.insert_slice %4 into %0[0, 0, 0, 0] [1, 32, 64, 64] [1, 1, 1, 1]
          : tensor<1x32x64x64xi8> into tensor<1x64x64x64xi8>
      %8 = tensor.extract_slice %x[0, 32, 0, 0] [1, 32, 64, 4] [1, 1, 1, 1]
          : tensor<1x64x64x4xi8> to tensor<1x32x64x4xi8>
      %9 = kernel.conv ins(%8, %w : tensor<1x32x64x4xi8>, tensor<64x1x1x4xi8>) -> tensor<1x32x64x64xi32>
          attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
      ^bb0(%sum_2: i32):
        kernel.yield %sum_2 : i32
      }
      %10 = tensor.extract_slice %x[0, 32, 0, 0] [1, 32, 64, 4] [1, 1, 1, 1]
          : tensor<1x64x64x4xi8> to tensor<1x32x64x4xi8>
      %11 = kernel.conv ins(%10, %v : tensor<1x32x64x4xi8>, tensor<64x1x1x4xi8>) epilogue(%9 : tensor<1x32x64x64xi32>)
          -> tensor<1x32x64x64xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
          epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
      ^bb0(%sum_3: i32, %other_1: i32):
        %12 = arith.addi %sum_3, %other_1 : i32
        %13 = arith.trunci %12 : i32 to i8
        kernel.yield %13 : i8
      }
      %14 = tensor.insert_slice %11 into %7[0, 32, 0, 0] [1, 32, 64, 64] [1, 1, 1, 1]
          : tensor<1x32x64x64xi8> into tensor<1x64x64x64xi8>
      func.return %14 : tensor<1x64x64x64xi8>
    }
    ```
    """

    name = "kernel-tile-producers"

    isa: str = "generic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        near_bytes = instruction_set(resolved_isa(self.isa)).near_bytes
        apply_patterns_greedily(op, [InterleaveSums(near_bytes)], ctx)
