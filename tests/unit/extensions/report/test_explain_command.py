"""`qmlir explain` on a folder that `qmlir quantize` wrote."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.tools import qmlir_cli

DIGITS = Path(__file__).resolve().parents[4] / "docs" / "examples" / "digits.onnxtxt"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return qmlir_cli.main(list(map(str, arguments)), stdout=out, stderr=err), out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain")
    np.savez(path / "samples.npz", image=np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4))
    (path / "mine.toml").write_text('[[rule]]\norigin = "relu1"\nquantize = false\n')
    code, _, err = run(
        "quantize", DIGITS, "--data", path / "samples.npz", "-o", path / "out", "--activations", "u8",
        "--recipe", path / "mine.toml",
    )  # fmt: skip
    assert code == 0, err
    return path / "out"


def test_the_text(folder: Path) -> None:
    code, out, err = run("explain", folder, "fc1", "--shape", "image=1x4", "--isa", "generic")
    assert (code, err) == (0, "")
    assert out.startswith("fc1, Gemm in the model\n")
    assert "input 'image': u8" in out
    assert "storage u8: by '" in out
    assert "recipe.toml', rule 1" in out
    assert "observed: -1 to 1 in 32 numbers of 8 samples" in out
    assert "was changed" not in out
    assert "run by, on generic\n  @matmul_1x4x2" in out


def test_an_open_batch_is_one_sample(folder: Path) -> None:
    """The kernels are those of the shape that is told, in the words that the command takes."""
    words = ("explain", folder, "fc1", "--isa", "generic")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assumed = "  sizes that are open are taken as one sample has them: --shape image=1x4\n"
    assert out.endswith(assumed)
    assert out.removesuffix(assumed) == run(*words, "--shape", "image=1x4")[1]
    assert json.loads(run(*words, "--json")[1])["shapes"] == {"image": [1, 4]}


def test_the_rule_that_decides(tmp_path: Path) -> None:
    """By its place in the recipe of the folder, which leaves out the built-in rules that decide nothing."""
    np.savez(tmp_path / "samples.npz", image=np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4))
    (tmp_path / "mine.toml").write_text(
        'rule = [{slot = "weight", storage = "i6"}, {op = "nn.relu", slot = "output", storage = "u8"}]\n'
    )
    code, _, err = run(
        "quantize", DIGITS, "--data", tmp_path / "samples.npz", "-o", tmp_path / "out", "--activations", "i16",
        "--accumulator", "i24", "--weights", "i4", "--keep-composites", "fully_connected",
        "--recipe", tmp_path / "mine.toml",
    )  # fmt: skip
    assert code == 0, err
    recipe = tmp_path / "out" / "recipe.toml"
    told = run("explain", tmp_path / "out", "fc1")[1]
    assert f"storage i16: by '{recipe}', rule 1 (slot = 'input')" in told
    assert f"granularity channel: by '{recipe}', rule 3 (slot = 'weight')" in told
    assert f"storage i6: by '{recipe}', rule 5 (slot = 'weight')" in told
    told = run("explain", tmp_path / "out", "relu1")[1]
    assert f"storage u8: by '{recipe}', rule 6 (op = 'nn.relu', slot = 'output')" in told


def test_the_module_in_the_folder_is_the_folder(folder: Path) -> None:
    assert run("explain", folder / "digits.q.mlir", "fc1") == run("explain", folder, "fc1")


def test_what_stays_in_float(folder: Path) -> None:
    code, out, _ = run("explain", folder, "relu1")
    assert code == 0
    assert "not quantized: a rule of the recipe excludes it (by '" in out
    assert (
        "(origin = 'relu1')); help: remove that rule, or the pattern from --exclude (exclude=), to quantize it\n" in out
    )


def test_json_is_data_alone(folder: Path) -> None:
    code, out, _ = run("explain", folder, "logits", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["keys"] == ["relu1"]
    (decision,) = found["decisions"]
    assert (decision["is_quantized"], decision["observations"][0]["samples"]) == (False, 8)
    assert found["is_reproduced"]


def test_in_python(folder: Path) -> None:
    found = qmlir.explain(folder, "fc1/matmul")
    assert [decision.operation for decision in found.decisions] == ["nn.matmul"]


def test_a_module_that_was_changed(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    module = copy / "digits.q.mlir"
    text = module.read_text()
    _, output = re.findall(r"!quant.uniform<u8:f32, [0-9.]+", text)  # that of the input, and that of the result
    module.write_text(text.replace(output, "!quant.uniform<u8:f32, 0.75"))
    code, out, err = run("explain", copy, "fc1")
    assert (code, err) == (0, "")
    assert "was changed" in out
    assert "was changed" not in run("explain", copy, "relu1")[1]


def test_bad_arguments(folder: Path, tmp_path: Path) -> None:
    code, out, err = run("explain", folder, "fc")
    assert (code, out) == (1, "")
    assert "similar: fc1" in err
    assert err.count("\n") == 1
    code, _, err = run("explain", folder, "fc1", "--isa", "avx3")
    assert (code, "unknown instruction set 'avx3'; did you mean 'avx2'?" in err) == (1, True)
    code, _, err = run("explain", folder, "fc1", "--shape", "imag=1x4")
    assert (code, "the model has no input 'imag'; did you mean 'image'?" in err) == (1, True)
    code, _, err = run("explain", tmp_path, "fc1")
    assert (code, err.count("\n")) == (1, 1)
    assert "is not a folder written by 'qmlir quantize'" in err
    summary = json.loads((folder / "summary.json").read_text())
    other = tmp_path / "other"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    del summary["settings"]["keep_composites"]
    (other / "summary.json").write_text(json.dumps(summary))
    code, _, err = run("explain", other, "fc1")
    assert (code, err.count("\n")) == (1, 1)
    assert "settings.keep_composites" in err
