"""A builder for `nn` operations from operands and plain Python properties, which infers the result types."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import VariadicDef
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.base import NnOp
from qmlir.ir.builtin_types import AnyTensor

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
            numbers = list(value)
            if any(isinstance(number, float) for number in numbers):
                return DenseArrayBase.from_list(f32, [float(number) for number in numbers])
            return DenseArrayBase.from_list(i64, [int(number) for number in numbers])


def _merged(inferred: AnyTensor, hint: AnyTensor | None) -> AnyTensor:
    """Returns the inferred type, with its dynamic sizes filled in from the hint."""
    if hint is None or hint == UNKNOWN_TYPE or len(hint.get_shape()) != len(inferred.get_shape()):
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
    hints = list(result_types or ())
    flat: list[Any] = []
    for _, kind in definition.results:
        count = results if isinstance(kind, VariadicDef) else 1
        types = [hints[len(flat)] if len(flat) < len(hints) else UNKNOWN_TYPE for _ in range(count)]
        flat.extend(types)
    is_variadic = any(isinstance(kind, VariadicDef) for _, kind in definition.results)
    op = operation.build(operands=grouped, result_types=[flat] if is_variadic else flat, properties=attributes)
    try:
        inferred = op.infer_result_types()
    except BaseException:
        op.drop_all_references()
        raise
    for position, (result, type_) in enumerate(zip(tuple(op.results), inferred, strict=True)):
        wanted = _merged(type_, hints[position] if position < len(hints) else None)
        if result.type != wanted:
            Rewriter.replace_value_with_new_type(result, wanted)
    return op
