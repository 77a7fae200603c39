"""The common base of `nn` operations: one assembly format, one verifier driven by their declarations, and one builder.

An operation declares its operands and properties, the element kinds that it accepts, its quantization slots, and how it
infers its result types. The verifier derives everything else from these, so that a new operation takes only a few
lines.
"""

import abc
import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Flag, auto
from typing import Any, ClassVar, TypeGuard, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    BoolAttr,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import VariadicDef, VarResultDef, operand_def, result_def, traits_def
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qmlir import registry
from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.nn.assembly import SEGMENT_SIZES, CommonFormatOp, number_list
from qmlir.dialects.nn.requantize import Requantizing, temporary_parts, verify_parts, verify_requantization
from qmlir.dialects.nn.types import StringType
from qmlir.dialects.quant.infer import verify_quantized_tensor
from qmlir.dialects.quant.types import (
    CalibratedQuantizedType,
    Granularity,
    StoredType,
    UniformFloatType,
    UniformQuantizedType,
)
from qmlir.ir.builtin_types import (
    PLAIN_DTYPES,
    AnyTensor,
    as_small_float,
    element_of,
    integer_list,
    ranked_tensor,
    shape_of,
)
from qmlir.ir.evaluation import operand_groups
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import (
    Domain,
    HasParameters,
    InferResultTypes,
    KnownValue,
    Quantizable,
    QuantizationSlots,
    RegisteredCanonicalization,
    Replacement,
    Slot,
)


def verify_precision(precision: Attribute) -> None:
    """Raises `VerifyException` unless `precision`, the type of an intermediate result, is an arithmetic float type."""
    if type(precision) not in PLAIN_DTYPES:
        raise VerifyException(f"precision must be f16, bf16, f32 or f64, but got '{precision}'")


def computing_type(element: Attribute) -> Attribute:
    """Returns the type in which values of an unquantized type are computed: f32 for floats shorter than f32."""
    return f32 if isinstance(element, AnyFloat) and not isinstance(element, Float64Type) else element


class UnsupportedFormError(VerifyException):
    """An operation that may be valid, but whose form the dialect does not support.

    Either it has an unsupported element type, or its result types depend on run-time values.
    """


class Kind(Flag):
    """A kind of element type; an operation combines the kinds that it accepts with `|`."""

    FLOAT = auto()
    """The types f16, bf16, f32 and f64, with or without a profiled range."""

    INTEGER = auto()
    """The types iN (signed) and uiN (unsigned)."""

    BOOLEAN = auto()
    """The boolean type i1."""

    QUANTIZED = auto()
    """Quantized types: integers that represent real numbers."""

    SMALL_FLOAT = auto()
    """Floats of 8 bits or fewer, plain or as the storage of a quantized type. They can only be moved and cast."""

    STRING = auto()
    """Strings.

    An operation must accept them explicitly, because values that operations add, such as padding, are numbers.
    """

    NUMBER = FLOAT | INTEGER | QUANTIZED
    ANY = NUMBER | BOOLEAN
    """All arithmetic kinds."""

    MOVED = ANY | SMALL_FLOAT | STRING
    """All kinds that data movement operations accept."""

    def __str__(self) -> str:
        return ", ".join((kind.name or "").lower() for kind in type(self) if kind in self)


def kind_of(element: Attribute) -> Kind | None:
    """Returns the kind of an element type; `None` for a type that no `nn` operation accepts."""
    match element:
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type() | CalibratedQuantizedType():
            return Kind.FLOAT
        case StoredType():
            return Kind.QUANTIZED
        case UniformFloatType():
            return Kind.SMALL_FLOAT
        case IntegerType():
            return Kind.BOOLEAN if element.width.data == 1 else Kind.INTEGER
        case StringType():
            return Kind.STRING
        case _:
            return None if as_small_float(element) is None else Kind.SMALL_FLOAT


def plain_type(element: Attribute) -> Attribute:
    """Returns the element type without its profiled range or quantization: f32 for a profiled or quantized f32."""
    match element:
        case CalibratedQuantizedType():
            return element.expressed_type
        case StoredType():
            expressed = element.expressed_type
            return element if expressed is None else expressed
        case _:
            return element


def is_per_tensor(element: Attribute) -> TypeGuard[UniformQuantizedType]:
    """Returns whether `element` is a uniform quantized type with one scale and zero point."""
    return isinstance(element, UniformQuantizedType) and element.granularity is Granularity.TENSOR


def element_limits(element: Attribute) -> tuple[float, float]:
    """Returns the limits `low <= x <= high` of the elements of a type; infinite for floats.

    The limits of integers and stored integers are Python integers.
    """
    match element:
        case StoredType():
            return element.storage_min, element.storage_max
        case IntegerType():
            is_signed = element.width.data > 1 and element.signedness.data is not Signedness.UNSIGNED
            return integer_limits(element.width.data, is_signed=is_signed)
        case _:
            return -math.inf, math.inf


def tensor_like(value: SSAValue, shape: Sequence[int], element: Attribute | None = None) -> AnyTensor:
    """Returns the tensor type of `shape` with element type `element`, by default the plain one of `value`."""
    return TensorType(plain_type(element_of(value)) if element is None else element, shape)


def shapes_agree(left: Sequence[int], right: Sequence[int]) -> bool:
    """Returns whether two shapes, which may be dynamic, can be equal at run time."""
    return len(left) == len(right) and all(a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(left, right, strict=True))


class NnOp(CommonFormatOp, Requantizing, InferResultTypes, HasParameters, Quantizable, abc.ABC):
    """An operation of the `nn` dialect, which takes and returns tensors and has no side effects."""

    ACCEPTS: ClassVar[Kind] = Kind.NUMBER
    """The element kinds of the data operands."""

    SLOTS: ClassVar[QuantizationSlots] = QuantizationSlots()
    """The quantization slots of the operands; operands that are not named are inputs."""

    PARAMETERS: ClassVar[tuple[str, ...]] = ()
    """The list properties that may instead be given at run time, by an operand `<name>_value` (i64)."""

    SCALARS: ClassVar[tuple[str, ...]] = ()
    """The names in `PARAMETERS` whose property is a single integer rather than a list."""

    FLOAT_PARAMETERS: ClassVar[tuple[str, ...]] = ()
    """The f32 list properties that may instead be given at run time."""

    FOLDED: ClassVar[Sequence[str]] = ()
    """The optional operands and the properties that disappear when constant parts are folded."""

    SIZE_OPERANDS: ClassVar[tuple[str, ...]] = ()
    """Further operands whose values determine the size of a result, and which are therefore treated as parameters."""

    RANKS: ClassVar[Mapping[str, int]] = {}
    """The rank of each operand whose rank is fixed, used to match the operands of a composite by their types."""

    COMMON_SIZES: ClassVar[Mapping[str, tuple[slice, slice]]] = {}
    """For the same purpose, the axes of an operand and the axes of the result that have the same sizes."""

    traits = traits_def(Pure(), RegisteredCanonicalization())

    @abc.abstractmethod
    def infer_result_types(self) -> Sequence[AnyTensor]: ...

    def quantization_slots(self) -> QuantizationSlots:
        return self.SLOTS

    def accepts_quantized_values(self) -> bool:
        return Kind.QUANTIZED in self.ACCEPTS

    def integers(self, name: str, value: Array | None = None) -> tuple[int, ...] | None:
        """Returns the integers of a list property or, if given, of `value`.

        `value` is the run-time value of the operand that replaces the property. Returns `None` if the property is
        omitted, or its operand is not known yet.
        """
        if value is not None:
            return tuple(int(number) for number in value.reshape(-1))
        attribute: Attribute | None = getattr(self, name)
        if isinstance(attribute, IntegerAttr):
            return (attribute.value.data,)
        return None if attribute is None else integer_list(cast(DenseArrayBase[Any], attribute))

    def is_known(self, name: str) -> bool:
        """Returns whether a parameter is given by a property or omitted, rather than given by an operand."""
        return getattr(self, f"{name}_value") is None

    def _parameters(self) -> Iterator[tuple[str, SSAValue]]:
        """Yields the parameter operands with the names of the parameters."""
        named = {f"{name}_value": name for name in (*self.PARAMETERS, *self.FLOAT_PARAMETERS)}
        named |= {name: name for name in self.SIZE_OPERANDS}
        for operand, name in named.items():
            value = getattr(self, operand)
            if value is not None:
                yield name, value

    def parameter_operands(self) -> Iterator[SSAValue]:
        return (value for _, value in self._parameters())

    def specialized(self, known: KnownValue) -> Replacement | None:
        values = {name: known(value) for name, value in self._parameters() if name not in self.SIZE_OPERANDS}
        given = {name: self._parameter(name, value) for name, value in values.items() if value is not None}
        if not given:
            return None
        operands: list[Any] = []
        for name, definition, group in operand_groups(self):
            left = () if name.removesuffix("_value") in given and name.endswith("_value") else group
            operands.append(list(left) if isinstance(definition, VariadicDef) else next(iter(left), None))
        properties = {name: value for name, value in self.properties.items() if name != SEGMENT_SIZES}
        results: list[Any] = list(self.result_types)
        is_variadic = any(isinstance(kind, VarResultDef) for _, kind in self.get_irdl_definition().results)
        return Replacement.by(
            type(self).build(
                operands=operands,
                result_types=[results] if is_variadic else results,
                properties=properties | given,
                attributes=dict(self.attributes),
            )
        )

    def _parameter(self, name: str, value: Array) -> Attribute:
        """Returns the property `name` with these numbers."""
        numbers: list[Any] = value.reshape(-1).tolist()
        if name in self.FLOAT_PARAMETERS:
            return DenseArrayBase.from_list(f32, numbers)
        if name in self.SCALARS:
            if len(numbers) != 1:
                raise VerifyException(f"'{name}_value' must be one integer, but got {numbers}")
            return IntegerAttr(numbers[0], i64)
        return DenseArrayBase.from_list(i64, numbers)

    def _verify_parameters(self) -> None:
        for name in self.PARAMETERS:
            operand = getattr(self, f"{name}_value")
            if operand is None:
                continue
            if name in self.properties:
                raise VerifyException(f"expected either property '{name}' or operand '{name}_value', but got both")
            if element_of(operand) != i64 or len(shape_of(operand)) > 1:
                raise VerifyException(f"'{name}_value' must be a 1-D tensor of i64, but got '{operand.type}'")

    def _verify_components(self) -> None:
        """Verifies that `components` has types only for existing parts, and that these may have the types."""
        if self.components is None:
            return
        decomposition = registry.decompositions().get(type(self))
        if decomposition is None:
            raise VerifyException("'components' requires a composite, but this operation has no parts")
        for role, type_ in self.components.data.items():
            if not isinstance(type_, TypeAttribute):
                raise VerifyException(f"'components' must map parts to element types, but got '{type_}' for '{role}'")
        with temporary_parts(self) as parts:
            if decomposition(self, parts) is None:
                raise VerifyException(f"components {parts.missing_type()}")
            for role in self.components.data:
                if not any(role == own or role.startswith(f"{own}/") for own in parts.roles):
                    known = ", ".join(dict.fromkeys(parts.roles))
                    raise VerifyException(f"has no part '{role}' (available: {known})")
            verify_parts(parts, lambda part: part.verify_())

    def operands_with_slots(self) -> Iterator[tuple[SSAValue, Slot | None]]:
        slots = self.quantization_slots().operands
        parameters = {f"{name}_value" for name in self.PARAMETERS}
        for name, _, values in operand_groups(self):
            slot = slots.get(name, None if name in parameters else Slot.INPUT)
            yield from ((value, slot) for value in values)

    def domains(self) -> Iterator[Domain | None]:
        domains = self.quantization_slots().domains
        for name, _, values in operand_groups(self):
            yield from (domains.get(name) for _ in values)

    def verify_(self) -> None:
        for value in (*self.operands, *self.results):
            if ranked_tensor(value.type) is None:
                raise VerifyException(f"operands and results must be ranked tensors, but got '{value.type}'")
            verify_quantized_tensor(value.type)
        self._verify_parameters()
        self._verify_components()
        kind = self._verify_operand_elements()
        inferred = self.infer_result_types()
        for result, expected in zip(self.results, inferred, strict=True):
            self._verify_result(result, expected)
        if kind is Kind.QUANTIZED:
            self.verify_quantization()
        verify_requantization(self)

    def data_operands(self) -> tuple[SSAValue, ...]:
        """Returns the operands that have a quantization slot."""
        return tuple(value for value, slot in self.operands_with_slots() if slot is not None)

    def _verify_operand_elements(self) -> Kind | None:
        """Verifies that the data operands have one kind and one plain type, and returns the kind."""
        kinds: dict[Kind, SSAValue] = {}
        for value in self.data_operands():
            kind = kind_of(element_of(value))
            if kind is None or kind not in self.ACCEPTS:
                raise UnsupportedFormError(
                    f"does not support operand type '{value.type}'; its elements may be {self.ACCEPTS}"
                )
            kinds.setdefault(kind, value)
        if len(kinds) > 1:
            found = " and ".join(str(value.type) for value in kinds.values())
            raise VerifyException(f"operands must have the same kind of element type, but got {found}; insert a cast")
        plain = dict.fromkeys(plain_type(element_of(value)) for value in self.data_operands())
        if len(plain) > 1:
            raise VerifyException(f"operands must have one element type, but got {', '.join(map(str, plain))}")
        return next(iter(kinds), None)

    def _verify_result(self, result: SSAValue, expected: AnyTensor) -> None:
        if not shapes_agree(shape_of(result), expected.get_shape()):
            raise VerifyException(f"expected a result with the shape of '{expected}', but got '{result.type}'")
        found, wanted = plain_type(element_of(result)), plain_type(expected.get_element_type())
        if found != wanted:
            raise VerifyException(f"expected a result with elements of type '{wanted}', but got '{found}'")
        is_quantized = any(kind_of(element_of(value)) is Kind.QUANTIZED for value in self.data_operands())
        from_quantized = is_quantized and kind_of(wanted) is Kind.FLOAT
        is_result_quantized = kind_of(element_of(result)) is Kind.QUANTIZED
        if from_quantized != is_result_quantized and not (is_result_quantized and self.quantizes()):
            raise VerifyException(
                f"operands and result must all be quantized or all be plain, but got result '{result.type}'; "
                "use quant.qcast or quant.dcast"
            )

    def quantizes(self) -> bool:
        """Returns whether the operation quantizes floats itself, in an arithmetic that `quant.qcast` doesn't have."""
        return False

    def verify_quantization(self) -> None:
        """Verifies how the quantized types relate to each other; by default, that shared parameters are equal."""
        if not self.quantization_slots().shares_parameters:
            return
        inferred = self.infer_result_types()
        for result, expected in zip(self.results, inferred, strict=True):
            wanted = expected.get_element_type()
            if kind_of(element_of(result)) is Kind.QUANTIZED and element_of(result) != wanted:
                raise VerifyException(
                    f"cannot requantize the elements it moves: expected result elements of type '{wanted}'"
                )


class ComponentwiseOp(NnOp, abc.ABC):
    """A composite that is quantized by its parts, whose types are in `components`; without these, it stays in float."""

    ACCEPTS: ClassVar[Kind] = Kind.FLOAT | Kind.QUANTIZED

    def accepts_quantized_values(self) -> bool:
        return self.components is not None

    def float_reason(self) -> str:
        return FloatCause.KEPT_COMPOSITE.reason()

    def verify_quantization(self) -> None:
        if self.components is None:
            raise VerifyException("quantized operands require 'components' with the types of the parts")


class OneOperandOp(NnOp, abc.ABC):
    """An operation with one operand `input` and one `result`, which have the same shape and plain element type."""

    input = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[AnyTensor]:
        return [tensor_like(self.input, shape_of(self.input))]


# --- Construction from operands and plain Python properties -----------------------------------------------------------

Operand = SSAValue | Sequence[SSAValue] | None
NnOpT = TypeVar("NnOpT", bound=NnOp)

UNKNOWN_TYPE = TensorType(f32, [])
"""A placeholder for a result type that is inferred later."""


def property_attribute(value: Any) -> Attribute:
    """Converts a Python value to a property: an i64, f32, flag, string, or list of i64 or f32; keeps attributes."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case _:
            return number_list(list(value))


def _merged(inferred: AnyTensor, hint: AnyTensor) -> AnyTensor:
    """Returns the inferred type, with its dynamic sizes filled in from the hint."""
    if len(hint.get_shape()) != len(inferred.get_shape()):
        return inferred
    sizes = [
        known if found == DYNAMIC_INDEX else found
        for found, known in zip(inferred.get_shape(), hint.get_shape(), strict=True)
    ]
    return TensorType(inferred.get_element_type(), sizes)


def build(
    operation: type[NnOpT],
    operands: Sequence[Operand],
    properties: Mapping[str, Any] | None = None,
    *,
    result_types: Sequence[AnyTensor] | None = None,
    results: int = 1,
) -> NnOpT:
    """Builds `operation` and infers its result types. Raises `VerifyException` if the operands are invalid.

    A property whose value is an SSA value becomes the operand `<name>_value`; a property that is `None` is omitted.
    `result_types` is required if the element type or shape of the operation's results cannot be inferred; otherwise it
    fills in dimensions that inference leaves dynamic. `results` is the number of results of a variadic definition.
    """
    definition = operation.get_irdl_definition()
    by_name = dict(zip((name for name, _ in definition.operands), operands, strict=False))
    attributes: dict[str, Attribute] = {}
    for name, value in (properties or {}).items():
        if isinstance(value, SSAValue):
            by_name[f"{name}_value"] = value
        elif value is not None:
            attributes[name] = property_attribute(value)
    grouped: list[Any] = []
    for name, kind in definition.operands:
        value = by_name.get(name)
        values = [] if value is None else [value] if isinstance(value, SSAValue) else list(value)
        # xDSL expects a list if the number of values is variable, also for an optional operand.
        grouped.append(values if isinstance(kind, VariadicDef) else next(iter(values), None))
    is_variadic = any(isinstance(kind, VariadicDef) for _, kind in definition.results)
    count = results if is_variadic else len(definition.results)
    hints: list[Any] = [*(result_types or ()), *[UNKNOWN_TYPE] * count][:count]
    op = operation.build(operands=grouped, result_types=[hints] if is_variadic else hints, properties=attributes)
    try:
        inferred = op.infer_result_types()
    except BaseException:
        op.drop_all_references()
        raise
    for result, type_, hint in zip(tuple(op.results), inferred, hints, strict=True):
        if result.type != (wanted := _merged(type_, hint)):
            Rewriter.replace_value_with_new_type(result, wanted)
    return op
