"""An index of a text by position: definitions and uses of values and blocks, aliases, and operations.

It is filled during parsing, so a text with an error is indexed up to the error.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand

from qmlir.text.parsing import ModuleParser

_LABEL_OF_FIRST_BLOCK = re.compile(r"\{(?:\s|//[^\n]*)*(\^[\w$.-]+)", re.ASCII)

Place = tuple[int, int]
"""The start and end offsets of a name in the text."""

Named = SSAValue | Block
"""The value or block that a name starting with `%` or `^` denotes."""


@dataclass
class NameIndex:
    """The names of a text; places are positions `(start, end)`."""

    names: list[tuple[int, int, Sequence[Named]]] = field(default_factory=list[tuple[int, int, Sequence[Named]]])
    """The place of each definition and use of a name, and the values or block that it denotes. Several values are the
    results of one operation.
    """

    definitions: dict[Named, Place] = field(default_factory=dict[Named, Place])
    aliases: dict[str, tuple[int, Attribute]] = field(default_factory=dict[str, tuple[int, Attribute]])
    operations: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _defined_later: dict[Named, Named] = field(default_factory=dict[Named, Named])

    def define(self, position: Place, named: Sequence[Named]) -> None:
        """Records the definition of a name."""
        self.use(position, named)
        self.definitions.update(dict.fromkeys(named, position))

    def use(self, position: Place, named: Sequence[Named]) -> None:
        """Records one use of a name."""
        self.names.append((*position, named))

    def replace(self, forward: Named, value: Named) -> None:
        """Resolves the placeholder `forward`, used before its definition, to `value`."""
        self._defined_later[forward] = value

    def at(self, position: int) -> tuple[int, int, Sequence[Named]] | None:
        """Returns the place of the name that contains an offset, with the values or block that the name denotes."""
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
    """A `ModuleParser` that records positions in `index`.

    xDSL's parser has no method that is called for each definition. Its public tables `ssa_values` and `blocks` contain
    the defined values and blocks, but not their positions. This class finds the names in the text where they are
    defined: in the list of results at the start of an operation, the arguments of a block or a region, and block
    labels.
    """

    def __init__(self, index: NameIndex, *arguments: Any):
        super().__init__(*arguments)
        self.index = index
        self._results: list[Place] = []
        self._arguments: Sequence[Parser.Argument] = ()
        self._label: Place | None = None
        self._forward: dict[str, Mapping[int, SSAValue]] = {}

    def _name(self, position: Place) -> str:
        """Returns the name at a place, without its mark."""
        return self.lexer.input.content[position[0] + 1 : position[1]]

    def _define(self, position: Place) -> None:
        """Records that the values of the name at a place are defined there."""
        name = self._name(position)
        values = self.ssa_values[name]
        for number, forward in self._forward.pop(name, {}).items():
            self.index.replace(forward, values[number])
        if values:
            self.index.define(position, values)

    def parse_operation(self) -> Operation:
        start, outer = self.pos, self._results
        self._results = []
        op = super().parse_operation()
        self.index.operations[op] = start
        for position in self._results:
            self._define(position)
        self._results = outer
        return op

    def parse_comma_separated_list(
        self, delimiter: Parser.Delimiter, parse: Callable[[], Any], context_msg: str = ""
    ) -> list[Any]:
        are_results = self.pos == self._reading
        if not are_results and delimiter is not self.Delimiter.PAREN:
            return super().parse_comma_separated_list(delimiter, parse, context_msg)

        def parse_element() -> Any:
            position, name = (self.pos, self.lexer.pos), self.peek()[1:]
            known = self.ssa_values.get(name)
            element = parse()
            if are_results:
                self._results.append(position)
            elif self.ssa_values.get(name) is not known:  # an argument of a block
                self._define(position)
            return element

        return super().parse_comma_separated_list(delimiter, parse_element, context_msg)

    def parse_optional_region(self, arguments: Sequence[Parser.Argument] | None = None) -> Region | None:
        self._arguments = arguments or ()
        label = _LABEL_OF_FIRST_BLOCK.match(self.lexer.input.content, self.pos)
        self._label = label.span(1) if label else None
        region = super().parse_optional_region(arguments)
        self._arguments = ()
        return region

    def parse_optional_operation(self) -> Operation | None:
        # The first call in a block: its arguments and its label are defined.
        for argument in self._arguments:
            self._define((argument.name.start, argument.name.end))
        if self._label is not None:
            self.index.define(self._label, self.blocks[self._name(self._label)][:1])
        self._arguments, self._label = (), None
        op = super().parse_optional_operation()
        if op is None and self.peek().startswith("^"):
            self._label = self.pos, self.lexer.pos
        return op

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        value = super().resolve_operand(operand, type)
        name = operand.operand_name
        if name in self.forward_ssa_references:
            self._forward[name] = self.forward_ssa_references[name]
        self.index.use((operand.span.start, operand.span.end), (value,))
        return value

    def parse_alias_definition(self) -> None:
        start, name = self.pos, self.peek()
        super().parse_alias_definition()
        self.index.aliases[name] = start, self.attribute_aliases[name]

    def parse_optional_successor(self) -> Block | None:
        position = self.pos, self.lexer.pos
        block = super().parse_optional_successor()
        if block is not None:
            self.index.use(position, (block,))
        return block
