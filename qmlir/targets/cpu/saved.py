"""Saved programs: each has a card (manifest) with digests, which is checked before any code of the program runs.

Only files that the card names are read, and their digests are checked. A program of several parts has one folder per
part with its own card, whose digest is in the main card. Other files may be present unless Python would import them
instead of a module of the program.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any

from qmlir.ir.messages import text_error
from qmlir.targets.cpu.emitters.card import (
    PYTHON_FORMS,
    ProgramCard,
    card_paths,
    checked_card,
    checked_file,
    code_bytes,
    named_form,
    read_card,
)
from qmlir.targets.cpu.package import CARD, CONSTANTS, INIT, RUNTIME, own_constants
from qmlir.targets.cpu.runtime.machine_code import FILE, IR, SOURCE, read_objects, source_of
from qmlir.text.writing import LIST, check_whole

LENGTHS = "lengths.json"
"""The description of a program for dynamic sizes, a package of several programs."""

MODULE = "module.mlir"
"""The partitioned module of a program for several targets."""

_EARLIER = "parts.json"
"""The file that older versions wrote instead of the card of such a program."""

_OF_FORMS = SOURCE, IR, FILE, LENGTHS
"""Files whose existence determines the form of a program."""

PROGRAM_FIRST = INIT, CARD
"""The files that identify a program: without them, no other file of it is read."""

_PYCACHE, _KEPT_CODE = "__pycache__", (".pyc", ".nbi", ".nbc")
"""The folder and file suffixes of compiled code that Python and numba cache."""


def seal(folder: Path, about: Mapping[str, Any] | None = None) -> None:
    """Adds the size of the machine code, the digest of each file, and `about` to the card of a package."""
    path = folder / CARD
    if not path.is_file():
        return
    code = None
    if (folder / FILE).is_file():
        header, objects = read_objects(folder / FILE)
        ends = list(itertools.accumulate(header["sizes"], initial=0))
        code = sum(code_bytes(objects[start:end]) for start, end in itertools.pairwise(ends))
    files = {name: (folder / name).read_bytes() for name in _names_in(folder) if name != CARD}
    path.write_text(read_card(path).sealed(files, code, about).json(), encoding="utf-8")


def seal_parts(folder: Path, card: ProgramCard, about: Mapping[str, Any] | None = None) -> None:
    """Writes the card of a program of several parts, with the digests of its files and of the cards of `card.parts`.

    Its sizes are totals over all parts that have a card, since all are in memory and run one after the other. Parts may
    share weights: `card.weights_bytes` is kept if it is not 0.
    """
    names = [path.name for path in folder.iterdir() if path.is_file()]
    cards = {
        f"{part}/{CARD}": read_card(folder / part / CARD) for part in card.parts if (folder / part / CARD).is_file()
    }
    files = {name: (folder / name).read_bytes() for name in sorted([*names, *cards])}
    codes = [each.code_bytes for each in cards.values()]
    known = [code for code in codes if code is not None]
    card = replace(
        card,
        kernels=sum(each.kernels for each in cards.values()),
        arena_bytes=sum(each.arena_bytes for each in cards.values()),
        weights_bytes=card.weights_bytes or sum(each.weights_bytes for each in cards.values()),
        stack_bytes=max((each.stack_bytes for each in cards.values()), default=0),
    )
    code = sum(known) if known and len(known) == len(codes) else None
    (folder / CARD).write_text(card.sealed(files, code, about).json(), encoding="utf-8")


def _names_in(folder: Path) -> list[str]:
    """Returns the files in a package, except the caches of Python and numba, which are not read from saved programs."""
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    return [
        path.as_posix()
        for path in paths
        if path.name != LIST and (path.parent.name != _PYCACHE or path.suffix not in _KEPT_CODE)
    ]


def is_program(folder: Path) -> bool:
    """Returns true if `folder` looks like a saved program. It may be damaged; reading it reports the error."""
    if (folder / LENGTHS).is_file() or (source_of(folder).is_file() and (folder / RUNTIME).is_dir()):
        return True
    if (folder / _EARLIER).is_file() and (folder / MODULE).is_file():
        return True
    return (folder / CARD).is_file() and (named_form(folder / CARD) in PYTHON_FORMS or (folder / MODULE).is_file())


def checked_program(folder: Path) -> ProgramCard:
    """Returns the card of a saved program after checking its files; other files in the folder are not read.

    Parts have their own cards, which are not checked here. Raises `DiagnosticError`.
    """
    check_whole(folder)
    path = folder / CARD
    if not path.is_file():
        if is_program(folder):
            raise text_error(
                f"{folder} has no manifest {CARD}: it was modified, or saved by an older qmlir; compile the model again"
            )
        raise text_error(
            f"{folder} contains no saved program (no {SOURCE}); create one with 'qmlir compile MODEL -o DIR'"
        )
    card = checked_card(path)
    if (found := _read_instead(folder, card)) is not None:
        raise text_error(f"{found} is not part of the program (its manifest does not list it); remove it")
    return card


def _read_instead(folder: Path, card: ProgramCard) -> Path | None:
    """Returns a file that could be read instead of one that the card names; `None` if there is none.

    In the folder itself, this is a file of another program form, or a module or package that Python might import
    instead of one of the same name. In subfolders of the program, it is any file that the card doesn't name.
    """
    parts = saved_parts(card)
    inner = {name.partition("/")[0] for name in card.files if "/" in name} - {*parts}
    modules = {name.partition(".")[0] for name in card.files if name.endswith(".py") and "/" not in name} | inner
    for path in sorted(folder.iterdir()):
        if path.name in inner:
            names = (f"{path.name}/{name}" for name in _names_in(path))
            if unknown := next((name for name in names if name not in card.files), None):
                return folder / unknown
        elif path.name not in card.files and path.name not in (CARD, *parts):
            can_be_imported = path.name.endswith(tuple(all_suffixes())) or (path / INIT).exists()
            if path.name in _OF_FORMS or (path.name.partition(".")[0] in modules and can_be_imported):
                return path
    return None


def saved_parts(card: ProgramCard) -> list[str]:
    """Returns the parts of a program that are folders with their own card."""
    return [part for part in card.parts if f"{part}/{CARD}" in card.files]


def cards_in(folder: Path) -> list[ProgramCard]:
    """Returns the checked cards of the programs in a folder; a saved program includes the cards of its parts.

    Raises `DiagnosticError` if a file differs from the one that was written.
    """
    check_whole(folder)
    if (folder / CARD).is_file() or is_program(folder):
        card = checked_program(folder)
        return [card, *(_checked_part(folder / part) for part in saved_parts(card))]
    return [*map(checked_card, card_paths(folder))]


def _checked_part(folder: Path) -> ProgramCard:
    card = checked_program(folder)
    if card.parts:
        raise text_error(f"{folder} is a part of a program but has parts itself")
    return card


def copy_program(folder: Path, card: ProgramCard, target: Path) -> None:
    """Copies the files that a card names to another folder. Raises `DiagnosticError` if one has changed."""
    for name, digest in card.files.items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        data = checked_file(folder / name, digest)
        file.write_bytes(own_constants(folder, data) if name == CONSTANTS else data)


def part_name(position: int) -> str:
    """Returns the folder name of the program of a bucket."""
    return f"part{position}"
