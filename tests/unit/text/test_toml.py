"""What is written as TOML, the standard library reads back."""

import math
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.toml import parse_toml, toml_value


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_strings(text: str) -> None:
    assert tomllib.loads(f"key = {toml_value(text)}") == {"key": text}
    assert tomllib.loads(f"key = {toml_value({text: 1})}") == {"key": {text: 1}}


@pytest.mark.parametrize(
    "value", [True, False, -3, 99.9, 1e-30, math.inf, [1, "a"], {"name": "percentile", "percent": 99.9, "é": []}]
)
def test_values(value: object) -> None:
    assert tomllib.loads(f"key = {toml_value(value)}") == {"key": value}


def test_a_rule_reads_well() -> None:
    assert toml_value({"name": "percentile", "percent": 99.9}) == '{ name = "percentile", percent = 99.9 }'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".".join(["a"] * 60_000) + " = 1", "a dotted key has more than 16 parts"),
        ("[" + " . ".join(["'a'"] * 17) + "]", "a dotted key has more than 16 parts"),
        ("x = { " + ".".join(['"a"'] * 17) + " = 1 }", "a dotted key has more than 16 parts"),
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("x = " + "[" * 64 + "]" * 64, "nested more than 64 levels"),
        ("x = 9223372036854775808", "exceeds 64 bits"),
        ("x = [{ y = 0x" + "f" * 10_000 + " }]", "exceeds 64 bits"),
        ("x = " + "9" * 10_000, "too many digits"),
        ("#" * (1 << 23), "longer than 4194304 characters"),
        ("x = ", "Invalid value"),
    ],
)
def test_limits(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=f"'f' is not TOML: .*{message}"):
        parse_toml(text, "'f'")


def test_dots_that_are_in_no_key() -> None:
    dots = ".".join(["a"] * 100)
    lines = [f"# {dots}", f"x = '{dots}'", f'y = """\n{dots} \\" {dots}"""', f"z = '''{dots}'''", "w = [1.5, -1]"]
    assert parse_toml("\n".join(lines), "'f'") == tomllib.loads("\n".join(lines))
    assert parse_toml(".".join(["a"] * 16) + " = 1", "'f'")


@pytest.mark.parametrize(
    "text",
    [
        lambda count: "x = '" + "'" * count,
        lambda count: '"\\"' * count,
        lambda count: "'''" + "''a" * count,
        lambda count: "[[rule]]\n" * count,
        lambda count: "".join(f"a.b.c{position} = 1\n" for position in range(count)),
    ],
)
def test_the_time_is_linear(text: Callable[[int], str]) -> None:
    def seconds(count: int) -> float:
        content, begun = text(count), time.process_time()
        with suppress(DiagnosticError):
            parse_toml(content, "'f'")
        return time.process_time() - begun

    seconds(10)
    # 16 times as long if it is linear, 256 times if it is quadratic.
    assert min(seconds(16000) for _ in range(3)) < 64 * max(min(seconds(1000) for _ in range(3)), 0.002)
