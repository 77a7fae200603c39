"""`kernel-propagate-layout`: propagates the memory layout of contractions to the operations around them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, AnyFloat, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir.analysis.operand_accesses import (
    OperandAccess,
    Structured,
    constant_array,
    defining,
    forget_origins_in_bodies,
    is_elementwise,
    is_movement,
    is_repeated,
    output_maps,
    permutation_of,
    points_of,
    ranges_of,
    readings_of,
    with_rows_along,
)
from qmlir.analysis.symbols import common_groups, only_unit_axes_differ, real_axes
from qmlir.dialects.kernel.contraction import MatMulOp
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.dialects.kernel.record import RecordOp
from qmlir.ir.builtin_types import AnyTensor, dense, element_of, integer_list, ranked_tensor, sizes_of
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import ROUNDED, Preservation, count
from qmlir.ir.provenance import merged_origins, origins_of, set_origins
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.passes.integer.kernel_fuse import EraseUnused, FoldIntoAccess

# Patterns that move transposes down to where they cancel, fold into constants, or reach a result of the function.
#
# A transpose is a `linalg.generic` that yields its input, read and written by permutations of its iterators. Each
# pattern removes one, or moves one past the operation that reads it, so rewriting terminates.

Order = list[int]
"""The axis of the source for each axis of a transpose's result."""


def _tensor(shape: Sequence[int], element: Attribute) -> AnyTensor:
    return TensorType(cast(Any, element), list(shape))


def transpose_order(op: Operation | None) -> Order | None:
    """Returns the order of the axes if `op` is a transpose, otherwise `None`."""
    if not isinstance(op, GenericOp) or not is_movement(op):
        return None
    read, written = permutation_of(op.indexing_maps.data[0].data), permutation_of(output_maps(op)[0])
    return None if read is None or written is None else [read.index(dim) for dim in written]


def inverse(order: Sequence[int]) -> Order:
    """Returns the order of the inverse transpose."""
    return [order.index(axis) for axis in range(len(order))]


def transpose(rewriter: PatternRewriter, value: SSAValue, order: Sequence[int]) -> SSAValue:
    """Inserts a transpose of `value`: axis `i` of the result is axis `order[i]` of `value`."""
    if list(order) == sorted(order):
        return value
    shape, element = sizes_of(value), element_of(value)
    empty = tensor.EmptyOp((), _tensor([shape[axis] for axis in order], element))
    body = Block(arg_types=[element, element])
    body.add_op(YieldOp(body.args[0]))
    source = AffineMap(len(order), 0, tuple(AffineExpr.dimension(position) for position in inverse(order)))
    maps = [AffineMapAttr(map_) for map_ in (source, AffineMap.identity(len(order)))]
    kinds = [IteratorTypeAttr(IteratorType.PARALLEL)] * len(order)
    made = GenericOp([value], [empty.tensor], Region(body), maps, kinds, [empty.tensor.type])
    rewriter.insert([empty, made])
    return made.res[0]


def _reshape(rewriter: PatternRewriter, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    if tuple(shape) == sizes_of(value):
        return value
    return rewriter.insert(ReshapeOp(value, _tensor(shape, element_of(value)))).result


def _source(value: SSAValue, reader: Operation) -> tuple[SSAValue, Order] | None:
    """Returns the source and the order of the transpose that produces `value`, an operand of `reader`, or `None`.

    A transpose outside of a loop runs once, and stays there if the loop reads it.
    """
    op = defining(value)
    order = transpose_order(op)
    if op is None or order is None or op.parent is not reader.parent:
        return None
    return op.operands[0], order


def _is_free(value: SSAValue) -> bool:
    """Returns True if a tensor can have any layout at no cost: it is uninitialized, filled or constant."""
    is_blank = isinstance(defining(value), tensor.EmptyOp | FillOp)
    return is_blank or is_repeated(value) or constant_array(value) is not None


class SimplifyTranspose(RewritePattern):
    """Composes a transpose with the one that it reads, or replaces it by a reshape or a constant."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter, /) -> None:
        order = transpose_order(op)
        value = None if order is None or not op.results[0].uses else self._value(op, order, rewriter)
        if value is not None:
            # The producer of the value does not need the provenance that the users have already.
            told = merged_origins(use.operation for use in op.results[0].uses)
            set_origins(op, [origin for origin in origins_of(op) if origin not in told])
            rewriter.replace(op, [], [value])

    @staticmethod
    def _value(op: GenericOp, order: Order, rewriter: PatternRewriter) -> SSAValue | None:
        """Returns the value that replaces the transpose `op`, or `None`."""
        source = op.operands[0]
        if order == sorted(order):
            return source
        if (found := _source(source, op)) is not None:
            return transpose(rewriter, found[0], [found[1][axis] for axis in order])
        shape = sizes_of(source)
        turned, real = [shape[axis] for axis in order], [axis for axis in order if shape[axis] != 1]
        if real == sorted(real):
            return _reshape(rewriter, source, turned)
        return _moved(source, _tensor(turned, element_of(source)), lambda array: array.transpose(order), rewriter)


class FoldReshapedConstant(RewritePattern):
    """Folds reshapes of constants and of filled or empty tensors, and composes reshapes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        inner = defining(op.source)
        if op.source.type == op.result.type:
            rewriter.replace(op, [], [op.source])
        elif isinstance(inner, ReshapeOp):
            rewriter.replace(op, [ReshapeOp(inner.source, op.result.type)])
        elif (type_ := ranked_tensor(op.result.type)) is not None:
            shape = type_.get_shape()
            value = _moved(op.source, type_, lambda array: array.reshape(shape), rewriter)
            if value is not None:
                rewriter.replace(op, [], [value])


def _moved(
    source: SSAValue, type_: AnyTensor, move: Callable[[Any], Any], rewriter: PatternRewriter
) -> SSAValue | None:
    """Returns `source` in another type if that is free: known elements are moved at compile time."""
    op = defining(source)
    if isinstance(op, tensor.EmptyOp):
        return rewriter.insert(tensor.EmptyOp((), type_)).tensor
    if isinstance(op, FillOp):
        empty = rewriter.insert(tensor.EmptyOp((), type_)).tensor
        return rewriter.insert(FillOp(list(op.inputs), [empty], [type_])).results[0]
    array = constant_array(source)
    if array is None:
        return None
    data = np.ascontiguousarray(move(array)).tobytes()
    return rewriter.insert(arith.ConstantOp(dense(data, type_), type_)).result


# --- Reading through transposes ---------------------------------------------------------------------------------------


class FoldTransposeIntoAccess(FoldIntoAccess):
    """Reads the source of a transposed operand at permuted indices, if each element is read once."""

    def through(self, op: Structured, reading: OperandAccess) -> OperandAccess:
        found = _source(reading.value, op)
        if found is None or transpose_order(op) is not None:
            return reading
        source, order = found
        if not is_elementwise(op) and points_of(op) > int(np.prod(sizes_of(source))):
            return reading  # overlapping windows, or a broadcast into a sum: neighboring elements must stay adjacent
        results = tuple(reading.map_.results[order.index(axis)] for axis in range(len(order)))
        return OperandAccess(source, AffineMap(reading.map_.num_dims, 0, results), reading.argument)


class MatchOperandLayout(RewritePattern):
    """Computes an elementwise operation in the layout that most of its operands have, and transposes the result."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter, /) -> None:
        if not is_elementwise(op) or is_movement(op) or not op.res[0].uses:
            return
        written = permutation_of(output_maps(op)[0])
        assert written is not None
        ranges = ranges_of(op)
        best = self._layout(op, written, ranges)
        if best is None:
            return
        count = len(written)
        dims: list[AffineExpr] = [AffineExpr.dimension(best.index(dim)) for dim in range(count)]
        type_ = _tensor([ranges[dim] for dim in best], element_of(op.res[0]))
        empty = rewriter.insert(tensor.EmptyOp((), type_))
        readings = [reading.through(dims, count) for reading in readings_of(op)]
        made = _relaid(op, readings, best, empty.tensor)
        rewriter.insert(made)
        order = [best.index(dim) for dim in written]
        rewriter.replace(op, [], [transpose(rewriter, made.res[0], order)])

    @staticmethod
    def _layout(op: GenericOp, written: Order, ranges: Sequence[int]) -> Order | None:
        """Returns the iterators in the order in which most elements are read; `None` if that is the written order."""
        weights: dict[tuple[int, ...], int] = {}
        orders: dict[tuple[int, ...], Order] = {}
        for reading in readings_of(op):
            order = permutation_of(reading.map_)
            if order is None or _is_free(reading.value):
                continue
            key = tuple(dim for dim in order if ranges[dim] != 1)
            weights[key] = weights.get(key, 0) + points_of(op)
            orders.setdefault(key, order)
        own = tuple(dim for dim in written if ranges[dim] != 1)
        if not weights:
            return None
        best = max(weights, key=weights.__getitem__)
        others = {key for key in weights if key != own and weights[key] == weights[best]}
        if best == own or weights[best] == weights.get(own, 0):
            # Operands tie with the written layout: change it if more readers want the other one. A reader through a
            # transpose counts for the layout that it reads, so that the choice is stable.
            wanted = Counter(_layouts_read(op.res[0], written, ranges))
            best = next((key for key in others if wanted[key] > wanted[own]), own)
        return None if best == own else orders[best]


def _layouts_read(value: SSAValue, order: Sequence[int], ranges: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields, for each reader, the layout (an order of iterators) in which it reads a value that is written in
    `order`."""
    for use in value.uses:
        through = transpose_order(use.operation)
        if through is None:
            yield tuple(dim for dim in order if ranges[dim] != 1)
        else:
            yield from _layouts_read(use.operation.results[0], [order[axis] for axis in through], ranges)


def _relaid(op: GenericOp, readings: Sequence[OperandAccess], order: Order, output: SSAValue) -> GenericOp:
    """Returns an elementwise operation with the iterators of `op` in another order, and its output in that order."""
    body = op.body.clone()
    for inner in body.walk():
        if isinstance(inner, IndexOp):
            inner.properties["dim"] = IntegerAttr(order.index(inner.dim.value.data), i64)
    with_rows_along(body.block, order.index)
    maps = map(AffineMapAttr, (*(reading.map_ for reading in readings), AffineMap.identity(len(order))))
    values = [reading.value for reading in readings]
    made = GenericOp(values, [output], body, [*maps], op.iterator_types, [output.type])
    made.attributes.update(op.attributes)
    return made


# --- Through movement -------------------------------------------------------------------------------------------------


def _static(op: tensor.InsertSliceOp | tensor.ExtractSliceOp) -> tuple[tuple[int, ...], ...] | None:
    if len(op.offsets) or len(op.sizes) or len(op.strides):
        return None
    return integer_list(op.static_offsets), integer_list(op.static_sizes), integer_list(op.static_strides)


class ThroughSlice(RewritePattern):
    """Inserts a slice before it is transposed, or extracts it before the whole tensor is transposed.

    The destination of an insertion must have the same transpose, or any layout.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.InsertSliceOp | tensor.ExtractSliceOp, rewriter: PatternRewriter, /) -> None:
        found, static = _source(op.source, op), _static(op)
        if found is None or static is None or len(sizes_of(op.source)) != len(sizes_of(op.result)):
            return
        source, order = found
        offsets, sizes, strides = ([values[axis] for axis in inverse(order)] for values in static)
        if isinstance(op, tensor.InsertSliceOp):
            whole = _source(op.dest, op)
            if not (_is_free(op.dest) or (whole is not None and whole[1] == order)):
                return
            dest = transpose(rewriter, op.dest, inverse(order))
            made = tensor.InsertSliceOp.get(source, dest, sizes, offsets, strides)
        else:
            made = tensor.ExtractSliceOp(source, offsets, sizes, strides, _tensor(sizes, element_of(source)))
        rewriter.insert(made)
        rewriter.replace(op, [], [transpose(rewriter, made.result, order)])


class ThroughReshape(RewritePattern):
    """Moves a reshape before the transpose if it does not merge axes that the transpose made adjacent.

    If the transpose permutes axes that the reshape merges, as in a channel shuffle, they are permuted before the
    reshape.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        found = _source(op.source, op)
        if found is None:
            return
        source, order = found
        shape, target = sizes_of(op.source), sizes_of(op.result)
        if only_unit_axes_differ(shape, target):
            within, axes = list(range(len(order))), self._axes_of_units(shape, target, order)
        else:
            groups = [([order[axis] for axis in left], right) for left, right in common_groups(shape, target)]
            groups.sort(key=lambda group: min(group[0], default=0))
            within, axes = ([axis for group in groups for axis in group[side]] for side in (0, 1))
            is_inside = within != sorted(within)
            if not self._are_blocks(groups) or (is_inside and (axes == sorted(axes) or not self._is_taken_back(op))):
                return
        value = _reshape(rewriter, transpose(rewriter, source, within), [target[axis] for axis in axes])
        rewriter.replace(op, [], [transpose(rewriter, value, inverse(axes))])

    @staticmethod
    def _axes_of_units(shape: Sequence[int], target: Sequence[int], order: Order) -> Order:
        """Returns the axes of the result in the order of the source; unit axes stay in place."""
        from_source = [order[axis] for axis in real_axes(shape)]
        real = real_axes(target)
        axes = list(range(len(target)))
        for position, (_, axis) in zip(real, sorted(zip(from_source, real, strict=True)), strict=True):
            axes[position] = axis
        return axes

    @staticmethod
    def _are_blocks(groups: Sequence[tuple[list[int], list[int]]]) -> bool:
        """Returns True if the axes of each group are adjacent in the source."""
        return all(sorted(left) == list(range(min(left), min(left) + len(left))) for left, _ in groups if left)

    @staticmethod
    def _is_taken_back(op: ReshapeOp) -> bool:
        """Returns True if a transpose reads the result: then axes within a group can be permuted by a transpose
        before."""
        return any(transpose_order(use.operation) is not None for use in op.result.uses)


class FoldTransposeIntoWeights(RewritePattern):
    """Permutes the constant weights of a matrix product to the layout of its input, so that the input need not be
    transposed.

    This changes the order in which terms are summed, so it applies to integers only.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatMulOp, rewriter: PatternRewriter, /) -> None:
        reshape, is_float = defining(op.x), isinstance(op.accumulator_type, AnyFloat)
        found = _source(reshape.source, op) if isinstance(reshape, ReshapeOp) else None
        if not isinstance(reshape, ReshapeOp) or found is None or is_float or constant_array(op.w) is None:
            return
        source, order = found
        shape = sizes_of(reshape.source)
        axes, last = common_groups(shape, sizes_of(op.x))[-1]
        first = axes[0]
        if last != [len(sizes_of(op.x)) - 1] or order[:first] != list(range(first)):
            return
        inner = [axis - first for axis in order[first:]]
        weights = sizes_of(op.w)
        split = _reshape(rewriter, op.w, [*weights[:-1], *shape[first:]])
        lead = len(weights) - 1
        turned = transpose(rewriter, split, [*range(lead), *(lead + axis for axis in inverse(inner))])
        x, w = _reshape(rewriter, source, sizes_of(op.x)), _reshape(rewriter, turned, weights)
        op.operands[0], op.operands[1] = x, w
        rewriter.notify_op_modified(op)


class RecordAnyOrder(RewritePattern):
    """Makes a record without an axis read the source of a transpose, because it does not depend on the order of
    elements."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RecordOp, rewriter: PatternRewriter, /) -> None:
        found = _source(op.input, op)
        if found is not None and op.axis is None:
            op.operands[0] = found[0]
            rewriter.notify_op_modified(op)


PATTERNS: tuple[RewritePattern, ...] = (
    EraseUnused(), SimplifyTranspose(), FoldReshapedConstant(), FoldTransposeIntoAccess(),
    MatchOperandLayout(), ThroughSlice(), ThroughReshape(), FoldTransposeIntoWeights(),
    RecordAnyOrder(),
)  # fmt: skip


@dataclass(frozen=True)
class KernelPropagateLayout(ModulePass):
    """Moves transposes down through the operations that allow it, cancels them in pairs, and folds them into constants.

    Convolutions and pools compute with the channels last, so each has a transpose before it and another one after it. A
    transpose moves past elementwise operations (which compute in the layout that most of their operands have), padding,
    concatenation, slices, and reshapes that add or remove unit axes. Reductions and epilogues read their operands
    through it. If the input of an integer matrix product is transposed and the weights are constant, the weights are
    permuted instead. A transpose that only moves unit axes becomes a reshape. For each function, a remark reports how
    many transposes are left and where they are.

    Of the benchmark models, SqueezeNet benefits most: it takes 1.75 times as long without this pass.

    Before:

    ```mlir
    func.func @main(%x: tensor<1x4x5x2xi8>) -> tensor<1x4x5x2xi8> {
      %0 = tensor.empty() : tensor<1x2x4x5xi8>
      %1 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>,
              affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
          iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%x : tensor<1x4x5x2xi8>) outs(%0 : tensor<1x2x4x5xi8>) {
      ^bb0(%a: i8, %b: i8):
        linalg.yield %a : i8
      } -> tensor<1x2x4x5xi8>
      %2 = tensor.empty() : tensor<1x4x5x2xi8>
      %3 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>,
              affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
          iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%1 : tensor<1x2x4x5xi8>) outs(%2 : tensor<1x4x5x2xi8>) {
      ^bb0(%a: i8, %b: i8):
        linalg.yield %a : i8
      } -> tensor<1x4x5x2xi8>
      func.return %3 : tensor<1x4x5x2xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<1x4x5x2xi8>) -> tensor<1x4x5x2xi8> {
      func.return %x : tensor<1x4x5x2xi8>
    }
    ```
    """

    name = "kernel-propagate-layout"
    # Sums of floats add their terms in another order.
    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [function for function in op.walk() if isinstance(function, FuncOp)]
        before = {function: len(_transposes(function)) for function in functions}
        apply_patterns_greedily(op, PATTERNS, ctx)
        forget_origins_in_bodies(op)
        for function in functions:
            if before[function]:
                left = _transposes(function)
                count("transposes taken away", before[function] - len(left))
                emit_remark(function, _told(before[function], left))


def _transposes(function: FuncOp) -> list[Operation]:
    return [op for op in function.walk() if transpose_order(op) is not None]


def _told(before: int, left: list[Operation]) -> str:
    positions = Counter(map(_position, left))
    where = ", ".join(f"{number} {position}" for position, number in positions.items())
    return f"keeps {len(left)} of {before} transposes{f': {where}' if left else ''}"


def _position(op: Operation) -> str:
    if isinstance(op.operands[0], BlockArgument):
        return "of arguments"
    if all(isinstance(use.operation, ReturnOp) for use in op.results[0].uses):
        return "of results"
    return "inside"
