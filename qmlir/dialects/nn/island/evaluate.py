"""Evaluation of ONNX fallback nodes by the ONNX runtimes that the registry provides."""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from qmlir import registry
from qmlir.dialects.nn.island.ops import TABLE, OnnxIslandOp


def _island(op: OnnxIslandOp, inputs: Sequence[Any]) -> tuple[Any, ...]:
    return registry.table(TABLE)["evaluate"](op, inputs)


EVALUATORS: dict[type[Operation], Callable[..., tuple[Any, ...]]] = {OnnxIslandOp: _island}
