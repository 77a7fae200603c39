"""Operation and type interfaces that passes use: shape inference, parameters, quantization slots, canonicalization.

An operation of any dialect, in this package or another, takes part in a pass by implementing the interface that the
pass queries. Types implement interfaces for the interpreter and for conversions. This module doesn't depend on any
dialect.
"""

import abc
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerType
from xdsl.ir import Operation, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import EffectInstance, HasCanonicalizationPatternsTrait, MemoryEffect, MemoryEffectKind, OpTrait

from qmlir import registry
from qmlir.ir.exception_boundary import Check, Checked, is_each
from qmlir.ir.float_reasons import FloatCause


@dataclass(frozen=True)
class RegisteredCanonicalization(HasCanonicalizationPatternsTrait):
    """Canonicalizes an operation with the patterns that the registry lists for its dialect.

    The pattern set is registered as `<dialect>.canonicalize`, so that the `canonicalize` passes of qmlir and xDSL find
    it although operations don't import their patterns.
    """

    def verify(self, op: Operation) -> None:
        return

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        return registry.patterns(f"{op.dialect_name()}.canonicalize")


class HasSideEffect(MemoryEffect):
    """Marks an operation with a side effect (it records a statistic or stops the run), which must not be erased."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE)}


class InferResultTypes(Checked, Operation, abc.ABC):
    """An operation whose result types follow from its operands and properties."""

    CHECKS: ClassVar[Mapping[str, Check]] = {
        "infer_result_types": Check(
            "a list of {results} types, one for each result",
            lambda op, found: is_each(found, TypeAttribute, len(op.results)),
        )
    }

    @abc.abstractmethod
    def infer_result_types(self) -> Sequence[TypeAttribute]:
        """Returns the result types, one per result, that follow from the operands and properties.

        If several quantized types are possible, the element type is the expressed type (`f32`). Raises
        `VerifyException` if the operands are incompatible.
        """


class ReadsShapesOnly(OpTrait):
    """Marks an operation whose results depend only on its operands' shapes, not on their elements."""


class DataDependentShape(OpTrait):
    """Marks an operation whose result sizes may depend on operand elements, so that its users need runtime sizes."""


class NumericallyDiscontinuous(OpTrait):
    """Marks an operation that compares or looks up values, so that a tiny change to an operand may change its results.

    A value that is only read by marked operations should not be quantized: quantizing it would save no multiplications,
    but could change the outcome of comparisons.
    """


KnownValue = Callable[[SSAValue | None], npt.NDArray[Any] | None]
"""Returns the elements of a value known at compile time; `None` for an unknown or absent value."""


@dataclass(frozen=True)
class Replacement:
    """The operations that replace another operation, in order, and the values that replace its results."""

    operations: Sequence[Operation]
    values: Sequence[SSAValue]

    @staticmethod
    def by(op: Operation) -> "Replacement":
        """Returns the replacement that consists of the single operation `op`."""
        return Replacement([op], op.results)


class HasParameters(Checked, Operation, abc.ABC):
    """An operation with parameter operands (axes or a new shape, for example), which are usually known at compile time.

    Compiled code requires constant parameters, so `specialized` turns a known parameter operand into a property, or
    rewrites the operation.
    """

    CHECKS: ClassVar[Mapping[str, Check]] = {
        "parameter_operands": Check(
            "operands of the operation",
            lambda op, found: is_each(found, SSAValue) and all(each in op.operands for each in found),
            is_iterator=True,
        ),
        "specialized": Check(
            "None or a Replacement with {results} values",
            lambda op, found: (
                found is None
                or (
                    isinstance(found, Replacement)
                    and is_each([*found.operations], Operation)
                    and is_each([*found.values], SSAValue, len(op.results))
                )
            ),
        ),
    }

    @abc.abstractmethod
    def parameter_operands(self) -> Iterator[SSAValue]:
        """Yields the operands that are parameters rather than data."""

    @abc.abstractmethod
    def specialized(self, known: KnownValue) -> Replacement | None:
        """Returns the replacement of this operation if parameters are known; `None` if no parameter is known.

        The result types of the replacement may be less precise than the inferred ones. Raises `VerifyException` for an
        invalid parameter value.
        """


class Slot(StrEnum):
    """The role of a value in an operation; quantization recipes choose its type by this role."""

    INPUT = "input"
    WEIGHT = "weight"
    BIAS = "bias"
    ACCUMULATOR = "accumulator"
    OUTPUT = "output"


@dataclass(frozen=True)
class FixedRange:
    """A result range that doesn't depend on the input, such as `[0, 1]` for a sigmoid."""

    minimum: float
    maximum: float


@dataclass(frozen=True)
class Domain:
    """The operand values `x` for which the result is finite: `minimum <= x <= maximum`, and `x` is not in `holes`."""

    minimum: float = -math.inf
    maximum: float = math.inf
    holes: tuple[float, ...] = ()
    """Excluded values, such as 0 for a divisor; `minimum` and `maximum` themselves may be excluded."""

    coarsest: float = math.inf
    """The largest scale at which quantized values still resolve the period of a periodic function."""

    def holds(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Returns a boolean mask with True for each of the `values` in the domain."""
        return (values >= self.minimum) & (values <= self.maximum) & ~np.isin(values, self.holes)

    def __str__(self) -> str:
        ends = [(">", self.minimum, -math.inf), ("<", self.maximum, math.inf)]
        texts = [f"{sign}{'' if end in self.holes else '='} {end:g}" for sign, end, open_end in ends if end != open_end]
        inner = [f"!= {hole:g}" for hole in self.holes if self.minimum < hole < self.maximum]
        return " and ".join((*texts, *inner))


@dataclass(frozen=True)
class QuantizationSlots:
    """The quantization of an operation: slots of its operands, and constraints on their types.

    - `operands`: the slot of each operand, by the operand's name in the operation's definition; `None` for an operand
      that is never quantized (indices, shapes).
    - `shares_parameters`: all data operands and results must have the same quantized type, as in data movement and max
      pooling.
    - `weight_channel_axis`: the axis of the weight operand along which per-channel parameters vary;
      `result_channel_axis` is the corresponding axis of the result, in which the channels are repeated
      `channel_repeats` times.
    - `weight_sum_axis`: the axis along which weights are divided into blocks, if it isn't adjacent to the channel axis.
    - `fixed_output`: the range of the result if it does not depend on the input.
    - `limits_operand`: the operation clamps its operand. The operand may thus have the quantized type of the result,
      whose range clamps it identically.
    - `takes_accumulators`: an operand may be a 32-bit accumulator, which avoids rounding before this operation.
    - `domains`: the domains of operands by name, for operations whose result isn't finite for some values; the
      operands' quantized types exclude these values.
    - `flat_below`: the threshold below which the result is 0 in 8 bits, so that the operand needs no resolution there.
    - `normalizes_rows`: the operation divides each row by its spread, so that its input may be a residual sum that
      grows
      over many layers.
    - `divides_one`: the elements of each result row add up to 1, so they become smaller as rows become longer.
    """

    operands: dict[str, Slot | None] = field(default_factory=dict[str, "Slot | None"])
    shares_parameters: bool = False
    weight_channel_axis: int | None = None
    weight_sum_axis: int | None = None
    result_channel_axis: int | None = None
    channel_repeats: int = 1
    fixed_output: FixedRange | None = None
    limits_operand: bool = False
    flat_below: float = -math.inf
    takes_accumulators: bool = False
    normalizes_rows: bool = False
    divides_one: bool = False
    domains: dict[str, Domain] = field(default_factory=dict[str, Domain])

    def is_sound(self, op: Operation) -> bool:
        """Returns whether fields have their declared types, names are operands of `op`, and ranges are ascending."""
        names = {name for name, _ in op.get_irdl_definition().operands} if isinstance(op, IRDLOperation) else None
        values: Mapping[str, Any] = vars(self)
        axes = [values[name] for name in ("weight_channel_axis", "weight_sum_axis", "result_channel_axis")]
        slots, domains, fixed = values["operands"], values["domains"], values["fixed_output"]
        return (
            isinstance(slots, dict)
            and isinstance(domains, dict)
            and (names is None or names.issuperset([*self.operands, *self.domains]))
            and is_each([*slots.values()], Slot | None)
            and is_each([*domains.values()], Domain)
            and is_each(axes, int | None)
            and (
                fixed is None
                or (isinstance(fixed, FixedRange) and -math.inf < fixed.minimum <= fixed.maximum < math.inf)
            )
        )


class Quantizable(Checked, Operation, abc.ABC):
    """An operation that declares which of its values may be quantized, and how their types depend on each other."""

    CHECKS: ClassVar[Mapping[str, Check]] = {
        "quantization_slots": Check(
            "QuantizationSlots for names of its operands, with integers as axes and a finite fixed range",
            lambda op, found: isinstance(found, QuantizationSlots) and found.is_sound(op),
        ),
        "accepts_quantized_values": Check("True or False", lambda _, found: isinstance(found, bool)),
        "fuses_with_casts": Check("True or False", lambda _, found: isinstance(found, bool)),
        "float_reason": Check("a text", lambda _, found: isinstance(found, str)),
        "operands_with_slots": Check(
            "each of its {operands} operands with a slot or None",
            lambda op, found: (
                [value for value, _ in found] == [*op.operands] and is_each([slot for _, slot in found], Slot | None)
            ),
            is_iterator=True,
        ),
        "domains": Check(
            "a Domain or None for each of its {operands} operands",
            lambda op, found: is_each(found, Domain | None, len(op.operands)),
            is_iterator=True,
        ),
    }

    @abc.abstractmethod
    def quantization_slots(self) -> QuantizationSlots:
        """Returns the slots and constraints of this operation, given its properties."""

    @abc.abstractmethod
    def accepts_quantized_values(self) -> bool:
        """Returns whether the operation is defined on quantized values; if not, it remains in float between casts."""

    def fuses_with_casts(self) -> bool:
        """Returns whether the operation fuses with the casts around it, even if no types are chosen for it."""
        return self.accepts_quantized_values()

    def float_reason(self) -> str:
        """Returns the reason why the operation remains in float if it doesn't accept quantized values."""
        return FloatCause.UNSUPPORTED.reason()

    @abc.abstractmethod
    def operands_with_slots(self) -> Iterator[tuple[SSAValue, Slot | None]]:
        """Yields each operand with its slot."""

    def domains(self) -> Iterator[Domain | None]:
        """Yields the domain of each operand; `None` if every number has a finite result."""
        return repeat(None, len(self.operands))


class Recomputable(Operation):
    """An operation whose results are cheaper to recompute than to store and reload: elementwise arithmetic.

    The backward pass may recompute its results instead of keeping them (`nn-gradient{recompute}`).
    """


class MultipliesAndAdds(Checked, Operation, abc.ABC):
    """An operation that sums products: a matrix product, a convolution, a recurrent layer."""

    CHECKS: ClassVar[Mapping[str, Check]] = {
        "multiply_adds": Check("a number from 0 up", lambda _, found: isinstance(found, int) and found >= 0)
    }

    @abc.abstractmethod
    def multiply_adds(self) -> int:
        """Returns the number of multiply-adds. Dynamic axes count as 1, so the number is for one sample.

        The number includes only contractions, which grow with the square of the layer width, not biases or elementwise
        operations.
        """


@dataclass(frozen=True)
class Destination:
    """The destination to which an operation writes a result."""

    operand: int | None
    """The operand that initializes the result, or whose memory is written; `None` for a new tensor."""

    is_read: bool = False
    """Whether the operation reads the previous elements of the destination."""


class DestinationStyle(Checked, abc.ABC):
    """An operation on whole tensors that can also write its results into given memory.

    If the operation is on tensors, each destination is a result; if it is on memory, each destination is an operand.
    Bufferization, outlining and memory planning rely on this interface alone. Memory may have any strides.
    """

    CHECKS: ClassVar[Mapping[str, Check]] = {
        "destinations": Check("a list of Destination", lambda _, found: is_each(found, Destination)),
        "on_memory": Check("an operation", lambda _, found: isinstance(found, Operation)),
        "may_overwrite": Check("True or False", lambda _, found: isinstance(found, bool)),
    }

    @abc.abstractmethod
    def destinations(self) -> Sequence[Destination]:
        """Returns the destination of each result or, for an operation on memory, of each operand that it writes."""

    @abc.abstractmethod
    def on_memory(self, memory: Callable[[SSAValue], SSAValue], outs: Sequence[SSAValue]) -> Operation:
        """Returns the operation that does the same computation on memory; moves the regions and copies the attributes.

        `memory` maps a tensor operand to its memory, and `outs` contains the memory of each destination.
        """

    @abc.abstractmethod
    def may_overwrite(self, operand: int, destination: int) -> bool:
        """Returns whether the operand and the destination with these indices may share memory.

        They may share memory if each element of the operand is read only to compute the destination's element at the
        same index, and before that element is written.
        """


class DestinationEffects(MemoryEffect):
    """The effects of a `DestinationStyle` operation on memory: reads of operands and writes of destinations.

    On tensors, the operation has no effects.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        if not isinstance(op, DestinationStyle) or op.results:
            return set()
        written = {each.operand: each for each in op.destinations() if each.operand is not None}
        read = (each for at, each in enumerate(op.operands) if at not in written or written[at].is_read)
        effects = {EffectInstance(MemoryEffectKind.READ, value) for value in read}
        return effects | {EffectInstance(MemoryEffectKind.WRITE, op.operands[at]) for at in written}


def volume(sizes: Iterable[int]) -> int:
    """Returns the product of `sizes`, counting dynamic sizes as 1."""
    return math.prod(1 if size == DYNAMIC_INDEX else size for size in sizes)


class HeldElement(TypeAttribute, abc.ABC):
    """An element type whose values are stored as another type, in arrays and at the integer level."""

    @property
    @abc.abstractmethod
    def held_as(self) -> AnyFloat | IntegerType:
        """The float or integer type of the NumPy arrays; signless integers count as signed."""

    @property
    def limits(self) -> tuple[int, int] | None:
        """The smallest and largest valid integer; `None` for floats, or if all integers are valid."""
        return None


class Container(TypeAttribute, abc.ABC):
    """A type whose values are sequences of values of other types: a tuple in the interpreter, a list for callers."""

    @property
    def count(self) -> int | None:
        """The number of contained values; `None` if it isn't fixed."""
        return None

    @abc.abstractmethod
    def part(self, position: int) -> TypeAttribute:
        """Returns the type of the contained value at index `position`."""

    @abc.abstractmethod
    def with_parts(self, converted: Callable[[TypeAttribute], TypeAttribute]) -> TypeAttribute:
        """Returns this type with `converted` applied to the type of each contained value."""
