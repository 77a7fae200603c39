"""`kernel-narrow`: stores tensors in their narrow type, and widens them where they are read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir.analysis.operand_accesses import (
    Assembly,
    Structured,
    erase_unused_in,
    is_elementwise,
    kinds_of,
    points_of,
    readings_of,
    with_element,
)
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.simd.base import bits_of, is_signless
from qmlir.ir.builtin_types import tensor as tensor_of
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.passes import count
from qmlir.ir.provenance import origins_of, set_origins, set_tensor_names
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.passes.integer.kernel_fuse import MOST_OPERATIONS

_WIDENING = (arith.ExtSIOp, arith.ExtUIOp, arith.AddiOp, arith.SubiOp, arith.SIToFPOp, arith.UIToFPOp, arith.MulfOp)
"""The operations that convert a stored integer to its real value: one instruction each."""

_MOST_STEPS = 4
"""The maximum number of operations repeated in each reader: extension, zero point, conversion to float, and scale."""

_MOST_READERS = 3
"""The maximum number of readers that repeat these operations."""

_HELD = (8, 16)
"""The bit widths of the narrow types that are stored: those that have a memory layout."""


@dataclass(frozen=True)
class _Widening:
    """The steps from a narrow value of a body to the yielded value, in order, including constants."""

    narrow: SSAValue
    steps: Sequence[Operation]


def _widening(op: Structured) -> _Widening | None:
    value, steps = terminator_of(op.body.block).operands[0], list[Operation]()
    wide = bits_of(value.type)
    while isinstance(value.owner, _WIDENING):
        constants = [each for each in value.owner.operands if isinstance(each.owner, arith.ConstantOp)]
        varying = [each for each in value.owner.operands if each not in constants]
        if len(varying) != 1 or sum(isinstance(step, _WIDENING) for step in steps) == _MOST_STEPS:
            return None
        steps = [*(each.owner for each in constants if isinstance(each.owner, Operation)), value.owner, *steps]
        value = varying[0]
        is_held = is_signless(value.type, *_HELD) and not isinstance(value, BlockArgument)
        if is_held and 2 * bits_of(value.type) <= wide:
            return _Widening(value, list(dict.fromkeys(steps)))
    return None


def _readers(op: Structured, steps: int) -> list[Structured] | None:
    """Returns the operations that read the result element by element; `None` if there are other users."""
    (result,) = op.results
    users = list(dict.fromkeys(use.operation for use in result.uses))
    readers = [user for user in users if isinstance(user, Structured)]
    if not 1 <= len(readers) == len(users) <= _MOST_READERS:
        return None
    for reader in readers:
        slots = [reading for reading in readings_of(reader) if reading.value is result]
        body = sum(1 for _ in reader.body.walk())
        is_read = len(slots) == sum(operand is result for operand in reader.operands) and reader.parent is op.parent
        is_captured = any(operand is result for each in reader.body.walk() for operand in each.operands)
        is_costly = points_of(reader) > points_of(op) or body + steps > MOST_OPERATIONS or _is_ordered_sum(reader)
        if not is_read or is_captured or is_costly:
            return None
    return readers


def _is_ordered_sum(op: Structured) -> bool:
    """Returns True if a float sum reads its terms in sequence, so that each would be widened as a scalar, not in
    vectors."""
    is_reduction = isinstance(op, GenericOp) and IteratorType.REDUCTION in kinds_of(op)
    return is_reduction and any(isinstance(each, arith.AddfOp) for each in op.body.walk())


class Narrow(RewritePattern):
    """Stores a tensor before it is widened, and widens it in each reader."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not (isinstance(op, ContractionOp) and op.result is not None) and not is_elementwise(op):
            return
        assert isinstance(op, Structured)
        widening = _widening(op)
        readers = None if widening is None else _readers(op, len(widening.steps))
        if widening is None or readers is None:
            return
        (result,) = op.results
        kept = _keeping(op, widening.narrow, rewriter)
        for reader in readers:
            made = _widened_in(reader, result, kept, widening)
            rewriter.replace(reader, [made], list(made.results))
        rewriter.erase(op)


def _keeping(op: Structured, value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """Returns the result of a copy of `op` that yields `value` of its body."""
    assembly = Assembly(op, readings_of(op))
    assembly.inline(op.body.block)
    if isinstance(op, GenericOp):
        assembly.block.insert_arg(value.type, len(assembly.block.args))
        assembly.block.erase_arg(assembly.block.args[-2])
        empty = tensor.EmptyOp((), with_element(tensor_of(op.res[0].type), value.type))
        assembly.builder.insert(type(terminator_of(op.body.block)).create(operands=[assembly.values[value]]))
        maps = [AffineMapAttr(reading.map_) for reading in assembly.readings]
        made: Structured = GenericOp(
            [reading.value for reading in assembly.readings], [empty.tensor], Region(assembly.block),
            [*maps, op.indexing_maps.data[-1]], op.iterator_types, [empty.tensor.type],
        )  # fmt: skip
        made.attributes.update(op.attributes)
        set_origins(made, origins_of(op))
        rewriter.insert([empty, made])
    else:
        made = assembly.finish([assembly.values[value]])
        rewriter.insert(made)
    erase_unused_in(made.body.block, rewriter)
    set_tensor_names(made, ())  # the named tensor of the model only exists in its readers
    return made.results[0]


def _widened_in(reader: Structured, wide: SSAValue, narrow: SSAValue, widening: _Widening) -> Structured:
    readings = readings_of(reader)
    changed = [replace(each, value=narrow) if each.value is wide else each for each in readings]
    assembly = Assembly(reader, changed)
    for reading in changed:
        if reading.value is narrow and reading.argument is not None:
            values: dict[SSAValue, SSAValue] = {widening.narrow: assembly.values[reading.argument]}
            for step in widening.steps:
                assembly.builder.insert(step.clone(values))
            assembly.values[reading.argument] = values[widening.steps[-1].results[0]]
    return assembly.finish(assembly.inline(reader.body.block))


@dataclass(frozen=True)
class KernelNarrow(ModulePass):
    """Stores a tensor in the narrow type from which it was widened, if all readers can widen it as they read.

    If a body ends by widening its result (an extension, the subtraction of a zero point, a multiplication by a scale),
    the integer before these operations is stored instead, and each reader begins with them. For example, a softmax then
    reads its scores as bytes rather than as four-byte floats. This is done for at most 4 widening operations and 3
    readers. No reader may read an element more than once, or be a float sum, which reads its terms sequentially. The
    same operations are applied to the same elements, so results are bit-identical.

    Of the benchmark models, the encoder benefits most: it takes 1.03 times as long without this pass.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>, %y: tensor<2xf32>) -> tensor<2xf32> {
      %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xf32> {
      ^bb0(%sum: i32):
        %1 = arith.trunci %sum : i32 to i8
        %2 = arith.sitofp %1 : i8 to f32
        kernel.yield %2 : f32
      }
      %3 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%0 : tensor<2x4xf32>) outs(%y : tensor<2xf32>) {
      ^bb0(%a: f32, %o: f32):
        %4 = arith.maximumf %a, %o : f32
        linalg.yield %4 : f32
      } -> tensor<2xf32>
      func.return %3 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>, %y: tensor<2xf32>) -> tensor<2xf32> {
      %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xi8> {
      ^bb0(%sum: i32):
        %1 = arith.trunci %sum : i32 to i8
        kernel.yield %1 : i8
      }
      %2 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%0 : tensor<2x4xi8>) outs(%y : tensor<2xf32>) {
      ^bb0(%a: i8, %o: f32):
        %3 = arith.sitofp %a : i8 to f32
        %4 = arith.maximumf %3, %o : f32
        linalg.yield %4 : f32
      } -> tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```
    """

    name = "kernel-narrow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = apply_patterns_greedily(op, [Narrow()], ctx, folding=False)
        count("tensors kept narrow", statistics.counts[Narrow.__name__])
