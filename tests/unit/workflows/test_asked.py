"""The recipe of a folder: read back, its rules are those that options, built-in rules and a recipe file made."""

from pathlib import Path

import pytest

from qmlir.quantization.options import make_recipe, simple_rules
from qmlir.quantization.recipe import read_rules
from qmlir.workflows.asked import recipe_text

SETTINGS = [
    {},
    {"granularity": "channel"},
    {"activations": "u8", "scheme": "symmetric", "calibrator": "percentile"},
    {"weights": "i4", "weight_scheme": "asymmetric", "granularity": "block:32", "accumulator": "i16"},
    {"activations": "i2<-1:1>", "weights": "i8<-127:127>"},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("with_file", [False, True])
def test_the_same_rules_in_the_same_order(settings: dict[str, str], with_file: bool, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[[rule]]\norigin = "é/*"\nquantize = false\n[[rule]]\nop = "nn.add"\nstorage = "i4"\n'
    )
    path = str(tmp_path / "mine.toml") if with_file else ""
    expected = make_recipe(simple_rules(**settings), path).rules
    text = recipe_text(range(len(expected)), {**settings, "recipe": path, "keep": ("softmax",)})
    assert "# --keep softmax\n" in text
    (tmp_path / "written.toml").write_text(text)
    found = read_rules(tmp_path / "written.toml")
    assert [(each.settings, each.origin, each.role, each.op, each.slot) for each in found] == [
        (each.settings, each.origin, each.role, each.op, each.slot) for each in expected
    ]


def test_rules_that_decided_nothing_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "written.toml").write_text(recipe_text({2}, {"activations": "u8", "weights": "i4"}))
    (rule,) = read_rules(tmp_path / "written.toml")  # of input, output, weight
    assert rule.slot == "weight"
