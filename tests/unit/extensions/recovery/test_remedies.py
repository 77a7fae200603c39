"""Remedies are tried in order and in time, named in the message, and applied by the effort `auto`."""

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.extensions.recovery.repairing import Remedy, find_remedy
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler, text_error
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization.settings import QuantizeSettings
from qmlir.workflows.agreement import OutputValidation
from qmlir.workflows.validating import Cause, Validation
from tests.support.classifiers import classifier, samples

LOST: QuantizeSettings = {"weights": "i4", "granularity": "tensor"}
"""The layer `fine` of the classifier is 0 with these, so that every score is."""


def _validation(decibels: float, *nodes: str, is_lost: bool = True, operator: str = "Add") -> Validation:
    outputs = (OutputValidation("y", decibels, 0.9, None, decibels, decibels, decibels),)
    faults = (f"output y has {decibels} dB",) if is_lost else ()
    return Validation(
        8, "given", outputs, faults, cause=Cause("v", "nn.add", operator, decibels, nodes) if nodes else None
    )


def _tried(
    found: dict[str, Validation], lost: Validation, settings: Any = None, *, seconds: float = 60.0, takes: float = 0.0
) -> tuple[list[str], Any]:
    """The options that were tried, where each of `found` gives that comparison and others are rejected."""
    asked: list[str] = []

    def attempt(remedy: Remedy) -> tuple[str, Validation]:
        asked.append(remedy.option)
        time.sleep(takes)
        if remedy.option not in found:
            raise text_error("rejected")
        return remedy.option, found[remedy.option]

    return asked, find_remedy(lost, QuantizeOptions.of(settings or {}), attempt, seconds, may_correct=True)


def test_the_first_bad_operations_are_left_out_together_until_one_remedy_cures() -> None:
    found = {
        "--exclude a": _validation(2.0, "b", "relu b"),
        "--exclude a --exclude b --exclude 'relu b'": _validation(30.0, is_lost=False),
    }
    asked, (remedies, made) = _tried(found, _validation(1.0, "a"))
    assert asked == list(found)
    assert made == asked[-1]
    assert remedies.help == f"; help: {made} gives y 30.0 dB on the same samples"


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
def test_all_recurrent_layers_of_an_operator_are_left_out_at_once(operator: str) -> None:
    found = {
        f"--exclude {operator}": _validation(2.0, "b"),
        f"--exclude {operator} --exclude b": _validation(30.0, is_lost=False),
    }
    asked, (_, made) = _tried(found, _validation(1.0, "a", operator=operator))
    assert asked == list(found)
    assert made == asked[-1]


def test_fewer_than_8_bits_are_given_up_first() -> None:
    asked, (remedies, _) = _tried(
        {"--weights i8": _validation(31.0, is_lost=False)}, _validation(1.0, "a"), {"weights": "i4"}
    )
    assert asked == ["--weights i8"]
    assert remedies.best is not None
    assert remedies.best.cures


def test_what_helps_most_is_named_if_nothing_cures() -> None:
    excluded = "--exclude 'a[[]0]'"  # a glob that matches the name alone, as one word
    found = {
        excluded: _validation(1.5),
        "--activations i16": _validation(5.0),
        "--effort 1": _validation(4.5),
    }
    asked, (remedies, made) = _tried(found, _validation(1.0, "a[0]"))
    assert asked[0] == excluded
    assert made == "--activations i16"
    assert "better but not enough" in remedies.help


def test_what_does_not_help_is_told() -> None:
    _, (remedies, made) = _tried({"--activations i16": _validation(2.0)}, _validation(1.0))
    assert made is None
    assert remedies.help.endswith("tried in vain: --activations i16 gives y 2.0 dB")


def test_what_the_model_rejects_is_passed_over() -> None:
    found = {"--activations i16": _validation(30.0, is_lost=False)}
    asked, (remedies, made) = _tried(found, _validation(1.0, "a"))
    assert asked[0] == "--exclude a"
    assert made == "--activations i16"
    assert [each.remedy.option for each in remedies.tried] == [made]


def test_no_remedy_is_begun_that_would_end_too_late() -> None:
    found = {"--exclude a": _validation(1.0, "b")}
    asked, _ = _tried(found, _validation(1.0, "a"), seconds=0.02, takes=0.05)
    assert asked == ["--exclude a"]


def test_classes_that_change_are_worth_a_correction_only() -> None:
    lost = Validation(8, "given", _validation(27.0).outputs, changes=("6% of the rows of output y change their class",))
    asked, _ = _tried({"--effort 1": _validation(27.0)}, lost)
    assert asked == ["--effort 1"]
    assert not lost.fault


def test_the_message_names_a_remedy_that_gives_what_it_says(tmp_path: Path) -> None:
    heard: list[Diagnostic] = []
    with diagnostic_handler(heard.append):
        lost = qmlir.quantize(classifier(), {"x": samples()[0]}, **LOST)
    (said,) = [each.message for each in heard]
    named = re.search(r"; help: --weights i8 gives y (\S+) dB", said)
    assert named is not None
    assert f"remedy: --weights i8 gives y {named[1]} dB" in lost.summary().text()
    better = qmlir.quantize(classifier(), {"x": samples()[0]}, **{**LOST, "weights": "i8"})
    assert better.validation is not None
    assert f"{better.validation.outputs[0].sqnr_db:.1f}" == named[1]


def test_a_bound_names_a_remedy_and_auto_applies_it(tmp_path: Path) -> None:
    data = {"x": samples()[0]}
    with pytest.raises(DiagnosticError, match="help: --weights i8 gives y"):
        qmlir.quantize(classifier(), data, min_agreement=0.9, **LOST)
    made = qmlir.quantize(classifier(), data, min_agreement=0.9, effort="auto", **LOST)
    assert made.remedies is not None
    assert made.remedies.is_applied
    assert made.summary().text().count("applied: --weights i8") == 1
    made.save(tmp_path / "made")
    recipe = str(tmp_path / "made" / "recipe.toml")
    assert 'effort = "auto"' in Path(recipe).read_text()
    again = qmlir.quantize(classifier(), data, recipe=recipe, granularity="")
    assert again.remedies is None
    for one, other in zip(
        *(interpret(each.module, {"x": data["x"][:1]}).values() for each in (made, again)), strict=True
    ):
        assert np.array_equal(one, other)


def test_auto_changes_nothing_where_nothing_is_lost() -> None:
    data = {"x": samples()[0]}
    made, plain = (qmlir.quantize(classifier(), data, effort=each) for each in ("auto", None))
    assert made.remedies is None
    assert str(made.module) == str(plain.module)
