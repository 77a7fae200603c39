"""Inference forms of operations in training mode, for `strip-training`.

A rule `(at, op)` adds operations through `at`, and returns the values that replace the results of `op`; `None` for an
unused result. A package lists its rules in the table `inference` of its contribution.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.normalization.ops import BatchNormOp
from qmlir.dialects.nn.terms import InsertionBuilder
from qmlir.dialects.nn.training.ops import BatchNormTrainingOp, DropoutOp

AtInference = Callable[[InsertionBuilder, Any], Sequence[SSAValue | None]]


def _dropout(at: InsertionBuilder, op: DropoutOp) -> Sequence[SSAValue | None]:
    """Keeps every element."""
    if op.mask.first_use is None:
        return [op.input, None]
    kept = at.append(ConstantOp.of(np.ones((), np.int8), TensorType(i1, ()))).result
    return [op.input, at.expanded(kept, op.input)]


def _batch_norm(at: InsertionBuilder, op: BatchNormTrainingOp) -> Sequence[SSAValue]:
    """Normalizes by the running statistics, and leaves these unchanged."""
    statistics = op.mean, op.variance
    result = at.add(BatchNormOp, op.data, op.scale, op.bias, *statistics, epsilon=op.epsilon).result
    return [result, *statistics, *statistics]


RULES: dict[type[Operation], AtInference] = {DropoutOp: _dropout, BatchNormTrainingOp: _batch_norm}
