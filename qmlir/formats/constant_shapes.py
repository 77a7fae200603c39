"""Evaluates shape computations (Shape, Gather, Concat) at import, and traces sizes to the tensors they come from."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import FOLD_LIMIT, constant_array
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.movement.ops import slice_indices
from qmlir.dialects.nn.normalization import ops as normalization
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import evaluate
from qmlir.text.elements import dense_dtype

# Partial evaluation of small integer tensors at import: chains of Shape, Gather, Concat and the like.
#
# `(None, 3, 224)` is a list of three numbers whose first one is unknown. A Reshape to such a list doesn't need it at
# run time. A fully known list becomes a constant, so that operations on it fold.

Known = tuple[int | None, ...]
"""The elements of an integer tensor in row-major order, with `None` for unknown elements."""

Lookup = Callable[[SSAValue], Known | None]
Numbers = Array
"""The elements of an integer tensor as an object array of its shape, with `None` for unknown elements."""

Rule = Callable[[Any, Lookup], Sequence[Numbers] | None]
"""A function that returns the known elements of an operation's results, or `None` if none are known."""

CANNOT = (InterpretationError, VerifyException, ValueError, IndexError)
"""Exceptions of operations that can't be evaluated at import. They are ignored; running the model reports them."""


def _numbers(value: SSAValue, known: Lookup) -> Numbers | None:
    """Returns the known elements of `value`; `None` if they aren't integers, are too many or have a dynamic shape."""
    shape = shape_of(value)
    if not isinstance(element_of(value), IntegerType) or DYNAMIC_INDEX in shape or math.prod(shape) > FOLD_LIMIT:
        return None
    found = known(value)
    return np.array((None,) * math.prod(shape) if found is None else found, dtype=np.object_).reshape(shape)


def _is_open(numbers: Numbers) -> npt.NDArray[np.bool_]:
    """Returns a mask of the unknown numbers."""
    return np.array([number is None for number in numbers.flat], dtype=np.bool_).reshape(numbers.shape)


def _shape(op: shapes.ShapeOp, known: Lookup) -> Sequence[Numbers]:
    sizes = shape_of(op.input)[op.bounds]
    return [np.array([None if size == DYNAMIC_INDEX else size for size in sizes], dtype=np.object_)]


def _size(op: shapes.SizeOp, known: Lookup) -> Sequence[Numbers] | None:
    sizes = shape_of(op.input)
    return None if DYNAMIC_INDEX in sizes else [np.array(math.prod(sizes), dtype=np.object_)]


def _moved(op: NnOp, known: Lookup) -> Sequence[Numbers] | None:
    """Evaluates a movement, which may move unknown numbers; its parameters must be known."""
    if isinstance(op, indexing.ScatteringOp) and op.reduction.data != "none":
        return None
    arrays: list[Numbers] = []
    for value, slot in op.operands_with_slots():
        numbers = _numbers(value, known)
        if numbers is None or (slot is None and _is_open(numbers).any()):
            return None
        arrays.append(numbers if slot is not None else numbers.astype(np.int64))
    return evaluate(op, arrays)


def _elementwise(op: NnOp, known: Lookup) -> Sequence[Numbers] | None:
    """Evaluates an element-wise operation. An element of the result is known if it is in all operands."""
    arrays: list[Numbers] = []
    is_open: npt.NDArray[np.bool_] = np.zeros((), dtype=np.bool_)
    for value in op.operands:
        numbers = _numbers(value, known)
        if numbers is None:
            return None
        opens = _is_open(numbers)
        is_open = is_open | opens
        # Unknown numbers are replaced by 1, which is a valid divisor; their results are dropped.
        arrays.append(np.where(opens, 1, numbers).astype(dense_dtype(element_of(value))))
    results = evaluate(op, arrays)
    return None if results is None else [_opened(result, is_open) for result in results]


def _opened(numbers: Numbers, is_open: npt.NDArray[np.bool_]) -> Numbers:
    """Returns `numbers` with `None` for those in the mask `is_open`."""
    found = numbers.astype(np.object_)
    found[np.broadcast_to(is_open, found.shape)] = None
    return found


def _where(op: elementwise.WhereOp, known: Lookup) -> Sequence[Numbers] | None:
    condition, lhs, rhs = (_numbers(value, known) for value in op.operands)
    if condition is None or lhs is None or rhs is None:
        return None
    return [_opened(np.where(condition.astype(np.bool_), lhs, rhs), _is_open(condition))]


_RULES: Sequence[tuple[type[Operation] | tuple[type[Operation], ...], Rule]] = (
    (shapes.ShapeOp, _shape),
    (shapes.SizeOp, _size),
    ((movement.MovementOp, movement.ConcatOp, movement.SplitOp, indexing.GatheringOp, indexing.ScatteringOp), _moved),
    ((elementwise.UnaryOp, elementwise.BinaryOp, elementwise.CastOp), _elementwise),
    (elementwise.WhereOp, _where),
)


def known_results(op: Operation, known: Lookup) -> Iterable[tuple[SSAValue, Known]]:
    """Returns the results of `op` that have known elements, each with these elements."""
    rule = next((rule for operations, rule in _RULES if isinstance(op, operations)), None)
    is_told = isinstance(op, shapes.ShapeOp | shapes.SizeOp) or any(known(value) for value in op.operands)
    if rule is None or not is_told or not all(isinstance(element_of(result), IntegerType) for result in op.results):
        return
    try:
        results = rule(op, known)
    except CANNOT:
        return
    for result, numbers in zip(op.results, results or (), strict=False):
        if numbers.size <= FOLD_LIMIT and not (numbers.size and _is_open(numbers).all()):
            yield result, tuple(None if number is None else int(number) for number in numbers.flat)


# Origins of sizes: a list of sizes computed at run time may contain sizes of a known tensor.
#
# `x.reshape(x.size(0), -1)` is imported with a list whose first element is unknown. If it is known to be the size of
# axis 0 of `x`, the other size can be inferred. A size is traced through the operations that build the list, and then
# through operations that leave an axis of a tensor unchanged.

Dimension = tuple[SSAValue, int]
"""A tensor and the index of one of its axes."""


@dataclass(frozen=True)
class Copied:
    """A size that is copied from an axis of the data."""

    axis: int


def resolved_sizes(before: Sequence[int], after: Sequence[int | Copied]) -> list[int]:
    """Returns the sizes `after` a reshape of data of shape `before`; infers a single unknown size if possible."""
    taken = {size.axis for size in after if isinstance(size, Copied)}
    sizes = [before[size.axis] if isinstance(size, Copied) else size for size in after]
    if len(taken) != sum(isinstance(size, Copied) for size in after):
        return sizes
    rest = [size for axis, size in enumerate(before) if axis not in taken]
    others = [size for size in after if not isinstance(size, Copied)]
    if DYNAMIC_INDEX in rest or others.count(DYNAMIC_INDEX) != 1:
        return sizes
    count, known = math.prod(rest), math.prod(size for size in others if size != DYNAMIC_INDEX)
    # If a copied size is 0, the number of elements determines nothing.
    if known == 0 or count % known:
        return sizes
    return [count // known if size == DYNAMIC_INDEX else own for size, own in zip(after, sizes, strict=True)]


# Operations that build a list of sizes.


def _listed(op: Operation, position: int) -> tuple[SSAValue, int] | None:
    """Returns the list and index that element `position` of the result of `op` comes from."""
    match op:
        case movement.ReshapeOp() | movement.SqueezeOp() | movement.UnsqueezeOp() | elementwise.CastOp():
            return op.input, position
        case movement.ConcatOp():
            for value in op.inputs:
                length = math.prod(shape_of(value))
                if length < 0:
                    return None
                if position < length:
                    return value, position
                position -= length
            return None
        case indexing.GatherOp():
            indices = constant_array(op.indices)
            if indices is None or len(shape_of(op.input)) != 1:
                return None
            index = int(indices.reshape(-1)[position])
            return op.input, index % shape_of(op.input)[0]
        case movement.SliceOp():
            if len(shape_of(op.input)) != 1 or not all(op.is_known(name) for name in op.PARAMETERS):
                return None
            starts, ends, _, steps = op.bounds()
            size = shape_of(op.input)[0]
            return op.input, slice_indices(size, starts[0], ends[0], steps[0])[position]
        case _:
            return None


def _dimension(value: SSAValue, position: int) -> Dimension | None:
    """Returns the axis whose size is element `position` of a list, or `None`."""
    while isinstance(op := value.owner, Operation):
        if isinstance(op, shapes.ShapeOp):
            return op.input, range(len(shape_of(op.input)))[op.bounds][position]
        if (source := _listed(op, position)) is None:
            return None
        value, position = source
    return None


# Operations that leave an axis of a tensor unchanged.


def _unchanged(op: Operation, axis: int) -> Dimension | None:
    """Returns the axis of an operand whose size equals that of `axis` of the only result of `op`, or `None`."""
    match op:
        case elementwise.UnaryOp() | elementwise.CastOp() | normalization.SoftmaxLikeOp():
            return op.input, axis
        case normalization.NormOp():
            return op.operands[0], axis
        case contraction.BiasedContractionOp() | pooling.PoolOp() | pooling.GlobalPoolOp() if axis == 0:
            return op.operands[0], axis
        case contraction.FullyConnectedOp() if axis < len(shape_of(op.data)) - 1:
            return op.data, axis
        case contraction.MatMulOp() if axis < len(shape_of(op.lhs)) - 1 and len(shape_of(op.rhs)) == 2:
            return op.lhs, axis
        case movement.TransposeOp():
            return op.input, op.order[axis]
        case movement.ConcatOp() if axis != op.axis.value.data % len(shape_of(op.result)):
            return op.inputs[0], axis
        case movement.ReshapeOp():
            return _through_reshape(op.input, shape_of(op.input), shape_of(op.result))
        case _:
            return None


def _through_reshape(value: SSAValue, before: Sequence[int], after: Sequence[int]) -> Dimension | None:
    """Returns the only dynamic axis before a reshape with one dynamic size; they are equal if all other sizes are."""
    if before.count(DYNAMIC_INDEX) != 1 or after.count(DYNAMIC_INDEX) != 1:
        return None
    counts = [math.prod(size for size in sizes if size != DYNAMIC_INDEX) for sizes in (before, after)]
    return (value, before.index(DYNAMIC_INDEX)) if counts[0] == counts[1] != 0 else None


def _origin(dimension: Dimension) -> Dimension:
    """Returns the earliest axis in the data flow with the same size."""
    value, axis = dimension
    while isinstance(value.owner, Operation) and len(value.owner.results) == 1:
        if (source := _unchanged(value.owner, axis)) is None:
            break
        value, axis = source
    return value, axis


def size_source(sizes: SSAValue, position: int, data: SSAValue) -> int | None:
    """Returns the axis of `data` whose size is the element at index `position` of `sizes`, or `None` if it is unknown.

    Only dynamic axes are considered. If several axes match, the axis with the index `position` is preferred.
    """
    named = _dimension(sizes, position)
    if named is None:
        return None
    origin = _origin(named)
    axes = [axis for axis, size in enumerate(shape_of(data)) if size == DYNAMIC_INDEX]
    axes.sort(key=lambda axis: axis != position)
    return next((axis for axis in axes if _origin((data, axis)) == origin), None)
