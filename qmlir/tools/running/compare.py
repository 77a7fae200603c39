"""Runs `qmlir compare`. It is separate from the arguments, so that the help of the command is fast."""

import argparse
import io
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from qmlir.ir.diagnostics import printable
from qmlir.onnx.filenames import ONNX_SUFFIXES
from qmlir.specialization.inputs import parse_shapes
from qmlir.tools.command_runner import Session
from qmlir.tools.models import data_in, labels_beside_data, model_or_path
from qmlir.tools.stdio import UsageError
from qmlir.workflows.comparing import Side, compare, compare_dump
from qmlir.workflows.comparison.compare import HEAD, NUMBERS, Comparison, ValueComparison


def run_compare(arguments: argparse.Namespace, session: Session) -> int:
    """Compares, and prints a table; returns 1 if a value is below the bound. Raises `DiagnosticError`."""
    if arguments.dump is not None:
        return _run_dump(arguments, session)
    if arguments.data is None:
        raise UsageError("qmlir compare: error: the following arguments are required: --data\n")
    if arguments.worst is not None and arguments.worst < 1:
        raise UsageError(f"qmlir compare: error: --worst must be at least 1, but got {arguments.worst}\n")
    with labels_beside_data(arguments):
        found = compare(
            model_or_path(arguments.reference, session, arguments),
            _candidate(arguments, session),
            data_in(arguments),
            level=arguments.level,
            parts=arguments.parts,
            shapes=parse_shapes(arguments.shape) or None,
            samples=arguments.samples,
            labels=arguments.labels,
            progress=session.progress,
        )
    below = [] if arguments.min_sqnr is None else list(found.below(arguments.min_sqnr))
    for key in found.unmatched:
        session.detail(f"only in {found.reference}: {key}")
    value = {
        **asdict(found),
        "min_sqnr_db": arguments.min_sqnr,
        "first_below": below[0].key if below else None,
        "below": [each.key for each in below],
    }
    is_terminal = session.stdout.isatty()
    session.emit(value, lambda: _text(found, arguments, is_terminal=is_terminal), is_styled=is_terminal)
    return 1 if below else 0


def _run_dump(arguments: argparse.Namespace, session: Session) -> int:
    """Compares the layers that a device printed; returns 1 if one differs."""
    others = {"CANDIDATE": arguments.candidate, "--labels": arguments.labels, "--level": arguments.level,
              "--min-sqnr": arguments.min_sqnr, "--samples": arguments.samples, "--worst": arguments.worst}  # fmt: skip
    if given := [name for name, value in others.items() if value is not None]:
        raise UsageError(f"qmlir compare: error: {given[0]} cannot be combined with --dump\n")
    model = model_or_path(arguments.reference, session, arguments)
    found = compare_dump(model, arguments.dump, data_in(arguments), shapes=parse_shapes(arguments.shape) or None)
    session.emit(asdict(found), found.text)
    return 0 if found.difference is None else 1


def _candidate(arguments: argparse.Namespace, session: Session) -> Side | None:
    """Returns the candidate, cut like the reference if it is an ONNX model.

    A model quantized from a cut one is not cut.
    """
    given: str | None = arguments.candidate
    if given is None or (given != "-" and Path(given).suffix not in ONNX_SUFFIXES):
        return given
    return model_or_path(given, session, arguments)


def _table_of(values: Sequence[ValueComparison], bound: float | None) -> str:
    """Formats the values as a table for a terminal, with names as plain text that rich does not interpret."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), collapse_padding=True)
    for title in HEAD:
        is_name = title in HEAD[:3]
        table.add_column(title, justify="right" if title in NUMBERS else "left", no_wrap=not is_name, overflow="fold")
    for each in values:
        note = each.note(bound)
        style = "dim" if each.is_limited else "red" if note else None
        table.add_row(*map(printable, each.row()), note, style=style)
    stream = io.StringIO()
    columns = shutil.get_terminal_size((10_000, 24)).columns
    console = Console(file=stream, width=columns, force_terminal=True, highlight=False, markup=False, emoji=False)
    console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _chosen(found: Comparison, arguments: argparse.Namespace) -> Sequence[ValueComparison]:
    if arguments.worst is not None:
        return found.worst(arguments.worst)
    return sorted(found.values, key=lambda each: each.sqnr_db) if arguments.sort == "sqnr" else found.values


def _text(found: Comparison, arguments: argparse.Namespace, *, is_terminal: bool) -> str:
    """Formats a comparison; on a terminal in color, with names folded to its width."""
    chosen = _chosen(found, arguments)
    if not is_terminal or not chosen:
        return found.text(arguments.min_sqnr, chosen)
    return found.framed(_table_of(chosen, arguments.min_sqnr), arguments.min_sqnr)
