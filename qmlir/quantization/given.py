"""Results that a model gives in a fraction of their fixed range: the boxes of a detector, sigmoids that stay near 1/2.

A function of a fixed range has a type of that range, so that no input leaves it. In 8 bits what uses a tenth of it has
26 levels, where its operand had 256. Inside a model that is one rounding among many, and 16 bits would make products
slower; of what leaves the model it is the last rounding, and 16 bits are a table of as many entries. The observed range
would cut off what no sample had.
"""

from collections.abc import Iterator, Set

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.observed import observed
from qmlir.quantization.residual import computed_operands

_LARGEST_PART = 0.5
"""How much of a fixed range may be observed: where a sigmoid or tanh uses all of it, 16 bits gain 0.2 to 0.7 dB, as the
rounding of its operand is as large, and cost a small kernel 20 to 30% of its time."""


def _uses_little(op: Quantizable) -> bool:
    slots, seen = op.quantization_slots(), observed(op.results[0])
    if slots.divides_one or slots.fixed_output is None or seen is None:
        return False
    width = slots.fixed_output.maximum - slots.fixed_output.minimum
    return seen.maximum - seen.minimum < _LARGEST_PART * width


def _behind(op: Operation) -> Iterator[Quantizable]:
    """What the operands of `op` come from that nothing else reads, through movement."""
    for value in op.operands:
        owner = value.owner
        if isinstance(owner, Quantizable) and value.has_one_use():
            yield owner


def given_in_part(function: FuncOp) -> Set[Operation]:
    """The operations of `function` whose results it gives, and no more than half of their fixed range was observed.

    What only moves such a result on its way out is among them, as it has the same type.
    """
    found = set[Operation]()
    for end in (op for op in function.walk() if isinstance(op, ReturnOp)):
        for op in _behind(end):
            movers = list[Operation]()
            while op.quantization_slots().shares_parameters and len(computed_operands(op)) == 1:
                movers.append(op)
                before = list(_behind(op))
                if len(before) != 1:
                    break
                (op,) = before
            if _uses_little(op):
                found.update((op, *movers))
    return found
