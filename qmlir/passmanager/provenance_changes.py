"""Which passes changed the operations that stand for a node of the model.

Before and after each pass every operation with provenance is looked at: its name, its types, its attributes and what is
in its regions. What differs for a node is a `Change` of that node by that pass. The module is only read.
"""

from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from qmlir.ir.provenance import origins_of
from qmlir.passmanager.instrumentation import Instrumentation


@dataclass(frozen=True)
class Change:
    """The change of the operations of one node by one pass."""

    pass_name: str
    before: tuple[str, ...]
    """The operations that stood for the node, in order; a kernel that was made a function as `@name`."""

    after: tuple[str, ...]

    differs: tuple[str, ...] = ()
    """What differs if the operations are the same: `types`, `attributes`, `body`."""

    @property
    def text(self) -> str:
        """`nn.fully_connected -> nn.matmul, nn.add`, or what differs if the operations are the same."""
        if self.before == self.after:
            return f"{_listed(self.after)}: other {', '.join(self.differs)}"
        return f"{_listed(self.before)} -> {_listed(self.after)}"


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return "nothing"
    counted = {name: names.count(name) for name in names}
    return ", ".join(name if number == 1 else f"{number} x {name}" for name, number in counted.items())


@dataclass
class _Look:
    """Everything of an operation that a pass can change, except its operands.

    Attributes are compared as they are: those that were not touched are the same objects, so weights are not read.
    """

    name: str
    types: list[Attribute]
    attributes: list[dict[str, Attribute]]
    inside: list["_Look"]

    @staticmethod
    def of(op: Operation) -> "_Look":
        types = [value.type for value in (*op.operands, *op.results)]
        inside = [_Look.of(each) for region in op.regions for block in region.blocks for each in block.ops]
        name = f"@{op.sym_name.data}" if isinstance(op, FuncOp) else op.name
        return _Look(name, types, [dict(op.properties), dict(op.attributes)], inside)


def _keys(op: Operation) -> set[str]:
    return {text for origin in origins_of(op) for text in (str(origin), origin.name)}


def _keys_around(op: Operation) -> set[str]:
    """What the operations around `op` stand for: `op` is a part of their look."""
    parent = op.parent_op()
    return set() if parent is None else _keys(parent) | _keys_around(parent)


def _looks(root: Operation) -> Mapping[str, list[_Look]]:
    """The operations of each node, by the key of every origin and by the node's name.

    Operations without operands (constants, empty tensors) count only for nodes that have no others: weights.
    """
    found: dict[str, list[_Look]] = defaultdict(list)
    given: dict[str, list[_Look]] = defaultdict(list)
    for op in root.walk():
        keys = _keys(op)
        if keys := keys - _keys_around(op) if keys else keys:
            look = _Look.of(op)
            for key in keys:
                (found if op.operands or op.regions else given)[key].append(look)
    return {**given, **found}


def _differences(old: list[_Look], new: list[_Look]) -> Iterator[str]:
    pairs = list(zip(old, new, strict=True))
    if any(before.types != after.types for before, after in pairs):
        yield "types"
    if any(before.attributes != after.attributes for before, after in pairs):
        yield "attributes"
    if any(before.inside != after.inside for before, after in pairs):
        yield "body"


class ProvenanceChanges(Instrumentation):
    """Records the changes of every node by provenance key (`fc1`, `fc1/matmul`) and pass."""

    def __init__(self) -> None:
        self._changes: dict[str, list[Change]] = defaultdict(list)

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        before = _looks(op)
        yield
        after = _looks(op)
        for key in dict.fromkeys((*before, *after)):
            old, new = before.get(key, []), after.get(key, [])
            if old != new:
                names = [tuple(look.name for look in looks) for looks in (old, new)]
                differs = tuple(_differences(old, new)) if names[0] == names[1] else ()
                self._changes[key].append(Change(step.name, names[0], names[1], differs))

    def of(self, key: str) -> tuple[Change, ...]:
        """The changes of the node or part `key`, in the order in which the passes ran."""
        return tuple(self._changes.get(key, ()))
