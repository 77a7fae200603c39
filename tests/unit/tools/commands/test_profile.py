"""`qmlir profile` on good samples in every form, and on bad ones: one line each."""

import io
from pathlib import Path

import numpy as np
import pytest

from qmlir.tools import qmlir_cli, qmlir_opt

MODEL = """
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x2xf32> {
  %w = nn.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32> {origin = "w"}
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> {origin = "b"}
  %0 = nn.fully_connected %x, %w, %b
      : (tensor<?x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<?x2xf32> {origin = "fc1"}
  func.return %0 : tensor<?x2xf32>
}
"""
X = np.array([[0, 1], [2, 3], [4, 5]], np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    return path


def run(*arguments: str | Path) -> tuple[int, str]:
    err = io.StringIO()
    code = qmlir_cli.main(["profile", "--quiet", *map(str, arguments)], stdout=io.StringIO(), stderr=err)
    return code, err.getvalue()


def test_every_form_of_the_samples_gives_the_same_file(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "samples.npz", x=X)
    np.save(tmp_path / "samples.npy", X)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(X))
    np.savez(tmp_path / "fortran.npz", x=np.asfortranarray(X))
    np.savez_compressed(tmp_path / "compressed.npz", x=X)
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "folder" / "0.npy", X[:1])  # a batch
    np.save(tmp_path / "folder" / "1.npy", X[1])  # a sample
    np.savez(tmp_path / "folder" / "2.npz", x=X[2:])
    forms = ("samples.npz", "samples.npy", "fortran.npy", "fortran.npz", "compressed.npz", "folder")
    texts: set[str] = set()
    for form in forms:
        output = tmp_path / f"{form}.json"
        assert run(model, "--data", tmp_path / form, "-o", output, "--passes", "nn-decompose") == (0, "")
        texts.add(output.read_text())
    (text,) = texts
    assert '"fc1/bias_add": {' in text
    # x * 1 + b by hand: 0 + 1 to 5 + 2, whose mean is 15 / 6 + 1.5.
    entry = text[text.index('"fc1/bias_add"') :]
    assert '"mean": 4.0,' in entry
    assert '"range": [1.0, 7.0],' in entry


def test_the_profile_is_applied(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "samples.npz", x=X)
    output = tmp_path / "profile.json"
    assert run(model, "--data", tmp_path / "samples.npz", "-o", output, "--passes", "nn-decompose") == (0, "")
    passes = f'nn-decompose,calib-apply-profile{{profile="{output}"}},verify-level{{level=profiled}}'
    out, err = io.StringIO(), io.StringIO()
    assert qmlir_opt.main([str(model), "-p", passes], stdout=out, stderr=err) == 0, err.getvalue()
    assert "!quant.calibrated<f32<1.000000e+00:7.000000e+00>>" in out.getvalue()
    # Without the passes the parts are not there.
    passes = f'calib-apply-profile{{profile="{output}"}}'
    assert qmlir_opt.main([str(model), "-p", passes], stdout=out, stderr=err) == 1
    assert "it was made for a different model, or after different passes ('nn-decompose')" in err.getvalue()
    assert "entry 'fc1/bias_add' matches no value; did you mean 'fc1'?" in err.getvalue()


BROKEN = np.where(np.arange(6).reshape(3, 2) == 3, np.nan, X).astype(np.float32)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, "has no input 'X'; did you mean 'x'? (available: x ?x2 float32)"),
        ({"x0": X}, "has no input 'x0'; did you mean 'x'? (available: x ?x2 float32)"),
        ({}, "no data for input x ?x2 float32; help: pass an array with that name"),
        (
            {"x": np.zeros((3, 3), np.float32)},
            "input 'x' must have shape 2 (one sample) or ?x2 (a batch), but got 3",
        ),
        (
            {"x": np.float32(1)},
            "expected arrays with the same number of samples along the first axis, but got shapes scalar",
        ),
        ({"x": X.astype(np.int64)}, "must be float32, but got int64; help: pass array.astype('float32') if that keeps"),
        (
            {"x": np.array(["a"], object)},
            "it contains Python objects, which cannot be loaded safely; help: save text with array.astype(str)",
        ),
        ({"x": X[:0]}, "the data contains no samples"),
    ],
)
def test_bad_samples(model: Path, tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    output = tmp_path / "no.json"
    code, said = run(model, "--data", tmp_path / "bad.npz", "-o", output)
    assert (code, output.exists()) == (1, False)
    assert said.startswith(("error: ", f"{model}:2:1: error: "))
    assert message in said.splitlines()[0]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_what_is_not_finite(model: Path, tmp_path: Path, processes: str) -> None:
    np.savez(tmp_path / "bad.npz", x=BROKEN)
    code, said = run(model, "--data", tmp_path / "bad.npz", "-o", tmp_path / "no.json", "--processes", processes)
    assert code == 1
    assert "value 'x' at sample 1: values must not contain NaN, but 1 of 2 are" in said
    assert not (tmp_path / "no.json").exists()


def test_what_cannot_be_read(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "whole.npz", x=X)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:100])
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("cut.npz", "it is not a .npy or .npz file of plain arrays"),
        ("gone.npz", "No such file or directory"),
        ("empty", "contains no .npy or .npz files and no images (.bmp, .gif, .jpeg,"),
        ("model.mlir", "it is not a .npy or .npz file of plain arrays"),
    ):
        code, said = run(model, "--data", tmp_path / name, "-o", tmp_path / "no.json")
        assert code == 1
        assert message in said
        assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--processes", "0"], "number of processes must be at least 1, but got 0"),
        (["--batch-size", "0"], "batch size must be at least 1, but got 0"),
        (["--passes", "nn-decompos"], "unknown pass 'nn-decompos'; did you mean 'nn-decompose'?"),
        (["--function", "other"], "unknown function 'other' (available: main)"),
    ],
)
def test_bad_options(model: Path, tmp_path: Path, option: list[str], message: str) -> None:
    np.savez(tmp_path / "samples.npz", x=X)
    code, said = run(model, "--data", tmp_path / "samples.npz", "-o", tmp_path / "no.json", *option)
    assert code == 1
    assert message in said
