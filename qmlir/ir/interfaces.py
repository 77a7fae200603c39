"""What passes ask of an operation: its result types, its parameters, its slots of quantization, its canonicalization.

An operation of any dialect, of this package or another, takes part in a pass by implementing the interface that
the pass asks for; so do types, in the interpreter and in conversions. Nothing here knows a dialect.
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
    """The operation's canonicalization patterns are those registered for its dialect.

    The set is `<dialect>.canonicalize` in the registry, so that `canonicalize`, ours or xDSL's, finds it without
    the operations importing their patterns.
    """

    def verify(self, op: Operation) -> None:
        return

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        return registry.patterns(f"{op.dialect_name()}.canonicalize")


class ActsBesideResults(MemoryEffect):
    """The operation does something besides its results (records a statistic, stops the run): nothing erases it."""

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
        """The result types that the operands and properties imply, one for each result.

        If the choice of a quantized type is free, the element type is the expressed one (`f32`). Raises
        `VerifyException` for operands that do not go together.
        """


class ReadsShapesOnly(OpTrait):
    """The results follow from the shapes of the operands: no element of them is looked at."""


class SizesKnownInRun(OpTrait):
    """Sizes of the results may depend on elements of the operands: what takes them is made for the sizes of a run."""


class ReadsExactNumbers(OpTrait):
    """Numbers are compared or looked up: the smallest change of an operand may give other results.

    What such operations alone read is not worth rounding: it multiplies nothing, and costs decisions.
    """


KnownValue = Callable[[SSAValue | None], npt.NDArray[Any] | None]
"""The elements of a value that is known when a module is compiled, `None` for any other one and for no value."""


@dataclass(frozen=True)
class Replacement:
    """Operations to stand in the place of another one, in order, and the values in the place of its results."""

    operations: Sequence[Operation]
    values: Sequence[SSAValue]

    @staticmethod
    def by(op: Operation) -> "Replacement":
        """The replacement by one operation."""
        return Replacement([op], op.results)


class HasParameters(Checked, Operation, abc.ABC):
    """An operation with parameter operands, such as axes or a new shape, which are usually known at compile time.

    Compiled code needs them known: `specialized` turns the operand into a property, or the operation into others.
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
        """The operands that are parameters, not data."""

    @abc.abstractmethod
    def specialized(self, known: KnownValue) -> Replacement | None:
        """The replacement of this operation for known values of parameters; `None` if no parameter is known.

        Result types may be less precise than inference gives them then. Raises `VerifyException` for an invalid value.
        """


class Slot(StrEnum):
    """The role of a value in an operation; recipes name it to choose a type."""

    INPUT = "input"
    WEIGHT = "weight"
    BIAS = "bias"
    ACCUMULATOR = "accumulator"
    OUTPUT = "output"


@dataclass(frozen=True)
class FixedRange:
    """A range of results that does not depend on the input: `[0, 1]` for a sigmoid."""

    minimum: float
    maximum: float


@dataclass(frozen=True)
class Domain:
    """The numbers `x` of an operand with a finite result: `minimum <= x <= maximum`, `x` not in `holes`."""

    minimum: float = -math.inf
    maximum: float = math.inf
    holes: tuple[float, ...] = ()
    """Excluded numbers, such as 0 of a divisor; they may be `minimum` or `maximum`."""

    coarsest: float = math.inf
    """The largest scale at which quantized numbers still say where on its period a function is."""

    def holds(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which of `values` are in it."""
        return (values >= self.minimum) & (values <= self.maximum) & ~np.isin(values, self.holes)

    def __str__(self) -> str:
        ends = [(">", self.minimum, -math.inf), ("<", self.maximum, math.inf)]
        texts = [f"{sign}{'' if end in self.holes else '='} {end:g}" for sign, end, open_end in ends if end != open_end]
        inner = [f"!= {hole:g}" for hole in self.holes if self.minimum < hole < self.maximum]
        return " and ".join((*texts, *inner))


@dataclass(frozen=True)
class QuantizationSlots:
    """How an operation may be quantized.

    `operands` gives the slot of each operand definition by its name in the operation's definition, `None` for a value
    that is never quantized (indices, shapes). `shares_parameters` says that all data operands and results have one
    quantized type, as in movement and max pooling. `weight_channel_axis` is the axis of the weight operand that
    per-channel parameters follow, and `result_channel_axis` the axis of the result that these channels are,
    `channel_repeats` times one after the other. `weight_sum_axis` is the axis along which weights have blocks, if it
    is not the one beside the channels. `fixed_output` is the range of the result if it is fixed.
    `limits_operand` says that the result is the clamped operand: the operand may have the type of the result, which
    clamps the same values. `takes_accumulators` says that an operand may be a 32-bit accumulator, so that nothing is
    rounded before this operation. `domains` are those of operands by name, if the result is not finite for some
    numbers: their quantized types exclude these. `flat_below` is the number below which the result is 0 to 8 bits, so
    that the operand needs no codes there. `normalizes_rows` says that each row of the data is divided by its own
    spread, so that what goes in may be a sum that grows over many layers. `divides_one` says that the elements of a row
    of the result add up to 1, so that each is the smaller the more there are.
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
        """Whether all fields have the declared types, names are those of operands of `op`, and ranges ascend."""
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
        """The slots of this operation, as its properties make them."""

    @abc.abstractmethod
    def accepts_quantized_values(self) -> bool:
        """Whether the operation has semantics on quantized values; without, it stays in float between casts."""

    def fuses_with_casts(self) -> bool:
        """Whether the operation takes the place of itself between casts; it may, though no types are chosen for it."""
        return self.accepts_quantized_values()

    def float_reason(self) -> str:
        """Why an operation that does not accept quantized values stays in float."""
        return FloatCause.UNSUPPORTED.reason()

    @abc.abstractmethod
    def operands_with_slots(self) -> Iterator[tuple[SSAValue, Slot | None]]:
        """Each operand with its slot."""

    def domains(self) -> Iterator[Domain | None]:
        """The domain of each operand, `None` if every number has a finite result."""
        return repeat(None, len(self.operands))


class Recomputable(Operation):
    """An operation whose results take less time to compute again than to write and to read: arithmetic on elements.

    What a gradient reads of such results need not be kept (`nn-gradient{recompute}`).
    """


class MultipliesAndAdds(Checked, Operation, abc.ABC):
    """An operation that sums products: a matrix product, a convolution, a recurrent layer."""

    CHECKS: ClassVar[Mapping[str, Check]] = {
        "multiply_adds": Check("a number from 0 up", lambda _, found: isinstance(found, int) and found >= 0)
    }

    @abc.abstractmethod
    def multiply_adds(self) -> int:
        """How many products it adds up; an axis of unknown size counts as 1, so that the number is for one sample.

        Only those of contractions, which grow with the square of the widths: not a bias, not what is done element by
        element.
        """


@dataclass(frozen=True)
class Destination:
    """Where an operation writes a result."""

    operand: int | None
    """The operand whose elements the result begins with, or whose memory is written; `None` for one made anew."""

    is_read: bool = False
    """Whether the elements that were there before are looked at."""


class DestinationStyle(Checked, abc.ABC):
    """An operation that computes whole tensors, and has a form that writes them into memory that it is given.

    On tensors each destination is a result, on memory an operand. Bufferization, outlining and the memory plan know
    structured operations by this alone. Memory may have any strides.
    """

    CHECKS: ClassVar[Mapping[str, Check]] = {
        "destinations": Check("a list of Destination", lambda _, found: is_each(found, Destination)),
        "on_memory": Check("an operation", lambda _, found: isinstance(found, Operation)),
        "may_overwrite": Check("True or False", lambda _, found: isinstance(found, bool)),
    }

    @abc.abstractmethod
    def destinations(self) -> Sequence[Destination]:
        """The destination of each result, or on memory each operand that is written."""

    @abc.abstractmethod
    def on_memory(self, memory: Callable[[SSAValue], SSAValue], outs: Sequence[SSAValue]) -> Operation:
        """The same computation on memory, its regions moved over, its attributes the same.

        `memory` gives the operand that stands for an operand on tensors, `outs` is the memory of each destination.
        """

    @abc.abstractmethod
    def may_overwrite(self, operand: int, destination: int) -> bool:
        """Whether the memory of a destination may be that of an operand.

        So it is where each element of the operand is read for the element at the same place only, before that is
        written, and for nothing else.
        """


def volume(sizes: Iterable[int]) -> int:
    """The product of `sizes`, those that are not known counted as 1."""
    return math.prod(1 if size == DYNAMIC_INDEX else size for size in sizes)


class HeldElement(TypeAttribute, abc.ABC):
    """An element type of tensors that holds its values as another type does, in arrays and at the integer level."""

    @property
    @abc.abstractmethod
    def held_as(self) -> AnyFloat | IntegerType:
        """The float or integer whose NumPy type arrays have; a signless integer has a sign."""

    @property
    def limits(self) -> tuple[int, int] | None:
        """The smallest and the largest integer that is a value, `None` for floats and where all are."""
        return None


class Container(TypeAttribute, abc.ABC):
    """A type whose values are several of other types, in an order: in a run a tuple, for a caller a list."""

    @property
    def count(self) -> int | None:
        """How many there are, `None` for any number."""
        return None

    @abc.abstractmethod
    def part(self, place: int) -> TypeAttribute:
        """The type of the value at `place`."""

    @abc.abstractmethod
    def with_parts(self, converted: Callable[[TypeAttribute], TypeAttribute]) -> TypeAttribute:
        """This type, with `converted` of the type of each part: what a conversion makes of it."""
