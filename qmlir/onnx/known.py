"""What can be told of small lists of integers before the model runs: chains of Shape, Gather, Concat and the like.

`(None, 3, 224)` is a list of three numbers of which the first is not known. A Reshape to such a list needs no list at
run time. A list that is known throughout becomes a constant, so what is computed from it alone folds.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import FOLD_LIMIT
from qmlir.dialects.nn.ops import elementwise, indexing, movement, shapes
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.evaluation import evaluate
from qmlir.text.elements import dense_dtype

Known = tuple[int | None, ...]
"""The numbers of a tensor of integers in row-major order, `None` for each that is not known."""

Lookup = Callable[[SSAValue], Known | None]
Numbers = Array
"""Known numbers in the shape of their tensor: Python's integers, and `None`."""

Rule = Callable[[Any, Lookup], Sequence[Numbers] | None]
"""What is known of the results of an operation."""

CANNOT = (InterpretationError, VerifyException, ValueError, IndexError)
"""What an operation raises that cannot be computed: it will say so itself when the model runs."""


def _numbers(value: SSAValue, known: Lookup) -> Numbers | None:
    """What is known of the elements of `value`; `None` where they are no integers, or too many or of an open number."""
    shape = shape_of(value)
    if not isinstance(element_of(value), IntegerType) or DYNAMIC_INDEX in shape or math.prod(shape) > FOLD_LIMIT:
        return None
    found = known(value)
    return np.array((None,) * math.prod(shape) if found is None else found, dtype=np.object_).reshape(shape)


def _is_open(numbers: Numbers) -> npt.NDArray[np.bool_]:
    """Where numbers are not known."""
    return np.array([number is None for number in numbers.flat], dtype=np.bool_).reshape(numbers.shape)


def _sizes(sizes: Sequence[int]) -> Numbers:
    return np.array([None if size == DYNAMIC_INDEX else size for size in sizes], dtype=np.object_)


def _shape(op: shapes.ShapeOp, known: Lookup) -> Sequence[Numbers]:
    return [_sizes(shape_of(op.input)[op.bounds])]


def _size(op: shapes.SizeOp, known: Lookup) -> Sequence[Numbers] | None:
    sizes = shape_of(op.input)
    return None if DYNAMIC_INDEX in sizes else [np.array(math.prod(sizes), dtype=np.object_)]


def _moved(op: NnOp, known: Lookup) -> Sequence[Numbers] | None:
    """Movement takes what is not known along; where it goes must be known."""
    arrays: list[Numbers] = []
    for value, slot in op.operands_with_slots():
        numbers = _numbers(value, known)
        if numbers is None or (slot is None and _is_open(numbers).any()):
            return None
        arrays.append(numbers if slot is not None else numbers.astype(np.int64))
    return evaluate(op, arrays)


def _written(op: indexing.ScatteringOp, known: Lookup) -> Sequence[Numbers] | None:
    return _moved(op, known) if op.reduction.data == "none" else None


def _elementwise(op: NnOp, known: Lookup) -> Sequence[Numbers] | None:
    """An element of the result is known where those of all operands are."""
    arrays: list[Numbers] = []
    is_open: npt.NDArray[np.bool_] = np.zeros((), dtype=np.bool_)
    for value in op.operands:
        numbers = _numbers(value, known)
        if numbers is None:
            return None
        opens = _is_open(numbers)
        is_open = is_open | opens
        # Any number will do for one that is not known: what comes of it is dropped. 1 divides.
        arrays.append(np.where(opens, 1, numbers).astype(dense_dtype(element_of(value))))
    results = evaluate(op, arrays)
    return None if results is None else [_opened(result, is_open) for result in results]


def _opened(numbers: Numbers, is_open: npt.NDArray[np.bool_]) -> Numbers:
    """`numbers` without those that are not known."""
    found = numbers.astype(np.object_)
    found[np.broadcast_to(is_open, found.shape)] = None
    return found


def _where(op: elementwise.WhereOp, known: Lookup) -> Sequence[Numbers] | None:
    condition, lhs, rhs = (_numbers(value, known) for value in op.operands)
    if condition is None or lhs is None or rhs is None:
        return None
    return [_opened(np.where(condition.astype(np.bool_), lhs, rhs), _is_open(condition))]


_RULES: Sequence[tuple[type[Operation], Rule]] = (
    (shapes.ShapeOp, _shape),
    (shapes.SizeOp, _size),
    (movement.MovementOp, _moved),
    (movement.ConcatOp, _moved),
    (movement.SplitOp, _moved),
    (indexing.GatheringOp, _moved),
    (indexing.ScatteringOp, _written),
    (elementwise.UnaryOp, _elementwise),
    (elementwise.BinaryOp, _elementwise),
    (elementwise.CastOp, _elementwise),
    (elementwise.WhereOp, _where),
)


def known_results(op: Operation, known: Lookup) -> Iterable[tuple[SSAValue, Known]]:
    """The results of `op` of which something is known, and what."""
    rule = next((rule for operation, rule in _RULES if isinstance(op, operation)), None)
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
