"""Evaluation of `team` operations in one valid order: the chunks of `THREADS` threads, one thread at a time."""

from typing import Any

from xdsl.ir import Operation

from qmlir.dialects.team.ops import ChunksOp, SingleOp, chunk_bounds
from qmlir.ir.evaluation import Evaluator, RegionEvaluator

THREADS = 2
"""The number of simulated threads: more than one, so that wrong chunk bounds yield wrong results."""


def _single(frame: Any, op: SingleOp) -> tuple[Any, ...]:
    return frame.run(op.body)


def _chunks(frame: Any, op: ChunksOp) -> tuple[Any, ...]:
    steps, chunks = op.steps.value.data, op.chunks.value.data
    for owner in reversed(range(THREADS)):
        for position in range(chunks):
            frame.run(op.body, *chunk_bounds(steps, chunks, THREADS, owner, position))
    return ()


EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    SingleOp: RegionEvaluator(_single),
    ChunksOp: RegionEvaluator(_chunks),
}
