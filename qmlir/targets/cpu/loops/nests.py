"""Loop nests: the accesses and iterators of a structured operation on memrefs, and the scalar loops emitted for it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, MemRefType, NoneAttr, StridedLayoutAttr, i64
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from qmlir.analysis.operand_accesses import INTEGER_DIVISIONS, computes_only, is_inside
from qmlir.dialects.kernel.ops import JoinOp, RequantizeOp
from qmlir.ir.builtin_types import lies_outside, memref_type
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops import emitter
from qmlir.targets.cpu.loops.kernel_follow_lengths import splits_lengths

# A structured operation on memrefs as a loop nest: its accesses, its iterators, and which iterators become one loop.
#
# Iterators are collapsed if they are adjacent axes without gaps in every operand, so that a kernel on an image is one
# long loop. Iterators are not renumbered; an iterator that was collapsed into another no longer appears in the maps.
# Trailing unit axes are also dropped, so that elements along the axis before them count as contiguous.


@dataclass(frozen=True)
class Access:
    """An operand of a nest, its indexing map, and the block argument that holds the current element."""

    value: SSAValue
    map_: AffineMap
    argument: BlockArgument

    def steps(self, rank: int) -> list[int]:
        """Returns, for each iterator, the distance in memory per iteration, in elements."""
        type_ = memref_type(self.value)
        strides = None if type_ is None else type_.get_strides()
        return [0 if strides is None else emitter.step_along(dim, self.map_, strides, rank) for dim in range(rank)]


@dataclass(frozen=True)
class Nest:
    """A loop nest: the body to compute at each point of an iteration space; outputs follow inputs."""

    body: Block
    ranges: tuple[int, ...]
    is_reduction: tuple[bool, ...]
    inputs: tuple[Access, ...]
    outputs: tuple[Access, ...]

    @property
    def accesses(self) -> tuple[Access, ...]:
        return self.inputs + self.outputs

    @property
    def loops(self) -> list[int]:
        """The iterators that become loops: those that don't have exactly one iteration."""
        return [dim for dim, count in enumerate(self.ranges) if count != 1]

    def is_running(self, dim: int) -> bool:
        """Returns true if an iterator becomes a loop."""
        return self.ranges[dim] != 1

    def indexed(self) -> set[int]:
        """Returns the iterators whose index the body reads with `linalg.index`."""
        return {op.dim.value.data for op in self.body.walk() if isinstance(op, IndexOp)}


def nest_of(op: LinalgStructuredOperation) -> Nest:
    """Returns the loop nest of a structured operation on memrefs.

    Raises `DiagnosticError` if a size is dynamic, if the sizes of operands disagree, or if an access is out of bounds.
    """
    maps = [attribute.data for attribute in op.get_indexing_maps()]
    accesses = [
        Access(value, map_, argument)
        for value, map_, argument in zip(op.operands, maps, op.body.block.args, strict=True)
    ]
    counts: dict[int, int] = {}
    for access in accesses:
        type_ = memref_type(access.value)
        if type_ is None:
            continue
        for axis, size in zip(emitter.plain_axes(access.map_), type_.get_shape(), strict=True):
            if size < 0:
                raise op_error(op, f"requires static shapes, but got {type_}")
            if axis is not None and counts.setdefault(axis, size) != size:
                raise op_error(
                    op, f"iterates {counts[axis]} times along d{axis}, but has an operand of size {size}, {type_}"
                )
    kinds = [attribute.data for attribute in op.get_iterator_types()]
    if len(counts) != len(kinds):
        raise op_error(op, "has an iterator whose extent follows from no operand")
    inputs = len(op.inputs)
    ranges = tuple(counts[axis] for axis in range(len(kinds)))
    for number, access in enumerate(accesses):
        type_ = memref_type(access.value)
        sizes = () if type_ is None else type_.get_shape()
        for axis, (expression, size) in enumerate(zip(access.map_.results, sizes, strict=type_ is not None)):
            if lies_outside(expression, ranges, size):
                raise op_error(
                    op,
                    f"accesses operand {number} out of bounds: {expression} must be less than {size} along axis {axis}",
                )
    return Nest(
        op.body.block,
        ranges,
        tuple(kind is IteratorType.REDUCTION for kind in kinds),
        tuple(accesses[:inputs]),
        tuple(accesses[inputs:]),
    )


# --- Order ------------------------------------------------------------------------------------------------------------

_LONG_ENOUGH = 8
"""The fewest iterations for which a parallel loop inside a reduction is faster than a sum in a register."""


@dataclass(frozen=True)
class Plan:
    """The order of the loops; those from index `carried` on are reductions with loop-carried scalars."""

    order: tuple[int, ...]
    carried: int


def _writes_its_own_elements(nest: Nest) -> bool:
    """Whether each step of the parallel iterators has elements of its own in every output."""
    parallel = {dim for dim in nest.loops if not nest.is_reduction[dim]}
    return all(
        parallel <= set(emitter.plain_axes(output.map_)) and set(output.map_.used_dims()) & set(nest.loops) <= parallel
        for output in nest.outputs
    )


def plan_of(nest: Nest) -> Plan:
    """Returns the loop order: row-major in the output, with reductions inside, in the order of their iterators.

    So every sum adds its terms in the original order. If the largest input is contiguous along a parallel iterator,
    that loop moves inside the reductions, and sums stay in the memory of the output. The innermost loop then has no
    dependence between iterations.
    """
    if not _writes_its_own_elements(nest):
        return Plan(tuple(nest.loops), len(nest.loops))
    steps = nest.outputs[0].steps(len(nest.ranges))
    parallel = sorted((dim for dim in nest.loops if not nest.is_reduction[dim]), key=lambda dim: -abs(steps[dim]))
    reductions = [dim for dim in nest.loops if nest.is_reduction[dim]]
    if not reductions:
        return Plan(tuple(parallel), len(parallel))
    inner = _contiguous(nest)
    if inner in parallel and nest.ranges[inner] >= _LONG_ENOUGH and abs(steps[inner]) == 1:
        outer = [dim for dim in parallel if dim != inner]
        order = (*outer, *reductions, inner)
        return Plan(order, len(order))
    return Plan((*parallel, *reductions), len(parallel))


def _contiguous(nest: Nest) -> int | None:
    """The iterator along which the largest input has its neighbours."""
    sizes = {
        access: math.prod(type_.get_shape())
        for access in nest.inputs
        if (type_ := memref_type(access.value)) is not None and access.argument.uses
    }
    if not sizes:
        return None
    steps = max(sizes, key=sizes.__getitem__).steps(len(nest.ranges))
    return next((dim for dim in nest.loops if abs(steps[dim]) == 1), None)


# --- Collapsing -------------------------------------------------------------------------------------------------------


@dataclass
class _Axes:
    """Neighbouring axes of an operand that become one."""

    axes: list[int]
    size: int
    stride: int | None
    expression: AffineExpr

    def takes(self, dim: int) -> bool:
        return isinstance(self.expression, AffineDimExpr) and self.expression.position == dim


@dataclass
class _Operand:
    """The axes of one operand while iterators are collapsed."""

    access: Access
    groups: list[_Axes] = field(default_factory=list[_Axes])

    def place_of(self, dim: int) -> int | None:
        return next((position for position, group in enumerate(self.groups) if group.takes(dim)), None)

    def joined(self, outer: int, inner: int) -> list[_Axes] | None:
        """Returns the groups of axes after collapsing two iterators; `None` if the operand doesn't allow it."""
        using = [
            position for position, group in enumerate(self.groups) if group.expression.used_dims() & {outer, inner}
        ]
        if not using:
            return self.groups
        first, last = self.place_of(outer), self.place_of(inner)
        if first is None or last is None or using != [first, last]:
            return None
        a, b = self.groups[first], self.groups[last]
        if any(group.size != 1 for group in self.groups[first + 1 : last]) or b.stride is None:
            return None
        if a.stride != b.size * b.stride:
            return None
        axes = [axis for group in self.groups[first : last + 1] for axis in group.axes]
        joined = _Axes(axes, a.size * b.size, b.stride, a.expression)
        return [*self.groups[:first], joined, *self.groups[last + 1 :]]


def collapse(emit: emitter.Emitter, nest: Nest, plan: Plan) -> tuple[Nest, Plan]:
    """Collapses adjacent loops if all operands allow it, and merges trailing unit axes into the axes before them."""
    operands = [_operand(access) for access in nest.accesses]
    ranges, order, carried = list(nest.ranges), list(plan.order), plan.carried
    apart = nest.indexed()
    position = 0
    while position + 1 < len(order):
        outer, inner = order[position : position + 2]
        joined = [operand.joined(outer, inner) for operand in operands]
        # Loops that carry scalars aren't collapsed with loops that don't, nor reductions with parallel loops.
        is_alike = nest.is_reduction[outer] == nest.is_reduction[inner] and position + 1 != carried
        splits = splits_lengths(nest.outputs[0].value, [ranges[outer], ranges[inner]])
        if not is_alike or splits or apart & {outer, inner} or any(groups is None for groups in joined):
            position += 1
            continue
        for operand, groups in zip(operands, joined, strict=True):
            operand.groups = groups or []
        ranges[outer] *= ranges[inner]
        ranges[inner] = 1
        del order[position + 1]
        carried -= position + 1 < carried
    accesses = tuple(_collapsed(emit, operand) for operand in operands)
    inputs = len(nest.inputs)
    collapsed = replace(nest, ranges=tuple(ranges), inputs=accesses[:inputs], outputs=accesses[inputs:])
    return collapsed, Plan(tuple(order), carried)


def _operand(access: Access) -> _Operand:
    type_ = memref_type(access.value)
    if type_ is None:
        return _Operand(access)
    strides = type_.get_strides() or (None,) * len(type_.get_shape())
    axes = zip(type_.get_shape(), strides, access.map_.results, strict=True)
    groups = [_Axes([axis], *each) for axis, each in enumerate(axes)]
    last = max((axis for axis, group in enumerate(groups) if group.size != 1), default=None)
    if last is not None and groups[last].stride is not None:
        groups[last].axes += range(last + 1, len(groups))
        del groups[last + 1 :]
    return _Operand(access, groups)


def _collapsed(emit: emitter.Emitter, operand: _Operand) -> Access:
    access, groups = operand.access, operand.groups
    type_ = memref_type(access.value)
    if type_ is None or all(len(group.axes) == 1 for group in groups):
        return access
    value = collapse_axes(emit, access.value, [group.axes for group in groups])
    map_ = AffineMap(access.map_.num_dims, 0, tuple(group.expression for group in groups))
    return Access(value, map_, access.argument)


def reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """Returns groups of axes as the reassociation attribute of `memref.collapse_shape` and `memref.expand_shape`."""
    return ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in group]) for group in groups])


def collapse_axes(emit: emitter.Emitter, value: SSAValue, groups: Sequence[Sequence[int]]) -> SSAValue:
    """Emits a view of a memref that collapses each group of adjacent axes, which must have no gaps, to one axis."""
    type_ = emitter.memory_of(value)
    shape, strides, layout = type_.get_shape(), type_.get_strides(), type_.layout
    sizes = [math.prod(shape[axis] for axis in group) for group in groups]
    if isinstance(layout, StridedLayoutAttr) and strides is not None:
        # The stride of a group is that of its innermost axis whose size isn't 1.
        inner = [next((axis for axis in reversed(group) if shape[axis] != 1), group[-1]) for group in groups]
        layout = StridedLayoutAttr([strides[axis] for axis in inner], layout.get_offset())
    result = MemRefType(type_.get_element_type(), sizes, NoneAttr() if layout == NoneAttr() else layout)
    properties = {"reassociation": reassociation(groups)}
    return emit.insert(memref.CollapseShapeOp(operands=[value], result_types=[result], properties=properties))


# Emission of a nest as loops over scalars, from the outermost to the innermost.
#
# Operands are read, and pure operations computed, in the outermost loop in which their indices and operands are known.
# Sums are loop-carried scalars, or stay in the memory of the output if the innermost loop is parallel (`plan_of`).


class ValueWriter:
    """Emits the scalar loops of one nest, from the outermost to the innermost."""

    def __init__(self, nest: Nest, plan: Plan, threads: bool):
        self.nest = nest
        self.plan = plan
        self.threads = threads
        self.dims: list[emitter.Index] = [0] * len(nest.ranges)
        self.open: set[int] = {dim for dim in range(len(nest.ranges)) if not nest.is_running(dim)}
        self.values: dict[SSAValue, SSAValue] = {}
        self.loads = [access for access in nest.inputs if access.argument.uses]
        *body, terminator = nest.body.ops
        self.pending = body
        self.terminator = terminator

    def write(self, emit: emitter.Emitter) -> None:
        """Emits all loops at the insertion point of `emit`."""
        self._level(emit, 0)

    def _level(self, emit: emitter.Emitter, depth: int) -> None:
        is_innermost = depth == len(self.plan.order)
        self._advance(emit, is_innermost)
        if is_innermost:
            self._take_outputs([self._load(emit, output) for output in self.nest.outputs])
            self._store(emit, self._yielded(emit))
        elif depth == self.plan.carried:
            before = [emit.load(output.value, self._position(emit, output)) for output in self.nest.outputs]
            self._store(emit, self._carried_level(emit, depth, before))
        else:
            dim = self.plan.order[depth]
            is_divided = self.threads and depth == 0 and not self.nest.is_reduction[dim]
            with emit.loop(self.nest.ranges[dim], self._start(dim), threads=is_divided) as (inner, self.dims[dim]):
                self.open.add(dim)
                self._level(inner, depth + 1)

    def _carried_level(self, emit: emitter.Emitter, depth: int, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """A loop that hands the outputs' elements on; what they are behind it."""
        if depth == len(self.plan.order):
            self._take_outputs(before)
            return self._yielded(emit)
        dim = self.plan.order[depth]

        def write(inner: emitter.Emitter, position: emitter.Index, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.dims[dim] = position
            self.open.add(dim)
            self._advance(inner, depth + 1 == len(self.plan.order))
            return self._carried_level(inner, depth + 1, so_far)

        return emit.carried(self.nest.ranges[dim], before, write, self._start(dim))

    def _start(self, dim: int) -> int:
        """The first step of an iterator."""
        return 0

    def _position(self, emit: emitter.Emitter, access: Access) -> list[emitter.Index]:
        return emitter.emit_place(emit, access.map_, self.dims, self.nest.ranges)

    def _load(self, emit: emitter.Emitter, access: Access) -> SSAValue | None:
        if not access.argument.uses:
            return None
        return emit.load(access.value, self._position(emit, access))

    def _take_outputs(self, elements: Sequence[SSAValue | None]) -> None:
        for output, element in zip(self.nest.outputs, elements, strict=True):
            if element is not None:
                self.values[output.argument] = element

    def _store(self, emit: emitter.Emitter, elements: Sequence[SSAValue]) -> None:
        for output, element in zip(self.nest.outputs, elements, strict=True):
            emit.store(element, output.value, self._position(emit, output))

    def _yielded(self, emit: emitter.Emitter) -> list[SSAValue]:
        for op in self.pending:
            self._compute(emit, op)
        return [self._value(value) for value in self.terminator.operands]

    def _value(self, value: SSAValue) -> SSAValue:
        return self.values.get(value, value)

    def _advance(self, emit: emitter.Emitter, is_innermost: bool) -> None:
        """Read and compute what the loops that are open determine."""
        waiting: list[Access] = []
        for access in self.loads:
            if is_innermost or self._is_settled(access):
                is_memory = memref_type(access.value) is not None
                self.values[access.argument] = (
                    emit.load(access.value, self._position(emit, access)) if is_memory else access.value
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
        # An input that is also an output is loaded in the innermost loop.
        return set(access.map_.used_dims()) <= self.open and all(
            access.value is not output.value for output in self.nest.outputs
        )

    def _is_ready(self, op: Operation) -> bool:
        if isinstance(op, IndexOp):
            return op.dim.value.data in self.open
        if op.regions or isinstance(op, INTEGER_DIVISIONS) or not computes_only(op) or isinstance(op, memref.LoadOp):
            return False
        return all(value in self.values or not is_inside(value, self.nest.body) for value in op.operands)

    def _compute(self, emit: emitter.Emitter, op: Operation) -> None:
        match op:
            case IndexOp():
                self.values[op.result] = emit.index(self.dims[op.dim.value.data])
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr | FloatAttr):
                self.values[op.result] = emit.scalar_constant(op.value.value.data, op.result.type)
            case RequantizeOp():
                parameters = [self._value(parameter) for parameter in op.parameters]
                self.values[op.result] = emitter.expand_requantize(emit, op, self._value(op.accumulator), parameters)
            case JoinOp():
                self.values[op.result] = emitter.expand_join(emit, op, [self._value(part) for part in op.parts])
            case _:
                emit.builder.insert(op.clone(self.values))
