"""The mutants that no test can kill, each with the reason: `survivors.toml`, and what in it no longer holds."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutations import ROOT, Mutant, mutants_of

FILE = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True)
class Explained:
    """One mutant as the file has it: module, function, the change, which of several equal ones, and why it survives."""

    path: str
    function: str
    before: str
    after: str
    reason: str
    number: int = 0

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """As that of a `Mutant`."""
        return self.path, self.function, self.before, self.after, self.number


def explained() -> list[Explained]:
    """Every entry of the file."""
    return [Explained(**each) for each in tomllib.loads(FILE.read_text(encoding="utf-8")).get("mutant", [])]


def mutants_explained(entries: Iterable[Explained]) -> Iterator[tuple[Explained, Mutant | None]]:
    """Each entry with its mutant, `None` where the code has changed and there is none."""
    known: dict[str, dict[tuple[str, str, str, str, int], Mutant]] = {}
    for entry in entries:
        if entry.path not in known:
            exists = (ROOT / entry.path).exists()
            known[entry.path] = {each.key: each for each in mutants_of(entry.path)} if exists else {}
        yield entry, known[entry.path].get(entry.key)


def entry_text(mutant: Mutant) -> str:
    """The entry for a survivor, its reason left to a person."""
    number = f"number = {mutant.number}\n" if mutant.number else ""
    return (
        f"[[mutant]]\npath = {mutant.path!r}\nfunction = {mutant.function!r}\n"
        f"before = {_quoted(mutant.before)}\nafter = {_quoted(mutant.after)}\n{number}reason = ''\n"
    )


def _quoted(text: str) -> str:
    return f"'''{text}'''" if "'" in text else f"'{text}'"
