"""The evaluators of `scf`, which run the regions of loops and conditionals, and of calls (`func`)."""

import itertools
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from qmlir.interpreter.interpreter import Frame
from qmlir.interpreter.upstream.scalars import signed, wrap
from qmlir.ir.evaluation import Evaluator, RegionEvaluator

Values = tuple[Any, ...]


def _steps(lower: int, upper: int, step: int) -> range:
    if step <= 0:
        raise InterpretationError(f"the step must be positive, but got {step}")
    return range(lower, upper, step)


def _for(frame: Frame, op: scf.ForOp, lower: Any, upper: Any, step: Any, carried: Values) -> Values:
    induction = op.lb.type
    steps = _steps(*(signed(bound, induction) for bound in (lower, upper, step)))
    for value in steps:
        carried = frame.run(op.body, wrap(value, induction), *carried)
    return carried


def _if(frame: Frame, op: scf.IfOp, condition: Any) -> Values:
    region = op.true_region if condition else op.false_region
    return frame.run(region) if region.blocks else ()


def _while(frame: Frame, op: scf.WhileOp, carried: Values) -> Values:
    while True:
        condition, *forwarded = frame.run(op.before_region, *carried)
        if not condition:
            return tuple(forwarded)
        carried = frame.run(op.after_region, *forwarded)


def _index_switch(frame: Frame, op: scf.IndexSwitchOp, value: int) -> Values:
    regions = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
    return frame.run(regions.get(value, op.default_region))


def _parallel(frame: Frame, op: scf.ParallelOp, lower: Values, upper: Values, step: Values, initial: Values) -> Values:
    """Runs the iterations in the order of a loop nest, and reduces each into the result of the previous ones."""
    reduce = op.body.block.last_op
    assert isinstance(reduce, scf.ReduceOp)
    reduced = initial
    for point in itertools.product(*map(_steps, lower, upper, step)):
        values = frame.run(op.body, *point)
        reduced = tuple(
            frame.run(region, before, value)[0]
            for region, before, value in zip(reduce.reductions, reduced, values, strict=True)
        )
    return reduced


def _execute_region(frame: Frame, op: scf.ExecuteRegionOp) -> Values:
    return frame.run(op.region)


EVALUATORS: dict[type[Operation], Evaluator | RegionEvaluator] = {
    scf.ForOp: RegionEvaluator(_for),
    scf.IfOp: RegionEvaluator(_if),
    scf.WhileOp: RegionEvaluator(_while),
    scf.IndexSwitchOp: RegionEvaluator(_index_switch),
    scf.ParallelOp: RegionEvaluator(_parallel),
    scf.ExecuteRegionOp: RegionEvaluator(_execute_region),
}


def _call(frame: Frame, op: CallOp, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return frame.call(op.callee.root_reference.data, arguments)


CALLS: dict[type[Operation], Evaluator | RegionEvaluator] = {CallOp: RegionEvaluator(_call)}
"""The evaluators of `func`."""
