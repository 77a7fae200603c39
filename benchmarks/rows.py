"""What the benchmarks share: rows with their bars, medians, ratios, and the tables or JSON that they print.

Only rows that are required pass or fail, because the machines are shared. `--results` writes rows as a file of
`docs/results`, from which `docs.generator.results` renders README and pages; `docs/lab/performance.md` has all tables
of record.
"""

import argparse
import json
import math
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from qmlir.extensions.report.timing import Times


@dataclass(frozen=True)
class BenchRow:
    """One figure, with the bar that it is held against, or none where it is there to compare with."""

    what: str
    figure: float
    bar: float | None = None
    unit: str = "s"
    low: float | None = None
    high: float | None = None
    """The range of the rounds, where there were several."""

    rate: float | None = None
    """Multiply-adds a second, in 10^9."""

    share: float | None = None
    """Of the most multiply-adds a second that the machine can do."""

    subject: str = ""
    """What the figure is of, where a section has several figures of one thing: a model, a layer."""

    is_required: bool = False
    """Whether a run fails if the bar is missed: a figure that the speed of the machine doesn't change."""

    @property
    def title(self) -> str:
        """What the figure is, and of what."""
        return f"{self.subject}: {self.what}" if self.subject else self.what

    @property
    def verdict(self) -> str:
        """Whether the bar is met; empty without one."""
        return "" if self.bar is None else "met" if self.figure <= self.bar else "MISSED"


@dataclass(frozen=True)
class Section:
    """Rows under one title: a subject, on so many threads."""

    title: str
    rows: Sequence[BenchRow]
    threads: int = 1


def row_of(times: Times, what: str, scale: float = 1.0, unit: str = "s", subject: str = "") -> BenchRow:
    """Times as a row in a unit of which a second has `scale`."""
    return BenchRow(what, times.median * scale, None, unit, times.low * scale, times.high * scale, subject=subject)


def with_rate(row: BenchRow, seconds: float, products: int | None, peak: float) -> BenchRow:
    """The row of a run that took `seconds`, with its rate, where its multiply-adds are known, and the share of `peak`.

    `peak` is the most multiply-adds that the machine does in a second.
    """
    return replace(row, rate=products / seconds / 1e9, share=products / seconds / peak) if products else row


def readable(seconds: float) -> tuple[float, str]:
    """The unit in which a time is told, and how many of it a second has."""
    return (1e3, "ms") if seconds > 1e-3 else (1e6, "us")


def ratio_row(subject: str, what: str, ours: Times, rivals: Sequence[Times], bar: float | None = None) -> BenchRow:
    """Our time over that of the fastest rival, with the range of this ratio in single rounds."""
    fastest = min(rivals, key=lambda each: each.median)
    found = [mine / theirs for mine, theirs in zip(ours.rounds, fastest.rounds, strict=True)]
    limits = (min(found), max(found)) if found else ()
    return BenchRow(what, ours.median / fastest.median, bar, "x", *limits, subject=subject)


def _cells(row: BenchRow) -> tuple[str, str, str, str]:
    bar = "" if row.bar is None else f"{row.bar:.3g} {row.unit}"
    return row.title, f"{row.figure:.4g} {row.unit}{_spread(row)}", bar, row.verdict


def _spread(row: BenchRow) -> str:
    return "" if row.low is None or row.high is None else f" [{row.low:.3g} – {row.high:.3g}]"


def report(name: str, description: str, measure: Callable[[], Sequence[BenchRow]]) -> None:
    """Read the command line, measure, and print the table, or with `--json` the rows for a machine."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    add_output(parser)
    arguments = parser.parse_args()
    print_rows(measure(), arguments)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options of the output: those that `print_rows` reads."""
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    add_results(parser)


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the options that `write_results` reads."""
    parser.add_argument("--results", type=Path, metavar="FILE", help="also write the rows to FILE, as in docs/results")
    parser.add_argument("--note", default="", metavar="TEXT", help="conditions, for the caption in FILE")


def command_line(words: Sequence[str]) -> str:
    """The command of a process from its `sys.orig_argv`, without the options of `add_results` and without folders."""
    kept: list[str] = []
    is_value = False
    for word in words[1:]:
        if not is_value and word.partition("=")[0] not in ("--results", "--note"):
            kept.append(Path(word).name if "/" in word else word)
        is_value = word in ("--results", "--note")
    return shlex.join(["python", *kept])


def write_results(rows: Iterable[BenchRow], arguments: argparse.Namespace) -> None:
    """Write rows to `arguments.results` with the caption of this run, if a file is given.

    Bars are left out, and so are figures that aren't finite: they stand for failures. Raises `ValueError` if two rows
    have the same name.
    """
    if arguments.results is None:
        return
    kept = [row for row in rows if math.isfinite(row.figure)]
    if twice := [title for title, count in Counter(row.title for row in kept).items() if count > 1]:
        raise ValueError(f"rows must have different names, but got {', '.join(twice)} more than once")
    here = machine()
    caption = {
        "cpu": f"{here['processor']}, {here['isa']}",
        "threads": getattr(arguments, "threads", None),
        "versions": here["versions"],
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "command": command_line(sys.orig_argv),
        "note": arguments.note,
    }
    entries = (f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in caption.items())
    lines = (f"  {json.dumps(_result(row), ensure_ascii=False)}" for row in kept)
    text = '{\n "caption": {\n' + ",\n".join(entries) + '\n },\n "rows": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    arguments.results.write_text(text, encoding="utf-8")


def _result(row: BenchRow) -> Mapping[str, object]:
    """A row as a file of `docs/results` has it, with six digits of each figure."""
    figures = {"figure": row.figure, "low": row.low, "high": row.high}
    rounded = {name: float(f"{figure:.6g}") for name, figure in figures.items() if figure is not None}
    return {"subject": row.subject, "what": row.what, "figure": rounded.pop("figure"), "unit": row.unit, **rounded}


def print_rows(rows: Sequence[BenchRow], arguments: argparse.Namespace) -> None:
    """Print rows as a table, or for a machine; the options are those of `add_output`."""
    write_results(rows, arguments)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = Table("what", "figure", "bar", "")
    for row in rows:
        table.add_row(*_cells(row))
    Console().print(table)


_WIDTH = 120
"""Of tables that go into a file: long names are not broken."""


def _rate_cells(row: BenchRow) -> tuple[str, str]:
    rate = "" if row.rate is None else f"{row.rate:.3g}"
    return rate, "" if row.share is None else f"{100 * row.share:.0f}%"


def _threads(section: Section) -> str:
    return f"{section.threads} thread{'s' if section.threads > 1 else ''}"


def _head_lines(head: Mapping[str, object]) -> Iterator[str]:
    for name, value in head.items():
        named = cast(Mapping[str, object], value).items() if isinstance(value, Mapping) else ()
        yield f"{name}: {', '.join(f'{key} {each}' for key, each in named) or str(cast(object, value))}"


def _print_tables(head: Mapping[str, object], sections: Sequence[Section]) -> None:
    console = Console() if Console().is_terminal else Console(width=_WIDTH)
    for line in _head_lines(head):
        console.print(line, highlight=False)
    for section in sections:
        rates = any(row.rate is not None for row in section.rows)
        columns = ("what", "figure", *(("GMAC/s", "of peak") if rates else ()), "bar", "")
        table = Table(*columns, title=f"{section.title}; {_threads(section)}", title_justify="left", title_style="")
        for row in section.rows:
            what, figure, *verdict = _cells(row)
            table.add_row(what, figure, *(_rate_cells(row) if rates else ()), *verdict)
        console.print(table)


def _markdown_cell(row: BenchRow | None) -> str:
    if row is None:
        return ""
    share = "" if row.share is None else f", {100 * row.share:.0f}%"
    bar = "" if row.bar is None else f", bar {row.bar:.3g}: {row.verdict}"
    unit = "" if row.unit == "x" else f" {row.unit}"
    return f"{row.figure:.3g}{unit}{_spread(row)}{share}{bar}"


def _print_markdown(head: Mapping[str, object], sections: Sequence[Section]) -> None:
    """A line for each subject, and a column for each figure that some have; the share is that of the peak."""
    print("; ".join(_head_lines(head)))
    for section in sections:
        columns = list(dict.fromkeys(row.what for row in section.rows))
        found = {(row.subject, row.what): row for row in section.rows}
        print(f"\n| {section.title}; {_threads(section)} | {' | '.join(columns)} |")
        print("|---" * (1 + len(columns)) + "|")
        for subject in dict.fromkeys(row.subject for row in section.rows):
            cells = (_markdown_cell(found.get((subject, column))) for column in columns)
            print(f"| {subject} | {' | '.join(cells)} |")


def _print_json(head: Mapping[str, object], sections: Sequence[Section]) -> None:
    print(json.dumps({**head, "sections": [asdict(section) for section in sections]}, indent=2))


FORMATS: Mapping[str, Callable[[Mapping[str, object], Sequence[Section]], None]] = {
    "table": _print_tables,
    "markdown": _print_markdown,
    "json": _print_json,
}
"""Ways to print sections below a head, which says where and with what all of them were measured."""
