"""Operations in training mode by other operations: parts of batch normalization, and forms for inference."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.base import build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.decomposition import Decompose, Results, scalar
from qmlir.dialects.nn.elementwise.ops import AddOp, MulOp
from qmlir.dialects.nn.movement.ops import SqueezeOp
from qmlir.dialects.nn.normalization.decompose import moments
from qmlir.dialects.nn.normalization.ops import BatchNormOp
from qmlir.dialects.nn.terms import InsertionBuilder
from qmlir.dialects.nn.training.ops import BatchNormTrainingOp, DropoutOp
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import Parts


def _batch_norm_training(op: BatchNormTrainingOp, parts: Parts) -> Results:
    """The variance is the mean of the squared deviations from the mean."""
    axes = [axis for axis in range(len(shape_of(op.data))) if axis != 1]
    _, *found = moments(parts, op.data, axes)
    batch: Sequence[SSAValue] = [
        parts.add(role, build(SqueezeOp, [value], {"axes": axes})).result
        for role, value in zip(("mean/channels", "variance/channels"), found, strict=True)
    ]
    share, running = op.momentum.value.data, list[SSAValue]()
    for role, old, new in zip(("running_mean", "running_variance"), (op.mean, op.variance), batch, strict=True):
        kept, added = (
            parts.add(f"{role}/{age}", MulOp(value, scalar(parts, f"{role}/{age}_share", part, value))).result
            for age, value, part in (("old", old, share), ("new", new, 1 - share))
        )
        running.append(parts.add(role, AddOp(kept, added)).result)
    operands = [op.data, op.scale, op.bias, *batch]
    normalized = parts.add("normalized", build(BatchNormOp, operands, {"epsilon": op.epsilon.value.data}))
    return [normalized.result, *running, *batch]


COMPOSITES: dict[type[Operation], Decompose] = {BatchNormTrainingOp: _batch_norm_training}


# Inference forms, for `strip-training`.
#
# A rule `(at, op)` adds operations through `at`, and returns the values that replace the results of `op`; `None` for an
# unused result. A package lists its rules in the table `inference` of its contribution.

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


INFERENCE: dict[type[Operation], AtInference] = {DropoutOp: _dropout, BatchNormTrainingOp: _batch_norm}
