"""`qmlir compare`: the errors of one model against another on the same samples, value by value."""

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
from qmlir.tools.arguments import add_model, add_options, data_in, model_or_path
from qmlir.tools.command_runner import Command, Session
from qmlir.tools.stdio import UsageError
from qmlir.workflows.comparing import LEVELS, RUNTIMES, Side, compare
from qmlir.workflows.comparison.compare import HEAD, NUMBERS, Comparison, ValueComparison

SORTS = ("model", "sqnr")
"""The orders of the table: that of the model, or worst first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `qmlir compare`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_model(
        parser, "reference",
        help="ONNX model, module, folder written by qmlir quantize, program, or - for a module on stdin; "
        "RUNTIME:MODEL names the runtime",
    )  # fmt: skip
    add_model(
        parser, "candidate", nargs="?",
        help="model to compare (default: the float model of the folder)",
    )  # fmt: skip
    add_options(parser, "--data", required=True)
    add_options(parser, "--preprocess")
    add = parser.add_argument
    add("--level", choices=LEVELS, help="compare a model with itself, lowered to this level (small shapes only)")
    add("--parts", action="store_true", help="compare the parts of composites, such as fc1/matmul")
    add("--min-sqnr", type=float, metavar="DB", help="exit with code 1 if the SQNR of any value is below DB decibels")
    add("--samples", type=int, metavar="N", help="compare at most N samples (default: all)")
    add("--sort", choices=SORTS, default=SORTS[0], help="order of the table: model (default), or sqnr, worst first")
    add("--worst", type=int, metavar="N", help="show only the N worst values")
    add_options(parser, "--shape", "--cut-inputs", "--cut-outputs")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Compares, and prints a table; returns 1 if a value is below the bound. Raises `DiagnosticError`."""
    if arguments.worst is not None and arguments.worst < 1:
        raise UsageError(f"qmlir compare: error: --worst must be at least 1, but got {arguments.worst}\n")
    found = compare(
        model_or_path(arguments.reference, session, arguments),
        _candidate(arguments, session),
        data_in(arguments),
        level=arguments.level,
        parts=arguments.parts,
        shapes=parse_shapes(arguments.shape) or None,
        samples=arguments.samples,
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


_RUNTIMES = "\n".join(f"  {f'{name}:':24}{summary}" for name, (summary, _) in RUNTIMES.items())

COMPARE = Command(
    add_arguments,
    run,
    examples=(
        "compare out/ --data samples.npz --worst 5",
        "compare model.onnx onnxruntime:other.onnx --data samples.npz --min-sqnr 30",
    ),
    epilog=f"""\
RUNTIME, as a prefix of a path (onnxruntime:model.onnx):
{_RUNTIMES}

The signal-to-quantization-noise ratio (SQNR) is 10 log10(sum reference^2 / sum difference^2). --min-sqnr ignores
values that saturate and are clipped by the next layer anyway. In JSON, null is an infinite SQNR (equal values).

exit code 1: the SQNR of a value or an output is below --min-sqnr
""",
)
