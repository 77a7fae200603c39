"""`qmlir search` from the command line: what it writes, what it says, and how it ends."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.tools import qmlir_cli
from qmlir.workflows.folder import QuantizedFolder
from tests.support.classifiers import samples, saved_classifier

X, LABELS = samples()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved_classifier(tmp_path)
    np.savez(tmp_path / "data.npz", x=X)
    np.savez(tmp_path / "labels.npz", right=LABELS, wrong=1 - LABELS)
    return tmp_path


def run(
    folder: Path, *words: str | Path, model: str = "classifier.onnx", labels: str = "right"
) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    arguments = [
        "search", folder / model, "--data", folder / "data.npz", "--labels", f"{labels}={folder / 'labels.npz'}", *words
    ]  # fmt: skip
    return qmlir_cli.main(list(map(str, arguments)), stdout=out, stderr=err), out.getvalue(), err.getvalue()


def test_what_is_found_is_a_folder_of_quantize(folder: Path) -> None:
    code, out, _ = run(folder, "--min-accuracy", "1", "--weights", "i4", "-o", folder / "out")
    assert code == 0
    assert "top-1 on 40 samples: 100.00% in float, 50.00% as quantized, 100.00% found" in out
    assert f"1 layer changed\n{folder / 'out'}: the quantized model" in out
    made = QuantizedFolder.open(folder / "out")
    scores = qmlir.interpret(qmlir.load(made.module), {"x": X})["y"]
    assert (scores.argmax(axis=1) == LABELS).all()
    # The recipe of the folder says all of it.
    again = qmlir.quantize(qmlir.load(folder / "classifier.onnx"), {"x": X}, granularity="", recipe=made.recipe).module
    np.testing.assert_array_equal(qmlir.interpret(again, {"x": X})["y"], scores)


def test_labels_in_the_file_of_the_data(folder: Path) -> None:
    words = ("--min-accuracy", "1", "--weights", "i4", "--json", "-o")
    expected = json.loads(run(folder, *words, folder / "two")[1])
    both = folder / "both.npz"
    np.savez(both, x=X, right=LABELS)

    def found(*more: str | Path) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        given = ["search", folder / "classifier.onnx", "--data", both, *more, *words, folder / "one"]
        return qmlir_cli.main(list(map(str, given)), stdout=out, stderr=err), out.getvalue(), err.getvalue()

    # Other ways to write the path are the same file.
    code, out, err = found("--labels", f"right={folder / '..' / folder.name / 'both.npz'}", "--calibration", both)
    assert (code, err) == (0, "")
    ours = json.loads(out)
    assert {**ours, "output": None} == {**expected, "output": None}
    # Only what is named is left out without a word, and only of that file.
    for more in ((), ("--labels", f"right={folder / 'labels.npz'}")):
        code, _, err = found(*more)
        assert code == 0
        assert err.count("warning: ignoring array 'right' in the data: the model has no such input") == 1
        assert (f"if it contains the labels, use --labels right={both}" in err) == (not more)


def test_a_second_run_goes_on_from_the_first_and_replaces_it(folder: Path) -> None:
    words = ("--min-accuracy", "1", "--weights", "i4", "-o", folder / "out", "--json")
    first, second = (json.loads(run(folder, *words)[1]) for _ in range(2))
    assert (first.pop("measured") > 0, second.pop("measured")) == (True, 0)
    assert first == second
    assert first["widths"] == {"fine": "16"}


def test_a_bound_that_is_not_reached_writes_no_model(folder: Path) -> None:
    words: tuple[Any, ...] = ("--min-accuracy", "1", "--weights", "i4", "-o", folder / "out")
    code, out, _ = run(folder, *words, "--max-steps", "0")
    assert code == 1
    assert "the bound is not reached in 0 steps, 0 layers changed: more steps go on from here" in out
    assert [each.name for each in (folder / "out").iterdir()] == [".search.json"]
    code, out, _ = run(folder, *words, labels="wrong")
    assert code == 1
    assert "the bound is not reached: the best that was found is 50.00%, 0 layers changed" in out
    code, _, _ = run(folder, *words)
    assert (code, QuantizedFolder.holds(folder / "out")) == (0, True)


def test_a_folder_of_quantize_brings_its_profile_and_recipe(folder: Path) -> None:
    quantize = ["quantize", folder / "classifier.onnx", "--data", folder / "data.npz", "--weights", "i4"]
    quantize += ["-o", folder / "int4", "--quiet"]
    assert qmlir_cli.main(list(map(str, quantize)), stdout=io.StringIO(), stderr=io.StringIO()) == 0
    code, out, _ = run(folder, "--max-drop", "0", "-o", folder / "out", "--json", model="int4")
    found = json.loads(out)
    assert (code, found["start_accuracy"], found["accuracy"], found["widths"]) == (0, 0.5, 1.0, {"fine": "16"})
    assert (folder / "out" / "profile.json").read_text() == (folder / "int4" / "profile.json").read_text()
    code, _, err = run(folder, "--max-drop", "0", "-o", folder / "out", "--recipe", "r.toml", model="int4")
    assert (code, err) == (
        2, "qmlir search: error: --recipe is that of the folder: search from the model with another\n"
    )  # fmt: skip


def test_a_budget(folder: Path) -> None:
    words = ("--mode", "budget", "--max-bytes", "10", "-o", folder / "out")
    code, out, _ = run(folder, *words)
    assert code == 0
    assert "10 bytes" in out
    assert "top-1 on 40 samples: 100.00% in float, 100.00% found; 10 bytes of weights" in out
    found = json.loads(run(folder, *words, "--json", "--max-time", "1")[1])
    assert (found["widths"], found["bound"]) == ({"coarse[0]": "4"}, None)
    (chosen,) = (each for each in found["allotment"]["front"] if each["is_chosen"])
    assert (chosen["bytes"], chosen["time"], chosen["accuracy"]) == (10, 1, 1)
    code, _, err = run(folder, "--mode", "budget", "--max-bytes", "3", "-o", folder / "small")
    assert (code, "meets the budget: 3 bytes (minimum 6)" in err) == (1, True)
    assert not QuantizedFolder.holds(folder / "small")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--min-accuracy", "1", "--max-steps", "-1"), 2, "--max-steps must be >= 0, but got -1"),
        ((), 1, "error: pass exactly one of --min-accuracy A (min_accuracy=A) and --max-drop A (max_drop=A)"),
        (
            ("--min-accuracy", "1", "--max-drop", "0"),
            2,
            "argument --max-drop: not allowed with argument --min-accuracy",
        ),
        (("--mode", "budget"), 1, "a budget requires a number of bytes, an estimated time, or both"),
        (("--min-accuracy", "1.5"), 1, "the bound must be an accuracy in [0, 1], but got 1.5"),
    ],
)
def test_wrong_words_are_told(folder: Path, words: tuple[str, ...], code: int, message: str) -> None:
    found, _, err = run(folder, *words, "-o", folder / "out")
    assert found == code
    assert message in err
    assert not (folder / "out").exists()


def test_a_file_of_the_user_is_left_alone(folder: Path) -> None:
    (folder / "out").mkdir()
    for name in ("recipe.toml", ".search.json"):
        (folder / "out" / name).write_text("mine")
        code, _, err = run(folder, "--min-accuracy", "1", "-o", folder / "out")
        assert code == 1
        assert f"'{folder / 'out' / name}' already exists: qmlir did not write it" in err
        assert [(each.name, each.read_text()) for each in (folder / "out").iterdir()] == [(name, "mine")]
        (folder / "out" / name).unlink()


def test_verbose_says_each_step(folder: Path) -> None:
    _, _, err = run(folder, "--max-drop", "0", "--mode", "raise", "-o", folder / "out", "--verbose")
    assert "coarse[0]: 4-bit weights: 100.00%\nfine: 4-bit weights: 50.00%, put back\n" in err
