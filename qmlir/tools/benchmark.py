"""What the benchmarks share: rows with their bars, medians, and the table or JSON that they print.

Nothing here passes or fails: the machines are shared, and the tables of record are in `docs/performance.md`.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
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
    low: float | None = None
    high: float | None = None
    """The range of the rounds, where there were several."""


@dataclass(frozen=True)
class Timing:
    """The time of one run in seconds: the median of the medians of rounds, the smallest and the largest of these."""

    median: float
    low: float
    high: float

    def row(self, what: str, scale: float = 1.0, unit: str = "s") -> Row:
        """As a row in a unit of which a second has `scale`."""
        return Row(what, self.median * scale, None, unit, self.low * scale, self.high * scale)


Clock = Callable[[], float]
"""Seconds since some moment: of the wall (`time.perf_counter`), or of the processor (`time.process_time`)."""


def median_seconds(action: Callable[[], object], rounds: int = ROUNDS, clock: Clock = time.perf_counter) -> float:
    """The median time of `rounds` runs of `action`."""
    times: list[float] = []
    for _ in range(rounds):
        start = clock()
        action()
        times.append(clock() - start)
    return statistics.median(times)


def interleaved(
    actions: Mapping[str, Callable[[], object]],
    rounds: int = 5,
    seconds: float = 0.3,
    clock: Clock = time.perf_counter,
) -> dict[str, Timing]:
    """The times of rivals, measured in turns: a shared machine slows all of them alike.

    A turn takes about `seconds`, and at least three runs. Each was run three times before. The order is drawn anew for
    each round, always from the same seed: nobody always runs behind the one that heats the processor most.
    """
    counts: dict[str, int] = {}
    for name, action in actions.items():
        counts[name] = max(3, int(seconds / median_seconds(action)))
    medians: dict[str, list[float]] = {name: [] for name in actions}
    order, generator = list(actions), random.Random(0)
    for _ in range(rounds):
        generator.shuffle(order)
        for name in order:
            medians[name].append(median_seconds(actions[name], counts[name], clock))
    return {name: Timing(statistics.median(found), min(found), max(found)) for name, found in medians.items()}


def _cells(row: Row) -> tuple[str, str, str, str]:
    bar = "" if row.bar is None else f"{row.bar:g} {row.unit}"
    verdict = "" if row.bar is None else "met" if row.figure <= row.bar else "MISSED"
    spread = "" if row.low is None or row.high is None else f" [{row.low:.3g} – {row.high:.3g}]"
    return row.what, f"{row.figure:.4g} {row.unit}{spread}", bar, verdict


def report(name: str, description: str, measure: Callable[[], Sequence[Row]]) -> None:
    """Read the command line, measure, and print the table, or with `--json` the rows for a machine."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    add_json_option(parser)
    arguments = parser.parse_args()
    print_rows(measure(), as_json=arguments.json)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """The option that all benchmarks have."""
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def print_rows(rows: Sequence[Row], *, as_json: bool) -> None:
    """Print rows as a table, or for a machine."""
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = Table("what", "figure", "bar", "")
    for row in rows:
        table.add_row(*_cells(row))
    Console().print(table)
