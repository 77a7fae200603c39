"""Folders of saved programs and their cards: sealed when they are written, checked before anything of them is run.

Nothing is read but what the card names, by its digest. A program of several has a folder for each part, with a card of
its own, of which the card of the whole has the digest. Other files may lie there, unless Python would import them in
place of a module of the program.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any

from qmlir.ir.diagnostics import text_error
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
from qmlir.targets.cpu.package import CARD, INIT, RUNTIME
from qmlir.targets.cpu.runtime.machine_code import FILE, IR, SOURCE, read_objects, source_of
from qmlir.text.writing import LIST, check_whole

LENGTHS = "lengths.json"
"""What a program of any length says of itself: it is a package of several."""

MODULE = "module.mlir"
"""The partitioned module of a program of several targets."""

_EARLIER = "parts.json"
"""What stood in the place of its card before there was one."""

_OF_FORMS = SOURCE, IR, FILE, LENGTHS
"""Files of which the form of a program depends on whether they exist."""

PROGRAM_FIRST = INIT, CARD
"""The names of the files of a program without which nothing reads the others."""

_PYCACHE, _KEPT_CODE = "__pycache__", (".pyc", ".nbi", ".nbc")
"""Where Python and numba keep what they have compiled, and how the names of such files end."""


def seal(folder: Path, about: Mapping[str, Any] | None = None) -> None:
    """Write down in the card of a package the size of its machine code, the digest of each file, and `about`."""
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
    """Write the card of a program of several: it has the digests of its files and of the cards of `card.parts`.

    Its sizes are those of all parts that have a card: they are in memory together, and run one after the other.
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
        weights_bytes=sum(each.weights_bytes for each in cards.values()),
        stack_bytes=max((each.stack_bytes for each in cards.values()), default=0),
    )
    code = sum(known) if known and len(known) == len(codes) else None
    (folder / CARD).write_text(card.sealed(files, code, about).json(), encoding="utf-8")


def _names_in(folder: Path) -> list[str]:
    """The files in a package, but for what Python and numba keep beside it, which is not read from a saved program."""
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    return [
        path.as_posix()
        for path in paths
        if path.name != LIST and (path.parent.name != _PYCACHE or path.suffix not in _KEPT_CODE)
    ]


def is_program(folder: Path) -> bool:
    """Whether `folder` is meant as a saved program: who reads it says what is wrong with it."""
    if (folder / LENGTHS).is_file() or (source_of(folder).is_file() and (folder / RUNTIME).is_dir()):
        return True
    if (folder / _EARLIER).is_file() and (folder / MODULE).is_file():
        return True
    return (folder / CARD).is_file() and (named_form(folder / CARD) in PYTHON_FORMS or (folder / MODULE).is_file())


def checked_program(folder: Path) -> ProgramCard:
    """The card of a saved program, whose files are those that were written. Other files in the folder are not read.

    Those of its parts have cards of their own, which are not read here. Raises `DiagnosticError`.
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
    """A file that the card does not name, and that might be read in place of one that it names.

    In the folder itself that is a file that a program of another form has, and a module or a package that Python may
    prefer to one of the same name. In the folders of the program it is any file.
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
    """The parts of a program that are folders with a card of their own."""
    return [part for part in card.parts if f"{part}/{CARD}" in card.files]


def cards_in(folder: Path) -> list[ProgramCard]:
    """The checked cards of the programs in a folder: of a saved one its own, then those of its parts.

    Raises `DiagnosticError` where files are not those that were written.
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
    """Copy the files that a card names into another folder. Raises `DiagnosticError` for one that is another by now."""
    for name, digest in card.files.items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(checked_file(folder / name, digest))


def part_name(place: int) -> str:
    """The folder of the program of one capacity."""
    return f"part{place}"
