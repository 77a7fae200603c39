"""Files that qmlir 0.1 wrote, frozen before options and recipe keys were renamed, are still read by their old names."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.extensions.training.choices import FinetuneLoss, FinetuneOptions
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.profiles.profile import Profile
from qmlir.quantization.recipe import FACTS, effort_in, read_rules
from qmlir.quantization.recipe_text import RecipeText
from qmlir.targets.cpu.emitters.card import read_card
from qmlir.text.renames import RECIPE, renamed
from qmlir.workflows.folder import QuantizedFolder
from tests.support.commands import run_command

OLD = Path(__file__).parent / "Inputs" / "release_0_1"
TOKENS = OLD / "tokens.npz"

FACTS_OF_0_1 = [
    "low_sqnr_softmax", "wide_logits", "sqrt_operand", "sqrt_square", "underused_output", "mixed_range_concat",
    "low_sqnr_depthwise", "embedding",
]  # fmt: skip
"""What the keys of `rules.toml` are called now, in its order, as the page on recipes has them."""


def test_recipe() -> None:
    rules = read_rules(OLD / "rules.toml")
    assert [list(rule.facts.items()) for rule in rules] == [[(name, False)] for name in FACTS_OF_0_1]
    assert effort_in(OLD / "rules.toml") == 0
    assert set(RECIPE.values()) == set(FACTS_OF_0_1) <= set(FACTS)


def test_recipe_with_a_version(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    path.write_text(f"version = 1\n{(OLD / 'rules.toml').read_text()}")
    with pytest.raises(DiagnosticError, match="'faint' is now 'low_sqnr_softmax'"):
        read_rules(path)
    path.write_text("version = 2\n")
    with pytest.raises(DiagnosticError, match="version must be 1, but got 2"):
        read_rules(path)


def test_repair_of_a_recipe(tmp_path: Path) -> None:
    path, rule = tmp_path / "old.toml", '[[rule]]\nslot = "weight"\nrepair = "quant-gptq,quant-round"\n'
    path.write_text(rule)
    (read,) = read_rules(path)
    assert read.settings == {"repair": "quant-gptq,quant-adaround"}
    path.write_text(f"version = 1\n{rule}")
    with pytest.raises(DiagnosticError, match="repair 'quant-round' is now 'quant-adaround'"):
        read_rules(path)


def test_recipe_in_memory() -> None:
    with pytest.raises(DiagnosticError, match="'table' is now 'embedding'"):
        read_rules({"rule": [{"table": True, "storage": "i8"}]})
    assert read_rules(RecipeText("own", 'version = 1\n[[rule]]\nembedding = true\nstorage = "i8"\n'))


def test_folder() -> None:
    folder = QuantizedFolder.open(OLD / "folder")
    settings = folder.read_summary()["settings"]
    assert settings["keep_composites"] == ["softmax"]
    assert (settings["accumulator_bits"], settings["accumulator_pairs"]) == (16, 2)
    assert {"keep", "short_sums"}.isdisjoint(settings)
    assert folder.settings_beside_recipe() == {"keep_composites": ["softmax"]}
    assert Profile.load(folder.profile).samples == 16
    tokens = np.load(TOKENS)["tokens"][:2]
    wanted = qmlir.interpret(OLD / "tiny.onnx", {"tokens": tokens})["logits"]
    found = qmlir.interpret(folder.module, {"tokens": tokens})["logits"]
    assert np.abs(found - wanted).max() < 0.1 * np.abs(wanted).max()
    assert "softmax" in qmlir.explain(OLD / "folder", "softmax").text()


def test_what_a_folder_was_made_by_is_done_again(tmp_path: Path) -> None:
    """The recipe and the profile of an old folder quantize its float model, and what is written has the new names."""
    folder = QuantizedFolder.open(OLD / "folder")
    words = ["qmlir", "quantize", str(folder.float_module), "--profile", str(folder.profile)]
    words += ["--recipe", str(folder.recipe), "--keep-composites", "softmax", "-o", str(tmp_path / "out"), "--quiet"]
    done = run_command([*words, "--accumulator-bits", "16", "--accumulator-pairs", "2"], "")
    assert done.code == 0, done.stderr
    recipe = (tmp_path / "out" / "recipe.toml").read_text()
    assert "# --accumulator-bits 16\n# --accumulator-pairs 2\n\nversion = 1\n" in recipe
    assert "faint" not in recipe
    assert "low_sqnr_softmax = false" in recipe
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["version"] == 2


def test_operation(tmp_path: Path) -> None:
    """An operation is read by its old name, in its own form and in the generic one, and printed with its new name."""
    wanted = [[8, 5, 7], [5, 10, 5]]
    assert qmlir.interpret(OLD / "rows.mlir", {})["output0"].tolist() == wanted
    generic = run_command(["qmlir-opt", str(OLD / "rows.mlir"), "--print-op-generic"], "").stdout
    assert generic.count('"kernel.row_fusion"(') == 1
    path = tmp_path / "generic.mlir"
    path.write_text(generic.replace("kernel.row_fusion", "kernel.by_rows"))
    assert qmlir.interpret(path, {})["output0"].tolist() == wanted


def test_summary_of_a_later_version(tmp_path: Path) -> None:
    shutil.copytree(OLD / "folder", tmp_path / "folder")
    path = tmp_path / "folder" / "summary.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 3'))
    with pytest.raises(DiagnosticError, match="has version 3, but this qmlir reads versions 1 to 2"):
        QuantizedFolder.open(tmp_path / "folder")


def test_manifest() -> None:
    card = read_card(OLD / "program" / "model.json")
    assert (card.name, card.form, card.by) == ("model", "c", "qmlir 0.1.0")


def test_checkpoint(tmp_path: Path) -> None:
    """A finished run of 0.1 is taken from its checkpoint, which is written again by the next epoch only."""
    path = tmp_path / "linear.ckpt"
    shutil.copy(OLD / "linear.ckpt", path)
    found = qmlir.finetune(OLD / "linear.onnx", OLD / "x.npz", epochs=1, validation_split=0.25, checkpoint=path)
    assert len(found.epochs) == 1
    with pytest.raises(DiagnosticError, match="belongs to another model, other data or other settings"):
        qmlir.finetune(OLD / "linear.onnx", OLD / "x.npz", epochs=2, validation_split=0.25, checkpoint=path)
    assert FinetuneOptions(FinetuneLoss.MSE).validation_split == 0.1


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("quantize", "keep", "keep_composites"), ("quantize", "target", "device"), ("quantize", "profiled", "profile"),
        ("compile", "lengths", "max_sizes"), ("compile", "emitter", "codegen"), ("finetune", "rate", "learning_rate"),
        ("search", "bound", "min_accuracy"), ("compare", "limit", "samples"), ("tune", "again", "remeasure"),
        ("partition", "setup", "transfer_bytes"), ("export_onnx", "form", "format"), ("load", "inputs", "cut_inputs"),
        ("emit", "form", "format"),
    ],
)  # fmt: skip
def test_keyword_arguments(function: str, old: str, new: str) -> None:
    with pytest.raises(TypeError, match=f"{function}: '{old}' is now '{new}'"):
        getattr(qmlir, function)(OLD / "tiny.onnx", **{old: 1})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["compile", "m", "--length", "n=8", "-o", "p"], "'--length' is now '--max-size'"),
        (["search", "m", "--bound", "1", "--data", "d", "-o", "p"], "'--bound' is now '--min-accuracy'"),
        (["compare", "m", "--bound", "1", "--data", "d"], "'--bound' is now '--min-sqnr'"),
        (["compare", "m", "--limit", "8", "--data", "d"], "for a number of samples, use --samples"),
        (["quantize", "m", "--short-sums", "2", "-o", "p"], "'--short-sums' is now '--accumulator-pairs'"),
        (["run", "m", "--budget", "arena-bytes=1"], "'--budget' is now '--limit'"),
    ],
)
def test_options(words: list[str], told: str) -> None:
    done = run_command(["qmlir", *words], "")
    assert (done.code, told in done.stderr) == (2, True), done.stderr


def test_options_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[compile]\nlength = ['n=8']\n")
    done = run_command(["qmlir", "compile", "m", "-o", "p", "--config", str(tmp_path / "own.toml")], "")
    assert (done.code, "'length' is now 'max-size'" in done.stderr) == (1, True), done.stderr


def test_renamed() -> None:
    assert renamed("held-out", {"validation_split"}, "finetune") == "'held-out' is now 'validation_split'"
    assert renamed("held_out", None, "search") == ""
    assert renamed("target-triple", {"device"}) == ""
    now = renamed("--target-triple", {"--triple"}, written=lambda name: f"--{name}")
    assert now == "'--target-triple' is now '--triple'"
