"""Data of JSON files: what is read has the type that the reader names, and the rest is one line."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.data import JsonValue, parse_data, read_data

TEXT = (
    '{"name": "m", "rows": [1, 2.5, true, null], "inner": {"count": 3}, "far": 1e999, "lone": "\\ud800", "big": 1'
    + "0" * 400
    + "}"
)


def test_what_is_as_expected() -> None:
    data = parse_data(TEXT, "'f'")
    assert data["name"].text() == data["name"].text(["m"]) == "m"
    assert data["inner"]["count"].integer(0) == 3
    assert [each.value for each in data["rows"]] == [1, 2.5, True, None]
    assert [each.number() for each in list(data["rows"])[:2]] == [1.0, 2.5]
    assert list(data["rows"])[2].boolean()
    assert data.get("missing") is None
    assert data["inner"].entries().keys() == {"count"}


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda data: data["absent"], "'f' has no key 'absent'"),
        (lambda data: data["inner"]["x"], "'f': 'inner' has no key 'x'"),
        (lambda data: data["name"]["x"], "'f': 'name' must be an object, but got \"m\""),
        (lambda data: data["name"].integer(), "'f': 'name' must be an integer, but got \"m\""),
        (lambda data: data["name"].text(["a", "b"]), "'f': 'name' must be one of a, b, but got \"m\""),
        (lambda data: list(data["inner"]), "'f': 'inner' must be a list, but got an object"),
        (lambda data: list(data["rows"])[2].integer(), "'f': 'rows.2' must be an integer, but got true"),
        (lambda data: list(data["rows"])[1].integer(), "'f': 'rows.1' must be an integer, but got 2.5"),
        (lambda data: list(data["rows"])[3].text(), "'f': 'rows.3' must be a string, but got null"),
        (lambda data: data["inner"]["count"].integer(4), "'f': 'inner.count' must be an integer >= 4, but got 3"),
        (lambda data: data["inner"]["count"].integer(0, 2), "must be an integer from 0 to 2, but got 3"),
        (lambda data: data["inner"]["count"].boolean(), "must be true or false, but got 3"),
        (lambda data: data["far"].number(), "'f': 'far' must be a finite number, but got Infinity"),
        (
            lambda data: data["big"].number(),
            "'f': 'big' must be a finite number, but got a number of more than 64 bits",
        ),
        (lambda data: data["big"].integer(), "'f': 'big' must be an integer, but got a number of more than 64 bits"),
        (lambda data: data["lone"].text(), "'f': 'lone' must be a string without surrogates"),
        (lambda data: data.text(), "'f': the content must be a string, but got an object"),
    ],
)
def test_what_is_not(read: Callable[[JsonValue], object], message: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        read(parse_data(TEXT, "'f'"))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'f' is not JSON"),
        ("{", "'f' is not JSON"),
        (b"\xff", "byte 0 is not UTF-8"),
        ("[" * 200_000, "nested more than 64"),
        ("[" * 65 + "]" * 65, "nested more than 64"),
        ('{"a":' * 65 + "1" + "}" * 65, "nested more than 64"),
        ("9" * 5000, "too many digits"),
        ('{"a": 1, "a": 2}', "duplicate key 'a' in an object"),
        ('{"\\udc00": 1}', "surrogates"),
        ("NaN", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
    ],
)
def test_what_is_no_json(text: str | bytes, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        parse_data(text, "'f'")


def test_nesting_up_to_the_limit_and_non_finite_numbers() -> None:
    assert parse_data("[" * 64 + "]" * 64, "'f'").value is not None
    assert parse_data("[Infinity]", "'f'", allow_nonfinite=True).value == [float("inf")]


def test_the_time_is_linear() -> None:
    def seconds(count: int) -> float:
        text = json.dumps([[]] * count)
        begun = time.process_time()
        parse_data(text, "'f'")
        return time.process_time() - begun

    seconds(10)
    assert min(seconds(200_000) for _ in range(3)) < 8 * max(min(seconds(50_000) for _ in range(3)), 0.005)


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DiagnosticError, match=r"cannot read '.*pipe': it is not a regular file"):
        read_data(tmp_path / "pipe")
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DiagnosticError, match=r"cannot read '.*holes': it is larger than 67108864 bytes"):
        read_data(tmp_path / "holes")
    with pytest.raises(DiagnosticError, match=r"cannot read '.*none': No such file"):
        read_data(tmp_path / "none")
