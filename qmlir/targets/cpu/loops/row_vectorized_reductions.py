"""Reductions whose order counts, eight rows in the lanes of one vector: each lane adds up its own row, in its order.

The rows are read in squares, eight steps of each at a time, which interleavings turn around in registers.

Where they are no such rows, sums of several rows run side by side: a sum of floats waits for one addition after the
other, and those of eight rows keep an adder busy meanwhile.
"""

from collections.abc import Sequence
from copy import copy

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from qmlir.dialects.simd.lanes import InterleaveHighOp, InterleaveLowOp
from qmlir.ir.builtin_types import memref_type
from qmlir.targets.cpu.loops.contraction.geometry import load, store
from qmlir.targets.cpu.loops.contraction.vector_lowerings import form_of, has_form
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add
from qmlir.targets.cpu.loops.nests import Access, Nest, Plan, ValueWriter

_ROWS = (8, 4, 2)
"""Rows at a time, the first that leaves none over."""


def rows_for(nest: Nest, plan: Plan) -> int:
    """How many steps of the innermost parallel loop run side by side around one reduction; 1 where none do."""
    if not 1 <= plan.carried == len(plan.order) - 1:
        return 1
    steps = nest.ranges[plan.order[plan.carried - 1]]
    return next((rows for rows in _ROWS if steps and steps % rows == 0), 1)


class SideBySideWriter(ValueWriter):
    """Writes a reduction of `rows` rows as one loop that hands their scalars on."""

    def __init__(self, nest: Nest, plan: Plan, threads: bool, rows: int):
        super().__init__(nest, plan, threads)
        self.rows = rows

    def _level(self, emit: Emitter, depth: int) -> None:
        if depth != self.plan.carried - 1:
            super()._level(emit, depth)
            return
        self._advance(emit, False)
        dim, inner = self.plan.order[depth:]
        with emit.loop(self.nest.ranges[dim], step=self.rows, threads=self.threads and depth == 0) as (body, first):
            writers = [self._of_row(dim, add(body, first, row)) for row in range(self.rows)]
            before: list[SSAValue] = []
            for writer in writers:
                writer._advance(body, False)
                before += [body.load(output.value, writer._place(body, output)) for output in self.nest.outputs]
            after = self._sums(body, inner, writers, before)
            for place, writer in enumerate(writers):
                count = len(self.nest.outputs)
                writer._store(body, after[place * count : (place + 1) * count])

    def _of_row(self, dim: int, place: Index) -> "SideBySideWriter":
        """A writer of one row, from where this one stands."""
        made = copy(self)
        made.dims, made.open, made.values = list(self.dims), {*self.open, dim}, dict(self.values)
        made.dims[dim] = place
        return made

    def _sums(
        self, emit: Emitter, dim: int, writers: "list[SideBySideWriter]", before: list[SSAValue]
    ) -> Sequence[SSAValue]:
        def write(body: Emitter, step: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            yielded: list[SSAValue] = []
            for writer in writers:
                writer.dims[dim] = step
                writer.open.add(dim)
                writer._advance(body, True)
                writer._take_outputs(so_far[len(yielded) :][: len(self.nest.outputs)])
                yielded += writer._yielded(body)
            return yielded

        return emit.carried(self.nest.ranges[dim], before, write)


LANES = 8
"""The rows of a square, and its steps."""


def _element(access: Access) -> object:
    type_ = memref_type(access.value)
    return None if type_ is None else type_.get_element_type()


def takes_squares(nest: Nest, plan: Plan, lanes: int) -> bool:
    """Returns true if eight rows can be the lanes of a vector of at least eight lanes.

    Inputs must be floats that are contiguous along the reduced axis, outputs contiguous along the rows, and the body
    must have a vector form.
    """
    if lanes < LANES or rows_for(nest, plan) != LANES or nest.ranges[plan.order[-1]] % LANES:
        return False
    row, step = plan.order[-2:]
    rank, (*body, _) = len(nest.ranges), nest.body.ops
    used = [access for access in nest.inputs if access.argument.uses]
    return (
        all(isinstance(_element(access), AnyFloat) for access in nest.accesses)
        and all(access.steps(rank)[step] == 1 and access.steps(rank)[row] for access in used)
        and all(output.steps(rank)[row] == 1 for output in nest.outputs)
        and all(not isinstance(op, IndexOp) and has_form(op) for op in body)
    )


class TransposedWriter(ValueWriter):
    """Writes a reduction of eight rows as one loop that hands a vector of their scalars on."""

    def _level(self, emit: Emitter, depth: int) -> None:
        if depth != self.plan.carried - 1:
            super()._level(emit, depth)
            return
        dim, inner = self.plan.order[depth:]
        count, wide = self.nest.ranges[dim], VectorEmitter.of(emit, LANES)
        with wide.loop(count, step=LANES, threads=self.threads and depth == 0) as (body, self.dims[dim]):
            before = [load(body, output.value, self._place(body, output), LANES) for output in self.nest.outputs]
            after = self._sums(body, dim, inner, before)
            for output, total in zip(self.nest.outputs, after, strict=True):
                store(body, total, output.value, self._place(body, output))

    def _sums(self, emit: VectorEmitter, dim: int, inner: int, before: list[SSAValue]) -> Sequence[SSAValue]:
        def write(body: VectorEmitter, place: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.dims[inner] = place
            columns = [self._turned(body, access, dim) for access in self.loads]
            for step in range(LANES):
                values: dict[SSAValue, SSAValue] = {
                    access.argument: column[step] for access, column in zip(self.loads, columns, strict=True)
                }
                values |= {output.argument: value for output, value in zip(self.nest.outputs, so_far, strict=True)}
                so_far = self._step(body, values)
            return so_far

        return emit.carried(self.nest.ranges[inner], before, write, step=LANES)

    def _turned(self, emit: VectorEmitter, access: Access, dim: int) -> list[SSAValue]:
        """A square of an operand: a vector of all rows for each step."""
        rows: list[SSAValue] = []
        for row in range(LANES):
            at = copy(self)
            at.dims = list(self.dims)
            at.dims[dim] = add(emit, self.dims[dim], row)
            rows.append(load(emit, access.value, at._place(emit, access), LANES, None))
        half = LANES // 2
        for _ in range(LANES.bit_length() - 1):
            rows = [
                emit.insert(kind(rows[place], rows[place + half]))
                for place in range(half)
                for kind in (InterleaveLowOp, InterleaveHighOp)
            ]
        return rows

    def _step(self, emit: VectorEmitter, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        for op in self.pending:
            form = form_of(op)
            assert form is not None
            values[op.results[0]] = form.write(emit, op, [self._vector(emit, values, each) for each in op.operands])
        return [self._vector(emit, values, value) for value in self.terminator.operands]

    def _vector(self, emit: VectorEmitter, values: dict[SSAValue, SSAValue], value: SSAValue) -> SSAValue:
        if value in values:
            return values[value]
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr() | FloatAttr() as number):
                return emit.constant(number.value.data, value.type)
            case _:
                return emit.splat(value)
