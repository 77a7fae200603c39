"""Names that say something to a terminal, to rich, to HTML or to a file system are shown escaped, by every command."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from qmlir.ir.diagnostics import LINES, printable
from qmlir.tools.qmlir_cli import main

EVIL = "fc\x1b[31m\u202e[/x]<b>\nimport os\x7f\u2028"
LONG = "n" * 3000


def _literal(text: str) -> str:
    return '"' + "".join(f"\\{byte:02X}" for byte in text.encode()) + '"'


def _model(folder: Path, name: str) -> Path:
    text = """
    func.func @main(%x: tensor<1x8xf32> {nn.name = NAME}) -> (tensor<1x2xf32> {nn.name = NAME}) {
      %w = nn.constant dense<0.5> : tensor<2x8xf32> {origin = NAME}
      %b = nn.constant dense<[0.125, -0.5]> : tensor<2xf32> {origin = NAME}
      %0 = nn.fully_connected %x, %w, %b : (tensor<1x8xf32>, tensor<2x8xf32>, tensor<2xf32>) -> tensor<1x2xf32>
        {origin = NAME}
      %1 = nn.relu %0 : tensor<1x2xf32> {origin = NAME}
      func.return %1 : tensor<1x2xf32>
    }
    """
    path = folder / "model.mlir"
    path.write_text(text.replace("NAME", _literal(name)))
    np.savez(folder / "data.npz", x=np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32))
    np.save(folder / "data.npy", np.load(folder / "data.npz")["x"])
    np.save(folder / "x.npy", np.ones((1, 8), np.float32))
    return path


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _said(*words: str, code: int = 0) -> str:
    out, err = io.StringIO(), io.StringIO()
    assert main(words, stdin=io.StringIO(), stdout=out, stderr=err) == code, err.getvalue()
    return out.getvalue() + err.getvalue()


def _is_shown(text: str) -> bool:
    return printable(text, LINES) == text and "\nimport os" not in text


@pytest.mark.parametrize("name", [EVIL, LONG])
def test_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    model = str(_model(tmp_path, name))
    _said("quantize", model, "--data", "data.npy", "-o", "out")
    commands = [
        ["inspect", model],
        ["inspect", model, "--json"],
        ["run", model, "--input", f"{name}=x.npy"],
        ["compare", "out", "--data", "data.npy"],
        ["compare", "out", "--data", "data.npy", "--json"],
        ["explain", "out", name],
        ["profile", model, "--data", "data.npy", "-o", "p.json"],
        ["report", "out", "--data", "data.npy", "--no-time", "-o", "report.html", "--title", name],
    ]
    for words in commands:
        text = _said(*words)
        assert _is_shown(text), words
        if "--json" in words:
            assert printable(name)[:20] in text.replace("\\n", "\\u000a")
            json.loads(text)
    assert _is_shown(Path("report.html").read_text(encoding="utf-8"))
    assert _is_shown(_said("profile", model, "--data", "data.npz", "-o", "p.json", code=1))  # no such input
    assert _is_shown(_said("explain", "out", "other", code=1))


def test_a_table_with_colours_shows_names_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _said("quantize", str(_model(tmp_path, EVIL)), "--data", "data.npy", "-o", "out")
    out = _Terminal()
    assert main(["compare", "out", "--data", "data.npy"], stdin=io.StringIO(), stdout=out, stderr=io.StringIO()) == 0
    assert "\x1b[31m\u202e" not in out.getvalue()
    assert "\u202e" not in out.getvalue()


def test_a_program_of_long_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are named by nodes, and numba's files by kernels."""
    monkeypatch.chdir(tmp_path)
    _said("compile", str(_model(tmp_path, LONG)), "-o", "program")
    assert f"{LONG}: 1x2 float32" in _said("run", "program", "--input", f"{LONG}=x.npy")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ünïcode and 漢字", "plain text, ünïcode and 漢字"),
        ("\x1b[2J", r"\u001b[2J"),
        ("a\nb\tc", r"a\u000ab\u0009c"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("\udc80", r"\udc80"),
        ("\U000e0001", r"\udb40\udc01"),
        ("\x7f\x85", r"\u007f\u0085"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown
    assert json.loads(f'"{printable(text)}"') == text


def test_lines_are_kept_where_text_has_them() -> None:
    assert printable("a\n\tb\x1b", LINES) == "a\n\tb\\u001b"
