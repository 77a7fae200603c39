"""Runs `qmlir inspect`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
from dataclasses import replace
from pathlib import Path

from qmlir.extensions.report.inspecting import SORT_KEYS, inspect
from qmlir.ir.diagnostics import text_error
from qmlir.targets.cpu.emitters.card import ProgramCard, card_paths, with_digest
from qmlir.targets.cpu.saved import cards_in, is_program
from qmlir.text.data import plain
from qmlir.tools.arguments import IMPORT, import_settings, value_of
from qmlir.tools.command_runner import Session
from qmlir.tools.models import load_model


def _programs(path: Path) -> list[ProgramCard]:
    """Returns the manifests of the programs in a folder; empty if it contains none."""
    if not path.is_dir() or not (card_paths(path) or is_program(path)):
        return []
    return cards_in(path)


_OF_MODELS = (*IMPORT, "--keep-casts", "--requantize", "--sort")
"""The options that don't apply to a compiled program."""


def run_inspect(arguments: argparse.Namespace, session: Session) -> int:
    """Prints the description. Raises `DiagnosticError` if a model or a program cannot be read."""
    if cards := _programs(Path(arguments.model)):
        for option in _OF_MODELS:
            if value_of(arguments, option):
                raise text_error(f"{option} requires a model, but '{arguments.model}' is a compiled program")
        first, *others = map(with_digest, cards)
        several = {**first, "programs": others} if cards[0].parts else {"programs": [first, *others]}
        value = several if others else first
        session.emit(value, lambda: "\n\n".join(card.text() for card in cards))
        return 0
    found = inspect(load_model(arguments.model, session, **import_settings(arguments)))
    if arguments.sort:
        found = replace(found, layers=tuple(sorted(found.layers, key=SORT_KEYS[arguments.sort], reverse=True)))
    share = found.integer_share
    value = {**plain(found), "integer_share": share, "kept": found.kept, "decomposed": found.decomposed}
    session.emit(value, found.text)
    return 0
