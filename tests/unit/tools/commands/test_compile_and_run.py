"""`qmlir compile` and `qmlir run`: one program, saved, run again; every engine gives the interpreter's integers."""

import io
import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.interpreter import progress
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler
from qmlir.targets.cpu import cache
from qmlir.text.writing import LIST
from qmlir.tools import qmlir_cli

MODEL = """
func.func @main(%image: tensor<?x4xf32> {nn.name = "image", nn.dims = ["batch", ""]})
    -> (tensor<?x2xf32> {nn.name = "out"}) {
  %w = nn.constant dense<[[1.0, -2.0, 0.5, 0.25], [0.0, 3.0, -1.5, 2.0]]> : tensor<2x4xf32> {origin = "w"}
  %b = nn.constant dense<[0.125, -0.5]> : tensor<2xf32> {origin = "b"}
  %0 = nn.fully_connected %image, %w, %b
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<?x2xf32> {origin = "fc1"}
  func.return %0 : tensor<?x2xf32>
}
"""
X = np.random.default_rng(0).uniform(-1, 1, (16, 4)).astype(np.float32)


def run(*words: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = qmlir_cli.main([*map(str, words)], stdin=io.StringIO(), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a quantized model, the program of it for two images, and two images."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "net.mlir").write_text(MODEL)
    (folder / "unnamed.mlir").write_text(MODEL.replace(', nn.dims = ["batch", ""]', ""))
    np.savez(folder / "samples.npz", image=X)
    np.savez(folder / "x.npz", image=X[:2])
    np.savez(folder / "two.npz", first=X[:2], second=X[2:4])
    assert run("quantize", folder / "net.mlir", "--data", folder / "samples.npz", "-o", folder / "q")[0] == 0
    code, said, err = run("compile", folder / "q", "--shape", "image=2x4", "-o", folder / "program", "--json")
    assert (code, err) == (0, "")
    told = json.loads(said)
    assert told["output"] == str(folder / "program")
    assert told["threads"] == 1
    files = (path for path in (folder / "program").rglob("*") if path.is_file() and path.name != LIST)
    assert told["bytes"] == sum(path.stat().st_size for path in files)
    return folder


@pytest.mark.parametrize(
    "words", [["q"], ["q", "--engine", "interpreter"], ["q", "--engine", "compiled", "--isa", "generic"], ["program"]]
)
def test_every_engine_gives_the_same(work: Path, tmp_path: Path, words: list[str]) -> None:
    output = tmp_path / "out.npz"
    code, said, err = run("run", work / words[0], *words[1:], "--input", work / "x.npz", "-o", output)
    assert (code, said, err) == (0, "", "")
    expected = qmlir.interpret(qmlir.load(work / "q" / "net.q.mlir"), {"image": X[:2]})
    with np.load(output) as found:
        assert found.files == ["out"]
        assert np.array_equal(found["out"], expected["out"])
    # By hand, within a step of 8 bits over a range of about 13.
    by_hand = X[:2] @ np.array([[1.0, -2.0, 0.5, 0.25], [0.0, 3.0, -1.5, 2.0]], np.float32).T + [0.125, -0.5]
    assert np.abs(by_hand - expected["out"]).max() < 0.1


def test_outputs_as_json(work: Path) -> None:
    code, said, _ = run("run", work / "program", "--input", work / "x.npz", "--json")
    assert code == 0
    found = json.loads(said)["outputs"]["out"]
    assert (found["shape"], found["dtype"]) == ([2, 2], "float32")
    expected = qmlir.interpret(qmlir.load(work / "q" / "net.q.mlir"), {"image": X[:2]})
    assert np.array_equal(np.array(found["values"], np.float32), expected["out"])


def test_the_program_runs_without_qmlir(work: Path) -> None:
    code = (
        "import sys, numpy; sys.modules['qmlir'] = None; sys.modules['xdsl'] = None; import program; "
        "print(program.program([numpy.load('x.npz')['image']])['out'].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=work, capture_output=True, text=True, check=True)
    expected = qmlir.interpret(qmlir.load(work / "q" / "net.q.mlir"), {"image": X[:2]})
    assert done.stdout == f"{expected['out'].tolist()}\n"


def test_a_program_of_any_length(work: Path, tmp_path: Path) -> None:
    assert run("compile", work / "q", "--max-size", "batch=1x3", "-o", tmp_path / "any")[0] == 0
    for count in (1, 5):
        np.savez(tmp_path / "x.npz", image=X[:count])
        assert run("run", tmp_path / "any", "--input", tmp_path / "x.npz", "-o", tmp_path / "out.npz") == (0, "", "")
        expected = qmlir.interpret(qmlir.load(work / "q" / "net.q.mlir"), {"image": X[:count]})
        with np.load(tmp_path / "out.npz") as found:
            np.testing.assert_array_equal(found["out"], expected["out"], strict=True)


def test_an_array_of_a_file_for_an_input(work: Path, tmp_path: Path) -> None:
    """The only one, whatever its name, or the one of the input's name."""
    np.savez(tmp_path / "single.npz", other=X[:2])
    np.savez(tmp_path / "several.npz", image=X[:2], labels=np.arange(2))
    expected = run("run", work / "q", "--input", work / "x.npz")
    assert expected[0] == 0
    for file in ("single.npz", "several.npz"):
        assert run("run", work / "q", "--input", f"image={tmp_path / file}") == expected
    np.save(tmp_path / "x.npy", X[:2])
    for model in (work / "q", work / "program"):
        assert run("run", model, "--input", tmp_path / "x.npy") == expected


def test_a_batch_without_a_size_is_one_sample(work: Path) -> None:
    code, _, err = run("compile", work / "q", "-o", work / "one")
    assert (code, err) == (0, "compiling for --shape image=1x4; the program also runs batches of independent samples\n")
    for program in ("one", "program"):
        assert run("run", work / program, "--input", work / "x.npz", "-o", work / f"{program}.npz")[0] == 0
    one, two = (np.load(work / f"{program}.npz")["out"] for program in ("one", "program"))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["compile", "unnamed.mlir", "-o", "new"], 1, "fix them with --shape image=1x4"),
        (
            ["compile", "q", "-o", "new", "--max-size", "imag=8"],
            1,
            "unknown dynamic dimension 'imag' (available: batch)",
        ),
        (["compile", "q", "-o", "new", "--max-size", "batch=0"], 1, "invalid size 'batch=0': expected NAME=MAX"),
        (["compile", "q", "-o", "new", "--shape", "image=2x5"], 1, "input 'image' must have shape ?x4, but got 2x5"),
        (["compile", "q", "-o", "new", "--shape", "imag=2x4"], 1, "did you mean 'image'? (available: image)"),
        (["compile", "q", "-o", "new", "--shape", "image=2x4", "--isa", "avx3"], 1, "unknown instruction set 'avx3'"),
        (
            ["compile", "q", "-o", "new", "--shape", "image=2x4", "--threads", "0"],
            1,
            "threads must be at least 1, but got 0",
        ),
        (["compile", "q", "-o", "new", "--shape", "image=2x4", "--function", "f"], 1, "unknown function 'f'"),
        (["compile", "q", "-o", "x.npz"], 1, "cannot write 'x.npz': it is not a folder; name another path"),
        (["compile", "nothing", "-o", "new"], 1, "cannot read 'nothing': No such file or directory"),
        (
            ["run", "program", "--engine", "interpreter"],
            2,
            "--engine interpreter requires a model, but 'program' is a compiled program",
        ),
        (["run", "program"], 1, "error: no value for input 'image'"),
        (["run", "q", "--input", "image=two.npz"], 1, "'two.npz' has no array 'image' (available: first, second)"),
        (["run", "q", "--input", "x.npz", "--input", "image=x.npz"], 1, "duplicate input 'image'"),
        (["run", "q", "--input", "samples.npz", "-o", "none/x.npz"], 1, "cannot write 'none/x.npz'"),
        (["run", "q", "--input", "samples.npz", "-o", "/dev/full"], 1, "cannot write '/dev/full': No space left"),
        (["run", "q", "--data", "x.npz"], 2, "unrecognized arguments: --data x.npz; use --input x.npz (see"),
        (["run", "q", "x.npz"], 2, "unrecognized arguments: x.npz; use --input x.npz (see"),
        (["run", "."], 1, "'.' is a folder, but not one written by 'qmlir quantize'"),
    ],
)
def test_bad_input(work: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, message: str) -> None:
    monkeypatch.chdir(work)
    before = sorted(path.name for path in work.iterdir())
    found, said, err = run(*words)
    assert (found, said) == (code, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in work.iterdir()) == before


def test_a_disk_that_fills(work: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    tool = "from qmlir.tools.qmlir_cli import console_main; console_main()"
    words = ["compile", str(work / "q"), "--shape", "image=2x4", "-o", str(tmp_path / "program")]
    command = [sys.executable, "-c", tool, *words]  # the program is in the cache: what is written is its copy
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: cannot write '{tmp_path / 'program'}': ")
    assert "File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_second_program_over_the_first(work: Path, tmp_path: Path) -> None:
    words = ["compile", work / "q", "--shape", "image=1x4", "-o", tmp_path / "program"]
    assert run(*words)[0] == 0
    code, said, err = run(*words, "--codegen", "llvm")
    assert (code, err) == (0, "")
    assert said.startswith(f"{tmp_path / 'program'}: a program for ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program"]
    assert not (tmp_path / "program" / "kernels.py").exists()
    assert run("run", tmp_path / "program", "--input", work / "x.npz")[0] == 0  # of all images


@pytest.mark.parametrize("subject", ["q", "program"])
def test_arrays_beside_the_inputs_are_left_out(work: Path, tmp_path: Path, subject: str) -> None:
    """As `qmlir quantize` does: labels lie beside the samples. Without an input, the unknown name is an error."""
    np.savez(tmp_path / "labelled.npz", image=X[:2], labels=np.arange(2))
    code, out, err = run("run", work / subject, "--input", tmp_path / "labelled.npz")
    assert (code, out) == run("run", work / subject, "--input", work / "x.npz")[:2]
    assert "ignoring array 'labels' in the data: the model has no such input" in err
    np.savez(tmp_path / "typo.npz", imag=X[:2])
    assert run("run", work / subject, "--input", tmp_path / "typo.npz")[0] == 1


def test_a_program_with_islands_says_what_it_needs(tmp_path: Path) -> None:
    code, out, _ = run("compile", "docs/examples/detector.onnxtxt", "-o", tmp_path / "program")
    assert code == 0
    assert "it needs qmlir and ONNX Runtime where it runs: qmlir.load_program(" in out


def test_a_first_call_that_takes_long_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(progress, "FIRST_CALL_SECONDS", 0)
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path))
    program = qmlir.compile(qmlir.load("docs/examples/digits.onnxtxt"))
    for calls in (1, 2):
        said: list[Diagnostic] = []
        with diagnostic_handler(said.append):
            program(np.ones((3, 4), np.float32))
        expected = ["this call compiles for image 1x4; later calls of these sizes reuse the code"] if calls == 1 else []
        assert [each.message for each in said] == expected
