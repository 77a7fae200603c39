"""An index of a text: the definitions and uses of values and blocks, aliases, and operations, by position.

It is filled during parsing, so that a text with an error is indexed up to it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.lexer import Span

from qmlir.text.parsing import ModuleParser

Named = SSAValue | Block
"""The value or block that a name with `%` or `^` denotes."""


@dataclass
class NameIndex:
    """The names of a text; places are positions `(start, end)`."""

    names: list[tuple[int, int, Sequence[Named]]] = field(default_factory=list[tuple[int, int, Sequence[Named]]])
    """Each definition and use of a name; several values are the results of one operation."""

    definitions: dict[Named, tuple[int, int]] = field(default_factory=dict[Named, tuple[int, int]])
    aliases: dict[str, tuple[int, Attribute]] = field(default_factory=dict[str, tuple[int, Attribute]])
    operations: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _defined_later: dict[Named, Named] = field(default_factory=dict[Named, Named])

    def define(self, span: Span, named: Sequence[Named]) -> None:
        """Records the definition of a name."""
        self.use(span, named)
        self.definitions.update(dict.fromkeys(named, (span.start, span.end)))

    def use(self, span: Span, named: Sequence[Named]) -> None:
        """Records one use of a name."""
        self.names.append((span.start, span.end, named))

    def replace(self, forward: Named, value: Named) -> None:
        """Resolves a use before its definition to `value`."""
        self._defined_later[forward] = value

    def at(self, position: int) -> tuple[int, int, Sequence[Named]] | None:
        """Returns the name around a position, with the values or block that it denotes."""
        for start, end, named in self.names:
            if start <= position <= end:
                return start, end, [self._defined_later.get(each, each) for each in named]
        return None

    def symbols(self, name: str) -> Iterator[Operation]:
        """Yields the operations that define the symbol `name`."""
        for op in self.operations:
            symbol = op.get_attr_or_prop("sym_name")
            if getattr(symbol, "data", None) == name:
                yield op


class IndexingParser(ModuleParser):
    """A `ModuleParser` that records positions in `index`."""

    index: NameIndex

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        self.index.operations[op] = start
        return op

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        value = super().resolve_operand(operand, type)
        self.index.use(operand.span, (value,))
        return value

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        for place, forward in self.forward_ssa_references.get(name, {}).items():
            if place < len(values):
                self.index.replace(forward, values[place])
        super()._register_ssa_definition(name, values, span)
        self.index.define(span, tuple(values))

    def _parse_alias_def(self) -> None:
        start, name = self.pos, self._current_token.text
        super()._parse_alias_def()
        self.index.aliases[name] = start, self.attribute_aliases[name]

    def _parse_block(self) -> Block:
        span = self._current_token.span
        block = super()._parse_block()
        self.index.define(span, (block,))
        return block

    def parse_optional_successor(self) -> Block | None:
        span = self._current_token.span
        block = super().parse_optional_successor()
        if block is not None:
            self.index.use(span, (block,))
        return block
