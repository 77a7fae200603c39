"""Raises a group of operations to the composite that decomposes into it, if no information is lost.

A template is unified with the group twice: first its plain parts, which binds the operands of the composite; then the
decomposition of the new composite with all types, which must equal the group exactly. In between, the types of the
group become the `components` of the composite.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.dialects.nn.base import Kind, NnOp, kind_of, plain_type, shapes_agree
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.decomposition import IMPLIED, components_of, implied_element, is_quantized, result_indices
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.nn.movement.ops import ReshapeOp
from qmlir.dialects.nn.raising import unification
from qmlir.dialects.nn.raising.templates import Template
from qmlir.dialects.nn.requantize import REQUANTIZE, decompose, may_requantize, temporary_parts
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of, tensor
from qmlir.ir.decomposition import COMPONENTS, Parts
from qmlir.ir.evaluation import evaluate
from qmlir.ir.provenance import Origin, describe, merged_origins, origins_of, set_origins, set_tensor_names, tensor_name
from qmlir.registry import decompositions


@dataclass(frozen=True)
class Refusal:
    """The reason why a group is not raised."""

    reason: str
    is_computed: bool
    """Whether the group computes the composite, but something else prevents it from being raised."""


Parameters = tuple[str, bool, tuple[int, int], float, int]
"""The parameters of one channel or block of a quantized type: storage, sign, limits, scale and zero point."""


def _parameters(element: Attribute) -> frozenset[Parameters | Attribute]:
    """Returns the parameters of all channels or blocks of a type; slices of a value have a subset of them."""
    if not isinstance(element, UniformQuantizedType):
        return frozenset([element])
    head = (str(element.storage), element.is_signed, (element.storage_min, element.storage_max))
    scales, zero_points = np.broadcast_arrays(element.scales, element.zero_points)
    return frozenset((*head, *each) for each in zip(scales.flat, zero_points.flat, strict=True))


def _given_types(ops: Iterable[Operation]) -> Iterator[tuple[Operation, Attribute]]:
    """Yields the operations that compute quantized values, with their result types; composites yield their parts.

    Operations that only move values are skipped: they have the types of their operands.
    """
    for op in ops:
        with temporary_parts(op) as parts:
            if type(op) in decompositions() and isinstance(op, NnOp) and decompose(op, parts) is not None:
                yield from _given_types(parts.operations)
                continue
        if isinstance(op, NnOp) and not op.has_trait(ConstantLike) and not op.quantization_slots().shares_parameters:
            yield from ((op, element_of(result)) for result in op.results if result.uses or len(op.results) == 1)


def _lost_type(group: Sequence[Operation], composite: NnOp) -> str | None:
    """Returns why raising would lose a quantized type: no part of the same kind in the composite has it; `None` if
    none is."""
    kept: dict[type[Operation], set[Parameters | Attribute]] = {}
    for part, element in _given_types([composite]):
        kept.setdefault(type(part), set()).update(_parameters(element))
    for op, element in _given_types(group):
        if kind_of(element) is Kind.QUANTIZED and not _parameters(element) <= kept.get(type(op), set()):
            return f"no part of {composite.name} can have the type '{element}' of {describe(op)}"
    return None


@dataclass(frozen=True)
class Raised:
    """A composite that can replace a group. `of` creates it, and ensures that no quantized type is lost."""

    composite: NnOp
    before: Sequence[NnOp]
    """Constants and a transpose that build the composite's operands; they are inserted before it."""

    results: Sequence[SSAValue | None]
    """For each result of the composite, the value of the group that it replaces; `None` if the result is unused."""

    parts: Sequence[Operation]
    """The operations of the group, in topological order."""

    after: Sequence[NnOp] = ()
    """A transpose or reshapes that convert the results of the composite to those of the group."""

    values: Sequence[SSAValue] = ()
    """The values with which `results` are replaced."""

    @staticmethod
    def of(
        composite: NnOp,
        before: Sequence[NnOp],
        results: Sequence[SSAValue | None],
        parts: Sequence[Operation],
        after: Sequence[NnOp] = (),
        values: Sequence[SSAValue] | None = None,
    ) -> "Raised":
        """Creates the replacement of a group. Raises `CompositeMismatchError` if a quantized type would be lost.

        `values` replace `results`; by default, they are the results of the last new operation. All raised composites
        are created here, so a rule that forgets a type cannot change a result.
        """
        taken = [op for op in parts if not isinstance(op, ConstantOp)]
        if (fault := _lost_type(taken, composite)) is not None:
            raise unification.CompositeMismatchError(fault)
        last = [composite, *after][-1]
        return Raised(composite, before, results, parts, after, last.results if values is None else values)

    @property
    def made(self) -> Sequence[NnOp]:
        """The new operations, in order."""
        return [*self.before, self.composite, *self.after]

    def anchor(self) -> Operation | None:
        """Returns where to insert the composite: the first operation of the group that defines a result."""
        first: Operation | None = None
        for owner in (value.op for value in self.results if isinstance(value, OpResult) and value.op in self.parts):
            first = owner if first is None or owner.is_before_in_block(first) else first
        return first

    def discard(self) -> None:
        """Erases the new operations and leaves the group unchanged."""
        for op in reversed(self.made):
            op.erase(safe_erase=False)

    def replace(self) -> None:
        """Inserts the composite, replaces the results of the group, and erases operations that are no longer used."""
        anchor = self.anchor()
        assert anchor is not None
        block = anchor.parent
        assert block is not None
        self.composite.location = anchor.location
        block.insert_ops_before(self.made, anchor)
        for old, new in zip(self.results, self.values, strict=True):
            if isinstance(old, OpResult) and old.op in self.parts:
                new.name_hint = new.name_hint or old.name_hint
                old.replace_all_uses_with(new)
        for part in reversed(self.parts):
            if not any(result.first_use for result in part.results):
                part.detach()
                part.erase()


def _written_out(op: Operation) -> dict[str, Attribute]:
    """Returns the properties of an operation including defaults, without the types of its parts."""
    definitions = op.get_irdl_definition().properties if isinstance(op, NnOp) else {}
    defaults = {name: each.default_value for name, each in definitions.items() if each.default_value is not None}
    return {name: value for name, value in {**defaults, **op.properties}.items() if name != COMPONENTS}


def _properties_differ(mine: Operation, other: Operation, besides: Collection[str] = ()) -> str | None:
    left, right = _written_out(mine), _written_out(other)
    for name in sorted((left.keys() | right.keys()).difference(besides)):
        if left.get(name) != right.get(name):
            return f"expected {name} = {left.get(name)}, but got {right.get(name)}"
    return None


def _naming_parts(parts: Parts, rules: unification.Rules) -> unification.Rules:
    """Wraps `rules` so that their reasons name the part."""
    roles = dict(zip(parts.operations, parts.roles, strict=True))

    def named(op: Operation | None, fault: str | None) -> str | None:
        return fault if fault is None or op is None or op not in roles else f"its part '{roles[op]}': {fault}"

    def compare_values(mine: SSAValue, other: SSAValue) -> str | None:
        return named(mine.op if isinstance(mine, OpResult) else None, rules.compare_values(mine, other))

    def compare_operations(mine: Operation, other: Operation) -> str | None:
        return named(mine, rules.compare_operations(mine, other))

    return unification.Rules(compare_values, compare_operations, rules.is_free, rules.held_by)


def _template_rules(template: Template) -> unification.Rules:
    own = {result for part in template.parts.operations for result in part.results}

    def compare_values(mine: SSAValue, other: SSAValue) -> str | None:
        is_alike = shapes_agree(shape_of(mine), shape_of(other))
        if mine not in own and not is_alike:
            return f"expected an operand of type '{mine.type}', but got '{other.type}'"
        if not is_alike or plain_type(element_of(mine)) != plain_type(element_of(other)):
            return f"expected type '{mine.type}', but got '{other.type}'"
        return None

    def compare_operations(mine: Operation, other: Operation) -> str | None:
        if type(mine) is not type(other):
            return f"expected '{mine.name}', but got '{other.name}'"
        if isinstance(mine, ConstantOp) and isinstance(other, ConstantOp):
            # The elements of a quantized constant are compared once the types of all parts are known.
            is_stored = kind_of(element_of(other.result)) is Kind.QUANTIZED
            return None if is_stored or mine.value == other.value else "has a different constant"
        # The requantization of parts is also compared once the types of all parts are known.
        return _properties_differ(mine, other, (REQUANTIZE,))

    def is_moved(mine: SSAValue) -> bool:
        source, chain = unification.movement_chain(mine)
        return bool(chain) and source not in own

    def held_by(mine: SSAValue, other: SSAValue) -> Sequence[unification.Held]:
        if unification.constant_of(other) is None:
            return ()
        if is_moved(mine):
            return [(mine, other)]
        # The biases of a gate are summed at compile time: the whole sum in the first bias is equivalent.
        if isinstance(mine, OpResult) and isinstance(mine.op, AddOp) and all(map(is_moved, mine.op.operands)):
            return [(mine.op.lhs, other), (mine.op.rhs, None)]
        return ()

    return _naming_parts(
        template.parts, unification.Rules(compare_values, compare_operations, lambda value: value not in own, held_by)
    )


def _exact_rules(parts: Parts) -> unification.Rules:
    own = {result for part in parts.operations for result in part.results}

    def compare_values(mine: SSAValue, other: SSAValue) -> str | None:
        if mine not in own:
            return f"reads a different operand of type '{other.type}'"
        return None if mine.type == other.type else f"has the type {other.type}, not {mine.type}"

    def compare_operations(mine: Operation, other: Operation) -> str | None:
        if type(mine) is not type(other):
            return f"expected '{mine.name}', but got '{other.name}'"
        if isinstance(mine, ConstantOp) and isinstance(other, ConstantOp):
            return None if mine.value == other.value else f"has a constant with different values ({describe(other)})"
        if mine.properties.get(COMPONENTS) != other.properties.get(COMPONENTS):
            return "has different components"
        return _properties_differ(mine, other)

    def held_by(mine: SSAValue, other: SSAValue) -> Sequence[unification.Held]:
        """Matches a constant that was moved at compile time with the parts that would move it."""
        source, chain = unification.movement_chain(mine)
        before, after = unification.constant_of(source), unification.constant_of(other)
        if not chain or mine not in own or before is None or after is None:
            return ()
        numbers = before.array
        for op in chain:
            (numbers,) = evaluate(op, [numbers]) or (numbers,)
        return [(mine, other)] if numbers.tobytes() == after.array.tobytes() else ()

    return _naming_parts(parts, unification.Rules(compare_values, compare_operations, lambda value: False, held_by))


def _complete(template: Template, found: unification.Unification, rules: unification.Rules) -> None:
    """Finds parts that do not contribute to the matched result, through the values that they use."""
    for part in template.parts.operations:
        if part in found.operations or isinstance(part, ConstantOp) or not part.operands:
            continue
        known = found.values.get(part.operands[0])
        for use in () if known is None else tuple(known.uses):
            if len(use.operation.results) != len(part.results):
                continue
            attempt = unification.Unification(dict(found.values), dict(found.operations), list(found.held))
            after = unification.unify([(part.results[0], use.operation.results[0])], rules, attempt)
            if isinstance(after, unification.Unification):
                found.values, found.operations, found.held = after.values, after.operations, after.held
                break


def _without_role(op: Operation, role: str) -> Iterator[Origin]:
    """Yields the origins of a part as origins of the composite in which it has the role `role`."""
    for origin in origins_of(op):
        if origin.role == role:
            yield replace(origin, role="")
        elif origin.role.endswith(f"/{role}"):
            yield replace(origin, role=origin.role.removesuffix(f"/{role}"))
        else:
            yield origin


def _hand_on(
    template: Template,
    found: unification.Unification,
    composite: NnOp,
    constants: Mapping[SSAValue, ConstantOp],
    results: Sequence[SSAValue | None],
) -> None:
    """Gives the composite the origins of its parts, and its results the names of theirs."""
    origins: list[Origin] = []
    for role, part in zip(template.parts.roles, template.parts.operations, strict=True):
        if part in found.operations and not isinstance(part, ConstantOp):
            origins.extend(_without_role(found.operations[part], role))
    set_origins(composite, origins)
    for placeholder, constant in constants.items():
        own = (value for held, value in found.held if unification.movement_chain(held)[0] is placeholder)
        slices = [value.op for value in own if isinstance(value, OpResult)]
        # Origins with a role were derived from the operand: they are not the origin of the constant.
        set_origins(constant, (origin for origin in merged_origins(slices) if not origin.role))
    names = [
        tensor_name(value) if isinstance(value, OpResult) and value.op in found.operations.values() else ""
        for value in results
    ]
    if any(names):
        set_tensor_names(composite, names)


def _element_types(template: Template, found: unification.Unification) -> dict[str, Attribute]:
    """Returns the element types of the inner parts by role.

    Raises `CompositeMismatchError` if the steps of a layer neither agree nor imply theirs.
    """
    types: dict[str, Attribute] = {}
    giving = result_indices(template.composite, template.results)
    for role, part in zip(template.parts.roles, template.parts.operations, strict=True):
        if part in giving or (other := _counterpart(part, found)) is None:
            continue
        elements = {element_of(result) for result in other.results}
        if other.operands and isinstance(other, NnOp) and {implied_element(other)} == elements:
            elements.clear()
        nested = {f"{role}/{inner}": type_ for inner, type_ in components_of(other).items()}
        if any(types.setdefault(key, type_) != type_ for key, type_ in nested.items()):
            raise unification.CompositeMismatchError(f"steps of its part '{role}' have inner parts of different types")
        if any(types.setdefault(role, element) != element for element in elements):
            raise unification.CompositeMismatchError(f"steps of its part '{role}' have different types")
    return types


def _counterpart(part: Operation, found: unification.Unification) -> Operation | None:
    """Returns the match of a part: an operation, or a slice of a constant of stored integers."""
    if part in found.operations:
        return found.operations[part]
    held = found.values.get(part.results[0]) if len(part.results) == 1 else None
    constant = None if held is None else unification.constant_of(held)
    return constant if held is not None and kind_of(element_of(held)) is Kind.QUANTIZED else None


def _needed(composite: NnOp, parts: Parts, types: Mapping[str, Attribute]) -> dict[str, Attribute] | None:
    """Returns the `types` that are not implied by others; `None` if the property can be omitted."""
    exact = is_quantized(composite)
    needed = {key: type_ for key, type_ in types.items() if key not in parts.roles}
    for role, part in zip(parts.roles, parts.operations, strict=True):
        if role not in types or not isinstance(part, NnOp):
            continue
        implied = implied_element(part) if exact else plain_type(types[role])
        if implied != types[role]:
            needed[role] = types[role]
    return needed if needed or (exact and not isinstance(composite, IMPLIED)) else None


def _type_of_unused(value: SSAValue, found: unification.Unification, plain: Attribute) -> Attribute:
    """Returns the type of an unused result that the group does not compute: that of the values that it moves."""
    moved = value
    while moved not in found.values and isinstance(op := moved.owner, NnOp) and op.operands:
        if not op.quantization_slots().shares_parameters:
            return plain
        moved = op.data_operands()[0]
    known = found.values.get(moved)
    return plain if known is None else TensorType(cast(Any, element_of(known)), tensor(plain).get_shape())


@dataclass(frozen=True)
class _Exposed:
    """A value that the group returns in another shape than its composite: a reshape, and a reshape back for its
    users."""

    value: OpResult
    reshaped: ReshapeOp
    back: ReshapeOp

    @staticmethod
    def of(template: Template, found: unification.Unification, number: int) -> "_Exposed | None":
        """Creates the reshapes for result `number`, if the group uses only the unreshaped operand; otherwise `None`."""
        result = template.results[number]
        if not isinstance(result, OpResult) or result in found.values or not isinstance(result.op, ReshapeOp):
            return None
        if result.op.input in template.results:
            return None
        value, inside = found.values.get(result.op.input), set(found.operations.values())
        if not isinstance(value, OpResult) or all(use.operation in inside for use in value.uses):
            return None
        reshaped = ReshapeOp(value, shape_of(result))
        back = ReshapeOp(reshaped.result, shape_of(value))
        role = template.parts.roles[template.parts.operations.index(cast(OpResult, result.op.input).op)]
        own = [origin for origin in origins_of(value.op) if origin.role == role or origin.role.endswith(f"/{role}")]
        set_origins(reshaped, own)
        set_origins(back, [origin for origin in origins_of(value.op) if origin not in own])
        set_origins(value.op, own)
        value.replace_uses_with_if(back.result, lambda use: use.operation not in (*inside, reshaped))
        for made in (back, reshaped):
            made.location = value.op.location
            assert value.op.parent is not None
            value.op.parent.insert_op_after(made, value.op)
        found.values[result], found.operations[result.op] = reshaped.result, reshaped
        return _Exposed(value, reshaped, back)

    def undo(self) -> None:
        """Removes the reshapes, so that users read the value itself again."""
        self.back.result.replace_all_uses_with(self.value)
        set_origins(self.value.op, [*origins_of(self.value.op), *origins_of(self.back)])
        for made in (self.back, self.reshaped):
            made.detach()
            made.erase()


def _compose(template: Template, found: unification.Unification, constants: Mapping[SSAValue, ConstantOp]) -> NnOp:
    """Returns the composite on the matched operands, with the types of the group. Raises `CompositeMismatchError`."""
    values = found.values | {placeholder: constant.result for placeholder, constant in constants.items()}
    if any(placeholder not in values for placeholder in template.block.args):
        raise unification.CompositeMismatchError("some of its operands do not appear in its parts")
    operands = [values[placeholder] for placeholder in template.block.args]
    types: list[Attribute] = []
    for value, result in zip(template.results, template.composite.results, strict=True):
        own = values.get(value)
        types.append(_type_of_unused(value, found, result.type) if own is None else own.type)
    properties = dict(template.composite.properties)
    parts = [part for part in found.operations.values() if isinstance(part, NnOp) and may_requantize(part)]
    modes = {part.requantize for part in parts}
    if len(modes) > 1:
        raise unification.CompositeMismatchError("its parts use different requantization modes")
    if mode := next(iter(modes), None):
        properties[REQUANTIZE] = mode
    return type(template.composite).create(operands=operands, result_types=types, properties=properties)


def fault_of(
    composite: NnOp, types: Mapping[str, Attribute], pairs: Mapping[int, SSAValue], *, is_excerpt: bool = False
) -> str | None:
    """Returns why the composite would not reproduce the group, and sets its `components`; `None` if it would.

    With `is_excerpt`, the group may consist of only some of the parts.
    """
    if is_quantized(composite) or any(plain_type(type_) != type_ for type_ in types.values()):
        composite.properties[COMPONENTS] = DictionaryAttr(dict(types))
    try:
        with temporary_parts(composite, may_be_excerpt=is_excerpt) as parts:
            results = decompose(composite, parts)
            if results is None:
                return "the composite cannot express the types of its parts"
            needed = _needed(composite, parts, types)
            same = unification.unify([(results[index], value) for index, value in pairs.items()], _exact_rules(parts))
            if isinstance(same, unification.Mismatch):
                return same.reason
    except (VerifyException, InterpretationError) as error:
        return str(error)
    composite.properties.pop(COMPONENTS, None)
    reason: str | None = None
    # If the sum does not imply the type of a bias, the parts determine how it is added, whatever their types are.
    for given in (None, {}) if needed is None else (needed,):
        if given is not None:
            composite.properties[COMPONENTS] = DictionaryAttr(given)
        try:
            composite.verify_()
        except VerifyException as error:
            reason = reason or str(error)
        else:
            return None
    return reason


def _other_user(template: Template, found: unification.Unification) -> str | None:
    """Returns why a value inside the group must stay: an operation outside the group uses it. `None` if there is
    none."""
    inside = set(found.operations.values())
    given = {found.values[value] for value in template.results if value in found.values}
    for role, part in zip(template.parts.roles, template.parts.operations, strict=True):
        if part not in found.operations or isinstance(part, ConstantOp):
            continue
        own = (result for result in found.operations[part].results if result not in given)
        if (user := other_user(own, inside)) is not None:
            return f"its part '{role}' is also used by {describe(user)}"
    return None


def other_user(values: Iterable[SSAValue], inside: Collection[Operation]) -> Operation | None:
    """Returns the first user of `values` that is not in `inside`; `None` if there is none."""
    return next((use.operation for value in values for use in value.uses if use.operation not in inside), None)


def _stands(raised: Raised) -> bool:
    """Whether all operands dominate the composite's insertion point, and the group is in one block."""
    anchor = raised.anchor()
    if anchor is None or any(op.parent is not anchor.parent and not op.has_trait(ConstantLike) for op in raised.parts):
        return False
    for operand in raised.composite.operands:
        owner = operand.op if isinstance(operand, OpResult) else None
        if owner is None or owner in raised.before or owner.parent is not anchor.parent:
            continue
        if not owner.is_before_in_block(anchor):
            return False
    return True


def raise_group(template: Template, root: SSAValue, number: int = 0) -> Raised | Refusal:
    """Matches `template` against the group whose value `root` is result `number` of the composite.

    Returns the replacement of the group, or the reason why there is none.
    """
    rules = _template_rules(template)
    found = unification.unify([(template.results[number], root)], rules)
    if isinstance(found, unification.Mismatch):
        return Refusal(found.reason, is_computed=False)
    _complete(template, found, rules)
    exposed = [each for index in range(len(template.results)) if (each := _Exposed.of(template, found, index))]
    raised = _raise(template, found)
    if isinstance(raised, Refusal):
        for each in exposed:
            each.undo()
    return raised


def _raise(template: Template, found: unification.Unification) -> Raised | Refusal:
    """Returns the replacement of the matched operations, or why there is none."""
    made: list[NnOp] = []
    try:
        constants = unification.put_together(found.held)
        made += constants.values()
        if (fault := _other_user(template, found)) is not None:
            raise unification.CompositeMismatchError(fault)
        types, composite = _element_types(template, found), _compose(template, found, constants)
        made.insert(0, composite)
        results = [found.values.get(value) for value in template.results]
        inner = found.operations.values()
        pairs = {
            index: value for index, value in enumerate(results) if isinstance(value, OpResult) and value.op in inner
        }
        if (fault := fault_of(composite, types, pairs, is_excerpt=template.parts.may_be_excerpt)) is not None:
            raise unification.CompositeMismatchError(fault)
        slices = [value.op for _, value in found.held if isinstance(value, OpResult)]
        in_order = [found.operations[part] for part in template.parts.operations if part in found.operations]
        raised = Raised.of(composite, list(constants.values()), results, list(dict.fromkeys([*slices, *in_order])))
        if not _stands(raised):
            raise unification.CompositeMismatchError("its operands are defined after uses of its results")
        _hand_on(template, found, composite, constants, results)
        return raised
    except unification.CompositeMismatchError as error:
        for op in made:
            op.erase(safe_erase=False)
        return Refusal(str(error), is_computed=True)
