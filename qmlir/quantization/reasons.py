"""Why a value has its quantized type: what the deciding code notes beside each decision.

A `Reason` names the operation and the slot whose rules decide, the choice that they make, and the ranges that were
laid over the integers. No decision depends on it; it is for explanations.
"""

from dataclasses import dataclass
from enum import StrEnum

from xdsl.ir import Operation, SSAValue

from qmlir.ir.interfaces import Slot
from qmlir.quantization.choice import Choice


class Basis(StrEnum):
    """What a type follows from."""

    RANGE = "range"
    """The observed ranges of the values that have it."""

    FIXED = "fixed"
    """The operation: its results are in one range whatever the input."""

    WEIGHTS = "weights"
    """The elements of constant weights."""

    SUM = "sum"
    """The types of what is multiplied: the scale of an exact sum of products is `s_x * s_w`."""

    ADDEND = "addend"
    """The sum that a constant is added to, so that integers are added."""

    GIVEN = "given"
    """The model, which came with it: the value was dequantized, or is quantized to it."""

    SHARED = "shared"
    """Another value, whose type a constant takes because an operation moves both, or a layer has steps."""


@dataclass(frozen=True)
class ObservedRange:
    """The observed range of one value, and the range that its calibrator chose."""

    name: str
    """The value as messages name it."""

    minimum: float
    maximum: float

    low: float
    high: float
    """The range that the integers have to hold, before it is widened to hold 0."""

    is_recorded: bool = True
    """Whether there are statistics of the value; without them `mse` in few bits, too, takes the whole range."""


@dataclass(frozen=True)
class Reason:
    """Why one type is what it is."""

    basis: Basis

    op: Operation
    """The operation whose rules decide."""

    slot: Slot

    choice: Choice | None = None
    """The choice of the rules, `None` where no rule was asked."""

    ranges: tuple[ObservedRange, ...] = ()
    """The ranges that the type has room for."""

    members: tuple[SSAValue, ...] = ()
    """The values that share the type."""

    headroom: float = 1.0
    """How often the range fits into the type: sums in 32 bits that are not exact must not saturate."""
