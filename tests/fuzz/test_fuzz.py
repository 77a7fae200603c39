"""A sample of each kind in every run, always the same; `python -m tests.fuzz` reads as many as there is time for."""

import os
import signal

import pytest

from tests.fuzz import frame
from tests.fuzz.frame import Kind, Outcome, findings
from tests.fuzz.kinds import KINDS

SAMPLE = 40


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_damaged_files_are_read_or_refused(kind: Kind) -> None:
    assert [
        f"{each.number} ({each.origin}): {each.what}\n{each.detail}" for each in findings(kind, 0, range(SAMPLE))
    ] == []


def _kind(read) -> Kind:
    return Kind("test", ".txt", lambda: {"whole": b"0"}, lambda rng, data, others: data, read)


def _raise(path) -> Outcome:
    raise KeyError(path.name)


def _killed(path) -> Outcome:
    os.kill(os.getpid(), signal.SIGKILL)
    return Outcome(0, "")


def _endless(path) -> Outcome:
    while True:
        pass


def test_what_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "SECONDS", 0.2)
    assert [each.what for each in findings(_kind(_endless), 0, range(2))] == ["hangs: over 0.2 s"] * 2


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (_raise, "KeyError in test_fuzz.py"),
        (_killed, "crashes: exit code -9"),
        (lambda path: Outcome(1, ""), "refused without a word"),
        (lambda path: Outcome(-11, "done"), "exit code -11"),
        (lambda path: Outcome(1, "error: importer raised TypeError: 'x'"), "a raw TypeError"),
    ],
)
def test_what_is_found(read, what: str) -> None:
    found = list(findings(_kind(read), 0, range(2)))
    assert [each.number for each in found] == [0, 1]
    assert all(each.what.startswith(what) for each in found)


def test_a_result_and_a_reason_are_right() -> None:
    for outcome in (Outcome(0, ""), Outcome(1, "file.txt: error: a number was expected"), Outcome(2, "usage")):
        assert not list(findings(_kind(lambda path, outcome=outcome: outcome), 0, range(2)))
