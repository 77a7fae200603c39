"""What was decided for one function, and whether its operations take it."""

from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.base import element_of
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.interfaces import Quantizable
from qmlir.quantization.reasons import Reason
from qmlir.quantization.retyping import refusal

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

    biases: Types = field(default_factory=dict[tuple[Operation, int], UniformQuantizedType])
    """The type in which a bias that is no constant is added, by its user and its place there."""

    left_in_float: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The operations on floats that compute in float, with the reason."""

    kept_in_float: set[Operation] = field(default_factory=set[Operation])
    """Those of them that a rule wants in float."""

    reasons: dict[SSAValue | tuple[Operation, int], Reason] = field(
        default_factory=dict[SSAValue | tuple[Operation, int], Reason]
    )
    """Why each of these types is what it is: by the value, or by its user and its place there."""

    remarks: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])
    """What a reader of the recipe may not expect."""

    def operand_type(self, op: Operation, place: int) -> UniformQuantizedType | None:
        """The type of an operand of a quantized operation."""
        own = self.constants.get((op, place)) or self.biases.get((op, place))
        return own if own is not None else self.values.get(op.operands[place])


def refusals(decisions: Decisions) -> dict[Operation, str]:
    """The operations that do not take the types that they would get, with their reasons."""
    found: dict[Operation, str] = {}
    for op in decisions.quantized:
        operands: list[Attribute] = [
            decisions.operand_type(op, place) or element_of(value) for place, value in enumerate(op.operands)
        ]
        if (reason := refusal(op, operands, [decisions.values.get(result) for result in op.results])) is not None:
            found[op] = f"does not take the types that it would get: {reason}"
    return found
