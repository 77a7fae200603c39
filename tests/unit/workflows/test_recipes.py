"""The recipe of a folder: read back, its rules are those that options, built-in rules and a recipe file made."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.recipe import TypeOptions, effort_in, make_recipe, read_rules
from qmlir.quantization.recipe_text import RecipeText
from qmlir.workflows.quantized import recipe_text
from qmlir.workflows.quantizing import quantize

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
    expected = make_recipe(TypeOptions(**settings).rules(), path).rules
    text = recipe_text(range(len(expected)), {**settings, "recipe": path, "keep_composites": ("softmax",)})
    assert "# --keep-composites softmax\n" in text
    (tmp_path / "written.toml").write_text(text)
    found = read_rules(tmp_path / "written.toml")
    assert [(each.settings, each.origin, each.role, each.op, each.slot) for each in found] == [
        (each.settings, each.origin, each.role, each.op, each.slot) for each in expected
    ]


def test_rules_that_decided_nothing_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "written.toml").write_text(recipe_text({2}, {"activations": "u8", "weights": "i4"}))
    (rule,) = read_rules(tmp_path / "written.toml")  # of input, output, weight
    assert rule.slot == "weight"


def test_names_add_no_line_to_a_recipe() -> None:
    line = "\n[[rule]]\nquantize = false\n"
    settings = {"keep_composites": (f"gelu{line}",), "recipe": RecipeText(f"mine{line}", "")}
    assert read_rules(RecipeText("written", recipe_text((), settings))) == []
    with pytest.raises(DiagnosticError, match="unknown key"):
        read_rules([{f"node = 'x'{line}[[rule]]\nnode": "y", "quantize": False}])


MODEL = Path(__file__).parents[3] / "docs" / "examples" / "digits.onnxtxt"
DATA = {"image": np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)}
OPTIONS: dict[str, Any] = {
    "activations": "i16", "weights": "i4", "accumulator": "i24", "scheme": "symmetric", "weight_scheme": "asymmetric",
    "granularity": "tensor", "calibrator": "percentile",
}  # fmt: skip
RULES = [
    {"origin": "relu1", "slot": "output", "storage": "u8"},
    {"origin": "fc1", "slot": "weight", "storage": "i6", "scheme": "symmetric"},
    {"slot": "input", "calibrator": {"name": "percentile", "percent": 99.5}},
]
AS_TABLES = """\
[[rule]]
origin = "relu1"
slot = "output"
storage = "u8"

[[rule]]
origin = "fc1"
slot = "weight"
storage = "i6"
scheme = "symmetric"

[[rule]]
slot = "input"
[rule.calibrator]
name = "percentile"
percent = 99.5
"""
AS_LIST = """\
rule = [
  {origin = "relu1", slot = "output", storage = "u8"},
  {origin = "fc1", slot = "weight", storage = "i6", scheme = "symmetric"},
  {slot = "input", calibrator = {name = "percentile", percent = 99.5}},
]
"""


@pytest.mark.parametrize("rules", [AS_TABLES, AS_LIST])
@pytest.mark.parametrize("keep", [(), ("fully_connected",)])
def test_what_is_written_makes_the_same_module(rules: str, keep: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing is a cell or a residual stream: the built-in rules for these decide nothing."""
    mine, written = tmp_path / "mine.toml", tmp_path / "written.toml"
    mine.write_text(rules)
    settings: dict[str, Any] = {**OPTIONS, "keep_composites": keep, "recipe": str(mine)}
    found = quantize(qmlir.load(MODEL), DATA, **settings, validate=False)
    written.write_text(recipe_text(found.rules_used, settings))
    assert tomllib.loads(written.read_text())["rule"] == [
        {"slot": "input", "storage": "i16", "scheme": "symmetric", "calibrator": "percentile"},
        {"slot": "output", "storage": "i16", "scheme": "symmetric", "calibrator": "percentile"},
        {"slot": "weight", "storage": "i4", "scheme": "asymmetric", "granularity": "tensor"},
        {"slot": "accumulator", "storage": "i24"},
        *RULES,
    ]
    again = quantize(qmlir.load(MODEL), DATA, keep_composites=keep, granularity="", recipe=written, validate=False)
    assert str(again.module) == str(found.module)
    without = quantize(qmlir.load(MODEL), DATA, keep_composites=keep, **OPTIONS, validate=False)
    assert str(found.module) != str(without.module)


def test_a_rule_of_the_file_that_matches_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f'{AS_TABLES}[[rule]]\norigin = "relu2"\nstorage = "u8"\n')
    with pytest.raises(DiagnosticError, match=r"rule 4 \(origin = 'relu2'\); did you mean 'relu"):
        quantize(qmlir.load(MODEL), DATA, recipe=tmp_path / "mine.toml", **OPTIONS, validate=False)


def test_a_recipe_names_an_effort_which_the_caller_overrules(tmp_path: Path) -> None:
    recipe: dict[str, Any] = {"effort": 1, "rule": [{"slot": "weight", "storage": "i4"}]}
    asked = {
        given: qmlir.quantize(MODEL, DATA, recipe=recipe, effort=given, validate=False, progress=None)
        for given in (None, 0, 1)
    }
    assert str(asked[None].module) == str(asked[1].module)
    assert asked[0].repair is None
    assert asked[None].repair is not None
    assert asked[None].repair == asked[1].repair
    for given, effort in ((None, 1), (0, 0)):
        found = asked[given]
        written = tmp_path / f"{effort}.toml"
        written.write_text(recipe_text(found.rules_used, found.settings, found.effort))
        assert effort_in(written) == effort
        again = qmlir.quantize(
            MODEL,
            DATA,
            recipe=written,
            keep_composites=found.settings.get("keep_composites", ()),
            validate=False,
            progress=None,
        )
        assert str(again.module) == str(found.module)
    added = RecipeText.of(recipe)
    assert added is not None
    assert effort_in(added.with_rules([{"op": "relu", "quantize": False}], "more")) == 1
    for text, message in (
        ('effort = "2"', "effort must be a whole number or 'auto', but got '2'"),
        ("eff = 2", "unknown key 'eff'"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            effort_in(RecipeText("it", text))
    with pytest.raises(DiagnosticError, match="effort must be one of 0, 1, 2, 3 or auto, but got 7"):
        qmlir.quantize(MODEL, DATA, recipe={"effort": 7}, progress=None)
    with pytest.raises(DiagnosticError, match="effort 1 requires samples"):
        qmlir.quantize(MODEL, profile=asked[0].profile, recipe=recipe, progress=None)
