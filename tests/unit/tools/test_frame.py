"""The frame: what JSON has for each kind of value, and what a session says."""

import io
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from qmlir.tools.frame import Session, plain


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: float
    inside: tuple[Any, ...] = ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "null"),
        ([np.float32("inf"), -np.inf, 0.5], "[null, null, 0.5]"),
        (np.int64(-3), "-3"),
        (np.bool_(True), "true"),
        (True, "true"),
        (np.array([[1.0, np.nan]], np.float32), "[[1.0, null]]"),
        (np.array([0.5], ml_dtypes.bfloat16), "[0.5]"),
        (np.array(["é"]), '["é"]'),
        (Path("a/b"), '"a/b"'),
        (Colour.RED, '"red"'),
        ({Colour.RED: 1, 2: None}, '{"red": 1, "2": null}'),
        ({3, 1, 2}, "[1, 2, 3]"),
        (Point(1.0, (Point(float("nan")),)), '{"x": 1.0, "inside": [{"x": null, "inside": []}]}'),
    ],
)
def test_plain(value: object, text: str) -> None:
    assert json.dumps(plain(value), ensure_ascii=False, allow_nan=False) == text


def test_what_has_no_form() -> None:
    with pytest.raises(TypeError, match="object has no form in JSON"):
        plain([object()])


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
