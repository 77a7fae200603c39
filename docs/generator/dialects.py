"""A page for each dialect: its operations with operands, properties, results, traits and slots; its types."""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ArrayOfConstraint
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AllOf,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    VarConstraint,
    VariadicDef,
)

from docs.generator.markdown import GENERATED, block, code, codes, documentation, summary, table
from qmlir import registry
from qmlir.environment import default_environment
from qmlir.ir import interfaces
from qmlir.ir.diagnostics import text_error
from qmlir.ir.interfaces import Quantizable, QuantizationSlots
from qmlir.text.parsing import parse_module

SPLIT = "// -----"


def dialect_rows() -> Iterator[tuple[str, Any]]:
    """Every dialect of the tree, by name."""
    return ((name, registry.load(row)) for name, row in registry.DIALECTS.items())


def operations_of(dialect: Any) -> list[type[IRDLOperation]]:
    """The operations of a dialect, in the order of its families."""
    return list(dialect.operations)


def examples(tests: Path, dialect: str) -> dict[type[Operation], str]:
    """For each operation of a dialect the text of the first one in the FileCheck files that read and print it."""
    found: dict[type[Operation], str] = {}
    for path in sorted((tests / "filecheck" / "dialects" / dialect).glob("ops*.mlir")):
        for part in path.read_text(encoding="utf-8").split(SPLIT):
            module = parse_module(default_environment().new_context(), part, path.name)
            for op in module.walk():
                if op.dialect_name() == dialect and type(op) not in found:
                    found[type(op)] = str(op)
    return found


def constraint_text(constraint: object) -> str:
    """What a value or a property may be, in MLIR's words."""
    its: Any = constraint  # the generic parameters of constraints do not matter here
    match constraint:
        case BaseAttr():
            return _name_of(its.attr)
        case ParamAttrConstraint():
            return _name_of(its.base_attr)
        case VarConstraint():
            return constraint_text(its.constraint)
        case EqAttrConstraint():
            return str(its.attr)
        case ArrayOfConstraint():
            return "array"
        case AnyOf():
            return " or ".join(dict.fromkeys(map(constraint_text, its.attr_constrs)))
        case AllOf():
            return " and ".join(dict.fromkeys(map(constraint_text, its.attr_constrs)))
        case RangeLengthConstraint():
            return constraint_text(its.constraint)
        case RangeOf():
            return constraint_text(its.constr)
        case _:
            return "any"


def _name_of(attribute: type[Attribute]) -> str:
    name = getattr(attribute, "name", "")
    return name if isinstance(name, str) and name else attribute.__name__


def _count(definition: object) -> str:
    if isinstance(definition, OptionalDef):
        return "optional"
    return "any number" if isinstance(definition, VariadicDef) else ""


def slots_of(operation: type[IRDLOperation]) -> QuantizationSlots | None:
    """The slots that an operation declares for all its forms, `None` where it has none or they depend on properties."""
    if not issubclass(operation, Quantizable) or "quantization_slots" in vars(operation):
        return None
    return cast(QuantizationSlots | None, getattr(operation, "SLOTS", None))


def _value_rows(operation: type[IRDLOperation]) -> Iterator[tuple[str, ...]]:
    definition = operation.get_irdl_definition()
    slots = slots_of(operation)
    is_result: Sequence[tuple[str, Iterable[tuple[str, Any]]]] = (
        ("operand", definition.operands),
        ("result", definition.results),
    )
    for kind, values in is_result:
        for name, value in values:
            slot = slots.operands.get(name) if slots and kind == "operand" else None
            notes = ", ".join(filter(None, (_count(value), f"slot `{slot}`" if slot else "")))
            yield kind, code(name), constraint_text(value.constr), notes
    for name, region in definition.regions:
        yield "region", code(name), "", _count(region)
    for name, value in definition.properties.items():
        if name.endswith("SegmentSizes"):
            continue
        default = value.default_value
        note = "" if not isinstance(value, OptionalDef) else "optional" if default is None else f"default `{default}`"
        yield "property", code(name), constraint_text(value.constr), note


def _traits(operation: type[IRDLOperation]) -> str:
    traits = sorted({type(trait).__name__ for trait in operation.traits})
    own = [each.__name__ for each in operation.__mro__ if each.__module__ == interfaces.__name__]
    lines = [f"Traits: {codes(traits)}." if traits else "", f"Interfaces: {codes(own)}." if own else ""]
    return " ".join(filter(None, lines))


def _slots_text(operation: type[IRDLOperation]) -> str:
    if not issubclass(operation, Quantizable):
        return ""
    slots = slots_of(operation)
    if slots is None:
        return "Slots of quantization: by its properties."
    axis, fixed = slots.weight_channel_axis, slots.fixed_output
    said = [
        "all data has one quantized type" if slots.shares_parameters else "",
        "" if axis is None else f"weights have a scale for each index of axis {axis}, where they have several",
        "" if fixed is None else f"results lie in [{fixed.minimum:g}, {fixed.maximum:g}]",
        "the operand may have the type of the result, which limits it" if slots.limits_operand else "",
        "takes 32-bit sums" if slots.takes_accumulators else "",
    ]
    said = [each for each in said if each]
    return f"Quantization: {'; '.join(said)}." if said else ""


def _operation(operation: type[IRDLOperation], example: str | None) -> str:
    parts = [f"### {code(operation.name)}\n", documentation(operation) + "\n"]
    rows = list(_value_rows(operation))
    if rows:
        parts.append(table(("", "name", "type", ""), rows))
    notes = " ".join(filter(None, (_slots_text(operation), _traits(operation))))
    if notes:
        parts.append(notes + "\n")
    if example is not None:
        parts.append(block("text", example))
    return "\n".join(parts)


def _attribute(attribute: type[ParametrizedAttribute]) -> str:
    sign = "!" if issubclass(attribute, TypeAttribute) else "#"
    return f"### {code(sign + attribute.name)}\n\n{documentation(attribute)}\n"


def _families(operations: Iterable[type[IRDLOperation]]) -> dict[str, list[type[IRDLOperation]]]:
    """Operations by the module that defines them."""
    families: dict[str, list[type[IRDLOperation]]] = {}
    for operation in operations:
        families.setdefault(operation.__module__, []).append(operation)
    return families


def _dialect_page(name: str, dialect: Any, tests: Path) -> str:
    own = operations_of(dialect)
    shown = examples(tests, name)
    missing = [operation.name for operation in own if operation not in shown]
    if missing:
        raise text_error(f"no ops*.mlir under {tests} shows {', '.join(missing)}")
    package = importlib.import_module(registry.DIALECTS[name].partition(":")[0])
    parts = [GENERATED, f"# The `{name}` dialect", documentation(package)]
    families = _families(own)
    for module, operations in families.items():
        title = module.removesuffix(".ops").rpartition(".")[2]
        parts.append(f"## Operations: {title}" if len(families) > 1 else "## Operations")
        parts.append(documentation(importlib.import_module(module)))
        parts.extend(_operation(operation, shown[operation]).rstrip() for operation in operations)
    attributes = list(dialect.attributes)
    if attributes:
        parts.append("## Types and attributes")
        parts.extend(_attribute(attribute).rstrip() for attribute in attributes)
    return "\n\n".join(parts) + "\n"


def _index() -> str:
    rows = [
        (
            f"[`{name}`](dialects/{name}.md)",
            str(len(operations_of(dialect))),
            summary(importlib.import_module(registry.DIALECTS[name].partition(":")[0])),
        )
        for name, dialect in dialect_rows()
    ]
    text = (
        "A page for each dialect of this package: operations with operands, properties, results, traits and slots of\n"
        "quantization, each with an example that the tests read and print; types and attributes.\n"
    )
    names = "".join(f"dialects/{name}\n" for name, _ in dialect_rows())
    contents = block("{toctree}", f":hidden:\n\n{names}")
    return f"{GENERATED}\n\n# Dialects\n\n{text}\n{table(('dialect', 'operations', 'what it is'), rows)}\n{contents}"


def pages(tests: Path) -> dict[str, str]:
    """The page of each dialect, and the one that lists them."""
    own = {f"dialects/{name}.md": _dialect_page(name, dialect, tests) for name, dialect in dialect_rows()}
    return {"dialects.md": _index(), **own}
