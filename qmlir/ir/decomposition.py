"""Decomposition of composites into parts, each with a role; parts are inserted before the composite that they replace.

The parts that define the composite's results record it in a discardable attribute, so that `nn-raise` can recreate it:
`composite = {op = "nn.gelu", properties = {tanh_approximation = true}}`. The attribute contains the properties that
differ from their defaults, the index of the result unless it is the first (`result = 1`), and the role if the composite
was itself a part. If such a part is a composite that is decomposed in turn, the attribute is a list, with the innermost
composite first.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from operator import eq
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import DiagnosticException

from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.provenance import COMPOSITE, Origin, assign_role, origins_of
from qmlir.registry import Hook, decompositions, name_of, of_package
from qmlir.registry.faults import RAISED, one_line

COMPONENTS = "components"
"""The property that holds the types of a composite's parts. Marks omit it, since the parts themselves have these types.
"""

UNROLLED = 8
"""The maximum number of steps for which a recurrent layer is fully unrolled into its parts when types are chosen."""

OperationT = TypeVar("OperationT", bound=Operation)


@dataclass
class Parts:
    """The operations that a composite is decomposed into, in order."""

    composite: Operation
    operations: list[Operation] = field(default_factory=list[Operation])
    roles: list[str] = field(default_factory=list[str])
    """The role of each of `operations` inside the composite."""

    may_be_excerpt: bool = False
    """Whether the parts of a few steps of a long sequence suffice (an excerpt), since all steps have the same roles."""

    is_excerpt: bool = False
    """Whether the parts are an excerpt, because the sequence has a dynamic length or more than `UNROLLED` steps.

    An excerpt describes the composite, but can't replace it in a program.
    """

    untyped: str = ""
    """If the decomposition failed because the composite's components lack the type of a part, the role of that part."""

    def missing_type(self) -> str:
        """Returns the end of the error message for a missing type, which follows the word `components`."""
        part = f": the part '{self.untyped}' has none" if self.untyped else ""
        return f"do not define the types of all parts{part}"

    def add(self, role: str, op: OperationT) -> OperationT:
        """Adds `op` as a part with the role `role` in the nodes of the composite, and returns it."""
        assign_role(op, origins_of(self.composite), role)
        self.operations.append(op)
        self.roles.append(role)
        return op

    def discard(self) -> None:
        """Erases the parts, which would otherwise remain users of the composite's operands."""
        for part in reversed(self.operations):
            part.erase(safe_erase=False)
        self.operations.clear()
        self.roles.clear()


Decomposition = Callable[..., Sequence[SSAValue] | None]
"""A function that takes a composite and its `Parts`, adds the parts, and returns the values of its results, or
`None`."""


def results_given(
    op: Operation,
    function: Callable[..., Any],
    given: Any,
    is_accepted: Callable[[Attribute, Attribute], bool] = eq,
    where: str | None = None,
) -> Sequence[SSAValue]:
    """Checks and returns `given`, the values with which `function`, possibly a package's, replaces the results of `op`.

    Raises `DiagnosticError` unless `given` has one value for each result, and each value has an accepted type.
    """
    things = cast(Sequence[Any], given) if isinstance(given, Sequence) else (given,)
    values = [cast(SSAValue, each) for each in things if isinstance(each, SSAValue)]
    if isinstance(given, Sequence) and len(values) == len(things) == len(op.results):
        pairs = zip((value.type for value in values), op.result_types, strict=True)
        if all(is_accepted(found, wanted) for found, wanted in pairs):
            return values
    names = (str(cast(SSAValue, each).type) if isinstance(each, SSAValue) else type(each).__name__ for each in things)
    found = ", ".join(names)
    found = f"a list of ({found})" if isinstance(given, Sequence) else f"no list, {found}"
    wanted = ", ".join(map(str, op.result_types))
    end = of_package(function) if where is None else where
    raise op_error(
        op, f"decomposition '{name_of(function)}' must return values for ({wanted}), but returned {found}{end}"
    )


def guarded_decomposition(hook: Hook) -> Decomposition:
    """Wraps a package's decomposition to check its parts and results."""

    def guarded(op: Operation, parts: Parts) -> Sequence[SSAValue] | None:
        state = op.parent, tuple(op.operands), dict(op.properties), op.prev_op, op.next_op

        def wrong(message: str, error: BaseException | None = None) -> DiagnosticError:
            for part in parts.operations:
                if part.parent is not None:
                    part.detach()
            parts.discard()
            return op_error(op, f"its decomposition {message}{hook.at(error)}")

        try:
            given = cast(object, hook.function(op, parts))
        except DiagnosticException:
            raise
        except RAISED as error:  # a package may raise anything
            raise wrong(f"raises {one_line(error)}", error) from error
        if (op.parent, tuple(op.operands), dict(op.properties), op.prev_op, op.next_op) != state:
            raise wrong("changes the operation or its block; parts must be added with 'parts.add'")
        if given is None:
            return None
        values = results_given(op, hook.function, given, lambda found, wanted: True, hook.at())
        known = {*op.operands}
        for part in parts.operations:
            if part.parent is not None:
                raise wrong(f"adds the part '{part.name}', which is already in a block")
            foreign = next((operand for operand in part.operands if operand not in known), None)
            if foreign is not None:
                raise wrong(
                    f"adds the part '{part.name}', which uses a value that is neither "
                    "an earlier part's result nor an operand"
                )
            known.update(part.results)
        if not known.issuperset(values):
            raise wrong("returns a value that is neither a part's result nor an operand")
        return values

    return guarded


def parts_given(op: Operation, parts: Parts) -> Sequence[SSAValue] | None:
    """Decomposes the composite `op` and adds the operations to `parts`.

    Returns the values that replace the results of `op`; `None` if it can't be decomposed.
    """
    decomposition: Decomposition | None = decompositions().get(type(op))
    given = None if decomposition is None else decomposition(op, parts)
    return None if decomposition is None or given is None else results_given(op, decomposition, given)


@dataclass(frozen=True)
class Mark:
    """A record on a part that defines a result of a decomposed composite, which describes the composite."""

    name: str
    """The name of the composite's operation, such as `nn.gelu`."""

    properties: Mapping[str, Attribute]
    """The properties of the composite that differ from their defaults."""

    result: int = 0
    """The index of the composite's result that the part defines."""

    role: str = ""
    """The role of the composite inside the model's node; empty if the composite was the whole node."""

    def attribute(self) -> DictionaryAttr:
        """Returns the attribute that stores this record on the part."""
        entries: dict[str, Attribute] = {"op": StringAttr(self.name)}
        if self.result:
            entries["result"] = IntegerAttr(self.result, i64)
        if self.role:
            entries["role"] = StringAttr(self.role)
        if self.properties:
            entries["properties"] = DictionaryAttr(dict(self.properties))
        return DictionaryAttr(entries)


def _mark_of(composite: Operation, result: int) -> Mark:
    defaults: dict[str, Attribute | None] = {}
    if isinstance(composite, IRDLOperation):
        definitions = composite.get_irdl_definition().properties
        defaults = {name: definition.default_value for name, definition in definitions.items()}
    properties = {
        name: value
        for name, value in composite.properties.items()
        if name != COMPONENTS and value != defaults.get(name)
    }
    role = next((origin.role for origin in origins_of(composite)), "")
    return Mark(composite.name, properties, result, role)


def marks_on(op: Operation) -> tuple[Mark, ...]:
    """Returns the decomposed composites whose results `op` defines, the innermost first."""
    attribute = op.attributes.get(COMPOSITE)
    written = cast(ArrayAttr[Attribute], attribute).data if isinstance(attribute, ArrayAttr) else (attribute,)
    marks: list[Mark] = []
    for entry in written:
        if not isinstance(entry, DictionaryAttr) or not isinstance(name := entry.data.get("op"), StringAttr):
            continue
        properties, result, role = (entry.data.get(key) for key in ("properties", "result", "role"))
        known: Mapping[str, Attribute] = dict(properties.data) if isinstance(properties, DictionaryAttr) else {}
        number = result.value.data if isinstance(result, IntegerAttr) else 0
        marks.append(Mark(name.data, known, number, role.data if isinstance(role, StringAttr) else ""))
    return tuple(marks)


def set_marks(op: Operation, marks: Sequence[Mark]) -> None:
    """Records on `op` the decomposed composites whose results it defines."""
    if not marks:
        op.attributes.pop(COMPOSITE, None)
    elif len(marks) == 1:
        op.attributes[COMPOSITE] = marks[0].attribute()
    else:
        op.attributes[COMPOSITE] = ArrayAttr(mark.attribute() for mark in marks)


def mark_composite(composite: Operation, results: Sequence[SSAValue], parts: Sequence[Operation]) -> None:
    """Records `composite` on those of `parts` that define its `results`; parts of unused results may be erased."""
    marked: set[Operation] = set()
    for number, value in enumerate(results):
        if isinstance(value, OpResult) and value.op in parts and value.op not in marked:
            marked.add(value.op)
            set_marks(value.op, (_mark_of(composite, number), *marks_on(value.op)))


def is_part(op: Operation) -> bool:
    """Returns whether `op` has a role, and is therefore a part of a composite."""
    return any(origin.role for origin in origins_of(op))


def role_of(op: Operation) -> Hashable:
    """Returns a key that is equal for the corresponding parts in all time steps of a layer."""
    return type(op), origins_of(op)


_STEP = 512
"""The maximum distance between corresponding operations in successive steps of a layer."""


def is_repeated(op: Operation) -> bool:
    """Returns whether `op` is a part whose block has another part with the same role within `_STEP` operations."""
    if not is_part(op):
        return False
    kind, origins = type(op), origins_of(op)
    before, after = op.prev_op, op.next_op
    for _ in range(_STEP):
        for other in (before, after):
            if other is not None and type(other) is kind and origins_of(other) == origins:
                return True
        before, after = before and before.prev_op, after and after.next_op
        if before is after:  # both ends of the block
            break
    return False


@dataclass(frozen=True)
class Keep:
    """The composites to keep whole: kinds (`softmax`, `nn.softmax`), names of the model's nodes, and globs of
    either."""

    names: tuple[str, ...]

    def __contains__(self, op: Operation) -> bool:
        return self.names_one(op.name, origins_of(op))

    def names_one(self, kind: str, origins: Iterable[Origin]) -> bool:
        """Returns whether an operation of the kind `kind` with these origins is to be kept whole."""
        known = (kind, kind.partition(".")[2], *(origin.name for origin in origins))
        return any(fnmatchcase(name, pattern) for pattern in self.names for name in known)
