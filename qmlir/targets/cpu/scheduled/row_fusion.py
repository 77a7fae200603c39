"""Row fusion: groups operations into one loop over rows, and splits bodies that reduce their row."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, f32, i1, i8
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from qmlir.analysis.operand_accesses import (
    Reading,
    computes_only,
    defining,
    erase_unused_in,
    is_inside,
    output_maps,
    ranges_of,
    readings_of,
)
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, integer_types
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Body, Scalar, number_attribute
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.row_fusion import RowFusionOp, RowStep, fault_among, takes_no_time
from qmlir.dialects.kernel.rows import RowMaxOp, RowReduceOp, RowSumOp, row_reductions
from qmlir.ir.builtin_types import element_of, sizes_of
from qmlir.passes.integer.kernel_tabulate import BYTES, TabulatedChain, chain_between, cost_of

# Grouping: a structured op that reduces rows is fused with the ops that read its result row by row.

SHORTEST = 16
"""The fewest elements in a row for which fusion pays."""

Steps = list[Operation]


def reduced_rows(op: Operation) -> tuple[int, ...]:
    """Returns the sizes of the row dimensions if `op` reduces contiguous rows that are long enough; else empty."""
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
    """Fuses `steps` into one row fusion; returns `None` if that isn't possible or fewer than two go along the rows."""
    is_worth_it = sum(_goes_along_rows(op, rows) for op in steps) > 1 and fault_among(steps, rows) is None
    return RowFusionOp.around(steps, rows) if is_worth_it else None


def _needed(op: Operation, place: Operation, known: Steps) -> list[Operation] | None:
    """Returns the operations to move directly after `place` so that `op` can follow it; `op` is the last one.

    These are constants, empty tensors, and fills used only once. Returns `None` if `op` depends on any other operation
    after `place`.
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
    """Adds the operations that read results of `steps` row by row, and moves them directly after the last step."""
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
    """Fuses each row reduction or row fusion with the operations that read its results row by row."""
    for op in list(module.walk()):
        if isinstance(op, RowFusionOp):
            rows = op.sizes
            steps = op.dissolve()
        elif not isinstance(op.parent_op(), RowFusionOp) and (rows := reduced_rows(op)):
            steps = _structured(_needed(op, op, []) or ())
        else:
            continue
        grouped(_with_readers(steps, rows), rows)


# Masked rows of bytes: apply the mask to bytes instead of to the floats that the body computes from them.
#
# A masked softmax replaces masked elements by the minimum of their row, which never wins the maximum, and then selects
# 0 for the results computed from them. So any value that is at most the minimum serves: here, the value of the smallest
# byte. This saves one reduction over the row. The rest of the body then depends on one byte and the maximum of its row,
# as it does without a mask.
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
    """Replaces i1 inputs of a body by bytes, since vector loads don't support i1; masks are small, so this is cheap."""
    read = op.body.block.args[: len(op.inputs)]
    for argument in [each for each in read if each.type == i1][::-1]:
        value, at = op.operands[argument.index], Lowering(op, rewriter, integer_types())
        sizes = sizes_of(value)
        truths = Input(value, AffineMap.identity(len(sizes)), unsigned=True)
        bytes_ = at.compute([truths], sizes, i8, lambda truth: truth.to(i8))
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

_LEAST_COST = 16
"""The lowest cost of recomputing steps at which their result is stored: that of writing and reading an element."""


@dataclass(frozen=True)
class Space:
    """The iterators of a new operation: the expression for each old iterator, and the number of new ones."""

    dims: Sequence[AffineExpr]
    count: int


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
        self.stored: dict[SSAValue, Reading] = {
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
        end = self.block.last_op
        assert end is not None
        return end.operands[0]

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
        wanted, found = {value}, list[Operation]()
        for op in reversed(list(self.block.ops)):
            results = wanted.intersection(op.results)
            if results and not any(each in self.stored for each in results):
                found.append(op)
                wanted.update(op.operands)
        return found[::-1]

    def kept(self) -> set[Operation]:
        """Returns the steps whose results are stored in memory, one per element, or one per row if constant along it.

        Going up from the last step, the method tracks which of the new operations need each step. If the users of a
        step are needed by different operations, and no single user by all of them, its result is a candidate.
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
        costs = sum(cost_of(each) for each in self.steps(result) if each.results[0] not in self.by_row)
        if is_split and any(_is_ordered(each) for each in needed):
            return True  # ordered sums process rows side by side, and their loops contain only the sums
        is_summed = not isinstance(op, arith.ExtFOp) and any(map(_widens_for_ordered_sum, users))
        return costs >= _LEAST_COST and (is_split or is_summed)

    # --- Emission -----------------------------------------------------------------------------------------------------

    def elements(self) -> Space:
        """Returns the iterators of `op`, unchanged."""
        count = len(self.ranges)
        return Space([AffineExpr.dimension(dim) for dim in range(count)], count)

    def rows(self, more: int = 0) -> Space:
        """Returns the iterators over rows, followed by `more` others; at least one in total."""
        count = max(len(self.rest) + more, 1)
        return Space(self._dims({dim: place for place, dim in enumerate(self.rest)}), count)

    def reducing(self, between: int = 0) -> Space:
        """Returns the iterators over rows, `between` others, and the reduction iterators along a row."""
        places = {dim: place for place, dim in enumerate(self.rest)}
        places |= {dim: len(self.rest) + between + place for place, dim in enumerate(self.row)}
        return Space(self._dims(places), len(self.ranges) + between)

    def _dims(self, places: dict[int, int]) -> list[AffineExpr]:
        return [
            AffineExpr.dimension(places[dim]) if dim in places else AffineExpr.constant(0)
            for dim in range(len(self.ranges))
        ]

    def filled(self, sizes: Sequence[int], element: Attribute, number: float) -> SSAValue:
        """Creates a tensor filled with `number`."""
        scalar = self.rewriter.insert(arith.ConstantOp(number_attribute(number, element))).result
        empty = self.at.empty(sizes, element)
        fill = self.rewriter.insert(FillOp([scalar], [empty], [empty.type]))
        self.made.append(fill)
        return fill.results[0]

    def generic(self, readings: Sequence[Reading], output: SSAValue, map_: AffineMap, body: Body) -> SSAValue:
        """Creates a `linalg.generic` before `op`, which writes `output` at `map_`; other iterators are reductions."""
        inputs = [Input(each.value, each.map_) for each in readings]
        (result,) = self.at.generic(inputs, [(output, map_)], body)
        assert isinstance(result.owner, GenericOp)
        result.owner.attributes.update(self.op.attributes)
        self.made.append(result.owner)
        return result

    def write(
        self, value: SSAValue, output: SSAValue, map_: AffineMap, space: Space, reduction: RowReduceOp | None = None
    ) -> SSAValue:
        """Creates an operation that computes `value` for each point of `space`, or reduces it."""
        steps = self.steps(value)
        used = {value, *(operand for step in steps for operand in step.operands)}
        leaves = [each for each in self.stored if each in used]
        readings = [self.stored[each].through(space.dims, space.count) for each in leaves]
        named = {
            each.position for reading in (*readings, Reading(output, map_)) for each in reading.map_.results
            if isinstance(each, AffineDimExpr)
        }  # fmt: skip
        missing = [dim for dim in range(space.count) if dim not in named]
        if missing:  # no operand uses these iterators; add a tensor that defines their ranges
            sizes = {
                each.position: size
                for each, size in zip(space.dims, self.ranges, strict=True)
                if isinstance(each, AffineDimExpr)
            }
            shape = self.at.empty([sizes[dim] for dim in missing], element_of(output))
            readings.append(Reading(shape, AffineMap(space.count, 0, tuple(map(AffineExpr.dimension, missing)))))

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
        map_ = AffineMap(space.count, 0, tuple(AffineExpr.dimension(place) for place in range(len(self.rest))))
        self.keep(op.result, self.write(op.value, output, map_, space, op))

    def keep(self, value: SSAValue, memory: SSAValue) -> None:
        """Records that `value` is stored in `memory`, one element per row."""
        results = tuple(AffineExpr.dimension(dim) for dim in self.rest) or (AffineExpr.constant(0),)
        results = results[: len(sizes_of(memory))]
        self.stored[value] = Reading(memory, AffineMap(len(self.ranges), 0, results))

    def compute(self, op: Operation) -> None:
        """Creates the operation that computes and stores the result of a step, for each row or each element."""
        (value,) = op.results
        if value in self.by_row:
            space, output = self.rows(), self.at.empty(self.sizes or [1], value.type)
            self.keep(value, self.write(value, output, AffineMap.identity(space.count), space))
            return
        (map_,) = output_maps(self.op)
        output = self.at.empty(sizes_of(self.op.res[0]), value.type)
        self.stored[value] = Reading(self.write(value, output, map_, self.elements()), map_)

    def finish(self) -> SSAValue:
        """Creates the operation that computes the result of `op`; returns that."""
        (map_,) = output_maps(self.op)
        return self.write(self.yielded, self.op.outputs[0], map_, self.elements())


def write_again(
    builder: ArithBuilder, steps: Iterable[Operation], values: dict[SSAValue, SSAValue], space: Space
) -> None:
    """Clones `steps` with operands mapped by `values`, and adds their results to it."""
    for step in steps:
        if isinstance(step, IndexOp):
            place = space.dims[step.dim.value.data]
            is_there = isinstance(place, AffineDimExpr)
            made = IndexOp(place.position) if is_there else arith.ConstantOp(IntegerAttr(0, IndexType()))
            values[step.result] = builder.insert(made)
        else:
            builder.insert(step.clone(values))


def _is_ordered(op: Operation) -> bool:
    return isinstance(op, RowSumOp) and op.is_ordered


def _widens_for_ordered_sum(op: Operation) -> bool:
    users = [use.operation for result in op.results for use in result.uses]
    return _is_ordered(op) or (isinstance(op, arith.ExtFOp) and bool(users) and all(map(_is_ordered, users)))
