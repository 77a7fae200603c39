"""`--budget`, in every tool that reads modules or runs passes: the budgets of `qmlir.ir.budgets`, raised or lowered."""

import argparse
from collections.abc import Callable
from typing import Any

from qmlir.ir.budgets import BUDGETS


def _row(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    if not equals or name not in BUDGETS or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no NAME=NUMBER, with a name of {', '.join(BUDGETS)}")
    return name, int(number)


def add_budgets(add: Callable[..., Any]) -> None:
    """The option; `add` is the `add_argument` of a parser or of a group."""
    numbers = ", ".join(f"{name}={each.default}" for name, each in BUDGETS.items())
    add(
        "--budget", action="append", default=[], type=_row, metavar="NAME=N",
        help=f"what a small input may grow to (may be repeated); otherwise {numbers}",
    )  # fmt: skip
