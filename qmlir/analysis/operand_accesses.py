"""The operands that structured operations read: a common view of `linalg.generic` and of the epilogues of contractions.

An operand access is an operand that is read element by element, with its indexing map and the body argument that holds
the element. Fusion and layout passes rewrite accesses and bodies; this module rebuilds the operation from them.
"""

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, TensorType, i64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike, is_side_effect_free

from qmlir.arithmetic.arrays import Array, wrapped
from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.ops import ReshapeOp, shaped
from qmlir.dialects.kernel.rows import RowReduceOp, row_reductions
from qmlir.ir.builtin_types import as_dense, as_integer, element_or_self, sizes_of, tensor
from qmlir.ir.control_flow import has_uses, terminator_of
from qmlir.ir.provenance import merged_origins, set_origins
from qmlir.text.elements import dense_array

Structured = GenericOp | EpilogueOp
"""Operations whose bodies compute one element of each result from one element of each reading."""


INTEGER_DIVISIONS: tuple[type[Operation], ...] = (
    arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp,
    arith.CeilDivUIOp,
)  # fmt: skip
"""Divisions, which trap on a divisor of 0 and can be replaced with multiplications only if the divisor is known."""


@dataclass(frozen=True)
class OperandAccess:
    """An operand read element by element."""

    value: SSAValue
    map_: AffineMap
    argument: BlockArgument | None = None

    def through(self, dims: Sequence[AffineExpr], count: int) -> "OperandAccess":
        """Returns this reading for an operation with `count` iterators; `dims` expresses the old iterators in the new
        ones."""
        return OperandAccess(self.value, replaced(self.map_, dims, count), self.argument)


def replaced(map_: AffineMap, dims: Sequence[AffineExpr], count: int) -> AffineMap:
    """Returns `map_` with its dimensions replaced by `dims`, which are expressions over `count` dimensions."""
    return AffineMap(count, 0, tuple(each.replace_dims_and_symbols(dims, ()) for each in map_.results))


def readings_of(op: Structured) -> list[OperandAccess]:
    """Returns the readings of `op`: the inputs of a `linalg.generic`, or the epilogue operands of a contraction."""
    if isinstance(op, GenericOp):
        values, maps, arguments = op.inputs, op.indexing_maps.data, op.body.block.args
    else:
        values, maps, arguments = op.epilogue, op.epilogue_maps.data, op.body.block.args[1:]
    found = zip(values, maps, arguments, strict=False)
    return [OperandAccess(value, attribute.data, argument) for value, attribute, argument in found]


def output_maps(op: GenericOp) -> list[AffineMap]:
    """Returns the indexing map of each output."""
    return [attribute.data for attribute in op.indexing_maps.data[len(op.inputs) :]]


def output_arguments(op: GenericOp) -> Sequence[BlockArgument]:
    """Returns the body arguments that hold the initial elements of the outputs."""
    return op.body.block.args[len(op.inputs) :]


def kinds_of(op: GenericOp) -> list[IteratorType]:
    """Returns the type of each iterator (parallel, reduction, ...)."""
    return [attribute.data for attribute in op.iterator_types.data]


def is_elementwise(op: Operation) -> bool:
    """Returns True if `op` computes each element of its only result from its readings, not from the initial output."""
    return (
        isinstance(op, GenericOp)
        and len(op.results) == 1
        and all(kind is IteratorType.PARALLEL for kind in kinds_of(op))
        and not op.body.block.args[-1].uses
        and permutation_of(op.indexing_maps.data[-1].data) is not None
    )


def is_movement(op: Operation) -> bool:
    """Returns True if `op` copies the elements of one tensor to other positions and computes nothing."""
    if not isinstance(op, GenericOp) or len(op.operands) != 2:
        return False
    first = op.body.block.first_op
    if first is None or first is not op.body.block.last_op or first.operands[0] is not op.body.block.args[0]:
        return False
    return is_elementwise(op)


def permutation_of(map_: AffineMap) -> list[int] | None:
    """Returns the iterator that indexes each axis, or `None` if `map_` is not a permutation of the iterators."""
    found = [expression.position for expression in map_.results if isinstance(expression, AffineDimExpr)]
    is_permutation = len(found) == len(map_.results) and sorted(found) == list(range(map_.num_dims))
    return found if is_permutation else None


def computes_only(op: Operation) -> bool:
    """Returns True if `op` has no side effects.

    All operations of `arith` and `math` count, since xDSL's trait is missing on some of them."""
    return op.dialect_name() in ("arith", "math") or is_side_effect_free(op)


def erase_unused_in(block: Block, rewriter: PatternRewriter) -> None:
    """Erases the operations of a body that have unused results and no side effects."""
    for op in reversed(list(block.ops)):
        if op.results and computes_only(op) and not has_uses(op):
            rewriter.erase(op)


def erase_if_unused(op: Operation) -> None:
    """Erases `op` if its results are unused, and then its operands' producers that become unused."""
    waiting = [op]
    while waiting:
        each = waiting.pop()
        if each.parent is not None and not each.regions and computes_only(each) and not has_uses(each):
            waiting += [operand.owner for operand in each.operands if isinstance(operand.owner, Operation)]
            Rewriter.erase_op(each)


def replace_by(op: Operation, value: SSAValue) -> None:
    """Replaces the first result of `op` with `value`, and erases `op` and the producers that become unused."""
    op.results[0].replace_all_uses_with(value)
    erase_if_unused(op)


def slice_of(block: Block, target: SSAValue, leaves: Container[SSAValue]) -> tuple[list[Operation], set[SSAValue]]:
    """Returns the operations in `block` that compute `target` from `leaves`, in program order.

    Also returns the block arguments that these operations read in addition to `leaves`.
    """
    wanted: set[SSAValue] = set() if target in leaves else {target}
    found: list[Operation] = []
    op = target.owner if wanted and isinstance(target.owner, Operation) else None
    while op is not None:
        if not wanted.isdisjoint(op.results):
            found.append(op)
            wanted.difference_update(op.results)
            wanted.update(each for each in op.operands if is_inside(each, block) and each not in leaves)
        op = op.prev_op
    return found[::-1], wanted


def first_addition(sums: SSAValue, block: Block) -> tuple[arith.AddiOp, int] | None:
    """Returns the addition that uses `sums`, and the index of the epilogue operand that it adds.

    Returns `None` unless the addition is the only use of `sums`, and the only use of the epilogue operand."""
    addition = sums.get_user_of_unique_use()
    if not isinstance(addition, arith.AddiOp):
        return None
    index = epilogue_operand_of(addition, sums, block)
    return None if index is None else (addition, index)


def epilogue_operand_of(op: arith.AddiOp | arith.MulfOp, value: SSAValue, block: Block) -> int | None:
    """Returns the index of the epilogue operand that `op` combines with `value`.

    Returns `None` if the other operand of `op` is not an epilogue operand, or has other uses.
    """
    other = op.rhs if op.lhs is value else op.lhs
    if not isinstance(other, BlockArgument) or other.block is not block or other.get_user_of_unique_use() is not op:
        return None
    return other.index - 1


def ranges_of(op: Structured) -> list[int]:
    """Returns the trip count of each iterator."""
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
    """Returns the number of points in the iteration space, which is how often the body runs."""
    return math.prod(ranges_of(op))


def determines_iterators(op: Structured, readings: Sequence[OperandAccess]) -> bool:
    """Returns True if the operands still determine the trip count of every iterator after `op` is changed to read
    `readings`.

    If a map was simplified to one iterator (such as `d0 + d1` with `d0` always 0), it may index an axis that is longer
    than the trip count of the iterator, such as the axis of a padded image that a window reads.
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
    is_same = all(size == ranges[position] for position, size in plain)
    return is_same and {position for position, _ in plain} == set(range(len(ranges)))


def has_index(op: Structured) -> bool:
    """Returns True if the body contains a `linalg.index`."""
    return any(isinstance(each, IndexOp) for each in op.body.walk())


def reduces_rows(op: Operation) -> bool:
    """Returns True if the body of an elementwise operation contains a reduction over a whole row."""
    return bool(row_reductions(op))


def with_rows_along(block: Block, place_of: Callable[[int], int]) -> None:
    """Changes the iterators that the row reductions in a body run along; `place_of` maps old iterators to new ones."""
    for op in block.ops:
        if isinstance(op, RowReduceOp):
            op.dims = DenseArrayBase.from_list(i64, [place_of(dim) for dim in op.row])


IndexOf = Callable[[Builder, int], SSAValue]
"""A function that emits the index of an iterator, given a builder and the number of the iterator."""


class Assembly:
    """Builds a copy of `op` that reads other readings; equal readings share a block argument.

    `values` maps the arguments of the old body (readings, accumulator, initial outputs) to those of the new body.
    """

    def __init__(self, op: Structured, readings: Sequence[OperandAccess]):
        self.op = op
        distinct: dict[tuple[SSAValue, AffineMap], OperandAccess] = {}
        for reading in readings:
            distinct.setdefault((reading.value, reading.map_), reading)
        self.readings = list(distinct.values())
        elements = [element_or_self(reading.value.type) for reading in self.readings]
        is_generic = isinstance(op, GenericOp)
        fixed = output_arguments(op) if is_generic else op.body.block.args[:1]
        own = [argument.type for argument in fixed]
        self.block = Block(arg_types=[*elements, *own] if is_generic else [*own, *elements])
        self.builder = Builder(InsertPoint.at_end(self.block))
        arguments = self.block.args[: len(elements)] if is_generic else self.block.args[1:]
        rest = self.block.args[len(elements) :] if is_generic else self.block.args[:1]
        self.values: dict[SSAValue, SSAValue] = dict(zip(fixed, rest, strict=True))
        taken = dict(zip(distinct, arguments, strict=True))
        for reading in readings:
            if reading.argument is not None:
                self.values[reading.argument] = taken[reading.value, reading.map_]

    def inline(self, block: Block, index_of: IndexOf | None = None, *, moves: bool = False) -> list[SSAValue]:
        """Clones the operations of `block`, whose arguments must be in `values`; returns the values that it would
        yield. With `moves`, moves the operations instead; the caller must then replace the operation that owns `block`.
        """
        *body, terminator = block.ops
        for op in body:
            if isinstance(op, IndexOp) and index_of is not None:
                self.values[op.result] = index_of(self.builder, op.dim.value.data)
            elif moves:
                op.detach()
                for each in op.walk():
                    each.operands = [self.values.get(value, value) for value in each.operands]
                self.builder.insert(op)
            else:
                self.builder.insert(op.clone(self.values))
        return [self.values.get(value, value) for value in terminator.operands]

    def finish(self, yielded: Sequence[SSAValue], sources: Sequence[Operation] = ()) -> Structured:
        """Returns the new operation, which is not inserted yet, with the terminator kind of `op` and provenance of
        `sources`."""
        self.builder.insert(type(terminator_of(self.op.body.block)).create(operands=yielded))
        made = rebuilt(self.op, self.readings, self.block)
        set_origins(made, merged_origins((*sources, self.op)))
        return made


def rebuilt(op: Structured, readings: Sequence[OperandAccess], body: Block) -> Structured:
    """Returns a copy of `op` with other readings and another body; the body may yield a different element type."""
    values = [reading.value for reading in readings]
    maps = [AffineMapAttr(reading.map_) for reading in readings]
    if isinstance(op, GenericOp):
        outputs = op.indexing_maps.data[len(op.inputs) :]
        types = [value.type for value in op.res]
        made = GenericOp(values, op.outputs, Region(body), [*maps, *outputs], op.iterator_types, types)
        made.attributes.update(op.attributes)
        return made
    yielded = terminator_of(body).operands[0].type
    return type(op).create(
        operands=[*op.operands[: op.first_of_epilogue], *values],
        result_types=[with_element(tensor(op.target.type), yielded)],
        properties={**op.properties, "epilogue_maps": ArrayAttr(maps), **op.segments(len(values), 0)},
        attributes=dict(op.attributes),
        regions=[Region(body)],
    )


def with_element(type_: TensorType[Attribute], element: Attribute) -> TensorType[Attribute]:
    """Returns `type_` with its element type replaced."""
    return TensorType(element, type_.get_shape())


def is_always_zero(expression: AffineExpr, ranges: Sequence[int]) -> bool:
    """Returns True if `expression` is 0 at every point of the iteration space."""
    if isinstance(expression, AffineConstantExpr):
        return expression.value == 0
    return isinstance(expression, AffineDimExpr) and ranges[expression.position] == 1


def defining(value: SSAValue) -> Operation | None:
    """Returns the operation that defines `value`, or `None` for a block argument."""
    owner = value.owner
    return owner if isinstance(owner, Operation) else None


def is_constant(value: SSAValue) -> bool:
    """Returns True if an operation such as `arith.constant` defines `value`."""
    op = defining(value)
    return op is not None and op.has_trait(ConstantLike, value_if_unregistered=False)


def integer_bits(value: SSAValue) -> int:
    """Returns the width of an integer value in bits."""
    integer = as_integer(value.type)
    assert integer is not None
    return integer.width.data


def known_integer(value: SSAValue) -> int | None:
    """Returns the constant integer of a value, read as signed, or `None` if it is not known."""
    op = defining(value)
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        return None
    if as_integer(value.type) is None:
        return None
    return wrapped(op.value.value.data, integer_bits(value))


def known_float(value: SSAValue) -> float | None:
    """Returns the constant float of a value, or `None` if it is not known."""
    op = defining(value)
    is_known = isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr)
    return float(cast(Any, op).value.value.data) if is_known else None


def constant_array(value: SSAValue) -> Array | None:
    """Returns the elements of a constant tensor, or `None` for any other value."""
    op = defining(value)
    elements = as_dense(op.value) if isinstance(op, arith.ConstantOp) else None
    return None if elements is None else dense_array(elements)


def _repeat(value: SSAValue) -> GenericOp | None:
    """Returns the operation that repeats the elements of a constant before they are reshaped to `value`, or `None`."""
    op = defining(value)
    repeat = defining(op.source) if isinstance(op, ReshapeOp) else None
    if not isinstance(repeat, GenericOp) or not is_movement(repeat):
        return None
    return repeat if constant_array(repeat.inputs[0]) is not None else None


def is_repeated(value: SSAValue) -> bool:
    """Returns True if a reshaped operation repeats the elements of a constant, as for the parameters of blocks."""
    return _repeat(value) is not None


def repeated_array(value: SSAValue) -> Array | None:
    """Returns the elements of a constant, or of a value that `is_repeated`; `None` for any other value."""
    repeat = _repeat(value)
    if repeat is None:
        return constant_array(value)
    moved = read_elements(repeat, 0)
    return None if moved is None else moved.reshape(sizes_of(value))


def read_elements(op: GenericOp, position: int) -> Array | None:
    """Returns a known input broadcast and transposed to the result of `op`; `None` if it isn't known."""
    known, shape = repeated_array(op.inputs[position]), sizes_of(op.results[0])
    dims = [each.position for each in op.indexing_maps.data[position].data.results if isinstance(each, AffineDimExpr)]
    if known is None or len(dims) != known.ndim or len({*dims}) != len(dims):
        return None
    sizes = [shape[axis] if axis in dims else 1 for axis in range(len(shape))]
    return np.broadcast_to(known.transpose(np.argsort(dims)).reshape(sizes), shape)


def forget_origins_in_bodies(root: Operation) -> None:
    """Removes provenance from the bodies of structured operations, so that equal kernels have equal bodies."""
    for op in root.walk():
        if isinstance(op, Structured):
            for inner in op.body.walk():
                set_origins(inner, ())


def is_inside(value: SSAValue, block: Block) -> bool:
    """Returns True if `value` is an argument of `block` or a result of one of its operations."""
    return value.owner is block or (isinstance(value.owner, Operation) and value.owner.parent is block)
