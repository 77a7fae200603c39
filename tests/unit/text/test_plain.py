"""What JSON has for each kind of value."""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from qmlir.text.data import plain


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
    with pytest.raises(TypeError, match="cannot write object as JSON"):
        plain([object()])


def test_numbers_and_texts_may_be_shortened() -> None:
    found = plain({"key": [0.123456, Point(2.0), "text", np.inf]}, number=lambda each: round(each, 2), text=str.upper)
    assert found == {"KEY": [0.12, {"x": 2.0, "inside": []}, "TEXT", None]}
