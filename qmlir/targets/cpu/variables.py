"""Numbers in variables of the environment: one that is none is an error, never a setting that is left out."""

import os

from qmlir.ir.diagnostics import text_error


def number_in(variable: str, of: str, example: int) -> int | None:
    """The whole number in `variable`, `None` where nothing is said; `of` says what it counts.

    Raises `DiagnosticError` for what is not a number from 0 on.
    """
    text = os.environ.get(variable, "").strip()
    if text and not text.isdecimal():
        raise text_error(f"{variable} must be a number of {of} (example: {example}), but got '{text}'")
    return int(text) if text else None
