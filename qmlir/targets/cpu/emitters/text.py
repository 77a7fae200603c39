"""Building blocks of emitted code: expressions with the variables that they read, symbolic indices, and names."""

import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from qmlir.analysis.symbols import first_free

ATOM, UNARY = 2, 1


@dataclass(frozen=True)
class Text:
    """An expression; `reads` are its variables, and `is_atom` means that it needs no parentheses."""

    text: str
    reads: frozenset[str] = frozenset()
    is_atom: bool = True

    def __str__(self) -> str:
        return self.text

    @property
    def inner(self) -> str:
        """The expression as an operand, in parentheses if necessary."""
        return self.text if self.is_atom else f"({self.text})"


def name_text(name: str) -> Text:
    """Returns a variable as an expression."""
    return Text(name, frozenset({name}))


def reads_of(texts: "Iterable[Text | Index]") -> frozenset[str]:
    """Returns the variables that expressions read."""
    return frozenset(name for text in texts for name in text.reads)


@dataclass(frozen=True)
class Index:
    """A symbolic index: a constant plus a sum of expressions with constant factors."""

    terms: Mapping[Text, int] = field(default_factory=dict[Text, int])
    constant: int = 0

    @staticmethod
    def of(value: Text) -> "Index":
        """Returns the index with a single term."""
        return Index({value: 1})

    @property
    def reads(self) -> frozenset[str]:
        """The variables in the terms."""
        return reads_of(self.terms)

    @property
    def number(self) -> int | None:
        """The value if it is constant, else `None`."""
        return None if self.terms else self.constant

    def plus(self, other: "Index") -> "Index":
        """Returns the sum with another index."""
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + factor
        return Index({term: factor for term, factor in terms.items() if factor}, self.constant + other.constant)

    def times(self, factor: int) -> "Index":
        """Returns the product with a constant."""
        if not factor:
            return Index()
        return Index({term: each * factor for term, each in self.terms.items()}, self.constant * factor)

    def __str__(self) -> str:
        text = ""
        for term, factor in self.terms.items():
            size = abs(factor)
            product = term.inner if size == 1 else f"{term.inner}*{size}"
            text += (" - " if factor < 0 else " + ") + product
        if self.constant or not text:
            text += f" - {-self.constant}" if self.constant < 0 else f" + {self.constant}"
        return text[3:] if text.startswith(" + ") else f"-{text[3:]}"

    @property
    def is_simple(self) -> bool:
        """True for a constant or a single expression."""
        return len(self.terms) + bool(self.constant) <= 1 and all(factor == 1 for factor in self.terms.values())

    def as_text(self) -> Text:
        """Returns the index as an expression."""
        if self.is_simple and self.terms:
            return next(iter(self.terms))
        return Text(str(self), self.reads, self.is_simple and self.constant >= 0)


_NO_IDENTIFIER = re.compile(r"\W+", re.ASCII)


LONGEST = 100
"""The maximum number of characters that a hint adds to a name; numba names files after functions."""


class Names:
    """Creates unused identifiers that `avoids` doesn't reject; it may reject few that begin with `of_`."""

    def __init__(self, taken: Iterable[str] = (), avoids: Callable[[str], bool] = lambda _: False) -> None:
        self._taken = {*taken, *keyword.kwlist, *keyword.softkwlist}
        self._avoids = avoids

    def _is_taken(self, name: str) -> bool:
        return name in self._taken or self._avoids(name)

    def new(self, hint: str) -> str:
        """Returns an unused identifier similar to `hint`."""
        base = _NO_IDENTIFIER.sub("_", hint[:LONGEST]).strip("_") or "v"
        if base[0].isdigit():
            base = f"v{base}"
        if self._avoids(base) and self._avoids(f"{base}_2"):  # the prefix is the problem
            base = f"of_{base}"
        name = base
        if self._is_taken(base):
            name = f"{base}_{first_free(lambda number: self._is_taken(f'{base}_{number}'), 2)}"
        self._taken.add(name)
        return name
