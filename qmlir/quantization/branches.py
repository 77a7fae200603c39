"""Branches and loops that comparisons of quantized values decide on: near its bound such a comparison may give another
answer than the float model's, and what is computed then is another function, not a number that is a little off."""

from collections.abc import Collection, Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.type import get_element_type_or_self

from qmlir.dialects.nn.ops.elementwise import ComparisonOp


def branch_remarks(function: FuncOp, quantized: Collection[Operation]) -> list[tuple[Operation, str]]:
    """What is said of the comparisons that decide and are `quantized`, or compare what quantized operations give."""
    remark = (
        "decides a branch or a loop from quantized values, so the model may take another branch or number of "
        "iterations than in float"
    )
    known = set(quantized)
    return [
        (op, remark)
        for op in _deciding_comparisons(function)
        if op in known or any(value.owner in known for value in op.operands)
    ]


def _deciding_comparisons(function: FuncOp) -> Iterator[ComparisonOp]:
    """The comparisons that conditions of `function` are made of, each once."""
    waiting: list[SSAValue] = [op.operands[0] for op in function.walk() if isinstance(op, scf.IfOp | scf.ConditionOp)]
    seen = set[SSAValue]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        op = value.owner
        if isinstance(op, ComparisonOp):
            yield op
        elif isinstance(op, Operation):
            waiting += [each for each in op.operands if get_element_type_or_self(each.type) == i1]
