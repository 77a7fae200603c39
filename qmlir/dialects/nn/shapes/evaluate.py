"""Evaluation of operations on shapes."""

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.evaluation.arrays import widened
from qmlir.dialects.nn.shapes import ops
from qmlir.dialects.nn.shapes.ops import range_size
from qmlir.ir.evaluation import Evaluator


def _shape(op: ops.ShapeOp, x: Array) -> tuple[Array]:
    return (np.array(x.shape[op.bounds], dtype=np.int64),)


def _size(op: ops.SizeOp, x: Array) -> tuple[Array]:
    return (np.array(x.size, dtype=np.int64),)


def _range(op: ops.RangeOp, start: Array, limit: Array, delta: Array) -> tuple[Array]:
    """Computes in the type of the operands; f16 and bf16 in f32, rounded once."""
    first, last, step = (widened(bound).reshape(())[()] for bound in (start, limit, delta))
    if not step:
        raise InterpretationError("delta must not be 0")
    places = np.arange(range_size(first.item(), last.item(), step.item()))
    values = first + places.astype(first.dtype) * step
    return (np.asarray(values).astype(start.dtype),)


EVALUATORS: dict[type[Operation], Evaluator] = {ops.ShapeOp: _shape, ops.SizeOp: _size, ops.RangeOp: _range}
