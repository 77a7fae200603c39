"""Commands that are killed at random: files of the user are intact, and no mixture of two results can be loaded.

`python -m tests.unit.tools.test_killed_runs COUNT` kills each command so often, and prints what was left.
"""

import hashlib
import io
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.profiles.profile import Profile
from qmlir.tools import qmlir_cli

X = np.random.default_rng(0).normal(size=(16, 64)).astype(np.float32)


def model(seed: int) -> onnx.ModelProto:
    """A matrix product whose weights lie in files of their own."""
    weights = np.random.default_rng(seed).normal(size=(64, 64)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", 1, (1, 64))], [helper.make_tensor_value_info("y", 1, (1, 64))],
        [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _outputs(path: Path) -> str:
    return _digest(np.asarray(qmlir.interpret(qmlir.load(path), [X[:1]])["y"]).tobytes())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _folder(path: Path) -> str:
    """The result of `quantize`: both modules and the profile, which must be of one run."""
    if not (path / "summary.json").exists():
        qmlir.load(path)
    found = [str(qmlir.load(path)), str(qmlir.load(path / "m.float.mlir"))]
    assert Profile.load(path / "profile.json").samples == 16
    return _digest("".join(found).encode())


def _program(path: Path) -> str:
    return _digest(np.asarray(qmlir.load_program(path)([X[:1]])["y"]).tobytes())


@dataclass(frozen=True)
class Kill:
    """A command with its result, and what loads that: a digest of what it computes."""

    words: tuple[str, ...]
    result: str
    loaded: Callable[[Path], str]


KILLS = {
    "quantize": Kill(("quantize", "{m}.onnx", "--data", "d.npz", "-o", "r/out"), "r/out", _folder),
    "compile": Kill(("compile", "{m}.mlir", "-o", "r/out"), "r/out", _program),
    "export": Kill(("export", "{m}.onnx", "-o", "r/out.onnx", "--external-data"), "r/out.onnx", _outputs),
    "finetune": Kill(
        ("finetune", "{m}.onnx", "--data", "d.npz", "--epochs", "1", "--batch-size", "4", "--checkpoint", "r/state",
         "-o", "r/out.mlir"), "r/out.mlir", _outputs,
    ),
    "profile": Kill(
        ("profile", "{m}.onnx", "--data", "d.npz", "-o", "r/out.mlir"), "r/out.mlir",
        lambda path: _digest(str(qmlir.load(path)).encode()),
    ),
}  # fmt: skip


def prepare(folder: Path) -> None:
    """Two models in two forms, `old/m` and `new/m`, and samples."""
    for seed, name in enumerate(("old", "new")):
        (folder / name).mkdir()
        onnx.save(model(seed), str(folder / name / "m.onnx"))
    np.savez(folder / "d.npz", x=X)


def run(words: list[str]) -> int:
    """The exit code of a command, which prints nothing."""
    return qmlir_cli.main(words, stdin=io.StringIO(), stdout=io.StringIO(), stderr=io.StringIO())


_NEVER = 1 << 30


def _in_child(words: list[str], changes: int = _NEVER, seconds: float = 0) -> tuple[bool, int]:
    """Run a command in a child, and kill it when it has made so many changes in the folders of results, or after some
    time. Return whether it was still running, and the number of its changes."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event in ("open", "os.mkdir", "os.rename", "os.remove") and ".qmlir-" in str(arguments[:2]):
                os.write(tell, b"x")

        sys.addaudithook(hook)
        code = 1
        try:
            code = run(words)
        finally:
            os._exit(code)
    os.close(tell)
    if seconds:
        time.sleep(seconds)
    seen = 0
    while not seconds and seen < changes and os.read(told, 1):
        seen += 1
    if seconds or seen == changes:
        os.kill(child, signal.SIGKILL)
    os.close(told)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1]), seen


def users_files(folder: Path) -> dict[str, bytes]:
    """The files that the user had before: inputs, and those that lie where results are written."""
    mine = (
        "old/m.onnx",
        "new/m.onnx",
        "old/m.mlir",
        "new/m.mlir",
        "d.npz",
        "r/notes.txt",
        "r/.out.old/notes.txt",
        "r/out/notes.txt",
    )
    return {name: (folder / name).read_bytes() for name in mine if (folder / name).exists()}


def check(name: str, folder: Path, seed: int) -> str:
    """Kill a command once; what is left: `old`, `new`, `nothing`, `rejected`, or `done` if it was too late."""
    rng, kill = random.Random(f"{name} {seed}"), KILLS[name]
    shutil.rmtree(folder / "r", ignore_errors=True)
    (folder / "r" / ".out.old").mkdir(parents=True)
    (folder / "r" / ".out.old" / "notes.txt").write_text("mine")
    (folder / "r" / "notes.txt").write_text("mine")
    result = folder / kill.result

    def words(of: str) -> list[str]:
        return [word.format(m=f"{of}/m") for word in kill.words]

    def fresh(of: str) -> str:
        assert run(words(of)) == 0
        found = kill.loaded(result)
        (folder / "r" / "state").unlink(missing_ok=True)
        return found

    known = {"new": fresh("new")}
    began = time.monotonic()
    changes = _in_child(words("new"))[1]
    seconds = time.monotonic() - began
    (folder / "r" / "state").unlink(missing_ok=True)
    for path in (result, *(folder / "r").glob("out*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if seed % 2:
        known["old"] = fresh("old")
        if result.is_dir():
            (result / "notes.txt").write_text("mine")
    before = users_files(folder)
    aimed = (rng.randrange(1, changes + 20), 0.0) if seed % 4 < 2 else (_NEVER, rng.uniform(0.001, seconds))
    was_killed = _in_child(words("new"), *aimed)[0]
    assert users_files(folder) == before
    state = "nothing"
    if os.path.lexists(result):
        state = _state(kill, result, known)
    assert state != "nothing" or "old" not in known
    assert run(words("new")) == 0  # without --force
    assert kill.loaded(result) == known["new"]
    assert users_files(folder) == before
    return state if was_killed else "done"


def _state(kill: Kill, result: Path, known: dict[str, str]) -> str:
    try:
        found = kill.loaded(result)
    except DiagnosticError as error:
        said = str(error)
        if "\n" in said or not any(each in said for each in ("interrupted; run it again", "compile the model again")):
            raise AssertionError(f"it does not say what to do: {said}") from error
        return "rejected"
    return next(name for name, each in known.items() if each == found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("killed")
    prepare(made)
    before = os.getcwd()
    os.chdir(made)
    for of in ("old", "new"):
        assert run(["quantize", f"{of}/m.onnx", "--data", "d.npz", "-o", f"{of}/m.mlir"]) == 0
    os.chdir(before)
    return made


@pytest.mark.parametrize("name", KILLS)
def test_killed_runs(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(folder)
    for seed in range(2):
        check(name, folder, seed)


def main(count: int) -> None:
    """Kill each command `count` times."""
    with TemporaryDirectory() as text:
        os.chdir(text)
        prepare(Path(text))
        for of in ("old", "new"):
            assert run(["quantize", f"{of}/m.onnx", "--data", "d.npz", "-o", f"{of}/m.mlir"]) == 0
        for name in KILLS:
            found = Counter(check(name, Path(text), seed) for seed in range(count))
            print(f"{name}: {count} runs, left: {dict(found)}, nothing lost", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
