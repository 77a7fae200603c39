"""What the operations on shapes compute."""

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from qmlir.dialects.nn.ops import shapes as ops
from qmlir.ir.evaluation import Meaning

Array = npt.NDArray[Any]


def _shape(op: ops.ShapeOp, x: Array) -> tuple[Array]:
    return (np.array(x.shape[op.bounds], dtype=np.int64),)


def _size(op: ops.SizeOp, x: Array) -> tuple[Array]:
    return (np.array(x.size, dtype=np.int64),)


MEANINGS: dict[type[Operation], Meaning] = {ops.ShapeOp: _shape, ops.SizeOp: _size}
