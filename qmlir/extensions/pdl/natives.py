"""Native functions: Python functions that a pattern calls by name, with signatures derived from annotations."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter

from qmlir import registry
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import integer_list

# The annotation of a parameter defines which PDL values it accepts and which Python object the function receives.
# `Operation` stands for an operation, and `SSAValue` for a value. `Typed` accepts a type or a value, and receives the
# type. `UniformQuantizedType` does the same for quantized types only. `Attribute` stands for an attribute; `int`,
# `float`, `str`, `bool`, and tuples of integers or texts stand for the content of an attribute. A first parameter
# `PatternRewriter` is not an argument of the pattern: the function receives the rewriter. The annotation of the result
# defines the results.

Typed = Annotated[Attribute, "type of a value, or a type"]
"""The annotation of a parameter that accepts a type, or a value, whose type is used."""


class TypeMismatchError(TypeError):
    """Raised if the content of an attribute does not match a parameter; a constraint then does not hold."""


def _integer(attribute: Attribute) -> int:
    if isinstance(attribute, IntegerAttr):
        return cast(IntegerAttr[IntegerType], attribute).value.data
    raise TypeMismatchError("an integer")


def _float(attribute: Attribute) -> float:
    if isinstance(attribute, FloatAttr):
        return float(cast(FloatAttr[Any], attribute).value.data)
    return float(_integer(attribute))


def _text(attribute: Attribute) -> str:
    if isinstance(attribute, StringAttr):
        return attribute.data
    raise TypeMismatchError("a text")


def _elements(attribute: Attribute, what: str) -> Sequence[Attribute]:
    if isinstance(attribute, ArrayAttr):
        return cast(ArrayAttr[Attribute], attribute).data
    raise TypeMismatchError(what)


def _integers(attribute: Attribute) -> tuple[int, ...]:
    if isinstance(attribute, DenseArrayBase):
        return integer_list(cast(DenseArrayBase[Any], attribute))
    return tuple(map(_integer, _elements(attribute, "a list of integers")))


def _texts(attribute: Attribute) -> tuple[str, ...]:
    if isinstance(attribute, StringAttr):
        return (attribute.data,)
    return tuple(map(_text, _elements(attribute, "a text, or a list of texts")))


def _type(given: Any) -> Any:
    return cast(SSAValue, given).type if isinstance(given, SSAValue) else given


def uniform(given: Any) -> UniformQuantizedType:
    """Returns the uniform quantized type of a value or a type; for a tensor, its element type.

    Raises `TypeMismatchError` if there is no such type.
    """
    element = element_type(_type(given))
    if not isinstance(element, UniformQuantizedType):
        raise TypeMismatchError("a uniform quantized type of integers")
    return element


@dataclass(frozen=True)
class ParameterKind:
    """A kind of parameter: the PDL types it accepts, its text in the reference, and how arguments are converted."""

    pdl_types: tuple[str, ...]
    text: str
    convert: Callable[[Any], Any] = lambda given: given


KINDS: Mapping[Any, ParameterKind] = {
    Operation: ParameterKind(("pdl.operation",), "operation"),
    SSAValue: ParameterKind(("pdl.value",), "value"),
    Typed: ParameterKind(("pdl.value", "pdl.type"), "value or type", _type),
    UniformQuantizedType: ParameterKind(("pdl.value", "pdl.type"), "value or type", uniform),
    TypeAttribute: ParameterKind(("pdl.type",), "type"),
    Attribute: ParameterKind(("pdl.attribute",), "attribute"),
    int: ParameterKind(("pdl.attribute",), "integer", _integer),
    float: ParameterKind(("pdl.attribute",), "number", _float),
    str: ParameterKind(("pdl.attribute",), "text", _text),
    bool: ParameterKind(("pdl.attribute",), "truth", lambda attribute: bool(_integer(attribute))),
    tuple[int, ...]: ParameterKind(("pdl.attribute",), "integers", _integers),
    tuple[str, ...]: ParameterKind(("pdl.attribute",), "texts", _texts),
}
"""The parameter kind of each annotation."""

_RESULTS: Mapping[Any, str] = {
    Operation: "pdl.operation",
    SSAValue: "pdl.value",
    TypeAttribute: "pdl.type",
    Attribute: "pdl.attribute",
}


@dataclass(frozen=True)
class NativeParameter:
    """One parameter of a native function."""

    name: str
    kind: ParameterKind
    is_variadic: bool = False

    def __str__(self) -> str:
        return f"{self.name}{'…' if self.is_variadic else ''}: {self.kind.text}"


@dataclass(frozen=True)
class NativeFunction:
    """A Python function that patterns call as `name`."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[NativeParameter, ...]
    results: tuple[str, ...]
    """The PDL type of each result."""

    takes_rewriter: bool = False

    def __str__(self) -> str:
        """Returns the signature, as shown in the reference and messages."""
        results = " -> " + ", ".join(each.removeprefix("pdl.") for each in self.results) if self.results else ""
        return f"{self.name}({', '.join(map(str, self.parameters))}){results}"

    def parameter(self, position: int) -> NativeParameter:
        """Returns the parameter for the argument at index `position`."""
        return self.parameters[min(position, len(self.parameters) - 1)]

    def accepts(self, pdl_types: Sequence[str]) -> bool:
        """Returns true if the function accepts arguments of these PDL types."""
        last = self.parameters[-1] if self.parameters else None
        fixed = len(self.parameters) - (last is not None and last.is_variadic)
        if len(pdl_types) < fixed or (len(pdl_types) > fixed and (last is None or not last.is_variadic)):
            return False
        return all(type_ in self.parameter(position).kind.pdl_types for position, type_ in enumerate(pdl_types))

    def __call__(self, arguments: Sequence[Any], rewriter: PatternRewriter | None = None) -> tuple[Any, ...] | None:
        """Calls the function and returns its results; `None` if it is a constraint that does not hold.

        Raises `TypeMismatchError` if the content of an attribute does not match its parameter.
        """
        converted = [self.parameter(position).kind.convert(each) for position, each in enumerate(arguments)]
        found = self.function(*((rewriter,) if self.takes_rewriter else ()), *converted)
        if isinstance(found, bool):
            return () if found else None
        if not self.results:
            return ()
        if found is None:
            return None
        return cast(tuple[Any, ...], found) if isinstance(found, tuple) else (found,)


def _result_types(annotation: Any) -> tuple[str, ...]:
    """Returns the PDL types of a function's results; a constraint may return `None` instead."""
    if get_origin(annotation) is Union or isinstance(annotation, type(int | None)):
        (annotation,) = (each for each in get_args(annotation) if each is not type(None))
    if annotation in (bool, type(None), None):
        return ()
    several = get_args(annotation) if get_origin(annotation) is tuple else (annotation,)
    return tuple(_RESULTS[each] for each in several)


def _annotation_text(annotation: Any) -> str:
    if annotation == Typed:
        return "Typed"
    return annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)


def native_function(name: str, function: Callable[..., Any]) -> NativeFunction:
    """Derives the signature of `function` from its annotations. Raises `TypeError` for an unsupported annotation."""
    hints = get_type_hints(function, include_extras=True)
    parameters: list[NativeParameter] = []
    takes_rewriter = False
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        hint = hints.get(parameter.name)
        if position == 0 and hint is PatternRewriter:
            takes_rewriter = True
            continue
        if hint not in KINDS:
            accepted = ", ".join(map(_annotation_text, KINDS))
            raise TypeError(f"parameter '{parameter.name}' must be annotated with one of {accepted}, but got {hint}")
        parameters.append(NativeParameter(parameter.name, KINDS[hint], parameter.kind is parameter.VAR_POSITIONAL))
    try:
        results = _result_types(hints.get("return"))
    except (KeyError, ValueError) as error:
        raise TypeError(f"the result is annotated with {hints.get('return')}") from error
    return NativeFunction(name, function, tuple(parameters), results, takes_rewriter)


# The functions that patterns may call: those of qmlir and of other packages, by name.
#
# A package adds functions as tables from name to function: `pdl.constraints` and `pdl.rewrites` of its
# `Contribution.tables`.


class Role(StrEnum):
    """The role of a native function: a constraint or a rewrite."""

    CONSTRAINT = "constraint"
    REWRITE = "rewrite"


@cache
def _read(role: Role, among: tuple[registry.Package, ...]) -> Mapping[str, NativeFunction]:
    # Cached by the list of packages, so that a plug-in of one run has no effect on the next.
    found: dict[str, NativeFunction] = {}
    rows: Mapping[str, Callable[..., Any]] = registry.table(f"pdl.{role}s")
    for name, function in rows.items():
        try:
            found[name] = native_function(name, function)
        except TypeError as error:
            package = registry.package_of(function.__module__)
            if package is None or package.name == registry.OURS:
                raise
            package.warn(f"the {role} '{name}' of patterns", str(error))
    return found


def native_functions(role: Role) -> Mapping[str, NativeFunction]:
    """Returns all native functions of `role`, by name."""
    return _read(role, registry.packages())
