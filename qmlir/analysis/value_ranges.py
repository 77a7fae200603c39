"""Value ranges at the integer level: a forward data-flow analysis of a function, with a fixed point for loops.

A tensor has one interval for all its elements, and arguments have the range of their type. The range of a structured
operation follows from its body, that of a sum from the number of terms, and that of a contraction from its weights
(`contraction_ranges`).
"""

import math
from collections.abc import Sequence

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, IndexOp
from xdsl.dialects.linalg.ops import YieldOp as StructuredYieldOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr

from qmlir.analysis.contraction_ranges import channel_interval, sum_interval
from qmlir.analysis.intervals import (
    ANY_FLOAT,
    EMPTY,
    SIGNED_TRANSFERS,
    Interval,
    bits_of,
    constant_interval,
    range_of_type,
    signed_range,
    times,
    transfer,
    wrapped,
)
from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.contraction import ContractionOp, EpilogueOp
from qmlir.dialects.kernel.ops import RequantizeOp, ReshapeOp, YieldOp
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.control_flow import terminator_of

_MOST_ROUNDS = 4
"""The number of iterations over a loop after which values that still grow are widened to the range of their type."""

_SAME_ELEMENTS = (ReshapeOp, tensor.ExtractSliceOp, tensor.ExtractOp, tensor.CastOp, tensor.CollapseShapeOp,
                  tensor.ExpandShapeOp)  # fmt: skip
"""Operations whose results contain only elements of the first operand."""

_ALL_ELEMENTS = (tensor.InsertSliceOp, tensor.InsertOp)
"""Operations whose results contain only elements of the first two operands."""

_TERMINATORS = (StructuredYieldOp, scf.YieldOp, YieldOp)


class ValueRanges:
    """The interval of every value of a function."""

    def __init__(self, function: FuncOp):
        self.of: dict[SSAValue, Interval] = {}
        self._block(function.body.block, [])

    def __getitem__(self, value: SSAValue) -> Interval:
        found = self.of.get(value)
        return range_of_type(value.type) if found is None else found

    def _block(self, block: Block, arguments: Sequence[Interval]) -> list[Interval]:
        """Walks over a block, given the ranges of its arguments; returns those of the operands of its terminator."""
        others = (range_of_type(value.type) for value in block.args[len(arguments) :])
        self.of.update(zip(block.args, (*arguments, *others), strict=False))
        for op in block.ops:
            found = self._results(op)
            for position, result in enumerate(op.results):
                self.of[result] = found[position] if position < len(found) else range_of_type(result.type)
        last = block.last_op
        return [] if last is None or not isinstance(last, _TERMINATORS) else [self[value] for value in last.operands]

    def _results(self, op: Operation) -> Sequence[Interval]:
        match op:
            case arith.ConstantOp():
                return [constant_interval(op)]
            case tensor.EmptyOp():
                return [EMPTY]
            case EpilogueOp():
                return [self._contraction(op)]
            case RequantizeOp():
                return [self._requantized(op)]
            case FillOp():
                return [self[op.operands[0]]]
            case IndexOp():
                return [self._index(op)]
            case LinalgStructuredOperation():
                return self._structured(op)
            case scf.ForOp():
                return self._carried(op.body.block, [range_of_type(IndexType())], [self[each] for each in op.iter_args])
            case scf.IfOp():
                return self._choice([op.true_region, op.false_region])
            case _ if isinstance(op, _SAME_ELEMENTS):
                return [self[op.operands[0]]]
            case _ if isinstance(op, _ALL_ELEMENTS):
                return [self[op.operands[0]].joined(self[op.operands[1]])]
            case _ if op.regions:
                for region in op.regions:
                    for block in region.blocks:
                        self._block(block, [])
                return []
            case _:
                found = transfer(op, [self[value] for value in op.operands]) if len(op.results) == 1 else None
                return [] if found is None else [found]

    def _requantized(self, op: RequantizeOp) -> Interval:
        bits = bits_of(op.result.type)
        assert bits is not None
        limits = Interval(*op.limits)
        return wrapped(self._shifted(op, limits) if op.mode.mode is Mode.SHIFT else limits, bits)

    def _shifted(self, op: RequantizeOp, limits: Interval) -> Interval:
        """Returns the range of a requantization by shifts, which is monotone and rounds to an adjacent integer."""
        if self[op.accumulator].is_empty or self[op.parameters[0]].is_empty:
            return limits
        (low, high), positions = self[op.accumulator].values, self[op.parameters[0]].values
        zero = op.zero_point.value.data
        lows = [low >> each if each >= 0 else low << -each for each in positions]
        highs = [-(-high >> each) if each >= 0 else high << -each for each in positions]
        least, most = (min(max(each + zero, limits.low), limits.high) for each in (min(lows), max(highs)))
        return Interval(least, most)

    def _choice(self, regions: Sequence[Region]) -> list[Interval]:
        ends = [self._block(region.block, []) for region in regions if region.blocks]
        return [first.joined(second) for first, second in zip(*ends, strict=True)] if len(ends) == 2 else []

    def _carried(self, block: Block, before: list[Interval], initial: list[Interval]) -> list[Interval]:
        """Returns the ranges of the loop-carried values of a block; its first arguments have the ranges `before`."""
        carried = initial
        for _ in range(_MOST_ROUNDS):
            after = [old.joined(new) for old, new in zip(carried, self._block(block, [*before, *carried]), strict=True)]
            if all(new.is_in(old) for old, new in zip(carried, after, strict=True)):
                return after
            carried = after
        widest = [range_of_type(value.type) for value in block.args[len(before) :]]
        self._block(block, [*before, *widest])
        return widest

    # --- Structured operations ----------------------------------------------------------------------------------------

    def _index(self, op: IndexOp) -> Interval:
        """Returns the range of an iterator's index; the operands of the operation determine its trip count."""
        parent = op.parent_op()
        steps = _steps(parent)[op.dim.value.data] if isinstance(parent, LinalgStructuredOperation) else None
        return range_of_type(IndexType()) if steps is None else Interval(0, max(steps - 1, 0))

    def _structured(self, op: LinalgStructuredOperation) -> Sequence[Interval]:
        block, outputs = op.body.block, list(op.outputs)
        inputs = [self[value] for value in op.operands[: len(op.operands) - len(outputs)]]
        initial = [self[value] for value in outputs]
        kinds = [attribute.data for attribute in op.get_iterator_types()]
        if IteratorType.REDUCTION not in kinds:
            return self._block(block, [*inputs, *initial])
        steps = [each for each in _steps(op) if each is not None]
        if len(steps) < len(kinds):
            return self._carried(block, inputs, initial)
        terms = math.prod(each for each, kind in zip(steps, kinds, strict=True) if kind is IteratorType.REDUCTION)
        sums = [self._sum(block, position, inputs, initial, terms) for position in range(len(outputs))]
        found = [each for each in sums if each is not None]
        if len(found) < len(sums):
            return self._carried(block, inputs, initial)
        self._block(block, [*inputs, *found])
        return found

    def _sum(
        self, block: Block, position: int, inputs: list[Interval], initial: list[Interval], terms: int
    ) -> Interval | None:
        """Returns the range of an output during and after a sum of `terms` terms, or `None` if it is not a sum."""
        argument, last = block.args[len(inputs) + position], terminator_of(block)
        addition = last.operands[position].owner
        uses = list(argument.uses)
        if not isinstance(addition, arith.AddiOp) or [use.operation for use in uses] != [addition]:
            return None
        self._block(block, [*inputs, *initial])
        term = self[addition.rhs if addition.lhs is argument else addition.lhs].whole
        bits = bits_of(argument.type)
        if bits is None or term.is_empty or initial[position].is_empty:
            return None
        total = times(term, Interval(terms, terms))
        start = initial[position].whole
        # The range includes the partial sums.
        low, high = min(start.low, start.low + total.low), max(start.high, start.high + total.high)
        return wrapped(Interval(low, high), bits)

    # --- Contractions -------------------------------------------------------------------------------------------------

    def _contraction(self, op: EpilogueOp) -> Interval:
        block = op.body.block
        bits = bits_of(op.accumulator_type)
        total = self.sums(op) if isinstance(op, ContractionOp) else range_of_type(op.accumulator_type)
        sums = ANY_FLOAT if total is None or bits is None else wrapped(total, bits)
        pairs = zip(op.epilogue, op.epilogue_maps, strict=True)
        rest = [channel_interval(op, value, map_.data, self[value]) for value, map_ in pairs]
        (result,) = self._block(block, [sums, *rest])
        return result.whole

    def sums(self, op: ContractionOp) -> Interval | None:
        """Returns the range of the exact sums of a contraction, per channel and before overflow; `None` for floats."""
        return sum_interval(op, self[op.x], self[op.w])


def _steps(op: LinalgStructuredOperation) -> list[int | None]:
    """Returns the trip count of each iterator, or `None` if no axis of an operand determines it."""
    found: list[int | None] = [None] * len(op.get_iterator_types())
    for value, attribute in zip(op.operands, op.get_indexing_maps(), strict=True):
        type_ = ranked_tensor(value.type)
        if type_ is None:
            continue
        for expression, size in zip(attribute.data.results, type_.get_shape(), strict=True):
            if isinstance(expression, AffineDimExpr) and size >= 0:
                found[expression.position] = size
    return found


def may_wrap(ranges: ValueRanges, op: Operation) -> bool:
    """Returns True if `op`, an addition, subtraction or multiplication, may overflow its type."""
    if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return False
    bits, operands = bits_of(op.result.type), [ranges[op.lhs], ranges[op.rhs]]
    if bits is None or bits == 1 or any(each.is_empty for each in operands):
        return False
    exact, own = SIGNED_TRANSFERS[type(op)](*operands), signed_range(bits)
    return exact is None or not exact.within(own.low, own.high)
