"""What is written as TOML, the standard library reads back."""

import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmlir.text.toml import toml_value


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
