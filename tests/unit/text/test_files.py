"""Files that somebody else may have put there: only regular ones are read, and names out of files have no path."""

import json
import os
from pathlib import Path

import pytest

import qmlir
from qmlir.environment import default_environment
from qmlir.extensions.search.trials import Measurements
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.recipe_text import RecipeText
from qmlir.targets.cpu.saved import is_program
from qmlir.text.files import is_file_name, read_given, read_json, read_regular
from qmlir.text.parsing import parse_module
from qmlir.workflows.folder import SUMMARY, QuantizedFolder


def test_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("[1]")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"[1]"
    assert read_regular(tmp_path / "file", 2) == b"[1"
    assert read_json(tmp_path / "file") == [1]


def test_nothing_waits_for_a_pipe(tmp_path: Path) -> None:
    """Where it is in the place of any file that is looked for beside another."""
    for name in (SUMMARY, "program.json", "w.safetensors", "state"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="it is not a regular file"):
        read_regular(tmp_path / SUMMARY)
    assert not QuantizedFolder.holds(tmp_path)
    assert not is_program(tmp_path)
    with pytest.raises(DiagnosticError, match=r"'.*state' already exists"):
        Measurements("key", tmp_path / "state")
    text = '%0 = nn.constant #nn.weights<"w.safetensors", "w0", "sha256:"> : tensor<4xf32>'
    with pytest.raises(DiagnosticError, match=r"'w\.safetensors': it is not a regular file"):
        parse_module(default_environment().new_context(), text, directory=tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff", "9" * 5000])
def test_what_is_no_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text, encoding="latin-1")
    assert read_json(tmp_path / "file") is None


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "../a", "/a", "a\\b", "a\0", "a" * 231, "é" * 116])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    assert not is_file_name(name)
    content = {"format": "qmlir-quantized", "stem": name}
    (tmp_path / SUMMARY).write_text(json.dumps(content))
    assert not QuantizedFolder.holds(tmp_path)
    with pytest.raises(DiagnosticError, match="is not a folder written by 'qmlir quantize'"):
        QuantizedFolder.open(tmp_path)


@pytest.mark.parametrize("name", ["a", "a b.c", "é" * 115, "x..y"])
def test_names(tmp_path: Path, name: str) -> None:
    assert is_file_name(name)
    (tmp_path / name).touch()


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="there is no /dev/zero")
def test_a_device_without_end_is_rejected_and_a_pipe_is_read() -> None:
    with pytest.raises(OSError, match="it is a device"):
        read_given("/dev/zero")
    assert read_given("/dev/null") == b""
    end, start = os.pipe()
    os.write(start, b"text")
    os.close(start)
    assert read_given(f"/dev/fd/{end}") == b"text"
    os.close(end)
    for read in (lambda: qmlir.load("/dev/zero"), lambda: RecipeText.of("/dev/full")):
        with pytest.raises(DiagnosticError, match=r"cannot read .*: it is a device"):
            read()
