"""What was decided for one function, and whether its operations take it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.quantization.assignment import Assignment
from qmlir.quantization.reasons import Reason
from qmlir.quantization.retyping import imagined, refusal
from qmlir.quantization.supports import inexpressible, mismatch

Types = dict[tuple[Operation, int], UniformQuantizedType]


@dataclass
class Decisions:
    """What was decided for one function."""

    quantized: tuple[Quantizable, ...] = ()
    """The operations that compute on quantized values, in order."""

    values: dict[SSAValue, UniformQuantizedType] = field(default_factory=dict[SSAValue, UniformQuantizedType])
    """The type of each value that is computed or given."""

    constants: Types = field(default_factory=dict[tuple[Operation, int], UniformQuantizedType])
    """The type of each constant operand, by its user and its place there."""

    signed: set[tuple[Operation, int]] = field(default_factory=set[tuple[Operation, int]])
    """Those of them whose codes are signs: binary weights."""

    repairs: dict[tuple[Operation, int], str] = field(default_factory=dict[tuple[Operation, int], str])
    """The passes that may repair weights, where a rule says which, by their user and their place there."""

    operands: Types = field(default_factory=dict[tuple[Operation, int], UniformQuantizedType])
    """The type in which an operation takes a value of another one, by its user and its place there: a bias that is not
    a constant in that of its sum, a residual stream in that of the data of a product."""

    left_in_float: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The operations on floats that compute in float, with the reason."""

    kept_in_float: set[Operation] = field(default_factory=set[Operation])
    """Those of them that a rule wants in float."""

    undefined: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The operations whose operands would hold numbers at which they have no finite result, with the reason."""

    reasons: dict[SSAValue | tuple[Operation, int], Reason] = field(
        default_factory=dict[SSAValue | tuple[Operation, int], Reason]
    )
    """Why each of these types is what it is: by the value, or by its user and its place there."""

    idle_tables: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """What reads a table that has the type of its rows, of so many bits, whatever rules for tables say."""

    without_blocks: dict[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])
    """The operations whose weights have channels in place of blocks: the elements of a sum, and of a block."""

    remarks: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])
    """What a reader of the recipe may not expect."""

    targets: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The target that each quantized operation was given to, where the module names targets."""

    target_settings: dict[tuple[Operation, Slot], Mapping[str, str]] = field(
        default_factory=dict[tuple[Operation, Slot], Mapping[str, str]]
    )
    """The fields of a choice that a target said, by the operation and the slot, each with which target."""

    def note_targets(self, assignment: Assignment) -> None:
        """Keep what a reader may want to know of the targets."""
        for op in self.quantized:
            if (target := assignment.target(op)) is not None:
                self.targets[op] = target.name
        for reason in self.reasons.values():
            self.target_settings[reason.op, reason.slot] = assignment.sources(reason.op, reason.slot)
        self.remarks += assignment.remarks.items()

    def operand_type(self, op: Operation, place: int) -> UniformQuantizedType | None:
        """The type of an operand of a quantized operation."""
        own = self.constants.get((op, place)) or self.operands.get((op, place))
        return own if own is not None else self.values.get(op.operands[place])


def _elements(decisions: Decisions, op: Operation) -> list[Attribute]:
    """The element types that the operands of `op` would have."""
    return [decisions.operand_type(op, place) or element_of(value) for place, value in enumerate(op.operands)]


def target_refusals(decisions: Decisions, assignment: Assignment) -> dict[Operation, str]:
    """The operations that would get types which their target does not take, with the reasons."""
    found: dict[Operation, str] = {}

    def element(at: Operation, value: SSAValue) -> Attribute:
        return decisions.operand_type(at, at.operands.index(value)) or element_of(value)

    for op in decisions.quantized:
        target, support = assignment.target(op), assignment.support(op)
        if target is None or support is None:
            continue
        operands, made = _elements(decisions, op), [decisions.values.get(result) for result in op.results]
        results = [each or element_of(result) for each, result in zip(made, op.results, strict=True)]
        if (reason := mismatch(support, op, operands, results, element)) is not None:
            found[op] = FloatCause.TARGET.reason(target=target.name, detail=f": {reason}")
            continue
        with suppress(VerifyException), imagined(op, operands, made) as as_decided:  # `refusals` says what it refuses
            if (reason := inexpressible(target, support, as_decided)) is not None:
                found[op] = FloatCause.TARGET.reason(target=target.name, detail=f": {reason}")
    return found


def refusals(decisions: Decisions) -> dict[Operation, str]:
    """The operations that do not take the types that they would get, with their reasons."""
    found: dict[Operation, str] = {}
    for op in decisions.quantized:
        results = [decisions.values.get(result) for result in op.results]
        if (reason := refusal(op, _elements(decisions, op), results)) is not None:
            found[op] = FloatCause.TYPES.reason(detail=reason)
    return found
