"""`qmlir finetune` from the command line: what it writes and reports, and how it ends."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.targets.cpu import cache
from qmlir.tools import qmlir_cli
from tests.support.classifiers import samples, saved_classifier

NARROW = ("--weights", "i2", "--activations", "i4", "--epochs", "3", "--batch-size", "8", "--isa", "generic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("finetune")
    saved_classifier(made)
    x, classes = samples()
    np.savez(made / "data.npz", x=x, classes=classes)
    np.save(made / "x.npy", x)
    return made


@pytest.fixture(autouse=True)
def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(folder / "cache"))


def run(folder: Path, *words: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    arguments = ["finetune", folder / "classifier.onnx", *words]
    return qmlir_cli.main(list(map(str, arguments)), stdout=out, stderr=err), out.getvalue(), err.getvalue()


def test_without_labels_a_module_is_written(folder: Path) -> None:
    output = folder / "trained.mlir"
    code, out, err = run(folder, "--data", folder / "x.npy", "-o", output, *NARROW, "--verbose", "--seed", "3")
    assert code == 0
    assert out.startswith("SQNR dB on 4 samples held out: ")
    assert "epoch 3: loss " in err
    assert "!quant.uniform<i2" in str(qmlir.load(output))


def test_labels_beside_the_data_and_a_checkpoint(folder: Path) -> None:
    output, data = folder / "trained.onnx", folder / "data.npz"
    words = (
        "--data", data, "--labels", f"classes={data}", "-o", output, *NARROW, "--checkpoint", folder / "c.npz",
        "--json",
    )  # fmt: skip
    code, out, _ = run(folder, *words)
    found = json.loads(out)
    assert (code, found["metric"], found["output"], found["held_out"]) == (0, "top-1", str(output), 4)
    assert len(found["epochs"]) == found["options"]["epochs"] == 3
    first = output.read_bytes()
    code, again, _ = run(folder, *words)  # all epochs are in the checkpoint
    assert (code, json.loads(again)) == (0, found)
    assert output.read_bytes() == first
    code, out, err = run(folder, *words, "--seed", "1")
    assert (code, out) == (1, "")
    assert err.endswith("belongs to another model, other data or other settings; pass another file\n")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ("--loss", "labels"),
            1,
            "error: loss 'labels' requires labels; pass --labels (labels=), or use loss 'mse' or 'kl'",
        ),
        (("--train", "fc9"), 1, "has nothing to train named 'fc9'"),
        (("--learning-rate", "0"), 1, "error: learning_rate must be greater than 0, but got 0"),
        (("--loss", "mae"), 2, "qmlir finetune: error: argument --loss: invalid choice: 'mae'"),
        (("-o", "folder"), 2, "qmlir finetune: error: --output must be FILE.mlir or FILE.onnx, but got 'folder'"),
    ],
)
def test_what_is_wrong_is_one_line(folder: Path, words: tuple[str, ...], code: int, message: str) -> None:
    found, out, err = run(folder, "--data", folder / "x.npy", "-o", folder / "none.mlir", *NARROW, *words)
    assert (found, out) == (code, "")
    assert message in err.splitlines()[-1]
    assert not (folder / "none.mlir").exists()


def test_a_folder_of_quantize_stands_for_its_float_model(folder: Path) -> None:
    quantized = folder / "quantized"
    out, err = io.StringIO(), io.StringIO()
    words = ["quantize", folder / "classifier.onnx", "--data", folder / "x.npy", "--weights", "i4", "-o", quantized]
    assert qmlir_cli.main(list(map(str, words)), stdout=out, stderr=err) == 0
    words = ["finetune", quantized, "--data", folder / "x.npy", "--epochs", "1", "-o", folder / "of_folder.mlir"]
    assert qmlir_cli.main(list(map(str, words)), stdout=out, stderr=err) == 0
    assert "!quant.uniform<i4" in str(qmlir.load(folder / "of_folder.mlir"))
