"""The file of tuned schedules: what was written is read again, and anything else is not an entry, or no file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qmlir.extensions.search.tuned import TunedKernel, Tuning, tuning_text
from qmlir.ir.diagnostics import DiagnosticError

FASTER = TunedKernel("a conv", "#kernel.schedule<…>", "#kernel.schedule<>", 1e-6, 2e-6, 5)
SAME = TunedKernel("a matmul", None, "#kernel.schedule<>", 3e-6, 3e-6, 4)
KERNELS = {each.key: each for each in (FASTER, SAME)}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(tuning_text(KERNELS))
    assert Tuning.read(path) == Tuning(KERNELS)
    assert (FASTER.gain, SAME.gain) == (0.5, 0.0)


def test_only_other_schedules_change_the_digest() -> None:
    assert Tuning({}).digest() == Tuning({SAME.key: SAME}).digest() == ""
    assert Tuning({FASTER.key: FASTER}).digest() == Tuning(KERNELS).digest() != ""


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(entry: dict[str, Any]) -> None:
        entry[name] = value

    return change


def _drop(entry: dict[str, Any]) -> None:
    del entry["tried"]


@pytest.mark.parametrize(
    "change",
    [_set("seconds", 1e-9), _set("schedule", "#kernel.schedule<of mine>"), _set("more", 1), _set("digest", ""), _drop],
)
def test_a_changed_entry_is_none_and_the_others_stay(change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(tuning_text(KERNELS))
    change(content["kernels"][FASTER.key])
    assert Tuning.from_text(json.dumps(content)) == Tuning({SAME.key: SAME}, damaged=1)


def test_an_entry_of_another_kernel_is_none() -> None:
    content = json.loads(tuning_text(KERNELS))
    content["kernels"][SAME.key] = content["kernels"][FASTER.key]
    assert Tuning.from_text(json.dumps(content)) == Tuning({FASTER.key: FASTER}, damaged=1)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": "qmlir-tuning"}', '{"format": "other", "kernels": {}}'])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(text)
    with pytest.raises(DiagnosticError, match="does not contain tuned schedules"):
        Tuning.read(path)
