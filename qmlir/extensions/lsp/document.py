"""An MLIR text in an editor: its diagnostics, and the types and definitions of its names.

Each part between `// -----` lines is a separate module, as for `--split-input-file`. A place is a pair of offsets in
the text.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.ir.provenance import describe
from qmlir.ir.verification import verify
from qmlir.text.diagnostics import LineTable
from qmlir.text.parsing import ModuleParser, parse_module
from qmlir.text.sources import split_source

# An index of a text by position: definitions and uses of values and blocks, aliases, and operations.
#
# It is filled during parsing, so a text with an error is indexed up to the error.

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


# The text in the editor.

_WORD = re.compile(r'[%^!#@]?(?:"[^"\n]*"|[\w$.-]+)')


@dataclass(frozen=True)
class LocatedDiagnostic:
    """A diagnostic and its place in the text; `notes` holds its notes with their places."""

    diagnostic: Diagnostic
    position: Place
    notes: Sequence["LocatedDiagnostic"] = ()


@dataclass
class _Part:
    """A module of the text, which begins at `start`."""

    start: int
    index: NameIndex = field(default_factory=NameIndex)


@dataclass
class Document:
    """An analyzed text: its diagnostics and names."""

    source: str
    path: Path
    context: Context
    diagnostics: list[LocatedDiagnostic] = field(default_factory=list[LocatedDiagnostic])
    _parts: list[_Part] = field(default_factory=list[_Part])

    @staticmethod
    def read(source: str, path: Path, *, allow_unregistered: bool = False) -> "Document":
        """Parses and verifies `source`, the possibly unsaved text of the file `path`.

        Large weights are read from files next to `path`.
        """
        context = default_environment().new_context(allow_unregistered=allow_unregistered)
        document = Document(source, path, context)
        document._check()
        return document

    def _check(self) -> None:
        self._lines = LineTable(self.source, str(self.path), 0)
        for chunk in split_source(self.source):
            said: list[Diagnostic] = []
            part = _Part(self._lines.position(chunk.line_offset + 1, 1))
            self._parts.append(part)
            with diagnostic_handler(said.append):
                try:
                    module = parse_module(
                        self.context, chunk.text, str(self.path), line_offset=chunk.line_offset,
                        directory=self.path.parent, parser=partial(IndexingParser, part.index),
                    )  # fmt: skip
                    verify(module)
                except DiagnosticError as error:
                    said.extend(error.diagnostics)
            self.diagnostics += (self._placed(each, part) for each in said)

    def _placed(self, diagnostic: Diagnostic, part: _Part) -> LocatedDiagnostic:
        notes = [self._placed(each, part) for each in diagnostic.notes]
        return LocatedDiagnostic(diagnostic, self._position(diagnostic, part), notes)

    def _position(self, diagnostic: Diagnostic, part: _Part) -> Place:
        """Returns the line of the operation at fault, or the word; without a location, the first line."""
        op = diagnostic.op
        while op is not None and op not in part.index.operations:
            op = op.parent_op()
        if op is not None:
            start = part.start + part.index.operations[op]
        elif diagnostic.location is not None and diagnostic.location.file == str(self.path):
            start = self._lines.position(diagnostic.location.line, diagnostic.location.column)
            word = _WORD.match(self.source, start)
            return start, word.end() if word else min(start + 1, len(self.source))
        else:
            start = part.start
        line = self.source[start:].partition("\n")[0].rstrip()
        return start, start + len(line)

    def _word(self, position: int) -> tuple[str, int] | None:
        """Returns the word around a position, and its start; of two adjacent words, the second."""
        begin, end = self.source.rfind("\n", 0, position) + 1, self.source.find("\n", position)
        words = _WORD.finditer(self.source, begin, end if end >= 0 else len(self.source))
        around = [word for word in words if word.start() <= position <= word.end()]
        return (around[-1][0], around[-1].start()) if around else None

    def _part_at(self, position: int) -> _Part:
        return next(part for part in reversed(self._parts) if part.start <= position or part is self._parts[0])

    def hover(self, position: int) -> tuple[str, Place] | None:
        """Returns a Markdown description of the name at an offset, and the place of the name."""
        part = self._part_at(position)
        found = part.index.at(position - part.start)
        if found is not None:
            start, end = found[0] + part.start, found[1] + part.start
            return _told(self.source[start:end], found[2]), (start, end)
        if (at := self._word(position)) is None:
            return None
        word, start = at
        text = "".join(self._told_of(word, part.index))
        return (text, (start, start + len(word))) if text else None

    def _told_of(self, word: str, index: NameIndex) -> Iterator[str]:
        if word in index.aliases:
            yield _code(f"{word} = {index.aliases[word][1]}")
        elif word.startswith("@"):
            op = next(index.symbols(_symbol(word)), None)
            if op is not None:
                type_ = op.get_attr_or_prop("function_type")
                yield _code(f"{op.name} {word}{type_ if isinstance(type_, FunctionType) else ''}")
        elif "." in word and (kind := self.context.get_optional_op(word)) is not None:
            yield f"`{kind.name}`\n\n{inspect.getdoc(kind) or ''}"

    def definition(self, position: int) -> Place | None:
        """Returns the place where the name at an offset is defined."""
        part = self._part_at(position)
        found = part.index.at(position - part.start)
        if found is not None:
            index = part.index.definitions.get(found[2][0])
            return None if index is None else (index[0] + part.start, index[1] + part.start)
        if (at := self._word(position)) is None:
            return None
        word = at[0]
        if word in part.index.aliases:
            start = part.start + part.index.aliases[word][0]
        elif word.startswith("@") and (op := next(part.index.symbols(_symbol(word)), None)) is not None:
            start = self.source.find(word, part.start + part.index.operations[op])
        else:
            return None
        return start, start + len(word)


def _symbol(word: str) -> str:
    return word[1:].strip('"')


def _code(text: str) -> str:
    return f"```mlir\n{text}\n```"


def _told(name: str, named: Sequence[Named]) -> str:
    """Describes the types of the values of a name, and the operation or block that defines them."""
    if isinstance(named[0], Block):
        arguments = ", ".join(str(each.type) for each in named[0].args)
        return _code(f"{name}({arguments})")
    values = [each for each in named if isinstance(each, SSAValue)]
    first, made = values[0], ""  # a value that the text doesn't define has neither operation nor block
    if isinstance(first, OpResult):
        number = f" {first.index}" if len(values) < len(first.owner.results) else ""
        made = f"result{number} of {describe(first.owner)}"
    elif isinstance(first, BlockArgument) and (above := first.owner.parent_op()) is not None:
        made = f"argument of {describe(above)}"
    types = ", ".join(str(each.type) for each in values)
    return f"{_code(f'{name} : {types}')}\n{made}"
