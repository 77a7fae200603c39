"""An MLIR text in an editor: its diagnostics, and the types and definitions of its names.

Each part between `// -----` lines is a separate module, as for `--split-input-file`. A place is a pair of offsets in
the text.
"""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from qmlir.environment import default_environment
from qmlir.extensions.lsp.index import IndexingParser, Named, NameIndex, Place
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.ir.provenance import describe
from qmlir.ir.verification import verify
from qmlir.text.diagnostics import LineTable
from qmlir.text.parsing import parse_module
from qmlir.text.sources import split_source

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
                        self.context,
                        chunk.text,
                        str(self.path),
                        line_offset=chunk.line_offset,
                        directory=self.path.parent,
                        parser=partial(IndexingParser, part.index),
                    )
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
