"""The evaluators of `linalg`, which run structured operations by their indexing maps, iterators and bodies.

The body runs for each point of the iteration space, in the order of a loop nest. If it contains only scalar arithmetic
and each point writes a different element, it runs on whole arrays over the parallel iterators. Each element is then
computed by the same steps in the same order, so results are identical. A listener sees arrays instead of scalars.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, ShapedType
from xdsl.dialects.linalg import Linalg, ops
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.memref import LoadOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Operation, Region
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.ops import JoinOp, ReciprocalRootOp, RequantizeOp
from qmlir.dialects.kernel.rows import RowReduceOp
from qmlir.interpreter.interpreter import Frame
from qmlir.interpreter.upstream.scalars import is_array, scalar_of
from qmlir.ir.builtin_types import element_or_self, integer_list, lies_outside
from qmlir.ir.evaluation import Evaluator, RegionEvaluator, check_writable

_ELEMENTWISE_DIALECTS = ("arith", "math")
"""The dialects whose scalar operations can also run on whole arrays."""

_ELEMENTWISE_OPERATIONS = (
    ops.YieldOp, ops.IndexOp, ExtractOp, LoadOp, ReciprocalRootOp, RequantizeOp, JoinOp, RowReduceOp,
)  # fmt: skip
"""Further operations that can run on whole arrays. Elements are read only from memory that the nest keeps."""


@dataclass(frozen=True)
class _Operand:
    """An operand with its indexing map; a scalar has no axes."""

    value: Any
    type_: Attribute
    map_: AffineMap

    @property
    def is_memory(self) -> bool:
        return isinstance(self.type_, MemRefType)

    @property
    def shape(self) -> tuple[int, ...]:
        return cast(Array, self.value).shape if isinstance(self.type_, ShapedType) else ()

    def position(self, point: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(expression.eval(point, ()) for expression in self.map_.results)

    def read(self, point: Sequence[Any]) -> Any:
        if not isinstance(self.type_, ShapedType):
            return self.value
        found: Any = self.value[self.position(point)]
        return found if is_array(found) else scalar_of(found, element_or_self(self.type_))

    def write(self, point: Sequence[Any], value: Any) -> None:
        self.value[self.position(point)] = value


@dataclass(frozen=True)
class _Nest:
    """A structured operation with the values of its operands; outputs are writable."""

    body: Region
    iterators: tuple[IteratorType, ...]
    inputs: tuple[_Operand, ...]
    outputs: tuple[_Operand, ...]

    @property
    def operands(self) -> tuple[_Operand, ...]:
        return self.inputs + self.outputs

    def ranges(self) -> tuple[int, ...]:
        """Returns the trip count of each iterator. Raises `InterpretationError` if operands disagree."""
        counts: dict[int, int] = {}
        for operand in self.operands:
            for expression, size in zip(operand.map_.results, operand.shape, strict=True):
                if isinstance(expression, AffineDimExpr):
                    counts.setdefault(expression.position, size)
        ranges = tuple(counts[axis] for axis in range(len(self.iterators)))  # the verifier requires each iterator
        if all(ranges):
            for number, operand in enumerate(self.operands):
                self._check_reach(number, operand, ranges)
        return ranges

    def _check_reach(self, number: int, operand: _Operand, ranges: tuple[int, ...]) -> None:
        last = [count - 1 for count in ranges]
        for axis, (expression, size) in enumerate(zip(operand.map_.results, operand.shape, strict=True)):
            corners = expression.eval([0] * len(ranges), ()), expression.eval(last, ())
            is_plain = isinstance(expression, AffineDimExpr)
            if lies_outside(expression, ranges, size) or (is_plain and max(corners) != size - 1):
                raise InterpretationError(
                    f"the loops access indices {min(corners)} to {max(corners)} of operand {number} along "
                    f"dimension {axis}, but its size is {size}"
                )

    def run(self, frame: Frame) -> None:
        """Runs the nest and writes its outputs."""
        ranges, is_on_arrays = self.ranges(), self._runs_on_arrays() and not self._loads_outputs(frame)
        points = self._points_of_arrays(ranges) if is_on_arrays else itertools.product(*map(range, ranges))
        outside = frame.point, frame.steps
        frame.steps = ranges if is_on_arrays else ()
        try:
            for point in points:
                frame.point = point
                arguments = [operand.read(point) for operand in self.operands]
                for operand, value in zip(self.outputs, frame.run(self.body, *arguments), strict=True):
                    operand.write(point, value)
        finally:
            frame.point, frame.steps = outside

    def _points_of_arrays(self, ranges: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yields a point for each step of the reductions; parallel iterators are arrays of all their indices."""
        parallel = [axis for axis, kind in enumerate(self.iterators) if kind is IteratorType.PARALLEL]
        steps: list[Sequence[Any]] = [range(count) for count in ranges]
        for position, axis in enumerate(parallel):
            shape = [1] * len(parallel)
            shape[position] = ranges[axis]
            steps[axis] = [np.arange(ranges[axis]).reshape(shape)] if all(ranges) else []
        return itertools.product(*steps)

    def _runs_on_arrays(self) -> bool:
        parallel = {axis for axis, kind in enumerate(self.iterators) if kind is IteratorType.PARALLEL}
        return (
            bool(parallel)
            and all(parallel <= _plain_axes(operand.map_) for operand in self.outputs)
            and all(_is_elementwise(op) for op in self.body.block.ops)
            and not self._has_aliases()
        )

    def _has_aliases(self) -> bool:
        """Returns True if an output overlaps the memory of another operand, element by element differently."""
        for position, output in enumerate(self.outputs):
            others = (*self.inputs, *self.outputs[:position])
            for other in others:
                if not is_array(other.value) or not np.may_share_memory(other.value, output.value):
                    continue
                if not _is_same_memory(other.value, output.value) or other.map_ != output.map_:
                    return True
        return False

    def _loads_outputs(self, frame: Frame) -> bool:
        """Returns True if the body loads from memory that the nest writes."""
        loaded = [frame.values[op.memref] for op in self.body.block.ops if isinstance(op, LoadOp)]
        return any(np.may_share_memory(array, output.value) for array in loaded for output in self.outputs)


def _is_same_memory(first: Array, second: Array) -> bool:
    """Returns True if two arrays have identical elements in memory."""
    mine, other = (
        (array.__array_interface__["data"], array.shape, array.strides, array.dtype) for array in (first, second)
    )
    return mine == other


def _plain_axes(map_: AffineMap) -> set[int]:
    return {expression.position for expression in map_.results if isinstance(expression, AffineDimExpr)}


def _is_elementwise(op: Operation) -> bool:
    if isinstance(op, _ELEMENTWISE_OPERATIONS):
        return True
    return op.dialect_name() in _ELEMENTWISE_DIALECTS and not any(
        isinstance(value.type, ShapedType) for value in (*op.operands, *op.results)
    )


def _index(frame: Frame, op: ops.IndexOp) -> tuple[Any]:
    return (frame.point[op.dim.value.data],)


def _run(
    frame: Frame,
    body: Region,
    iterators: Sequence[IteratorType],
    inputs: Sequence[_Operand],
    outputs: Sequence[_Operand],
) -> tuple[Any, ...]:
    """Runs a nest on copies of the output tensors, which it returns; output memory is written in place."""
    written = tuple(
        operand if operand.is_memory else replace(operand, value=operand.value.copy()) for operand in outputs
    )
    for operand in written:
        check_writable(operand.value, operand.type_)
    _Nest(body, tuple(iterators), tuple(inputs), written).run(frame)
    return tuple(operand.value for operand in written if not operand.is_memory)


def _structured(
    frame: Frame, op: LinalgStructuredOperation, inputs: tuple[Any, ...], outputs: tuple[Any, ...]
) -> tuple[Any, ...]:
    maps = [attribute.data for attribute in op.get_indexing_maps()]
    operands = [
        _Operand(value, operand.type, map_)
        for value, operand, map_ in zip((*inputs, *outputs), op.operands, maps, strict=True)
    ]
    iterators = [attribute.data for attribute in op.get_iterator_types()]
    return _run(frame, op.body, iterators, operands[: len(inputs)], operands[len(inputs) :])


def _axes_left(rank: int, dropped: Sequence[int]) -> AffineMap:
    """Returns the map from `rank` iterators to all except the dropped ones."""
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(axis) for axis in range(rank) if axis not in dropped))


def _broadcast(frame: Frame, op: ops.BroadcastOp, array: Array, init: Array) -> tuple[Any, ...]:
    source = _Operand(array, op.input.type, _axes_left(init.ndim, integer_list(op.dimensions)))
    target = _Operand(init, op.init.type, AffineMap.identity(init.ndim))
    return _run(frame, op.hidden_region, [IteratorType.PARALLEL] * init.ndim, [source], [target])


def _reduce(frame: Frame, op: ops.ReduceOp, array: Array, init: Array) -> tuple[Any, ...]:
    axes = integer_list(op.dimensions)
    source = _Operand(array, op.input.type, AffineMap.identity(array.ndim))
    target = _Operand(init, op.init.type, _axes_left(array.ndim, axes))
    kinds = [IteratorType.REDUCTION if axis in axes else IteratorType.PARALLEL for axis in range(array.ndim)]
    return _run(frame, op.region, kinds, [source], [target])


EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    **{
        operation: RegionEvaluator(_structured)
        for operation in Linalg.operations
        if issubclass(operation, LinalgStructuredOperation)
    },
    ops.IndexOp: RegionEvaluator(_index),
    ops.BroadcastOp: RegionEvaluator(_broadcast),
    ops.ReduceOp: RegionEvaluator(_reduce),
}
