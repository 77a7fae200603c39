"""The loops of a nest from the outside in, on scalars.

Operands are read, and pure operations computed, in the outermost loop that knows them. Sums run in a scalar that the
loops hand on, or in the memory of the output where the loops inside are parallel (`nests.plan_of`).
"""

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation, SSAValue

from qmlir.analysis.readings import INTEGER_DIVISIONS, computes_only, is_inside
from qmlir.dialects.kernel.ops import JoinOp, RequantizeOp
from qmlir.targets.cpu.loops.emitter import Emitter, Index, emit_place
from qmlir.targets.cpu.loops.join import expand_join
from qmlir.targets.cpu.loops.nests import Access, Nest, Plan, memref_type
from qmlir.targets.cpu.loops.requantize import expand_requantize


class ValueWriter:
    """Writes the loops of one nest from the outside in."""

    def __init__(self, nest: Nest, plan: Plan, threads: bool):
        self.nest = nest
        self.plan = plan
        self.threads = threads
        self.dims: list[Index] = [0] * len(nest.ranges)
        self.open: set[int] = {dim for dim in range(len(nest.ranges)) if not nest.is_running(dim)}
        self.values: dict[SSAValue, SSAValue] = {}
        self.loads = [access for access in nest.inputs if access.argument.uses]
        *body, terminator = nest.body.ops
        self.pending = body
        self.terminator = terminator

    def write(self, emit: Emitter) -> None:
        """Write all loops where `emit` stands."""
        self._level(emit, 0)

    def _level(self, emit: Emitter, depth: int) -> None:
        is_innermost = depth == len(self.plan.order)
        self._advance(emit, is_innermost)
        if is_innermost:
            self._take_outputs([self._load(emit, output) for output in self.nest.outputs])
            self._store(emit, self._yielded(emit))
        elif depth == self.plan.carried:
            before = [emit.load(output.value, self._place(emit, output)) for output in self.nest.outputs]
            self._store(emit, self._carried_level(emit, depth, before))
        else:
            dim = self.plan.order[depth]
            is_divided = self.threads and depth == 0 and not self.nest.is_reduction[dim]
            with emit.loop(self.nest.ranges[dim], self._start(dim), threads=is_divided) as (inner, self.dims[dim]):
                self.open.add(dim)
                self._level(inner, depth + 1)

    def _carried_level(self, emit: Emitter, depth: int, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """A loop that hands the outputs' elements on; what they are behind it."""
        if depth == len(self.plan.order):
            self._take_outputs(before)
            return self._yielded(emit)
        dim = self.plan.order[depth]

        def write(inner: Emitter, place: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.dims[dim] = place
            self.open.add(dim)
            self._advance(inner, depth + 1 == len(self.plan.order))
            return self._carried_level(inner, depth + 1, so_far)

        return emit.carried(self.nest.ranges[dim], before, write, self._start(dim))

    def _start(self, dim: int) -> int:
        """The first step of an iterator."""
        return 0

    def _place(self, emit: Emitter, access: Access) -> list[Index]:
        return emit_place(emit, access.map_, self.dims, self.nest.ranges)

    def _load(self, emit: Emitter, access: Access) -> SSAValue | None:
        if not access.argument.uses:
            return None
        return emit.load(access.value, self._place(emit, access))

    def _take_outputs(self, elements: Sequence[SSAValue | None]) -> None:
        for output, element in zip(self.nest.outputs, elements, strict=True):
            if element is not None:
                self.values[output.argument] = element

    def _store(self, emit: Emitter, elements: Sequence[SSAValue]) -> None:
        for output, element in zip(self.nest.outputs, elements, strict=True):
            emit.store(element, output.value, self._place(emit, output))

    def _yielded(self, emit: Emitter) -> list[SSAValue]:
        for op in self.pending:
            self._compute(emit, op)
        return [self._value(value) for value in self.terminator.operands]

    def _value(self, value: SSAValue) -> SSAValue:
        return self.values.get(value, value)

    def _advance(self, emit: Emitter, is_innermost: bool) -> None:
        """Read and compute what the loops that are open determine."""
        waiting: list[Access] = []
        for access in self.loads:
            if is_innermost or self._is_settled(access):
                is_memory = memref_type(access.value) is not None
                self.values[access.argument] = (
                    emit.load(access.value, self._place(emit, access)) if is_memory else access.value
                )
            else:
                waiting.append(access)
        self.loads = waiting
        kept: list[Operation] = []
        for op in self.pending:
            if self._is_ready(op):
                self._compute(emit, op)
            else:
                kept.append(op)
        self.pending = kept

    def _is_settled(self, access: Access) -> bool:
        # An input that is written, too, is read where it is used.
        return set(access.map_.used_dims()) <= self.open and all(
            access.value is not output.value for output in self.nest.outputs
        )

    def _is_ready(self, op: Operation) -> bool:
        if isinstance(op, IndexOp):
            return op.dim.value.data in self.open
        if op.regions or isinstance(op, INTEGER_DIVISIONS) or not computes_only(op) or isinstance(op, memref.LoadOp):
            return False
        return all(value in self.values or not is_inside(value, self.nest.body) for value in op.operands)

    def _compute(self, emit: Emitter, op: Operation) -> None:
        match op:
            case IndexOp():
                self.values[op.result] = emit.index(self.dims[op.dim.value.data])
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr | FloatAttr):
                self.values[op.result] = emit.scalar_constant(op.value.value.data, op.result.type)
            case RequantizeOp():
                parameters = [self._value(parameter) for parameter in op.parameters]
                self.values[op.result] = expand_requantize(emit, op, self._value(op.accumulator), parameters)
            case JoinOp():
                self.values[op.result] = expand_join(emit, op, [self._value(part) for part in op.parts])
            case _:
                emit.builder.insert(op.clone(self.values))
