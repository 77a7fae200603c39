"""`qmlir quantize`: the folder and what is in it, a second run, bad input, Ctrl-C, a disk that fills."""

import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.text.writing import LIST
from qmlir.tools import qmlir_cli
from qmlir.workflows import folder as folder_module
from qmlir.workflows import quantizing
from qmlir.workflows.folder import QuantizedFolder

MODEL = """
func.func @main(%image: tensor<?x2xf32> {nn.name = "image"}) -> (tensor<?x512xf32> {nn.name = "out"}) {
  %w = nn.constant dense<[WEIGHT]> : tensor<512x2xf32> {origin = "w"}
  %b = nn.constant dense<0.5> : tensor<512xf32> {origin = "b"}
  %0 = nn.fully_connected %image, %w, %b
      : (tensor<?x2xf32>, tensor<512x2xf32>, tensor<512xf32>) -> tensor<?x512xf32> {origin = "fc1"}
  %1 = nn.sigmoid %0 : tensor<?x512xf32> {origin = "act"}
  func.return %1 : tensor<?x512xf32>
}
"""
X = np.random.default_rng(0).uniform(-1, 1, (8, 2)).astype(np.float32)
PARTS = {"net.q.mlir", "net.float.mlir", "net.float.safetensors", "profile.json", "recipe.toml", "summary.json"}
NOBODY = 65534
TOOL = "from qmlir.tools.qmlir_cli import console_main; console_main()"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of 1024 weights and 512 biases, and samples beside it."""
    weights = ", ".join(f"[{(row % 7) - 3}.0, {row / 512}]" for row in range(512))
    path = tmp_path / "net.mlir"
    path.write_text(MODEL.replace("[WEIGHT]", f"[{weights}]"))
    np.savez(tmp_path / "samples.npz", image=X)
    return path


def run(*words: str | Path, command: str = "quantize") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = qmlir_cli.main([command, *map(str, words)], stdin=io.StringIO(), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said, err = run(model, "--data", tmp_path / "samples.npz", "-o", out, "--json")
    assert (code, err) == (0, "")
    assert {path.name for path in out.iterdir()} == PARTS | {"net.q.safetensors", LIST}
    summary = json.loads((out / "summary.json").read_text())
    # 1024 weights and 512 biases of 4 bytes; weights of 1 byte, biases in 32 bits.
    assert summary["weights"] == {"float_bytes": 1536 * 4, "quantized_bytes": 1024 + 512 * 4}
    assert summary["samples"] == 8
    assert summary["coverage"]["integer_multiply_adds"] == summary["coverage"]["multiply_adds"] == 1024
    assert summary["settings"]["granularity"] == "channel"
    told = json.loads(said)
    assert told.pop("output") == str(out)
    assert told == {key: summary[key] for key in told}
    # What the parts are, by the library.
    found = QuantizedFolder.open(out)
    assert QuantizedFolder.open(found.module) == found
    expected = qmlir.quantize(qmlir.load(model), {"image": X}).module
    assert str(qmlir.load(found.module)) == str(expected)
    assert str(qmlir.load(found.float_module)) == str(qmlir.load(model))
    # What runs a module runs the folder.
    np.savez(tmp_path / "x.npz", image=X[:1])
    assert run(out, "--input", tmp_path / "x.npz", "-o", tmp_path / "y.npz", command="run")[0] == 0
    with np.load(tmp_path / "y.npz") as result:
        assert np.array_equal(result["out"], qmlir.interpret(expected, {"image": X[:1]})["out"])


def test_the_summary_for_a_reader(model: Path, tmp_path: Path) -> None:
    code, said, _ = run(model, "--data", tmp_path / "samples.npz", "-o", tmp_path / "out")
    assert code == 0
    assert said.splitlines()[0] == "2 of 2 operations compute on quantized values"
    assert "weights: 6.0 KiB in float, 3.0 KiB now (2.00 times smaller)\nsamples: 8\n" in said


def test_lost_answers_are_no_success(model: Path, tmp_path: Path) -> None:
    """A warning and the first line of the summary; under a bound an error, and the folder of before stays."""
    data, out = ("--data", tmp_path / "samples.npz", "-o", tmp_path / "out"), tmp_path / "out"
    code, said, err = run(model, *data, "--activations", "i2", "--weights", "i2<-1:1>")
    assert code == 0
    assert err.startswith("warning: quantization degraded the model: output out: SQNR ")
    assert "; first bad value: image (quant.qcast), " in err
    assert said.startswith("DEGRADED: output out: SQNR ")
    found = json.loads((out / "summary.json").read_text())["validation"]
    assert (found["samples"], found["cause"]["key"]) == (8, "image")
    before = files(out)
    code, said, err = run(model, *data, "--min-sqnr", "200")
    assert (code, said) == (1, "")
    assert err.startswith("error: quantization degraded the model: output out: SQNR ")
    assert files(out) == before
    code, said, err = run(model, *data, "--activations", "i2", "--no-validate")
    assert (code, err, json.loads((out / "summary.json").read_text())["validation"]) == (0, "", None)
    code, said, _ = run(model, *data, "--validation", tmp_path / "samples.npz", "--min-agreement", "0.5")
    assert code == 0
    assert "against the float model, 8 samples given to validate: out " in said
    code, _, err = run(model, *data, "--no-validate", "--min-sqnr", "20")
    assert (code, err) == (2, "qmlir quantize: error: --no-validate cannot be combined with --min-sqnr\n")


def test_the_recipe_makes_the_folder_again(model: Path, tmp_path: Path) -> None:
    """With options and a recipe, and then with the recipe of the folder alone."""
    (tmp_path / "mine.toml").write_text('[[rule]]\norigin = "act"\nslot = "output"\nstorage = "u8"\n')
    options = ["--weights", "i4", "--activations", "i16", "--weight-scheme", "symmetric", "--granularity", "tensor"]
    first, second = tmp_path / "first", tmp_path / "second"
    data = ("--data", tmp_path / "samples.npz", "--no-validate")  # 4 bits change the largest of 512 elements
    assert run(model, *data, "-o", first, *options, "--recipe", tmp_path / "mine.toml")[0] == 0
    code, _, err = run(model, *data, "-o", second, "--recipe", first / "recipe.toml")
    assert (code, err) == (0, "")
    made, again = files(first), files(second)
    assert made["net.q.mlir"] == again["net.q.mlir"]
    assert b"u8:f32" in made["net.q.mlir"]  # the rule of the file was the last word
    assert b"i4:f32" in made["net.q.mlir"]
    # And by the profile, without samples.
    code, _, err = run(model, "--profile", first / "profile.json", "-o", second, "--recipe", first / "recipe.toml")
    assert (code, err) == (0, "")
    assert files(second)["net.q.mlir"] == made["net.q.mlir"]


def test_what_is_excluded_is_in_the_recipe_of_the_folder(model: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    data = ("--data", tmp_path / "samples.npz", "--quiet")
    code, said, err = run(model, *data, "-o", first, "--exclude", "fc1", "--weights", "QInt4", "--calibrator", "minmax")
    assert (code, err) == (0, "")
    assert "not quantized: fc1, " in said
    assert "a rule of the recipe excludes it" in said
    assert run(model, *data, "-o", second, "--recipe", first / "recipe.toml")[0] == 0
    assert files(first)["net.q.mlir"] == files(second)["net.q.mlir"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--per-channel"], "unrecognized arguments: --per-channel; use --granularity channel (see"),
        (["--weight_type", "QInt8"], "unrecognized arguments: --weight_type QInt8; use --weights i8 (see"),
        (["--calibrator", "entropi"], "invalid choice: 'entropi'; did you mean 'entropy'? (choose from: min_max, "),
        (["--calibrate-method", "MinMax"], "--calibrate-method MinMax; use --calibrator min_max (see"),
        (["--nodes-to-exclude=fc1"], "--nodes-to-exclude=fc1; use --exclude fc1 (see"),
        (["--preset", "mixed"], "mixed is what is done without a setting, performance is the scheme symmetric (see"),
        (["more.npz"], "unrecognized arguments: more.npz; use --data more.npz (see"),
        (["--input", "more.npz"], "unrecognized arguments: --input more.npz; use --data more.npz (see"),
        (["--wieghts", "i4"], "unrecognized arguments: --wieghts i4; did you mean '--weights'? (see"),
    ],
)
def test_options_of_other_tools_and_typos_are_answered(
    model: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    code, _, err = run(model, "--data", tmp_path / "samples.npz", "-o", tmp_path / "out", *words)
    assert (code, err.count("\n"), message in err) == (2, 1, True), err


def test_the_configuration_is_used_and_written(model: Path, tmp_path: Path) -> None:
    (tmp_path / "qmlir.toml").write_text('[quantize]\ndata = "samples.npz"\nweights = "i4"\n')
    assert run(model, "--config", tmp_path / "qmlir.toml", "-o", tmp_path / "out")[0] == 0
    assert "i4:f32" in (tmp_path / "out" / "net.q.mlir").read_text()
    code, _, err = run(
        model, "-o", tmp_path / "out", "--config", tmp_path / "new.toml", "--write-config", "--weights", "i8"
    )
    assert (code, err) == (0, f"wrote {tmp_path / 'new.toml'}\n")
    text = (tmp_path / "new.toml").read_text()
    assert 'weights = "i8"\n' in text
    assert "# weight type: i8, i4, ternary, binary, … (default: i8<-127:127>)\n" in text
    (tmp_path / "qmlir.toml").write_text("[quantize]\nweigths = 'i4'\n")
    code, _, err = run(model, "--config", tmp_path / "qmlir.toml", "-o", tmp_path / "out")
    assert code == 1
    assert f"error: '{tmp_path / 'qmlir.toml'}': unknown key 'weigths' in [quantize]; did you mean 'weights'?" in err


def test_a_second_run_over_the_first(model: Path, tmp_path: Path) -> None:
    out, data = tmp_path / "out", tmp_path / "samples.npz"
    assert run(model, "--data", data, "-o", out)[0] == 0
    (out / "notes.txt").write_text("the user's")
    assert run(model, "--data", data, "-o", out, "--weights", "i4")[0] == 0
    assert {path.name for path in out.iterdir()} >= PARTS
    assert (out / "notes.txt").read_text() == "the user's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.mlir", "out", "samples.npz"]
    # The output of the first as the input of the second: it is quantized already, nothing is left to do.
    code, _, err = run(out / "net.q.mlir", "--data", data, "-o", tmp_path / "twice")
    assert code in (0, 1)
    assert err.count("\n") <= 1


def test_what_is_not_ours_stays(model: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    (mine / "summary.json").write_text("{}")
    for target, message in (
        (mine, f"error: '{mine / 'summary.json'}' already exists: qmlir did not write it; move it, or use --force"),
        (tmp_path / "samples.npz" / "out", "samples.npz' is not a folder"),
        (model, f"error: cannot write '{model}': it is an input of this run ('{model}'); name another path"),
        (tmp_path / "gone" / "q.mlir", f"folder '{tmp_path / 'gone'}'"),
    ):
        code, _, err = run(model, "--data", tmp_path / "never-read.npz", "-o", target)
        assert code == 1
        assert message in err
        assert err.count("\n") == 1
    assert sorted(path.name for path in mine.iterdir()) == ["summary.json", "thesis.txt"]


@pytest.fixture
def no_root() -> Iterator[None]:
    """Another real user, by whose rights `os.access` answers, where this one is root and may write everywhere."""
    user = os.getuid()
    if user == 0:
        os.setreuid(NOBODY, -1)
    yield
    os.setreuid(user, -1)


@pytest.mark.usefixtures("no_root")
def test_a_folder_without_permission(model: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    code, _, err = run(model, "--data", tmp_path / "samples.npz", "-o", closed / "out")
    assert code == 1
    assert f"no write permission for '{closed}'" in err


def test_a_folder_that_nobody_can_write(model: Path, tmp_path: Path) -> None:
    code, _, err = run(model, "--data", tmp_path / "samples.npz", "-o", "/proc/out")
    assert code == 1
    assert err.startswith("error: cannot write '/proc/out': ")
    assert err.count("\n") == 1


def test_what_is_quantized_already(model: Path, tmp_path: Path) -> None:
    """The error names the float model, from which the same folder comes."""
    words = ("--data", tmp_path / "samples.npz", "-o", tmp_path / "again")
    made = tmp_path / "made"
    assert run(model, "--data", tmp_path / "samples.npz", "-o", made)[0] == 0
    for given in (made, made / "net.q.mlir"):
        code, _, err = run(given, *words)
        assert (code, err) == (
            1, f"error: '{given}' is already quantized; pass its float model, '{made / 'net.float.mlir'}'\n"
        )  # fmt: skip
    assert run(made / "net.float.mlir", *words)[0] == 0
    assert (tmp_path / "again" / "net.q.mlir").read_bytes() == (made / "net.q.mlir").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gone.onnx", "--data", "samples.npz"], "error: cannot read 'gone.onnx': No such file or directory"),
        (["gone.mlir", "--data", "samples.npz"], "error: cannot read 'gone.mlir': No such file or directory"),
        (["net.mlir", "--data", "gone.npz"], "error: cannot read 'gone.npz': No such file or directory"),
        (["samples.npz", "--data", "samples.npz"], "error: "),
        (
            ["net.mlir", "--data", "wrong.npz"],
            "has no input 'imgae'; did you mean 'image'? (available: image ?x2 float32)",
        ),
        (["net.mlir", "--data", "samples.npz", "--shape", "x=1x2"], "has no input 'x' (available: image)"),
        (["net.mlir", "--profile", "samples.npz"], "error: "),
        (["net.mlir", "--data", "samples.npz", "--recipe", "gone.toml"], "gone.toml"),
        (["net.mlir", "--data", "samples.npz", "--weights", "i99"], "storage must have 1 to 32 bits, but got 99"),
    ],
)
def test_bad_input(model: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str) -> None:
    monkeypatch.chdir(model.parent)
    np.savez("wrong.npz", imgae=X)
    code, said, err = run(*words, "-o", "out")
    assert (code, said) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sorted(os.listdir()) == ["net.mlir", "samples.npz", "wrong.npz"]


def test_interrupted_while_it_profiles(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, data = tmp_path / "out", tmp_path / "samples.npz"
    assert run(model, "--data", data, "-o", out)[0] == 0
    before = files(out)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(quantizing, "profile_of", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(model, "--data", data, "-o", out)
    assert files(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.mlir", "out", "samples.npz"]


@pytest.mark.parametrize("is_there", [False, True])
def test_interrupted_while_it_writes(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    out, data = tmp_path / "out", tmp_path / "samples.npz"
    if is_there:
        assert run(model, "--data", data, "-o", out)[0] == 0
    before = files(out) if is_there else {}

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_module, "write_file", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(model, "--data", data, "-o", out)
    assert (files(out) if is_there else {}) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [*["net.mlir", "out"][: 1 + is_there], "samples.npz"]


@pytest.mark.parametrize("target", ["out", "q.mlir"])
def test_a_disk_that_fills(model: Path, tmp_path: Path, target: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    words = ["quantize", str(model), "--profile", str(tmp_path / "p.json"), "-o", str(tmp_path / target)]
    assert run(model, "--data", tmp_path / "samples.npz", "-o", tmp_path / "first")[0] == 0
    (tmp_path / "first" / "profile.json").rename(tmp_path / "p.json")
    command = [sys.executable, "-c", TOOL, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot write '")
    assert done.stderr.endswith("': File too large\n")
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "net.mlir", "p.json", "samples.npz"]


def test_a_standard_output_that_is_full(model: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", TOOL, "quantize", str(model), "--data", str(tmp_path / "samples.npz")]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "-o", str(tmp_path / "out")], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "error: cannot write to standard output: No space left on device\n"


STATE = """
func.func @main(%x: tensor<1x2xf32> {nn.name = "x"}, %h: tensor<1x2xf32> {nn.name = "h"})
    -> (tensor<1x2xf32> {nn.name = "next"}) {
  %0 = nn.add %x, %h : tensor<1x2xf32> {origin = "sum"}
  func.return %0 : tensor<1x2xf32>
}
"""


def test_a_state_is_stored_integers(tmp_path: Path) -> None:
    """Its range is that of both, 0 to 4 in 65535 steps: 16384 of them, and 100 of the 255 from 0 to 2, are 29234."""
    model = tmp_path / "net.mlir"
    model.write_text(STATE)
    np.savez(tmp_path / "samples.npz", x=np.array([[0, 2]], np.float32), h=np.array([[0, 2]], np.float32))
    words = model, "--data", tmp_path / "samples.npz", "-o", tmp_path / "out.mlir"
    assert run(*words, "--state", "h=next")[0] == 0
    given = {"x": np.full((1, 2), 200 / 255, np.float32), "h": np.full((1, 2), -(2**15) + 16384, np.int16)}
    found = qmlir.interpret(qmlir.load(tmp_path / "out.mlir"), given)["next"]
    assert (found.dtype, found.tolist()) == (np.int16, [[-(2**15) + 29234] * 2])
    assert "state must be spelled input=output or past_*=present_*, but got 'h'" in run(*words, "--state", "h")[2]


def test_a_profile_of_the_model_gives_the_same_module(model: Path, tmp_path: Path) -> None:
    """`qmlir profile` lowers the model as `qmlir quantize` does; without that, one line says what to type."""
    data, profile = tmp_path / "samples.npz", tmp_path / "profile.json"
    assert run(model, "--data", data, "-o", profile, command="profile")[0] == 0
    assert run(model, "--profile", profile, "-o", tmp_path / "profiled")[0] == 0
    assert run(model, "--data", data, "-o", tmp_path / "sampled")[0] == 0
    modules = [(tmp_path / name / "net.q.mlir").read_text() for name in ("profiled", "sampled")]
    assert modules[0] == modules[1]
    assert run(model, "--data", data, "--passes", "", "-o", profile, command="profile")[0] == 0
    code, _, err = run(model, "--profile", profile, "-o", tmp_path / "raw")
    assert code == 1
    assert "help: make a new one with 'qmlir profile MODEL --data PATH -o FILE'" in err.splitlines()[0]


def test_the_first_samples(model: Path, tmp_path: Path) -> None:
    data = tmp_path / "samples.npz"
    code, out, _ = run(model, "--data", data, "--samples", "3", "-o", tmp_path / "three", "--json")
    assert (code, json.loads(out)["samples"]) == (0, 3)
    np.savez(tmp_path / "few.npz", image=X[:3])
    assert run(model, "--data", tmp_path / "few.npz", "-o", tmp_path / "few")[0] == 0
    names = ("net.q.mlir", "profile.json")
    assert [files(tmp_path / "three")[name] for name in names] == [files(tmp_path / "few")[name] for name in names]
    for words, code, message in (
        (["--data", data, "--samples", "0"], 1, "the number of samples must be at least 1, but got 0"),
        (["--profile", tmp_path / "few" / "profile.json", "--samples", "2"], 2, "--samples requires --data"),
    ):
        found, _, err = run(model, *words, "-o", tmp_path / "no")
        assert (found, message in err) == (code, True)


def test_settings_for_a_quantized_model_are_an_error(model: Path, tmp_path: Path) -> None:
    data, made = tmp_path / "samples.npz", tmp_path / "net.q.mlir"
    assert run(model, "--data", data, "-o", made)[0] == 0
    code, _, err = run(made, "--data", data, "--weights", "i4", "-o", tmp_path / "again")
    assert (code, (tmp_path / "again").exists()) == (1, False)
    assert "is quantized already, and keeps its types: 'weights' cannot have an effect; help: quantize the float" in err
    code, _, err = run(made, "--data", data, "-o", tmp_path / "again")
    assert (code, "warning: the model is quantized already" in err) == (0, True)
