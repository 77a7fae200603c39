"""`kernel-split-rows`: splits a body that reduces its row into one op per reduction, and elementwise ops."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, UnitAttr, f32, f64, i1, i8, i32
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from qmlir.analysis.operand_accesses import (
    INTEGER_DIVISIONS,
    OperandAccess,
    Structured,
    computes_only,
    constant_array,
    defining,
    erase_unused_in,
    forget_origins_in_bodies,
    is_inside,
    known_float,
    output_maps,
    points_of,
    ranges_of,
    readings_of,
    reduces_rows,
    slice_of,
)
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, integer_types
from qmlir.dialects.kernel.lowering.scalars import (
    ArithBuilder,
    Body,
    Scalar,
    constant,
    extracted,
    number_attribute,
    position,
)
from qmlir.dialects.kernel.ops import JoinOp
from qmlir.dialects.kernel.rows import (
    RowMaxOp,
    RowReduceOp,
    RowSumOp,
    row_reductions,
)
from qmlir.dialects.simd.memory import BYTE_VALUES
from qmlir.ir.builtin_types import element_of, sizes_of
from qmlir.ir.control_flow import has_uses, terminator_of
from qmlir.ir.evaluation import evaluate_if_defined
from qmlir.ir.passes import count
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.passes.integer.kernel_lookup_tables import (
    BYTES,
    TabulatedChain,
    chain_between,
    cost_of,
    place_of,
    unused_without,
)
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.scheduled.kernel_fuse_attention import group_rows, grouped, reduced_rows

# Masked rows of bytes: apply the mask to bytes instead of to the floats that the body computes from them.
#
# A masked softmax replaces masked elements with the minimum of their row, which doesn't affect the maximum, and then
# selects 0 for the results computed from them. Any other value that is at most the minimum has the same effect, so the
# value of the smallest byte is used. This saves one reduction over the row. The rest of the body then depends on one
# byte and the maximum of its row, as it does without a mask.
#
# Results stay bit-identical: bytes are widened monotonically, so the value of the smallest byte is at most that of
# every byte, and the maximum of a row with an unmasked element is unchanged. Any other result that depends on the
# replaced value, or on the maximum of a fully masked row, ends in a select by the same mask, which discards it.


def _masked(op: GenericOp) -> Iterator[tuple[RowMaxOp, arith.SelectOp]]:
    """Yields each row maximum over a select that replaces masked elements by the row minimum, with that select."""
    for largest in op.body.block.ops:
        choice = defining(largest.value) if isinstance(largest, RowMaxOp) and largest.value.type == f32 else None
        if isinstance(largest, RowMaxOp) and isinstance(choice, arith.SelectOp) and _is_least(choice.rhs, choice.lhs):
            yield largest, choice


def _is_least(value: SSAValue, of: SSAValue) -> bool:
    """Returns true if `value` is the row minimum of `of`, spelled as the negated maximum of its negation."""
    negated = defining(value)
    largest = defining(negated.operand) if isinstance(negated, arith.NegfOp) else None
    inner = defining(largest.value) if isinstance(largest, RowMaxOp) else None
    return isinstance(inner, arith.NegfOp) and inner.operand is of


def _widening(op: GenericOp, value: SSAValue) -> TabulatedChain | None:
    """Returns the chain of operations that computes `value` from one byte if it is monotonic; else `None`."""
    for byte in (each for each in op.body.block.args if each.type == i8):
        chain = chain_between(op.body.block, byte, value)
        widened = None if chain is None else chain.results(BYTES)
        if widened is not None and bool((np.diff(widened) >= 0).all()):
            return chain
    return None


def _is_left_out(largest: RowMaxOp, choice: arith.SelectOp) -> bool:
    """Returns true if every use of the select, apart from the row maximum, ends in a select by the same mask."""
    waiting, seen = [choice.result, largest.result], set[Operation]()
    while waiting:
        value = waiting.pop()
        for use in value.uses:
            user = use.operation
            if user is largest or user in seen:
                continue
            if isinstance(user, arith.SelectOp) and user.cond is choice.cond and user.lhs is value is not user.rhs:
                continue
            if isinstance(user, RowReduceOp) or not user.results or not computes_only(user):
                return False
            seen.add(user)
            waiting += user.results
    return True


def mask_bytes(op: GenericOp, rewriter: PatternRewriter) -> None:
    """Applies the masks of a body to bytes if the masked elements don't affect the result."""
    for largest, choice in list(_masked(op)):
        chain = _widening(op, choice.lhs)
        if chain is None or not _is_left_out(largest, choice):
            continue
        builder = ArithBuilder(Builder(InsertPoint.before(choice)))
        masked = Scalar(choice.cond, builder).select(Scalar(chain.source, builder), int(BYTES[0]))
        values: dict[SSAValue, SSAValue] = {chain.source: masked.value}
        for step in chain.operations:
            builder.insert(step.clone(values))
        choice.result.replace_all_uses_with(values[chain.target])
        erase_unused_in(op.body.block, rewriter)
        rewriter.notify_op_modified(op)


def widen_truths(op: GenericOp, rewriter: PatternRewriter) -> None:
    """Replaces i1 inputs of a body with bytes: vector loads don't support i1, and masks are small, so this is cheap."""
    read = op.body.block.args[: len(op.inputs)]
    for argument in [each for each in read if each.type == i1][::-1]:
        value, at = op.operands[argument.index], Lowering(op, rewriter, integer_types())
        sizes = sizes_of(value)
        truths = Input(value, AffineMap.identity(len(sizes)), unsigned=True)
        bytes_ = at.compute([truths], sizes, i8, partial(Scalar.to, type_=i8))
        byte = op.body.block.insert_arg(i8, argument.index)
        builder = ArithBuilder(Builder(InsertPoint.at_start(op.body.block)))
        argument.replace_all_uses_with(Scalar(byte, builder).to(i1).value)
        op.body.block.erase_arg(argument)
        op.operands[byte.index] = bytes_
        rewriter.notify_op_modified(op)


# Splitting a body that reduces its row into one op per reduction and elementwise ops between them.
#
# Each row reduction becomes a separate op, and each step moves to the ops that need it. A step that several ops need is
# recomputed in each if it is cheap, and stored in memory otherwise. A value that is constant along a row is computed
# once per row. Steps don't change, and each sum keeps its order, so results are bit-identical.

_LEAST_STORED = 16
"""The lowest cost of recomputing steps at which their result is stored: that of writing and reading an element."""


class RowSplit:
    """Splits one operation whose body reduces its row into several operations."""

    def __init__(self, op: GenericOp, rewriter: PatternRewriter):
        self.op = op
        self.rewriter = rewriter
        self.at = Lowering(op, rewriter, integer_types())
        self.block = op.body.block
        self.row = row_reductions(op)[0].row
        self.ranges = ranges_of(op)
        self.rest = [dim for dim in range(len(self.ranges)) if dim not in self.row]
        """The iterators over rows."""
        self.length = math.prod(self.ranges[dim] for dim in self.row)
        self.stored: dict[SSAValue, OperandAccess] = {
            each.argument: each for each in readings_of(op) if each.argument is not None
        }
        """The values of the body that are in memory, with their indexing maps over the iterators of `op`."""
        self.by_row = self._values_by_row()
        """The values of the body that are constant along a row."""
        self.made: list[LinalgStructuredOperation] = []
        """The created operations, in order."""

    @property
    def yielded(self) -> SSAValue:
        """The value that the body yields: an element of the result."""
        return terminator_of(self.block).operands[0]

    @property
    def sizes(self) -> list[int]:
        """The size of each iterator over rows."""
        return [self.ranges[dim] for dim in self.rest]

    def _values_by_row(self) -> set[SSAValue]:
        row = set(self.row)
        found = {value for value, reading in self.stored.items() if not reading.map_.used_dims() & row}
        for op in self.block.ops:
            inside = [each for each in op.operands if is_inside(each, self.block)]
            is_same = isinstance(op, RowReduceOp) or all(each in found for each in inside)
            if is_same and not (isinstance(op, IndexOp) and op.dim.value.data in row):
                found.update(op.results)
        return found

    # --- Stored values ------------------------------------------------------------------------------------------------

    def steps(self, value: SSAValue) -> list[Operation]:
        """Returns the operations that compute `value` from stored values, in order."""
        return slice_of(self.block, value, self.stored)[0]

    def kept(self) -> set[Operation]:
        """Returns the steps whose results are stored in memory, one per element, or one per row if constant along it.

        The steps are visited in reverse order, to find the new operations that need each step. The result of a step is
        a candidate if its users are needed by different operations, and no single user by all of them.
        """
        pieces: dict[Operation, set[Operation]] = {}
        kept: set[Operation] = set()
        for op in reversed(list(self.block.ops)):
            if isinstance(op, RowReduceOp | YieldOp):
                pieces[op] = {op}
                continue
            users = [use.operation for result in op.results for use in result.uses]
            needed = set[Operation]().union(*(pieces[user] for user in users))
            is_split = all(pieces[user] != needed for user in users)
            pieces[op] = needed
            if len(op.results) == 1 and not isinstance(op, arith.ConstantOp) and self._is_kept(op, is_split, needed):
                kept.add(op)
                pieces[op] = {op}
        return kept

    def _is_kept(self, op: Operation, is_split: bool, needed: Iterable[Operation]) -> bool:
        (result,) = op.results
        users = [use.operation for use in result.uses]
        if isinstance(result.type, IndexType) or result.type == i1:
            return False  # an iterator index, or an i1, which vector loads don't support
        if result in self.by_row:
            return any(
                isinstance(user, YieldOp) or not (isinstance(user, RowReduceOp) or user.results[0] in self.by_row)
                for user in users
            )
        if is_split and any(_is_ordered(each) for each in needed):
            return True  # ordered sums process rows side by side, and their loops contain only the sums
        is_summed = not isinstance(op, arith.ExtFOp) and any(map(_widens_for_ordered_sum, users))
        if not is_split and not is_summed:
            return False
        return sum(cost_of(each) for each in self.steps(result) if each.results[0] not in self.by_row) >= _LEAST_STORED

    # --- Emission -----------------------------------------------------------------------------------------------------

    # The iterators of a new operation are described by a map from them to the iterators of `op`.

    def elements(self) -> AffineMap:
        """Returns the iterators of `op`, unchanged."""
        return AffineMap.identity(len(self.ranges))

    def rows(self, more: int = 0) -> AffineMap:
        """Returns the iterators over rows, followed by `more` others; at least one in total."""
        return self._iterators(max(len(self.rest) + more, 1), self.rest)

    def reducing(self, between: int = 0) -> AffineMap:
        """Returns the iterators over rows, `between` others, and the reduction iterators along a row."""
        return self._iterators(len(self.ranges) + between, [*self.rest, *[None] * between, *self.row])

    def _iterators(self, count: int, old: Sequence[int | None]) -> AffineMap:
        """Returns `count` iterators, the first of which are those of `op` that `old` lists."""
        found = [
            AffineExpr.dimension(old.index(dim)) if dim in old else AffineExpr.constant(0)
            for dim in range(len(self.ranges))
        ]
        return AffineMap(count, 0, tuple(found))

    def filled(self, sizes: Sequence[int], element: Attribute, number: float) -> SSAValue:
        """Creates a tensor filled with `number`."""
        scalar = self.rewriter.insert(arith.ConstantOp(number_attribute(number, element))).result
        empty = self.at.empty(sizes, element)
        fill = self.rewriter.insert(FillOp([scalar], [empty], [empty.type]))
        self.made.append(fill)
        return fill.results[0]

    def generic(self, readings: Sequence[OperandAccess], output: SSAValue, map_: AffineMap, body: Body) -> SSAValue:
        """Creates a `linalg.generic` before `op`, which writes `output` at `map_`; other iterators are reductions."""
        inputs = [Input(each.value, each.map_) for each in readings]
        (result,) = self.at.generic(inputs, [(output, map_)], body)
        assert isinstance(result.owner, GenericOp)
        result.owner.attributes.update(self.op.attributes)
        self.made.append(result.owner)
        return result

    def write(
        self, value: SSAValue, output: SSAValue, map_: AffineMap, space: AffineMap, reduction: RowReduceOp | None = None
    ) -> SSAValue:
        """Creates an operation that computes `value` for each point of `space`, or reduces it."""
        steps = self.steps(value)
        used = {value, *(operand for step in steps for operand in step.operands)}
        leaves = [each for each in self.stored if each in used]
        readings = [self.stored[each].through(space.results, space.num_dims) for each in leaves]
        named = {
            each.position for reading in (*readings, OperandAccess(output, map_)) for each in reading.map_.results
            if isinstance(each, AffineDimExpr)
        }  # fmt: skip
        missing = [dim for dim in range(space.num_dims) if dim not in named]
        if missing:  # no operand uses these iterators; add a tensor that defines their ranges
            sizes = {
                each.position: size
                for each, size in zip(space.results, self.ranges, strict=True)
                if isinstance(each, AffineDimExpr)
            }
            shape = self.at.empty([sizes[dim] for dim in missing], element_of(output))
            rest = AffineMap(space.num_dims, 0, tuple(map(AffineExpr.dimension, missing)))
            readings.append(OperandAccess(shape, rest))

        def body(*given: Scalar) -> Scalar:
            values: dict[SSAValue, SSAValue] = dict(zip(leaves, (each.value for each in given), strict=False))
            so_far = given[-1]
            write_again(so_far.builder, steps, values, space)
            found = values.get(value, value)
            if reduction is not None:
                found = so_far.builder.insert(reduction.combined(so_far.value, found))
            return so_far.made(found)

        return self.generic(readings, output, map_, body)

    def reduce(self, op: RowReduceOp) -> None:
        """Creates the operation for a row reduction, and records its result."""
        space, output = self.reducing(), self.filled(self.sizes, op.value.type, op.start())
        map_ = AffineMap(space.num_dims, 0, tuple(AffineExpr.dimension(position) for position in range(len(self.rest))))
        self.keep(op.result, self.write(op.value, output, map_, space, op))

    def keep(self, value: SSAValue, memory: SSAValue) -> None:
        """Records that `value` is stored in `memory`, one element per row."""
        results = tuple(AffineExpr.dimension(dim) for dim in self.rest) or (AffineExpr.constant(0),)
        results = results[: len(sizes_of(memory))]
        self.stored[value] = OperandAccess(memory, AffineMap(len(self.ranges), 0, results))

    def compute(self, op: Operation) -> None:
        """Creates the operation that computes and stores the result of a step, for each row or each element."""
        (value,) = op.results
        if value in self.by_row:
            space, output = self.rows(), self.at.empty(self.sizes or [1], value.type)
            self.keep(value, self.write(value, output, AffineMap.identity(space.num_dims), space))
            return
        (map_,) = output_maps(self.op)
        output = self.at.empty(sizes_of(self.op.res[0]), value.type)
        self.stored[value] = OperandAccess(self.write(value, output, map_, self.elements()), map_)

    def finish(self) -> SSAValue:
        """Creates the operation that computes the result of `op`, and returns the new result."""
        (map_,) = output_maps(self.op)
        return self.write(self.yielded, self.op.outputs[0], map_, self.elements())


def write_again(
    builder: ArithBuilder, steps: Iterable[Operation], values: dict[SSAValue, SSAValue], space: AffineMap
) -> None:
    """Clones `steps` with operands mapped by `values`, and adds their results to `values`."""
    for step in steps:
        if isinstance(step, IndexOp):
            position = space.results[step.dim.value.data]
            is_there = isinstance(position, AffineDimExpr)
            made = IndexOp(position.position) if is_there else arith.ConstantOp(IntegerAttr(0, IndexType()))
            values[step.result] = builder.insert(made)
        else:
            builder.insert(step.clone(values))


def _is_ordered(op: Operation) -> bool:
    return isinstance(op, RowSumOp) and op.is_ordered


def _widens_for_ordered_sum(op: Operation) -> bool:
    users = [use.operation for result in op.results for use in result.uses]
    return _is_ordered(op) or (isinstance(op, arith.ExtFOp) and bool(users) and all(map(_is_ordered, users)))


# Lookup tables for softmax-like rows of bytes: floats that a body computes from a byte and the maximum of its row are
# looked up in a table of all pairs.
#
# If bytes are widened monotonically, the maximum of a row of widened bytes is the widened maximum byte. A value
# computed from a byte and that maximum depends on two bytes, so it is computed for all pairs at compile time, by
# evaluating the replaced operations. A row needs one part of the table, 1 KiB: four times 256 bytes, one for each byte
# of the f32 result, which `kernel.join` combines.

FEWEST_POINTS = 1 << 15
"""The fewest elements for which reading a table, 1 KiB per distinct row maximum, is cheaper than computing."""

_LEAST_SAVED = 24
"""The lowest total cost of the saved operations: looking up four bytes and joining them costs half of that."""

MANTISSA = 53
"""The number of bits of an integer that f64 represents exactly."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RowTable:
    """A float value of a body that is looked up in a table."""

    value: SSAValue
    byte: SSAValue
    """The byte that is the index in a part of the table."""
    largest: SSAValue
    """The row maximum, which selects the part."""
    numbers: Floats
    """The table `[row maximum, byte]`; a byte above the maximum is treated as equal to it."""


@dataclass(frozen=True)
class _Bytes:
    """The bytes of a tensor: as stored, or as they are before a table lookup in the operation that writes them."""

    meanings: npt.NDArray[np.int8]
    """The value that the body would read for each of the 256 bytes."""
    yielded: SSAValue | None = None
    """The index that the writing operation looks up, and could write instead."""


def _bytes(value: SSAValue, reader: Operation) -> Iterator[_Bytes]:
    """Yields the ways to store the bytes of a tensor, best first; the last one is to store them unchanged."""
    written = defining(value)
    if isinstance(written, Structured) and all(use.operation is reader for use in value.uses):
        results = terminator_of(written.body.block).operands
        read = defining(results[0]) if len(results) == 1 else None
        if isinstance(read, tensor.ExtractOp) and len(read.indices) == 1:
            table, byte = constant_array(read.tensor), _byte_of(read.indices[0])
            if table is not None and table.shape == BYTES.shape and byte is not None and byte.type == i8:
                yield _Bytes(table.astype(np.int8), byte)
    yield _Bytes(BYTES)


def _byte_of(position: SSAValue) -> SSAValue | None:
    """Returns the byte from which a table index is computed, or `None`."""
    match defining(position):
        case arith.SubiOp(
            lhs=SSAValue(owner=arith.IndexCastOp() as cast),
            rhs=SSAValue(owner=arith.ConstantOp(value=IntegerAttr() as first)),
        ) if first.value.data == BYTES[0]:
            return cast.input
        case _:
            return None


def _ascends(widened: Array) -> bool:
    """Returns true if widening is monotonic, so that it preserves maxima; excludes -0, which compares equal to 0."""
    return bool(
        (np.diff(widened) >= 0).all()
        and not np.isnan(widened).any()
        and not (np.signbit(widened) & (widened == 0)).any()
    )  # fmt: skip


def _computed(block: Block, known: Mapping[SSAValue, Any]) -> dict[SSAValue, Any]:
    """Evaluates all values of a body that depend only on `known` values."""
    values = dict(known)
    for op in block.ops:
        is_known = all(operand in values for operand in op.operands) and not isinstance(op, RowReduceOp)
        if not is_known or op.regions or not op.results or not computes_only(op) or op.results[0] in values:
            continue
        results = evaluate_if_defined(op, [values[operand] for operand in op.operands])
        if results is not None:
            values.update(zip(op.results, results, strict=True))
    return values


def look_up(op: GenericOp, rewriter: PatternRewriter) -> RowTable | None:
    """Replaces a value computed from a byte and the row maximum with a table lookup; `None` if there is none."""
    block = op.body.block
    if points_of(op) < FEWEST_POINTS:
        return None
    for largest in [each for each in block.ops if isinstance(each, RowMaxOp) and each.value.type == f32]:
        for byte, value in _bytes_of(op):
            chain = chain_between(block, byte, largest.value)
            for bytes_ in _bytes(value, op) if chain is not None else ():
                widened = None if chain is None else chain.results(bytes_.meanings)
                table = None if widened is None or not _ascends(widened) else _table(op, largest, byte, bytes_, widened)
                if table is not None:
                    _write_before_the_table(value, bytes_, rewriter)
                    return _rewritten(op, largest, byte, *table, rewriter)
    return None


def _bytes_of(op: GenericOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yields the bytes that a body reads, with their tensors, and bytes selected by a mask."""
    for reading in readings_of(op):
        if reading.argument is not None and reading.argument.type == i8:
            yield reading.argument, reading.value
    for each in op.body.block.ops:
        if isinstance(each, arith.SelectOp) and each.result.type == i8:
            yield each.result, each.result


def _table(
    op: GenericOp, largest: RowMaxOp, byte: SSAValue, bytes_: _Bytes, widened: Array
) -> tuple[SSAValue, Floats] | None:
    """Returns the last float that depends only on a byte and the row maximum, with its table, if that saves enough."""
    block, position = op.body.block, np.arange(len(BYTES))
    rows, columns = np.meshgrid(position, position, indexing="ij")
    values = _computed(block, {byte: bytes_.meanings[np.minimum(rows, columns)], largest.result: widened[rows]})
    for value in reversed(values):
        if value.type != f32 or isinstance(value, BlockArgument) or np.shape(values[value]) != rows.shape:
            continue
        gone = unused_without(value, block.ops)
        # A table only pays if it also makes the float maximum of the row superfluous.
        if largest in gone and sum(map(cost_of, gone)) >= _LEAST_SAVED:
            return value, np.ascontiguousarray(values[value], "<f4")
    return None


def _write_before_the_table(value: SSAValue, bytes_: _Bytes, rewriter: PatternRewriter) -> None:
    """Makes the writer of a tensor store the index bytes instead of the result of its table lookup."""
    writer = defining(value)
    if bytes_.yielded is None or not isinstance(writer, Structured):
        return
    end = terminator_of(writer.body.block)
    table = defining(end.operands[0])
    assert isinstance(table, tensor.ExtractOp)
    constant = defining(table.tensor)
    end.operands[0] = bytes_.yielded
    erase_unused_in(writer.body.block, rewriter)
    if constant is not None and not has_uses(constant):
        rewriter.erase(constant)
    rewriter.notify_op_modified(writer)


def _rewritten(
    op: GenericOp, largest: RowMaxOp, byte: SSAValue, value: SSAValue, numbers: Floats, rewriter: PatternRewriter
) -> RowTable:
    """Creates the table, and its lookup in the body."""
    parts = numbers.view(np.int8).reshape(*numbers.shape, JoinOp.COUNT).transpose(0, 2, 1)
    table = Lowering(op, rewriter, integer_types()).constant(parts, i8)
    step = value.owner
    assert isinstance(step, Operation)
    builder = ArithBuilder(Builder(InsertPoint.before(step)))
    near = Scalar(byte, builder).over_row(RowMaxOp, largest.row)
    position, row = place_of(Scalar(byte, builder)), place_of(near)
    numbered = [constant(builder, part, IndexType()) for part in range(JoinOp.COUNT)]
    read = [extracted(builder, table, [row, each, position]).value for each in numbered]
    joined = builder.insert(JoinOp(read, f32))
    value.replace_all_uses_with(joined)
    erase_unused_in(op.body.block, rewriter)
    return RowTable(joined, byte, near.value, numbers)


# --- Sums -------------------------------------------------------------------------------------------------------------


def lowest_bit(numbers: npt.NDArray[np.floating[Any]]) -> int:
    """Returns the exponent of the largest power of two that divides all numbers, which are finite and not all 0."""
    fractions, exponents = np.frexp(numbers[numbers != 0].astype(np.float64))
    whole = np.ldexp(np.abs(fractions), MANTISSA).astype(np.int64)
    return int((exponents - MANTISSA + np.log2(whole & -whole).astype(np.int64)).min())


def is_exact_in_any_order(numbers: Array, terms: int) -> bool:
    """Returns true if f64 represents every sum of up to `terms` numbers exactly: all are multiples of one unit."""
    if not np.isfinite(numbers).all():
        return False
    if not numbers.any():
        return True
    largest = math.frexp(float(np.abs(numbers).max()) * terms)[1]
    return bool(largest - lowest_bit(numbers) <= MANTISSA)


def sums_of(table: RowTable) -> Sequence[RowSumOp]:
    """Returns the f64 sums of table values over the row."""
    values = [table.value, *filter(None, map(_or_zero, (use.operation for use in table.value.uses)))]
    widened = [use.operation for value in values for use in value.uses if isinstance(use.operation, arith.ExtFOp)]
    users = [use.operation for each in widened for use in each.result.uses]
    return [each for each in users if isinstance(each, RowSumOp)]


def _or_zero(op: Operation) -> SSAValue | None:
    """Returns the result of a select between a value and 0: its sums are exact if those of the value are."""
    return op.result if isinstance(op, arith.SelectOp) and known_float(op.rhs) == 0 else None


def mark_sums(op: GenericOp, table: RowTable) -> None:
    """Marks sums of table values as `reassoc` if they are exact in any order."""
    ranges = ranges_of(op)
    for total in sums_of(table):
        if is_exact_in_any_order(np.unique(table.numbers), math.prod(ranges[dim] for dim in total.row)):
            total.reassoc = UnitAttr()


# Long rows of bytes: the output byte is computed for all 256 input bytes and looked up; sums are computed byte by byte.
#
# The floats of a row come from a table (`RowTable`), and their sum is exact in any order, since its terms are multiples
# of one unit. So each byte of these multiples is looked up and summed separately, four bytes at a time per lane. The
# sums of bytes are then combined and multiplied by the unit. After that, an output byte depends only on its input byte
# and its row. It is computed for all 256 input bytes, from the row's part of the table, and looked up for each element.
# The floats themselves are eliminated. Computing the lookup table takes the same time for a row of any length.

FEWEST_IN_ROW = 256
"""The fewest elements in a row for which a 256-byte table and byte sums pay.

On Zen 4, in ns per softmax row of 128, 256 and 512 elements: 47, 90 and 176 elementwise, 63, 79 and 109 with tables.
"""

MOST_PLANES = 6
"""The most bytes per number that are summed separately: with more, floats are as fast."""

MOST_IN_ROW = 1 << 23
"""The most bytes whose sum fits in a signed 32-bit integer."""

_BASE = 1 << 8


@dataclass(frozen=True)
class Planes:
    """The numbers of a table as integer multiples of a unit, split into bytes."""

    bytes: npt.NDArray[np.uint8]
    """Bytes `[row maximum, byte position, input byte]`, highest position first."""
    unit: float

    @staticmethod
    def of(numbers: npt.NDArray[np.float32]) -> "Planes | None":
        """Splits all numbers into bytes; returns `None` if one is negative or needs too many bytes."""
        if not np.isfinite(numbers).all() or np.signbit(numbers).any():
            return None
        lowest = lowest_bit(numbers) if numbers.any() else 0
        positions = max(1, -(-(int(np.frexp(numbers.max())[1]) - lowest) // 8))
        if positions > MOST_PLANES:
            return None
        multiples = np.ldexp(numbers.astype(np.float64), -lowest).astype("<u8")
        parts = np.ascontiguousarray(multiples).view(np.uint8).reshape(*numbers.shape, multiples.itemsize)
        highest_first = np.ascontiguousarray(parts[..., :positions][..., ::-1].transpose(0, 2, 1))
        return Planes(highest_first, float(np.ldexp(1.0, lowest)))


@dataclass(frozen=True)
class LongRow:
    """A row whose sum is computed byte by byte, and whose output bytes are looked up."""

    table: RowTable
    total: RowSumOp
    planes: Planes

    @staticmethod
    def of(split: RowSplit, table: RowTable) -> "LongRow | None":
        """Returns the row of `split` if it is long and satisfies the conditions above; else `None`."""
        sums = sums_of(table)
        is_long = FEWEST_IN_ROW <= split.length <= MOST_IN_ROW and _is_dense(split)
        if (
            not is_long
            or table.byte not in split.stored
            or len(sums) != 1
            or sums[0].reassoc is None
            or not _is_of_values(split, table)
        ):
            return None
        planes = Planes.of(table.numbers)
        return None if planes is None else LongRow(table, sums[0], planes)

    def sum_bytes(self, split: RowSplit) -> None:
        """Creates the separate sums of bytes, and the row sum computed from them and the unit."""
        count, positions = len(split.rest), self.planes.bytes.shape[1]
        space, rowwise = split.reducing(between=1), tuple(map(AffineExpr.dimension, range(len(split.rest))))
        index = AffineExpr.dimension(count)
        readings = [
            split.stored[each].through(space.results, space.num_dims) for each in (self.table.byte, self.table.largest)
        ]
        output = split.filled([*split.sizes, positions], i32, 0)
        table = split.at.constant(self.planes.bytes, i8)

        def add_byte(byte: Scalar, largest: Scalar, so_far: Scalar) -> Scalar:
            column, row = place_of(byte), place_of(largest)
            indices = [row, position(byte.builder, count), column]
            return so_far + extracted(byte.builder, table, indices, unsigned=True).to(i32)

        def add_part(part: Scalar, so_far: Scalar) -> Scalar:
            base, unit = (so_far.constant(each) for each in (_BASE, self.planes.unit))
            return so_far * base + part.to(f64) * unit

        parts = split.generic(readings, output, AffineMap(space.num_dims, 0, (*rowwise, index)), add_byte)
        bytewise = [OperandAccess(parts, AffineMap.identity(count + 1))]
        whole = split.generic(bytewise, split.filled(split.sizes, f64, 0), AffineMap(count + 1, 0, rowwise), add_part)
        split.keep(self.total.result, whole)

    def look_up(self, split: RowSplit) -> SSAValue:
        """Creates operations that compute the results of a row for all 256 bytes, and look up each element."""
        split.stored[self.table.value] = split.stored[self.table.byte]  # steps start at the table value
        steps = split.steps(split.yielded)
        used = {operand for step in steps for operand in step.operands} - {self.table.value}
        leaves = [self.table.largest, *(each for each in split.stored if each in used and each != self.table.largest)]
        space = split.rows(more=1)
        readings = [split.stored[each].through(space.results, space.num_dims) for each in leaves]
        table = split.at.constant(self.table.numbers, f32)

        def body(largest: Scalar, *others: Scalar) -> Scalar:
            builder, given = largest.builder, (each.value for each in (largest, *others))
            values: dict[SSAValue, SSAValue] = dict(zip(leaves, given, strict=False))
            index = [place_of(largest), position(builder, space.num_dims - 1)]
            values[self.table.value] = extracted(builder, table, index).value
            write_again(builder, steps, values, space)
            return largest.made(values[split.yielded])

        def look_up(byte: Scalar, _: Scalar) -> Scalar:
            rows = [position(byte.builder, dim) for dim in split.rest]
            return extracted(byte.builder, every, [*rows, place_of(byte)])

        output = split.at.empty([*split.sizes, BYTE_VALUES], i8)
        every = split.generic(readings, output, AffineMap.identity(space.num_dims), body)
        (map_,) = output_maps(split.op)
        return split.generic([split.stored[self.table.byte]], split.op.outputs[0], map_, look_up)


def _is_dense(split: RowSplit) -> bool:
    """Returns true if the row is the innermost axis in memory."""
    (map_,) = output_maps(split.op)
    real = [each for each in map_.results if isinstance(each, AffineDimExpr) and split.ranges[each.position] != 1]
    return bool(real) and real[-1].position in split.row


def _is_of_values(split: RowSplit, table: RowTable) -> bool:
    """Returns true if the result is a byte that depends only on the table's float and values constant along the row."""
    split.stored[table.value] = split.stored[table.byte]
    steps = [each for each in split.steps(split.yielded) if split.by_row.isdisjoint(each.results)]
    del split.stored[table.value]
    alone: set[SSAValue] = {table.value, *split.by_row, *(value for each in steps for value in each.results)}
    return split.yielded.type == i8 and all(_is_computed(each, alone) for each in steps)


def _is_computed(op: Operation, alone: set[SSAValue]) -> bool:
    is_plain = not op.regions and not isinstance(op, (*INTEGER_DIVISIONS, IndexOp, tensor.ExtractOp))
    return is_plain and all(operand in alone for operand in op.operands)


@dataclass(frozen=True)
class SplitRows(RewritePattern):
    """Splits an operation whose body reduces its row into several operations, in order."""

    has_tables: bool

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter, /) -> None:
        if not reduces_rows(op):
            return
        widen_truths(op, rewriter)
        mask_bytes(op, rewriter)
        table = look_up(op, rewriter) if self.has_tables else None
        if table is not None:
            mark_sums(op, table)
            count("bodies looked up by row")
        split = RowSplit(op, rewriter)
        long = None if table is None else LongRow.of(split, table)
        if long is not None:
            count("long rows whose bytes are computed once")
        _write(split, long)


def _write(split: RowSplit, long: LongRow | None) -> None:
    kept = split.kept()
    for op in split.block.ops:
        if long is not None and op is long.total:
            long.sum_bytes(split)
        elif isinstance(op, RowReduceOp):
            split.reduce(op)
        elif op in kept and (long is None or split.by_row.issuperset(op.results)):
            split.compute(op)
    made = split.finish() if long is None else long.look_up(split)
    split.rewriter.replace(split.op, [], [made])
    rows = next((rows for each in split.made if (rows := reduced_rows(each))), None)
    if rows is not None:
        grouped(split.made, rows)


@dataclass(frozen=True)
class KernelSplitRows(ModulePass):
    """Splits bodies that reduce their row into one operation for each pass over the row.

    Each reduction of a row becomes a separate operation. Values that are constant along a row are computed once per
    row. Values of elements that several passes need are recomputed in each, or stored in memory if that is cheaper. If
    the axes over rows come first, one `kernel.row_fusion` contains all of these operations, because rows are
    independent. It also contains other reductions of the innermost axes, and operations that read their results row by
    row.

    If `isa` looks up a full register of bytes at a time, the exponential of a softmax of bytes with 32,768 or more
    elements is looked up in a table. The table has a part for each maximum of a row, since the exponential depends on
    two bytes: the element and the maximum. If the bytes are themselves results of another table lookup, and the values
    are also monotonic in the input of that table, both tables become one. The f64 sums of values of such a table are
    marked `reassoc` if all values are multiples of one unit and the largest sum is below 2^53 units. For rows of 256 or
    more elements, the output is computed for all 256 input bytes and looked up, and sums are computed byte by byte. The
    mask of a masked softmax is applied to bytes.

    Before (run with `isa=avx2`):

    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = tensor.empty() : tensor<8x64xf32>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%0 : tensor<8x64xf32>) {
      ^bb0(%a: f32, %o: f32):
        %2 = arith.extf %a : f32 to f64
        %3 = kernel.row_sum %2 {dims = array<i64: 1>} : f64
        %4 = arith.truncf %3 : f64 to f32
        %5 = arith.divf %a, %4 : f32
        linalg.yield %5 : f32
      } -> tensor<8x64xf32>
      func.return %1 : tensor<8x64xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = tensor.empty() : tensor<8x64xf32>
      %1 = arith.constant 0.000000e+00 : f64
      %2 = tensor.empty() : tensor<8xf64>
      %3 = tensor.empty() : tensor<8xf32>
      %4 = kernel.row_fusion outs(%0 : tensor<8x64xf32>) -> tensor<8x64xf32> attributes {rows = array<i64: 8>} {
      ^bb0(%5: tensor<8x64xf32>):
        %6 = linalg.fill ins(%1 : f64) outs(%2 : tensor<8xf64>) -> tensor<8xf64>
        %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
            iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%6 : tensor<8xf64>) {
        ^bb0(%8: f32, %9: f64):
          %10 = arith.extf %8 : f32 to f64
          %11 = arith.addf %9, %10 : f64
          linalg.yield %11 : f64
        } -> tensor<8xf64>
        %12 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types =
            ["parallel"]} ins(%7 : tensor<8xf64>) outs(%3 : tensor<8xf32>) {
        ^bb0(%13: f64, %14: f32):
          %15 = arith.truncf %13 : f64 to f32
          linalg.yield %15 : f32
        } -> tensor<8xf32>
        %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
            affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %12 :
            tensor<8x64xf32>, tensor<8xf32>) outs(%5 : tensor<8x64xf32>) {
        ^bb0(%17: f32, %18: f32, %19: f32):
          %20 = arith.divf %17, %18 : f32
          linalg.yield %20 : f32
        } -> tensor<8x64xf32>
        kernel.yield %16 : tensor<8x64xf32>
      }
      func.return %4 : tensor<8x64xf32>
    }
    ```
    """

    name = "kernel-split-rows"

    isa: str = "generic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = SplitRows(bool(instruction_set(resolved_isa(self.isa)).table_bytes))
        statistics = apply_patterns_greedily(op, [pattern], ctx, folding=False)
        group_rows(op)
        forget_origins_in_bodies(op)
        count("bodies that reduce their row", statistics.counts[SplitRows.__name__])
