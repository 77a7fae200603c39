"""What the benchmarks share: medians that no noisy round decides, ratios by round, rates, and three formats."""

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rows import (
    FORMATS,
    BenchRow,
    Section,
    add_output,
    command_line,
    print_rows,
    ratio_row,
    readable,
    row_of,
    with_rate,
    write_results,
)  # fmt: skip
from docs.generator.results import Fact, read_measurement
from qmlir.extensions.report.timing import Times, interleaved

HEAD = {"processor": "P", "versions": {"numpy": "2"}}
ROWS = [
    with_rate(row_of(Times.of([2e-3, 1e-3, 9e-3]), "ours", 1e3, "ms", "mlp"), 2e-3, 4_000_000, 8e9),
    BenchRow("ours over theirs", 0.5, 0.6, "x", 0.4, 0.7, subject="mlp"),
    BenchRow("ours over theirs", 0.7, 0.6, "x", subject="lstm"),
]
SECTIONS = [Section("Models", ROWS, 2)]


def test_a_noisy_round_does_not_decide() -> None:
    timing = Times.of([2.0, 50.0, 1.0])
    assert (timing.median, timing.low, timing.high) == (2.0, 1.0, 50.0)


def test_a_ratio_is_that_of_the_medians_to_the_fastest_with_the_range_of_single_rounds() -> None:
    row = ratio_row("mlp", "ours over theirs", Times.of([1, 2, 3]), [Times.of([4, 4, 4]), Times.of([9, 9, 9])], 0.6)
    assert row == BenchRow("ours over theirs", 0.5, 0.6, "x", 0.25, 0.75, subject="mlp")
    assert (row.title, row.verdict) == ("mlp: ours over theirs", "met")


def test_rates_and_units() -> None:
    assert ROWS[0].rate == pytest.approx(2.0)  # 4 million in 2 ms
    assert ROWS[0].share == pytest.approx(0.25)
    assert with_rate(BenchRow("x", 1.0), 1.0, None, 1.0) == BenchRow("x", 1.0)
    assert (readable(0.02), readable(2e-5)) == ((1e3, "ms"), (1e6, "us"))


def test_rivals_run_in_turns_and_are_warm() -> None:
    ticks = iter(range(10_000))
    calls: list[str] = []

    def runner(name: str) -> Callable[[], object]:
        return lambda: calls.append(name)

    found = interleaved({"a": runner("a"), "b": runner("b")}, 4, 1e-9, lambda: float(next(ticks)))
    assert [timing.rounds for timing in found.values()] == [(1.0,) * 4] * 2  # each tick is a second
    turns = calls[6:]  # behind three runs of each that say how many make a turn
    assert len(turns) == 2 * 4 * (1 + 3)  # one that is not counted, three that are
    assert [set(turns[start : start + 4]) for start in range(0, len(turns), 4)] == [{each} for each in turns[::4]]
    assert len({tuple(turns[start : start + 8 : 4]) for start in range(0, len(turns), 8)}) == 2  # in both orders


def test_json_holds_the_head_and_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    FORMATS["json"](HEAD, SECTIONS)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["versions"] == {"numpy": "2"}
    (section,) = found["sections"]
    assert (section["title"], section["threads"]) == ("Models", 2)
    assert [row["figure"] for row in section["rows"]] == [2.0, 0.5, 0.7]


def test_tables_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    FORMATS["table"](HEAD, SECTIONS)
    table = capsys.readouterr().out
    assert table.startswith("processor: P\nversions: numpy 2\nModels; 2 threads")
    assert "0.7 x" in table
    assert "MISSED" in table
    FORMATS["markdown"](HEAD, SECTIONS)
    assert capsys.readouterr().out.splitlines() == [
        "processor: P; versions: numpy 2",
        "",
        "| Models; 2 threads | ours | ours over theirs |",
        "|---|---|---|",
        "| mlp | 2 ms [1 – 9], 25% | 0.5 [0.4 – 0.7], bar 0.6: met |",
        "| lstm |  | 0.7, bar 0.6: MISSED |",
    ]


def test_results_hold_rows_and_their_caption(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bars are left out, and so are figures that stand for failures."""
    parser = argparse.ArgumentParser()
    add_output(parser)
    file = tmp_path / "mlp.json"
    arguments = parser.parse_args(["--results", str(file), "--note", "idle"])
    print_rows([*ROWS, BenchRow("not run", math.nan)], arguments)
    assert "not run" in capsys.readouterr().out
    found = read_measurement(file)
    assert (found.name, found.caption.note, found.caption.threads) == ("mlp", "idle", None)
    assert found.caption.versions["python"]
    assert found.facts == [
        Fact("mlp", "ours", 2.0, "ms", 1.0, 9.0), Fact("mlp", "ours over theirs", 0.5, "x", 0.4, 0.7),
        Fact("lstm", "ours over theirs", 0.7, "x"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="but got lstm: ours over theirs more than once"):
        write_results([*ROWS, ROWS[-1]], arguments)


def test_the_command_of_a_caption_names_neither_the_file_nor_folders() -> None:
    words = ["/bin/python", "-m", "benchmarks.x", "/m/a.onnx", "--results", "r.json", "--note=b c", "--samples", "2"]
    assert command_line(words) == "python -m benchmarks.x a.onnx --samples 2"
