"""Cards of programs: what they say of each form, and folders whose files are others."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.emitters.ahead import FORMS
from qmlir.targets.cpu.emitters.card import CardPort, read_card
from qmlir.targets.cpu.emitters.llvm.linkers import WASM_LINKERS
from qmlir.targets.cpu.emitters.program import program_of
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.lowered import lowered
from tests.support.commands import run_command
from tests.unit.targets.cpu.conftest import quantized

MODEL = """
func.func @main(%image: tensor<?x4xf32> {nn.name = "image", nn.dims = ["batch", ""]})
    -> (tensor<?x2xf32> {nn.name = "out"}) {
  %w = nn.constant dense<[[1.0, -2.0, 0.5, 0.25], [0.0, 3.0, -1.5, 2.0]]> : tensor<2x4xf32> {origin = "w"}
  %0 = nn.fully_connected %image, %w : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32> {origin = "fc1"}
  func.return %0 : tensor<?x2xf32>
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, and its program by both emitters."""
    folder = tmp_path_factory.mktemp("cards")
    (folder / "net.mlir").write_text(MODEL)
    for emitter in ("numba", "llvm"):
        command = ["qmlir", "compile", f"{folder}/net.mlir", "--shape", "image=1x4", "-o", f"{folder}/{emitter}"]
        assert run_command([*command, "--emitter", emitter], "").code == 0
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_what_a_form_says(form: str, tmp_path: Path) -> None:
    needed = {"shared": shutil.which("cc"), "wasm": any(each("wasm32") for each in WASM_LINKERS.values())}
    if not needed.get(form, True):
        pytest.skip("nothing links this form")
    module = quantized(2)
    emitted = qmlir.emit(module, form=form, name="net")
    emitted.save(tmp_path)
    card = read_card(tmp_path)
    assert card == emitted.card
    assert (card.name, card.form) == ("net", form)
    assert card.files.keys() == emitted.files.keys() - {"net.json"}
    loops = program_of(lowered(module, resolved_isa(card.isa)))
    assert card.weights_bytes == loops.weights_bytes
    assert card.arena_bytes >= loops.arena_bytes
    assert [each.name for each in card.inputs] == [each.name for each in loops.inputs]
    assert (card.code_bytes is None) == (form == "c")
    if card.code_bytes is not None:
        assert 0 < card.code_bytes < sum(len(each) for each in emitted.files.values())
    assert card.digest in (tmp_path / "net.json").read_text()


@pytest.mark.parametrize("emitter", ["numba", "llvm"])
def test_a_saved_program(made: Path, emitter: str) -> None:
    done = run_command(["qmlir", "inspect", str(made / emitter), "--json"], "")
    assert (done.code, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["inputs"] == [{"name": "image", "dtype": "float32", "shape": [1, 4], "refuses_nan": False}]
    assert (found["emitter"], found["form"], found["threads"], found["nodes"]) == (emitter, "program", 1, ["fc1"])
    assert 0 < found["code_bytes"] < (made / emitter / "machine_code.bin").stat().st_size
    text = run_command(["qmlir", "inspect", str(made / emitter)], "").stdout
    assert text.startswith(f"main: program by the emitter {emitter} of qmlir ")
    assert f"digest   {found['digest']}" in text
    assert CardPort("out", "float32", (1, 2)).text() in text


def test_a_program_of_any_length(made: Path, tmp_path: Path) -> None:
    command = ["qmlir", "compile", str(made / "net.mlir"), "--length", "batch=1x4", "-o", str(tmp_path / "any")]
    assert run_command(command, "").code == 0
    found = json.loads(run_command(["qmlir", "inspect", str(tmp_path / "any"), "--json"], "").stdout)
    assert [each["inputs"][0]["shape"] for each in found["parts"]] == [[1, 4], [4, 4]]
    shutil.rmtree(tmp_path / "any" / "part0")
    shutil.copytree(tmp_path / "any" / "part1", tmp_path / "any" / "part0")
    with pytest.raises(DiagnosticError, match="its parts are not those that were written with it"):
        qmlir.load_program(tmp_path / "any")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("kernels.py", "kernels.py is damaged: it is not what was written with the program"),
        ("runtime/ports.py", "ports.py is damaged: it is not what was written with the program"),
        ("__init__.py", "__init__.py is damaged: it is not what was written with the program"),
        ("program.json", "program.json is damaged: it is not what was written with the program"),
        ("constants.safetensors", "is damaged"),
        ("machine_code.bin", "is damaged"),
    ],
)
def test_a_mixed_folder(made: Path, tmp_path: Path, file: str, message: str) -> None:
    """A file that is another program's, cut off, or missing."""
    shutil.copytree(made / "numba", tmp_path / "p")
    path = tmp_path / "p" / file
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(DiagnosticError, match=message) as raised:
        qmlir.load_program(tmp_path / "p")
    assert "\n" not in str(raised.value)
    done = run_command(["qmlir", "inspect", str(tmp_path / "p")], "")
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    path.unlink()
    if file != "program.json":
        done = run_command(["qmlir", "inspect", str(tmp_path / "p")], "")
        assert (done.code, done.stderr.count("\n")) == (1, 1)


def test_the_card_of_another_program(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "numba", tmp_path / "p")
    shutil.copy(made / "llvm" / "program.json", tmp_path / "p")
    with pytest.raises(DiagnosticError, match=r"is not what was written with the program|is missing"):
        qmlir.load_program(tmp_path / "p")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-arena", "63"], "error: working memory is 64 bytes, --max-arena allows 63"),
        (
            ["--emit", "c", "--max-code", "1M"],
            "error: --max-code is for machine code, and its size is not known before",
        ),
        (["--emit", "object", "--max-code", "1"], "error: machine code is "),
        (["--emit", "c", "--max-weights", "0"], "error: memory of constants is "),
        (["--max-code", "1Q"], "'1Q' is not a number of bytes: say 65536, 256K or 4M"),
    ],
)
def test_sizes_that_are_too_large(made: Path, tmp_path: Path, options: list[str], message: str) -> None:
    command = ["qmlir", "compile", f"{made}/net.mlir", "--shape", "image=1x4", "-o", f"{tmp_path}/out", *options]
    done = run_command(command, "")
    assert (done.code != 0, done.stdout, done.stderr.count("\n")) == (True, "", 1)
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_sizes_that_fit(made: Path, tmp_path: Path) -> None:
    limits = ["--max-code", "1M", "--max-arena", "4KiB", "--max-weights", "64k"]
    command = ["qmlir", "compile", f"{made}/net.mlir", "--shape", "image=1x4", "-o", f"{tmp_path}/out", *limits]
    assert run_command(command, "").code == 0


def test_what_is_said_about_the_model(made: Path, tmp_path: Path) -> None:
    """Of a quantized folder it is the summary."""
    np.savez(tmp_path / "x.npz", image=np.random.default_rng(0).uniform(-1, 1, (16, 4)).astype(np.float32))
    quantize = ["qmlir", "quantize", f"{made}/net.mlir", "--data", f"{tmp_path}/x.npz", "-o", f"{tmp_path}/q"]
    assert run_command(quantize, "").code == 0
    summary = json.loads((tmp_path / "q" / "summary.json").read_text())
    for name, options in (("p", []), ("c", ["--emit", "c"])):
        command = ["qmlir", "compile", f"{tmp_path}/q", "--shape", "image=1x4", "-o", f"{tmp_path}/{name}", *options]
        assert run_command(command, "").code == 0
        found = json.loads(run_command(["qmlir", "inspect", f"{tmp_path}/{name}", "--json"], "").stdout)["about"]
        assert found["validation"] == summary["validation"]
        assert found["coverage"]["integer_cost_share"] == 1
    emitted = qmlir.emit(quantized(2), about={"by": "us", "shape": (1, 2)})
    emitted.save(tmp_path / "e")
    card = read_card(tmp_path / "e")
    assert card is not None
    assert card.about == {"by": "us", "shape": [1, 2]}
    with pytest.raises(DiagnosticError, match="what a card says about a model is JSON, found"):
        qmlir.emit(quantized(2), about={"by": object()})


def test_a_program_is_no_model(tmp_path: Path) -> None:
    qmlir.emit(quantized(2), form="c").save(tmp_path / "c")
    with pytest.raises(DiagnosticError, match="is a program without Python, and not the model: qmlir inspect"):
        qmlir.load(tmp_path / "c")
