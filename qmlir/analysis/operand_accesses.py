"""What structured operations read: one view of `linalg.generic` and of the epilogues of contractions.

A reading is an operand that comes element by element, with the map from the operation's iterators to it and the
argument of the body that is its element. Passes that fuse and that change layouts rewrite readings and bodies; this
module knows how the operation is put together again.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, TensorType, i64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free
from xdsl.utils.type import get_element_type_or_self

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.rows import RowReduceOp, row_reductions
from qmlir.ir.builtin_types import as_dense, ranked_tensor, sizes_of
from qmlir.ir.provenance import merged_origins, set_origins
from qmlir.text.elements import dense_array

Structured = GenericOp | EpilogueOp
"""Operations whose bodies compute one element of each result from one element of each reading."""


INTEGER_DIVISIONS: tuple[type[Operation], ...] = (
    arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp,
    arith.CeilDivUIOp,
)  # fmt: skip
"""Operations that trap on a divisor of 0, and that are multiplications only where the divisor is known."""


@dataclass(frozen=True)
class Reading:
    """An operand read element by element."""

    value: SSAValue
    map_: AffineMap
    argument: BlockArgument | None = None

    def through(self, dims: Sequence[AffineExpr], count: int) -> "Reading":
        """The same reading by an operation of `count` iterators, of which `dims` are the ones that it had."""
        return Reading(self.value, replaced(self.map_, dims, count), self.argument)


def replaced(map_: AffineMap, dims: Sequence[AffineExpr], count: int) -> AffineMap:
    """A map of `count` dimensions, `dims` in the place of its own."""
    return AffineMap(count, 0, tuple(each.replace_dims_and_symbols(dims, ()) for each in map_.results))


def readings_of(op: Structured) -> list[Reading]:
    """What an operation reads."""
    if isinstance(op, GenericOp):
        values, maps, arguments = op.inputs, op.indexing_maps.data, op.body.block.args
    else:
        values, maps, arguments = op.epilogue, op.epilogue_maps.data, op.body.block.args[1:]
    return [
        Reading(value, attribute.data, argument)
        for value, attribute, argument in zip(values, maps, arguments, strict=False)
    ]


def output_maps(op: GenericOp) -> list[AffineMap]:
    """The maps of the outputs."""
    return [attribute.data for attribute in op.indexing_maps.data[len(op.inputs) :]]


def output_arguments(op: GenericOp) -> Sequence[BlockArgument]:
    """The elements of the outputs as they were."""
    return op.body.block.args[len(op.inputs) :]


def kinds_of(op: GenericOp) -> list[IteratorType]:
    """The kinds of the iterators."""
    return [attribute.data for attribute in op.iterator_types.data]


def is_elementwise(op: Operation) -> bool:
    """Whether `op` computes each element of its one result from its readings alone."""
    return (
        isinstance(op, GenericOp)
        and len(op.res) == 1
        and all(kind is IteratorType.PARALLEL for kind in kinds_of(op))
        and not output_arguments(op)[0].uses
        and permutation_of(output_maps(op)[0]) is not None
    )


def is_movement(op: Operation) -> bool:
    """Whether `op` only moves the elements of one tensor."""
    if not (isinstance(op, GenericOp) and is_elementwise(op) and len(op.inputs) == 1):
        return False
    first = op.body.block.first_op
    return first is op.body.block.last_op and first is not None and first.operands[0] is op.body.block.args[0]


def permutation_of(map_: AffineMap) -> list[int] | None:
    """The iterator of each axis, where every iterator is exactly one axis."""
    found = [expression.position for expression in map_.results if isinstance(expression, AffineDimExpr)]
    if len(found) != len(map_.results) or sorted(found) != list(range(map_.num_dims)):
        return None
    return found


def computes_only(op: Operation) -> bool:
    """Whether an operation has no effect but its results; xDSL says so of most of `arith` only."""
    return op.dialect_name() in ("arith", "math") or is_side_effect_free(op)


def ranges_of(op: Structured) -> list[int]:
    """The number of steps of each iterator."""
    if isinstance(op, EpilogueOp):
        return list(shaped(op.target)[0])
    ranges = [0] * len(op.iterator_types)
    pairs = [(reading.value, reading.map_) for reading in readings_of(op)]
    for value, map_ in [*pairs, *zip(op.outputs, output_maps(op), strict=True)]:
        for size, expression in zip(sizes_of(value), map_.results, strict=True):
            if isinstance(expression, AffineDimExpr):
                ranges[expression.position] = size
    return ranges


def points_of(op: Structured) -> int:
    """How often the body runs."""
    return math.prod(ranges_of(op))


def determines_iterators(op: Structured, readings: Sequence[Reading]) -> bool:
    """Whether every iterator is still an axis of some operand, and of that size, when `op` reads `readings`.

    A map that became one iterator, as `d0 + d1` does where `d0` is 0, may belong to an axis that is longer than the
    iterator runs: the axis of a padded image, read by a window.
    """
    if isinstance(op, EpilogueOp):
        return True
    ranges = ranges_of(op)
    maps = [(sizes_of(reading.value), reading.map_) for reading in readings]
    maps += [(sizes_of(value), map_) for value, map_ in zip(op.outputs, output_maps(op), strict=True)]
    plain = [
        (expression.position, size)
        for shape, map_ in maps
        for expression, size in zip(map_.results, shape, strict=True)
        if isinstance(expression, AffineDimExpr)
    ]
    return {position for position, _ in plain} == set(range(len(ranges))) and all(
        size == ranges[position] for position, size in plain
    )


def has_index(op: Structured) -> bool:
    """Whether the body asks for the number of an iterator."""
    return any(isinstance(each, IndexOp) for each in op.body.walk())


def reduces_rows(op: Operation) -> bool:
    """Whether the body of an elementwise operation asks for a number of the whole row."""
    return bool(row_reductions(op))


def with_rows_along(block: Block, place_of: Callable[[int], int]) -> None:
    """Let the reductions of a row in a body run along other iterators: `place_of` the old ones."""
    for op in block.ops:
        if isinstance(op, RowReduceOp):
            op.dims = DenseArrayBase.from_list(i64, [place_of(dim) for dim in op.row])


IndexOf = Callable[[Builder, int], SSAValue]
"""Writes the number of an iterator."""


class Assembly:
    """A new body for `op`, which is to read `readings`; equal readings share an argument.

    `values` maps what the body of `op` has besides its readings (the sum, the outputs as they were) to the new body.
    """

    def __init__(self, op: Structured, readings: Sequence[Reading]):
        self.op = op
        self.readings: list[Reading] = []
        places: list[int] = []
        for reading in readings:
            same = (
                place
                for place, each in enumerate(self.readings)
                if each.value is reading.value and each.map_ == reading.map_
            )
            place = next(same, None)
            if place is None:
                place = len(self.readings)
                self.readings.append(reading)
            places.append(place)
        elements = [get_element_type_or_self(reading.value.type) for reading in self.readings]
        fixed = op.body.block.args[len(op.inputs) :] if isinstance(op, GenericOp) else op.body.block.args[:1]
        own = [argument.type for argument in fixed]
        is_generic = isinstance(op, GenericOp)
        self.block = Block(arg_types=[*elements, *own] if is_generic else [*own, *elements])
        self.builder = Builder(InsertPoint.at_end(self.block))
        arguments = self.block.args[: len(elements)] if is_generic else self.block.args[1:]
        rest = self.block.args[len(elements) :] if is_generic else self.block.args[:1]
        self.values: dict[SSAValue, SSAValue] = dict(zip(fixed, rest, strict=True))
        for reading, place in zip(readings, places, strict=True):
            if reading.argument is not None:
                self.values[reading.argument] = arguments[place]

    def inline(self, block: Block, index_of: IndexOf | None = None) -> list[SSAValue]:
        """Write the operations of a body, whose arguments `values` knows; what it yields, not yielded yet."""
        *body, terminator = block.ops
        for op in body:
            if isinstance(op, IndexOp) and index_of is not None:
                self.values[op.result] = index_of(self.builder, op.dim.value.data)
            else:
                self.builder.insert(op.clone(self.values))
        return [self.values.get(value, value) for value in terminator.operands]

    def finish(self, yielded: Sequence[SSAValue], sources: Sequence[Operation] = ()) -> Structured:
        """The new operation, not yet inserted; it stands for `sources` too. Its terminator is that of `op`."""
        terminator = self.op.body.block.last_op
        assert terminator is not None
        self.builder.insert(type(terminator).create(operands=yielded))
        made = rebuilt(self.op, self.readings, self.block)
        set_origins(made, merged_origins((*sources, self.op)))
        return made


def rebuilt(op: Structured, readings: Sequence[Reading], body: Block) -> Structured:
    """`op` with other readings and another body, which may yield another element type."""
    values = [reading.value for reading in readings]
    maps = [AffineMapAttr(reading.map_) for reading in readings]
    terminator = body.last_op
    assert terminator is not None
    if isinstance(op, GenericOp):
        outputs = op.indexing_maps.data[len(op.inputs) :]
        types = [value.type for value in op.res]
        made = GenericOp(values, op.outputs, Region(body), [*maps, *outputs], op.iterator_types, types)
        made.attributes.update(op.attributes)
        return made
    result = ranked_tensor(op.target.type)
    assert result is not None
    yielded = terminator.operands[0].type
    return type(op).create(
        operands=[*op.operands[: op.first_of_epilogue], *values],
        result_types=[with_element(result, yielded)],
        properties={**op.properties, "epilogue_maps": ArrayAttr(maps), **op.segments(len(values), 0)},
        attributes=dict(op.attributes),
        regions=[Region(body)],
    )


def with_element(type_: TensorType[Attribute], element: Attribute) -> TensorType[Attribute]:
    """A tensor type with another element type."""
    return TensorType(element, type_.get_shape())


def is_always_zero(expression: AffineExpr, ranges: Sequence[int]) -> bool:
    """Whether an expression is 0 at every point."""
    if isinstance(expression, AffineConstantExpr):
        return expression.value == 0
    return isinstance(expression, AffineDimExpr) and ranges[expression.position] == 1


def defining(value: SSAValue) -> Operation | None:
    """The operation that gives a value."""
    owner = value.owner
    return owner if isinstance(owner, Operation) else None


def constant_array(value: SSAValue) -> Array | None:
    """The elements of a constant tensor, `None` for any other value."""
    op = defining(value)
    elements = as_dense(op.value) if isinstance(op, arith.ConstantOp) else None
    return None if elements is None else dense_array(elements)


def forget_origins_in_bodies(root: Operation) -> None:
    """Leave provenance to the structured operations: equal kernels shall have equal bodies."""
    for op in root.walk():
        if isinstance(op, Structured):
            for inner in op.body.walk():
                set_origins(inner, ())


def is_inside(value: SSAValue, block: Block) -> bool:
    """Whether a value is an argument of a block, or a result of one of its operations."""
    return value.owner is block or (isinstance(value.owner, Operation) and value.owner.parent is block)
