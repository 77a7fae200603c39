"""Evaluation of shapes, repetition, padding and masks with NumPy."""

from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.elementwise.ops import broadcast_shapes
from qmlir.dialects.nn.evaluation import widened
from qmlir.dialects.nn.shapes import ops
from qmlir.dialects.nn.shapes.ops import padded_shape, range_size
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
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
    positions = np.arange(range_size(first.item(), last.item(), step.item()))
    values = first + positions.astype(first.dtype) * step
    return (np.asarray(values).astype(start.dtype),)


# Evaluation of broadcasts, tiling, padding and triangular masks, on stored values of any kind.


def stored_zeros(value: SSAValue, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Returns a tensor of zeros for the elements of `value`, which are its zero points if it is quantized."""
    element = element_of(value)
    if not isinstance(element, UniformQuantizedType):
        return np.zeros(shape, dtype)
    _, zero_points = broadcast_parameters(element, shape)
    return np.broadcast_to(zero_points.astype(dtype), shape)


def _expand(op: ops.ExpandOp, x: Array, shape: Array | None) -> tuple[Array]:
    target = op.integers("shape", shape) or ()
    if any(size < 0 for size in target):
        raise InterpretationError(f"sizes must be >= 0, but got {list(target)}")
    return (np.broadcast_to(x, broadcast_shapes(x.shape, target)),)


def _tile(op: ops.TileOp, x: Array, repeats: Array | None) -> tuple[Array]:
    return (np.tile(x, op.factors(x.ndim, repeats)),)


def _pad(op: ops.PadOp, x: Array, value: Array | None, *parameters: Array | None) -> tuple[Array]:
    pads = op.paddings(x.ndim, *parameters)
    shape = padded_shape(x.shape, pads)
    kept = x[
        tuple(slice(max(-before, 0), size + min(after, 0)) for size, (before, after) in zip(x.shape, pads, strict=True))
    ]
    added = [(max(before, 0), max(after, 0)) for before, after in pads]
    if op.mode.data != "constant":
        mode: Any = op.mode.data
        return (np.pad(kept, added, mode=mode),)
    if value is None:
        result = stored_zeros(op.input, shape, x.dtype).copy()
    else:
        result = np.full(shape, value.reshape(()), x.dtype)
    inner = tuple(slice(before, before + size) for size, (before, _) in zip(kept.shape, added, strict=True))
    result[inner] = kept
    return (result,)


def _trilu(op: ops.TriluOp, x: Array, k: Array | None) -> tuple[Array]:
    (shift,) = op.integers("k", k) or (0,)
    rows, columns = (np.arange(size, dtype=np.int64) for size in x.shape[-2:])
    diagonal = columns[None, :] - rows[:, None]
    inside = diagonal >= shift if op.upper.value.data else diagonal <= shift
    return (np.where(inside, x, stored_zeros(op.input, x.shape, x.dtype)),)


EVALUATORS: dict[type[Operation], Evaluator] = {
    ops.ShapeOp: _shape,
    ops.SizeOp: _size,
    ops.RangeOp: _range,
    ops.ExpandOp: _expand,
    ops.TileOp: _tile,
    ops.PadOp: _pad,
    ops.TriluOp: _trilu,
}
