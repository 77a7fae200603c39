"""Figures that are slow to measure, stored by name in a file, so that an interrupted search can continue."""

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
    """Measured figures by name, optionally stored in a file."""

    def __init__(self, key: str, path: str | PathLike[str] | None = None) -> None:
        """Reads the figures that `path` holds under `key`; figures under another key are replaced.

        Raises `DiagnosticError` if `path` is a file of another kind.
        """
        self.key = key
        self.path = None if path is None else path_of(path)
        if self.path is not None:
            check_generated(self.path, _START)
        self._figures: dict[str, float] = {} if self.path is None else _read(self.path, key)
        self.known = len(self._figures)
        """Number of figures that were read."""
        self.taken = 0
        """Number of figures measured since."""

    def __contains__(self, name: str) -> bool:
        return name in self._figures

    def measured(self, name: str, measure: Callable[[], float]) -> float:
        """Returns the stored figure `name`, or calls `measure` and stores its result at once.

        Raises `DiagnosticError` if it cannot be stored.
        """
        return self.together([name], lambda: [measure()])[0]

    def together(self, names: Sequence[str], measure: Callable[[], Sequence[float]]) -> list[float]:
        """Returns the stored figures `names`; if one is missing, calls `measure` and stores all its results."""
        if any(name not in self._figures for name in names):
            self._figures.update(zip(names, measure(), strict=True))
            self.taken += len(names)
            if self.path is not None:
                made_folder(self.path.parent)
                write_own(self.path, self.text())
        return [self._figures[name] for name in names]

    def text(self) -> str:
        """Returns the content of the file."""
        content = {"format": FORMAT, "key": self.key, "figures": self._figures}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _read(path: Path, key: str) -> dict[str, float]:
    """Returns the figures of a file; none if it does not exist or cannot be parsed."""
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
