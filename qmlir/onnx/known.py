"""What can be told of small lists of integers before the model runs: chains of Shape, Gather, Concat and the like.

`(None, 3, 224)` is a list of three numbers of which the first is not known. A Reshape to such a list needs no list at
run time. Arithmetic on known numbers is left to constant folding, which sees lists that are known throughout.
"""

from collections.abc import Callable, Iterable
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import element_of, shape_of
from qmlir.dialects.nn.ops import elementwise, indexing, movement, shapes

Known = tuple[int | None, ...]
"""The numbers of a tensor of integers in row-major order, `None` for each that is not known."""

Lookup = Callable[[SSAValue], Known | None]
Rule = Callable[[Any, Lookup], Known | None]


def _shape(op: shapes.ShapeOp, known: Lookup) -> Known:
    sizes = shape_of(op.input)[op.bounds]
    return tuple(None if size == DYNAMIC_INDEX else size for size in sizes)


def _same(op: Any, known: Lookup) -> Known | None:
    return known(op.input)


def _cast(op: elementwise.CastOp, known: Lookup) -> Known | None:
    return known(op.input) if isinstance(element_of(op.result), IntegerType) else None


def _gather(op: indexing.GatherOp, known: Lookup) -> Known | None:
    data, indices = known(op.input), known(op.indices)
    if data is None or indices is None or len(shape_of(op.input)) != 1:
        return None
    return tuple(None if index is None else data[index] for index in indices)


def _slice(op: movement.SliceOp, known: Lookup) -> Known | None:
    data = known(op.input)
    if data is None or len(shape_of(op.input)) != 1 or not all(op.is_known(name) for name in op.PARAMETERS):
        return None
    starts, ends, _, steps = op.bounds()
    return data[slice(starts[0], ends[0], steps[0])] if starts else data


def _concat(op: movement.ConcatOp, known: Lookup) -> Known | None:
    parts: list[int | None] = []
    for value in op.inputs:
        part = known(value)
        if part is None or len(shape_of(value)) != 1:
            return None
        parts.extend(part)
    return tuple(parts)


_RULES: dict[type[Operation], Rule] = {
    shapes.ShapeOp: _shape,
    movement.ReshapeOp: _same,
    movement.SqueezeOp: _same,
    movement.UnsqueezeOp: _same,
    movement.SliceOp: _slice,
    movement.ConcatOp: _concat,
    elementwise.CastOp: _cast,
    indexing.GatherOp: _gather,
}


def known_results(op: Operation, known: Lookup) -> Iterable[tuple[SSAValue, Known]]:
    """The result of `op` and what is known of it, where something is."""
    rule = _RULES.get(type(op))
    result = None if rule is None else rule(op, known)
    if result is not None and any(number is not None for number in result):
        yield op.results[0], result
