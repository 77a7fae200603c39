"""The frame: what a session says."""

import io
import json

import numpy as np
import pytest

from qmlir.tools.command_runner import Session


def session(**how: bool) -> Session:
    return Session(io.StringIO(), io.StringIO(), io.StringIO(), **how)


def test_text_or_json() -> None:
    said, parsed = session(), session(json=True)
    for each in (said, parsed):
        each.emit({"share": np.float64(0.5)}, lambda: "half of it")
    assert said.stdout.getvalue() == "half of it\n"  # type: ignore[attr-defined]
    assert json.loads(parsed.stdout.getvalue()) == {"share": 0.5}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({}, "one\n"),
        ({"verbose": True}, "one\ntwo\n"),
        ({"quiet": True}, ""),
        ({"quiet": True, "verbose": True}, ""),
    ],
)
def test_how_much_is_said(how: dict[str, bool], said: str) -> None:
    found = session(**how)
    found.say("one")
    found.detail("two")
    assert found.stderr.getvalue() == said  # type: ignore[attr-defined]
    assert (found.progress is None) == how.get("quiet", False)
