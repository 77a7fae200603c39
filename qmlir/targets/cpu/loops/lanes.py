"""Vectorized lowering of structured operations, including data movement that interleaves rows of bytes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, MemRefType, StridedLayoutAttr, i8, i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineDimExpr, AffineExpr

from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.simd.base import is_signless
from qmlir.dialects.simd.lanes import DotAccumulateOp, Signs
from qmlir.dialects.simd.memory import BYTE_VALUES, GatherOp
from qmlir.ir.builtin_types import memref_type
from qmlir.targets.cpu.loops.emitter import (
    Emitter,
    Index,
    VectorEmitter,
    add,
    bits_of,
    interleave_bytes,
    memory_of,
    times,
)
from qmlir.targets.cpu.loops.geometry import innermost_is_dense, load, store
from qmlir.targets.cpu.loops.nests import Access, Nest, Plan, ValueWriter, collapse_axes
from qmlir.targets.cpu.loops.vector_lowerings import form_of, has_form, is_held, is_scalar

# Data movement that interleaves four rows of bytes: it reads a register of each row, interleaves the four registers,
# and writes them contiguously.
#
# This packs computed weights: four terms of a channel become adjacent, while rows of memory run along channels.

ROWS = 4
"""The number of interleaved rows."""

_LANES = (64, 32, 16)
"""The candidates for the number of elements of a row per step; the first that divides the row is used."""


def turns_of(nest: Nest, plan: Plan, lanes: int) -> int:
    """Returns the number of elements per row and step, at most `lanes`; 0 if the nest doesn't interleave four rows."""
    if len(plan.order) < 2 or plan.carried < len(plan.order) or len(nest.inputs) != 1 or not _is_movement(nest):
        return 0
    (source,), (target,) = nest.inputs, nest.outputs
    along, rows = plan.order[-2:]
    rank = len(nest.ranges)
    steps = source.steps(rank), target.steps(rank)
    is_turned = nest.ranges[rows] == ROWS and steps[0][along] == 1 and steps[1][along] == ROWS and steps[1][rows] == 1
    if not is_turned or not _is_dense(source) or not _ends_in(target, along, rows):
        return 0
    return next((each for each in _LANES if each <= lanes and nest.ranges[along] % each == 0), 0)


def _is_movement(nest: Nest) -> bool:
    first = nest.body.first_op
    return first is nest.body.last_op and first is not None and first.operands[0] is nest.inputs[0].argument


def _is_dense(access: Access) -> bool:
    type_ = memref_type(access.value)
    return type_ is not None and type_.get_element_type() == i8 and (type_.get_strides() or (0,))[-1] == 1


def _ends_in(access: Access, *dims: int) -> bool:
    """Returns true if the last axes of an operand are the iterators `dims`, and its other axes don't use them."""
    used = [each.used_dims() for each in access.map_.results]
    is_last = used[-len(dims) :] == [{dim} for dim in dims] and not any(each & set(dims) for each in used[: -len(dims)])
    return memref_type(access.value) is not None and is_last


class InterleavedWriter(ValueWriter):
    """Emits the loops of an interleaving movement; a step processes `lanes` elements of each row."""

    def __init__(self, nest: Nest, plan: Plan, threads: bool, lanes: int):
        along, _ = plan.order[-2:]
        # The loop over a row has a step of `lanes` elements.
        ranges = tuple(count // lanes if dim == along else count for dim, count in enumerate(nest.ranges))
        super().__init__(replace(nest, ranges=ranges), plan, threads)
        self.lanes = lanes

    def write(self, emit: Emitter) -> None:
        (target,) = self.nest.outputs
        rank = memory_of(target.value).get_num_dims()
        groups = [*([axis] for axis in range(rank - 2)), [rank - 2, rank - 1]]
        self.memory: SSAValue = collapse_axes(emit, target.value, groups)
        super().write(emit)

    def _level(self, emit: Emitter, depth: int) -> None:
        if depth != len(self.plan.order) - 1:
            super()._level(emit, depth)
            return
        along, rows = self.plan.order[-2:]
        (source,), (target,) = self.nest.inputs, self.nest.outputs
        wide = VectorEmitter.of(emit, self.lanes)
        step = self.dims[along]
        self.dims[along] = times(emit, step, self.lanes)
        read: list[SSAValue] = []
        for row in range(ROWS):
            self.dims[rows] = row
            read.append(load(wide, source.value, self._position(emit, source), self.lanes, None))
        self.dims[rows] = 0
        *leading, _, _ = self._position(emit, target)
        for part, value in enumerate(interleave_bytes(wide, read)):
            position = add(emit, times(emit, step, ROWS * self.lanes), part * self.lanes)
            store(emit, value, self.memory, [*leading, position])
        self.dims[along] = step


# Vectorized structured operations: the innermost loop of a nest advances by `lanes` elements if the operands allow it.
#
# The outer loops are those of `structured`. Inside, each operation of the body becomes a vector operation. Remaining
# elements are one partial vector, or a scalar loop for a reduction.
#
# Sums of bytes in 32 bits are emitted as dot products with ones, of which an instruction adds four per lane. This
# requires terms that are widened and added to the accumulator, modulo 2^32.

TERMS = 4
"""The number of bytes that one instruction adds to a lane."""

Widened = arith.ExtSIOp | arith.ExtUIOp


def widened_term(total: Operation) -> Widened | None:
    """Returns the extension of the byte that `total` adds to a block argument; `None` if `total` has another form."""
    if not isinstance(total, arith.AddiOp) or total.result.type != i32:
        return None
    terms = [value.owner for value in total.operands if isinstance(value.owner, Operation)]
    term = terms[0] if len(terms) == 1 else None
    return term if (isinstance(term, Widened) and term.input.type == i8) and term.result.has_one_use() else None


def sums_bytes(body: Block) -> bool:
    """Returns true if a body yields only sums of bytes."""
    end = body.last_op
    totals = [] if end is None else [value.owner for value in end.operands]
    return bool(totals) and all(isinstance(each, Operation) and widened_term(each) is not None for each in totals)


def add_bytes(emit: VectorEmitter, so_far: SSAValue, bytes_: SSAValue, term: Widened) -> SSAValue:
    """Adds `TERMS` bytes to each lane of `so_far`; `term` determines whether they are signed."""
    ones = emit.constant(1, i8)
    is_signed = isinstance(term, arith.ExtSIOp)
    x, w = (ones, bytes_) if is_signed else (bytes_, ones)
    return emit.insert(DotAccumulateOp(so_far, x, w, Signs.US))


_FEWEST_STEPS = 4
"""The fewest iterations of the innermost loop for which vectors pay."""

_CHAINS = (4, 2, 1)
"""The candidates for the number of independent accumulators of a reduction: a single one is bound by latency.

On Zen 4, the maximum of 64 floats, with NaN propagation, takes 13 cycles per vector in one chain.
"""

_NEUTRAL: Mapping[type[Operation], float | None] = {
    arith.AddiOp: 0,
    arith.MuliOp: 1,
    arith.AndIOp: -1,
    arith.OrIOp: 0,
    arith.XOrIOp: 0,
    arith.MaxUIOp: 0,
    arith.MinUIOp: -1,
    arith.MaxSIOp: None,  # by the width
    arith.MinSIOp: None,
    arith.MaximumfOp: -math.inf,
    arith.MinimumfOp: math.inf,
    arith.AddfOp: 0,
}
"""Associative reductions with their neutral elements; float sums are included only if marked `reassoc`."""


def _is_free(op: Operation) -> bool:
    """Returns true if `op` may combine terms in any order."""
    if isinstance(op, arith.AddfOp):
        return FastMathFlag.REASSOC in op.fastmath.data
    return type(op) in _NEUTRAL


def _neutral(kind: type[Operation], element: Attribute) -> float:
    number = _NEUTRAL[kind]
    if number is not None:
        return number
    low, high = integer_limits(bits_of(element))
    return low if kind is arith.MaxSIOp else high


def terms_for(nest: Nest, plan: Plan, schedule: ScheduleAttr) -> int:
    """Returns the number of iterations of the innermost loop per lane: more than one for sums of bytes."""
    is_carried = plan.carried == len(plan.order) - 1
    is_sum = schedule.k_unroll == TERMS and is_carried and sums_bytes(nest.body)
    return TERMS if is_sum and nest.ranges[plan.order[-1]] >= schedule.lanes * TERMS else 1


def lanes_for(nest: Nest, plan: Plan, lanes: int) -> int:
    """Returns the number of iterations of the innermost loop per vector, at most `lanes`; 1 for a scalar loop."""
    if not plan.order or lanes == 1:
        return 1
    dim = plan.order[-1]
    steps = nest.ranges[dim]
    if steps < _FEWEST_STEPS or not _is_lanewise(nest, dim):
        return 1
    if plan.carried < len(plan.order):
        is_fit = _combinations(nest) is not None and steps >= lanes
    else:
        is_fit = all(dim in output.map_.used_dims() for output in nest.outputs)
    return min(lanes, 1 << (steps - 1).bit_length()) if is_fit else 1


def _is_lanewise(nest: Nest, dim: int) -> bool:
    """Returns true if each operand is contiguous or invariant along `dim`, and the body can be vectorized."""
    *body, _ = nest.body.ops
    return all(_is_beside(access, dim) and _is_held(access) for access in nest.accesses) and all(
        _is_scalar(op, nest, dim)
        if isinstance(op, IndexOp)
        else has_form(op) or _reads_a_row(op, nest, dim) or _reads_along(op, nest, dim)
        for op in body
    )


def _is_scalar(op: IndexOp, nest: Nest, dim: int) -> bool:
    """Returns true if the iterator is the same for all lanes, or is only used as the last index of a load."""
    return op.dim.value.data != dim or all(_reads_along(use.operation, nest, dim) for use in op.result.uses)


def _reads_along(op: Operation, nest: Nest, dim: int) -> TypeGuard[memref.LoadOp]:
    """Returns true if `op` reads contiguous elements along `dim`."""
    if not isinstance(op, memref.LoadOp) or not op.indices or not innermost_is_dense(op.memref):
        return False
    *leading, last = op.indices
    is_step = isinstance(last.owner, IndexOp) and last.owner.dim.value.data == dim
    return is_step and is_held(op.res.type, in_memory=True) and not any(_moves(value, nest, dim) for value in leading)


def _reads_a_row(op: Operation, nest: Nest, dim: int) -> bool:
    """Returns true if `op` reads a multi-dimensional table, and only one row of bytes of it along `dim`."""
    if not isinstance(op, memref.LoadOp) or len(op.indices) < 2:
        return False
    type_ = memref_type(op.memref)
    is_table = type_ is not None and type_.get_shape()[-1] == BYTE_VALUES and is_signless(op.res.type, 8)
    return is_table and not any(_moves(value, nest, dim) for value in op.indices[:-1])


def _moves(value: SSAValue, nest: Nest, dim: int) -> bool:
    """Returns true if a value of the body varies along `dim`."""
    for access in nest.accesses:
        if access.argument is value:
            return memref_type(access.value) is not None and dim in access.map_.used_dims()
    op = value.owner
    if not isinstance(op, Operation) or op.parent is not nest.body:
        return False
    if isinstance(op, IndexOp):
        return op.dim.value.data == dim
    return any(_moves(operand, nest, dim) for operand in op.operands)


def _is_held(access: Access) -> bool:
    type_ = memref_type(access.value)
    element = access.value.type if type_ is None else type_.get_element_type()
    return isinstance(element, AnyFloat) or is_held(element, in_memory=True)


def _is_beside(access: Access, dim: int) -> bool:
    type_ = memref_type(access.value)
    if type_ is None or dim not in access.map_.used_dims():
        return True
    *leading, last = access.map_.results
    strides = type_.get_strides()
    is_apart = all(dim not in each.used_dims() for each in leading)
    return strides is not None and strides[-1] == 1 and is_apart and _counts_by_one(last, dim)


def _counts_by_one(expression: AffineExpr, dim: int) -> bool:
    match expression:
        case AffineDimExpr():
            return expression.position == dim
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add):
            using = [each for each in (expression.lhs, expression.rhs) if dim in each.used_dims()]
            return len(using) == 1 and _counts_by_one(using[0], dim)
        case _:
            return False


def _combinations(nest: Nest) -> list[Operation] | None:
    """Returns the combining operation of each output; `None` if the order of terms matters, as in float sums."""
    found: list[Operation] = []
    for output, value in zip(nest.outputs, nest.body.ops.last.operands if nest.body.ops.last else (), strict=True):
        op, uses = value.owner, list(output.argument.uses)
        if not isinstance(op, Operation) or not _is_free(op) or [use.operation for use in uses] != [op]:
            return None
        if [use.operation for use in value.uses] != [nest.body.last_op]:
            return None
        found.append(op)
    return found


class LaneWriter(ValueWriter):
    """Emits the loops of a nest whose innermost one processes `lanes` elements at a time.

    Reductions carry vectors of `lanes / terms` lanes.
    """

    def __init__(self, nest: Nest, plan: Plan, threads: bool, lanes: int, terms: int = 1):
        super().__init__(nest, plan, threads)
        self.lanes = lanes
        self.terms = terms
        self.inner = plan.order[-1]
        self.whole = nest.ranges[self.inner] // lanes * lanes
        """The number of iterations that form full vectors."""
        self.first = 0
        """The start of the scalar loop over the remaining elements of a reduction."""

    def _start(self, dim: int) -> int:
        return self.first if dim == self.inner else 0

    def _level(self, emit: Emitter, depth: int) -> None:
        is_innermost = depth == len(self.plan.order) - 1
        if not is_innermost or depth >= self.plan.carried:
            super()._level(emit, depth)
            return
        self._advance(emit, False)
        wide = VectorEmitter.of(emit, self.lanes)
        if self.whole:
            with wide.loop(self.whole, step=self.lanes, threads=self.threads and depth == 0) as (body, position):
                self._store_vectors(body, position, None)
        rest = self.nest.ranges[self.inner] - self.whole
        if rest:
            self._store_vectors(wide, self.whole, rest)

    def _store_vectors(self, emit: VectorEmitter, position: Index, count: int | None) -> None:
        self.dims[self.inner] = position
        values = self._vector_values(emit, [*self.loads, *self._read_outputs()], count)
        for output, value in zip(self.nest.outputs, self.terminator.operands, strict=True):
            vector = vector_value(emit, values, value)
            store(emit, vector, output.value, self._position(emit, output), count)

    def _read_outputs(self) -> list[Access]:
        return [output for output in self.nest.outputs if output.argument.uses]

    def _carried_level(self, emit: Emitter, depth: int, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if depth != len(self.plan.order) - 1:
            return super()._carried_level(emit, depth, before)
        combinations = _combinations(self.nest)
        assert combinations is not None
        wide = VectorEmitter.of(emit, self.lanes // self.terms)
        chains = next(count for count in _CHAINS if self.whole // self.lanes % count == 0)
        starts = [
            wide.constant(_neutral(type(op), value.type), value.type)
            for op, value in zip(combinations, before, strict=True)
        ] * chains

        def write(inner: VectorEmitter, first: Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body, yielded = inner.with_lanes(self.lanes), list[SSAValue]()
            for chain in range(chains):
                position = add(body, first, chain * self.lanes)
                yielded += self._chain_values(body, combinations, position, so_far[len(yielded) :])
            return yielded

        found = wide.carried(self.whole, starts, write, step=self.lanes * chains)
        totals = [
            emit.binary(type(op), start, _folded(wide, type(op), found[position :: len(combinations)]))
            for position, (op, start) in enumerate(zip(combinations, before, strict=True))
        ]
        if self.whole == self.nest.ranges[self.inner]:
            return totals
        self.first = self.whole
        return super()._carried_level(emit, depth, totals)

    def _chain_values(
        self, emit: VectorEmitter, combinations: Sequence[Operation], position: Index, so_far: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Returns the accumulators of one chain after a step."""
        self.dims[self.inner] = position
        carried: dict[SSAValue, SSAValue] = {
            output.argument: value for output, value in zip(self.nest.outputs, so_far, strict=False)
        }
        values = self._vector_values(emit, self.loads, None, carried)
        return [values[op.results[0]] for op in combinations]

    def _sum_of_bytes(self, emit: VectorEmitter, values: Mapping[SSAValue, SSAValue], total: Operation) -> SSAValue:
        term = widened_term(total)
        assert term is not None
        (before,) = (values[value] for value in total.operands if value is not term.result)
        return add_bytes(emit, before, vector_value(emit, values, term.input), term)

    def _vector_values(
        self, emit: VectorEmitter, accesses: Sequence[Access], count: int | None,
        carried: Mapping[SSAValue, SSAValue] | None = None,
    ) -> dict[SSAValue, SSAValue]:  # fmt: skip
        """Emits the body for all lanes; values that are the same in all lanes may stay scalar."""
        values: dict[SSAValue, SSAValue] = {**self.values, **(carried or {})}
        for access in accesses:
            if memref_type(access.value) is None:
                values[access.argument] = access.value
            elif self.inner in access.map_.used_dims():
                values[access.argument] = load(emit, access.value, self._position(emit, access), emit.lanes, count)
            else:
                values[access.argument] = emit.load(access.value, self._position(emit, access))
        combined = {value.owner for value in self.terminator.operands} if self.terms > 1 else set[Operation | Block]()
        for op in self.pending:
            form = form_of(op)
            if op in combined:
                values[op.results[0]] = self._sum_of_bytes(emit, values, op)
            elif self.terms > 1 and any(use.operation in combined for value in op.results for use in value.uses):
                continue  # the extension of a term
            elif form is None:  # the index of another iterator
                assert isinstance(op, IndexOp)
                values[op.result] = emit.index(self.dims[op.dim.value.data])
            elif _reads_along(op, self.nest, self.inner):
                table, *position = (values.get(operand, operand) for operand in op.operands)
                values[op.res] = load(emit, table, position, emit.lanes, count)
            elif isinstance(op, memref.LoadOp) and len(op.indices) > 1:
                values[op.res] = self._look_up(emit, values, op)
            else:
                operands = [vector_value(emit, values, operand) for operand in op.operands]
                values[op.results[0]] = form.write(emit, op, operands)
        return values

    def _look_up(self, emit: VectorEmitter, values: Mapping[SSAValue, SSAValue], op: memref.LoadOp) -> SSAValue:
        """Looks up the bytes at the indices of all lanes in one row of a table."""
        table, *rows, positions = (values.get(operand, operand) for operand in op.operands)
        ones = [1] * len(rows)
        whole = memref.SubviewOp.infer_result_type(memory_of(table), [*rows, 0], [*ones, BYTE_VALUES], [*ones, 1])
        layout = StridedLayoutAttr([1], whole.get_offset())
        row = memref.SubviewOp.get(
            table, [*rows, 0], [*ones, BYTE_VALUES], [*ones, 1], MemRefType(op.res.type, [BYTE_VALUES], layout)
        )
        emit.builder.insert(row)
        positions = emit.splat(positions) if is_scalar(positions) else positions
        return emit.insert(GatherOp(row.result, positions, emit.typed(op.res.type)))


def vector_value(emit: VectorEmitter, values: Mapping[SSAValue, SSAValue], value: SSAValue) -> SSAValue:
    """Returns a value of a body, which `values` may map to another one, as a vector; memrefs are unchanged."""
    found = values.get(value, value)
    if not is_scalar(found):
        return found
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() | FloatAttr() as number):
            return emit.constant(number.value.data, value.type)
        case _:
            return emit.splat(found)


def _folded(emit: VectorEmitter, kind: type[Operation], values: Sequence[SSAValue]) -> SSAValue:
    """Reduces all lanes: first pairs of chains, then upper and lower halves until one lane is left."""
    while len(values) > 1:
        values = [emit.binary(kind, *pair) for pair in zip(values[::2], values[1::2], strict=True)]
    (value,), lanes = values, emit.lanes
    while lanes > 1:
        lanes //= 2
        value = emit.binary(kind, emit.part(value, 0, lanes), emit.part(value, lanes, lanes))
    return emit.lane(value, 0)
