"""What a mutant is, by hand; that one lives in its own process alone; and that no explanation is out of date."""

import subprocess
import sys
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from tests.mutants import running
from tests.mutants.coverage import mirrored_files
from tests.mutants.mutations import ROOT, applied, drawn, mutants_of, subjects
from tests.mutants.survivors import Explained, explained, mutants_explained

CHANGES = [
    ("a < b", ["a <= b"]),
    ("a <= b < c", ["a < b < c", "a <= b <= c", "a <= b", "b < c"]),
    ("x is None", ["x is not None"]),
    ("a and b and c", ["b and c", "a and c", "a and b", "a or b or c"]),
    ("not a", ["a"]),
    ("a // b", ["a * b"]),
    ("isinstance(a, Some | Other)", ["isinstance(a, Other)", "isinstance(a, Some)"]),
    ("f(a, b)", ["f(b, a)"]),
    ("f(a, g(b))", []),  # arguments that are hardly of one type
    ("min(a, b)", ["max(a, b)"]),
    ("x if a < b else y", ["y if a < b else x", "a <= b"]),
    ("[a, b]", ["[b]", "[a]"]),
    ("a[-2]", ["return a[-3]"]),
    ("f'{a + 1}'", []),  # words
    ("op_error(a, b)", []),
    ("Callable[[A, B], C]", []),  # the name of a type
]


@pytest.mark.parametrize(("text", "changes"), CHANGES)
def test_changes(text: str, changes: list[str]) -> None:
    found = mutants_of("module.py", f"def function():\n    return {text}\n")
    assert [(each.after, each.line, each.function) for each in found] == [(each, 2, "function") for each in changes]


def test_statements() -> None:
    source = "@decorated(1)\ndef f(a: int):\n    'Text 1.'\n    assert a < 2\n    if a:\n        raise E(1)\n    g(a)"
    found = [(each.kind, each.line) for each in mutants_of("module.py", source)]
    assert found == [("condition", 5), ("statement dropped", 6), ("statement dropped", 7)]


def test_every_mutant_of_a_module_compiles_to_another_tree() -> None:
    path = "qmlir/targets/cpu/scheduled/aliases.py"
    mutants = list(mutants_of(path))
    assert len({each.key for each in mutants}) == len(mutants) > 50
    compiled = [compile(applied(each), path, "exec") for each in mutants]
    codes = {(code.co_code, code.co_names, code.co_consts) for code in compiled}
    assert len(codes) == len(mutants)


def test_a_seed_draws_the_same_whatever_else_there_is() -> None:
    mutants = [each for path in subjects()[:8] for each in mutants_of(path)]
    first = drawn(mutants, 1)
    assert first != drawn(mutants, 2)
    some = set(mutants[::2])
    assert drawn(some, 1) == [each for each in first if each in some]


def test_the_command_kills_and_lists_survivors() -> None:
    """The tests of slices notice that slices are no longer apart; what they do not call, they cannot notice."""
    path = "qmlir/targets/cpu/scheduled/aliases.py"
    before = (ROOT / path).read_bytes()
    noticed, unnoticed = (
        "builtin.DYNAMIC_INDEX in each  ->  builtin.DYNAMIC_INDEX not in each",
        "_ranges(op) is not None  ->  _ranges(op)",
    )
    lines = {each.line for each in mutants_of(path) if noticed in str(each) or unnoticed in str(each)}
    only = [word for line in lines for word in ("--only", f"{path}:{line}")]
    command = [sys.executable, "-m", "tests.mutants", *only, "--verbose", "--tests"]
    command.append("tests/unit/targets/cpu/scheduled/test_slices.py")
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    verdicts = [line for line in said.splitlines() if line.endswith(" s)")]
    assert [": killed by tests/unit/" in line for line in verdicts if noticed in line] == [True]
    assert [": survives " in line for line in verdicts if unnoticed in line] == [True]
    assert (ROOT / path).read_bytes() == before


def test_data_next_to_tests_is_no_test() -> None:
    """`tests/unit/specialization` also contains modules, from which pytest collects nothing and fails."""
    files = mirrored_files("qmlir/specialization/padding.py")
    assert files[0] == "tests/unit/specialization/test_padding.py"
    assert all(PurePosixPath(name).name.startswith("test_") for name in files)


def test_a_process_without_a_result_is_no_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "qmlir/targets/cpu/scheduled/aliases.py"

    def failing(*_: object) -> None:
        raise OSError("the folder is gone")

    monkeypatch.setattr(running, "load_mutant", failing)
    with pytest.raises(RuntimeError, match=r"no result for [^\n]*\n(.|\n)*the folder is gone"):
        list(running.verdicts(iter([(next(mutants_of(path)), ["tests/mutants/test_mutants.py"], 0.0)]), 1))


def test_an_explanation_whose_code_has_changed_has_no_mutant() -> None:
    """The command lists those, and those that are killed; so that who changes code need not run it, no test does."""
    entry = Explained(
        "qmlir/targets/cpu/scheduled/aliases.py",
        "is_static",
        "_ranges(op) is not None",
        "_ranges(op) is None",
        "",
    )
    gone = [replace(entry, before="no such code"), replace(entry, path="qmlir/no_such.py")]
    (_, found), *others = mutants_explained([entry, *gone])
    assert found is not None
    assert found.key == entry.key
    assert [mutant for _, mutant in others] == [None, None]


def test_every_explanation_says_why_and_stands_once() -> None:
    entries = explained()
    assert len({entry.key for entry in entries}) == len(entries) > 0
    assert all(len(entry.reason) > 20 for entry in entries)
