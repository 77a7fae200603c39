"""Bodies that reduce their row, taken apart: a reduction for each number of a row, and elementwise work between them.

Each reduction of a row becomes an operation of its own, and each step goes to the operations that need it. What several
of them need is computed again in each where that is cheap, and kept in memory where it is not. A number of a row that
elements need is computed once a row. No step changes, and each sum keeps its order.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, TensorType, i1
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.utils.type import get_element_type_or_self

from qmlir.analysis.readings import Reading, output_maps, ranges_of, readings_of
from qmlir.dialects.kernel.lowering.scalars import number_attribute
from qmlir.dialects.kernel.rows import RowReduceOp, RowSumOp, row_reductions
from qmlir.ir.builtin_types import sizes_of
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.passes.integer.kernel_tabulate import cost_of

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
