"""The memory layout of a packed contraction: positions, windows, blocks of channels, and offsets in memory.

Matmuls and convolutions are handled alike: a position of the result, times the stride, is a position of `x`, to which
each filter tap adds an offset. If there is no window, and `x`, the result and the epilogue operands are contiguous
along their positions, all positions that share a weight matrix are joined to one axis.

`Operand` describes how elements of `x` are converted to terms of the sum.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedConvOp, PackedMatMulOp, PackedOp
from qmlir.dialects.simd.base import vector
from qmlir.dialects.simd.memory import LoadOp, LoadPartialOp, StoreOp, StorePartialOp
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.emitter import Emitter, Index, VectorEmitter, add, memory_of, times
from qmlir.targets.cpu.loops.kernel_follow_lengths import splits_lengths
from qmlir.targets.cpu.loops.nests import collapse_axes


def _strides(value: SSAValue) -> tuple[int | None, ...]:
    type_ = memory_of(value)
    return tuple(type_.get_strides() or (None,) * type_.get_num_dims())


def without_gaps(value: SSAValue, first: int, last: int) -> bool:
    """Returns true if the axes from `first` to `last` can be collapsed to one."""
    shape, strides = shaped(value)[0], _strides(value)
    axes = [axis for axis in range(first, last + 1) if shape[axis] != 1]
    steps = [(strides[outer], strides[inner], shape[inner]) for outer, inner in pairwise(axes)]
    return all(inner is not None and outer == inner * size for outer, inner, size in steps)


Place = Sequence[Index]


@dataclass(frozen=True)
class Operand:
    """The memory of `x`, and how its elements are converted to terms of the sum."""

    memory: SSAValue
    is_unsigned: bool
    accumulator: Attribute

    @property
    def element(self) -> Attribute:
        """The element type in memory."""
        return shaped(self.memory)[1]


def load(emit: Emitter, memory: SSAValue, position: Place, lanes: int, count: int | None = None) -> SSAValue:
    """Loads `lanes` consecutive elements, or the first `count` of them followed by zeros."""
    indices, type_ = [emit.index(each) for each in position], vector(lanes, shaped(memory)[1])
    if count is None:
        return emit.insert(LoadOp(memory, indices, type_))
    return emit.insert(LoadPartialOp(memory, indices, emit.index(count), type_))


def load_tile(emit: VectorEmitter, memory: SSAValue, position: Place, strides: Sequence[int]) -> SSAValue:
    """Loads a tile of the shape of `emit`, whose registers are `strides` elements apart along each axis."""
    return emit.insert(LoadOp(memory, [emit.index(each) for each in position], emit.typed(shaped(memory)[1]), strides))


def store_tile(emit: Emitter, value: SSAValue, memory: SSAValue, position: Place, strides: Sequence[int]) -> None:
    """Stores a tile, whose registers are `strides` elements apart along each axis."""
    emit.builder.insert(StoreOp(value, memory, [emit.index(each) for each in position], strides))


def stride_along(memory: SSAValue, axis: int) -> int | None:
    """Returns the distance between neighbors along an axis of memory, in elements; `None` if it is not known."""
    return _strides(memory)[axis]


def store(emit: Emitter, value: SSAValue, memory: SSAValue, position: Place, count: int | None = None) -> None:
    """Stores a vector, or the first `count` of its lanes."""
    indices = [emit.index(each) for each in position]
    if count is None:
        emit.builder.insert(StoreOp(value, memory, indices))
    else:
        emit.builder.insert(StorePartialOp(value, memory, indices, emit.index(count)))


def widened(emit: Emitter, value: SSAValue, x: Operand) -> SSAValue:
    """Converts an element, or a vector of elements, to the accumulator type."""
    return Scalar(value, emit, x.is_unsigned).to(x.accumulator).value


@dataclass(frozen=True)
class EpilogueOperand:
    """An epilogue operand: its memory, and the map from dimensions of the (joined) result to its indices."""

    memory: SSAValue
    map_: AffineMap


def stride_of_dim(reading: EpilogueOperand, dim: int) -> int | None:
    """Returns the distance of an operand's elements along a dimension of the result that it uses.

    Returns `None` if the distance isn't known, or if more than one axis of the operand depends on the dimension.
    """
    axes = [axis for axis, each in enumerate(reading.map_.results) if dim in each.used_dims()]
    if len(axes) != 1 or reading.map_.results[axes[0]] != AffineDimExpr(dim):
        return None
    return stride_along(reading.memory, axes[0])


def readings_of(op: EpilogueOp) -> tuple[EpilogueOperand, ...]:
    """Returns the operands of an epilogue with their maps."""
    pairs = zip(op.epilogue, op.epilogue_maps, strict=True)
    return tuple(EpilogueOperand(value, attribute.data) for value, attribute in pairs)


@dataclass(frozen=True)
class Geometry:
    """The sizes and memory of a contraction, with positions joined if possible.

    `positions` are the dimensions of the result before the channels; the first `batches` of them select the weights.
    """

    x: Operand
    w: SSAValue
    y: SSAValue
    readings: tuple[EpilogueOperand, ...]
    positions: tuple[int, ...]
    strides: tuple[int, ...]
    taps: tuple[int, ...]
    dilations: tuple[int, ...]
    steps: int
    groups: int
    batches: int
    channels: int
    terms: int
    row: int | None

    @property
    def tile_axis(self) -> int:
        """The position dimension that tiles extend along."""
        return len(self.positions) - 1

    def window_place(self, emit: Emitter, positions: Sequence[Index], taps: Sequence[Index], offset: Index) -> "Window":
        """Emits the start of the window at `positions`, moved by `taps` and by an offset in channels."""
        moved = [
            add(emit, times(emit, position, stride), times(emit, tap, dilation))
            for position, stride, tap, dilation in zip(positions, self.strides, taps, self.dilations, strict=True)
        ]
        if self.row is None:
            return Window(self, tuple(moved), offset)
        return Window(self, tuple(moved[:-1]), add(emit, times(emit, moved[-1], self.row), offset))


@dataclass(frozen=True)
class Window:
    """A location in `x` from which a tile reads; consecutive rows of the tile are `stride` positions apart."""

    geometry: Geometry
    leading: tuple[Index, ...]
    last: Index

    def moved(self, emit: Emitter, terms: Index) -> "Window":
        """Returns the window moved forward by `terms` terms."""
        return Window(self.geometry, self.leading, add(emit, self.last, terms))

    @property
    def stride(self) -> int | None:
        """The distance between rows of the tile in memory, in elements; `None` if it is not known."""
        step = self.geometry.strides[-1]
        if self.geometry.row is not None:
            return step * self.geometry.row
        stride = stride_along(self.geometry.x.memory, len(self.leading) - 1)
        return None if stride is None else step * stride

    def row(self, emit: Emitter, row: int) -> list[Index]:
        """Returns the indices of a row of the tile."""
        return self.column(emit, row * self.geometry.strides[-1])

    def column(self, emit: Emitter, column: int) -> list[Index]:
        """Returns the indices of the element `column` positions further along `x`."""
        if self.geometry.row is not None:
            return [*self.leading, add(emit, self.last, column * self.geometry.row)]
        return [*self.leading[:-1], add(emit, self.leading[-1], column), self.last]


def _join_axes(rank: int, joined: Sequence[int]) -> list[list[int]]:
    """Returns the axes up to `rank` in groups, with the axes of `joined` in one group."""
    first, last = joined[0], joined[-1] + 1
    return [*([axis] for axis in range(first)), list(joined), *([axis] for axis in range(last, rank))]


def _places_of(reading: EpilogueOperand, joined: Sequence[int]) -> list[int] | None:
    """Returns the axes of an epilogue operand that run along joined dimensions; `None` if they can't be one axis."""
    dims = [each.position if isinstance(each, AffineDimExpr) else None for each in reading.map_.results]
    used = {dim for each in reading.map_.results for dim in each.used_dims()}
    if used.isdisjoint(joined):
        return []
    positions = [axis for axis, dim in enumerate(dims) if dim in joined]
    is_run = None not in dims and [dims[axis] for axis in positions] == list(joined)
    is_one = is_run and positions == list(range(positions[0], positions[0] + len(positions)))
    return positions if is_one and without_gaps(reading.memory, positions[0], positions[-1]) else None


def _join_positions(
    emit: Emitter, x: SSAValue, y: SSAValue, readings: Sequence[EpilogueOperand], batches: int
) -> tuple[SSAValue, SSAValue, tuple[EpilogueOperand, ...]] | None:
    """Collapses the positions after `batches` leading axes of `x`, the result and the epilogue operands to one axis.

    Returns `None` if that is not possible.
    """
    rank = len(shaped(y)[0])
    joined = range(batches, rank - 1)
    positions = [_places_of(reading, joined) for reading in readings]
    if None in positions or not all(without_gaps(value, batches, rank - 2) for value in (x, y)):
        return None
    if splits_lengths(y, shaped(y)[0][batches : rank - 1]):
        return None
    dims = [AffineExpr.dimension(axis) for axis in (*range(batches), *(batches for _ in joined), batches + 1)]

    def rejoined(reading: EpilogueOperand, own: Sequence[int]) -> EpilogueOperand:
        results = [each.replace_dims_and_symbols(dims, ()) for each in reading.map_.results]
        if not own:
            return EpilogueOperand(reading.memory, AffineMap(batches + 2, 0, tuple(results)))
        memory = collapse_axes(emit, reading.memory, _join_axes(len(results), own))
        kept = (each for axis, each in enumerate(results) if axis not in own[1:])
        return EpilogueOperand(memory, AffineMap(batches + 2, 0, tuple(kept)))

    x, y = (collapse_axes(emit, value, _join_axes(rank, joined)) for value in (x, y))
    return x, y, tuple(rejoined(reading, own or []) for reading, own in zip(readings, positions, strict=True))


def geometry_of(op: PackedOp, emit: Emitter) -> Geometry:
    """Returns the geometry of a contraction with packed weights; emits views at the insertion point of `emit`.

    Raises `DiagnosticError` if `x` has gaps that the variant can't handle.
    """
    assert op.outs is not None
    variant = op.layout.variant
    x, y, packed = op.x, op.outs, shaped(op.w)[0]
    shape, sizes = shaped(y)[0], shaped(x)[0]
    positions, terms = shape[:-1], sizes[-1]
    leading = len(positions)
    strides, taps, dilations = [1] * leading, [1] * leading, [1] * leading
    groups, batches = 1, 0
    if isinstance(op, PackedConvOp):
        strides[1:], dilations[1:] = integer_list(op.strides), integer_list(op.dilations)
        taps[1:] = packed[2:-2]
        groups = 1 if variant.is_lanewise else op.group_count
    elif isinstance(op, PackedMatMulOp):
        batches = op.batch_axes
    readings = readings_of(op)
    is_plain = sizes[:-1] == positions and math.prod(taps) == 1
    if leading - batches > 1 and is_plain and (joined := _join_positions(emit, x, y, readings, batches)) is not None:
        x, y, readings = joined
        positions = (*positions[:batches], math.prod(positions[batches:]))
        leading = len(positions)
        strides, taps, dilations = [1] * leading, [1] * leading, [1] * leading
    row: int | None = None
    own_terms = terms // op.group_count if isinstance(op, PackedConvOp) else terms
    is_run_of_taps = not variant.is_lanewise and packed[-2] > -(-own_terms // (variant.group * variant.parts))
    can_join = without_gaps(x, leading - 1, leading) and innermost_is_dense(x)
    if can_join and not splits_lengths(op, shaped(x)[0][leading - 1 :]):
        # Collapse positions and terms to one axis, so that runs of terms can continue across adjacent taps.
        axes = [[axis] for axis in range(leading - 1)]
        x, row = collapse_axes(emit, x, [*axes, [leading - 1, leading]]), terms
    elif is_run_of_taps or (variant.reads_neighbours and not innermost_is_dense(x)):
        raise op_error(op, f"requires contiguous memory along the last two axes, but got {x.type}")
    return Geometry(
        Operand(x, op.input_unsigned is not None, op.accumulator_type), op.w, y, readings, positions, tuple(strides),
        tuple(taps), tuple(dilations), packed[-2], groups, batches, shape[-1], terms, row,
    )  # fmt: skip


def innermost_is_dense(value: SSAValue) -> bool:
    """Returns true if the last axis has stride 1 or size 1."""
    strides = _strides(value)
    return bool(strides) and (strides[-1] == 1 or shaped(value)[0][-1] == 1)
