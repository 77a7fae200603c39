"""The command line of the benchmark of compiled programs: what is wrong is told before anything is measured."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import compiled


def _refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """The last line that is written."""
    monkeypatch.setattr(sys, "argv", ["bench-compiled", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        compiled.main()
    assert stop.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("words", [("--seconds", "nan"), ("--seconds", "inf"), ("--rounds", "0"), ("--threads", "0")])
def test_turns_are_numbers(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _refused(monkeypatch, capsys, *words)
    assert found.endswith("error: --threads and --rounds are at least 1, and --seconds more than 0")


def test_options_that_do_not_go_together(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = _refused(monkeypatch, capsys, "--processor-time", "--threads", "1", "2")
    assert found.endswith("it is for --threads 1")
    found = _refused(monkeypatch, capsys, "--results", "latency.json", "--threads", "1", "2")
    assert found.endswith("--results has one caption, and takes one number of --threads")
    found = _refused(monkeypatch, capsys, "--limit", "avx2", "--only", "layers")
    assert found.endswith("the peers of the others cannot be limited")


def test_a_folder_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    found = _refused(monkeypatch, capsys, "--folder", file / "models")
    assert found.endswith(f"error: cannot keep models in {file / 'models'}: Not a directory")
    found = _refused(monkeypatch, capsys, "--folder", file)
    assert found.endswith(f"error: cannot keep models in {file}: File exists")


def test_nothing_to_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No file of results without rows is written."""
    monkeypatch.setattr(compiled, "prepare", lambda name, *_: SimpleNamespace(name=name))
    words = ["--only", "starts", "--model", "digits_mlp", "--models", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["bench-compiled", *words, "--results", str(tmp_path / "starts.json")])
    assert compiled.main() == 1
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith("no figures: --only starts covers none of the models digits_mlp")
    assert not [*tmp_path.iterdir()]
