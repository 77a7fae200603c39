"""What the benchmarks share: rows with their bars, medians, and the table or JSON that they print.

Nothing here passes or fails: the machines are shared, and the tables of record are in `docs/performance.md`.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """One figure, with the bar that it is held against, or none where it is there to compare with."""

    what: str
    figure: float
    bar: float | None = None
    unit: str = "s"


def median_seconds(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median time of `rounds` runs of `action`."""
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _cells(row: Row) -> tuple[str, str, str, str]:
    bar = "" if row.bar is None else f"{row.bar:g} {row.unit}"
    verdict = "" if row.bar is None else "met" if row.figure <= row.bar else "MISSED"
    return row.what, f"{row.figure:.4g} {row.unit}", bar, verdict


def report(name: str, description: str, measure: Callable[[], Sequence[Row]]) -> None:
    """Read the command line, measure, and print the table, or with `--json` the rows for a machine."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = parser.parse_args()
    rows = measure()
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = Table("what", "figure", "bar", "")
    for row in rows:
        table.add_row(*_cells(row))
    Console().print(table)
