"""Fusion by rows: which operations become one loop over rows, and bodies that reduce their row, taken apart."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, ModuleOp, TensorType, f32, i1, i8
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.utils.type import get_element_type_or_self

from qmlir.analysis.operand_accesses import Reading, computes_only, defining, output_maps, ranges_of, readings_of
from qmlir.dialects.kernel.lowering.scalars import number_attribute
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.row_fusion import RowFusionOp, RowStep, fault_among, takes_no_time
from qmlir.dialects.kernel.rows import RowMaxOp, RowReduceOp, RowSumOp, row_reductions
from qmlir.ir.builtin_types import sizes_of
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.passes.integer.kernel_tabulate import BYTES, TabulatedChain, chain_between, cost_of

# Which structured operations on tensors become one by rows: a reduction of rows, and what reads its rows behind it.

SHORTEST = 16
"""Elements of the shortest row that is worth a loop."""

Steps = list[Operation]


def reduced_rows(op: Operation) -> tuple[int, ...]:
    """The rows that `op` reduces, neighbours in memory and worth a loop; none where it does something else."""
    if not isinstance(op, LinalgStructuredOperation) or len(op.outputs) != 1:
        return ()
    rows = tuple(size for size in shaped(op.outputs[0])[0] if size != 1)
    step = RowStep.of(op, rows)
    if not rows or step is None or IteratorType.REDUCTION not in [kind.data for kind in op.get_iterator_types()]:
        return ()
    dense = [math.prod(shaped(value)[0]) for value, map_ in step.operands if step.goes_along(value, map_)]
    return rows if max(dense, default=0) >= SHORTEST * math.prod(rows) else ()


def _goes_along_rows(op: Operation, rows: Sequence[int]) -> bool:
    step = RowStep.of(op, rows)
    return step is not None and any(step.goes_along(value, map_) for value, map_ in step.operands)


def grouped(steps: Sequence[Operation], rows: Sequence[int]) -> RowFusionOp | None:
    """One operation by rows of all of `steps`; `None` where they are not by rows, or one alone goes along the rows."""
    is_worth_it = sum(_goes_along_rows(op, rows) for op in steps) > 1 and fault_among(steps, rows) is None
    return RowFusionOp.around(steps, rows) if is_worth_it else None


def _needed(op: Operation, place: Operation, known: Steps) -> list[Operation] | None:
    """`op` behind what it needs right behind `place`: constants, empty tensors, and what fills a tensor for it alone.

    `None` where it needs anything else that is computed behind `place`.
    """
    found = list[Operation]()
    operands = (value.owner for each in op.walk() for value in each.operands)
    for owner in dict.fromkeys(each for each in operands if isinstance(each, Operation)):
        if owner.parent is not place.parent or owner in known:
            continue
        is_fill = isinstance(owner, FillOp) and len(owner.results) == 1 and owner.results[0].has_one_use()
        if not is_fill and (owner is place or owner.is_before_in_block(place)):
            continue
        more = _needed(owner, place, known) if is_fill or takes_no_time(owner) else None
        if more is None:
            return None
        found += more
    return [*found, op]


def _structured(ops: Sequence[Operation]) -> Steps:
    return [op for op in ops if isinstance(op, LinalgStructuredOperation)]


def _with_readers(steps: Steps, rows: Sequence[int]) -> Steps:
    """`steps`, and what reads nothing but their rows of what they write, moved right behind them."""
    place = steps[-1]
    block = place.parent
    assert block is not None
    uses = [use for step in steps for result in step.results for use in result.uses]
    for use in uses:
        user = block.find_ancestor_op_in_block(use.operation)
        if user is None or user in steps or not isinstance(user, LinalgStructuredOperation):
            continue
        needed = _needed(user, place, steps)
        if needed is None or fault_among([*steps, *_structured(needed)], rows) is not None:
            continue
        for op in reversed(needed):
            op.detach()
            block.insert_op_after(op, place)
        return _with_readers([*steps, *_structured(needed)], rows)
    return steps


def group_rows(module: ModuleOp) -> None:
    """Let what reads an operation by rows, row by row, join it; so does what reads any other reduction of rows."""
    for op in list(module.walk()):
        if isinstance(op, RowFusionOp):
            rows = op.sizes
            steps = op.dissolve()
        elif not isinstance(op.parent_op(), RowFusionOp) and (rows := reduced_rows(op)):
            steps = _structured(_needed(op, op, []) or ())
        else:
            continue
        grouped(_with_readers(steps, rows), rows)


# Masked rows of bytes: the mask chooses among bytes, where a body lets it choose among the numbers of these bytes.
#
# A masked softmax takes the least number of its row for what is masked, which is in no maximum then, and gives 0 for
# whatever comes of it. So any number serves that is at most all others: here that of the smallest byte. That is a
# reduction of the row less, and what follows depends on one byte and the largest of its row, as without a mask.
#
# Why no bit changes: bytes are widened in ascending order, so the number of the smallest byte is at most that of
# each byte, and the maximum of a row with an element that takes part is as before. What else depends on the number
# that was exchanged, and on the maximum of a row of which nothing takes part, ends in choices by the same mask: they
# leave it out.


def _masked(op: GenericOp) -> Iterator[tuple[RowMaxOp, arith.SelectOp]]:
    """The largest numbers of a row that leave masked ones out by the least of the row, and the choices."""
    for largest in op.body.block.ops:
        choice = defining(largest.value) if isinstance(largest, RowMaxOp) and largest.value.type == f32 else None
        if isinstance(largest, RowMaxOp) and isinstance(choice, arith.SelectOp) and _is_least(choice.rhs, choice.lhs):
            yield largest, choice


def _is_least(value: SSAValue, of: SSAValue) -> bool:
    """Whether a value is the least number of a row: the largest of its negations, negated."""
    negated = defining(value)
    largest = defining(negated.operand) if isinstance(negated, arith.NegfOp) else None
    inner = defining(largest.value) if isinstance(largest, RowMaxOp) else None
    return isinstance(inner, arith.NegfOp) and inner.operand is of


def _widening(op: GenericOp, value: SSAValue) -> TabulatedChain | None:
    """How the body makes a number of a byte, where it does so in ascending order."""
    for byte in (each for each in op.body.block.args if each.type == i8):
        chain = chain_between(op.body.block, byte, value)
        widened = None if chain is None else chain.results(BYTES)
        if widened is not None and bool((np.diff(widened) >= 0).all()):
            return chain
    return None


def _is_left_out(largest: RowMaxOp, choice: arith.SelectOp) -> bool:
    """Whether all that depends on the choice, but the maximum of the row, ends in choices by the same mask."""
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
    """Let masks of the body choose among bytes, where what they leave out does not matter."""
    for largest, choice in list(_masked(op)):
        chain = _widening(op, choice.lhs)
        if chain is None or not _is_left_out(largest, choice):
            continue
        builder = Builder(InsertPoint.before(choice))
        smallest = builder.insert(arith.ConstantOp(IntegerAttr(int(BYTES[0]), i8))).result
        values: dict[SSAValue, SSAValue] = {
            chain.source: builder.insert(arith.SelectOp(choice.cond, chain.source, smallest)).result
        }
        for step in chain.operations:
            builder.insert(step.clone(values))
        choice.result.replace_all_uses_with(values[chain.target])
        for each in reversed(list(op.body.block.ops)):
            if each.results and computes_only(each) and not any(result.uses for result in each.results):
                rewriter.erase(each)
        rewriter.notify_op_modified(op)


def widen_truths(op: GenericOp, rewriter: PatternRewriter) -> None:
    """Let the body read bytes for Booleans, which no vector is loaded of; a mask is small beside what it masks."""
    read = op.body.block.args[: len(op.inputs)]
    for argument in [each for each in read if each.type == i1][::-1]:
        value = op.operands[argument.index]
        sizes = sizes_of(value)
        empty = rewriter.insert(tensor.EmptyOp((), TensorType(i8, sizes))).tensor
        block = Block(arg_types=[i1, i8])
        inner = Builder(InsertPoint.at_end(block))
        inner.insert(YieldOp(inner.insert(arith.ExtUIOp(block.args[0], i8)).result))
        kinds = [IteratorTypeAttr(IteratorType.PARALLEL)] * len(sizes)
        maps = [AffineMapAttr(AffineMap.identity(len(sizes)))] * 2
        bytes_ = rewriter.insert(GenericOp([value], [empty], Region(block), maps, kinds, [empty.type]))
        set_origins(bytes_, origins_of(op))
        builder = Builder(InsertPoint.at_start(op.body.block))
        zero = builder.insert(arith.ConstantOp(IntegerAttr(0, i8))).result
        byte = op.body.block.insert_arg(i8, argument.index)
        argument.replace_all_uses_with(builder.insert(arith.CmpiOp(byte, zero, "ne")).result)
        op.body.block.erase_arg(argument)
        op.operands[byte.index] = bytes_.res[0]
        rewriter.notify_op_modified(op)


# Bodies that reduce their row, taken apart: a reduction for each number of a row, and elementwise work between them.
#
# Each reduction of a row becomes an operation of its own, and each step goes to the operations that need it. What
# several of them need is computed again in each where that is cheap, and kept in memory where it is not. A number of
# a row that elements need is computed once a row. No step changes, and each sum keeps its order.

_LEAST_COST = 16
"""What steps that several passes over a row need cost at least to be kept in memory: writing and reading an element."""


@dataclass(frozen=True)
class Space:
    """The iterators of a new operation: what stands for each of the old ones, and how many of them there are."""

    dims: Sequence[AffineExpr]
    count: int
    reductions: int = 0
    """How many of the last ones reduce."""

    def kinds(self) -> list[IteratorTypeAttr]:
        """The kinds of the iterators."""
        parallel = self.count - self.reductions
        kinds = [IteratorType.PARALLEL] * parallel + [IteratorType.REDUCTION] * self.reductions
        return [IteratorTypeAttr(kind) for kind in kinds]


class RowSplit:
    """One operation whose body reduces its row, on its way to several."""

    def __init__(self, op: GenericOp, rewriter: PatternRewriter):
        self.op = op
        self.rewriter = rewriter
        self.block = op.body.block
        self.row = row_reductions(op)[0].row
        self.ranges = ranges_of(op)
        self.rest = [dim for dim in range(len(self.ranges)) if dim not in self.row]
        """The iterators that go from row to row."""
        self.length = math.prod(self.ranges[dim] for dim in self.row)
        self.stored: dict[SSAValue, Reading] = {
            each.argument: each for each in readings_of(op) if each.argument is not None
        }
        """The values of the body that are in memory, read by the iterators of `op`."""
        self.by_row = self._values_by_row()
        """The values of the body that are the same for all elements of a row."""
        self.made: list[LinalgStructuredOperation] = []
        """The operations that were written, in their order."""

    @property
    def yielded(self) -> SSAValue:
        """The element of the result."""
        end = self.block.last_op
        assert end is not None
        return end.operands[0]

    @property
    def sizes(self) -> list[int]:
        """How many rows there are along each iterator that goes from row to row."""
        return [self.ranges[dim] for dim in self.rest]

    def _values_by_row(self) -> set[SSAValue]:
        row = set(self.row)
        found = {value for value, reading in self.stored.items() if not reading.map_.used_dims() & row}
        for op in self.block.ops:
            inside = [each for each in op.operands if each.owner is self.block or self._is_inside(each)]
            is_same = isinstance(op, RowReduceOp) or all(each in found for each in inside)
            if is_same and not (isinstance(op, IndexOp) and op.dim.value.data in row):
                found.update(op.results)
        return found

    def _is_inside(self, value: SSAValue) -> bool:
        return isinstance(value.owner, Operation) and value.owner.parent is self.block

    # --- What is kept -------------------------------------------------------------------------------------------------

    def steps(self, value: SSAValue) -> list[Operation]:
        """What computes a value of the body from those that are stored, in its order."""
        wanted, found = {value}, list[Operation]()
        for op in reversed(list(self.block.ops)):
            results = wanted.intersection(op.results)
            if results and not any(each in self.stored for each in results):
                found.append(op)
                wanted.update(op.operands)
        return found[::-1]

    def kept(self) -> set[Operation]:
        """The steps whose results are to be in memory: for elements, or, where they are the same in a row, for rows.

        Going up from the last step, each one knows which of the new operations need it. Where their paths meet, at a
        step that no single user of it is needed by all of them, they may have it from memory.
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
            return False  # the number of an iterator; a Boolean, which no vector is loaded of
        if result in self.by_row:
            return any(
                isinstance(user, YieldOp) or not (isinstance(user, RowReduceOp) or user.results[0] in self.by_row)
                for user in users
            )
        costs = sum(cost_of(each) for each in self.steps(result) if each.results[0] not in self.by_row)
        if is_split and any(_is_ordered(each) for each in needed):
            return True  # such sums have rows side by side, and nothing but sums in their loops
        is_summed = not isinstance(op, arith.ExtFOp) and any(map(_widens_for_ordered_sum, users))
        return costs >= _LEAST_COST and (is_split or is_summed)

    # --- Writing ------------------------------------------------------------------------------------------------------

    def elements(self) -> Space:
        """The iterators as they are."""
        count = len(self.ranges)
        return Space([AffineExpr.dimension(dim) for dim in range(count)], count)

    def rows(self, more: int = 0) -> Space:
        """The iterators from row to row, and `more` behind them; at least one."""
        count = max(len(self.rest) + more, 1)
        return Space(self._dims({dim: place for place, dim in enumerate(self.rest)}), count)

    def reducing(self, between: int = 0) -> Space:
        """The iterators from row to row, `between` others, and those of a row, which reduce."""
        places = {dim: place for place, dim in enumerate(self.rest)}
        places |= {dim: len(self.rest) + between + place for place, dim in enumerate(self.row)}
        return Space(self._dims(places), len(self.ranges) + between, len(self.row))

    def _dims(self, places: dict[int, int]) -> list[AffineExpr]:
        return [
            AffineExpr.dimension(places[dim]) if dim in places else AffineExpr.constant(0)
            for dim in range(len(self.ranges))
        ]

    def empty(self, sizes: Sequence[int], element: Attribute) -> SSAValue:
        """A tensor that nobody has written."""
        return self.rewriter.insert(tensor.EmptyOp((), TensorType(element, sizes))).tensor

    def filled(self, sizes: Sequence[int], element: Attribute, number: float) -> SSAValue:
        """A tensor full of one number."""
        scalar = self.rewriter.insert(arith.ConstantOp(number_attribute(number, element))).result
        empty = self.empty(sizes, element)
        fill = self.rewriter.insert(FillOp([scalar], [empty], [empty.type]))
        set_origins(fill, origins_of(self.op))
        self.made.append(fill)
        return fill.results[0]

    def generic(
        self, readings: Sequence[Reading], output: SSAValue, map_: AffineMap, space: Space, block: Block
    ) -> GenericOp:
        """A structured operation in front of `op`; its readings are those of the new iterators."""
        maps = [AffineMapAttr(each) for each in (*(reading.map_ for reading in readings), map_)]
        values = [reading.value for reading in readings]
        made = GenericOp(values, [output], Region(block), maps, space.kinds(), [output.type])
        made.attributes.update(self.op.attributes)
        self.made.append(made)
        return self.rewriter.insert(made)

    def write(
        self, value: SSAValue, output: SSAValue, map_: AffineMap, space: Space, reduction: RowReduceOp | None = None
    ) -> GenericOp:
        """An operation that computes `value` for each point, or reduces it."""
        steps = self.steps(value)
        used = {value, *(operand for step in steps for operand in step.operands)}
        leaves = [each for each in self.stored if each in used]
        readings = [self.stored[each].through(space.dims, space.count) for each in leaves]
        named = {
            each.position for reading in (*readings, Reading(output, map_)) for each in reading.map_.results
            if isinstance(each, AffineDimExpr)
        }  # fmt: skip
        missing = [dim for dim in range(space.count) if dim not in named]
        if missing:  # a number of the row that is the same for all elements: only the iterators matter
            sizes = {
                each.position: size
                for each, size in zip(space.dims, self.ranges, strict=True)
                if isinstance(each, AffineDimExpr)
            }
            shape = self.empty([sizes[dim] for dim in missing], get_element_type_or_self(output.type))
            readings.append(Reading(shape, AffineMap(space.count, 0, tuple(map(AffineExpr.dimension, missing)))))
        read = [each.value for each in readings]
        block = Block(arg_types=[get_element_type_or_self(each.type) for each in (*read, output)])
        builder = Builder(InsertPoint.at_end(block))
        values: dict[SSAValue, SSAValue] = dict(zip(leaves, block.args, strict=False))
        write_again(builder, steps, values, space)
        found = values.get(value, value)
        if reduction is not None:
            found = builder.insert(reduction.combined(block.args[-1], found)).results[0]
        builder.insert(YieldOp(found))
        return self.generic(readings, output, map_, space, block)

    def reduce(self, op: RowReduceOp) -> None:
        """Write a reduction of the row."""
        space, output = self.reducing(), self.filled(self.sizes, op.value.type, op.start())
        map_ = AffineMap(space.count, 0, tuple(AffineExpr.dimension(place) for place in range(len(self.rest))))
        self.keep(op.result, self.write(op.value, output, map_, space, op).res[0])

    def keep(self, value: SSAValue, memory: SSAValue) -> None:
        """Read a number of the row from a tensor that has one for each row."""
        results = tuple(AffineExpr.dimension(dim) for dim in self.rest) or (AffineExpr.constant(0),)
        results = results[: len(sizes_of(memory))]
        self.stored[value] = Reading(memory, AffineMap(len(self.ranges), 0, results))

    def compute(self, op: Operation) -> None:
        """Write what a step gives, for each row or for each element."""
        (value,) = op.results
        if value in self.by_row:
            space, output = self.rows(), self.empty(self.sizes or [1], value.type)
            self.keep(value, self.write(value, output, AffineMap.identity(space.count), space).res[0])
            return
        (map_,) = output_maps(self.op)
        output = self.empty(sizes_of(self.op.res[0]), value.type)
        self.stored[value] = Reading(self.write(value, output, map_, self.elements()).res[0], map_)

    def finish(self) -> GenericOp:
        """Write the elements of the result."""
        (map_,) = output_maps(self.op)
        return self.write(self.yielded, self.op.outputs[0], map_, self.elements())


def write_again(builder: Builder, steps: Iterable[Operation], values: dict[SSAValue, SSAValue], space: Space) -> None:
    """Write steps of a body whose operands `values` knows, or are outside of it; afterwards it knows their results."""
    for step in steps:
        if isinstance(step, IndexOp):
            place = space.dims[step.dim.value.data]
            is_there = isinstance(place, AffineDimExpr)
            made = IndexOp(place.position) if is_there else arith.ConstantOp(IntegerAttr(0, IndexType()))
            values[step.result] = builder.insert(made).results[0]
        else:
            builder.insert(step.clone(values))


def _is_ordered(op: Operation) -> bool:
    return isinstance(op, RowSumOp) and op.is_ordered


def _widens_for_ordered_sum(op: Operation) -> bool:
    users = [use.operation for result in op.results for use in result.uses]
    return _is_ordered(op) or (isinstance(op, arith.ExtFOp) and bool(users) and all(map(_is_ordered, users)))
