"""`qmlir compare`: the errors of one model against another on the same samples, value by value."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.table import Table

from qmlir.ir.diagnostics import LINES, printable
from qmlir.onnx.suffixes import ONNX_SUFFIXES
from qmlir.specialization.options import parse_shapes
from qmlir.tools.arguments import add_model, add_options, data_in, model_or_path
from qmlir.tools.frame import Command, Session
from qmlir.tools.streams import UsageError
from qmlir.tools.tables import cells, table_text
from qmlir.workflows.comparing import LEVELS, RUNTIMES, Side, compare
from qmlir.workflows.comparison.compare import Comparison, ValueComparison
from qmlir.workflows.inspection.values import counted

SORTS = ("model", "sqnr")
"""Orders of the table: that of the model, or the worst first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `qmlir compare`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_model(
        parser, "reference",
        help="a .onnx model, a .mlir module, a folder that qmlir quantize wrote, a saved program, or - for a module "
        "from stdin; a prefix RUNTIME: says what runs it",
    )  # fmt: skip
    add_model(
        parser, "candidate", nargs="?",
        help="the model to compare; without it, a folder of qmlir quantize is compared with its float model",
    )  # fmt: skip
    add_options(parser, "--data", required=True)
    add_options(parser, "--preprocess")
    add = parser.add_argument
    add("--level", choices=LEVELS, help="compare a model with itself, lowered to this level (small shapes)")
    add("--parts", action="store_true", help="compare the parts of composites, such as fc1/matmul")
    add("--bound", type=float, metavar="DB", help="name the first value below DB decibels, and exit with 1")
    add("--limit", type=int, metavar="N", help="run at most N samples")
    add("--sort", choices=SORTS, default=SORTS[0], help="in the model's order (the default), or the worst first")
    add("--worst", type=int, metavar="N", help="show the N worst values only")
    add_options(parser, "--shape", "--inputs", "--outputs")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Compare, and print a table: 1 where a value is below the bound. Raises `DiagnosticError`."""
    if arguments.worst is not None and arguments.worst < 1:
        raise UsageError(f"qmlir compare: error: --worst is at least 1, found {arguments.worst}\n")
    found = compare(
        model_or_path(arguments.reference, session, arguments),
        _candidate(arguments, session),
        data_in(arguments),
        level=arguments.level,
        parts=arguments.parts,
        shapes=parse_shapes(arguments.shape) or None,
        limit=arguments.limit,
        progress=session.progress,
    )
    below = [] if arguments.bound is None else list(found.below(arguments.bound))
    for key in found.unmatched:
        session.detail(f"only in {found.reference}: {key}")
    value = {
        **asdict(found),
        "bound_db": arguments.bound,
        "first_below": below[0].key if below else None,
        "below": [each.key for each in below],
    }
    is_terminal = session.stdout.isatty()
    session.emit(value, lambda: report(found, arguments, is_terminal=is_terminal), is_styled=is_terminal)
    return 1 if below else 0


def _candidate(arguments: argparse.Namespace, session: Session) -> Side | None:
    """What is compared: cut as the reference is where it is an ONNX model; what was quantized of a cut one is as is."""
    given: str | None = arguments.candidate
    if given is None or (given != "-" and Path(given).suffix not in ONNX_SUFFIXES):
        return given
    return model_or_path(given, session, arguments)


def _number(value: float) -> str:
    return f"{value:.4g}"


def _note(each: ValueComparison, bound: float | None) -> str:
    if each.is_limited:
        return "saturates: limited by what follows"
    return "" if bound is None or each.sqnr_db >= bound else "below the bound"


def table_of(values: Sequence[ValueComparison], bound: float | None, *, is_terminal: bool) -> Table:
    """The values, one per line."""
    lines = box.SIMPLE_HEAD if is_terminal else None
    table = Table(box=lines, pad_edge=False, padding=(0, 2, 0, 0), collapse_padding=True)
    for title in ("value", "operation", "types"):
        table.add_column(title, no_wrap=not is_terminal, overflow="fold")
    for title in ("SQNR dB", "max error", "mean error", "largest"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for each in values:
        note = _note(each, bound)
        style = "dim" if each.is_limited else "red" if note else None
        table.add_row(
            *cells((each.key, each.operation, f"{each.reference_type} {each.type}")), f"{each.sqnr_db:.1f}",
            *map(_number, (each.max_error, each.mean_error, each.largest)), note, style=style,
        )  # fmt: skip
    return table


def _chosen(found: Comparison, arguments: argparse.Namespace) -> Sequence[ValueComparison]:
    if arguments.worst is not None:
        return found.worst(arguments.worst)
    return sorted(found.values, key=lambda each: each.sqnr_db) if arguments.sort == "sqnr" else found.values


def report(found: Comparison, arguments: argparse.Namespace, *, is_terminal: bool) -> str:
    """The table, with colours on a terminal, the outputs, and the first value below the bound."""
    head = f"{found.candidate} against {found.reference}, {counted(found.samples, 'sample')}\n"
    chosen = _chosen(found, arguments)
    table = "" if not chosen else table_text(
        table_of(chosen, arguments.bound, is_terminal=is_terminal), is_terminal=is_terminal, width=10_000,
        is_styled=is_terminal,
    )  # fmt: skip
    return printable(head, LINES) + (f"\n{table}\n\n" if table else "") + printable(_results(found, arguments), LINES)


def _results(found: Comparison, arguments: argparse.Namespace) -> str:
    text = ""
    for each in found.outputs:
        agreement = "" if each.top1_agreement is None else f", top-1 agreement {100 * each.top1_agreement:.2f}%"
        text += f"output {printable(each.key)}: {each.sqnr_db:.1f} dB, max error {_number(each.max_error)}{agreement}\n"
    if found.unmatched:
        values = counted(len(found.unmatched), "value")
        text += f"{values} of {found.reference} without a counterpart (--verbose: which)\n"
    return text + _verdict(found, arguments.bound)


def _verdict(found: Comparison, bound: float | None) -> str:
    if bound is None:
        return ""
    first = found.first_below(bound)
    if first is None:
        return f"no value is below {bound:g} dB\n"
    return f"first below {bound:g} dB: {printable(first.key)} ({first.operation}), {first.sqnr_db:.1f} dB\n"


_RUNTIMES = "\n".join(f"  {f'{name}:':24}{summary}" for name, (summary, _) in RUNTIMES.items())

COMPARE = Command(
    add_arguments,
    run,
    epilog=f"""\
RUNTIME: before a path, such as onnxruntime:model.onnx:
{_RUNTIMES}

The signal-to-noise ratio (SQNR) is 10 log10(sum reference^2 / sum difference^2). Values that saturate on purpose,
because what follows cuts the same off, are below no bound. In JSON an infinite ratio, of equal values, is null.

exit code 1: a value or an output is below --bound.
""",
)
