"""What the benchmarks share: rows with their bars, medians, ratios, and the tables or JSON that they print.

Nothing here passes or fails: the machines are shared, and the tables of record are in `docs/lab/performance.md`.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import cast

from rich.console import Console
from rich.table import Table

from qmlir.workflows.timing import Times


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
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = parser.parse_args()
    print_rows(measure(), as_json=arguments.json)


def print_rows(rows: Sequence[BenchRow], *, as_json: bool) -> None:
    """Print rows as a table, or for a machine."""
    if as_json:
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
