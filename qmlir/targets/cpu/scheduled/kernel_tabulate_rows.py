"""`kernel-tabulate-rows`: what is computed of a byte and of the largest byte of its row comes from a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    TensorType,
    f32,
    i8,
)
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import InterpretationError

from qmlir.analysis.readings import (
    Reading,
    Structured,
    computes_only,
    defining,
    element_of,
    is_always_zero,
    is_elementwise,
    kinds_of,
    output_maps,
    points_of,
    ranges_of,
    readings_of,
    with_element,
)
from qmlir.dialects.kernel.ops import JoinOp
from qmlir.ir.builtin_types import as_dense, dense
from qmlir.ir.evaluation import evaluate
from qmlir.ir.preservation import EVERY_BIT, Preservation
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.ir.statistics import count
from qmlir.passes.integer.fusion import scalar_of
from qmlir.passes.integer.kernel_tabulate import cost_of
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.scheduled.row_tables import byte_of, place_of
from qmlir.text.elements import dense_array

FEWEST_POINTS = 1 << 15
"""Elements from which on reading a table, a kilobyte for each largest byte that occurs, takes less than computing."""

LEAST_COST = 24
"""What the operations that a table saves cost at least: looking up four bytes and joining them takes half of that."""

_BYTES = np.arange(-128, 128, dtype=np.int8)


@dataclass(frozen=True)
class _Largest:
    """A reduction to the largest of each row, of what a body makes of bytes."""

    op: GenericOp
    source: Reading
    kept: Sequence[int]
    """The axes of the bytes that are those of the result, in their order."""
    widened: npt.NDArray[Any]
    """What the body makes of each byte: ascending."""


@dataclass(frozen=True)
class _Bytes:
    """The bytes of all rows, or those that a table makes them of where they are written."""

    meanings: npt.NDArray[np.int8]
    """What bodies read where each byte stands."""
    yielded: SSAValue | None = None
    """What the body that writes them has looked up, and may write instead."""


def _bytes(value: SSAValue, readers: set[Operation]) -> Iterator[_Bytes]:
    """How the bytes of a tensor may be written, the best first, where nobody but `readers` reads them."""
    written = defining(value)
    if isinstance(written, Structured) and all(use.operation in readers for use in value.uses):
        end = written.body.block.last_op
        read = defining(end.operands[0]) if end is not None and len(end.operands) == 1 else None
        constant = defining(read.tensor) if isinstance(read, tensor.ExtractOp) and len(read.indices) == 1 else None
        byte = byte_of(read.indices[0]) if isinstance(read, tensor.ExtractOp) else None
        found = as_dense(constant.value) if isinstance(constant, arith.ConstantOp) else None
        if found is not None and byte is not None and byte.type == i8 and found.get_shape() == _BYTES.shape:
            yield _Bytes(dense_array(found).astype(np.int8), byte)
    yield _Bytes(_BYTES)


def _computed(block: Block, known: Mapping[SSAValue, Any]) -> dict[SSAValue, Any] | None:
    """What the operations of a body compute; `None` where one has no meaning of its own, or refuses its operands."""
    values = dict(known)
    for op in block.ops:
        if op is block.last_op:
            break
        if op.regions or not computes_only(op) or any(operand not in values for operand in op.operands):
            return None
        try:
            results = evaluate(op, [values[operand] for operand in op.operands])
        except InterpretationError:
            return None
        if results is None:
            return None
        values.update(zip(op.results, results, strict=True))
    return values


def _plain_axes(reading: Reading) -> list[int] | None:
    """The iterator of each axis of an operand that has one for each."""
    dims = [sorted(each.used_dims()) for each in reading.map_.results]
    found = [each[0] for each in dims if len(each) == 1]
    return found if len(found) == len(dims) == len(set(found)) else None


def _largest(op: Operation, meanings: npt.NDArray[np.int8]) -> _Largest | None:
    """`op` as a reduction of bytes, read as `meanings` and widened in ascending order, to the largest float."""
    if not isinstance(op, GenericOp) or len(op.res) != 1 or len(op.inputs) != 1:
        return None
    (source,), (output,) = readings_of(op), output_maps(op)
    end, old = op.body.block.last_op, op.body.block.args[-1]
    axes = _plain_axes(source)
    if source.argument is None or element_of(source.value) != i8 or old.type != f32 or axes is None or end is None:
        return None
    last = end.operands[0].owner
    before = scalar_of(op.outputs[0])
    is_least = isinstance(before, FloatAttr) and before.value.data == -np.inf
    if not isinstance(last, arith.MaximumfOp) or not is_least or [use.operation for use in old.uses] != [last]:
        return None
    (widened,) = (operand for operand in last.operands if operand is not old)
    values = _computed(op.body.block, {source.argument: meanings, old: np.full(_BYTES.shape, -np.inf, np.float32)})
    if values is None:
        return None
    found = np.broadcast_to(np.asarray(values[widened]), _BYTES.shape)
    # A negative zero is not the same as a zero, though neither is the larger one.
    if not (np.diff(found) >= 0).all() or np.isnan(found).any() or (np.signbit(found) & (found == 0)).any():
        return None
    kept = [axes.index(dim) for each in output.results for dim in sorted(each.used_dims()) if dim in axes]
    is_plain = len(kept) == len(output.results) and len(kinds_of(op)) == len(axes)
    return _Largest(op, source, kept, found) if is_plain else None


def _is_of_its_row(largest: _Largest, byte: Reading, row: Reading, ranges: Sequence[int]) -> bool:
    """Whether what `row` reads is the largest of the bytes among which `byte` reads."""
    pairs = zip(row.map_.results, (byte.map_.results[axis] for axis in largest.kept), strict=True)
    return all(a == b or (is_always_zero(a, ranges) and is_always_zero(b, ranges)) for a, b in pairs)


class TabulateRows(RewritePattern):
    """Look up what an elementwise body computes of a byte and the largest byte of its row."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter, /) -> None:
        if not is_elementwise(op) or len(op.inputs) != 2 or op.res[0].type.get_element_type() != f32:
            return
        if points_of(op) < FEWEST_POINTS or sum(map(cost_of, op.body.block.ops)) < LEAST_COST:
            return
        for byte, row in (readings_of(op), readings_of(op)[::-1]):
            reduction = defining(row.value)
            if reduction is None or not row.value.has_one_use():
                continue
            for bytes_ in _bytes(byte.value, {op, reduction}):
                largest = _largest(reduction, bytes_.meanings)
                if largest is None or largest.source.value is not byte.value:
                    continue
                is_whole = _is_of_its_row(largest, byte, row, ranges_of(op))
                table = _table(op, largest, bytes_.meanings, byte, row) if is_whole else None
                if table is not None:
                    _write_before_the_table(byte.value, bytes_, rewriter)
                    _rewrite(op, largest, byte, row, table, rewriter)
                    return


def _write_before_the_table(value: SSAValue, bytes_: _Bytes, rewriter: PatternRewriter) -> None:
    """Let a tensor have the bytes that are looked up in a table, and not those that the table has."""
    writer = defining(value)
    if bytes_.yielded is None or not isinstance(writer, Structured):
        return
    end = writer.body.block.last_op
    assert end is not None
    table = defining(end.operands[0])
    assert isinstance(table, tensor.ExtractOp)
    constant = defining(table.tensor)
    end.operands[0] = bytes_.yielded
    for each in reversed(list(writer.body.block.ops)):
        if each is not end and computes_only(each) and not any(result.uses for result in each.results):
            rewriter.erase(each)
    if constant is not None and not any(result.uses for result in constant.results):
        rewriter.erase(constant)
    rewriter.notify_op_modified(writer)


def _table(
    op: GenericOp, largest: _Largest, meanings: npt.NDArray[np.int8], byte: Reading, row: Reading
) -> npt.NDArray[np.int8] | None:
    """`[largest byte, byte of the result, byte]`; where the byte is larger than the largest, as if it were that."""
    assert byte.argument is not None
    assert row.argument is not None
    place = np.arange(len(_BYTES))
    rows, columns = np.meshgrid(place, place, indexing="ij")
    known: dict[SSAValue, Any] = {
        byte.argument: meanings[np.minimum(rows, columns)],
        row.argument: largest.widened[rows],
    }
    values = _computed(op.body.block, known)
    end = op.body.block.last_op
    assert end is not None
    found = None if values is None else values.get(end.operands[0])
    if found is None or np.shape(found) != rows.shape:
        return None
    parts = np.ascontiguousarray(found, "<f4").view(np.int8).reshape(*rows.shape, JoinOp.COUNT)
    return np.ascontiguousarray(parts.transpose(0, 2, 1))


def _rewrite(
    op: GenericOp, largest: _Largest, byte: Reading, row: Reading, table: npt.NDArray[np.int8],
    rewriter: PatternRewriter,
) -> None:  # fmt: skip
    near = _largest_byte(largest, rewriter)
    constant = arith.ConstantOp(dense(table.tobytes(), TensorType(i8, table.shape)))
    set_origins(constant, origins_of(op))
    block = Block(arg_types=[i8, i8, f32])
    builder = Builder(InsertPoint.at_end(block))

    def number(value: int) -> SSAValue:
        return builder.insert(arith.ConstantOp(IntegerAttr(value, IndexType()))).result

    places = [place_of(builder, argument) for argument in block.args[:2]]
    parts = [
        builder.insert(tensor.ExtractOp(constant.result, [places[1], number(part), places[0]], i8)).result
        for part in range(JoinOp.COUNT)
    ]
    builder.insert(YieldOp(builder.insert(JoinOp(parts, f32)).result))
    maps = [AffineMapAttr(map_) for map_ in (byte.map_, row.map_, *output_maps(op))]
    made = GenericOp([byte.value, near], op.outputs, Region(block), maps, op.iterator_types, [op.res[0].type])
    made.attributes.update(op.attributes)
    rewriter.insert(constant)
    rewriter.replace(op, [made], list(made.res))
    rewriter.erase(largest.op)


def _largest_byte(largest: _Largest, rewriter: PatternRewriter) -> SSAValue:
    """The same reduction of the bytes themselves, where `largest` stands."""
    old = largest.op
    type_ = with_element(old.res[0].type, i8)
    least = arith.ConstantOp(IntegerAttr(int(_BYTES[0]), i8))
    empty = tensor.EmptyOp((), type_)
    fill = FillOp([least.result], [empty.tensor], [type_])
    block = Block(arg_types=[i8, i8])
    larger = arith.MaxSIOp(block.args[0], block.args[1])
    block.add_ops([larger, YieldOp(larger.result)])
    made = GenericOp(
        [largest.source.value], [fill.results[0]], Region(block), old.indexing_maps, old.iterator_types, [type_]
    )
    for each in (fill, made):
        each.attributes.update(old.attributes)
    rewriter.insert([least, empty, fill, made], InsertPoint.before(old))
    return made.res[0]


@dataclass(frozen=True)
class KernelTabulateRows(ModulePass):
    """Look up the exponential of a softmax of bytes: a table has it for each byte and each largest byte of a row.

    The largest of a row of bytes that are widened in ascending order is the largest byte, widened. What a body makes of
    a byte and of that number depends on two bytes, so it is computed for all of them beforehand, by the meanings of the
    operations that it stands for. A row needs one part of the table, a kilobyte: four times 256 bytes, one for each
    byte of the result, which `kernel.join` puts together. Bytes that come out of another table, where they are written,
    are left as they were before it, if the numbers ascend with them, too: one table is both. Only where `isa` looks up
    as many bytes as a register has at once, and from so many elements on that the table is less than what it saves.

    Before (run with `isa=avx512-vnni`):

    ```mlir
    func.func @main(%x: tensor<8x4096xi8>) -> tensor<8x4096xf32> {
      %least = arith.constant 0xFF800000 : f32
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %2 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<8x4096xi8>) outs(%1 : tensor<8xf32>) {
      ^bb0(%a: i8, %o: f32):
        %3 = arith.sitofp %a : i8 to f32
        %4 = arith.maximumf %3, %o : f32
        linalg.yield %4 : f32
      } -> tensor<8xf32>
      %5 = tensor.empty() : tensor<8x4096xf32>
      %6 = linalg.generic {
          indexing_maps = [
              affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%x, %2 : tensor<8x4096xi8>, tensor<8xf32>) outs(%5 : tensor<8x4096xf32>) {
      ^bb0(%a: i8, %m: f32, %o: f32):
        %7 = arith.sitofp %a : i8 to f32
        %8 = arith.subf %7, %m : f32
        %9 = math.cosh %8 : f32
        %none = arith.constant 0.000000e+00 : f32
        %10 = arith.minimumf %9, %none : f32
        linalg.yield %10 : f32
      } -> tensor<8x4096xf32>
      func.return %6 : tensor<8x4096xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<8x4096xi8>) -> tensor<8x4096xf32> {
      %least = arith.constant 0xFF800000 : f32
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %2 = arith.constant -128 : i8
      %3 = tensor.empty() : tensor<8xi8>
      %4 = linalg.fill ins(%2 : i8) outs(%3 : tensor<8xi8>) -> tensor<8xi8>
      %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x4096xi8>)
          outs(%4 : tensor<8xi8>) {
      ^bb0(%6: i8, %7: i8):
        %8 = arith.maxsi %6, %7 : i8
        linalg.yield %8 : i8
      } -> tensor<8xi8>
      %9 = tensor.empty() : tensor<8x4096xf32>
      %10 = arith.constant dense<0> : tensor<256x4x256xi8>
      %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]} ins(%x, %5 : tensor<8x4096xi8>, tensor<8xi8>)
          outs(%9 : tensor<8x4096xf32>) {
      ^bb0(%12: i8, %13: i8, %14: f32):
        %15 = arith.index_cast %12 : i8 to index
        %16 = arith.constant -128 : index
        %17 = arith.subi %15, %16 : index
        %18 = arith.index_cast %13 : i8 to index
        %19 = arith.constant -128 : index
        %20 = arith.subi %18, %19 : index
        %21 = arith.constant 0 : index
        %22 = tensor.extract %10[%20, %21, %17] : tensor<256x4x256xi8>
        %23 = arith.constant 1 : index
        %24 = tensor.extract %10[%20, %23, %17] : tensor<256x4x256xi8>
        %25 = arith.constant 2 : index
        %26 = tensor.extract %10[%20, %25, %17] : tensor<256x4x256xi8>
        %27 = arith.constant 3 : index
        %28 = tensor.extract %10[%20, %27, %17] : tensor<256x4x256xi8>
        %29 = kernel.join %22, %24, %26, %28 : f32
        linalg.yield %29 : f32
      } -> tensor<8x4096xf32>
      func.return %11 : tensor<8x4096xf32>
    }
    ```
    """

    name = "kernel-tabulate-rows"
    preserves: ClassVar[Preservation] = EVERY_BIT

    isa: str = "generic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if instruction_set(resolved_isa(self.isa)).table_bytes:
            statistics = apply_patterns_greedily(op, [TabulateRows()], ctx, folding=False)
            count("bodies looked up by row", statistics.counts[TabulateRows.__name__])
