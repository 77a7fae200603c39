"""What a caller gives where a path is taken: whatever it is, what comes is a result or an error of one line."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.tools import qmlir_cli
from qmlir.workflows.quantized import Quantized

TEXT = """builtin.module {
  func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
    %0 = "nn.relu"(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
    func.return %0 : tensor<1x4xf32>
  }
}
"""

ROWS = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Quantized:
    path = tmp_path_factory.mktemp("model") / "net.mlir"
    path.write_text(TEXT)
    return qmlir.quantize(qmlir.load(path), ROWS)


class _BytesPath:
    def __fspath__(self) -> bytes:
        return b"net.mlir"


def _circle(folder: Path) -> str:
    (folder / "circle.mlir").symlink_to(folder / "circle.mlir")
    return str(folder / "circle.mlir")


NO_PATHS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a long text": (lambda _: TEXT * 20, "…' of 3640 characters: File name too long"),
    "a long name": (lambda folder: folder / f"{'x' * 300}.onnx", "File name too long"),
    "an empty text": (lambda _: "", "a path must not be empty"),
    "a NUL": (lambda _: "net\0.mlir", "'net\\u0000.mlir': it contains a NUL character"),
    "a lone surrogate": (lambda _: "\ud800.mlir", "the file system cannot encode it"),
    "bytes of a path": (
        lambda _: _BytesPath(),
        "a path must be a str or an os.PathLike, but got an os.PathLike of bytes",
    ),
    "a circle of links": (_circle, "Too many levels of symbolic links"),
}
"""What no file is named by, and what is said of it."""

TAKERS: dict[str, Callable[[Quantized, Any], Any]] = {
    "load": lambda _, path: qmlir.load(path),
    "interpret": lambda _, path: qmlir.interpret(path, [ROWS[:1]]),
    "load_program": lambda _, path: qmlir.load_program(path),
    "Profile.load": lambda _, path: qmlir.Profile.load(path),
    "Profile.save": lambda made, path: made.profile.save(path),
    "data": lambda made, path: qmlir.profile(made.source, path),
    "resume": lambda made, path: qmlir.profile(made.source, ROWS, resume=path),
    "state": lambda made, path: qmlir.search(made.source, ROWS, max_drop=0.1, state=path),
    "checkpoint": lambda made, path: qmlir.finetune(made.source, ROWS, checkpoint=path),
    "compare": lambda made, path: qmlir.compare(made.source, path, ROWS),
    "explain": lambda _, path: qmlir.explain(path, "x"),
    "report of a model": lambda _, path: qmlir.report(path, ROWS, "report.html", time=False),
    "report to a file": lambda made, path: qmlir.report(made, ROWS, path, time=False),
    "export_onnx": lambda made, path: qmlir.export_onnx(made.module, path),
    "Quantized.save": lambda made, path: made.save(path),
    "Emitted.save": lambda made, path: qmlir.emit(made).save(path),
    "Program.save": lambda made, path: qmlir.compile(made).save(path),
    "a divided program's save": lambda made, path: qmlir.compile(made, device="interpreter").save(path),
}
"""The public functions that take a path."""


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("kind", NO_PATHS)
def test_no_path_is_one_line(
    taker: str, kind: str, made: Quantized, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, wanted = NO_PATHS[kind]
    with pytest.raises(DiagnosticError) as caught:
        TAKERS[taker](made, make(tmp_path))
    assert wanted in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 700  # not all of a text


@pytest.mark.parametrize("given", [None, 3, b"net.mlir", ["net.mlir"]])
@pytest.mark.parametrize("taker", [each for each in TAKERS if each not in ("resume", "state", "checkpoint")])
def test_other_types_are_one_line(
    taker: str, given: Any, made: Quantized, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if given is None and taker in ("export_onnx", "compare", "report to a file"):
        pytest.skip("None means that there is no path")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError) as caught:
        TAKERS[taker](made, given)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("recipe", [each for each in NO_PATHS if each != "an empty text"])
def test_recipes(recipe: str, made: Quantized, tmp_path: Path) -> None:
    """An empty one is no recipe."""
    make, wanted = NO_PATHS[recipe]
    with pytest.raises(DiagnosticError) as caught:
        qmlir.quantize(made.source, ROWS, recipe=make(tmp_path))
    assert wanted in str(caught.value)


def test_a_path_may_have_lines_and_be_missing(made: Quantized, tmp_path: Path) -> None:
    """What can be a path is one, there or not yet."""
    for name in ("two\nlines.mlir", "x" * 250 + ".mlir", "…·.mlir"):
        with pytest.raises(DiagnosticError, match="No such file or directory"):
            qmlir.load(tmp_path / name)
    made.save(tmp_path / "two\nlines.mlir")
    assert str(qmlir.load(os.fspath(tmp_path / "two\nlines.mlir"))) == str(made.module)


@pytest.mark.parametrize("stem", ["", "../outside", ".hidden", "a\0b", "x" * 300])
def test_a_stem_has_no_path(stem: str, made: Quantized, tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="stem must be a file name without folder and suffix"):
        made.save(tmp_path / "folder", stem=stem)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["run", "inspect", "quantize", "profile", "compile"])
def test_commands_too(command: str) -> None:
    arguments = ["--data", "x.npz"] if command in ("quantize", "profile") else []
    arguments += ["-o", "out"] if command in ("quantize", "profile", "compile") else []
    told = io.StringIO()
    code = qmlir_cli.main([command, "x" * 300, *arguments], stdin=io.StringIO(), stdout=io.StringIO(), stderr=told)
    assert code == 1
    assert "File name too long" in told.getvalue()
    assert len(told.getvalue().splitlines()) == 1
