"""Cards of programs: what they say of each form, and folders whose files are others."""

import importlib.util
import json
import py_compile
import shutil
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir import registry
from qmlir.extensions.aot.ahead import Emitted, emit_ahead
from qmlir.extensions.aot.llvm.linkers import WASM_LINKERS
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.equivalence import fingerprint
from qmlir.targets.cpu.emitters.card import CardPort, ProgramCard, read_card
from qmlir.targets.cpu.emitters.program import program_of
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.lowering import lowered
from qmlir.targets.cpu.runtime.machine_code import digest_of
from qmlir.text.writing import LIST
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
        assert run_command([*command, "--codegen", emitter], "").code == 0
    return folder


@cache
def loops() -> ModuleOp:
    """A module of loops."""
    return lowered(quantized(2), "portable")


@pytest.mark.parametrize("form", registry.named("forms"))
def test_what_a_form_says(form: str, tmp_path: Path) -> None:
    needed = {"shared": shutil.which("cc"), "wasm": any(each("wasm32") for each in WASM_LINKERS.values())}
    if not needed.get(form, True):
        pytest.skip("nothing links this form")
    module = quantized(2)
    emitted = qmlir.emit(module, format=form, name="small")
    emitted.save(tmp_path)
    card = read_card(tmp_path / "small.json")
    assert card == emitted.card
    assert (card.name, card.form, card.model) == ("small", form, fingerprint(module))
    assert card.files.keys() == emitted.files.keys() - {"small.json"}
    made_of = program_of(lowered(module, resolved_isa(card.isa)))
    assert card.stack_bytes == made_of.scratch_bytes
    assert card.weights_bytes == made_of.weights_bytes
    assert card.arena_bytes >= made_of.arena_bytes
    assert [each.name for each in card.inputs] == [each.name for each in made_of.inputs]
    assert (card.code_bytes is None) == (form == "c")
    if card.code_bytes is not None:
        assert 0 < card.code_bytes < sum(len(each) for each in emitted.files.values())
    assert card.digest in (tmp_path / "small.json").read_text()


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
    command = ["qmlir", "compile", str(made / "net.mlir"), "--max-size", "batch=1x4", "-o", str(tmp_path / "any")]
    assert run_command(command, "").code == 0
    found = json.loads(run_command(["qmlir", "inspect", str(tmp_path / "any"), "--json"], "").stdout)
    assert [each["inputs"][0]["shape"] for each in found["programs"]] == [[1, 4], [4, 4]]
    assert found["parts"] == {"part0": "cpu", "part1": "cpu"}
    for size in ("kernels", "arena_bytes", "code_bytes"):
        assert found[size] == sum(each[size] for each in found["programs"]) > 0
    assert {found["weights_bytes"]} == {each["weights_bytes"] for each in found["programs"]}  # both have the same
    text = run_command(["qmlir", "inspect", str(tmp_path / "any")], "").stdout
    assert [each["digest"] in text for each in (found, *found["programs"])] == [True] * 3


@pytest.fixture(scope="module")
def any_length(made: Path) -> Path:
    """The program of three capacities."""
    command = ["qmlir", "compile", str(made / "net.mlir"), "--max-size", "batch=1x4x8", "-o", str(made / "any")]
    assert run_command(command, "").code == 0
    return made / "any"


def assert_refused(folder: Path, message: str) -> None:
    """Neither loaded nor inspected, both with the same line."""
    with pytest.raises(DiagnosticError, match=message) as raised:
        qmlir.load_program(folder)
    assert "\n" not in str(raised.value)
    done = run_command(["qmlir", "inspect", str(folder)], "")
    assert (done.code, done.stdout, done.stderr) == (1, "", f"{raised.value}\n")


def files_of(folder: Path) -> list[str]:
    """What a card is for: caches are not."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths if "__pycache__" not in path.parts)


@pytest.mark.parametrize("kind", ["numba", "llvm", "any"])
def test_a_mixed_folder(made: Path, any_length: Path, tmp_path: Path, kind: str) -> None:
    """Each file but those of the runtime, of which there is one for all: changed, cut off, and missing."""
    files = [
        name
        for name in files_of(made / kind)
        if (name != LIST and "runtime/" not in name) or name.endswith("runtime/ports.py")
    ]
    assert {"program.json", "__init__.py"} < set(files)
    for position, name in enumerate(files):
        shutil.copytree(made / kind, tmp_path / f"p{position}")
        path = tmp_path / f"p{position}" / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-2])
        assert_refused(
            tmp_path / f"p{position}",
            f"{name} is damaged: it differs from the file written with the ",
        )
        path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
        assert_refused(
            tmp_path / f"p{position}",
            f"{name} is damaged: it differs from the file written with the ",
        )
        path.unlink()
        assert_refused(tmp_path / f"p{position}", f"{name} is missing|has no manifest program.json")


@pytest.mark.parametrize("name", ["lengths.json", "kernels.ll", "kernels.so", "runtime.so", "runtime/ports.so"])
@pytest.mark.parametrize("kind", ["numba", "any/part1"])
def test_files_that_no_card_names(made: Path, any_length: Path, tmp_path: Path, kind: str, name: str) -> None:
    shutil.copytree(made / kind.partition("/")[0], tmp_path / "p")
    path = tmp_path / kind.replace(kind.partition("/")[0], "p") / name
    if path.exists():
        pytest.skip("it is one of the program's")
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    assert_refused(tmp_path / "p", rf"{name} is not part of the program \(its manifest does not list it\)")


def test_parts_in_another_order(any_length: Path, tmp_path: Path) -> None:
    for first, second in ((0, 1), (1, 2)):
        shutil.copytree(any_length, tmp_path / f"p{first}")
        for source, target in ((first, second), (second, first)):
            shutil.rmtree(tmp_path / f"p{first}" / f"part{target}")
            shutil.copytree(any_length / f"part{source}", tmp_path / f"p{first}" / f"part{target}")
        assert_refused(tmp_path / f"p{first}", f"part{first}/program.json is damaged")


@pytest.mark.parametrize("file", ["__init__.py", "runtime/program.py", "kernels.py"])
@pytest.mark.parametrize("emitter", ["numba", "llvm"])
def test_bytecode_beside_the_source(
    made: Path, tmp_path: Path, emitter: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is another program's, and says that nothing is to be checked: it does not run."""
    shutil.copytree(made / emitter, tmp_path / "p")
    source = tmp_path / "p" / file
    (tmp_path / "other.py").write_text('print("it ran")\n' + (source.read_text() if source.exists() else ""))
    target = importlib.util.cache_from_source(str(source))
    py_compile.compile(str(tmp_path / "other.py"), target, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    program: Any = qmlir.load_program(tmp_path / "p")
    assert list(program([np.ones((1, 4), np.float32)])) == ["out"]
    assert capsys.readouterr().out == ""


DAMAGES: dict[str, Any] = {
    **dict.fromkeys(("name", "form", "emitter", "target", "isa", "model", "by"), (5, None, ["a"])),
    **dict.fromkeys(("threads", "kernels", "arena_bytes"), ("many", None, 1.5, -1, True)),
    **dict.fromkeys(("weights_bytes", "stack_bytes"), ([], 1 << 63)),
    "code_bytes": ("big", [1], 10**400),
    "nodes": (5, [5], "fc1", None),
    "inputs": ({}, [5], [{}], [{"name": 5, "dtype": "float32", "shape": [1], "refuses_nan": False}],
               [{"name": "x", "dtype": "float32", "shape": 5, "refuses_nan": False}]),
    "outputs": (None, [{"name": "x", "dtype": "float32", "shape": ["a"], "refuses_nan": False}]),
    "about": (["a"], None, "a"),
    "parts": (["a"], None, {"a": 5}, {"../a": "cpu"}, {"": "cpu"}, {"a/b": "cpu"}),
    "files": (["a"], None, {"a": 5}, {"../a": "0"}, {"/a": "0"}, {"a/../../b": "0"}, {"": "0"}, {"a\\b": "0"}),
}  # fmt: skip
"""Values that a field of a card cannot have."""


@pytest.mark.parametrize("name", DAMAGES)
def test_fields_of_a_card(name: str, tmp_path: Path) -> None:
    """The card has the digest of what it says, and says what no card does."""
    assert DAMAGES.keys() == {each.name for each in fields(ProgramCard)}
    card = json.loads(emit_ahead(loops(), "c", "net").card.json())
    for value in DAMAGES[name]:
        said = {key: each for key, each in {**card, name: value}.items() if key not in ("format", "version", "digest")}
        digest = digest_of(json.dumps(said, sort_keys=True).encode())
        (tmp_path / "net.json").write_text(json.dumps({**card, **said, "digest": digest}))
        done = run_command(["qmlir", "inspect", str(tmp_path)], "")
        assert (done.code, done.stdout) == (1, "")
        assert done.stderr.startswith(
            f"error: {tmp_path}/net.json is damaged: it differs from the file written with the "
        )


def test_another_version(tmp_path: Path) -> None:
    emitted = emit_ahead(loops(), "c", "net")
    emitted.save(tmp_path)
    for version in (1, 3, None, "2", [1] * 100):
        (tmp_path / "net.json").write_text(json.dumps({**json.loads(emitted.card.json()), "version": version}))
        done = run_command(["qmlir", "inspect", str(tmp_path)], "")
        assert (done.code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert f"has version {version!r:.20}, but this qmlir supports 2; compile the model again" in done.stderr
        assert len(done.stderr) < len(str(tmp_path)) + 110


def test_text_that_would_forge_a_line(tmp_path: Path) -> None:
    card = emit_ahead(loops(), "c", "net").card
    text = "net\n  digest   0000\x1b[31m\u2028\u202e"
    port = CardPort(text, text, (1,))
    forged = replace(
        card, **dict.fromkeys(("name", "form", "emitter", "target", "isa", "by", "model"), text), inputs=(port,),
        about={text: text}, files={},
    )  # fmt: skip
    (tmp_path / "net.json").write_text(forged.json())
    for shown in (forged.text(), run_command(["qmlir", "inspect", str(tmp_path)], "").stdout):
        assert len(shown.strip().splitlines()) == len(replace(card, about={"a": "b"}).text().splitlines())
        assert shown.count("  digest   ") - shown.count("\\u000a  digest   ") == 1
        assert "\x1b" not in shown


def test_two_programs_in_a_folder(tmp_path: Path) -> None:
    emitted = [emit_ahead(loops(), "c", name) for name in ("first", "second")]
    for each in emitted:
        each.save(tmp_path)
    found = json.loads(run_command(["qmlir", "inspect", str(tmp_path), "--json"], "").stdout)
    assert [part["digest"] for part in found["programs"]] == [each.card.digest for each in emitted]
    (tmp_path / "second.c").write_text("")
    done = run_command(["qmlir", "inspect", str(tmp_path)], "")
    assert f"{tmp_path}/second.c is damaged: it differs from the file written with the program" in done.stderr


def test_what_is_replaced(made: Path, tmp_path: Path) -> None:
    """What was emitted and is as it was, under another name, too."""
    command = ["qmlir", "compile", f"{made}/net.mlir", "--shape", "image=1x4", "--emit", "c", "-o", f"{tmp_path}/c"]
    for name in ("first", "first", "second"):
        assert run_command([*command, "--name", name], "").code == 0
    assert files_of(tmp_path / "c") == [LIST, "second.c", "second.h", "second.json"]


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is there stays whole."""
    emit_ahead(loops(), "c", "net").save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    emitted = emit_ahead(loops(), "c", "net", about={"note": "new"})
    files = Emitted(emitted.card, {**emitted.files, "net.c": "new", "x" * 300: ""})
    with pytest.raises(DiagnosticError, match="cannot write"):
        files.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_card_of_another_program(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "numba", tmp_path / "p")
    shutil.copy(made / "llvm" / "program.json", tmp_path / "p")
    assert_refused(tmp_path / "p", r"differs from the file written with the program|is missing")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-arena", "63"], "scratch memory must be at most 63 bytes (--max-arena), but got 64"),
        (
            ["--emit", "c", "--max-code", "1M"],
            "--max-code requires machine code: the size of C code is not known before it is compiled",
        ),
        (["--emit", "object", "--max-code", "1"], "machine code must be at most 1 bytes (--max-code), but got 138"),
        (
            ["--emit", "c", "--max-weights", "0"],
            "weight memory must be at most 0 bytes (--max-weights), but got 256",
        ),
        (["--max-code", "1Q"], "'1Q' is not a number of bytes (examples: 65536, 256K, 4M)"),
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
        assert (found["model"], found["data"]) == ("net.mlir", "x.npz")
        assert str(tmp_path) not in "".join(path.read_text() for path in (tmp_path / name).glob("*.json"))
        assert found["coverage"]["integer_cost_share"] == 1
    emitted = qmlir.emit(quantized(2), about={"by": "us", "shape": (1, 2)})
    emitted.save(tmp_path / "e")
    card = read_card(tmp_path / "e" / "model.json")
    assert card.about == {"by": "us", "shape": [1, 2]}
    with pytest.raises(DiagnosticError, match="'about' must contain JSON values, but got"):
        qmlir.emit(quantized(2), about={"by": object()})


def test_a_program_is_no_model(tmp_path: Path) -> None:
    qmlir.emit(quantized(2), format="c").save(tmp_path / "c")
    with pytest.raises(DiagnosticError, match="is a program without Python, not a model; show it with 'qmlir inspect"):
        qmlir.load(tmp_path / "c")
