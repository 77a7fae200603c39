"""Figures that are slow to measure, by name, in a file that a killed run leaves for the next one."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.data import read_data
from qmlir.text.files import path_of
from qmlir.text.writing import check_generated, made_folder, write_own

FORMAT = "qmlir-search"

_START = f'{{\n "format": "{FORMAT}"'.encode()


class Measurements:
    """Figures by name, kept in a file where there is one."""

    def __init__(self, key: str, path: str | PathLike[str] | None = None) -> None:
        """The figures that `path` has under `key`; those of another key are replaced.

        Raises `DiagnosticError` if another file is there.
        """
        self.key = key
        self.path = None if path is None else path_of(path)
        if self.path is not None:
            check_generated(self.path, _START)
        self._figures: dict[str, float] = {} if self.path is None else _read(self.path, key)
        self.known = len(self._figures)
        """How many there were."""
        self.taken = 0
        """How many were measured since."""

    def __contains__(self, name: str) -> bool:
        return name in self._figures

    def measured(self, name: str, measure: Callable[[], float]) -> float:
        """The figure of that name: the one that is known, or `measure()`, which is written down at once.

        Raises `DiagnosticError` where it cannot be.
        """
        return self.together([name], lambda: [measure()])[0]

    def together(self, names: Sequence[str], measure: Callable[[], Sequence[float]]) -> list[float]:
        """The figures of these names: those that are known, or all by `measure()`, where one of them is not."""
        if any(name not in self._figures for name in names):
            self._figures.update(zip(names, measure(), strict=True))
            self.taken += len(names)
            if self.path is not None:
                made_folder(self.path.parent)
                write_own(self.path, self.text())
        return [self._figures[name] for name in names]

    def text(self) -> str:
        """The content of the file."""
        content = {"format": FORMAT, "key": self.key, "figures": self._figures}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _read(path: Path, key: str) -> dict[str, float]:
    """The figures of a file; none where it is not there yet, or no file of ours: there is nothing to go on from."""
    try:
        data = read_data(path, allow_nonfinite=True)
        data["format"].text([FORMAT])
        data["key"].text([key])
        figures = data["figures"].entries()
    except DiagnosticError:
        return {}
    found: dict[str, float] = {}
    for name, each in figures.items():
        with suppress(DiagnosticError):
            found[name] = each.number(allow_nonfinite=True)
    return found
