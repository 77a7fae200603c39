"""The profile file: exact, the same for the same profile, and refused where it is not whole or not right."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qmlir.arithmetic.statistics import BatchRanges, Statistics
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler
from qmlir.quantization.profiles.profile import ModelDigest, Profile, ProfileError

RNG = np.random.default_rng(0)
WEIGHTS = RNG.standard_normal((3, 4)).astype(np.float32)
PROFILE = Profile(
    ModelDigest("sha256:1", "sha256:2"),
    samples=3,
    values={
        "fc/größe": replace(
            Statistics.of(WEIGHTS),
            axis=1,
            axis_minima=WEIGHTS.min(0).astype(np.float64),
            axis_maxima=WEIGHTS.max(0).astype(np.float64),
            batches=BatchRanges(0.1, 1, (-3.0, 3 / 512), (-3.0, 0.5), (-3.0, 0.1)),
        ),
        "big": Statistics.of(RNG.standard_normal(100_000)),
        "zero": Statistics.of(np.zeros(3)),
        'a "quote"': Statistics.of(np.array([1e300, -1e-300, 5e-324])),
    },
    passes="nn-decompose",
)


def test_what_is_written_is_read() -> None:
    text = PROFILE.to_text()
    read = Profile.from_text(text)
    assert read == PROFILE
    assert read.to_text() == text
    assert list(json.loads(text)["values"]) == sorted(PROFILE.values)
    assert "scale" not in text


def test_one_value_more_is_one_block_more() -> None:
    """A comparison of two files shows what differs, and nothing else."""
    fewer = Profile(PROFILE.model, 3, {k: v for k, v in PROFILE.values.items() if k != "big"}, PROFILE.passes)
    lines = set(PROFILE.to_text().splitlines())
    assert [line for line in fewer.to_text().splitlines() if line not in lines] == []


def test_the_file(tmp_path: Path) -> None:
    PROFILE.save(tmp_path / "p.json")
    assert Profile.load(tmp_path / "p.json") == PROFILE
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]
    with pytest.raises(DiagnosticError, match=r"cannot write '.*gone/p.json': No such file or directory"):
        PROFILE.save(tmp_path / "gone" / "p.json")
    with pytest.raises(DiagnosticError, match=r"cannot read '.*q.json': No such file"):
        Profile.load(tmp_path / "q.json")
    (tmp_path / "q.json").write_text("[]")
    with pytest.raises(DiagnosticError, match=r"cannot read profile '.*q.json': missing \"format\": \"qmlir-profile\""):
        Profile.load(tmp_path / "q.json")


def test_every_cut_is_found() -> None:
    text = PROFILE.to_text().rstrip()
    for end in [*range(0, 400), *range(400, len(text), 997)]:
        with pytest.raises(ProfileError):
            Profile.from_text(text[:end])
    with pytest.raises(ProfileError, match="it is cut off"):
        Profile.from_text(text[: len(text) // 2])


PassChange = Callable[[dict[str, Any]], Any]


def _entry(name: str, **fields: Any) -> PassChange:
    return lambda whole: whole["values"]["zero"][name].update(fields)


def _batches(**fields: Any) -> PassChange:
    return lambda whole: whole["values"]["fc/größe"]["batches"].update(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_batches(count=-1), "number of batches must be >= 1, but got -1"),
        (_batches(count=0), "number of batches must be >= 1, but got 0"),
        (_batches(first=[2.0, 1.0]), "invalid average range of batches: [2.0, 1.0]"),
        (lambda whole: whole.update(format="other"), "format must be 'qmlir-profile', but got 'other'"),
        (lambda whole: whole.update(version=3), "unsupported version 3 (this qmlir reads versions 1 and 2)"),
        (lambda whole: whole.update(samples=-1), "samples must be >= 0, but got -1"),
        (lambda whole: whole.update(samples="3"), 'field "samples" must be a whole number, but got str'),
        (lambda whole: whole.pop("model"), 'missing field "model"'),
        (lambda whole: whole.update(values=[]), 'field "values" must be an object, but got list'),
        (lambda whole: whole["values"].update(zero=3), "value 'zero': expected an object, but got int"),
        (lambda whole: whole["values"]["zero"].pop("moments"), "value 'zero': missing field \"moments\""),
        (
            lambda whole: whole["values"]["zero"].update(range=[1.0, 0.0]),
            'field "range" must be two ascending finite numbers, but got [1.0, 0.0]',
        ),
        (lambda whole: whole["values"].update(zero={"range": [True, 2]}), "must be two ascending finite numbers"),
        (lambda whole: whole["values"].update(zero={"range": [1]}), "must be two ascending finite numbers"),
        (lambda whole: whole["values"]["zero"].update(range=[-1e999, 0.0]), "Infinity"),
        (lambda whole: whole["values"]["zero"].update(mean="1"), 'field "mean" contradicts the other fields'),
        (lambda whole: whole["values"]["zero"].update(scale=0.5), 'field "scale" contradicts the other fields'),
        (lambda whole: whole["values"]["zero"].update(axis=0), "axis and per-axis ranges must be given together"),
        (_entry("moments", count=0), "the number of zeros must be in [0, 0], but got 3"),
        (_entry("moments", count=-3), "the number of zeros must be in [0, -3], but got 3"),
        (_entry("moments", zeros=4), "the number of zeros must be in [0, 3], but got 4"),
        (_entry("moments", squares="1"), "a sum must be a float, or a whole number and an exponent, but got 1"),
        (_entry("moments", total=[1, 10**9]), "a sum must be a float, or a whole number and an exponent, but got [1,"),
        (_entry("histogram", counts=[-3]), "histogram counts must be >= 0, but got -3"),
        (_entry("histogram", counts=["3"]), 'field "histogram" contradicts the other fields'),
        (_entry("histogram", counts=[[3]]), "histogram counts must be a list of numbers, but got 2 dimensions"),
        (_entry("histogram", counts=[10**30]), "invalid statistics: "),
        (_entry("moments", total=[]), "a sum must be a float, or a whole number and an exponent, but got []"),
        (
            _entry("moments", total=[True, 0]),
            "a sum must be a float, or a whole number and an exponent, but got [T",
        ),
        (lambda whole: whole["values"]["zero"].update(moments=[]), 'field "moments" must be an object, but got list'),
        (lambda whole: whole["values"]["zero"].update(histogram=[]), "invalid statistics: "),
        (lambda whole: whole["values"]["zero"].update(range=[]), "range must be finite"),
        (lambda whole: whole["values"]["zero"].update(range=[0.0]), "not enough values"),
        (lambda whole: whole["values"]["zero"].update(batches=[]), 'field "batches" must be an object, but got list'),
        (lambda whole: whole["values"]["zero"].update(batches={}), 'missing field "totals"'),
        (lambda whole: whole["values"]["zero"].update(batches={"totals": []}), "not enough values"),
        (_entry("histogram", bins=1), "number of histogram bins must be in [2, 65536], but got 1"),
    ],
)
def test_what_is_no_profile(change: PassChange, message: str) -> None:
    whole = json.loads(PROFILE.to_text())
    change(whole)
    with pytest.raises(ProfileError) as caught:
        Profile.from_text(json.dumps(whole))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "ends", "message"),
    [
        (
            lambda whole: whole["values"]["zero"].update(range=[0.0, 1.0]), (0.0, 1.0),
            "the range [0.0, 1.0] is not that of the histogram",
        ),
        (
            lambda whole: whole["values"]["zero"].update(range=[1, 2]), (1.0, 2.0),
            "mean must lie in the range [1.0, 2.0], but got 0.0",
        ),
        (
            lambda whole: whole["values"]["zero"].update(mean=0.5), (0.0, 0.0),
            'field "mean" contradicts the other fields',
        ),
        (_entry("moments", total=3.0), (0.0, 0.0), "mean must lie in the range [0.0, 0.0], but got 1.0"),
        (_entry("histogram", counts=[4]), (0.0, 0.0), "the histogram must count all 3 values, but counts 4"),
        (_entry("histogram", counts=[]), (0.0, 0.0), "the histogram must count all 3 values, but counts 0"),
    ],
)  # fmt: skip
def test_an_edited_range_is_kept_alone(change: PassChange, ends: tuple[float, float], message: str) -> None:
    whole = json.loads(PROFILE.to_text())
    change(whole)
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        read = Profile.from_text(json.dumps(whole))
    (remark,) = said
    assert remark.severity is Severity.REMARK
    assert remark.message.startswith(f"ignoring statistics that contradict the range of 'zero' ({message}")
    assert read.ranges == {"zero": ends}
    assert read.values == {key: each for key, each in PROFILE.values.items() if key != "zero"}
    with diagnostic_handler(said.append):
        assert Profile.from_text(read.to_text()) == read  # an entry with nothing but a range
    assert len(said) == 1


def test_a_key_that_is_there_twice() -> None:
    text = PROFILE.to_text().replace('"zero": {', '"big": {')
    with pytest.raises(ProfileError, match="duplicate key 'big'"):
        Profile.from_text(text)


def test_the_samples_that_rule_a_range() -> None:
    known = Profile(PROFILE.model, 3, PROFILE.values, extreme_samples={"big": (2, 0), "zero": (0, 0)})
    text = known.to_text()
    assert Profile.from_text(text) == known
    assert json.loads(text)["values"]["big"]["extreme_samples"] == [2, 0]
    assert "extreme_samples" not in PROFILE.to_text()
    held_out = text.replace('"extreme_samples": [2, 0]', '"extreme_samples": [3, 0]')  # sample 1 has not calibrated
    assert Profile.from_text(held_out).extreme_samples["big"] == (3, 0)
    for wrong in ("[-1, 0]", "[0]", "[true, 0]", "0", "[0.5, 1]", "{}"):
        with pytest.raises(ProfileError, match=r"value 'big': field \"extreme_samples\" must be two numbers >= 0"):
            Profile.from_text(text.replace('"extreme_samples": [2, 0]', f'"extreme_samples": {wrong}'))
