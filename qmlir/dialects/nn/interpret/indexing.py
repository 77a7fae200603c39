"""What the operations that take elements by index compute, on stored values of any kind."""

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.dialects.nn.ops import indexing as ops
from qmlir.ir.evaluation import Meaning

Array = npt.NDArray[Any]


def checked_indices(indices: Array, size: int) -> Array:
    """Indices counted from the front. Raises `InterpretationError` for one that is out of range."""
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        raise InterpretationError(f"index {indices[wrong].flat[0]} is out of range for {size} elements")
    return np.where(indices < 0, indices + size, indices)


def _gather(op: ops.GatherOp, x: Array, indices: Array) -> tuple[Array]:
    axis = op.axis.value.data
    return (np.take(x, checked_indices(indices, x.shape[axis]), axis=axis),)


MEANINGS: dict[type[Operation], Meaning] = {ops.GatherOp: _gather}
