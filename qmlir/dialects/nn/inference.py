"""What operations that are in training compute at inference, for `strip-training`.

A rule `(at, op)` adds operations by `at`, and returns the values in the place of the results; `None` for one that
nothing reads. Those of a package are in its contribution's table `inference`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.normalization.ops import BatchNormOp
from qmlir.dialects.nn.terms import Site
from qmlir.dialects.nn.training.ops import BatchNormTrainingOp, DropoutOp

AtInference = Callable[[Site, Any], Sequence[SSAValue | None]]


def _dropout(at: Site, op: DropoutOp) -> Sequence[SSAValue | None]:
    """Every element is kept."""
    if op.mask.first_use is None:
        return [op.input, None]
    kept = at.append(ConstantOp.of(np.ones((), np.int8), TensorType(i1, ()))).result
    return [op.input, at.expanded(kept, op.input)]


def _batch_norm(at: Site, op: BatchNormTrainingOp) -> Sequence[SSAValue]:
    """The running statistics normalize, and stay as they are."""
    statistics = op.mean, op.variance
    result = at.add(BatchNormOp, op.data, op.scale, op.bias, *statistics, epsilon=op.epsilon).result
    return [result, *statistics, *statistics]


RULES: dict[type[Operation], AtInference] = {DropoutOp: _dropout, BatchNormTrainingOp: _batch_norm}
