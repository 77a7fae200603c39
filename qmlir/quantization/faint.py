"""Results that 8 bits of their fixed range lose: probabilities of rows of many elements.

The elements of a row of a softmax add up to 1. In 8 bits one step is 1/256, and a row of 256 elements of equal weight
has one step for each; of 1500, as an encoder of speech attends to, nothing is left. The range cannot be narrower: one
row that attends to a single element needs all of it.
"""

import math

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.observed import observed

_LEVELS = 256

_ENOUGH = 30.0
"""How far the values have to be above the noise of rounding, in decibels: as far as a layer in 8 bits is."""


# Rounding to steps of s adds noise with the mean square s^2 / 12. The mean square of the values is known: it is the
# squared mean and the squared deviation.
def _is_faint(op: Quantizable) -> bool:
    slots, seen = op.quantization_slots(), observed(op.results[0])
    if not slots.divides_one or slots.fixed_output is None or seen is None or seen.statistics is None:
        return False
    step = (slots.fixed_output.maximum - slots.fixed_output.minimum) / _LEVELS
    power = seen.statistics.mean**2 + seen.statistics.deviation**2
    return 10 * math.log10(power / (step**2 / 12)) < _ENOUGH if power else False


def faint_results(function: FuncOp) -> set[Operation]:
    """The operations of `function` whose results are below 30 dB in 8 bits, by the recorded statistics."""
    return {op for op in function.walk() if isinstance(op, Quantizable) and op.results and _is_faint(op)}
