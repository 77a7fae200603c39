"""No command, and no function of the API, loses a file of the user: inputs, files in the way, links, pipes."""

import io
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.writing import LIST
from qmlir.tools import qmlir_cli, qmlir_opt, qmlir_translate
from tests.unit.text.test_writing import tree

X = np.random.default_rng(0).normal(size=(16, 64)).astype(np.float32)


def model(seed: int) -> onnx.ModelProto:
    """A matrix product whose weights are too large for the text of a module."""
    weights = np.random.default_rng(seed).normal(size=(64, 64)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", 1, (1, 64))], [helper.make_tensor_value_info("y", 1, (1, 64))],
        [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in three forms, samples in two, a profile, a recipe, a quantized folder, and a cache for all tests."""
    folder = tmp_path_factory.mktemp("made")
    onnx.save(model(1), str(folder / "m.onnx"))
    onnx.save(
        model(1), str(folder / "big.onnx"), save_as_external_data=True, location="big.mlir", size_threshold=0
    )  # its weights have a name that an output may have
    np.savez(folder / "d.npz", x=X)
    np.savez(folder / "one.npz", x=X[:1])
    (folder / "samples").mkdir()
    np.save(folder / "samples" / "0.npy", X)
    assert run("quantize", folder / "m.onnx", "--data", folder / "d.npz", "-o", folder / "q") == (0, "")
    assert run("export", folder / "m.onnx", "-o", folder / "e.onnx", "--external-data")[0] == 0
    shutil.copy(folder / "q" / "profile.json", folder / "p.json")
    shutil.copy(folder / "q" / "recipe.toml", folder / "r.toml")
    for name in ("m.float.mlir", "m.float.safetensors"):
        shutil.copy(folder / "q" / name, folder / name)
    shutil.copy(folder / "m.float.safetensors", folder / "constants.safetensors")  # a name that a program has
    text = (folder / "m.float.mlir").read_text()
    (folder / "c.mlir").write_text(text.replace("m.float.safetensors", "constants.safetensors"))
    return folder


@pytest.fixture
def work(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it as the working directory; what waits for a pipe ends."""
    folder = tmp_path / "work"
    shutil.copytree(made, folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(made.with_name("writers-cache")))
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(300)
    yield folder
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _too_long(*_: object) -> None:
    raise TimeoutError("it waits")


def run(*words: str | Path, tool: Callable[..., int] = qmlir_cli.main) -> tuple[int, str]:
    """The exit code, and the errors."""
    said = io.StringIO()
    code = tool([*map(str, words)], stdin=io.StringIO(), stdout=io.StringIO(), stderr=said)
    return code, "".join(line for line in said.getvalue().splitlines(keepends=True) if "error: " in line)


QUANTIZE = ["quantize", "m.onnx", "--data", "d.npz", "--no-validate", "-o"]
FINETUNE = ["finetune", "m.onnx", "--data", "d.npz", "--epochs", "1", "--batch-size", "4", "-o"]

INPUTS: Mapping[str, list[str]] = {
    "quantize": [*QUANTIZE, "m.onnx"],
    "quantize, a link": [*QUANTIZE, "link.onnx"],
    "quantize, a hard link": [*QUANTIZE, "hard.onnx"],
    "quantize, another way": [*QUANTIZE, "samples/../here/m.onnx"],
    "quantize, forced": [*QUANTIZE, "m.onnx", "--force"],
    "quantize, external data": ["quantize", "big.onnx", "--data", "d.npz", "-o", "big.mlir"],
    "quantize, the weights of its model": ["quantize", "m.float.mlir", "--data", "d.npz", "-o", "m.float.mlir"],
    "quantize, derived": ["quantize", "c.mlir", "--data", "d.npz", "-o", "constants.mlir"],
    "compile, derived": ["compile", "c.mlir", "-o", "."],
    "compile, forced": ["compile", "c.mlir", "-o", ".", "--force"],
    "quantize, the folder of its model": ["quantize", "q/m.float.mlir", "--data", "d.npz", "-o", "q"],
    "quantize, a profile": ["quantize", "m.onnx", "--profile", "here/p.json", "-o", "p.mlir"],
    "quantize, a recipe": [*QUANTIZE, "r.mlir", "--recipe", "r.mlir"],
    "quantize, a folder of samples": ["quantize", "m.onnx", "--data", "samples", "-o", "samples/q"],
    "quantize, the folder of samples": ["quantize", "m.onnx", "--data", "samples", "-o", "samples"],
    "quantize, resume in samples": [*QUANTIZE, "q2", "--validation", "samples", "--resume", "samples/parts"],
    "export": ["export", "m.onnx", "-o", "m.onnx"],
    "export, external data": ["export", "e.onnx", "-o", "e.onnx"],
    "finetune": [*FINETUNE, "m.onnx"],
    "finetune, a checkpoint": [*FINETUNE, "t.mlir", "--checkpoint", "hard.onnx"],
    "finetune, twice": [*FINETUNE, "t.mlir", "--checkpoint", "here/t.mlir"],
    "profile": ["profile", "m.onnx", "--data", "d.npz", "-o", "d.npz"],
    "profile, a model": ["profile", "m.onnx", "--data", "d.npz", "-o", "link.onnx"],
    "report": ["report", "q", "--data", "d.npz", "--no-time", "-o", "q/summary.json"],
    "run": ["run", "m.onnx", "--input", "one.npz", "-o", "one.npz"],
    "partition": ["partition", "q", "--device", "cpu", "-o", "q/m.q.mlir"],
    "search": ["search", "q", "--data", "d.npz", "-o", "q", "--min-accuracy", "0"],
}  # fmt: skip


@pytest.mark.parametrize("case", INPUTS)
def test_no_command_writes_an_input(work: Path, case: str) -> None:
    (work / "link.onnx").symlink_to("m.onnx")
    os.link("m.onnx", "hard.onnx")
    (work / "here").symlink_to(work)
    shutil.copy("r.toml", "r.mlir")
    if case == "quantize, a profile":
        os.rename("p.json", "p.mlir")
        INPUTS[case][3] = "here/p.mlir"
    before = tree(work)
    code, said = run(*INPUTS[case])
    assert (code, said.count("\n")) == (1, 1)
    assert any(
        each in said for each in ("input of this run", "in the folder of samples", "the run writes", "already exists")
    )
    assert tree(work) == before


def test_the_tools_of_developers_write_no_input(work: Path) -> None:
    (work / "link.mlir").symlink_to("m.float.mlir")
    (work / "p.pdl").write_text("")
    before = tree(work)
    for tool, words in (
        (qmlir_opt.main, ["m.float.mlir", "-o", "m.float.mlir"]),
        (qmlir_opt.main, ["m.float.mlir", "-o", "link.mlir", "--force"]),
        (qmlir_opt.main, ["m.float.mlir", "-o", "p.pdl", "--pdl-file", "p.pdl"]),
        (qmlir_opt.main, ["m.float.mlir", "--crash-reproducer", "link.mlir", "-p", "nn-decompose"]),
        (qmlir_translate.main, ["--import-onnx", "m.onnx", "-o", "m.onnx"]),
        (qmlir_translate.main, ["--export-onnx", "m.float.mlir", "-o", "link.mlir"]),
    ):
        code, said = run(*words, tool=tool)
        assert (code, "it is an input of this run" in said) == (1, True), (words, said)
    assert tree(work) == before


def test_no_function_writes_an_input(work: Path) -> None:
    (work / "link.onnx").symlink_to("m.onnx")
    (work / "link.mlir").symlink_to("m.onnx")
    quantized = qmlir.quantize("m.onnx", "d.npz", validate=False)
    loaded = qmlir.load("m.onnx")
    renamed = qmlir.quantize(qmlir.load("m.onnx"), "samples", validate=False)
    partitioned = qmlir.partition(quantized, "cpu")
    profile = qmlir.profile(loaded, "d.npz")
    before = tree(work)
    calls: list[Callable[[], Any]] = [
        lambda: quantized.save("m.onnx"),
        lambda: quantized.save("link.mlir", force=True),
        lambda: renamed.save("samples/q"),
        lambda: qmlir.export_onnx("m.onnx", "m.onnx"),
        lambda: qmlir.export_onnx(loaded, "link.onnx"),
        lambda: qmlir.export_onnx(quantized, "m.onnx", force=True),
        lambda: qmlir.export_onnx(partitioned.module, "m.onnx"),
        lambda: profile.save("m.onnx"),
        lambda: profile.save("d.npz"),
        lambda: qmlir.compile("c.mlir").save(".", force=True),
        lambda: qmlir.quantize("c.mlir", "d.npz", validate=False).save("constants.mlir", force=True),
        lambda: qmlir.report("q", "d.npz", "q/profile.json", time=False),
        lambda: qmlir.finetune("m.onnx", "d.npz", epochs=1, batch_size=4, checkpoint="m.onnx"),
        lambda: qmlir.profile("m.onnx", "samples", resume="samples/parts"),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(DiagnosticError, match=r"input of this run|in the folder of samples"):
            call()
        assert tree(work) == before, number
    quantized.save("q2")
    quantized.save("q2")
    qmlir.compile(quantized).save("q2/program")
    assert run("run", "q2/program", "--input", "one.npz")[0] == 0
    again = qmlir.load("q2")
    quantized.save("q2.mlir")
    qmlir.export_onnx(again, "new.onnx")
    qmlir.export_onnx(qmlir.load("new.onnx"), "newer.onnx")
    qmlir.export_onnx(again, "new.onnx")  # it was not made of it


def test_results_may_lie_where_their_inputs_lie(work: Path) -> None:
    for name in ("m.float.mlir", "m.float.safetensors", "constants.safetensors"):
        (work / name).unlink()
    before = tree(work)
    for words in (
        [*QUANTIZE, "."],
        [*QUANTIZE, "."],
        ["compile", ".", "-o", "."],
        ["compile", "q", "-o", "q/program"],
        ["compile", "q", "-o", "q/program", "--codegen", "llvm"],
        ["compile", "q", "-o", "q"],
    ):
        assert run(*words) == (0, ""), words
    after = tree(work)
    changed = {name for name, found in before.items() if after.get(name) != found}
    assert changed <= {f"q/{LIST}"}
    for folder in (".", "q", "q/program"):
        assert run("run", folder, "--input", "one.npz")[0] == 0


# Files in the way


@pytest.mark.parametrize("kind", ["folder", "link", "hidden names", "in front"])
def test_folders_of_the_user_stay(work: Path, kind: str) -> None:
    """Siblings, a folder behind a link, an older result of a version without lists."""
    for name in (".out.old", ".out", "out.old", ".p.old"):
        (work / name).mkdir()
        (work / name / "notes.txt").write_text("mine")
    if kind == "link":
        (work / "elsewhere").mkdir()
        (work / "elsewhere" / "notes.txt").write_text("mine")
        (work / "out").symlink_to("elsewhere")
    if kind == "in front":
        shutil.copytree("q", "out")
        (work / "out" / LIST).unlink()
        before = tree(work)
        code, said = run(*QUANTIZE, "out")
        assert (code, "already exists: qmlir did not write it" in said) == (1, True)
        assert tree(work) == before
    before = tree(work)
    assert run(*QUANTIZE, "out", *(["--force"] if kind == "in front" else [])) == (0, "")
    assert run("compile", "out", "-o", "p") == (0, "")
    after = tree(work)
    assert {name for name in before if after.get(name) != before[name] and not name.startswith("out/")} == set()


def test_an_edited_recipe_stops_the_run_before_the_samples_are_read(work: Path) -> None:
    (work / "q" / "recipe.toml").write_text("# mine\n")
    before = tree(work)
    words = ["quantize", "m.onnx", "--data", "gone.npz", "-o", "q"]
    code, said = run(*words)
    assert (code, "'q/recipe.toml' already exists: it was modified after qmlir wrote it" in said) == (1, True)
    assert tree(work) == before
    assert run(*QUANTIZE, "q", "--force") == (0, "")
    assert run(*QUANTIZE, "q") == (0, "")


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_parts_and_checkpoints_are_not_followed(work: Path, kind: str) -> None:
    profile = ["profile", "m.onnx", "--data", "d.npz", "-o", "new.json", "--resume", "parts"]
    train = [*FINETUNE, "t.mlir", "--checkpoint", "state"]
    assert run(*profile)[0] == 0
    assert run(*train)[0] == 0
    (work / "victim").write_text("precious")
    for path in (*(work / "parts").iterdir(), work / "state"):
        path.unlink()
        if kind == "link":
            path.symlink_to(work / "victim")
        else:
            os.mkfifo(path)
    before = tree(work)
    for words in (profile, train):
        code, said = run(*words)
        assert (code, "it is a symbolic link, or not a regular file; remove it" in said) == (1, True), said
        assert tree(work) == before


def test_a_report_without_a_name_replaces_reports_only(work: Path) -> None:
    words = ["report", "q", "--data", "d.npz", "--no-time"]
    for _ in range(2):
        assert run(*words)[0] == 0
    (work / "report.html").write_text("<html>mine</html>")
    code, said = run(*words)
    assert (code, "'report.html' already exists: qmlir did not write it" in said) == (1, True)
    assert (work / "report.html").read_text() == "<html>mine</html>"
    assert run(*words, "-o", "report.html")[0] == 0


def test_dumps_replace_dumps_only(work: Path) -> None:
    words = ["m.float.mlir", "-p", "func.func(cse)", "-o", "out.mlir", "--mlir-print-ir-tree-dir", "dumps"]
    for _ in range(2):
        assert run(*words, tool=qmlir_opt.main) == (0, "")
    dump = next((work / "dumps").rglob("*.mlir"))
    dump.write_text("mine")
    code, said = run(*words, tool=qmlir_opt.main)
    assert (code, "already exists: qmlir did not write it" in said) == (1, True)
    assert dump.read_text() == "mine"
    folder = dump.parent
    shutil.rmtree(folder)
    folder.symlink_to(work / "samples")
    code, said = run(*words, tool=qmlir_opt.main)
    assert (code, "it is a symbolic link" in said) == (1, True)
    assert os.listdir(work / "samples") == ["0.npy"]


def test_external_data_is_replaced_only_if_the_model_there_names_it(work: Path) -> None:
    words = ["export", "m.onnx", "--external-data", "-o"]
    assert run("export", "q", "--external-data", "-o", "e.onnx") == (0, "")  # qmlir's, and as it was written
    (work / "new.onnx.data").write_text("mine")
    shutil.copy("e.onnx", "big2.onnx")
    (work / "big2.onnx.data").write_text("mine")
    before = tree(work)
    for name in ("new.onnx", "big2.onnx"):
        code, said = run(*words, name)
        assert (code, f"'{name}.data' already exists: '{name}' does not name it" in said) == (1, True)
    assert tree(work) == before
    assert run(*words, "new.onnx", "--force") == (0, "")
    assert np.array_equal(qmlir.interpret("new.onnx", [X[:1]])["y"], qmlir.interpret("m.onnx", [X[:1]])["y"])
    onnx.checker.check_model("new.onnx")


# Random trees

COMMANDS: Mapping[str, tuple[list[str], list[str]]] = {
    "quantize": ([*QUANTIZE, "out"], ["m.q.mlir", "m.q.safetensors", "m.float.mlir", "profile.json", "summary.json"]),
    "quantize .mlir": ([*QUANTIZE, "out/r.mlir"], ["r.mlir", "r.safetensors"]),
    "quantize .onnx": ([*QUANTIZE, "out/r.onnx", "--external-data"], ["r.onnx", "r.onnx.data"]),
    "compile": (["compile", "q", "-o", "out"], ["__init__.py", "program.json", "runtime/errors.py", "runtime"]),
    "emit": (["compile", "q", "--emit", "c", "-o", "out"], ["model.c", "model.h", "model.json"]),
    "export": (["export", "q", "-o", "out/r.onnx", "--external-data"], ["r.onnx", "r.onnx.data"]),
    "profile": (["profile", "m.onnx", "--data", "d.npz", "-o", "out/p.json"], ["p.json"]),
    "profile .mlir": (["profile", "m.onnx", "--data", "d.npz", "-o", "out/r.mlir"], ["r.mlir", "r.safetensors"]),
    "run": (["run", "q", "--input", "one.npz", "-o", "out/y.npz"], ["y.npz"]),
    "partition": (["partition", "q", "--device", "cpu", "-o", "out/r.mlir"], ["r.mlir", "r.safetensors"]),
    "report": (["report", "q", "--data", "d.npz", "--no-time", "-o", "out/r.html"], ["r.html"]),
    "new-dialect": (["new-dialect", "toy", "-o", "out"], ["pyproject.toml", "README.md"]),
    "write-config": ([*QUANTIZE, "out/x", "--config", "out/c.toml", "--write-config"], ["c.toml"]),
}  # fmt: skip


def check_random_tree(work: Path, command: str, seed: int) -> None:
    """Run a command over a random tree: files that it neither names nor wrote stay as they are."""
    rng = random.Random(f"{command} {seed}")
    words, names = COMMANDS[command]
    out, victim = work / "out", work / "victim"
    victim.write_text("precious")
    has_force = command not in ("new-dialect", "write-config")
    if rng.random() < 0.5:
        out.mkdir()
        if command != "new-dialect":
            run(*words)  # an older result
    out.mkdir(exist_ok=True)
    for name in [*names, "notes.txt", "sub/notes.txt", ".hidden"]:
        path = out / name
        if rng.random() < 0.75 or path.is_dir() or (not path.parent.is_dir() and path.parent.exists()):
            continue
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        kind = rng.choice(["file", "file", "link", "dangling", "fifo", "folder", "gone"])
        if kind == "file":
            path.write_text("mine")
        elif kind in ("link", "dangling"):
            path.symlink_to(victim if kind == "link" else work / "nothing")
        elif kind == "fifo" and name != _named(words):  # a pipe that the user names is written to
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
    force = has_force and rng.random() < 0.3
    before, listed = tree(work), json.loads((out / LIST).read_text())["files"] if (out / LIST).is_file() else {}
    code, said = run(*words, *(["--force"] if force else []))
    after = tree(work)
    if code:
        assert (code in (1, 2), said.count("\n")) == (True, 1), said
        assert after == before
        return
    derived = names if command.startswith(("quantize .", "profile ", "export", "partition")) else []
    for name, found in before.items():
        relative = name.removeprefix("out/")
        if after.get(name) == found:
            continue
        if relative in (LIST, _named(words)) or (force and relative in names):
            continue  # the file that the user named, or one that may be replaced by force
        assert relative in (*listed, *derived), name  # files of qmlir
        assert found[0] == "file", name
        assert found[1] != b"mine", name
    assert not (work / "nothing").exists()


def _named(words: list[str]) -> str:
    return words[words.index("-o") + 1].removeprefix("out/")


@pytest.mark.parametrize("command", COMMANDS)
def test_random_trees(work: Path, command: str) -> None:
    for seed in range(3):
        check_random_tree(work, command, seed)
        shutil.rmtree(work / "out")


@pytest.mark.sweep
@pytest.mark.parametrize("command", COMMANDS)
def test_many_random_trees(work: Path, command: str) -> None:
    for seed in range(3, 40):
        check_random_tree(work, command, seed)
        shutil.rmtree(work / "out")
