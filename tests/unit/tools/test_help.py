"""The help of each command: required options in the usage line, and examples that the command accepts."""

import shlex

import pytest

from qmlir.tools import qmlir_cli
from qmlir.tools.command_runner import build_parser, command_of
from qmlir.tools.stdio import Subcommand
from tests.support.commands import run_command


@pytest.mark.parametrize("row", qmlir_cli.rows(), ids=lambda row: row.name)
def test_help_ends_with_two_examples(row: Subcommand) -> None:
    shown = run_command(["qmlir", row.name, "--help"], "").stdout
    examples = command_of(row).examples
    assert len(examples) == 2
    assert shown.endswith("examples:\n" + "".join(f"  qmlir {each}\n" for each in examples))
    for each in examples:
        name, *words = shlex.split(each)
        assert name == row.name
        build_parser(row).parse_args(words)  # a wrong word is a UsageError


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("quantize", "qmlir quantize MODEL -o PATH [options]"),
        ("compare", "qmlir compare REFERENCE [CANDIDATE] [options]"),
        ("search", "qmlir search MODEL --data PATH -o PATH [options]"),
        ("doctor", "qmlir doctor [options]"),
    ],
)
def test_usage_shows_what_is_required(name: str, usage: str) -> None:
    assert run_command(["qmlir", name, "--help"], "").stdout.startswith(f"usage: {usage}\n")


def test_groups_of_quantize() -> None:
    shown = run_command(["qmlir", "quantize", "--help"], "").stdout
    titles = ["\noptions:", "\ndata:", "\ntypes:", "\naccuracy:", "\noutput:", "\nONNX import:", "\nONNX export:"]
    positions = [shown.index(each) for each in [*titles, "\nadvanced:", "\ncommon options:"]]
    assert positions == sorted(positions)
    first = shown[positions[0] : positions[1]]
    assert all(f"  {each} " in first for each in ("--data", "-o", "--effort"))
    assert "quant-assign-types" not in shown
