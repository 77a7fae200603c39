"""Matching: finds the operations of a `pdl.pattern` in a module, and the bindings of its values.

The search starts from an operation of the module as the candidate for the pattern's root, and follows operands to their
definitions. Operations of the pattern that are not reachable from the root are searched among the users of bound
values, so a pattern may have several roots. The matcher backtracks over all alternatives: both orders of operands, and
each of several users. xDSL's matcher does not backtrack, supports neither ranges nor results of constraints, and
ignores `isNegated`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import pdl
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation

from qmlir.extensions.pdl.natives import NativeFunction, TypeMismatchError
from qmlir.ir.diagnostics import op_error
from qmlir.registry import in_package
from qmlir.registry.faults import one_line

Found = dict[SSAValue, Any]
"""The binding of each value of a pattern: an operation, a value, a type, an attribute, or a tuple for a range."""

COMMUTATIVE = "commutative"
"""The name of the constraint that lets the first two operands of an operation match in either order."""

_Goal = tuple[SSAValue, Any]
"""A value of the pattern, and the binding that it must have."""

_NONE: list[list[_Goal]] = []
_ALWAYS: list[list[_Goal]] = [[]]


def is_range(value: SSAValue) -> bool:
    """Returns true if `value`, a value of a pattern, stands for a range."""
    return isinstance(value.type, pdl.RangeType)


def attribute_of(op: Operation, name: str) -> Attribute | None:
    """Returns the attribute or property `name` of `op`, or its default."""
    found = op.get_attr_or_prop(name)
    if found is None and isinstance(op, IRDLOperation):
        definition = op.get_irdl_definition().properties.get(name)
        return None if definition is None else definition.default_value
    return found


def _shared(names: Sequence[SSAValue], things: Sequence[Any]) -> list[list[_Goal]]:
    """Pairs `names` with `things` in order; a single range among them takes the remaining ones."""
    ranges = [position for position, name in enumerate(names) if is_range(name)]
    if not ranges:
        return [list(zip(names, things, strict=True))] if len(names) == len(things) else _NONE
    position, behind = ranges[0], len(names) - ranges[0] - 1
    if len(ranges) > 1 or len(things) < position + behind:
        return _NONE
    end = len(things) - behind
    return [
        [
            *zip(names[:position], things[:position], strict=True),
            (names[position], tuple(things[position:end])),
            *zip(names[position + 1 :], things[end:], strict=True),
        ]
    ]


def _type_goal(name: SSAValue | None, values: Any) -> list[_Goal]:
    if name is None:
        return []
    if isinstance(values, tuple):
        return [(name, tuple(each.type for each in cast(tuple[SSAValue, ...], values)))]
    return [(name, values.type)]


@dataclass(frozen=True)
class Matcher:
    """The search for matches of one pattern."""

    root: SSAValue
    operations: Sequence[pdl.OperationOp]
    """All operations of the pattern, in order."""

    constraints: Sequence[tuple[pdl.ApplyNativeConstraintOp, NativeFunction]]
    commutative: frozenset[SSAValue] = field(default_factory=frozenset[SSAValue])
    """The operations of the pattern whose first two operands may be in either order."""

    def matches(self, op: Operation) -> Iterator[Found]:
        """Yields each match of the pattern with `op` as its root."""
        yield from self._solve([(self.root, op)], {})

    def _solve(self, goals: list[_Goal], known: Found) -> Iterator[Found]:
        goals, found = list(goals), dict(known)
        while goals:
            name, thing = goals.pop()
            if name in found:
                if found[name] != thing:
                    return
                continue
            choices = self._steps(name, thing)
            if not choices:
                return
            found[name] = thing
            if len(choices) > 1:
                for choice in choices:
                    yield from self._solve([*goals, *reversed(choice)], found)
                return
            goals.extend(reversed(choices[0]))
        yield from self._others(found)

    def _steps(self, name: SSAValue, thing: Any) -> list[list[_Goal]]:
        """Returns the further conditions if `name` is bound to `thing`: lists of goals, one of which must be met."""
        match name.owner:
            case pdl.OperationOp() as op:
                return self._operation_steps(op, thing)
            case pdl.OperandOp() | pdl.OperandsOp() as op:
                return [_type_goal(op.value_type, thing)]
            case pdl.ResultOp() as op:
                is_it = isinstance(thing, OpResult) and thing.index == op.index.value.data
                return [[(op.parent_, thing.op)]] if is_it else _NONE
            case pdl.ResultsOp() as op:
                return self._results_steps(op, thing)
            case pdl.TypeOp() as op:
                return _ALWAYS if op.constantType in (None, thing) else _NONE
            case pdl.TypesOp() as op:
                constant = cast(ArrayAttr[Any] | None, op.constantTypes)
                return _ALWAYS if constant is None or constant.data == thing else _NONE
            case pdl.AttributeOp() as op:
                if op.value not in (None, thing):
                    return _NONE
                if op.value_type is None:
                    return _ALWAYS
                type_ = getattr(thing, "type", None)
                return [[(op.value_type, type_)]] if isinstance(type_, Attribute) else _NONE
            case _:
                return _NONE  # results of constraints are bound last

    @staticmethod
    def _results_steps(op: pdl.ResultsOp, thing: Any) -> list[list[_Goal]]:
        values = cast(tuple[SSAValue, ...], thing) if isinstance(thing, tuple) else (cast(SSAValue, thing),)
        owners = {each.op for each in values if isinstance(each, OpResult)}
        if len(owners) != 1:
            return _NONE
        (owner,) = owners
        wanted = tuple(owner.results) if op.index is None else (owner.results[op.index.value.data],)
        return [[(op.parent_, owner)]] if values == wanted else _NONE

    def _operation_steps(self, name: pdl.OperationOp, op: Operation) -> list[list[_Goal]]:
        if name.opName is not None and name.opName.data != op.name:
            return _NONE
        goals: list[_Goal] = []
        for key, value in zip(name.attributeValueNames, name.attribute_values, strict=True):
            attribute = attribute_of(op, key.data)
            if attribute is None:
                return _NONE
            goals.append((value, attribute))
        types = _shared(list(name.type_values), [result.type for result in op.results])
        orders = self._orders(name, list(op.operands))
        choices = (chosen for operands in orders for chosen in _shared(list(name.operand_values), operands))
        return [[*goals, *chosen, *types[0]] for chosen in choices] if types else _NONE

    def _orders(self, name: pdl.OperationOp, operands: list[SSAValue]) -> Iterator[list[SSAValue]]:
        yield operands
        if name.op in self.commutative and len(operands) > 1 and operands[0] is not operands[1]:
            yield [operands[1], operands[0], *operands[2:]]

    def _others(self, found: Found) -> Iterator[Found]:
        """Searches for an operation that is not bound yet, or checks the constraints."""
        missing = [each for each in self.operations if each.op not in found]
        if not missing:
            if (whole := self._constrained(found)) is not None:
                yield whole
            return
        taken = {found[each.op] for each in self.operations if each.op in found}
        for name in missing:
            known = self._known_operand(name, found)
            if known is None:
                continue
            for user in dict.fromkeys(use.operation for use in known.uses):
                if user not in taken:
                    yield from self._solve([(name.op, user)], found)
            return

    @staticmethod
    def _known_operand(name: pdl.OperationOp, found: Found) -> SSAValue | None:
        """Returns a value of the module that the operation `name` must use."""
        for operand in name.operand_values:
            thing = found.get(operand)
            owner = operand.owner
            if thing is None and isinstance(owner, pdl.ResultOp) and owner.parent_ in found:
                thing = found[owner.parent_].results[owner.index.value.data]
            if isinstance(thing, SSAValue):
                return cast(SSAValue, thing)
        return None

    def _constrained(self, found: Found) -> Found | None:
        """Returns `found` with the results of the constraints; `None` if one does not hold."""
        for op, function in self.constraints:
            try:
                results = function([argument(each, found) for each in op.args])
            except TypeMismatchError:
                results = None
            except Exception as error:  # any error of a package's function names the pattern
                raise op_error(op, f"'{function.name}' failed: {one_line(error)}{in_package(error)}") from error
            if bool(op.is_negated.value.data) == (results is not None):
                return None
            found |= dict(zip(op.res, results or (), strict=False))
        return found


def argument(name: SSAValue, found: Mapping[SSAValue, Any]) -> Any:
    """Returns the binding of the pattern value `name`, or the constant that it stands for."""
    if name in found:
        return found[name]
    match name.owner:
        case pdl.AttributeOp(value=Attribute() as value):
            return value
        case pdl.TypeOp(constantType=Attribute() as type_):
            return type_
        case pdl.ResultOp() as op if op.parent_ in found:
            return found[op.parent_].results[op.index.value.data]
        case pdl.ResultsOp() as op if op.parent_ in found:
            results = found[op.parent_].results
            return tuple(results) if op.index is None else results[op.index.value.data]
        case _:
            raise KeyError(f"%{name.name_hint or '?'} is not bound")


def roots_among(ops: Iterable[Operation]) -> list[Operation]:
    """Returns the operations among `ops` whose results no other operation of `ops` uses."""
    every = list(dict.fromkeys(ops))
    inside = set(every)
    return [op for op in every if not any(use.operation in inside for result in op.results for use in result.uses)]
