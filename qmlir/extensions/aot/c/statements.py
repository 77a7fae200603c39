"""Statements of a function in C, and the fusion of lane statements into loops.

An operation on vectors is a statement for each lane `l`. Adjacent statements share one loop over the lanes, which
compilers vectorize, unless that would change a value that is read. A loop either reads memory or writes it, so no
iteration reads a lane that an earlier iteration wrote. A statement that reads other lanes than `l` comes after the loop
that computes these lanes. A vector that is read only in the loop that computes it becomes a scalar.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from qmlir.targets.cpu.emitters.writing import INDENT, Index

LANE = "l"
"""The name of the variable of loops over lanes."""

_WORD = re.compile(r"\w+")

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FixedLine:
    """A statement that keeps its position: loops, branches, assignments, calls."""

    depth: int
    text: str
    reads: frozenset[str] = _NOTHING


@dataclass(frozen=True)
class Declaration:
    """A declaration of a constant scalar.

    `loads` is true if it reads memory. `crosses` are the vectors from which it reads lanes.
    """

    depth: int
    type: str
    name: str
    text: str
    reads: frozenset[str] = _NOTHING
    loads: bool = False
    crosses: frozenset[str] = _NOTHING


@dataclass(frozen=True)
class Lanes:
    """A statement that is executed for each lane: `target = text`, or a complete store statement.

    `name` is the vector that it writes, `type` is set if it declares the vector, and `shift` is the lane offset of the
    write. `reads` are the variables in `text`, with vectors at the same lane; `crosses` are vectors read at any lane.
    """

    depth: int
    lanes: int
    text: str
    name: str = ""
    type: str = ""
    shift: int = 0
    size: int = 0
    reads: frozenset[str] = _NOTHING
    crosses: frozenset[str] = _NOTHING
    loads: bool = False
    store: tuple[str, Index] | None = None


Statement = FixedLine | Declaration | Lanes


@dataclass
class _Group:
    """Statements that share a loop, and the scalars written before it."""

    statements: list[Lanes]
    before: list[Declaration] = field(default_factory=list[Declaration])

    @property
    def _written(self) -> set[str]:
        return {each.name for each in self.statements if each.name}

    def takes(self, other: Lanes) -> bool:
        """Returns true if a statement may share the loop."""
        first = self.statements[0]
        if (other.depth, other.lanes) != (first.depth, first.lanes):
            return False
        written = self._written
        crossed = {name for each in self.statements for name in each.crosses}
        shifted = {each.name for each in self.statements if each.shift or each.size != each.lanes}
        if other.crosses & written or other.name in crossed or other.reads & shifted:
            return False
        return self._may_access(other)

    def _may_access(self, other: Lanes) -> bool:
        loads, stores = any(each.loads for each in self.statements), [e.store for e in self.statements if e.store]
        if (other.loads and stores) or (other.store is not None and loads):
            return False
        return other.store is None or all(_are_apart(each, other.store, other.lanes) for each in stores)

    def moves(self, scalar: Declaration) -> bool:
        """Returns true if a scalar may be written before the loop instead of after it."""
        if scalar.depth != self.statements[0].depth or (scalar.reads | scalar.crosses) & self._written:
            return False
        return not (scalar.loads and any(each.store for each in self.statements))


def _are_apart(one: tuple[str, Index], other: tuple[str, Index], lanes: int) -> bool:
    """Returns true if two stores of that number of lanes have no element in common."""
    distance = other[1].plus(one[1].times(-1)).number
    return one[0] == other[0] and distance is not None and abs(distance) >= lanes


def _groups(statements: Sequence[Statement]) -> Iterator[Statement | _Group]:
    group: _Group | None = None
    for statement in statements:
        if group is not None:
            if isinstance(statement, Lanes) and group.takes(statement):
                group.statements.append(statement)
                continue
            if isinstance(statement, Declaration) and group.moves(statement):
                group.before.append(statement)
                continue
            yield group
            group = None
        if isinstance(statement, Lanes):
            group = _Group([statement])
        else:
            yield statement
    if group is not None:
        yield group


class _Uses:
    """The reads and writes of each variable."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.reads: Counter[str] = Counter()
        self.crosses: set[str] = set()
        self.writes: Counter[str] = Counter()
        for each in statements:
            self.reads.update(each.reads)
            if isinstance(each, FixedLine):
                self.crosses |= each.reads
            else:
                self.crosses |= each.crosses
                self.reads.update(each.crosses)
            if isinstance(each, Lanes) and each.name:
                self.writes[each.name] += 1

    def of_loop(self, group: _Group) -> set[str]:
        """Returns the vectors used in one loop only, which become scalars."""
        inside = Counter(name for each in group.statements for name in each.reads)
        return {
            each.name
            for each in group.statements
            if each.type
            and each.size == each.lanes
            and self.writes[each.name] == 1
            and each.name not in self.crosses
            and inside[each.name] == self.reads[each.name]
        }


def _declared(statement: Declaration) -> str:
    return f"{INDENT * statement.depth}const {statement.type} {statement.name} = {statement.text};"


def _of_lane(statement: Lanes, scalars: set[str]) -> str:
    """Returns the statement of one lane, with `scalars` in place as scalars."""
    text = statement.text
    for name in statement.reads & scalars:
        text = re.sub(rf"\b{name}\[{LANE}\]", name, text)
    if not statement.name:
        return text
    if statement.name in scalars:
        return f"const {statement.type} {statement.name} = {text};"
    position = f"{LANE} + {statement.shift}" if statement.shift else LANE
    return f"{statement.name}[{position}] = {text};"


def _loop(group: _Group, uses: _Uses) -> Iterator[str]:
    first = group.statements[0]
    margin = INDENT * first.depth
    yield from map(_declared, group.before)
    scalars = uses.of_loop(group)
    for each in group.statements:
        if each.type and each.name not in scalars:
            yield f"{margin}{each.type} {each.name}[{each.size}];"
    head = f"{margin}for (int32_t {LANE} = 0; {LANE} < {first.lanes}; {LANE}++)"
    body = [_of_lane(each, scalars) for each in group.statements]
    if len(body) == 1:
        yield f"{head} {body[0]}" if len(head) + len(body[0]) < 120 else f"{head}\n{margin}{INDENT}{body[0]}"
        return
    yield f"{head} {{"
    for text in body:
        yield f"{margin}{INDENT}{text}"
    yield f"{margin}}}"


def _read(statements: Sequence[Statement]) -> list[Statement]:
    """Removes declarations of unused variables, which compilers warn of."""
    words = [set(_WORD.findall(each.text)) | each.reads for each in statements]
    readers = Counter(word for each in words for word in each)
    kept = dict(enumerate(statements))
    changed = True
    while changed:
        changed = False
        for position, each in reversed(tuple(kept.items())):
            name = "" if isinstance(each, FixedLine) else each.name
            if name and readers[name] == (name in words[position]):
                readers.subtract(words[position])
                del kept[position]
                changed = True
    return list(kept.values())


def rendered(statements: Sequence[Statement]) -> list[str]:
    """Returns the lines of a function's body."""
    statements = _read(statements)
    uses = _Uses(statements)
    lines: list[str] = []
    for part in _groups(statements):
        match part:
            case FixedLine():
                lines.append(f"{INDENT * part.depth}{part.text}")
            case Declaration():
                lines.append(_declared(part))
            case _Group():
                lines.extend(_loop(part, uses))
            case _:
                raise AssertionError(part)
    return lines
